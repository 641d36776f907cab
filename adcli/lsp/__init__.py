"""The language server: what an editor asks about a program while it is written, over standard input and output.

`server` speaks the protocol (pygls, an extra) and says nothing of the language; the other files answer from one `OpenText`, the
text of an editor as it was read last. Where a name is defined, what it means and how it is differentiated is knowledge of
`lang` (`lower/occurrences`, `analyse/one_name`), and no answer changes a text: edits are proposed, and the editor makes them.
"""
