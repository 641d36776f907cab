"""Input: points, spreads, tensors and fields of tables become numbers here, or a fault that names the place.

Everything a person can type or a file can hold is distrusted: sizes are compared with memory before anything is taken, names
and shapes are checked before the first result is computed. The room knows the inputs of a program and nothing of verbs.
"""
