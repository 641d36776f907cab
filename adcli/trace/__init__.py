"""The verb trace: the evaluation table of the textbooks, with tangents and adjoints.

`command` takes the options, `at_points` makes the tables of them for the shell and for Python; `tables` names
the lines and lays them out, and `tensors` has those of programs with tensors.
"""
