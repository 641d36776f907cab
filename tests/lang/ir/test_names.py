"""Names for printing: every value gets one of its own, and those of inputs and results are never given away."""
from __future__ import annotations

import time

import pytest
from adcli.lang.ir import Program, Var
from adcli.lang.ir.names import RESERVED, Names, name_table, repeated
from adcli.lang.lower.frontend import parse
from adcli.lang.modes.reverse import duplicate
from adcli.lang.passes.pipeline import adjoints, tangents
from hypothesis import given
from random_programs import Sample, law, samples
from row_tables import each_row


def names(program: Program) -> dict[Var, str]:
    """The table, which names every value once and keeps the interface."""
    table = name_table(program)
    values = [*(p.var for p in program.params), *(out for e in program.equations for out in e.outs)]
    assert set(table) == set(values)
    assert len(set(table.values())) == len(table)
    assert all(table[p.var] == p.name for p in program.params)
    results = {r.name for r in program.results}
    assert not RESERVED & (set(table.values()) - results - {p.name for p in program.params})
    assert not any(table[v] in results and not any(r.atom is v for r in program.results)
                   for e in program.equations for v in e.outs)
    return table


@law(40)
@given(samples(20, extreme=True))
def test_every_value_has_a_name_of_its_own_at_every_stage(written: Sample) -> None:
    program = parse(written.text)
    for stage in (program, duplicate(program), tangents(program), adjoints(program), adjoints(tangents(program))):
        names(stage)


@pytest.mark.parametrize(("text", "want"), [
    ("input i1, x\ny = sin(cos(x))*i1", ["i1", "x", "i2", "i3", "y"]),          # numbers that an input has are passed over
    ("s = x\ns = s*x\ns = s*x", ["x", "s_1", "s"]),                             # the result keeps the name, not the first line
    ("input s_1, x\ns = x*x\ns = s*s_1", ["s_1", "x", "s_2", "s"])])            # and numbered names give way to given ones
def test_who_gets_which_name(text: str, want: list[str]) -> None:
    assert sorted(names(parse(text)).values()) == sorted(want)


def test_fresh_names() -> None:
    names = Names()
    assert [names.fresh("dx") for _ in range(3)] == ["dx", "dx_1", "dx_2"]
    assert [names.fresh("x", 1) for _ in range(3)] == ["x1", "x2", "x3"]
    assert names.fresh("input") == "input_1" and names.fresh("x1") == "x1_1" and names.fresh("x", 1) == "x4"


def test_a_fresh_name_looks_like_no_other() -> None:
    """A text with two names that only their code points tell apart is refused, so none of ours is one."""
    names = Names(["ᵢ1", "𝑑x", "ﬁ"])
    assert [names.fresh("i", 1), names.fresh("dx"), names.fresh("fi"), names.fresh("ﬁ"), names.fresh("ｉn")] == [
        "i2", "dx_1", "fi_1", "ﬁ_2", "ｉn_1"]


def test_the_names_of_sizes_are_taken() -> None:
    assert {"M", "N"} <= Names.of(parse("input A(M, N)\nB(j) +=! A(i, j)")).taken


def test_many_values_of_one_hint_take_linear_time() -> None:
    names, start = Names(), time.perf_counter()
    assert len({names.fresh("s") for _ in range(100_000)}) == 100_000
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(("names", "first"), [("", None), ("abc", None), ("abcb", "b"), ("abba", "b"), ("aa", "a")])
def test_the_first_name_that_stands_twice(names, first):
    assert repeated(names) == repeated(iter(names)) == first


def test_a_scope_inside_knows_all_around_and_holds_only_its_own():
    outer = Names(f"x{k}" for k in range(1000))
    inner = outer.within()
    innermost = inner.within()
    assert [inner.fresh("x7"), inner.fresh("t", 1), innermost.fresh("x7"), innermost.fresh("t", 1), innermost.fresh("in")] == \
        ["x7_1", "t1", "x7_2", "t2", "in_1"]
    assert "t1" not in outer
    assert "t2" not in inner
    assert len(inner.taken) == len(Names().taken) + 2   # a text of many scopes takes no copy of all names for each


WORDS = ("input", "output", "param", "def", "dup", "and", "or", "not", "inf", "nan", "pi", "π", "in", "where", "_")


@each_row("word", WORDS)
def test_no_value_is_called_like_a_word_of_the_language(word: str) -> None:
    assert Names().fresh(word) != word and Names().fresh("v") == "v"
