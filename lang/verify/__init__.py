"""Independent methods of a check of derivatives, each with a bound on its own error.

`differences` are taken in doubles and in multiple precision; `taylor_remainder` tests the order of what is left; `culprits` finds
the rule or term at fault. Steps are chosen by `local_scale` and keep to one piece of the program. Files here return data, and
adcli/ finds the words for people. No rule of a derivative is used to judge another.
"""
