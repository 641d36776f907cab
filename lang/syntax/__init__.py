"""Text to source tree.

A text is scanned into tokens (`scan`), which the grammar's tables fold into a tree (`actions`, `parse`); in a long one
lines of one shape are read once (`shapes`). After a fault it is read statement by statement (`recover`), and what may have been
meant is looked for (`mend`, with the spellings of other languages in the table of `foreign`). Change here how programs are
spelled: after a change of the grammar run `python -m adcli.lang.syntax.grammar`, and keep the parser and the printers of
`adcli.lang.printing` inverse to each other. Nothing here knows what a statement means, which names have values, or that
derivatives exist.
"""
