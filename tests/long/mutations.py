"""Mutated programs go through the whole command, which must answer each of them.

An answer is exit 0, or another code of the list with a message. Anything else is a finding: exit 70, a traceback, an
exception, more than 10 seconds of processor time, or more memory than the process has.
"""
from __future__ import annotations

import ast
import io
import json
import math
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse_source
from adcli.lang.syntax.scan import decode
from harness import Finding, Tell, announce
from places import ROOT
from random_programs import sample
from tensor_texts import NAMED, random_text

from adcli import main

ABOUT = "mutated programs through every verb"
LIMIT = 10.0
"""Seconds of processor time that an input may take."""

ANSWERS = {0, 1, 2, 3, 4, 5}
ONE_IN = 4
"""An option is given to one command in so many."""
FORBIDDEN = {"--output", "--help", "--version", "--expression", "--at", "--data", "--rows", "--seconds"}
"""Options that say where a result goes, that end the command, or that an attempt sets itself."""
VALUES = ("0", "1", "-2.5", "inf", "nan", "1e300", "-0.0", "1e-300", "0.5", "3", "30", "-700", "1e10", "5e-324", "0.1", "2")
COUNTS = ("0", "1", "2", "3", "4", "7", "12", "40", "-1", "1000000", "1e3", "x", "")
GRIDS = ("0", "1", "2", "3", "-1", "x", "1.5", "")
"""Points of a range: few, as what a grid of thousands takes is no finding."""
TEXTS = ("x", "v", "x,y", "x=1", "v=1", "x=1,y=-2", "x=nan", "v:x", "v:x,x", "y:x", "x:y=0.5", "x:y=2", "all", "*", "[1,2]",
         "x=[1,0]", "x=[[1,2],[3]]", "%.3g", "%d", "%s%s", "{}", "95%", "0.95", "2", "k=2", ";", ",", "", " ", "é",
         "\\t", "x y", "x:y", "a=x", "-", "--", "x" * 300, "1,2", "1:2:3", "s,A", "A=1", "A(0)", "s:A")
SPREADS = ("±0.1", "±1%", "+-2", "(3)", "±0.1~rect", "±0.2~t(4)", "~normal", "±nan", "±0", "±", "±1~", "±-1", "±1e999")
INTERESTING = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\n", b"\x0c", b"\xe2\x88\x92", b"\xc2\xa0", b"\xcc\x82",
    b"\xf0\x9d\x9b\xbc", b"(", b")", b"((((", b"{", b"}", b"=", b"-", b"**", b"?", b":", b"#", b";", b",", b"->", b"!", b"_",
    b"0", b"9" * 30, b"1e999", b"1e-999", b"0x", b"inf", b"nan", b"dup", b"def f(x) = ", b"input ", b"output ", b"param ",
    b"not ", b" in [", b"pow(", b"polygamma(", b"max(")
"""What a mutation likes to insert: what has a meaning in the language, and what has none in any text."""

DATA_PROGRAMS = (
    ("x*sin(y)", "xy"), ("v = log(x)/y; w = x > y ? x : 2", "xy"), ("input A(M, N), b(N); y(i) +=! A(i, j)*b(j)", "Ab"),
    ("input A(N); s +=! exp(A(i))*A(i)", "A"), ("input A(N), int32 I(N); s +=! A(I(i))**2", "AI"),
    ("input A(M, N), c; B(i, j) = A(i, j)/c", "Ac"))
"""Programs that data are given to, and the names of their inputs."""
FILES = ("npy", "npz", "json", "jsonl", "csv", "tsv", "parquet", "txt")

KINDS = [[bytes([c]) for c in kind] for kind in (b"0123456789", b"abdxyzvw_", b"+-*/", b"<>")]
"""Bytes that can stand for one another."""
FIELDS = ("1", "-2.5", "", "nan", "inf", "1e400", "x", "0x1p3", '"1"', '"a\nb"', "1,5", " 3 ", "1_0", "−1", "9" * 40, "TRUE",
          "1d3")
WORD = re.compile(rb"\s+|\w+|[^\w\s]")
INPUT = re.compile(r"input\.\w+")
WARNING = re.compile(r"\b\w*Warning: .*")
NO_POINT = {"show", "fmt", "bench"}
VERBS = (*(v for v in main.VERBS if v not in ("bench", "cache", "functions", "help")), "fmt", "show", "check", "why", "trace")
"""What programs are given to; those that end soonest or that have found most, more often."""


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
    kind = r.random()
    if kind < 0.25:
        return r.choice(corpus())
    if kind < 0.4:
        return (random_text(r) if r.random() < 0.7 else r.choice(list(NAMED.values()))).encode()
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


def spliced(r: random.Random, data: bytes) -> bytes:
    """Words left out, repeated, exchanged with one another and with those of another program."""
    words = WORD.findall(data)
    for _ in range(r.choice((1, 1, 2, 4))):
        if not words:
            break
        i, j = r.randrange(len(words)), r.randrange(len(words))
        match r.randrange(5):
            case 0:
                words[i:i + r.choice((1, 1, 3, 10))] = []
            case 1:
                words[i:i] = words[j:j + r.choice((1, 3, 20))]
            case 2:
                words[i], words[j] = words[j], words[i]
            case 3:
                other = WORD.findall(source(r))
                words[i:i + r.choice((0, 1, 3))] = other[j % len(other):][:r.choice((1, 3, 20))] if other else []
            case _:
                words[i] = words[i] * r.choice((2, 2, 3, 40))
    return b"".join(words)


def attempt(r: random.Random) -> tuple[bytes, list[str], str]:
    """An input, the command that it is given to, and what kind of attempt this is."""
    kind = r.choice(("program", "program", "program", "words", "data", "data"))
    if kind == "data":
        data, args = with_data(r)
        return data, args, kind
    data = source(r)
    if kind == "program":
        data = spliced(r, data) if r.random() < 0.4 else mutated(r, data)
    verb = r.choice(VERBS)
    args = [verb, "-", *(point(r, verb, data) if verb not in NO_POINT else [])]
    args += options(r, verb)
    if kind == "words":
        args = [word_changed(r, a) if i and r.random() < 0.3 else a for i, a in enumerate(args)]
    return data, args, kind


@cache
def parameters(verb: str) -> tuple[click.Option, ...]:
    found = main.cli.get_command(click.Context(main.cli), verb)
    assert found is not None
    return tuple(p for p in found.params if isinstance(p, click.Option) and not FORBIDDEN & {*p.opts})


def options(r: random.Random, verb: str, often: int = ONE_IN) -> list[str]:
    """Options that the verb has, with values that they take or that any option might be given."""
    chosen = []
    for p in r.sample(parameters(verb), len(parameters(verb))):
        if r.randrange(often * 3):
            continue
        if p.is_flag:
            chosen.append(p.opts[-1])
        elif isinstance(p.type, click.Choice):
            chosen.append(f"{p.opts[-1]}={r.choice([str(c) for c in p.type.choices])}")
        elif isinstance(p.type, click.types.IntParamType):
            chosen.append(f"{p.opts[-1]}={r.choice(COUNTS)}")
        else:
            chosen.append(f"{p.opts[-1]}={r.choice(TEXTS)}")
    return chosen


def point(r: random.Random, verb: str, data: bytes) -> list[str]:
    """A value for each input, as far as there are any, and directions where the verb wants them; sometimes a grid or a spread."""
    try:
        params = parse_source(decode(data, "-")).params
    except AdError:
        return ["--at=x=1,y=2"] if r.random() < 0.5 else []
    if not params or r.random() < 0.1:
        return []
    wide = 0.8 if verb == "propagate" else 0.05
    at = f"--at={','.join(f'{p.name}={value(r, rank(p))}{r.choice(SPREADS) if r.random() < wide else str()}' for p in params)}"
    along = ",".join(f"{p.name}={value(r, rank(p))}" for p in params if rank(p) or r.random() < 0.8)
    return [at, *([f"--tangent={along}"] if verb in ("jvp", "hvp", "taylor") else [])]


def rank(p: Param) -> int:
    return len(p.var.shape or ())


def value(r: random.Random, rank: int) -> str:
    if rank:
        shape = [r.choice((1, 2, 2, 3)) for _ in range(rank)]
        return str(nested(r, shape)).replace(" ", "")
    kind = r.randrange(30)
    if kind == 0:
        return f"{r.choice(VALUES)}:{r.choice(VALUES)}:{r.choice(GRIDS)}"
    return r.choice(VALUES) if kind < 20 else str(round(r.uniform(-5, 5), 3))


def nested(r: random.Random, shape: list[int]) -> object:
    return [nested(r, shape[1:]) for _ in range(shape[0])] if shape else round(r.uniform(-3, 3), 2)


def word_changed(r: random.Random, word: str) -> str:
    changed = mutated(r, word.encode("utf-8", "surrogatepass")).replace(b"\0", b"")   # no system call takes a NUL in a word
    return os.fsdecode(changed)


def with_data(r: random.Random) -> tuple[bytes, list[str]]:
    """A file of numbers with some of its bytes changed, and a command that reads it as a table or as tensors."""
    (program, names), suffix = r.choice(DATA_PROGRAMS), r.choice(FILES)
    verb = r.choice(("eval", "grad", "jacobian", "vjp", "jvp", "hessian", "propagate", "check", "why", "trace", "taylor", "hvp"))
    data = written(r, suffix, names)
    for _ in range(r.choice((0, 1, 1, 2, 5))):
        data = mutation(r, data)
    rows = suffix not in ("npy", "npz") and r.random() < 0.6 and "--data" in {o for p in every_option(verb) for o in p}
    if rows:
        args = [f"--data=input.{suffix}"]
    elif suffix in ("npz", "json") and r.random() < 0.5:
        args = [f"--at=@input.{suffix}"]
    else:
        given = {n: f"@input.{suffix}" if r.random() < 0.7 else value(r, int(n in "AI")) for n in names}
        args = [f"--at={','.join(f'{n}={x}' for n, x in given.items())}"]
    return data, [verb, "-e", program, *args, *options(r, verb)]


@cache
def every_option(verb: str) -> tuple[tuple[str, ...], ...]:
    found = main.cli.get_command(click.Context(main.cli), verb)
    assert found is not None
    return tuple(tuple(p.opts) for p in found.params)


def written(r: random.Random, suffix: str, names: str) -> bytes:
    """The bytes of a file in a format, of some numbers."""
    out, shape = io.BytesIO(), [r.randrange(4) for _ in range(r.choice((0, 1, 1, 2, 2, 3)))]
    dtype = r.choice(("f8", "f8", ">f8", "f4", "i4", "i8", "u1", "?", "f2", "c16", "S3", "U2", "M8[s]"))

    def array() -> np.ndarray:
        drawn = np.array([r.uniform(-3, 3) for _ in range(math.prod(shape))]).reshape(shape)
        return np.asarray(drawn.astype("i8").astype(dtype) if dtype[0] in "SUM" else drawn.astype(dtype), order=r.choice("CF"))

    match suffix:
        case "npy":
            np.save(out, array())
        case "npz":
            members = {n: array() for n in names}
            (np.savez_compressed if r.random() < 0.3 else np.savez)(out, **members)
        case "json" | "jsonl" if r.random() < 0.5:
            out.write(json.dumps({n: nested(r, shape) for n in names}).encode())
        case "json":
            out.write(json.dumps([{n: r.choice((1, 2.5, None, "3", "x", True, [1])) for n in names} for _ in range(3)]).encode())
        case "jsonl":
            out.write("\n".join(json.dumps({n: r.uniform(-3, 3) for n in names}) for _ in range(3)).encode())
        case "parquet":
            import polars
            polars.DataFrame({n: [r.choice((1.0, -2.5, None)) for _ in range(4)] for n in names}, strict=False).write_parquet(out)
        case _:
            mark = "\t" if suffix == "tsv" else r.choice(",,;")
            fields = [list(names)] + [[r.choice(FIELDS) for _ in names] for _ in range(r.randrange(5))]
            out.write(r.choice(("\n", "\r\n")).join(mark.join(row) for row in fields).encode())
    return out.getvalue()


# ---------------------------------------------------------------- running

def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    os.environ["ADCLI_TRACEBACK"] = "1"
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        data, args, kind = attempt(r)
        announce(data, tuple(args), tried)
        what = replay(data, tuple(args))
        tried[kind] += 1
        if what is not None:
            tell(Finding("mutations", 0, what, data, tuple(args)))
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    """What is wrong with the answer to an input, if anything. The input is the file that the command names, or else stdin."""
    for name in {name for word in command for name in INPUT.findall(word)}:
        Path(name).write_bytes(data)
    try:
        return wrong(answer(command, data))
    except BaseException as error:   # what the command lets through: SystemExit, RecursionError in a handler
        return f"{type(error).__name__}: {error}"


class Answer(NamedTuple):
    """What a command gives: exit code, standard output, standard error, and the seconds of processor time that it took."""

    code: int
    result: str
    said: str
    seconds: float


def answer(command: Sequence[str], data: bytes = b"") -> Answer:
    """The command in this process, with data on standard input."""
    streams, began = (sys.stdin, sys.stdout, sys.stderr), time.process_time()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=e) for e in ("surrogateescape", "backslashreplace"))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data)), out, err
    try:
        code = main.run(list(command))
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    seconds = time.process_time() - began
    result, said = ((s.flush() or s.buffer.getvalue()).decode("utf-8", "replace") for s in (out, err))
    return Answer(code, result, said, seconds)


def wrong(given: Answer) -> str | None:
    """What is wrong with an answer, whatever the question was."""
    code, said = given.code, given.said
    if given.seconds > LIMIT:
        return f"more than {LIMIT:g} seconds of processor time"
    if code not in ANSWERS or "Traceback" in said:
        told = [line for line in said.splitlines() if "internal error" in line]
        return f"{said[-3000:]}\nexit {code}: {told[-1] if told else said[-200:]}"
    if code in (2, 3) and not said.strip():
        return f"exit {code} without a word"
    if "not enough memory" in said:
        return f"{said}\nall the memory there is"
    if found := WARNING.search(said):
        return f"{said[-2000:]}\na warning of Python reaches the user: {found[0]}"
    if any(c < " " and c not in "\n\t\r" for c in said):
        return f"{said[-2000:]!r}\na control character reaches the terminal"
    return None
