"""Mutated programs go through the whole command, which must answer each of them.

An answer is exit 0, or another code of the list with a message. Anything else is a finding: exit 70, a traceback, an
exception, more than 10 seconds of processor time, or more memory than the process has.
"""
from __future__ import annotations

import ast
import io
import os
import random
import sys
import time
from collections import Counter
from functools import cache

from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse_source
from adcli.lang.syntax.source import decode
from harness import Finding, Tell, announce
from places import ROOT
from random_programs import sample

from adcli import main

ABOUT = "mutated programs through every verb"
LIMIT = 10.0
"""Seconds of processor time that an input may take."""

COMMANDS = [line.split() for line in (
    "grad - --emit text", "grad - --emit text --mode reverse --style prefix", "jvp - --emit text",
    "vjp - --emit text --style anf", "fmt -", "fmt - --check", "show - --stage anf", "show - --stage simplified")]
ANSWERS = {0, 1, 2, 3, 4}
VERBS = {
    "eval": ("--digits", "--enclose", "--status", "--strict", "--hex"),
    "grad": ("--digits", "--enclose", "--order=2", "--strict"),
    "hessian": ("--digits", "--mode=forward"), "jacobian": ("--mode=reverse",), "jvp": (), "vjp": (), "hvp": (),
    "taylor": ("--order=4", "--scaled"), "trace": ("--names=program", "--format=latex"), "why": ("--limit", "--order=2"),
    "check": ("--samples=5",), "propagate": ("--monte-carlo=100", "--order=2")}
"""Verbs that run a program at points, with options that some of their runs have."""
VALUES = ("0", "1", "-2.5", "inf", "nan", "1e300", "-0.0", "1e-300", "0.5", "3", "30", "-700")
INTERESTING = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n", b"\x0c", b"\xe2\x88\x92", b"\xc2\xa0", b"\xcc\x82",
    b"\xf0\x9d\x9b\xbc", b"(", b")", b"((((", b"{", b"}", b"=", b"-", b"**", b"?", b":", b"#", b";", b",", b"->", b"!", b"_",
    b"0", b"9" * 30, b"1e999", b"1e-999", b"0x", b"inf", b"nan", b"dup", b"def f(x) = ", b"input ", b"output ", b"param ",
    b"not ", b" in [", b"pow(", b"polygamma(", b"max(")
"""What a mutation likes to insert: what has a meaning in the language, and what has none in any text."""

KINDS = [[bytes([c]) for c in kind] for kind in (b"0123456789", b"abdxyzvw_", b"+-*/", b"<>")]
"""Bytes that can stand for one another."""


# ---------------------------------------------------------------- inputs

@cache
def corpus() -> tuple[bytes, ...]:
    """The sample programs, and the texts in the tests that look like programs."""
    files = [path.read_bytes() for path in sorted((ROOT / "samples").glob("*.ad")) if path.stat().st_size < 20_000]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    strings = {n.value for t in trees for n in ast.walk(t) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    texts = {text for text in strings if "=" in text and len(text) < 2000}
    return (*files, *[text.encode("utf-8", "surrogatepass") for text in sorted(texts)])


def source(r: random.Random) -> bytes:
    """A text to start from."""
    if r.random() < 0.25:
        return r.choice(corpus())
    return sample(r, r.choice((5, 15, 40)), extreme=True).text.encode()


def mutated(r: random.Random, data: bytes) -> bytes:
    for _ in range(r.choice((0, 1, 1, 1, 2, 6))):
        data = mutation(r, data)
    return data


def mutation(r: random.Random, data: bytes) -> bytes:
    """One change: a bit flipped, bytes inserted, deleted, repeated, a piece of another text, or one letter or digit for another,
    after which most texts still are programs."""
    i = r.randrange(len(data) + 1)
    j = min(len(data), i + r.choice((1, 1, 2, 4, 20, 200)))
    match r.randrange(12):
        case 0:
            return data[:i] + bytes([data[i] ^ 1 << r.randrange(8)]) + data[i + 1:] if i < len(data) else data
        case 1:
            return data[:i] + bytes([r.randrange(256)]) + data[i:]
        case 2:
            return data[:i] + r.choice(INTERESTING) + data[i:]
        case 3:
            return data[:i] + data[j:]
        case 4:
            return data[:i] + data[i:j] * r.choice((2, 2, 3, 50)) + data[j:]
        case 5:
            other = source(r)
            k = r.randrange(len(other) + 1)
            return data[:i] + other[k:k + r.choice((5, 40, 400))] + data[j:]
        case 6:
            return data[:i] + r.choice(INTERESTING) + data[j:]
        case _:
            alike = next((kind for kind in KINDS if data[i:i + 1] in kind), [data[i:i + 1]])
            return data[:i] + r.choice(alike) + data[i + 1:]


def attempt(r: random.Random) -> tuple[bytes, list[str]]:
    """An input and the command that it is given to."""
    data = mutated(r, source(r))
    return data, at_a_point(r, data) if r.randrange(3) == 0 else list(r.choice(COMMANDS))


def at_a_point(r: random.Random, data: bytes) -> list[str]:
    """A command that compiles the program and runs it; the point has a value for each input, as far as there are any."""
    try:
        names = [p.name for p in parse_source(decode(data, "-")).params]
    except AdError:
        names = []
    verb = r.choice(("eval", "grad", *VERBS))
    wide = "±0.1" if verb == "propagate" or r.random() < 0.05 else ""
    options = [option for option in VERBS[verb] if r.random() < 0.3]
    point = ",".join(f"{name}={r.choice(VALUES)}{wide}" for name in names)
    directions = [f"--tangent={','.join(f'{name}={r.choice(VALUES)}' for name in names)}"] * (verb in ("jvp", "hvp", "taylor"))
    form = r.choice(([], [], ["--format=json"], ["--format=csv"])) if verb in ("eval", "grad", "jvp", "taylor", "why") else []
    return [verb, "-", *(["--at", point] if names else []), *directions, *options, *form]


# ---------------------------------------------------------------- running

def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    os.environ["ADCLI_TRACEBACK"] = "1"
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        data, args = attempt(r)
        announce(data, tuple(args), tried)
        what = replay(data, tuple(args))
        tried[args[0]] += 1
        if what is not None:
            tell(Finding("mutations", 0, what, data, tuple(args)))
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    """What is wrong with the answer to an input, if anything."""
    streams, began = (sys.stdin, sys.stdout, sys.stderr), time.process_time()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data)), out, err
    try:
        code = main.run(list(command))
    except BaseException as error:   # also what `run` lets through: SystemExit, RecursionError in a handler
        return f"{type(error).__name__}: {error}"
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    said = (b"".join(s.buffer.getvalue() for s in (out, err) if not s.flush())).decode("utf-8", "replace")
    answered = code in ANSWERS or (code == 1 and "--check" in command)
    if not answered or "Traceback" in said or not (code == 0 or said.strip()):
        return f"exit {code}: {said[-2000:]}"
    seconds = time.process_time() - began
    return f"it took more than {LIMIT:g} seconds of processor time" if seconds > LIMIT else None
