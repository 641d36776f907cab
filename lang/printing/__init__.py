"""Programs and source trees as text of the language that reads back to an equal one.

`printer` is the door: `scalar_printer` writes statements on numbers, `comprehension_printer` those on tensors, for which
`read_back` says what a reader finds of elements that are written and read. `kept_functions` writes functions for what repeats in
a text, and `format` writes a source tree in canonical form.
Printers and the parser of `adcli.lang.syntax` are kept inverse to each other; nothing here knows what a statement means.
"""
