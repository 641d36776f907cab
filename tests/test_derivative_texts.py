"""Texts of derivatives are programs that stay what they are: a text that is read and written again is the same text, and the
program that is read takes every sum in the same order, so that no digit of a result changes.

(In the prefix style an operation that the user wrote has a line of its own, and one of a derivative stands in its line; a text
has only lines of a user. It reads back equal.)
"""
from __future__ import annotations

import contextlib
import pathlib
import random
from collections.abc import Callable, Iterator

import pytest
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.passes.pipeline import adjoint_program, tangent_program
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.sum_order import contracted
from edge_programs import edges, point
from places import ROOT
from row_tables import each_row
from same_programs import equal
from session_seed import drawn, half
from tensor_texts import ACCEPTED, NAMED

Make = Callable[[Program], Program]
FILES = sorted([*(ROOT / "samples").glob("*.ad"), *(ROOT / "tests" / "programs").rglob("*.ad")])
TEXTS = {**{str(p.relative_to(ROOT)): p for p in FILES}, **{d["id"]: d["text"] for d in ACCEPTED}, **NAMED}
DERIVATIVES: dict[str, Make] = {
    "value": lambda p: p, "forward": tangent_program, "reverse": adjoint_program,
    "forward over reverse": lambda p: tangent_program(adjoint_program(p)),
    "reverse over reverse": lambda p: adjoint_program(adjoint_program(p)),
    "reverse over forward": lambda p: adjoint_program(tangent_program(p))}
LONGEST, DRAWN, EDGES = 40, 12, 8
"""Equations of a program whose derivatives are looked at, and texts and choices of one run."""


def text_of(name: str) -> str:
    found = TEXTS[name]
    return found.read_text(encoding="utf-8").partition("\n# ---")[0] if isinstance(found, pathlib.Path) else found


def chosen() -> list[tuple[str, str]]:
    """A part of all texts and derivatives, another one in every run."""
    every = [(name, d) for name in TEXTS for d in DERIVATIVES]
    return drawn("derivative texts").sample(every, DRAWN)


def stays(program: Program) -> None:
    """The laws of a text. (A loop that may end early is written with the choices that it is made of, and may not.)"""
    assert contracted(program) is program, "a sum is in another order than it is read in"
    for style in ("nested", "anf", "prefix"):
        text = print_program(program, style)
        again = parse(text)
        early = any(isinstance(e.op, Recurrence) and e.op.until is not None for e in program.equations)
        assert early or equal(again, program), text
        assert style == "prefix" or print_program(again, style) == text


@each_row(("name", "derivative"), chosen())
def test_a_text_that_is_read_is_the_same(name: str, derivative: str) -> None:
    program = parse(text_of(name))
    if len(program.equations) <= LONGEST:
        stays(DERIVATIVES[derivative](program))


@pytest.mark.parametrize("derivative", half(list(DERIVATIVES)))
def test_a_text_with_choices_at_edges_is_read_the_same(derivative: str) -> None:
    """What reads are inside of their tensors a reader sees by the conditions of arms, and the derivative by guards."""
    for program in accepted(drawn("edges", derivative)):
        if len(program.equations) <= (6 if " over " in derivative else LONGEST):
            stays(DERIVATIVES[derivative](program))


def accepted(r: random.Random) -> Iterator[Program]:
    """Programs that are right at one size at least: what reads outside at all sizes may be seen in the derivative alone."""
    for written in (edges(r) for _ in range(EDGES)):
        if any(written.at(n, point(r, n)) is not None for n in range(2, 9)):
            with contextlib.suppress(AdError):
                yield parse(written.text)
