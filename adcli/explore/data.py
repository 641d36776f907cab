"""Everything a page shows of a program, as one document of JSON, and the script that evaluates it in a browser.

The script depends on nothing but which operations there are; what it carries out is a tape in the document. /manual/explore says
what readers see.

A rule, by which the page says why a number is NaN or infinite, is {name, operation, partials, kinds, fixed, periodic, maps,
status, many?}. `operation` is it on u, v, …, `partials` its partial derivatives in writing, `kinds` what its arguments are, "r"
or "t", `fixed` which of them are constants written in `operation`. `maps` has for each argument {reads, tape} or null; the tape
is of the seed, the result, and the arguments that `reads` names, −1 being what `many` arguments have in common. It gives the
contribution, and where that exists under a condition only, whether it does.

The graph of a page: where the layout of all pictures puts its nodes, of a long program in parts.
"""
from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from adcli.answers import cause_texts
from adcli.answers.diagnose import described, fixed, letter
from adcli.codegen.documents.layered import layered
from adcli.codegen.documents.notation import Label
from adcli.codegen.documents.svg import APART
from adcli.codegen.scripts import tape as tapes
from adcli.codegen.scripts.javascript import operations
from adcli.codegen.scripts.tape import Json, as_json, operations_of, tape, work
from adcli.explore.formulas import NamesInStyles, Shown, guarded, lines, rows, shown, source_lines
from adcli.lang.analyse.numeric_sweeps import rule_of
from adcli.lang.analyse.trace import ADJOINT, TANGENT
from adcli.lang.ir import LEVELS, Atom, Equation, Lit, Param, Program, Result, Var, has_tensors, shape_of
from adcli.lang.ir.build import Builder, many
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.ir.names import name_table
from adcli.lang.ir.primitives import select
from adcli.lang.lower.frontend import parse_source
from adcli.lang.operations.activity import inputs_to_differentiate, outputs_to_differentiate
from adcli.lang.operations.matrix import MatrixOperation
from adcli.lang.operations.recurrence import Recurrence
from adcli.lang.operations.rule_programs import Rule, shared_rule, statics, status_rule, told
from adcli.lang.simplify.mathematics import decided, mathematical
from adcli.lang.simplify.simplify import prune
from adcli.lang.sizes.binding import Sizes, counts, number
from adcli.lang.tree.notation import INFIX
from adcli.task.derive import chosen

MOST_OPERATIONS = 10_000
"""Operations of a program that a page shows; more of them open slowly."""
MOST_STEPS = 2_000_000
"""Operations on elements of tensors that a browser carries out whenever a slider moves: a few tenths of a second."""
LONG_TEXT = 250_000
"""Characters of a document from which it is compressed."""
MOST_ELEMENTS = 100_000
"""Elements of the tensors that are given."""
ALL_STYLES = 300
"""Operations up to which the panes have every style of printing; beyond it they have the first."""
SCRIPTS = ("evaluator.js", "reasons.js")
STYLES = ("prefix", "anf", "nested", "math")
"""The styles of panes, the first one shown last; math is for reading."""


def document(source: Source, at: Mapping[str, Any] | None = None, of: Sequence[str] | None = None,
             wrt: Sequence[str] | None = None) -> tuple[Json, str]:
    """The document and the script. `at` has values to start from, for tensors all of them, whose shapes are those of the page.

    AdError where the program is wrong, too long, or has a tensor without a value."""
    program = chosen(parse_source(source), of)
    if of is not None:
        program = prune(program)
    refuse_unshown(program, program.source)
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, None)
    if len(program.equations) > MOST_OPERATIONS:
        raise AdError(f"a page shows programs of at most {MOST_OPERATIONS:,} operations; this one has {len(program.equations):,}",
                      help="show some outputs only (--of NAME)")
    values = {p.name: start(p, (at or {}).get(p.name)) for p in program.params}
    sizes = known_sizes(program, values)
    programs = shown(program, inputs, outputs)
    refuse_unshown(programs.everything, program.source)
    made = tape(programs.everything, sizes)
    if (steps := work(made)) > MOST_STEPS:
        raise AdError(f"a page computes everything in at most {MOST_STEPS:,} operations; here that takes {steps:,}",
                      help="give smaller tensors (--at)" if has_tensors(program) else "show some outputs only (--of NAME)")
    found = Document(source, program, programs, values, sizes, inputs).made() | {"tape": made}
    return found, script({*operations_of(found)})


def refuse_unshown(program: Program, source: Source | None) -> None:
    """AdError where a program, or a derivative of it, has what a page does not carry out."""
    unknown = next((e for e in program.equations if isinstance(e.op, Recurrence | MatrixOperation)), None)
    if unknown is None:
        return
    if not isinstance(unknown.op, Recurrence):
        raise AdError(f"a page shows no {unknown.op.name}()", unknown.span, "adcli eval prints what it gives", source)
    raise AdError("a page shows no loops over steps, which cumulative sums and derivatives of products are too", unknown.span,
                  "adcli grad prints what it gives; --exact-order takes a cumulative sum as it is written", source)


def packed(document: Json) -> str:
    """A document as the text that `adcliOpened` reads: JSON, or a long one compressed (zlib, in base64), a quarter as long."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) < LONG_TEXT else base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def script(used: Collection[str]) -> str:
    """The evaluator, `adcliEvaluator(document)`, see its comment, with the operations that tapes use."""
    own = [Path(str(tapes.__file__)).parent / "interpreter.js", *(Path(__file__).parent / name for name in SCRIPTS)]
    return "\n".join([operations("adcliOperations", used), *(path.read_text(encoding="utf-8") for path in own)])


def start(p: Param, given: Any) -> Any:
    """The value that an input begins with: the one given, the default, the middle of its range, else what is nearest to 1."""
    if given is not None or p.default is not None:
        return p.default if given is None else given
    if p.var.shape:
        raise AdError(f"a page needs a value for '{p.name}', whose shape it shows", help=f"--at '{p.name}=@FILE.npy'")
    if p.var.integer:
        raise AdError(f"a page needs a value for '{p.name}', an integer", help=f"--at {p.name}=3")
    low, high = p.ends
    about = float(f"{low / 2 + high / 2:.12g}") if isfinite(low) and isfinite(high) else 1.0
    return min(max(about, low), high)


def known_sizes(program: Program, values: Mapping[str, Any]) -> Sizes:
    """The sizes of tensors. AdError where the values do not fit, or are too large for a page."""
    if not has_tensors(program):
        return {}
    from adcli.lang.evaluate import FLOAT, evaluate
    from adcli.lang.evaluate.comprehensions import as_value, bound
    arrays = {p.var: as_value(p, values[p.name], FLOAT) if p.var.shape else values[p.name] for p in program.params}
    count = sum(a.size for p, a in zip(program.params, arrays.values(), strict=True) if p.var.shape)
    if count > MOST_ELEMENTS:
        raise AdError(f"a page shows tensors of at most {MOST_ELEMENTS:,} elements; these have {count:,}",
                      help="give a smaller example (--at)")
    sizes = bound(program, arrays)
    if any(p.var.integer for p in program.params):
        evaluate(program, values)   # AdError where a subscript that is read is none
    return sizes


class Document:
    """A document under construction."""

    def __init__(self, source: Source, program: Program, programs: Shown, values: Mapping[str, Any], sizes: Sizes,
                 wrt: Sequence[str]) -> None:
        self.source, self.program, self.programs = source, program, programs
        self.values, self.sizes, self.wrt = values, sizes, wrt
        self.names, self.rules = name_table(program), Rules(program)
        self.derived = ((TANGENT, programs.tangents), (ADJOINT, programs.adjoints))
        panes = {"value": programs.primal, "tangent": programs.forward, "adjoint": programs.reverse}
        self.spelling = NamesInStyles(panes)
        self.called = self.spelling.spelled(programs.seen, len(programs.everything.results) - 1)
        for key, places in self.derived:
            self.name(key, places)
        self.counts = {p.name for p in counts(program)}
        self.ids: dict[Atom, str] = {p.var: f"in{k}" for k, p in enumerate(program.params)}
        self.ids |= {o: f"op{k}" for k, e in enumerate(program.equations) for o in e.outs}
        self.makers = {o: e for e in program.equations for o in e.outs}
        self.rows = self.table()

    def name(self, key: str, places: Mapping[Atom, int]) -> None:
        """Call each derivative like a value that it is of: in a program of its own another one may have that name."""
        at = defaultdict[int, list[str]](list)
        for v, place in places.items():
            if isinstance(v, Var):
                at[place].append(self.names[v])
        for place, names in at.items():
            labels = [self.spelling.of(name, key) for name in names]
            if self.called["plain"][place] not in [each["plain"] for each in labels]:
                for style, label in labels[0].items():
                    self.called[style][place] = label

    def made(self) -> Json:
        return {
            "version": 1, "name": self.source.name, "source": self.source.text, "levels": list(LEVELS), "sizes": dict(self.sizes),
            "inputs": [self.input(p) for p in self.program.params], "outputs": [self.output(r) for r in self.program.results],
            "operations": [self.operation(k) for k in range(len(self.program.equations))],
            "panes": self.panes(), "table": self.rows, "graph": self.graph(),
            "names": self.called, "legend": self.spelling.legend,
            "seeds": {"tangent": [p.seed for p in self.programs.tangent_seeds],
                      "cotangent": [p.seed for p in self.programs.cotangent_seeds]},
            "rules": None if self.rules.none else self.rules.made, "words": WORDS,
        }

    def shape(self, atom: Atom) -> list[int]:
        return [number(x, self.sizes) for x in shape_of(atom)]

    def derivatives(self, atom: Atom) -> Json:
        """Where the tangent and the adjoint of a value are found, and its name and formula where no line makes it: it is at the
        place of another one, of which it is a copy, or exists under a condition."""
        found = {key: places[atom] for key, places in self.derived if atom in places}
        name, made = self.names[atom] if isinstance(atom, Var) else "", {}
        for key, place in found.items():
            labels = self.spelling.of(name, key)
            if place in self.programs.guards or labels["plain"] != self.called["plain"][place]:
                made[key] = {"name": labels, "formula": guarded(*self.programs.guards.get(place, ([], place)))}
        return {**found, "made": made} if made else found

    def input(self, p: Param) -> Json:
        given = {"default": None if p.var.shape else p.default, "low": p.low, "high": p.high}
        return {"name": p.name, "shape": self.shape(p.var), "integer": p.var.integer,
                "start": plain(self.values[p.name]) if p.var.shape else as_json(float(self.values[p.name])),
                "fixed": p.name in self.counts,
                "differentiated": p.name in self.wrt, "value": self.programs.seen[p.var], **self.derivatives(p.var),
                **{k: as_json(x) for k, x in given.items() if x is not None}}

    def output(self, r: Result) -> Json:
        if isinstance(r.atom, Lit):
            return {"name": r.name, "shape": [], "constant": as_json(r.atom.value)}
        return {"name": r.name, "shape": self.shape(r.atom), "from": self.ids[r.atom], "value": self.programs.seen[r.atom],
                **self.derivatives(r.atom)}

    def operation(self, k: int) -> Json:
        e = self.program.equations[k]
        outs = [{"name": self.names[o], "shape": self.shape(o), "value": self.programs.seen[o], **self.derivatives(o), **marks(o),
                 **({"written": o.name} if o.name and o.name != self.names[o] else {})} for o in e.outs]
        args = [{"constant": as_json(a.value)} if isinstance(a, Lit) else
                {"from": self.ids[a], "name": self.names[a], "value": self.programs.seen[a]} for a in e.args]
        line, column = (None, None) if e.span is None else self.source.where(e.span)[1:]
        place = {} if e.span is None else {"line": line, "column": column, "text": self.source.quoted(e.span)}
        rule = {} if (found := self.rules.place(e)) is None else {"rule": found}
        return {"name": e.op.spelled or e.op.name, "outs": outs, "args": args, **place, **rule}

    # ------------------------------------------------------------ panes

    def panes(self) -> list[Json]:
        programs = self.programs
        styles = STYLES if len(self.program.equations) <= ALL_STYLES else STYLES[:1]
        shown = (("forward", programs.forward, "tangent", "show --stage forward", in_cases),
                 ("reverse", programs.reverse, "adjoint", "show --stage reverse", in_cases),
                 ("simplified", programs.simplified, "adjoint", "vjp --emit text", mathematical))
        return [{"key": "program", "lines": list(source_lines(self.source, self.program))},
                *({"key": key, "command": command, "inputs": self.given(program), "styles": {
                    style: lines(program, style, programs.seen, derivative) if style != "math" else
                    lines(read(program), "nested", programs.seen, derivative) for style in styles}}
                  for key, program, derivative, command, read in shown)]

    def given(self, program: Program) -> dict[str, int]:
        """Where the values of a program's inputs are found, seeds among them, by name."""
        return {p.name: self.programs.seen[p.var] for p in program.params if p.var in self.programs.seen}

    def table(self) -> Json:
        programs = self.programs
        return {"primal": rows(programs.primal, programs.seen, False), "tangent": rows(programs.forward, programs.seen, True),
                "adjoint": rows(programs.reverse, programs.seen, True)}

    def graph(self) -> list[Json]:
        reads = {f"op{k}": [self.ids[a] for a in e.args if isinstance(a, Var)] for k, e in enumerate(self.program.equations)}
        made = {row["value"]: row for row in self.rows["primal"]}
        labels = {self.ids[v]: self.label(v, made.get(self.programs.seen[v], {})) for v in self.ids if isinstance(v, Var)}
        for k, r in enumerate(self.program.results):
            if not isinstance(r.atom, Var) or self.ids[r.atom].startswith("in") or self.names[r.atom] != r.name:
                reads[f"out{k}"] = [self.ids[r.atom]] if isinstance(r.atom, Var) else []
                labels[f"out{k}"] = {"plain": r.name, "unicode": self.spelling.notations["unicode"].label(Label(r.name))}
        return parts(labels, reads)

    def label(self, v: Var, row: Json) -> Json:
        """The name of a value, and what makes it where there is room."""
        e, found = self.makers.get(v), {}
        for style in ("plain", "unicode"):
            names = self.called[style]
            name = names[self.programs.seen[v]]
            text = "".join(names[x] if isinstance(x, int) else x for x in row["formula"][style]) if row else name
            whole = text if not row or row.get("whole") else f"{name} = {text}"
            found[style] = whole if len(whole) < LONGEST else f"{name} = {sign(e)} …" if e and not row.get("whole") else name
        return found


def in_cases(program: Program) -> Program:
    """The program with the cases of rules that a reader wants."""
    return decided(program).program


def sign(e: Equation) -> str:
    """The sign of an operation, or its name."""
    form = e.op.unicode or (INFIX[e.op.name][0] if e.op.name in INFIX else "-" if e.op.name == "neg" else e.op.name)
    return form.replace("#1", "·")


def marks(o: Var) -> dict[str, bool]:
    """Flags of a result that is no named number."""
    return {key: True for key, holds in (("truth", o.truth), ("temporary", o.temp or not o.name)) if holds}


def plain(value: Any) -> Any:
    """A tensor as {shape, data}."""
    import numpy as np
    array = np.asarray(value, dtype=float)
    return {"shape": list(array.shape), "data": [as_json(x) for x in array.ravel().tolist()]}


# ---------------------------------------------------------------- rules

WORDS = {"sentences": cause_texts.SENTENCES, "how": cause_texts.HOW, "forms": list(cause_texts.FORMS),
         "partials": cause_texts.PARTIALS, "products": cause_texts.PRODUCTS, "terms": cause_texts.TERMS}


class Rules:
    """The rules of a program, each once; `made` fills as they are asked for."""

    def __init__(self, program: Program) -> None:
        self.none = has_tensors(program)
        self.places: dict[object, int] = {}
        self.made: list[Json] = []

    def place(self, e: Equation) -> int | None:
        """Where the rule of an operation is found; None in a program with tensors."""
        if self.none:
            return None
        key = (e.op, told(e), len(e.args))
        if key not in self.places:
            self.places[key] = len(self.made)
            self.made.append(rule(e))
        return self.places[key]


def rule(e: Equation) -> Json:
    count, several = len(e.args), many(e.op, len(e.args))
    shared = shared_rule(e.op, count) if several else None
    one = count - len(e.op.static) == 1
    return {
        "name": e.op.name, "operation": described(e, ""), "periodic": e.op.periodic,
        "partials": [described(e, "'") if one else f"∂({described(e, '')})/∂{letter(i)}" for i in range(count)],
        "kinds": "".join(e.op.kind(i) for i in range(count)), "fixed": [*fixed(e)],
        "maps": [taped(r, [i] if several else range(count)) if (r := rule_of(e, i)) else None for i in range(count)],
        "status": [{"level": s.level, **taped(status_rule(e.op, k, statics(e), count), range(count))}
                   for k, s in enumerate(e.op.status)],
        **({"many": taped(shared, range(count))} if shared else {}),
    }


def taped(r: Rule, places: Sequence[int]) -> Json:
    """A rule as a tape of the seed, the result, and those of its arguments that are no constants."""
    given = [*zip(r.args, places, strict=False), *[(a, -1) for a in r.args[len(places):]]]
    reads = [(a, i) for a, i in given if isinstance(a, Var)]
    b = Builder()
    b.equations.extend(r.equations)
    ends = [r.value, *([] if r.condition is None else [r.condition])]
    numbers = [select(b.expr(x), 1, 0).atom if isinstance(x, Var) and x.truth else x for x in ends]
    names = [r.t, r.z, *[a for a, _ in reads]]
    whole = Program(tuple([Param(v, f"x{k}") for k, v in enumerate(names)]), tuple(b.equations),
                    tuple([Result(f"y{k}", x) for k, x in enumerate(numbers)]))
    return {"reads": [i for _, i in reads], "tape": tape(whole, {})}


# ---------------------------------------------------------------- graph

MOST, PART = 160, 80
"""Nodes of a graph that is shown as a whole, and operations of a part of a longer one."""
LONGEST, LEAST, LETTER, PAD = 30, 107, 7.9, 24
"""Letters of a label; pixels of the longest number, -1.23457e-300, of a letter, and beside a label."""


def parts(labels: Mapping[str, Json], reads: Mapping[str, Sequence[str]]) -> list[Json]:
    """The pictures of nodes with `labels`, each of which `reads` others."""
    if len(labels) <= MOST:
        return [picture(labels, labels, reads)]
    starts = range(0, len(reads), PART)
    return [picture(dict.fromkeys([*(a for x in part for a in reads[x]), *part]), labels, {x: reads[x] for x in part})
            for part in ([*reads][k:k + PART] for k in starts)]


def picture(names: Iterable[str], labels: Mapping[str, Json], reads: Mapping[str, Sequence[str]]) -> Json:
    """Nodes with their rows and their middles across, edges with where they pass rows, and the extent of all."""
    place = {name: i for i, name in enumerate(names)}
    widths = [max(LEAST, round(LETTER * max(map(len, labels[name].values())) + PAD)) for name in place]
    edges = list(dict.fromkeys((place[a], place[x]) for x, args in reads.items() for a in args))
    drawn = layered(widths, edges, APART)
    nodes = [{"id": name, "label": labels[name], "row": row, "x": x + w / 2, "width": w}
             for name, row, x, w in zip(place, drawn.ranks, drawn.x, widths, strict=True)]
    ways = [[a, b, [drawn.lanes[a, row] for row in range(drawn.ranks[a] + 1, drawn.ranks[b])]] for a, b in edges]
    across = max([*map(sum, zip(drawn.x, widths, strict=True)), *drawn.lanes.values()], default=0)
    return {"nodes": nodes, "edges": ways, "width": across, "rows": 1 + max(drawn.ranks, default=-1)}
