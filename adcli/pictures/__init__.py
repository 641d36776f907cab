"""Pictures as plain data, and their three writers: a terminal, a file, a table.

`picture` is the data, and what has to be installed for each kind of picture; `terminal` draws it in characters (plotext), `files`
writes SVG, PNG and PDF (matplotlib), `destinations` says where it goes. Nothing here knows what a Program
is: whoever wants a picture makes the data.
"""
