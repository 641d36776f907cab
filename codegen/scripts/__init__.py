"""Programs as modules of JavaScript, Python and Rust, and functions of MATLAB: for web pages, NumPy, crates and Octave; and as
tapes, data that an interpreter in JavaScript carries out.

`javascript`, `python`, `rust` and `matlab` are languages with their modules, `nested_arrays` and `numpy_nests` write programs
with tensors in scripts, and `tape` says what a tape is. The text depends on the program alone. Nothing here runs a script; the
modules need nothing but their language and NumPy, the interpreter nothing but `javascript.operations`.
"""
