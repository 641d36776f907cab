"""Programs of tensors as loop nests: rewrites of programs, and steps of modules.

Statements are joined (`fusion`), share what they compute (`cse_across_statements`), or go along the rows of a tensor together
(`row_sweeps`); loops over steps keep their histories in place or in rings. `steps` are run one after the other by a
module. No code is written here: that is done in `codegen/loops`.
"""
