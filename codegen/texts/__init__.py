"""Numbers and their decimal texts, in native code that is the same for every program: many at a time, in tables.

`shortest` has the powers of ten and makes texts of doubles, `writing` puts them between pieces of text, `reading` makes
doubles of texts. Both directions are exact: the shortest text that reads back, the double next to a text. Which texts
are numbers, and what a table means, is not decided here: what is not plain is handed back.
"""
