"""Schedules: which loops a comprehension has, in which order.

A `schedule` is plain data; `search` makes some for each statement, and chooses among them by their cost at sizes.
"""
