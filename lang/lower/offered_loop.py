"""The loop that a statement may be meant as which reads what it makes itself: `h(t) = a*h(t-1) + x(t)`."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adcli.lang.ir.affine import Index, affine
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.records import value_record
from adcli.lang.lower.scope import Context
from adcli.lang.lower.subscripts import AffineReader
from adcli.lang.syntax.tree import Call, Clause, Node, Op, TensorAssign, Token, bare, postorder

MOST_STARTS = 4
"""Elements before the loop that are written out."""
Ends = Mapping[str, tuple[str, str]]


@value_record
class OfferedLoop:
    """The text of a loop with what stands before it; `invented`: it has values that the statement does not give."""

    text: str
    invented: bool


def offered_loop(context: Context, s: TensorAssign, ends: Ends, exists: bool) -> OfferedLoop | None:
    """The loop for a statement that reads its own tensor at constant lags; `ends` are the ranges that its indices have without
    these reads, and the tensor may exist before. None where no loop says it."""
    found = lags_of(context, s)
    if found is None or not (s.symbol == "=" or s.symbol.endswith("!")):
        return None
    return Offer(context, s, ends, *found).loop(exists)


def own_reads(s: TensorAssign) -> list[Call]:
    """The reads of the tensor that a statement writes."""
    name, count = s.target.text, len(s.subscripts or ())
    return [n for n in postorder(s.value) if type(n) is Call and n.name == name and len(n.args) == count]


def lags_of(context: Context, s: TensorAssign) -> tuple[int, Index, int, list[int]] | None:
    """The dimension that is the step's, its index, how far from it the statement writes, and how far from there it reads."""
    indices: dict[str, Index] = {}
    reader = AffineReader(context, lambda token: affine(indices.setdefault(token.text, Index(token.text))))
    try:
        write = [reader.read(n, "") for n in s.subscripts or ()]
        reads = [[reader.read(n, "") for n in call.args] for call in own_reads(s)]
    except AdError:
        return None
    for d, w in enumerate(write):
        lags = [n for r in reads if (n := (r[d] - w).number)]
        step = next((i for i in w.indices() if (w - affine(i)).number is not None), None)
        alone = not any(step in v.indices() for k, v in enumerate(write) if k != d)
        if step is not None and alone and lags and len(lags) == len(reads) and (max(lags) < 0 or min(lags) > 0):
            return d, step, (w - affine(step)).constant, lags
    return None


@value_record
class Offer:
    """The parts of a statement from which its loop is written."""

    context: Context
    s: TensorAssign
    ends: Ends
    place: int
    step: Index
    offset: int
    lags: Sequence[int]

    def loop(self, exists: bool) -> OfferedLoop | None:
        low, high = self.range()
        most, chosen = max(map(abs, self.lags)), self.chosen()
        if chosen is not None:
            count, value, other = chosen
            starts = [self.start(str(k), self.with_step(other, k)) for k in range(count)]
            return OfferedLoop(self.written(starts, str(count), high, value), False) if count <= MOST_STARTS else None
        if any(n > 0 for n in self.lags):
            starts = [self.start(plus(high, self.offset + k), "0") for k in range(0 if exists else most)]
        else:
            low = str(max(int(low), most - self.offset)) if low.isdigit() else low
            starts = [self.start(plus(low, self.offset + k), "0") for k in range(0 if exists else -most, 0)]
        if len(starts) > MOST_STARTS:
            return None
        return OfferedLoop(self.written(starts, low, high, self.text(self.s.value)), bool(starts))

    def written(self, starts: Iterable[str], low: str, high: str, value: str) -> str:
        clauses = [self.text(c) for c in self.s.clauses if not (c.kind == "range" and c.name and c.name.text == self.step.name)]
        down = " down" if max(self.lags) > 0 else ""
        where = f" where {', '.join(clauses)}" if clauses else ""
        body = f"{self.target()} {self.s.symbol} {value}{where}"
        return "; ".join([*starts, f"for {self.step.name} in {low}:{high}{down} {{ {body} }}"])

    def range(self) -> tuple[str, str]:
        for c in self.s.clauses:
            if c.kind == "range" and c.name is not None and c.name.text == self.step.name:
                return self.text(c.nodes[0]), self.text(c.nodes[1])
        return self.ends.get(self.step.name, ("0", "N"))

    def start(self, at: str, value: str) -> str:
        """The statement for an element before the loop."""
        names = [n.text for d, n in enumerate(self.s.subscripts or ()) if d != self.place and isinstance(n, Token)]
        ranges = [f"{n} in {low}:{high}" for n, (low, high) in self.ends.items() if n in names]
        return f"{self.target(at)} = {value}" + (f" where {', '.join(ranges)}" if ranges else "")

    def target(self, at: str | None = None) -> str:
        subscripts = [at if at is not None and d == self.place else self.text(n) for d, n in enumerate(self.s.subscripts or ())]
        return f"{self.s.target.text}({', '.join(subscripts)})"

    def chosen(self) -> tuple[int, str, Node] | None:
        """Where a choice by the step starts the recurrence: its first step, the value from there on, and the one before."""
        value = bare(self.s.value)
        test = bare(value.args[0]) if isinstance(value, Op) and value.name == "select" else None
        if not isinstance(value, Op) or not isinstance(test, Op) or len(test.args) != 2 or max(self.lags) > 0 or self.offset:
            return None
        name, number = (n if isinstance(n := bare(a), Token) else None for a in test.args)
        if name is None or number is None or name.text != self.step.name or not number.text.isdigit():
            return None
        k = int(number.text)
        first = {"ge": k, "lt": k, "gt": k + 1, "le": k + 1, "eq": 1 if k == 0 else 0, "ne": 1 if k == 0 else 0}.get(test.name, 0)
        late, early = value.args[1:] if test.name in ("ge", "gt", "ne") else reversed(value.args[1:])
        inside = {id(n) for n in postorder(late)}
        return (first, self.text(late), early) if first and all(id(n) in inside for n in own_reads(self.s)) else None

    def with_step(self, node: Node, number: int) -> str:
        """The text of an expression with the step as a number."""
        text, at = "", node.start
        places = sorted(t.start for t in postorder(node) if isinstance(t, Token) and t.text == self.step.name)
        for start in places:
            text += self.context.source.text[at:start] + str(number)
            at = start + len(self.step.name)
        return " ".join((text + self.context.source.text[at:node.end]).split())

    def text(self, node: Node | Clause) -> str:
        return " ".join(self.context.source.text[node.start:node.end].split())


def plus(text: str, number: int) -> str:
    """An end of a range, and so many more."""
    if text.isdigit():
        return str(int(text) + number)
    return text if not number else f"{text} {'+' if number > 0 else '-'} {abs(number)}"
