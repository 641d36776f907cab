"""The same from Python: a Function is a program that can be called and differentiated.

`adcli` itself names what is public. Nothing of the command line is imported here, and numpy only where arrays are.
"""
