"""The source tree, and how operations are spelled.

`nodes` are what the parser makes, each with its place in the text; `notation` has the operators with their precedence, and the
calls. Change here what a tree can hold. Nothing here knows the grammar, nor what a name stands for.
"""
