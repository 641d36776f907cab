"""Output: numbers, layouts, tables, tensors, progress, and files that appear whole.

This room spells results; it is the only one that writes to standard output, to files and to standard error. It knows what a
point with its results is (`layout`), and neither verbs nor options nor how a result was computed.
"""
