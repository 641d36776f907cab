"""The verb check: derivatives against independent methods, and a verdict.

`command` takes the options, `subject` has what is looked at, `methods` the ways to get a derivative otherwise, `tally` the
counts and `report` the words. No other room imports this one.
"""
