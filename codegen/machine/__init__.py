"""Executable code, called on memory: kernels, tapes, arrays, threads, the maths libraries, object files and the cache of code.

Nothing here knows LLVM or what a Program is: a kernel that was kept is found, loaded and run with these files alone, and without
NumPy (but for `arrays`). They are what every warm run imports, so what they import is part of its time.
"""
