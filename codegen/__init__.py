"""Programs to machines: LLVM IR, native code, and what a program can be emitted as.

It reads Programs and knows nothing of text, files or points. `machine` runs code, `rows` writes it for scalars and `nests` for
comprehensions, `targets` lists what `--emit` knows; each imports only those before it. LLVM itself is in
`rows/jit.py` and for other machines in `rows/cross_compile.py`, C in `c`, linkers in `library`.
"""
