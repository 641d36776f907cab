"""Numerical methods of solvers on vectors and matrices alone: linear algebra, least squares, and verdicts about a point.

`linear` has inputs as one vector, factors and singular directions of matrices, dense and sparse, and steps of least squares in a
box, `least_squares` a judged minimum of squares or `losses` of residuals. `optimality` says of a point whether it is a minimum,
with flat directions and second derivatives that are conventions, `sparse_optimality` of many variables.
Nothing here asks what a program computes.
"""
