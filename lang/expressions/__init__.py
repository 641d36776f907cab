"""Expressions and scalar statements: source tree to values of a Program.

`scope` knows names and lowers expressions, `subscripts` the affine ones, which read what is written, `assignments` scalar
statements; `inline` unfolds functions, `desugar` says statements by plain ones, `line_templates` lowers lines of one shape
together. `stated_problem` reads `minimize` and `subject to`, `reductions` says which sums are ordered how, and
`suggest_statements` what to write instead of a statement. Nothing here knows a whole program: rooms above put statements
together.
"""
