"""The lists of passes of each stage, in `pipeline`, and the passes that are neither simplification nor differentiation.

A pass is a function from Program to Program with one loop over the equations, forwards or backwards: it never recurses over a
program and changes none, and serves comprehensions as it serves scalars. `status` adds the status as an output, `zero_seeds`
drops what a seed that is zero makes zero. No pass knows the text of the language, which verb asked, or what machine the
program is for.
"""
