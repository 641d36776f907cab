"""Programs with fewer operations and the same bits: equations shared, dropped, folded, and sums in a cheaper order.

`simplify` is the one door, for numbers and, by `simplify_tensors`, for comprehensions and loops; `nonzero_domains` says where
a tensor is zero by construction, and `sum_order` with the files beside it chooses where the terms of sums of products are
added. Nothing here differentiates, and nothing changes the result of an operation that stays.
"""
