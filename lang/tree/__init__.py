"""The source tree, and long expressions cut into its size.

`nodes` are what the parser makes, each with its place in the text; `fragments` cuts a long expression at its loosest operators
before it is parsed. Change here what a tree can hold. Nothing here knows the grammar, nor what a name stands for.
"""
