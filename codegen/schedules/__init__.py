"""Schedules: which loops a comprehension has, in which order.

A `schedule` is plain data; `search` finds those that there are, and `cost` chooses among them at sizes.
"""
