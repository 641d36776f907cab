"""The trace of a program as one JSON object a point: every number of the tables, with the places in the source."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from adcli.codegen.documents.notation import Number
from adcli.lang.analyse.numeric_sweeps import Derivative
from adcli.lang.analyse.trace import ADJOINT, TANGENT, AdjointStep, TracedLine, TracedTerm
from adcli.lang.ir import LEVELS, Atom, Lit, Var
from adcli.lang.ir.errors import Span
from adcli.output.numbers import json_number, json_text
from adcli.trace.tables import Writer


def json_object(writer: Writer, at: Mapping[str, float], seeds: Mapping[str, Mapping[str, float]], level: int,
                number: Number) -> str:
    """The object of a point: `at`, `tangent`, `cotangent`, `inputs`, `lines`, `outputs`, `status`. Terms are in the order of
    their sum, steps in the order of the reverse sweep."""
    members = _Object(writer, lambda x: json_number(x, number)).members(at, seeds, level)
    texts = {name: json_text(x) if name != "lines" else f"[{','.join(map(json_text, x))}]" for name, x in members}
    return "{" + ",".join(f'"{name}":{text}' for name, text in texts.items()) + "}\n"


def record(writer: Writer, at: Mapping[str, float], seeds: Mapping[str, Mapping[str, float]], level: int) -> dict[str, Any]:
    """Object of a point with plain numbers."""
    return {name: list(x) if name == "lines" else x for name, x in _Object(writer, float).members(at, seeds, level)}


class _Object:
    def __init__(self, writer: Writer, written: Callable[[float], object]) -> None:
        self.writer, self.trace, self.written = writer, writer.trace, written

    def members(self, at: Mapping[str, float], seeds: Mapping[str, Mapping[str, float]], level: int) -> Iterator[tuple[str, Any]]:
        """The members one by one, and the lines too: as one structure they would take several times the memory."""
        program = self.trace.program
        for kind, numbers in {"at": at, **seeds}.items():
            yield kind, {name: self.number(x) for name, x in numbers.items()}
        yield "inputs", [{"name": self.name(p.var), "input": p.name, **self.numbers(p.var)} for p in program.params]
        yield "lines", (record for line in self.trace.lines for record in self.lines(line))
        yield "outputs", [{"output": r.name, "of": self.name(r.atom), **self.numbers(r.atom)} for r in program.results]
        yield "status", LEVELS[level]

    def lines(self, line: TracedLine) -> list[dict[str, object]]:
        e = line.equation
        place = self.place(e.span)
        return [{"name": self.name(out), **place, "op": e.op.spelled or e.op.name, "operands": [self.name(a) for a in e.args],
                 "formula": self.writer.primal(line, out).formula, **self.numbers(out),
                 **({"terms": [self.term(t) for t in line.terms]} if line.terms else {}),
                 **({"steps": [self.step(s) for s in line.steps]} if line.steps and i == 0 else {})}
                for i, out in enumerate(e.outs)]

    def place(self, span: Span | None) -> dict[str, object]:
        source = self.trace.program.source
        return {"line": source.place(span[0])[0], "span": list(span)} if source and span else {}

    def numbers(self, atom: Atom) -> dict[str, object]:
        """The value of an atom, and what derivatives it has."""
        value = atom.value if isinstance(atom, Lit) else self.trace.values[atom]
        found: dict[str, Derivative | None] = {
            TANGENT: self.trace.tangents.get(atom), ADJOINT: self.trace.adjoints.get(atom)}
        return {"value": self.number(value), **{kind: self.number(d.value) for kind, d in found.items() if d is not None}}

    def term(self, term: TracedTerm) -> dict[str, object]:
        """One contribution; the reason where it is zero by construction."""
        absent = {"absent": term.derivative.absent} if term.derivative.absent else {}
        return {"operand": self.name(term.operand), "formula": self.writer.notation.polished(self.writer.term(term, False)[0]),
                "value": self.number(term.derivative.value), **absent}

    def step(self, step: AdjointStep) -> dict[str, object]:
        return {**self.term(step.term), "adjoint": self.number(step.after.value)}

    def name(self, atom: Atom) -> object:
        return self.writer.label(atom) if isinstance(atom, Var) else self.number(atom.value)

    def number(self, x: Any) -> object:
        return x if isinstance(x, bool) else self.written(x)
