"""Source tree to Program: names get values, expressions become equations, functions are unfolded.

`frontend` is the one door from text to Program for everybody else. Inside, `scope` lowers expressions, `assignments` scalar
statements, `comprehension` and `comprehension_body` one tensor statement, `tensor_scope` tensors among scalars and functions of
tensors, and `program` the whole text, of which `line_templates` lowers lines of one shape together.
Change here what a program means and what is said where it means nothing; `counterparts` has the table of functions that other
languages have, and `fixes` tries out what is proposed for a fault. No pass, no derivative and no machine is known here, and
nothing is simplified.
"""
