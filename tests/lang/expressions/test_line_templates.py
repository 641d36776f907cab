"""A text whose lines are lowered together is the same program as when they are lowered one by one, and has the same faults."""
from __future__ import annotations

import random
import re

import pytest
from adcli.lang.expressions.line_templates import Recipes
from adcli.lang.ir import Atom, Lit, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower import frontend
from adcli.lang.lower.frontend import by_lines, lowered, parse_source
from adcli.lang.syntax.scan import normal
from adcli.lang.syntax.shapes import by_shape
from adcli.lang.tree.nodes import LongLine
from places import ROOT
from random_programs import sample
from session_seed import drawn

TEXTS = [path.read_text(encoding="utf-8") for folder in ("samples", "tests/programs")
         for path in sorted((ROOT / folder).glob("*.ad")) if path.stat().st_size < 20_000]


def shown(p: Program) -> str:
    """Everything of a program: names, temporaries, places and notes too."""
    number: dict[object, int] = {}

    def atom(a: Atom) -> object:
        return a.bits if isinstance(a, Lit) else (number.setdefault(a, len(number)), a.name, a.temp, a.truth, a.shape)

    inputs = [(atom(q.var), q.name, q.default, q.low, q.high, q.active) for q in p.params]
    equations = [([atom(a) for a in e.args], e.op.name, [atom(o) for o in e.outs], e.span, e.group) for e in p.equations]
    notes = [(n.message, n.span) for n in p.notes]
    return repr((inputs, equations, [(r.name, atom(r.atom)) for r in p.results], notes))


def alike(r: random.Random, text: str) -> str:
    """The text with more lines of the shapes of its lines, with other names and numbers of its own."""
    lines = []
    names = [w for w in sorted(set(re.findall(r"\b[a-z]\w*\b(?!\s*\()", text))) if w not in ("in", "where", "and", "or", "not")]
    for line in text.split("\n"):
        lines.append(line)
        if "=" in line and not re.match(r"\s*(input|param|output|def)|.*[{}]|[^#]*\bwhere\b", line):
            lines += [re.sub(r"\b(\d+\.?\d*|[a-z]\w*\b(?!\s*\())", lambda m: another(r, m[0], names), line)
                      for _ in range(r.choice((0, 1, 2)))]
    return "\n".join(lines)


def another(r: random.Random, word: str, names: list[str]) -> str:
    if r.random() < 0.7 or word in ("in", "where", "and", "or", "not"):
        return word
    return r.choice(("2", "0.5", "3.", "0x1p3", "1_000")) if word[0].isdigit() else r.choice(names)


def test_texts_with_lines_of_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated, programs = 0, 0
    lower = Recipes.value

    def counted(self, line):
        nonlocal repeated
        value = lower(self, line)
        repeated += value is not None
        return value

    monkeypatch.setattr(Recipes, "value", counted)
    r = drawn("lines of one shape")
    for text in [*TEXTS, *[sample(r, 15).text for _ in range(60)]]:
        source = normal(alike(r, text), "t")
        found = by_lines(source, 0)
        if found is not None:
            programs += 1
            assert shown(found) == shown(lowered(source)), source.text
    assert programs > 10 and repeated > 30


LINES = """a1 = x*y + 2
a2 = a1*pi + 3
a3 = a2*nan + inf
a4 = x*x + -2
a4 = x*x + --2.5
a5 = 3**2 + 1
a6 = a5**2.5 + 1
a6 = a5**x + 1
a7 = -2
a8 = -3
a9 = +x
b1 = +a9
_ = x + y
_ = y + z
b2 = x < y
b3 = x < a9
b4 = b2 ? 1 : 2
b5 = b3 ? x : 4
b4 = b2 && b3 ? 1 : 2
b5 = b3 && b2 ? x : 4
c1 = b2
c2 = b3
c3 = x
k1 = c1 ? x : y
k2 = c2 ? x : y
c4 = f(x, -2) + 1
c5 = f(y, -0.5) + 1
c6 = f(3, -z) + 1
c7 = f(3, -z) + 1
def sin(u) = u*u
c8 = sin(x)
c9 = sin(c8)
d1 = (x + y) * min(x, y, 3, z)
d2 = (x + c9) * min(x, y, 2, z)
d3 = polygamma(1, x)
d4 = polygamma(2, x)
pi = 3
e1 = pi*x + 2
e2 = e*x + 2
e2 = e**x + 2
e3 = d*x + 2
x1 = x*1e5
x2 = x*1_000
x2 = y*0x1F"""


def test_lines_that_differ_in_more_than_their_names() -> None:
    """Constants by name, signs, powers, kinds, calls, what hides what, what is never used, where they stand."""
    twice = "".join(f"{line}\n{line}\n" for line in LINES.split("\n") if "def " not in line)
    text, hidden = f"def f(u, w) = w < 0 ? sinh(u)*w**2 : -w\n{twice}", f"def f(u, w) = u*w\n{LINES}"
    for each in (text, hidden, text.replace("\n", "   # said\n"), text.replace("\n", "\n\n\t")):
        source = normal(each, "t")
        found = by_lines(source, 0)
        assert found is not None
        assert shown(found) == shown(lowered(source))


LONGER = ["v = 2*x + 3*x - 4*y + -x + -2 + +x - pi*x", "v = (2*x + 3*y)*(2*y + 3*z)*(x/y/z)*(1 + (x + 2) + (y + 3) + (w + 4)*x)",
          "v = f(x) + f(y) - f(2) - f(-z) - f(x) + f(z)", "v = (x < y) + (y < z) + (z < x)", "_ = x + y + z + x",
          "v = x + y + c + x", "v = -x*y*z*x", "v = x**2 + y**3 + z**y + 2**-x + y**3 + y**z",
          "v = x*1_000 + y*0x1F + z*1e-5 + w*.5", "v = ((x + y + (z + w) + x))", "v = 2 + 3 + x + y", "v = x + y + v + x",
          "v = x**2 + y**2 + z**2 + pi**2", "v = x - y/z*x^2^y - z/x*y^2^z + +(y - x)"]


@pytest.mark.parametrize("line", LONGER)
def test_long_lines(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put together of pieces is what the whole line says: signs, kinds, calls, levels, names, places."""
    joined = []
    lower = Recipes.joined
    monkeypatch.setattr(Recipes, "joined", lambda *given: joined.append(lower(*given)) or joined[-1])
    monkeypatch.setattr("adcli.lang.syntax.shapes.FEW", 1)
    source = normal(f"def f(u) = u < 0 ? sinh(u)*u**2 : -u\nc = x < 2\n{line} # said\nw = c ? x : y\n", "t")
    found = by_lines(source, 0)
    assert found is None or shown(found) == shown(lowered(source))
    assert len(joined) == 1 and (joined[0] is None) == (found is None or any(x in line for x in ("pi", "<", " c ")))


def test_long_lines_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    r = drawn("long lines")

    def value(depth: int) -> str:
        if not depth:
            return r.choice(("x", "y", "z", "2", "0.5", "-x"))
        parts = [value(r.randrange(depth)) for _ in range(r.choice((1, 2, 3)))]
        parts += [re.sub(r"\b[xyz]\b", lambda m: r.choice("xyz"), r.choice(parts)) for _ in range(r.choice((0, 3, 9)))]
        text = "".join(f"{p}{r.choice((' + ', '-', '*', ' / ', '**'))}" for p in parts[:-1]) + parts[-1]
        return r.choice(("{}", "({})", "sin({})", "({})**2", "-({})")).format(text)

    joined = 0
    for few in (1, 4, 16):
        monkeypatch.setattr("adcli.lang.syntax.shapes.FEW", few)
        for _ in range(30):
            source = normal(f"v = {value(4)}\n", "t")
            read = by_shape(source)
            joined += read is not None and isinstance(read[1][0], LongLine)
            found = by_lines(source, 0)
            assert found is not None and shown(found) == shown(lowered(source)), source.text
    assert joined > 4


FAULTS = ["v = x*true_", "v = (x < y) + x", "v = c*x", "v = x*1e999", "v = x*f", "x = y*x", "v = polygamma(x, y)",
          "v = inf*x\ninf = x*y", "v = g(x)\nv = g(y)\ndef g(x) = x", "v = x*y\n  where z = 2", "v = x*y)", "v = x $ y",
          "nan = x*y", "v = f(x, y, z)", "v = sn(x)", "v = max(x)", "output y", "v = f(x*y"]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_said_as_ever(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "input x, y\ndef f(x, y) = x*y\nc = x < y\nv = x*y\nv = y*x\nc = x < 2\nw = f(x, y)\nw = f(y, x)\nd = c ? v : w\n"
    text += f"{fault}\n{fault}\nz = x*y\n"
    said = []
    for least in (0, 10**9):
        monkeypatch.setattr(frontend, "LONG", least)
        try:
            said.append(shown(parse_source(normal(text, "t"))))
        except AdError as error:
            said.append(str(error))
    assert said[0] == said[1]
