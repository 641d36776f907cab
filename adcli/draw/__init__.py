"""The verb draw: a program, or its derivative, as a graph.

`drawing` makes the graph of a stage and writes it, pdf and png by matplotlib, `at_point` has its numbers at a point, and
`command` takes the options. The graph itself and its texts are those of `adcli.codegen.documents`; no number is computed here.
"""
