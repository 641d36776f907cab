"""The verb trace: the evaluation table of the textbooks, with tangents and adjoints.

`command` takes the options, `notation` names the lines, `tables` lays them out for people, `as_json` for programs. No other room
imports this one.
"""
