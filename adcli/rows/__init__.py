"""Results for the rows of tables, in constant memory and in order: read, computed and written block by block.

`rows` says what a table means, `tables_native` does the same faster and must give the same bytes; Parquet is for
`parquet_tables`. The room takes a task and its options and knows no verb.
"""
