"""Programs: source tree to Program.

`frontend` is the one door from text to Program for everybody else. `program` and `tensor_program` lower a whole text,
`tensor_scope` tensors among scalars and functions of tensors, `loops` the statements of a loop. A call of a function of tensors
that depends on an index or a step is unfolded in the tree: `function_calls` says where calls stand, `function_body` what the
function's statements become. `condition_elements` lowers the conditions of a problem, and `tensor_library` has the functions of
tensors that need no definition.

Change here what a program means; what one statement means is said by the rooms `statements` and `expressions`, and the room
`suggest` says what to write instead of a call. Of the passes only the one that orders sums is known here; no derivative and no
machine is.
"""
