"""Schedules: which loops a comprehension has, in which order.

A `schedule` is plain data; `search` makes some for each statement, and `cost` chooses among them at sizes.
"""
