"""Programs as C99, which any compiler of C takes and a person can read; and what other languages of text share with it.

`language` says what a language is, `spelling` is C; `plan` lays a program with tensors out in arrays, `loop_nests` writes it in
loops with `whole_numbers` for sizes and indices. `source` writes functions of C, `files` the files that have them.
The text depends on the program alone. Nothing here runs a compiler or knows LLVM.
"""
