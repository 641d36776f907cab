"""The language server: what an editor asks about a program while it is written, over standard input and output.

`server` speaks the protocol (pygls, an extra) and says nothing of the language; the other files answer from one `OpenText`, the
text of an editor as it was read last. `occurrences` says where each name is defined and used, `one_name` what it is and its
derivatives, `rename` gives it another. No answer changes a text: edits are proposed, and the editor makes them.
"""
