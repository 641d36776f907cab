"""The verb check: derivatives against independent methods, and a verdict.

`command` takes the options, `subject` has what is looked at, `methods` the ways to get a derivative otherwise, `tally` the
counts and `report` the words. The one method that needs somebody else is `against`: `foreign` runs their code, `caller` in a
process of its own, and `returned` says which entries their numbers are. No other room imports this one.
"""
