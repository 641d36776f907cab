"""The verb draw: a program, or its derivative, as a graph.

`drawing` makes the graph of a stage and has it laid out by the program `dot`, `at_point` is what it says at a point, and
`command` takes the options. The graph itself and its texts are those of `adcli.codegen.documents`; no number is computed here.
"""
