"""Tables as they are read and written: bytes, rows, fields, columns with types.

`streams` has the bytes and where rows end, `sources` what --data names; `reader` says what a table means, and `native` reads the
same faster and must give the same bytes. `appended` and `typed_columns` write; Parquet is for `parquet`. The room knows no
program and nothing of what is computed for a row.
"""
