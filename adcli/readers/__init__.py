"""Readers: functions in other languages as programs of this one, with the names, the comments and the places of the source.

A reader takes a text apart and puts its meaning together as a `Draft` (`draft.py`), which is written as a program
(`draft.py`); nothing of a foreign text is executed. `front.py` says which reader is meant.
"""
