"""Schedules as LLVM IR: one function for each loop nest.

`addresses`, `copies`, `index_loops`, `bodies` and `nest_writer` write a nest, each on what the one before it knows. What
an operation is on the machine is said by `rows/instructions.py`, never here, and which loops there are by `codegen/nests`.
"""
