"""Source tree to Program: names get values, expressions become equations, functions are unfolded.

`frontend` is the one door from text to Program for everybody else. Inside, `scope` lowers expressions, `assignments` scalar
statements, `comprehension` and `comprehension_body` one tensor statement (`matrix_statement`: one that calls an operation on
matrices; `loops`: those of a loop), `desugar` says statements by plain ones, `tensor_scope` lowers tensors among scalars and
functions of tensors, and `program` and `tensor_program` the whole text, of which `line_templates` lowers lines of one shape
together.

Change here what a program means and what is said where it means nothing; `counterparts` has the table of functions that other
languages have, `suggestions` and `suggest_statements` what to write instead, and `fixes` tries that out. Of the passes only the
one that orders sums is known here; no derivative and no machine is.
"""
