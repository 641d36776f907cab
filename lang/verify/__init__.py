"""Independent methods of a check of derivatives, each with a bound on its own error.

`differences` are taken in doubles and in multiple precision, with steps that keep to one piece of the program, and the remainder
of Taylor's theorem is tested; `culprits` finds the rule or term at fault. Files here return data, and
adcli/ finds the words for people. No rule of a derivative is used to judge another.
"""
