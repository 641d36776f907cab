"""Constants, empty tensors and sizes of 1 through every verb, and through every language that programs are written in.

A verb answers or refuses; where the reference evaluator has a value, native code has it, and so have the modules of Python and of
JavaScript and the function of C, with derivatives.
"""
from __future__ import annotations

import json
import random
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import c_tensors
import mutations
import numpy as np
from adcli.lang.ir import Program, has_tensors
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import evaluation_program
from adcli.lang.sizes.all_sizes import size_conditions
from back_ends import same
from harness import Finding, Tell, announce
from script_programs import NODE, flat, tensors_in_node, tensors_in_python

from adcli.task.native import native

ABOUT = "constants, empty tensors and sizes of 1 through every verb and every emitted language"
SIZES = (0, 0, 0, 1, 1, 1, 2, 3)
LANGUAGES = ("native", "native", "Python", "Python", "C", "JavaScript")
VERBS = (*mutations.VERBS, "solve", "minimize", "fit", "propagate", "plot", "bench")
INPUTS = "input a(N), b(N), A(N, M), S(M, M), d(M), c, e, int32 k(K)"
CONSTANTS = ("0", "1", "-1", "2.5", "nan", "inf", "0.0", "1/0", "0/0", "log(0)", "sqrt(-1)", "pi", "N", "M - 1")
REDUCTIONS = ("+=!", "*=!", "max=!", "min=!", "lse=!")
FUNCTIONS = ("sqrt", "log", "exp", "abs", "sin", "lgamma", "floor", "-")
RANGES = ("0:N", "0:M", "0:K", "0:3", "0:1", "0:0", "0:max(N, M)", "0:N - 1", "1:N")


# ---------------------------------------------------------------- programs

def text(r: random.Random) -> str:
    """A program of a few statements, of which many compute nothing."""
    lines, known = [INPUTS], {"a": 1, "b": 1, "A": 2, "S": 2, "d": 1, "c": 0, "e": 0}
    for at in range(r.randint(1, 3)):
        name = f"y{at}"
        line, rank = r.choice((comprehension, comprehension, comprehension, number, matrix, history, elements))(r, name, known)
        lines.append(line)
        known[name] = rank
    made = [n for n in known if n[0] == "y"]
    return "\n".join([*lines, f"output {', '.join(dict.fromkeys([*r.sample(made, r.randint(0, len(made))), made[-1]]))}"]) + "\n"


def number(r: random.Random, name: str, known: dict[str, int]) -> tuple[str, int]:
    return f"{name} = {value(r, [], known, 2)}", 0


def comprehension(r: random.Random, name: str, known: dict[str, int]) -> tuple[str, int]:
    rank, inner = r.choice((0, 1, 1, 2)), r.choice((0, 0, 1, 2))
    own, summed = list("ij"[:rank]), list("lm"[:inner])
    symbol = r.choice(REDUCTIONS) if inner or r.random() < 0.3 else "="
    if symbol == "=" and not rank:
        return number(r, name, known)
    where = ", ".join(f"{i} in {r.choice(RANGES)}" for i in [*own, *summed])
    if where and r.random() < 0.2:
        where += f", {r.choice([*own, *summed])} {r.choice(('>=', '<'))} {r.choice(('1', 'N', '5'))}"
    left = name + (f"({', '.join(own)})" if own else "")
    return f"{left} {symbol} {value(r, [*own, *summed], known, 2)}" + (f" where {where}" if where else ""), rank


def matrix(r: random.Random, name: str, known: dict[str, int]) -> tuple[str, int]:
    return r.choice(((f"{name} = solve(S, d)", 1), (f"{name} = inverse(S)", 2), (f"{name} = cholesky(S)", 2),
                     (f"{name} = logdet(S)", 0), (f"{name} = transpose(A)", 2), (f"{name} = solve_lower(S, d)", 1)))


def history(r: random.Random, name: str, known: dict[str, int]) -> tuple[str, int]:
    step = value(r, ["t"], {n: rank for n, rank in known.items() if not rank}, 1)
    down = r.random() < 0.3
    first, new, old = ("N", "t", "t + 1") if down else ("0", "t + 1", "t")
    factor = r.choice(("0.5", "c", f"{name}({old})"))
    return (f"{name}({first}) = {value(r, [], known, 1)}\n"
            f"for t in 0:N{' down' * down} {{ {name}({new}) = {factor}*{name}({old}) + {step} }}"), 1


def elements(r: random.Random, name: str, known: dict[str, int]) -> tuple[str, int]:
    """A vector that several statements write, element by element or part by part."""
    places = r.sample(("0", "1", "2", "N", "M + 1"), 3)
    lines = [f"{name}({at}) {r.choice(('=', '=', '+=!'))} {value(r, [], known, 1)}" for at in places]
    if r.random() < 0.4:
        lines.append(f"{name}(i) = {value(r, ['i'], known, 1)} where i in {r.choice(('1:N', '3:4', '0:M', '2:5'))}")
    return "\n".join(lines), 1


def value(r: random.Random, indices: list[str], known: dict[str, int], depth: int) -> str:
    kind = r.random()
    if depth == 0 or kind < 0.3:
        return leaf(r, indices, known)
    one, other = (value(r, indices, known, depth - 1) for _ in range(2))
    if kind < 0.7:
        return f"({one} {r.choice('+-*/')} {other})"
    if kind < 0.8:
        return f"{r.choice(('max', 'min', 'hypot', 'pow'))}({one}, {other})"
    if kind < 0.9:
        return f"({one} < {other} ? {other} : {one})"
    return f"{r.choice(FUNCTIONS)}({one})"


def leaf(r: random.Random, indices: list[str], known: dict[str, int]) -> str:
    if r.random() < 0.35:
        return r.choice([*CONSTANTS, *indices])
    name, rank = r.choice(list(known.items()))
    if not rank:
        return name
    at = [r.choice([*indices * 3, "0", "N - 1", *(["k(" + indices[0] + ")"] if indices else [])]) for _ in range(rank)]
    return f"{name}({', '.join(at)})"


# ---------------------------------------------------------------- points and commands

def drawn(r: random.Random, source: str) -> dict[str, Any] | None:
    """Values for the inputs of a program, None where it is none."""
    try:
        program = parse(source)
    except AdError:
        return None
    return dict(c_tensors.drawn_point(r, program, SIZES)[0])


def command(r: random.Random, source: str, at: dict[str, Any]) -> tuple[str, ...]:
    """A verb with what it needs, at a point; an option now and then."""
    verb = r.choice(VERBS)
    reals = [n for n in at if n != "k"]
    words = [verb, "-e", source]
    if verb in ("fmt", "show", "draw"):
        return (*words, *mutations.options(r, verb, 4))
    if verb == "plot" and "c" in at:
        at = {**at, "c": 0.0}
        words += [f"--at={written({n: x for n, x in at.items() if n != 'c'})},c=-1:1:{r.choice((1, 2, 5))}"]
    elif verb == "fit":
        free = [n for n in reals if n != "e"]
        words += [f"--params={written({n: at[n] for n in free})}", "--data=input.csv"]
        words += [f"--at={written({'k': at['k']})}"] if "k" in at else []
    elif at:
        words += [f"--at={written(at, '±0.1' if verb == 'propagate' else '')}"]
    if verb in ("jvp", "hvp", "taylor") and reals:
        words += [f"--tangent={written({n: np.ones(np.shape(at[n])) for n in reals})}"]
    if verb in ("solve", "minimize") and reals and r.random() < 0.7:
        words += [f"--wrt={','.join(r.sample(reals, r.randint(1, len(reals))))}"]
    if verb == "bench":
        return (*words, "--seconds=0.001")
    return (*words, *mutations.options(r, verb, 6))


def written(every: dict[str, Any], spread: str = "") -> str:
    """Values as --at has them, those that may have one with a spread."""
    said = {n: json.dumps(np.asarray(x).tolist()).replace(" ", "") for n, x in every.items()}
    return ",".join(f"{n}={x}{spread if n != 'k' else ''}" for n, x in said.items())


# ---------------------------------------------------------------- running

def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        source = text(r)
        at = drawn(r, source)
        if at is None:
            tried["refused"] += 1
            continue
        given = ("written", r.choice(LANGUAGES), str(r.randrange(2**32))) if r.random() < 0.4 else command(r, source, at)
        announce(source, given, tried)
        tried[given[1] if given[0] == "written" else given[0]] += 1
        what = replay(source.encode(), given)
        if what is not None:
            tell(Finding("edges", 0, what, source, given))
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    if command[0] == "written":
        return by_language(data.decode(), command[1], random.Random(int(command[2])))
    table = b"e,y\n1,2\n2,1\n-1,0\n"
    return mutations.replay(table, command)


def by_language(source: str, language: str, r: random.Random) -> str | None:
    """What a derivative of a program gives in a language, against the reference."""
    try:
        program = evaluation_program(r.choice(c_tensors.DERIVATIVES)(parse(source)))
        at, sizes = c_tensors.drawn_point(r, program, SIZES)
    except AdError:
        return None
    if not has_tensors(program):
        return None
    want = c_tensors.expected(program, at)
    try:
        got = by_native(program, at) if language == "native" else by_c(program, at, sizes) if language == "C" else \
            by_script(program, at, sizes, language)
    except AdError:
        got = None
    if want is None or (got is None and size_conditions(program).loose):
        return None
    if got is None:
        return f"{source}\nat {at}\n{language} refuses what the reference has"
    largest = max((abs(x) for x in want if abs(x) < 1e300), default=0.0)
    if len(got) != len(want) or any(not same(x, y) and not abs(x - y) <= 1e-12 * largest for x, y in zip(want, got, strict=True)):
        return f"{source}\nat {at}\n{want}\n{got}\n{language} differs from the reference"
    return None


def by_native(program: Program, at: Any) -> list[float]:
    found = native(program, None, "double")({n: np.asarray(x) for n, x in at.items()})
    return flat([found[r.name] for r in program.results])


def by_script(program: Program, at: Any, sizes: Any, language: str) -> list[float] | None:
    if language == "Python":
        (found,) = tensors_in_python([program], [[(at, sizes)]])
    elif NODE is None:
        return None
    else:
        with tempfile.TemporaryDirectory() as folder:
            (found,) = tensors_in_node(Path(folder), [program], [[(at, sizes)]])
    return None if found == "refused" else flat(found)


def by_c(program: Program, at: Any, sizes: Any) -> list[float] | None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))   # sanitizers reserve a large part of all addresses
    try:
        with tempfile.TemporaryDirectory() as folder:
            (code, got), = c_tensors.run_tensors(Path(folder), [program], [[(at, sizes)]])[0]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return None if code else got
