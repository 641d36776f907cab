"""A text whose lines are lowered together is the same program as when they are lowered one by one, and has the same faults."""
from __future__ import annotations

import random
import re

import pytest
from adcli.lang.ir import Atom, Lit, Program
from adcli.lang.ir.errors import AdError
from adcli.lang.lower import frontend
from adcli.lang.lower.frontend import by_lines, lowered, parse_source
from adcli.lang.lower.repeated import Recipes
from adcli.lang.syntax.source import normal
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
    return r.choice(("2", "0.5", "3.", "0x1p3", "1_0")) if word[0].isdigit() else r.choice(names)


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
