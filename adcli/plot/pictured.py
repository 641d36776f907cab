"""A program as a picture: curves where one input varies, contours where two do."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adcli.lang.ir import Program
from adcli.pictures.picture import Picture
from adcli.plot.ranges import Setting, from_numbers


def picture(program: Program, at: Mapping[str, float | tuple[float, ...]], of: Sequence[str] | None = None,
            derivatives: int = 1, points: int | None = None, remark: Callable[[object], None] = lambda note: None) -> Picture:
    """The picture of the outputs `of` a program of numbers. In `at` a tuple (low, high) or (low, high, count) is a range, over
    which an input varies; inputs that are left out have their defaults, or vary over the ranges they are declared with."""
    return pictured(from_numbers(program, at, points, remark), of, derivatives)


def pictured(setting: Setting, of: Sequence[str] | None, derivatives: int) -> Picture:
    """The picture of a setting."""
    import numpy as np
    with np.errstate(all="ignore"):   # what overflows is infinite, and has no place in a picture
        if len(setting.ranges) == 1:
            from adcli.plot.curves import curves
            return curves(setting.program, setting, of, derivatives)
        from adcli.plot.contours import contours
        return contours(setting.program, setting, of, derivatives)
