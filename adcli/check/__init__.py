"""The verb check: derivatives against independent methods, and a verdict.

`command` takes the options, `prepare` makes the check of them for the shell and for Python, and `points` runs the methods:
`subject` has the entries of a program of scalars, `elements` those of one with tensors, for `methods`; `directions` looks at
points too large for that. `tally` has the counts and `report` the words. The one method that needs somebody else is `against`:
`foreign` runs their code, `caller` in a process of its own. No other room imports this one.
"""
