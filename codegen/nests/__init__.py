"""Comprehensions as code: loop nests.

A `schedule` says which loops a comprehension has; `schedule_search` makes some, and `schedule_cost` chooses among them at sizes.
`frames`, `addresses`, `index_loops`, `bodies` and `loops` write one, each on what the one before it knows; `fusion` and `module`
make one LLVM module of a program. `plans` finds out what a call of it needs for some shapes, `calls` carries that
out, and `runtime` does both. What an operation is on the machine is said by `rows/instructions.py`, never here; nothing here
touches LLVM but by `rows/jit.py`.
"""
