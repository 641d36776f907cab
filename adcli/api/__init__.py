"""The Python API: a Function is a program that can be called and differentiated.

`adcli` itself names what is public. Nothing of the command line is imported here, and numpy only where arrays are.

Whatever is given, a call ends in a result or in an AdError that says what is wrong. Three things are Python's and stay so:
TypeError for a call that does not fit a signature, OSError for a file that cannot be read, and what a recorded function itself
raises.
"""
