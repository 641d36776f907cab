"""The source tree, how operations are spelled, and long expressions cut into the size of a tree.

`nodes` are what the parser makes, each with its place in the text; `fragments` cuts a long expression at its loosest operators
before it is parsed; `notation` has the operators with their precedence, and the calls. Change here what a tree can hold. Nothing
here knows the grammar, nor what a name stands for.
"""
