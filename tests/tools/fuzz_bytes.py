#!/usr/bin/env python3
"""Byte-level fuzzing of the whole command: mutated program files go through adcli, which must answer each of them.

    python tests/tools/fuzz_bytes.py --count 100000 --seed 1 [--save FOLDER]

An answer is exit 0, or exit 2 or 3 with a message. Anything else is a finding: exit 70, a traceback, an exception, a crash
of the process, no answer within 10 seconds. Findings are printed and their inputs saved; exit 1 if there are any.

The work is done by a second process, which announces each input before it runs it: when that process dies or hangs,
the input is known, and a fresh process goes on behind it. Input number i depends on the seed and on i alone.
"""
from __future__ import annotations

import argparse
import ast
import io
import json
import os
import pathlib
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "helpers"), str(TESTS.parent)]
from adcli.lang.ir.errors import AdError  # noqa: E402
from adcli.lang.lower.frontend import parse_source  # noqa: E402
from adcli.lang.syntax.source import decode  # noqa: E402
from random_programs import sample  # noqa: E402  # what the tests have in tests/helpers

from adcli import main  # noqa: E402

LIMIT = 10.0
"""Seconds an input may take."""
START = 60.0
"""Seconds until a process has announced its first input."""

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
    files = [path.read_bytes() for path in sorted((TESTS.parent / "samples").glob("*.ad")) if path.stat().st_size < 20_000]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("test_*.py"))]
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


def numbered(seed: int, i: int) -> tuple[bytes, list[str]]:
    """Input number i and the command that it is given to."""
    r = random.Random(f"{seed}/{i}")
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

def fault(data: bytes, args: list[str]) -> str | None:
    """What is wrong with the answer to an input, if anything."""
    streams = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data)), out, err
    try:
        code = main.run(args)
    except BaseException as error:   # also what `run` lets through: SystemExit, RecursionError in a handler
        return f"{type(error).__name__}: {error}"
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
    said = (b"".join(s.buffer.getvalue() for s in (out, err) if not s.flush())).decode("utf-8", "replace")
    answered = code in ANSWERS or (code == 1 and "--check" in args)
    if answered and "Traceback" not in said and (code == 0 or said.strip()):
        return None
    return f"exit {code}: {said[-2000:]}"


def work(seed: int, first: int, count: int) -> None:
    """Run inputs `first` to `count`, announcing each; the process that `fuzz` starts does this."""
    os.environ["ADCLI_TRACEBACK"] = "1"
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for i in range(first, count):
        data, args = numbered(seed, i)
        print(i, file=pipe, flush=True)
        found = fault(data, args)
        if found is not None:
            print(json.dumps(found), file=pipe, flush=True)
    print("end", file=pipe, flush=True)


def fuzz(count: int, seed: int) -> Iterator[tuple[int, str]]:
    """The findings among `count` inputs: number and description."""
    first = 0
    while first < count:
        current, ended = first - 1, False
        command = [sys.executable, str(pathlib.Path(__file__).resolve()), f"--work={first}", f"--count={count}", f"--seed={seed}"]
        with (tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory() as cache_home,
              subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors,
                               env={**os.environ, "XDG_CACHE_HOME": cache_home}) as process):
            for line in lines(process):
                if line.startswith('"'):
                    yield current, json.loads(line)
                elif line == "end":
                    ended = True
                else:
                    current = int(line)
            hung = process.poll() is None
            if hung and not ended:
                process.kill()
            code = process.wait()
            errors.seek(0)
            said = errors.read()[-1000:].decode("utf-8", "replace")
        if ended:
            return
        if current < first:
            raise RuntimeError(f"the second process does not start: {said}")
        yield current, f"no answer within {LIMIT:g} seconds" if hung else f"the process died with {code}: {said}"
        first = current + 1


def lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The lines of a process as they come; ends where it ends, and where it is silent for too long."""
    assert process.stdout is not None
    rest, limit = b"", START
    while select.select([process.stdout], [], [], limit)[0]:
        data = os.read(process.stdout.fileno(), 1 << 16)
        if not data:
            process.wait(LIMIT)
            return
        *whole, rest = (rest + data).split(b"\n")
        yield from (line.decode() for line in whole)
        limit = LIMIT


def report(count: int, seed: int, folder: pathlib.Path) -> int:
    """Run, print and save; the number of findings."""
    found, start = 0, time.perf_counter()
    for i, what in fuzz(count, seed):
        found += 1
        data, args = numbered(seed, i)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{seed}-{i}.ad"
        path.write_bytes(data)
        print(f"input {i}: adcli {' '.join(args)} < {path}\n{what}\n", flush=True)
    print(f"{count} inputs, {found} findings, {time.perf_counter() - start:.0f} s")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="inputs to run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "adcli-findings",
                        help="folder for the inputs of findings")
    parser.add_argument("--work", type=int, default=None, metavar="FIRST", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.seed, given.work, given.count)
    else:
        sys.exit(1 if report(given.count, given.seed, given.save) else 0)
