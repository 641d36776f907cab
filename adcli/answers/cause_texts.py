"""The sentences for what made a NaN, an infinity or a zero, with places for names and numbers.

`adcli why` fills them in here, and a page (`adcli explore`) in the browser. Kinds of causes are those of
`adcli.lang.analyse.explain.Cause`.
"""
from __future__ import annotations

SENTENCES = {
    "input": "{name} is {value}",
    "constant": "that is the constant {value}",
    "result": "{operation} {at} is {result}: {how}",
    "form": "{operation} {at} is {how} = {result}",
    "matrix": "{operation} at {place} = {value} is {result}: {how}",
    "determinant": "{operation} is {result}: the determinant of its matrix is below 0",
    "partial": "{partial} {at} is {value}{end}",
    "meets": "{partial} {at} is {value}, and the {sweep} that meets it is {seed}: {how} = nan",
    "product": "{partial} {at} is {value}; times the {sweep} {seed} it {end}",
    "extreme": "{partial} {at} is {value}: {how}",
    "terms": "the {count} contributions to one {sweep}, the first by {partial} {at}, {end}",
    "since": ", since {cause}",
    "because value": "{name} is {value} since {cause}",
    "because derivative": "the {sweep} is {value} since {cause}",
}
"""Whole sentences, without their ends."""

UNVERIFIED_ZERO = "exactly, or by underflow: python-flint, which is not installed, would tell"
HOW = {
    "0·inf": "0·inf", "inf·0": "inf·0", "0/0": "0/0", "inf/inf": "inf/inf", "inf-inf": "inf - inf",
    "domain": "outside its domain",
    "pole": "a pole", "singular": "a singularity", "overflow": "overflow, larger than any double",
    "underflow": "underflow, smaller than any double", "cancellation": "the operands cancel exactly",
    "singular matrix": "the matrix is singular", "not positive definite": "the matrix is not positive definite",
    "not finite": "the matrix has an element that is not finite",
    "root": "that is a root of it", "rounding": "what it is in truth is lost to rounding",
    "unverified": UNVERIFIED_ZERO,
    "tail": "its limit there", "hinge": "the flat side", "step": "a step function", "undefined": "undefined",
    "division": "division by zero", "no limit": "there is no limit at infinity", "itself": "a value less itself",
}
"""Reasons of the result of an operation."""
FORMS = ("0·inf", "0/0", "inf/inf", "inf-inf")
"""Kinds that are said as what the operation comes to: 0/0 = nan."""
PARTIALS = {
    "undefined": ": it has no derivative there", "singular": ": a singularity", "pole": ": a pole",
    "kink": ": a kink, where the derivative is 0 by convention", "step": ": a step function has derivative 0",
    "unverified": f": {UNVERIFIED_ZERO}",
}
"""Endings of the sentences on a partial derivative."""
PRODUCTS = {
    "overflow": "overflows, larger than any double", "underflow": "underflows, smaller than any double", "undefined": "is nan",
}
"""Effects of a product with a partial derivative."""
TERMS = {"inf-inf": "are infinite with opposite signs: inf - inf = nan", "cancellation": "cancel exactly"}
"""Effects of a sum of contributions."""
