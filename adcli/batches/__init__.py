"""Programs over record batches of Arrow: results, and sums that are exact whatever the order.

`arrow_columns` has columns as arrays, `batch_function` makes batches of results of batches, `batch_sums` states that can be
merged. Engines for large tables call these; the room knows no engine, and no Function but as a protocol.
"""
