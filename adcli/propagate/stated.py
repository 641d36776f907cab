"""Uncertainties that a program states in comments, as `fit -o FILE.ad` writes them: what --at has after ± for each input, and
what --correlation has. The estimates are the defaults of the inputs.

    # uncertain: a±0.1~t(9), b±0.02~t(9)
    # correlation: a:b=-0.5
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from adcli.input.values import listed
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse_source
from adcli.propagate.prepare import PropagateOptions, coefficients
from adcli.rows.stream import piped

UNCERTAIN = re.compile(r"^# uncertain: (.+)$", re.MULTILINE)
CORRELATION = re.compile(r"^# correlation: (.+)$", re.MULTILINE)


def stated_lines(spreads: Mapping[str, float], dof: float, correlation: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The lines of comments for standard uncertainties with so many degrees of freedom."""
    if spreads:
        tail = "" if dof == float("inf") else f"~t({dof:g})"
        yield "uncertain: " + ", ".join(f"{x}±{u!r}{tail}" for x, u in spreads.items())
    if pairs := [f"{x}:{y}={correlation[x][y]!r}" for x, y in combinations(spreads, 2)]:
        yield "correlation: " + ", ".join(pairs)


def with_stated(text: Source, options: PropagateOptions) -> PropagateOptions:
    """The options, with what the program states of inputs that --at does not give."""
    spreads = dict(part.partition("±")[::2] for line in UNCERTAIN.findall(text.text) for part in listed(line))
    if not spreads:
        return options
    program = parse_source(text)
    defaults = {p.name: p.default for p in program.params}
    if (wrong := next((x for x in spreads if defaults.get(x) is None), None)) is not None:
        raise AdError(f"the program states the uncertainty of '{wrong}', which is no input with a default")
    rows = bool(options.data or options.emit) or (not options.at and None in defaults.values())
    given = {part.partition("=")[0].strip() for spec in options.at for part in spec.split(",")}
    known = {x: f"{x}={defaults[x]!r}±{u}" for x, u in spreads.items() if x not in given}
    spec, told = ",".join(known.values()), {frozenset(c[:2]) for c in coefficients(options.correlation)}
    pairs = [f"{x}:{y}={r!r}" for line in CORRELATION.findall(text.text) for x, y, r in coefficients(line)
             if {x, y} <= known.keys() and frozenset((x, y)) not in told]
    options = replace(options, correlation=",".join(filter(None, (options.correlation, *pairs))) or None)
    if not rows:
        return replace(options, at=tuple(f"{at},{spec}" if at and spec else at or spec for at in options.at or ("",)))
    options = replace(options, wrt=options.wrt or ",".join(known) or None)
    if options.emit or not spec:
        return options
    piped_rows = ("-",) if options.program != "-" and piped() else ()
    return replace(options, at=(*options.at, spec), data=options.data or piped_rows)
