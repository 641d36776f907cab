"""The language server: what an editor asks about a program while it is written, over standard input and output.

`server` speaks the protocol (pygls, an extra) and says nothing of the language; the other files answer from one `OpenText`, the
text of an editor as it was read last. `scopes` resolves names, `one_name` says what one is and its derivatives. No answer changes
a text: edits are proposed, and the editor makes them.
"""
