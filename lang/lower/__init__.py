"""Source tree to Program: names get values, expressions become equations, functions are unfolded.

`frontend` is the one door from text to Program for everybody else. Inside, `scope` lowers expressions, `assignments` scalar
statements, `comprehension` and `comprehension_body` one tensor statement (`matrix_statement`: one that calls an operation on
matrices; `loops`: those of a loop), `desugar` says statements by plain ones, `tensor_scope` lowers tensors among scalars and
functions of tensors, and `program` and `tensor_program` the whole text, of which `line_templates` lowers lines of one shape
together.

A call of a function of tensors that depends on an index or a step is unfolded in the tree: `slices` says what slices are,
`function_calls` where calls stand, `function_body` what the function's statements become. `stated_problem` and
`condition_elements` lower `minimize` and `subject to`; `tensor_library` has the functions of tensors that need no definition.

Change here what a program means and what is said where it means nothing; `suggest_statements` says what to write instead of a
statement, and the room `suggest` instead of a call. Of the passes only the one that orders sums is known here; no derivative and
no machine is.
"""
