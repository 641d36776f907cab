"""From Program to Program, one file for each pass, named after it; `pipeline.py` has the lists in which they run.

A pass is a function with one loop over the equations, forwards or backwards: it never recurses over a program and changes
none. It serves comprehensions as it serves scalars. A new pass is a new file and a place in a list. No pass knows the text of
the language, which verb asked, or what machine the program is for; which sweeps are worth their cost is asked above, in
`adcli.lang.derive`.
"""
