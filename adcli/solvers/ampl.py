"""AMPL's way to call a solver, which is Pyomo's, too: `adcli STUB -AMPL key=value …`, whose answer is the file STUB.sol."""
from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from adcli.from_nl.module import NlOrigin
from adcli.lang.ir.errors import AdError
from adcli.numerics.optimality import Verdict
from adcli.output.numbers import number_format
from adcli.output.streams import destination, say
from adcli.output.version import __version__
from adcli.solvers.interior import ITERATIONS
from adcli.solvers.minimize_report import Report

FLAG = "-AMPL"
SOLVED, UNSURE, NO_POINT, UNBOUNDED, LIMIT, FAILED = 0, 100, 200, 300, 400, 500
"""Codes of what was found."""
VARIABLE = "adcli_options"
OPTIONS = {"solver": "--solver"}
"""Options of minimize by their keys."""


def translated(args: Sequence[str]) -> list[str]:
    """The words of a call as AMPL has it as those of a call of minimize; the variable adcli_options has options, too."""
    at = args.index(FLAG)
    before, words = [word for word in args[:at] if word != "minimize"], list[str]()
    for word in [*os.environ.get(VARIABLE, "").split(), *args[at + 1:]]:
        key, equals, value = word.partition("=")
        if key in OPTIONS and equals:
            words += [OPTIONS[key], value]
        elif equals and not word.startswith("-"):
            say(f"note: adcli has no option {key}")
        else:
            words.append(word)
    if before and not before[0].startswith("-") and (os.path.exists(f"{before[0]}.nl") or not os.path.exists(before[0])):
        before[0] += ".nl"
    return ["minimize", *before, FLAG, *words]


def refuse_whole_numbers(origin: object) -> NlOrigin:
    """The model. AdError where there is none, or one with variables that are whole numbers."""
    if not isinstance(origin, NlOrigin) or origin.model.source.name == "<stdin>":
        raise AdError(f"{FLAG} is for a model in a file .nl", help="write adcli minimize model.nl")
    if len(origin.model.discrete):
        raise AdError(f"{len(origin.model.discrete)} variables are whole numbers, which adcli does not look for",
                      help=f"without {FLAG} they are any numbers")
    return origin


def code(told: Report) -> int:
    """The code of what was found."""
    found = told.optimum.found
    if told.shown:
        return SOLVED
    if found.verdict == Verdict.INFEASIBLE:
        return NO_POINT
    if found.verdict == Verdict.MOVING and told.far:
        return UNBOUNDED
    if told.optimum.iterations >= ITERATIONS or "iteration" in told.optimum.message.lower():
        return LIMIT
    return UNSURE if found.verdict in (Verdict.FLAT, Verdict.DEGENERATE) else FAILED


def answer(told: Report, origin: NlOrigin) -> None:
    """Write what was found beside the model, and say it."""
    model, number = origin.model, number_format(None, False)
    x, duals = np.zeros(model.variables), np.zeros(model.constraints)
    at, found = told.at, told.optimum.found
    for v in origin.variables:
        x[v.ids] = np.ravel(at[v.name])
    multipliers = iter(np.nan_to_num(found.multipliers))
    pulls = {name: (bound, pull) for name, bound, pull in told.held()}
    first = model.variables + model.common + model.objectives
    for v in origin.rows:
        low, high = model.bounds["r"][:, v.ids - first]
        if v.name in origin.same:   # a bound of a variable
            bound, pull = pulls.get(origin.same[v.name], (np.nan, 0.0))
            duals[v.ids - first] = pull if bound in (low[0], high[0]) else 0.0
        elif np.isfinite([low, high]).any():
            duals[v.ids - first] = [next(multipliers) for _ in v.ids]
    sentence = f"adcli {__version__}: {told.sentence()}"
    options = model.header[0]
    lines = ["", sentence, "", "Options", *options[:1], *options[1:1 + options[0]], len(duals), len(duals), len(x), len(x),
             *map(number, duals), *map(number, x), f"objno 0 {code(told)}"]
    with destination(f"{os.path.splitext(model.source.name)[0]}.sol") as out:
        out.write("".join(f"{line}\n" for line in lines).encode())
    print(sentence)
