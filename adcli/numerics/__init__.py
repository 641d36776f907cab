"""Numerical methods of solvers on vectors and matrices alone: linear algebra, least squares, and verdicts about a point.

`vectors` has inputs as one vector, `linear` factors and singular directions of matrices, dense and sparse, `levenberg` least
squares in a box, `least_squares` a judged minimum of squares or `losses` of residuals. `optimality` says of a point whether it
is a minimum, with dense matrices, `sparse_optimality` of many variables, with `flat_directions` along which nothing changes,
and `removable` singularities on the way. Nothing here asks what a program computes.
"""
