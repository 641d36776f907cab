"""Text to source tree, and back to text.

A text is scanned into tokens (`scan`), which the grammar's tables fold into a tree (`lalr`, `actions`, `parse`); in a long one
lines of one shape are read once (`shapes`). After a fault it is read statement by statement (`recover`), and what may have been
meant is looked for (`mend`, with the spellings of other languages in the table of `foreign`). The tree goes back to text in
canonical (`format`) or flat (`flatten`) form, and a Program to a text that reads back to an equal one (`printer`). Change here
how programs are spelled: after a change of the grammar run `python -m adcli.lang.syntax.grammar`, and keep printers and parser
inverse to each other. Nothing here knows what a statement means, which names have values, or that derivatives exist.
"""
