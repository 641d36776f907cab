"""The precisions that programs are computed in: double, which is the default, and single."""
from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from adcli.lang.ir import Equation, Lit, Program
from adcli.lang.ir.errors import AdError, Span
from adcli.lang.ir.records import value_record


@value_record
class Precision:
    """A binary format of IEEE 754.

    `type` is its name in C and in LLVM IR, `suffix` ends literals and the names of functions in C, `code` is its letter in
    `struct`, `array` and NumPy. `digits` are the bits of its significand, `smallest` is its smallest normal number.
    """

    name: str
    type: str
    suffix: str
    code: str
    digits: int
    smallest: float

    @property
    def least(self) -> float:
        """The smallest number that is larger than 0."""
        return math.ldexp(self.smallest, 1 - self.digits)

    @property
    def bytes(self) -> int:
        """The bytes of a number."""
        return struct.calcsize(self.code)

    @property
    def decimals(self) -> float:
        """The decimal digits of a number."""
        return self.digits * math.log10(2)

    def ulp(self, value: float) -> float:
        """The unit in the last place of the number of this precision that is nearest to a double."""
        if self.code == "d" or not math.isfinite(value):
            return math.ulp(value)
        return math.ldexp(1.0, math.frexp(max(abs(value), self.smallest))[1] - self.digits)

    def rounded(self, value: float) -> float:
        """The number of this precision that is nearest to a double, ties to even; infinite where all are too small."""
        if self.code == "d":
            return value
        try:
            found: float = struct.unpack(self.code, struct.pack(self.code, value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
        return found

    def holds(self, value: float) -> bool:
        """Whether a number that is finite is finite in this precision, too."""
        return math.isinf(self.rounded(value)) == math.isinf(value)

    def nearest(self, value: float) -> float:
        """The nearest number to a constant. The smallest normal double, where rules tell numbers that keep their digits from
        those that do not, is the smallest normal number. AdError where only infinity or zero is near."""
        if self.code == "d":
            return value
        if value == DOUBLE.smallest:
            return self.smallest
        found = self.rounded(value)
        if not self.holds(value) or (found == 0) != (value == 0):
            raise AdError(f"{value!r} is too {'large' if found else 'small'} for a number of {self.name} precision",
                          help="use double precision, the default")
        return found


DOUBLE = Precision("double", "double", "", "d", 53, sys.float_info.min)
SINGLE = Precision("single", "float", "f", "f", 24, 2.0 ** -126)
FIRST_TOO_LARGE = (2.0 - 2.0 ** -24) * 2.0 ** 127
"""The size from which on doubles are rounded to infinite singles."""
PRECISIONS = {p.name: p for p in (DOUBLE, SINGLE)}


# ---------------------------------------------------------------- where a constant stands that a precision has no number for

@contextmanager
def placing_constants(program: Program, precision: Precision) -> Iterator[None]:
    """Code is made within: an AdError that names no place gets that of the first constant that is too large or too small."""
    try:
        yield
    except AdError as fault:
        span = first_without_number(program.equations, precision) if fault.span is None else None
        if span is None:
            raise
        raise AdError(fault.message, span, fault.help, program.source) from None


def first_without_number(equations: Iterable[Equation], precision: Precision) -> Span | None:
    """The place of the first operation, those inside of tensors too, with a constant that the precision has no number for."""
    from adcli.lang.operations.comprehension import Comprehension  # start-up: only what is refused is asked
    for e in equations:
        results = e.op.body.results if isinstance(e.op, Comprehension) else ()
        lost = any(isinstance(r.atom, Lit) and is_lost(r.atom.value, precision) for r in results)
        span = e.span if lost else first_without_number(e.op.inner(), precision)
        if span is None and any(isinstance(a, Lit) and is_lost(a.value, precision) for a in e.args):
            span = e.span
        if span is not None:
            return span
    return None


def is_lost(value: float, precision: Precision) -> bool:
    try:
        precision.nearest(value)
    except AdError:
        return True
    return False
