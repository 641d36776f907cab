"""Replacements for calls and names that the language does not have, and changes that mend a text.

`counterparts` is the table of functions that other languages have, `suggestions` says what to write in the place of a call, and
`fixes` tries changes out, and says which inputs may have been meant otherwise.
Asked only after a fault.
"""
