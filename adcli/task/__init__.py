"""A request worked out: which verb, of which program, with its derivative and its code, from the cache where it is there.

The table of verbs (`verbs`) is here, and so is what one can do with a derivative without numbers: write it for a target, explain
its plan, name its matrix. The room knows no point and no row.
"""
