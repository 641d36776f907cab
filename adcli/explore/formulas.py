"""The rows of the evaluation table: every named value with its formula, in which the page puts names or numbers.

A formula is a list of pieces: texts, and where a value stands, the place where it is found. Tangents and adjoints are rows of
their own, the adjoints in the order of the reverse sweep.

The derivative programs that a page shows, each line with the operation it came from, and one program of all their values.

An operation is an equation of the program, by its number. Passes hand the spans of equations on and never read them; so in the
`numbered` program the number stands in place of the span, and every line of every derivative program knows where it is from. What
is there for an input alone, as the copies of it, has the number −1 − k, for input k.

`Shown.everything` computes all that is to be seen: each value, its tangent and its adjoint, the adjoints of copies, and the
status. Its inputs are those of the program, a tangent for each input and a cotangent for each output; the zero rule for seeds
holds, as everywhere. Where only one seed can be chosen, it is 1.
"""
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from adcli.codegen.documents.names import DocumentNames, examples, legend
from adcli.codegen.documents.notation import Latex, Notation, Unicode
from adcli.codegen.scripts.tape import Json
from adcli.lang.analyse.trace import ADJOINT, TANGENT, VALUE
from adcli.lang.ir import Atom, Equation, Lit, Param, Program, Result, Var, has_tensors, substitute
from adcli.lang.ir.build import Builder
from adcli.lang.ir.errors import Source
from adcli.lang.ir.names import Names, name_table
from adcli.lang.ir.primitives import TABLE, select
from adcli.lang.modes.forward import EmittedSweep, jvp_with_sweep
from adcli.lang.modes.reverse import duplicate, vjp_with_sweep
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import writer_of
from adcli.lang.printing.scalar_printer import ScalarWriter, names_in
from adcli.lang.simplify.mathematics import decided
from adcli.lang.simplify.simplify import simplify
from adcli.lang.tree.notation import ATOM, Piece, constant, infix, number

OPEN, CLOSE = "\ue000", "\ue001"
"""Brackets around the place of a value in a formula; no program has these characters."""
PLACE = re.compile(f"{OPEN}(\\d+){CLOSE}")
STYLES = ("plain", "unicode", "latex")
PREFIXES = {TANGENT: "d", ADJOINT: "d_d"}
"""Prefixes of the names of derivatives in programs."""


class FormulaWriter(ScalarWriter):
    """Writes formulas with places in them, as the language does or as mathematics does. What has a row of its own in one style
    has it in the other: it is `kept`."""

    def __init__(self, program: Program, seen: Mapping[Atom, int], style: str, kept: Collection[Equation] | None = None) -> None:
        table = name_table(program)
        super().__init__(program, "prefix", {v: f"{OPEN}{seen[v]}{CLOSE}" if v in seen else x for v, x in table.items()})
        notations: dict[str, Notation] = {"unicode": Unicode(number), "latex": Latex(number, ())}
        self.notation = notations.get(style)
        self.kept = kept

    def is_short(self, e: Equation, piece: Piece) -> bool:
        return super().is_short(e, piece) if self.kept is None else e not in self.kept

    def operation(self, e: Equation) -> Piece:
        parts, name = [self.piece(a) for a in e.args], e.op.spelled or e.op.name
        if e.op is DUP:
            return parts[0]
        return self.notation.operation(name, parts) if self.notation else infix(name, parts)

    def piece(self, atom: Atom) -> Piece:
        if isinstance(atom, Lit):
            return self.notation.number(atom.value) if self.notation else constant(atom.value)
        return self.inline.pop(atom, None) or (self.names[atom], ATOM)

    def rows(self) -> Iterator[tuple[Equation, list[str | int]]]:
        """Each equation that gives a value a name, with its formula."""
        for _, group in groupby(self.program.equations, key=lambda e: e.group or id(e)):
            for e, (text, _) in self.named(list(group)):
                whole = self.notation.polished(text) if self.notation else text
                yield e, [int(x) if i % 2 else x for i, x in enumerate(PLACE.split(whole)) if x]


def rows(program: Program, seen: Mapping[Atom, int], derivative: bool) -> list[Json]:
    """The rows of a program: those of its values, or of its `derivative` lines, as mathematics reads these. The first line that
    makes a value has one, not the last, by which it is zero where it does not exist. Where a case of a rule is left out,
    `assumes` has conditions with their truth: of each list, the first holds where all others do."""
    if has_tensors(program):
        return [tensor_row(line) for line in lines(program, "prefix", seen, "derivative")
                if line.get("values") and (line["kind"] == "derivative") == derivative]
    program, assumed = decided(program)
    names, found = name_table(program), dict[int, Json]()
    plain = list(FormulaWriter(program, seen, "plain").rows())
    others = [FormulaWriter(program, seen, style, {e for e, _ in plain}).rows() for style in STYLES[1:]]
    for (e, first), *further in zip(plain, *others, strict=True):
        cases = [[[seen[c], truth], *sorted([seen[a], holds] for a, holds in context)]
                 for c, truth, context in assumed.get(e.group, ()) if not e.outs[0].truth]
        for o in e.outs if (e.group > 0) == derivative and e.outs[0] in seen else ():
            found.setdefault(seen[o], {"op": next(iter(origins([e])), None), "name": names[o], "value": seen[o],
                                       "formula": dict(zip(STYLES, [first, *(f for _, f in further)], strict=True)),
                                       **({"assumes": cases} if cases else {})})
    return [*found.values()]


def tensor_row(line: Json) -> Json:
    """The row of a line with tensors, whose formula is its `whole` text, with the name on the left."""
    (name, value), *_ = line["values"]
    text = [line["text"].strip()]
    return {"op": next(iter(line["ops"]), None), "name": name, "value": value, "whole": True,
            "formula": {"plain": text, "unicode": text}}


class NamesInStyles:
    """Names and those of their derivatives in each style; the `panes` have all names, the first those of values."""

    def __init__(self, panes: Mapping[str, Program]) -> None:
        tables = {kind: name_table(p) for kind, p in panes.items()}
        stems = dict.fromkeys(name for table in tables.values() for name in table.values())
        self.notations: Mapping[str, Notation] = {"unicode": Unicode(number), "latex": Latex(number, stems)}
        self.documents = {kind: {style: DocumentNames(p, tables[kind], notation) for style, notation in self.notations.items()}
                          for kind, p in panes.items()}
        self.labels = self.documents[VALUE]["unicode"].labels

    def of(self, name: str, kind: str) -> Json:
        return {"plain": PREFIXES.get(kind, "") + name,
                **{style: notation.label(self.labels[name], kind) for style, notation in self.notations.items()}}

    def spelled(self, seen: Mapping[Atom, int], count: int) -> Json:
        """The name of the value at each place: as in the programs, and as in all documents."""
        found: Json = {style: [""] * count for style in STYLES}
        for documents in self.documents.values():
            for v, name in documents["unicode"].table.items():
                if v in seen and not found["plain"][seen[v]]:
                    found["plain"][seen[v]] = name
                    for style, document in documents.items():
                        found[style][seen[v]] = document.texts[name]
        return found

    @property
    def legend(self) -> str:
        """How the names are made."""
        said, named = self.documents[ADJOINT]["unicode"], self.labels.values()
        return legend(said.notation, named, [*examples(said.notation, named, (TANGENT, ADJOINT)), *said.copied],
                      "without a name, i1, i2, … in the programs")


def guarded(guard: Sequence[tuple[int, bool]], value: int) -> list[str | int]:
    """The formula of a value under a condition, that truth values hold or, negated, do not; without one it is a copy."""
    if not guard:
        return [value]
    literals = [["" if holds else "not ", place] for place, holds in guard]
    return [x for i, literal in enumerate(literals) for x in (" and " if i else "", *literal) if x != ""] + [" ? ", value, " : 0"]


# ---------------------------------------------------------------- lines of panes

# ---------------------------------------------------------------- sweeps

DUP = TABLE["dup"]
TARGET = re.compile(r"(?<=\w)\(| = | (?:[+*]|min|max)?=! ")
"""The end of the name of a tensor, or of the names on the left of a statement."""


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
    shown = source.shown((0, 0))[0]
    texts = shown.text.removesuffix("\n").split("\n")
    starts = [shown.start_of(number) for number in range(1, len(texts) + 1)]
    spans: list[list[list[int]]] = [[] for _ in texts]
    for k, e in enumerate(program.equations):
        if e.span is None:
            continue
        start, stop = source.shown(e.span)[1]
        number = shown.place(start)[0] - 1
        while number < len(texts) and starts[number] < max(stop, start + 1):
            begin, end = max(0, start - starts[number]), min(len(texts[number]), stop - starts[number])
            if begin < end:
                spans[number].append([begin, end, k])
            number += 1
    for text, found in zip(texts, spans, strict=True):
        yield {"text": text, **({"ops": sorted({k for *_, k in found}), "spans": found} if found else {})}


@dataclass(frozen=True, eq=False)
class Shown:
    """The programs of the panes, and `everything`, whose last result is the status.

    `seen` has for each variable of a pane the result of `everything` that is its value; `tangents` and `adjoints` those of the
    tangent and the adjoint of a variable of the primal. `guards` says of such a result that no line of a pane makes, as under an
    arm of a `select`, when it exists (truth values, each as it is or negated), and the result that it is then. `tangent_seeds`
    and `cotangent_seeds` are the inputs of `everything` that come behind those of the program; a seed that is always 1 is none
    of them.
    """

    primal: Program
    forward: Program
    reverse: Program
    simplified: Program
    everything: Program
    tangent_seeds: tuple[Param, ...]
    cotangent_seeds: tuple[Param, ...]
    seen: dict[Atom, int]
    tangents: dict[Atom, int]
    adjoints: dict[Atom, int]
    guards: dict[int, tuple[list[tuple[int, bool]], int]]


def numbered(program: Program) -> Program:
    """The program with the number of each equation in place of its span."""
    return replace(program, equations=tuple(
        Equation(e.outs, e.op, e.args, (k, k), e.group) for k, e in enumerate(program.equations)))


def copies_numbered(program: Program) -> Program:
    """A program in explicit-duplication form with the number of the input in copies of inputs."""
    place: dict[Atom, int] = {p.var: -1 - k for k, p in enumerate(program.params)}
    equations = []
    for e in program.equations:
        if e.span is None and e.args and e.args[0] in place:
            place.update(dict.fromkeys(e.outs, place[e.args[0]]))
            e = Equation(e.outs, e.op, e.args, (place[e.args[0]],) * 2, e.group)
        equations.append(e)
    return replace(program, equations=tuple(equations))


def apart(program: Program) -> Program:
    """The program with variables of its own, but for the inputs."""
    outs = [o for e in program.equations for o in e.outs]
    return substitute(program, {o: Var(o.name, o.temp, o.truth, o.shape, False, o.whole) for o in outs})


def shown(program: Program, wrt: Sequence[str], of: Sequence[str]) -> Shown:
    """All programs of a page about `program`. Time is linear in the number of equations."""
    primal = numbered(program)
    own = apart(primal)
    forward, tangents = jvp_with_sweep(primal, wrt, of)
    reverse, adjoints = vjp_with_sweep(copies_numbered(duplicate(own)), wrt, of)
    results: dict[Atom, int] = {}

    def result(atom: Atom) -> int:
        return results.setdefault(atom, len(results))

    inputs: dict[Atom, Atom] = {p.var: p.var for p in primal.params}
    same = inputs | dict(zip(defined(own), defined(primal), strict=True))   # a variable of the reverse program, and of the primal
    seen = {v: result(as_number(tangents.b, v)) for v in same.values()}
    ahead = derivatives(tangents, [r.atom for r in primal.results if r.name in of], forward.results[len(primal.results):])
    back = derivatives(adjoints, [p.var for p in primal.params if p.name in wrt], reverse.results[len(primal.results):])
    of_tangents, of_adjoints = ({v: result(atom) for v, atom in found.items()} for found in (ahead, back))
    for sweep, found in ((tangents, of_tangents), (adjoints, of_adjoints)):
        for v, term in sweep.terms.items():
            seen.setdefault(term.atom, found[v])
    seen |= {v: seen[x] for v, x in same.items()}
    for e in reverse.equations:
        if e.op is DUP and e.args[0] in seen:
            for out in e.outs:
                seen.setdefault(out, seen[e.args[0]])
    for sweep, derived in ((tangents, forward), (adjoints, reverse)):
        for v in defined(derived):   # what stands inside of a rule
            if v not in seen:
                seen[v] = result(as_number(sweep.b, v))
    lines = {*seen.values()}
    guards = {found[v]: ([(seen[c], holds) for c, holds in term.guard], seen[term.atom])
              for sweep, found in ((tangents, of_tangents), (adjoints, of_adjoints)) for v, term in sweep.terms.items()
              if term.guard and found[v] not in lines}
    rough = with_status(replace(reverse, equations=tuple(adjoints.b.equations)), primal, wrt)
    names = Names.of(rough)
    ends = (*[Result(names.fresh("r"), a) for a in results], Result(names.fresh("status"), rough.results[-1].atom))
    first, second = (seeds_of(sweep, names) for sweep in (tangents, adjoints))
    given = (*[replace(p, seed=None) for p in primal.params], *first.params, *second.params)
    merged = Program(given, (*tangents.b.equations, *rough.equations), ends, program.source)
    of_primal = {same[v]: k for v, k in of_adjoints.items() if v in same}
    return Shown(primal, forward, reverse, run(reverse, [simplify]), substitute(merged, first.ones | second.ones),
                 first.params, second.params, seen, of_tangents, of_primal, guards)


def derivatives(sweep: EmittedSweep, ends: Sequence[Atom], results: Sequence[Result]) -> dict[Atom, Atom]:
    """The derivative of each value of a sweep; at its ends these are the results of the derivative program, which has lines for
    them."""
    said = {v: r.atom for v, r in zip(ends, results, strict=True) if isinstance(v, Var) and isinstance(r.atom, Var)}
    return {v: sweep.derivative(v) for v in sweep.terms if v not in said} | said


def as_number(b: Builder, atom: Atom) -> Atom:
    """A truth value as 1 or 0, any other as it is: results are numbers."""
    return select(b.expr(atom), 1, 0).atom if isinstance(atom, Var) and atom.truth else atom


def defined(program: Program) -> list[Atom]:
    return [o for e in program.equations for o in e.outs]


class Seeds(NamedTuple):
    """The seeds of a sweep that can be chosen; else the only one, which is 1."""

    params: tuple[Param, ...]
    ones: dict[Atom, Atom]


def seeds_of(sweep: EmittedSweep, names: Names) -> Seeds:
    if len(sweep.seeds) == 1 and not sweep.seeds[0].var.shape:
        return Seeds((), {sweep.seeds[0].var: Lit(1.0)})
    return Seeds(tuple([replace(p, name=names.fresh(p.name)) for p in sweep.seeds]), {})
