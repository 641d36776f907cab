"""Replacements for calls and names that the language does not have, and changes that mend a text.

`counterparts` is the table of functions that other languages have, `definitions` those that are expressions here, `suggestions`
says what to write in the place of a call, `suspects` which inputs may have been meant otherwise, and `fixes` tries changes out.
Asked only after a fault.
"""
