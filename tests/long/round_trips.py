"""Every text that a program is printed as says the program: random and mutated programs at every stage, in every style, pickled.

    equal(parse(print(p)), p)      print(parse(print(p))) == print(p)      equal(parse(format(text)), parse(text))
    a function from Python, pickled and back, has the same text
"""
from __future__ import annotations

import pickle
import random
import time
import traceback
from collections import Counter

import laws
import mutations
from adcli.lang.ir import Program, Var
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes import pipeline
from adcli.lang.syntax.scan import decode
from harness import Finding, Tell, announce
from random_programs import sample
from tensor_texts import random_text
from well_formed import check

import adcli

ABOUT = "texts of programs at every stage and in every style, read back and pickled"
LARGE = 400
"""Equations of a derivative program beyond which its texts are left to the tests of speed."""


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        data, kind = text(r)
        announce(data, (), tried)
        tried[kind] += 1
        what = replay(data, ())
        if what is not None:
            tell(Finding("round_trips", 0, what, data, ()))
        else:
            tried["programs"] += program(data) is not None
    return tried


def text(r: random.Random) -> tuple[bytes, str]:
    """A program as it is written, or as it becomes when words or bytes of it change."""
    match r.randrange(5):
        case 0:
            return sample(r, r.choice((5, 15, 40)), extreme=True).text.encode(), "random"
        case 1:
            return random_text(r).encode(), "tensors"
        case 2 | 3:
            return mutations.spliced(r, mutations.source(r)), "words changed"
        case _:
            return mutations.mutated(r, mutations.source(r)), "bytes changed"


def program(data: bytes) -> Program | None:
    """The program that a text is, if it is one."""
    try:
        return parse(decode(data, "text").text)
    except AdError:
        return None


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    """What does not read back as it was, if anything."""
    try:
        made = program(data)
        if made is not None:
            check_texts(decode(data, "text").text, made)
    except Exception as fault:   # an AssertionError of a law, or anything that should not happen
        return f"{traceback.format_exc()[-3000:]}\n{type(fault).__name__} of {place(fault)}"
    return None


def place(fault: BaseException) -> str:
    """The function that raised: what findings alike have in common."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{frame.name}: {(str(fault).splitlines() or [''])[-1][:80]}"


def check_texts(source: str, made: Program) -> None:
    laws.check_format(source)
    for each in stages(made):
        laws.check_round_trip(each)
    function = adcli.compile(source)
    again = pickle.loads(pickle.dumps(function))
    assert again.text() == function.text(), "pickled and back, it is another program"


def stages(made: Program) -> list[Program]:
    """The program at every stage that has it and is not too long."""
    found = [made]
    for stage in pipeline.STAGES.values():
        if stage is not None:
            try:
                found.append(check(stage(made)))
            except AdError:   # no derivative: what such a stage says is a matter of the command
                continue
    return [p for p in found if size(p) <= LARGE]


def size(p: Program) -> int:
    return sum(1 + (len(e.op.body.equations) if isinstance(e.op, Comprehension) else 0) for e in p.equations) + sum(
        isinstance(a, Var) for e in p.equations for a in e.args)
