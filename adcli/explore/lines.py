"""The lines of a pane, each with the operations it came from and the values it defines."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from adcli.lang.ir import Atom, Equation, Program
from adcli.lang.ir.errors import Source
from adcli.lang.ir.primitives import TABLE
from adcli.lang.syntax.printer import writer_of
from adcli.lang.syntax.scalar_printer import ScalarWriter, names_in

DUP = TABLE["dup"]
TARGET = re.compile(r"(?<=\w)\(| = | (?:[+*]|min|max)?=! ")
"""What ends the name of a tensor, or the names on the left of a statement."""
Json = dict[str, Any]


def lines(program: Program, style: str, seen: Mapping[Atom, int], derivative: str) -> list[Json]:
    """The text of a numbered program. `seen` has where the values of variables are found; `derivative` says what lines are that
    belong to no value of the primal: "tangent" or "adjoint"."""
    writer = writer_of(program, style)
    body = list(writer.attributed())
    before, within, after = writer.framed([text for text, _ in body])
    made = [line(writer, text, equations, seen, derivative) for text, (_, equations) in zip(within, body, strict=True)]
    return [*({"text": text} for text in before), *made, *({"text": text} for text in after)]


def line(writer: ScalarWriter, text: str, equations: Collection[Equation], seen: Mapping[Atom, int], derivative: str) -> Json:
    if not equations:
        return {"text": text}
    left = set(names_in(TARGET.split(text, maxsplit=1)[0]))
    outs = {writer.names[o]: o for e in equations for o in e.outs}
    values = [[name, seen[o]] for name, o in outs.items() if name in left and o in seen]
    found = {"text": text, "kind": kind(equations, derivative), "ops": origins(equations)}
    return found | ({"values": values} if values else {})


def kind(equations: Collection[Equation], derivative: str) -> str:
    if any(e.group for e in equations):
        return derivative
    return "dup" if all(e.op is DUP for e in equations) else "primal"


def origins(equations: Collection[Equation]) -> list[int]:
    """The numbers of the operations that equations came from, in order; -1 - k stands for input k."""
    return sorted({e.span[0] for e in equations if e.span is not None})


def source_lines(source: Source, program: Program) -> Iterator[Json]:
    """The lines of the text as the user wrote it, with what belongs to operations: [start, end, operation], in columns from 0. An
    operation over several lines has a piece of each."""
    texts = source.text.removesuffix("\n").split("\n")
    starts = [source.start_of(number) for number in range(1, len(texts) + 1)]
    spans: list[list[list[int]]] = [[] for _ in texts]
    for k, e in enumerate(program.equations):
        if e.span is None:
            continue
        number = source.place(e.span[0])[0] - 1
        while number < len(texts) and starts[number] < max(e.span[1], e.span[0] + 1):
            begin, end = max(0, e.span[0] - starts[number]), min(len(texts[number]), e.span[1] - starts[number])
            if begin < end:
                spans[number].append([begin, end, k])
            number += 1
    for text, found in zip(texts, spans, strict=True):
        yield {"text": text, **({"ops": sorted({k for *_, k in found}), "spans": found} if found else {})}
