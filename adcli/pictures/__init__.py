"""Pictures as plain data, and their three writers: a terminal, a file, a table.

`picture` is the data, `terminal` draws it in characters (plotext), `files` writes SVG, PNG and PDF (matplotlib), `rows` the
numbers under it as CSV; `destinations` says where a picture goes, `packages` what has to be installed for it. Nothing here
knows what a Program is: whoever wants a picture makes the data.
"""
