"""Tables that are worked on in parts, one after the other in this process or by the workers of an engine, with the same results.

A part is a file, or a row group of one (`adcli.rows.parts`). `run` is the one loop over parts; an executor gives it what has
become of each, in any order. An engine is one module here, imported only when it is asked for.
"""
