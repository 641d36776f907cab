"""Results for the rows of tables, in constant memory and in order: read, computed and written block by block.

`stream` goes through the rows, `summing` and the files beside it add up what all rows give, `parts` has the shares of
several processes. Tables themselves are for `adcli.tables`; the room takes a task and its options and knows no verb.
"""
