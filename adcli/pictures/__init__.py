"""Pictures as plain data, and their three writers: a terminal, a file, a table.

`picture` is the data, `terminal` draws it in characters (plotext), `files` writes SVG, PNG and PDF (matplotlib), `rows` the
numbers under it as CSV, `destinations` says where a picture goes. Nothing here knows what a Program is: whoever wants a picture
makes the data.
"""
