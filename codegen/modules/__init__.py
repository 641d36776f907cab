"""Programs of tensors as compiled modules, their plans, and their calls.

`module` makes one LLVM module of the steps of a program. `plans` finds out what a call of it needs for some shapes, `calls`
carries that out, and `runtime` does both. Nothing here knows how a nest is written; LLVM is reached by `rows/jit.py` only.
"""
