"""Models in .nl files, as AMPL, Pyomo and JuMP write them, as programs: the reader of `.nl` files.

`segments` makes one text form of both and takes that apart, `operations` has the opcodes and `terms` sorts what rows are
sums of by shape: terms of one shape are one statement over tables, however many there are. `module` writes the program, and
`solution` the .sol file that the modeller reads. The format is that of D. M. Gay, Writing .nl Files (SAND2005-7907P, 2005) and
Hooking Your Solver to AMPL (1997).
"""
