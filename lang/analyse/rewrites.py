"""Rewrites that mend a NaN, an infinity or a lost zero: a table of patterns, found in the program and tried at the point.

A pattern is a formula of the language; it is matched with the equations of the simplified program, so it is found across
statements and in whatever order the operands of a sum or product stand. Nothing is proposed untried: the user's own text is
rewritten, read again, and evaluated at the point and beside it. A rewrite counts if it makes a NaN or an infinity finite, or
a zero different from zero, agrees with the old program near the point, and contradicts nothing that is known of it there.
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from adcli.lang.analyse.explain import Explainer
from adcli.lang.analyse.findings import Finding
from adcli.lang.analyse.limits import Contradictions
from adcli.lang.analyse.numeric_sweeps import ArgumentUse
from adcli.lang.evaluate import FLOAT, evaluate, every_value
from adcli.lang.ir import Atom, Equation, Lit, Point, Program, Var
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse, parse_source
from adcli.lang.operations.activity import with_outputs
from adcli.lang.simplify.simplify import simplify
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.tree.nodes import Assign, Def, Node, Statement, Token, bare, postorder
from adcli.lang.tree.notation import number


class RewriteRule(NamedTuple):
    """A pattern, what to write instead, when it helps, and what one should know."""

    pattern: str
    replacement: str
    helps: str
    caveat: str = ""


# Accuracy near 0 and in the tails: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, ch. 1;
# W. Kahan, Branch Cuts for Complex Elementary Functions, 1987 (expm1, log1p); logarithms of sums: P. Blanchard,
# D. J. Higham, N. J. Higham, Accurately computing the log-sum-exp and softmax functions, 2021.
REWRITE_RULES = [RewriteRule(*row) for row in re.findall("    (.*) -> (.*)\n +([^;\n]*)(?:; (.*))?", """
    sqrt(a*a + b*b) -> hypot(a, b)
        neither overflows nor divides by 0 at the origin; at the origin the derivatives are 0, by convention
    sqrt(a*a + b*b + c*c) -> hypot(a, b, c)
        neither overflows nor divides by 0 at the origin; at the origin the derivatives are 0, by convention
    sqrt(a*a) -> abs(a)
        no square that overflows, no root of 0; at 0 the derivative is 0, by convention
    sqrt(a)*sqrt(a) -> a
        no root of 0; for {a} >= 0; it has no meaning elsewhere
    a*sqrt(a) -> a**1.5
        one power, whose derivative at 0 is 0
    sqrt(a)/a -> 1/sqrt(a)
        no 0/0 with {a} itself
    a/sqrt(a) -> sqrt(a)
        no division by the root of 0
    (a*a)**0.5 -> abs(a)
        no power at 0
    exp(log(a)) -> a
        nothing is to be undone; for {a} > 0; it has no meaning elsewhere
    log(exp(a)) -> a
        nothing overflows on the way
    log(1 + exp(a)) -> softplus(a)
        does not overflow
    log1p(exp(a)) -> softplus(a)
        does not overflow
    log(exp(a) + exp(b)) -> logaddexp(a, b)
        does not overflow
    exp(a)/(1 + exp(a)) -> sigmoid(a)
        does not overflow
    1/(1 + exp(-a)) -> sigmoid(a)
        does not overflow
    exp(a)/(exp(a) + exp(b)) -> sigmoid(a - b)
        does not overflow
    (exp(a) - exp(-a))/(exp(a) + exp(-a)) -> tanh(a)
        does not overflow
    (exp(a) - 1)/(exp(a) + 1) -> tanh(a/2)
        does not overflow
    log(cosh(a)) -> abs(a) + log1p(exp(-2*abs(a))) - log(2)
        does not overflow
    log(sigmoid(a)) -> -softplus(-a)
        keeps the tail
    log(1/(1 + exp(-a))) -> -softplus(-a)
        keeps the tail
    exp(a)/exp(b) -> exp(a - b)
        does not overflow
    exp(a)*exp(b) -> exp(a + b)
        does not overflow on the way
    1 - cos(a) -> 2*sin(a/2)**2
        loses nothing for small {a}
    1 - cos(a)*cos(a) -> sin(a)**2
        loses nothing for small {a}
    log(1 + a) -> log1p(a)
        loses nothing for small {a}
    log(1 - a) -> log1p(-a)
        loses nothing for small {a}
    exp(a) - 1 -> expm1(a)
        loses nothing for small {a}
    1 - exp(a) -> -expm1(a)
        loses nothing for small {a}
    1 - tanh(a)*tanh(a) -> 1/cosh(a)**2
        keeps the tail
    1 - tanh(a) -> 2*sigmoid(-2*a)
        keeps the tail
    1 - sigmoid(a) -> sigmoid(-a)
        keeps the tail
    1 - erf(a) -> erfc(a)
        keeps the tail
    log(a) - log(b) -> log(a/b)
        no difference of two infinities; for {a}/{b} that neither overflows nor is 0
    sqrt(a + 1) - sqrt(a) -> 1/(sqrt(a + 1) + sqrt(a))
        no cancellation for large {a}
    sqrt(a + b) - sqrt(a) -> b/(sqrt(a + b) + sqrt(a))
        no cancellation for large {a}
    a*a - b*b -> (a - b)*(a + b)
        loses nothing where {a} and {b} are close
    a*log(a) -> xlogy(a, a)
        0 at 0; its derivative by {a} at 0 is that of the logarithm, -inf
    a*log(b) -> xlogy(a, b)
        0 where {a} is 0, whatever {b} is
    a*log(a/b) -> xlogy(a, a/b)
        0 where {a} is 0
    sin(a)/a -> a == 0 ? 1 - a**2/6 : sin(a)/a
        has its limit at 0; derivatives beyond the third are not right there
    (exp(a) - 1)/a -> a == 0 ? 1 + a/2 + a**2/6 : expm1(a)/a
        has its limit at 0; derivatives beyond the second are not right there
    log(1 + a)/a -> a == 0 ? 1 - a/2 + a**2/3 : log1p(a)/a
        has its limit at 0; derivatives beyond the second are not right there
    tan(a)/a -> a == 0 ? 1 + a**2/3 : tan(a)/a
        has its limit at 0; derivatives beyond the third are not right there
    a/a -> 1
        nothing is divided by itself
    a/b*b -> a
        nothing is divided that is multiplied again; for {b} other than 0 it is the same
""")]
"""Pattern, replacement, when it helps, what to know."""

CAUSE_TO_ROOT = 4
"""Equations between a cause and the root of a pattern, at most."""
MOST_TRIED = 12
"""Rewrites that are tried for one group of findings; fewer where the program is long."""
MATCHING_EFFORT = 400_000
"""Operations that trying may take at one point, in all."""
AGREES = 1e-6
"""Relative difference beside the point at which old and new still count as the same."""
COMPARED_BESIDE = (1e-2, -1e-2, 3e-2, 0.25, -0.25, 1.0)
"""Where the two are compared: the inputs moved by these, relative to their size."""
COMPARED_NEAR = (0.2, 0.9, 1.7, -0.6)
"""And where they are near these numbers."""
FEWEST_COMPARED = 3
ENOUGH_COMPARED = 6
"""Numbers that must have been compared, and after how many no more are."""


@dataclass(frozen=True)
class Rewrite:
    """A rewrite of the user's text that was tried: what stood there, what to write, and what the results become."""

    old: str
    new: str
    place: str
    gain: str
    text: str
    numbers: Point


@cache
def patterns() -> tuple[tuple[RewriteRule, Program], ...]:
    return tuple((row, simplify(parse(f"v = {row.pattern}\n"))) for row in REWRITE_RULES)


def mended(primal: Program, at: Point, groups: Sequence[tuple[Sequence[Finding], Explainer]],
           ) -> list[Rewrite | None]:
    """For each group of findings a rewrite that mends it, where the table has one."""
    effort = MATCHING_EFFORT
    found: list[Rewrite | None] = []
    tried: dict[tuple[str, tuple[int, int]], Trial | None] = {}
    if not groups:
        return found
    known = Contradictions(primal, at, groups[0][1].wrt)
    for findings, explainer in groups:
        best: Rewrite | None = None
        for row, e, bound in list(candidates(findings, explainer))[:MOST_TRIED]:
            assert e.span is not None
            key = (row.pattern, e.span)
            if key not in tried:
                if effort < 0:
                    continue
                effort -= 10 * len(explainer.program.equations)
                tried[key] = trial(primal, at, explainer, row, e, bound)
            best = accepted(tried[key], findings, known)
            if best:
                break
        found.append(best)
    return found


# ---------------------------------------------------------------- matching

Bound = dict[str, tuple[Atom, ArgumentUse]]
"""Bindings of a pattern's inputs, each with an equation and the position of an argument where it stands."""


def candidates(findings: Sequence[Finding], explainer: Explainer) -> Iterator[tuple[RewriteRule, Equation, Bound]]:
    """Where a pattern of the table matches beside what made the findings so; longer patterns first."""
    program = explainer.program
    if program.source is None or all(f.wrt and len(f.wrt) > 1 for f in findings):
        return
    roots = around([c.equation for f in findings for c in f.causes if c.equation is not None], explainer)
    found = []
    for row, pattern in patterns():
        for e in roots:
            bound: Bound = {}
            if e.span is not None and not e.group and match(pattern, pattern.results[0].atom, e.outs[0], (e, 0),
                                                                  explainer.defined, bound):
                found.append((row, e, bound))
    found.sort(key=lambda each: -len(each[0].pattern))
    yield from found


def around(causes: Sequence[Equation], explainer: Explainer) -> list[Equation]:
    """The equations that a cause, or what goes into it, leads to within a few steps, and those before it."""
    users = explainer.users
    near: dict[Equation, None] = dict.fromkeys(causes)
    last = list(near)
    for _ in range(CAUSE_TO_ROOT):
        last = [u for e in last for o in e.outs for u in users.get(o, ())[:8] if u not in near]
        near.update(dict.fromkeys(last))
    last = list(dict.fromkeys(causes))
    for _ in range(2):
        last = [d for e in last for a in e.args if isinstance(a, Var) and (d := explainer.defined.get(a)) and d not in near]
        near.update(dict.fromkeys(last))
    return list(near)


def match(pattern: Program, wanted: Atom, given: Atom, use: ArgumentUse, defined: Mapping[Atom, Equation], bound: Bound) -> bool:
    """True if a value, used there, is what the pattern says, with the pattern's inputs bound to values. Sums and products are
    tried in both orders. Patterns are small, so this may recurse over them."""
    if isinstance(wanted, Lit):
        return isinstance(given, Lit) and given.bits == wanted.bits
    names = {p.var: p.name for p in pattern.params}
    if wanted in names:
        known, _ = bound.setdefault(names[wanted], (given, use))
        return known is given or (isinstance(known, Lit) and isinstance(given, Lit) and known.bits == given.bits)
    e = next(e for e in pattern.equations if wanted in e.outs)
    d = defined.get(given) if isinstance(given, Var) else None
    if d is None or d.op is not e.op or len(d.args) != len(e.args):
        return False
    places = list(range(len(d.args)))
    for order in [places, places[::-1]] if e.op.commutes and len(places) == 2 else [places]:
        trying = dict(bound)
        if all(match(pattern, w, d.args[i], (d, i), defined, trying) for w, i in zip(e.args, order, strict=True)):
            bound.clear()
            bound.update(trying)
            return True
    return False


# ---------------------------------------------------------------- trying

@dataclass(frozen=True)
class Trial:
    """A rewritten program that agrees with the old one beside the point, and how it was made."""

    row: RewriteRule
    old: str
    new: str
    place: str
    names: Mapping[str, str]
    explainer: Explainer


def trial(primal: Program, at: Point, explainer: Explainer, row: RewriteRule, e: Equation,
          bound: Bound) -> Trial | None:
    """The program with the text of an equation replaced; None where that gives another function, or none."""
    source, span = primal.source, e.span
    assert source is not None and span is not None
    texts = operands(source)
    names = {name: operand(explainer, texts, *value) for name, value in bound.items()}
    new = substituted(row.replacement, names)
    before, after = source.text[:span[0]], source.text[span[1]:]
    alone = before.rpartition("\n")[2].rstrip().endswith("=") and not after.partition("\n")[0].strip()
    placed = new if alone or closed(new) else f"({new})"
    try:
        program = parse_source(Source(source.name, before + placed + after))
        rewritten = simplify(with_outputs(program, [r.name for r in primal.results]))
    except (AdError, KeyError):
        return None
    if {p.name for p in rewritten.params} - set(at) or not agree(explainer.program, rewritten, at):
        return None
    return Trial(row, source.quoted(span), placed, "{}:{}:{}".format(*source.where(span)), names,
                 Explainer(rewritten, at, [x for x in explainer.wrt if any(p.name == x for p in rewritten.params)],
                           explainer.values.arithmetic))


def closed(text: str) -> bool:
    """True if a text is a name, a number or one call, which needs no parentheses wherever it stands."""
    name, parenthesis, rest = text.partition("(")
    called = not parenthesis or (rest.endswith(")") and balanced(rest[:-1]))
    return name.replace("_", "a").replace(".", "0").isalnum() and called


def operands(source: Source) -> dict[tuple[int, int, int], str]:
    """The text of each argument of each operation: by the start and end of the operation and the argument's position."""
    found: dict[tuple[int, int, int], str] = {}
    for value in values_of(parse_tree(source).statements):
        for node in postorder(value):
            if not isinstance(node, Token):
                for i, arg in enumerate(node.args):
                    inner = bare(arg)
                    text = " ".join(source.text[inner.start:inner.end].split())
                    found[node.start, node.end, i] = text if closed(text) else f"({text})"
    return found


def values_of(statements: Sequence[Statement]) -> Iterator[Node]:
    """All expressions of a text."""
    for s in statements:
        if isinstance(s, Assign):
            yield from s.values
        elif isinstance(s, Def):
            yield from [s.value] if s.value is not None else values_of(s.body)


def operand(explainer: Explainer, texts: Mapping[tuple[int, int, int], str], atom: Atom, use: ArgumentUse) -> str:
    """The text for a value bound by a pattern: as it stands where it is used, else its name."""
    e, _ = use
    if isinstance(atom, Lit):
        return number(atom.value)
    first = e.args.index(atom)   # a square is a product, but its text has the base once
    text = texts.get((*e.span, first)) if e.span else None
    return text or explainer.names.get(atom) or atom.name or "?"


def substituted(replacement: str, names: Mapping[str, str]) -> str:
    """The replacement with the letters of the pattern replaced by texts; an argument that stands alone loses its parentheses."""
    def text(letter: re.Match[str]) -> str:
        new = names.get(letter[0], letter[0])
        before, after = replacement[:letter.start()].rstrip()[-1:], replacement[letter.end():].lstrip()[:1]
        alone = before in "(," and after in "),"
        return new[1:-1] if alone and new[0] + new[-1] == "()" and balanced(new[1:-1]) else new

    return re.sub(r"\b[a-z]\b(?!\()", text, replacement)


def balanced(text: str) -> bool:
    """True if every parenthesis closes inside."""
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def agree(old: Program, new: Program, at: Point) -> bool:
    """True if two programs are the same function as far as some points beside this one tell."""
    compared = 0
    points = [{name: x + by * (1 + 0.3 * j) * (abs(x) if abs(x) > 1e-3 else 1.0) if math.isfinite(x) else 1.0 + by
               for j, (name, x) in enumerate(at.items())} for by in COMPARED_BESIDE]
    points += [{name: by + 0.3 * (j % 7) for j, name in enumerate(at)} for by in COMPARED_NEAR]
    for beside in points:
        left, right = evaluate(old, beside), evaluate(new, beside)
        for name, x in left.items():
            if math.isfinite(x) and name in right:
                if not math.isclose(x, right[name], rel_tol=AGREES, abs_tol=1e-300) and not tiny(x, right[name], old, beside):
                    return False
                compared += 1
        if compared >= ENOUGH_COMPARED:
            break
    return compared >= FEWEST_COMPARED


def tiny(x: float, y: float, program: Program, at: Point) -> bool:
    """True if a difference is what rounding makes of the largest value on the way, as where the old program cancels."""
    values = every_value(program, at, FLOAT).values()
    largest = max((abs(z) for z in values if not isinstance(z, bool) and math.isfinite(z)), default=0.0)
    return math.isfinite(y) and abs(x - y) <= 1e-13 * largest


def accepted(made: Trial | None, findings: Sequence[Finding], known: Contradictions) -> Rewrite | None:
    """The rewrite, if it mends one of the findings, spoils none, and gives nothing that is known to be wrong."""
    if made is None:
        return None
    new = {r.name: made.explainer.number(r.atom) for r in made.explainer.program.results}
    outputs = {f.of for f in findings}
    chosen = [r for r in made.explainer.program.results if r.name in outputs]
    wanted = {(f.of, f.wrt[0]): f for f in findings if f.wrt}
    for r, x, value, _ in made.explainer.derivatives(chosen, False):
        if (r.name, x) in wanted:
            new[wanted[r.name, x].name] = value
    numbers = {f.name: new[f.name] for f in findings if f.name in new}
    better = [f.name for f in findings if f.name in numbers and mends(f.value, numbers[f.name])]
    if not better or any(f.name in better and known.contradicted(f, numbers[f.name]) for f in findings):
        return None
    caveat = made.row.caveat.format(**made.names)
    gives = ", ".join(f"{name} = {numbers[name]!r}" for name in better[:4])
    text = f"{made.new} for {' '.join(made.old.split())} ({made.place}): {made.row.helps.format(**made.names)}"
    gain = f"here it gives {gives}" + (f" ({caveat})" if caveat else "")
    return Rewrite(made.old, made.new, made.place, gain, text, {name: numbers[name] for name in better})


def mends(old: float, new: float) -> bool:
    return math.isfinite(new) and (not math.isfinite(old) or (old == 0 and new != 0))
