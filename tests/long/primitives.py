"""Every function at special values and beside them, through every verb: against ball arithmetic, and verb against verb.

For one operation at one point: values and derivatives to third order in every mode, native and interpreted, against
differences of the value alone in Arb; bounds of --enclose against multiple precision. Then the command with every verb that gives
results at points: each answers; what has the same name has the same value; `check` does not judge right derivatives wrong.
"""
from __future__ import annotations

import math
import random
import re
import sys
import time
from collections import Counter

import accuracy
import mutations
from adcli.lang.analyse.enclosure import enclose
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from adcli.lang.lower.library import prelude
from back_ends import BACK_ENDS, MODES, alike, derivatives, ulps
from exact_values import exact_values
from harness import Finding, Tell, announce
from one_operation import REAL, program
from random_programs import ARITY

ABOUT = "every function at special values, through every verb, against Arb and verb against verb"
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e308, -1e308,
           sys.float_info.max, 1e10, -1e10, 5e9, 1e22, 2.0**53, 2.0**53 + 2, 4503599627370496.5, -1e8 - 0.5, math.pi,
           math.pi / 2, -math.pi, 170.62, 171.7, -171.5, 709.79, -745.13, 1e15 + 0.5, 1 - 2.0**-53, 1 + 2.0**-52,
           -1 + 2.0**-53)
PRELUDE = {name: len(template.params) for name, template in prelude().items()}
FUNCTIONS = {**{name: few for name, (few, _) in ARITY.items()}, **PRELUDE}
"""Functions that a program can call, and with how many arguments."""
FORMULAS = {"add": "{} + {}", "sub": "{} - {}", "mul": "{}*{}", "div": "{}/{}", "pow": "{}**{}", "select": "{} > 0 ? {} : {}"}
WAYS = [(mode, back_end) for mode in MODES for back_end in BACK_ENDS]
STATIC = {"pown": (-100, -5, -1, 0, 1, 3, 64), "polygamma": (0, 1, 2, 5, 20)}
ULPS = 4.0
"""Units in the last place by which one verb may differ from another: the sweeps multiply in other orders."""
VERBS = ("eval", "eval --digits", "eval --enclose", "grad --mode=forward", "grad --mode=reverse --status", "grad --order=2",
         "grad --digits", "grad --enclose", "jvp", "vjp", "hessian", "hvp", "jacobian", "taylor --order=3",
         "taylor --digits --order=2", "check", "why", "why --limit --mode=reverse", "trace", "propagate",
         "propagate --second-order")
LINE = re.compile(r"^(\w+) = (-?(?:\d\S*|inf|nan))$", re.MULTILINE)


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        kind, name, values = r.choice(("verbs", "verbs", "Arb", "bounds")), *chosen(r)
        command = (kind, name, *map(repr, values))
        announce("", command, tried)
        tried[kind] += 1
        what = replay(b"", command)
        if what is not None:
            tell(Finding("primitives", 0, what, "", command))
    return tried


def chosen(r: random.Random) -> tuple[str, list[float]]:
    name = r.choice([*FUNCTIONS, *FORMULAS, *STATIC])
    count = 2 if name in STATIC else FORMULAS[name].count("{}") if name in FORMULAS else FUNCTIONS[name]
    values = [number(r) for _ in range(count)]
    return name, [float(r.choice(STATIC[name])), values[-1]] if name in STATIC else values


def number(r: random.Random) -> float:
    """A special value, one beside it, an integer, half an integer, or a number of any size."""
    match r.randrange(6):
        case 0 | 1:
            return r.choice(SPECIAL)
        case 2:
            x = r.choice(SPECIAL)
            return x + math.ulp(x) * r.choice((-1, 1, 3)) if math.isfinite(x) else x
        case 3:
            return r.randint(-200, 200) / r.choice((1, 2))
        case 4:
            return r.choice((1, -1)) * 10 ** r.uniform(-300, 300)
        case _:
            return round(r.uniform(-8, 8), r.choice((1, 3, 15)))


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    kind, name, *texts = command
    values = [float(x) for x in texts]
    return {"verbs": by_verbs, "Arb": by_arb, "bounds": by_bounds}[kind](name, values)


# ---------------------------------------------------------------- against other arithmetic

def by_arb(name: str, values: list[float]) -> str | None:
    op = next((op for op in REAL if op.name == name), None)
    if op is None or op.pieces == "step" or not all(math.isfinite(x) for x in values):
        return None
    p = program(op, static=values[0], count=len(values) if not op.static else None)
    at = dict(zip([x.name for x in p.params], values[1:] if op.static else values, strict=True))
    most = 1e300 if len(at) == 1 else 1e75
    smooth = derivatives(p, [at], "forward", "reference")[0][1] == "smooth"
    if not smooth or not all(1 / most <= abs(x) <= most for x in at.values() if x):
        return None
    for miss in accuracy.beyond(op, p, [at], WAYS):
        by, how = ",".join(miss.wrt) or "value", "/".join(miss.how)
        return f"{by} at {miss.at}, {how}: {miss.got!r}, truth {miss.want!r}\ndigits are lost: {name} by {len(miss.wrt)}"
    return None


def by_bounds(name: str, values: list[float]) -> str | None:
    if not all(math.isfinite(x) for x in values):
        return None
    source, at = formula(name, values)
    p = gradient(parse(source))
    known = enclose(p, {n: (x, x) for n, x in at.items()})
    for result, (lo, hi), x in zip(p.results, known.bounds, exact_values(p, at), strict=True):
        if x is not None and x - x == 0 and not lo <= x <= hi:   # mpmath compares exactly
            return f"{source} at {at}: {result.name} is {x}, not in [{lo!r}, {hi!r}]\nbounds of {name} do not hold"
    return None


# ---------------------------------------------------------------- verb against verb

def formula(name: str, values: list[float]) -> tuple[str, dict[str, float]]:
    """A program of one function, and its point."""
    if name in STATIC:
        n = int(values[0])
        return (f"v = x**{n}" if name == "pown" else f"v = polygamma({abs(n)}, x)"), {"x": values[1]}
    names = "xyzw"[:len(values)]
    called = FORMULAS[name].format(*names) if name in FORMULAS else f"{name}({', '.join(names)})"
    return f"v = {called}", dict(zip(names, values, strict=True))


def by_verbs(name: str, values: list[float]) -> str | None:
    source, at = formula(name, values)
    seen: dict[str, tuple[str, float]] = {}
    for line in VERBS:
        verb, *options = line.split()
        spread = "±0.1" if verb == "propagate" else ""
        args = [verb, "-e", source, f"--at={','.join(f'{n}={x!r}{spread}' for n, x in at.items())}", *options]
        if verb in ("jvp", "hvp", "taylor"):
            args.append(f"--tangent={','.join(f'{n}={int(i == 0)}' for i, n in enumerate(at))}")
        given = mutations.answer(args)
        fault = mutations.wrong(given)
        if fault is None and verb == "check" and given.code == 1 and "nothing compared" not in given.result:
            fault = f"{given.result}\ncheck judges {name} wrong"
        if fault is not None:
            return f"adcli {' '.join(args)}\n{fault}"
        if (options and options[0] in ("--digits", "--enclose")) or verb in ("check", "why", "trace", "propagate", "taylor"):
            continue
        for found, text in LINE.findall(given.result):
            found = {"dv": "dv_dx", "d_dx": "dv_dx"}.get(found, found)
            x, (other, y) = float(text), seen.setdefault(found, (line, float(text)))
            if not (alike(x, y) or ulps(x, y) <= ULPS):
                return f"{source} at {at}: {found} is {x!r} by {line}, {y!r} by {other}\nverbs differ on {name}"
    return None
