"""Functions in the texts of programs: statements that came from calls of a function, and that repeat, as calls of one again.

A program has no functions: every call is a copy of the function's statements, of which derivative rules make as many copies of
derivative statements. Here the text of a program is searched for statements with the same wording but for the tensors in them,
and written with a function for these. What such a function adds to is a parameter and a result:

    def f_adjoint(float(3) y, float(3) d_dk, float(3) d_dy) -> (d_dy) { d_dy(1) += d_dk(0) * y(1); ... }
    for t in 0:T down { ...; d_dy_1(t) = f_adjoint(y_1(t), d_dk2(t), d_dy_1(t)); ... }

A text is written like that only where it then reads back to what it was.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adcli.lang.ir import Equation, Program, Var
from adcli.lang.ir.affine import text as text_of
from adcli.lang.ir.names import Names
from adcli.lang.operations.recurrence import boxed
from adcli.lang.printing.printer import writer_of
from adcli.lang.printing.scalar_printer import ScalarWriter
from adcli.lang.syntax.parse import read
from adcli.lang.syntax.scan import normal
from adcli.lang.tree.nodes import Call, Declare, DeclareOutputs, Def, For, Node, Statement, TensorAssign, Token, bare, names_in
from adcli.lang.tree.notation import INDENT

MOST_STATEMENTS = 1_000
"""Statements of a text that is searched."""
LEAST = 3
"""Lines that a function has to save."""
NUMBERED = re.compile(r"_\d+$")

Slot = tuple[str, str]
"""A tensor, and its first subscript where that has the step of a loop: `y(t, i)` is ("y", "t")."""


@dataclass(slots=True, eq=False, repr=False)
class KeptLine:
    """A statement of a text: its wording, and the tensors between the words. `origin` are the function and the place in it that
    it came from, `declared` is the target that it says the type of, `ranges` what it says of indices."""

    node: TensorAssign
    block: int
    origin: tuple[Def, int]
    words: tuple[str, ...]
    slots: tuple[Slot, ...]
    declared: Slot | None
    ranges: str


@dataclass(slots=True, eq=False, repr=False)
class RepeatedBlock:
    """Lines that are a function: `starts` are the first of each of its calls."""

    starts: list[int]
    count: int

    @property
    def saved(self) -> int:
        calls = len(self.starts)
        return calls * self.count - calls - self.count - 2


def with_functions(program: Program, text: str, reads_as: Callable[[str, str], bool]) -> str:
    """The text of a program, which is `text`, with functions where these make it shorter; `reads_as` tests a text for reading
    back to what is printed like another one."""
    source = program.source
    if source is None or len([*boxed(program.equations)]) not in range(2, MOST_STATEMENTS):
        return text
    defs = [s for s in read(source)[0].statements if isinstance(s, Def) and s.value is None]
    if not defs:
        return text
    printed = writer_of(program, "nested")
    variables = {name: v for v, name in printed.names.items()}
    writer = KeptWriter(text, lines_of(printed, {*variables}, text, defs), variables)

    def accepted(chosen: list[RepeatedBlock], more: list[RepeatedBlock]) -> list[RepeatedBlock]:
        if not more or reads_as(writer.text_with([*chosen, *more]), text):
            return [*chosen, *more]
        half = len(more) // 2
        return accepted(accepted(chosen, more[:half]), more[half:]) if half else chosen
    return writer.text_with(accepted([], [*repetitions(writer.lines)]))


# ---------------------------------------------------------------- lines

def lines_of(printed: ScalarWriter, tensors: set[str | None], text: str, defs: Sequence[Def]) -> list[KeptLine | None]:
    """The statements of a text in their order; None for those that came from no function, or that no function can have."""
    made = [equations[-1] if equations else None for _, equations in printed.attributed()]
    statements = [s for s in read(normal(text, ""))[0].statements if not isinstance(s, Declare | DeclareOutputs)]
    found: list[KeptLine | None] = []
    for block, (outer, e) in enumerate(zip(statements, made, strict=False)):   # a problem comes last
        pairs: Iterable[tuple[Statement, Equation | None]] = [(outer, e)]
        if isinstance(outer, For) and e is not None:
            pairs = zip(outer.body, e.op.inner(), strict=True)
        for s, equation in pairs:
            at = equation.span if equation is not None else None
            home = next((d for d in defs if at and d.start <= at[0] < d.end), None)
            line = None
            if home and at and isinstance(s, TensorAssign) and type(s.target) is Token:
                step = outer.step.text if isinstance(outer, For) else ""
                line = Wording(text, tensors, step).line(s, block if step else -1, (home, at[0]))
            found.append(line)
    return found


class Wording:
    """The wording of one statement: what stands between the tensors in it."""

    def __init__(self, text: str, tensors: set[str | None], step: str) -> None:
        self.source, self.tensors, self.step = text, tensors, step
        self.cuts: list[tuple[int, int, Slot, str]] = []   # from, to, tensor, what stays of its subscripts
        self.plain = True

    def line(self, s: TensorAssign, block: int, origin: tuple[Def, int]) -> KeptLine | None:
        declared = [c for c in s.clauses if c.kind == "shape"]
        kept = [c for c in s.clauses if c.kind not in ("shape", "range")]
        ranges = [self.source[c.start:c.end] for c in s.clauses if c.kind == "range"]
        self.access(s.target, s.target.text, s.subscripts or [], self.source.find(s.symbol, s.target.end))
        target = self.cuts[0][2]
        for node in [s.value, *(n for c in kept for n in c.nodes)]:
            self.read(node)
        if not self.plain or any(c.name is not None and c.name.text in self.tensors for c in kept):
            return None
        words, slots = self.between(s.start, s.value.end)
        for k, c in enumerate(kept):
            more = self.between(c.start, c.end)
            words += [words.pop() + (", " if k else " where ") + more[0][0], *more[0][1:]]
            slots += more[1]
        return KeptLine(s, block, origin, tuple(words), tuple(slots), target if declared else None, ", ".join(ranges))

    def between(self, start: int, end: int) -> tuple[list[str], list[Slot]]:
        words, slots, at = [""], list[Slot](), start
        for first, last, slot, rest in sorted(c for c in self.cuts if start <= c[0] < end):
            words[-1] += self.source[at:first]
            slots.append(slot)
            words.append(rest)
            at = last
        words[-1] += self.source[at:end]
        return words, slots

    def access(self, token: Token | Call, name: str, args: Sequence[Node], end: int) -> None:
        """A tensor with its subscripts."""
        start = token.start
        lead = bool(args) and self.step in names_in(args[0]) and not any(type(bare(a)) is Call for a in args[:1])
        if not lead:
            self.cuts.append((start, start + len(name), (name, ""), ""))
        else:
            before = self.source[args[0].start:args[0].end]
            last = args[1].start if args[1:] else self.source.index(")", args[0].end) + 1
            self.cuts.append((start, last, (name, before), "(" if args[1:] else ""))
        for a in args[lead:]:
            self.read(a)

    def read(self, root: Node) -> None:
        stack = [root]
        while stack:
            node = bare(stack.pop())
            if type(node) is Token:
                self.plain &= node.text != self.step
                if node.text in self.tensors:
                    self.access(node, node.text, (), node.end)
            elif type(node) is Call and node.name in self.tensors:
                self.access(node, node.name, node.args, node.end)
            elif not isinstance(node, Token):
                stack += node.args   # type: ignore[union-attr]


# ---------------------------------------------------------------- repetitions

def repetitions(lines: Sequence[KeptLine | None]) -> Iterator[RepeatedBlock]:
    """Lines that repeat, those that save most first; no line is in two."""
    free = [*lines]
    while True:
        best = max(candidates(free), key=lambda r: r.saved, default=None)
        if best is None or best.saved < LEAST:
            return
        yield best
        for start in best.starts:
            free[start:start + best.count] = [None] * best.count


def candidates(lines: Sequence[KeptLine | None]) -> Iterator[RepeatedBlock]:
    """For every line, and every number of lines from it that repeats somewhere, all places where these do."""
    places = defaultdict[tuple[str, ...], list[int]](list)
    for k, line in enumerate(lines):
        if line is not None:
            places[line.words].append(k)
    for own in places.values():
        for n, i in enumerate(own):
            lengths = {length: None for j in own[n + 1:] if (length := common(lines, i, j)) > 1}
            for length in lengths:
                starts = [i]
                for j in own[n + 1:]:
                    if j >= starts[-1] + length and common(lines, i, j, length) == length:
                        starts.append(j)
                yield RepeatedBlock(starts, length)


def common(lines: Sequence[KeptLine | None], i: int, j: int, most: int | None = None) -> int:
    """How many lines from two places on say the same, with one tensor in the place of another throughout, and in a loop come from
    one way through a function, from its beginning to its end or back."""
    there: dict[Slot, Slot] = {}
    back: dict[Slot, Slot] = {}
    at: dict[Def, int] = {}
    ways = set[bool]()
    blocks = None
    count = min(j - i if most is None else most, len(lines) - j)
    for k in range(count):
        a, b = lines[i + k], lines[j + k]
        if a is None or b is None or a.words != b.words or a.origin != b.origin:
            return k
        blocks = blocks or (a.block, b.block)
        home, place = a.origin
        ways |= {place > at[home]} if place != at.setdefault(home, place) else set()
        at[home] = place
        if blocks != (a.block, b.block) or (a.block >= 0 and len(ways) > 1):
            return k
        for x, y in zip(a.slots, b.slots, strict=True):
            if there.setdefault(x, y) != y or back.setdefault(y, x) != x:
                return k
    return count


# ---------------------------------------------------------------- text

class KeptWriter:
    """Writes a text with functions for lines that repeat."""

    def __init__(self, text: str, lines: Sequence[KeptLine | None], variables: Mapping[str, Var]) -> None:
        self.source, self.lines, self.variables = text, lines, variables

    def text_with(self, found: Sequence[RepeatedBlock]) -> str:
        names = Names(re.findall(r"\w+", self.source))
        changes: list[tuple[int, int, str]] = []
        defs: list[str] = []
        for each in sorted(found, key=lambda r: r.starts[0]):
            function = KeptFunction(self, each)
            name = names.fresh(function.name)
            defs.append(function.definition(name))
            changes += function.calls(name)
        out, at = "".join(defs), 0
        for start, end, new in sorted(changes):
            out += self.source[at:start] + new
            at = end
        return out + self.source[at:]

    def typed(self, slots: Sequence[Slot], name: str, sizes: Names) -> str:
        """A declaration of a parameter or a result that is each of these in a call: an extent that is not the same is a size."""
        var = self.variables[slots[0][0]]
        shapes = [self.variables[n].shape[bool(lead):] for n, lead in slots]
        extents = [text_of(each[0]) if len({*each}) == 1 else sizes.fresh("N") for each in zip(*shapes, strict=True)]
        shape = f"({', '.join(extents)})" if extents else ""
        return f"{'int32' if var.integer or var.whole else 'float'}{shape} {name}"


class KeptFunction:
    """The function that lines which repeat are: `formal` are its names for what the first of the calls has."""

    def __init__(self, writer: KeptWriter, repeated: RepeatedBlock) -> None:
        self.w, self.r = writer, repeated
        self.runs = [[line for line in writer.lines[s:s + repeated.count] if line is not None] for s in repeated.starts]
        body = self.runs[0]
        self.actual = [dict.fromkeys(slot for line in run for slot in line.slots) for run in self.runs]
        names = Names(re.findall(r"\w+", " ".join(w for line in body for w in line.words)))
        self.formal = {slot: names.fresh(NUMBERED.sub("", slot[0])) for slot in self.actual[0]}
        self.results = [*dict.fromkeys(line.slots[0] for line in body)]
        self.params = [s for s in self.formal if s not in self.results or self.begins_with_more(s)]
        places = [line.origin[1] for line in body]
        first = next(k for k, line in enumerate(writer.lines) if line is not None and line.origin == body[0].origin)
        kind = "" if first in repeated.starts else "_tangent" if places == sorted(places) else "_adjoint"
        self.name = max((line.origin[0] for line in body), key=lambda d: d.start).name.text + kind

    def begins_with_more(self, slot: Slot) -> bool:
        """Test for a result that is there before the function is called."""
        for line in self.runs[0]:
            if slot in line.slots:
                return line.slots[0] != slot or line.slots[1:].count(slot) > 0 or line.node.symbol in ("+=", "*=")
        return False

    def definition(self, name: str) -> str:
        sizes = Names([*re.findall(r"\w+", self.w.source), *self.formal.values()])
        given = dict(zip(self.formal, zip(*self.actual, strict=True), strict=True))
        params = [self.w.typed(given[s], self.formal[s], sizes) for s in self.params]
        shaped = {line.declared for line in self.runs[0]}
        results = [self.w.typed(given[s], self.formal[s], sizes) if s in shaped else self.formal[s] for s in self.results]
        head = f"def {name}({', '.join(params)}) -> ({', '.join(results)}) {{\n"
        return head + "".join(INDENT + self.line(k) + "\n" for k in range(self.r.count)) + "}\n"

    def line(self, k: int) -> str:
        """A line with the ranges that any of the calls says of it."""
        line = self.runs[0][k]
        ranges = next((run[k].ranges for run in self.runs if run[k].ranges), "")
        pieces = [line.words[0]]
        for slot, words in zip(line.slots, line.words[1:], strict=True):
            pieces += [self.formal[slot], words]
        text = "".join(pieces)
        return text + (f"{',' if ' where ' in text else ' where'} {ranges}" if ranges else "")

    def calls(self, name: str) -> Iterable[tuple[int, int, str]]:
        """The calls, each with the piece of the text that it replaces."""
        for run, actual in zip(self.runs, self.actual, strict=True):
            given = dict(zip(self.formal, map(shown, actual), strict=True))
            results = [given[s] for s in self.results]
            left = f"({', '.join(results)})" if results[1:] else results[0]
            yield run[0].node.start, run[-1].node.end, f"{left} = {name}({', '.join(given[s] for s in self.params)})"


def shown(slot: Slot) -> str:
    return f"{slot[0]}({slot[1]})" if slot[1] else slot[0]
