"""Arguments of the verbs that look at a program, as these take them: points, directions, uncertainties."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adcli.answers.array_calls import common_shape, one_number, real_array, real_arrays
from adcli.api.scientific import whole_point
from adcli.api.words import by_name, unused, whole
from adcli.input.points import complete, parts, within
from adcli.input.values import value
from adcli.lang.ir import Program, Values
from adcli.lang.ir.errors import AdError, worded

if TYPE_CHECKING:
    from adcli.propagate.given import GivenPoint
    from adcli.propagate.prepare import PropagateOptions


def direction(kind: str, given: str | Values | None) -> str | dict[str, Any] | None:
    """A tangent or cotangent: a text as the option has it, or numbers by name."""
    known = by_name(kind, given)
    if known is None or isinstance(known, str):
        return known
    return {name: one_number(str(name), x) if np.ndim(x) == 0 else real_array(str(name), x) for name, x in known.items()}


def given_point(program: Program, at: Values, said: list[str]) -> dict[str, Any]:
    """A point that is complete, with a note where it leaves a declared range."""
    (point,) = within(program.params, [whole_point(program, at)], heard(said), program.source)
    return point


def heard(said: list[str]) -> Callable[[object], None]:
    """Collector of remarks, worded for Python."""
    return lambda remark: said.append(worded(str(remark)))


def checked_points(program: Program, at: Values, scalars: bool, remark: Callable[[object], None]) -> list[dict[str, Any]]:
    """The points that are given, several for a program of `scalars`."""
    from adcli.check.points import MOST_POINTS
    from adcli.input.arrays import fitting
    found = points(program, at, MOST_POINTS) if scalars else [fitting(program, whole_point(program, at))]
    return list(within(program.params, found, remark, program.source))


def points(program: Program, at: Values, most: int) -> list[dict[str, float]]:
    """The points that numbers and arrays give, which are broadcast."""
    given = complete(program.params, at)
    arrays = real_arrays(list(given), list(given.values()))
    count = math.prod(shape := common_shape(list(given), arrays))
    if count > most:
        raise AdError(f"{count:,} points are given; the limit is {most:,}")
    columns = [np.broadcast_to(a, shape).ravel().tolist() for a in arrays]
    return [dict(zip(given, row, strict=True)) for row in zip(*columns, strict=True)]


# ---------------------------------------------------------------- uncertainties

def sample_count(samples: int | str | None, more: Mapping[str, object]) -> int | str | None:
    """The number of samples. AdError where that is none, or `more` is said of a sampling that is not asked for."""
    from adcli.propagate.prepare import AUTO
    if samples is None:
        unused(more, "needs monte_carlo", "write monte_carlo=100000")
        return None
    if not isinstance(samples, str):
        return whole("monte_carlo", samples, 2, 10**10)
    if samples != AUTO:
        raise AdError(f"monte_carlo is a number of samples, not '{samples}'", help="write monte_carlo=100000 or 'auto'")
    return AUTO


def uncertain_point(program: Program, at: Values, options: PropagateOptions) -> GivenPoint:
    """Estimates and spreads of every input. AdError where none has a spread."""
    from adcli.propagate.given import GivenPoint
    complete(program.params, dict.fromkeys(at, 0.0))   # the names, before anything is made of them
    tensors = {p.name for p in program.params if p.var.shape}
    found = [uncertain_tensor(program, name, x) if name in tensors else uncertain_number(name, x, options)
             for name, x in at.items()]
    spreads = {x: spread for point in found for x, spread in point.spreads.items()}
    widths = {x: width for point in found for x, width in point.widths.items()}
    if not (spreads or widths or options.covariance):
        raise AdError("no uncertainties", help="give an input a spread: x=([1.0, 2.0], 0.1), or covariance={'x': C}" if tensors
                      else "give an input a spread: x=(2.0, 0.1), or x='2±0.1~rect'")
    return GivenPoint(",".join(point.plain for point in found), spreads, widths)


def uncertain_number(name: str, x: Any, options: PropagateOptions) -> GivenPoint:
    """A text as the shell takes it, a pair of an estimate and its standard uncertainty, a value, or several that it takes."""
    from adcli.input.distributions import Sample, of_sample
    from adcli.propagate.given import GivenPoint, given_points
    from adcli.rows.sample_columns import opened
    if isinstance(x, tuple):
        estimate, u = (one_number(name, part) for part in two(name, x))
        x = f"{estimate!r}±{u!r}"
    if isinstance(x, str):
        (given,) = given_points([f"{name}={one_value(name, x)}"], partial(opened, options=options))
        return given
    if not (array := real_array(f"input '{name}'", x)).ndim:
        return GivenPoint(f"{name}={float(array)!r}", {})
    if array.ndim > 1:
        raise AdError(f"the values of input '{name}' are one column, not an array of shape {array.shape}")
    number, spread = of_sample(f"input '{name}'", name, Sample(name, tuple(array.tolist())), False)
    return GivenPoint(f"{name}={number}", {name: spread})


def uncertain_tensor(program: Program, name: str, x: Any) -> GivenPoint:
    """A text as the shell takes it, an array, or a pair of an array and its standard uncertainties: one for each element, or one
    for all."""
    from adcli.propagate.uncertain_tensors import given_tensors
    if not isinstance(x, str):
        x = "±".join(listed(name, part) for part in (two(name, x) if isinstance(x, tuple) else (x,)))
    return given_tensors(program, f"{name}={one_value(name, x)}")


def listed(name: str, x: Any) -> str:
    """Numbers as the shell takes them, to the last bit."""
    return str(real_array(f"input '{name}'", x).tolist())


def two(name: str, x: tuple[Any, ...]) -> tuple[Any, ...]:
    """An estimate and its standard uncertainty."""
    if len(x) != 2:
        raise AdError(f"input '{name}' is given as {len(x)} numbers",
                      help=f"write {name}=(2.0, 0.1), an estimate and its standard uncertainty, or a list of values")
    return x


def one_value(name: str, x: str) -> str:
    """A text that is of one input."""
    if len(list(parts(x))) > 1 or "=" in x:
        raise AdError(f"input '{name}' is one value, not '{x}'", help=f"write {name}='2±0.1'")
    return x


def covariance_texts(given: object) -> tuple[str, ...]:
    """Covariance matrices as the option has them."""
    found = by_name("covariance", given) or {}
    return (found,) if isinstance(found, str) else tuple(f"{name}={listed(name, matrix)}" for name, matrix in found.items())


def pairs(correlation: str | Mapping[tuple[str, str], float] | None) -> str | None:
    """Correlation coefficients as the option has them."""
    if correlation is None or isinstance(correlation, str):
        return correlation
    if isinstance(correlation, Mapping) and not correlation:   # none of those there could be
        return None
    if not isinstance(correlation, Mapping) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in correlation):
        raise AdError("correlation is a number for each pair of inputs", help="write correlation={('x', 'y'): 0.5}")
    return ",".join(f"{x}:{y}={one_number(f'{x}:{y}', r)!r}" for (x, y), r in correlation.items())


def seeds(kind: str, given: str | Values | None) -> Values | None:
    """A direction or weights, numbers or arrays by name."""
    known = by_name(kind, given)
    if isinstance(known, str):
        from adcli.answers.evaluation import directions
        return directions(known, kind, {})
    return known


def plot_data(data: Any) -> Callable[[Sequence[str], Sequence[str]], dict[str, list[float]]]:
    """The columns of a mapping or a frame for a plot."""
    def read(across: Sequence[str], outputs: Sequence[str]) -> dict[str, list[float]]:
        from adcli.api.fitting import columned, columns_of
        wanted = [*across, *(name for name in outputs if name in columns_of(data))]
        found = {name: real_array(f"column '{name}'", columned(data, name)).tolist() for name in wanted}
        if len({*map(len, found.values())}) > 1:
            raise AdError(f"columns have one length: {', '.join(f'{n} has {len(x)}' for n, x in found.items())}")
        return found
    return read


def extent(name: str, x: Any) -> float | tuple[float, ...]:
    """A number, or the ends of a range and how many points it has: a tuple, or a text as the shell has it."""
    if isinstance(x, str):
        fields = tuple(value(name, part) for part in x.split(":"))
        return fields if len(fields) > 1 else fields[0]
    if isinstance(x, list):
        raise AdError(f"input '{name}' must be one number or a range, not a list",
                      help=f"write {name}=(-3, 3), a pair of ends")
    return tuple(one_number(name, part) for part in x) if isinstance(x, tuple) else one_number(name, x)
