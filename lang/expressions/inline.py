"""User functions: each is lowered once into a template, and a call copies the template's equations.

A template keeps the calls inside it as calls, so a function costs what its text costs however deep functions call
functions; a call in the program unfolds them with a stack of frames. Repeated doubling (`f2(x) = f1(f1(x))`) makes
programs exponentially long: the size is known before anything is copied, and beyond the allowance of the program the call is
refused.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from adcli.lang.ir import Atom, Atoms, Equation, Lit, Primitive, Var
from adcli.lang.ir.errors import AdError, CalledSpan, FunctionCall, Source, Span
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.records import value_record
from adcli.lang.ir.special_functions import HIGHEST_ORDER

POW, POWN, POLYGAMMA = TABLE["pow"], TABLE["pown"], TABLE["polygamma"]
MOST_TIMES = 1_000
"""How often the partial derivatives of the table are derivatives at most, where a text has them."""


MOST_WITH_CALLS = 1 << 17
"""Operations of a program up to which those of calls know the call they came with; in longer ones that takes much memory."""


@value_record
class CallSite:
    """A call inside a template."""

    template: Template
    args: Atoms
    outs: tuple[Var, ...]
    span: Span


@value_record
class Template:
    """A function: `truth` says which parameters are truth values; `library`, that its text is not the user's."""

    name: str
    params: tuple[Var, ...]
    truth: tuple[bool, ...]
    body: tuple[Equation | CallSite, ...]
    results: tuple[tuple[str, Atom], ...]
    truths: tuple[bool, ...]
    size: int
    library: bool = False


Name = tuple[str, bool] | None
"""The name for a result, and whether it is a temporary's."""


class Unfolding:
    """A call being unfolded: its template's variables so far, and the steps still to do."""

    __slots__ = ("call", "env", "named", "outs", "span", "steps", "template")

    def __init__(self, template: Template, args: list[Atom], wanted: list[Name], span: Span,
                 outs: tuple[Var, ...], outer: FunctionCall | None) -> None:
        self.template, self.span, self.outs, self.call = template, span, outs, FunctionCall(template.name, span, outer)
        self.env: dict[Atom, Atom] = dict(zip(template.params, args, strict=True))
        self.steps: Iterator[Equation | CallSite] = iter(template.body)
        self.named: dict[Atom, Name] = {}
        for (_, atom), name in zip(template.results, wanted, strict=True):
            if name is not None:
                self.named.setdefault(atom, name)


def size(body: list[Equation | CallSite]) -> int:
    return sum(s.template.size if type(s) is CallSite else 1 for s in body)


def expand(template: Template, args: list[Atom], wanted: list[Name], span: Span, emit: list[Equation],
           fresh: Callable[[], str], source: Source) -> list[Atom]:
    """Append the equations of a call to `emit`; returns its results."""
    stack = [Unfolding(template, args, wanted, span, (), None)]
    while True:
        frame = stack[-1]
        site = advance(frame, emit, fresh, source)
        if site is not None:
            inner = frame.span if frame.template.library else site.span
            names = [frame.named.get(v) or ((v.name, True) if v.name else None) for v in site.outs]
            stack.append(Unfolding(site.template, [frame.env.get(a, a) for a in site.args], names, inner, site.outs, frame.call))
            continue
        stack.pop()
        values = [frame.env.get(a, a) for _, a in frame.template.results]
        if not stack:
            return values
        stack[-1].env.update(zip(frame.outs, values, strict=True))


def advance(frame: Unfolding, emit: list[Equation], fresh: Callable[[], str], source: Source) -> CallSite | None:
    """Copy equations up to the next call, which is returned, or to the end."""
    env, named, library, at, call = frame.env, frame.named, frame.template.library, frame.span, frame.call
    for step in frame.steps:
        if type(step) is CallSite:
            return step
        assert isinstance(step, Equation)
        args = tuple([env.get(a, a) for a in step.args])
        outs = []
        for v in step.outs:
            name, temp = named.get(v) or (v.name or fresh(), True)
            env[v] = out = Var(name, temp, v.truth)
            outs.append(out)
        span = at if library else step.span
        if len(emit) < MOST_WITH_CALLS:
            span = CalledSpan(span or at)
            span.call = call
        emit.append(Equation(tuple(outs), specialised(step.op, args, frame.span, source), args, span))
    return None


def specialised(op: Primitive, args: Atoms, span: Span, source: Source) -> Primitive:
    """The row for these arguments: a power with a literal integer exponent is `pown`."""
    if op is POW:
        exponent = args[1]
        return POWN if type(exponent) is Lit and exponent.integer is not None else POW
    for i in () if op is POWN else op.static:
        if not is_order(op, i, args[i]):
            raise AdError(f"the {ORDINALS[i]} argument of '{op.name}' must be a literal integer, {int(op.domain[i][0])} or more",
                          span, f"for example {usage(op)}", source)
        if isinstance(n := args[i], Lit) and n.value > (most := HIGHEST_ORDER if op is POLYGAMMA else MOST_TIMES):
            raise AdError(f"{op.name} is known up to order {most}", span, None, source)
    return op


def is_order(op: Primitive, position: int, given: Atom) -> bool:
    """Whether an argument is a constant that can say how often something is differentiated."""
    return type(given) is Lit and given.integer is not None and given.integer >= op.domain[position][0]


ORDINALS = ("first", "second", "third", "last")


def usage(op: Primitive) -> str:
    """A call with constants where the row wants them: polygamma(1, x)."""
    return f"{op.name}({', '.join('1' if i in op.static else name for i, name in enumerate(op.args.split(', ')))})"
