"""Points at the command line: lists, ranges, grids, files."""
from __future__ import annotations

import csv
import io
import json
import math
import pathlib
import random
import time
from fractions import Fraction

import numpy as np
import pytest
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError, Note
from adcli.lang.lower.frontend import parse
from command import adcli, succeeds

from adcli.input.points import GridRange, checked, first_outside, joined, need_headings, parts, points, require_point, within

pytestmark = pytest.mark.usefixtures("empty_folder")


def column(form: list[str], program: str = "x + y") -> list[list[float]]:
    """The inputs and the value at every point."""
    rows = list(csv.reader(io.StringIO(succeeds("eval", "-e", program, *form, "--format", "csv").out)))
    return [[float(x) for x in row] for row in rows[1:]]


def test_every_point_of_a_range_is_the_nearest_double():
    assert [x for x, *_ in column(["--at", "x=0:0.3:4"], "x")] == [0.0, 0.1, 0.2, 0.3]
    assert [x for x, *_ in column(["--at", "x=1:10:10"], "x")] == [float(i) for i in range(1, 11)]
    assert [x for x, *_ in column(["--at", "x=0:pi:2"], "x")] == [0.0, math.pi]
    assert [x for x, *_ in column(["--at", "x=-1e308:1e308:3"], "x")] == [-1e308, 0.0, 1e308]


def test_numbers_as_in_the_language():
    for text, number in (("pi/2", math.pi / 2), (".5", 0.5), ("1_000", 1000.0), ("0x1.8p-2", 0.375), ("-2**2", -4.0),
                        ("inf", math.inf), ("-Infinity", -math.inf)):   # the last as JSON writes it
        assert column(["-q", "--at", f"x={text}"], "x")[0] == [number, number]


# ---------------------------------------------------------------- first guesses


@pytest.mark.parametrize(("at", "given", "want"), [
    (["x=@-,y=1"], b" 2.5\n", [[2.5, 1, 3.5]]), (["x=@-", "y=1"], b"\xef\xbb\xbfpi/2", [[math.pi / 2, 1, 1 + math.pi / 2]]),
    (["@-"], b'[{"x": 1, "y": 2}, {"y": 3, "x": 4}]', [[1, 2, 3], [4, 3, 7]]), (["x=@n.txt,y=1"], b"", [[7, 1, 8]]),
])
def test_values_from_standard_input_and_files(at, given, want):
    pathlib.Path("n.txt").write_text("7\n")
    ended = adcli("eval", "-e", "x + y", *[word for spec in at for word in ("--at", spec)], "--format", "csv", stdin=given)
    assert [[float(x) for x in row] for row in list(csv.reader(io.StringIO(ended.out)))[1:]] == want, ended


def test_tensors_from_standard_input():
    for given in (b"[1, 2, 3]", b"1,2,3", npy([1.0, 2.0, 3.0])):
        ended = adcli("eval", "-e", "input x(N)", "-e", "s *=! x(i)", "--at", "x=@-", stdin=given)
        assert (ended.code, ended.out) == (0, "s = 6.0\n"), ended


def npy(numbers):
    stream = io.BytesIO()
    np.save(stream, numbers)
    return stream.getvalue()


# ---------------------------------------------------------------- laws

def test_all_points_of_a_range_are_those_one_by_one() -> None:
    """At once, in NumPy, and one by one: each the double nearest to the exact value, also where steps leave whole doubles."""
    r = random.Random(3)
    for _ in range(300):
        digits, count = r.choice((0, 1, 3, 7, 8, 12, 16)), r.choice((1, 2, 3, 7, 40))
        first = Fraction(r.randint(-10**digits, 10**digits), 10**r.randint(0, digits))
        last = first if count == 1 else Fraction(r.randint(-10**digits, 10**digits), 10**r.randint(0, digits))
        grid = GridRange("x", first, last, count)
        index = np.array([r.randrange(count) for _ in range(9)] + [0, count - 1])
        exact = [first + (last - first) * Fraction(i, max(1, count - 1)) for i in index.tolist()]
        assert grid.values(index).tolist() == [grid[i]["x"] for i in index.tolist()] == list(map(float, exact))


@pytest.mark.parametrize("pieces", [
    ["x=1"], ["x=1", "y=2"], ["A=[1,2]", "B=[[1,2],[3,4]]", "x=@f.json"], ["A=[[[1]],[[2]]]", "x=0:1:3", ""], ["", ""],
    ["A=]", "x=1"], ["x=1", "A=[1,2]"], ["A=[", "x=1"], ["x=2.0(1)", "A=[1,2]"],
    ["A=[1.0(1),2]", "x=f(1,2)", "y=1"]])
def test_commas_outside_of_brackets_part_a_point(pieces: list[str]) -> None:
    unclosed = "[" in ",".join(pieces) and ",".join(pieces).count("[") > ",".join(pieces).count("]")
    assert list(parts(",".join(pieces))) == ([",".join(pieces)] if unclosed else pieces)


def program(*names: str, **defaults: float) -> tuple[Param, ...]:
    inputs = [*names, *(f"{name} = {x!r}" for name, x in defaults.items())]
    return parse(f"input {', '.join(inputs)}\nv = {' + '.join((*names, *defaults))}\n").params


@pytest.mark.parametrize(("names", "given", "unused"), [
    (["x1", "x2"], "x0=1,x1=2,x2=3", ["x0"]), (["x1", "x2"], "x0=1,x1=2,x2=3,x10=1", ["x0", "x10"]), (["x1"], "x1=1", [])])
def test_components_that_a_formula_does_not_use_are_no_mistake(names: list[str], given: str, unused: list[str]) -> None:
    said: list[str] = []
    [point] = points(program(*names), [given], said.append)
    assert list(point) == names and said == [f"note: the program does not use {name}" for name in unused]


@pytest.mark.parametrize("given", ["x1=1,y0=1", "x1=1,x=1", "x1=1,z=1"])
def test_other_names_are_one(given: str) -> None:
    with pytest.raises(AdError, match=f"no input '{given[5:].partition('=')[0]}'"):
        list(points(program("x1", z2=0.0), [given], print))


@pytest.mark.parametrize(("names", "defaults", "specs", "one"), [
    (["x", "y"], {}, ["x=1", "y=2"], True), (["x", "y"], {}, ["x=1", "x=2"], False),
    (["x", "y"], {}, ["x=1,y=2", "x=1"], False), (["x", "y"], {}, ["@f", "y=2"], True), (["x"], {}, ["@f", "x=2"], False),
    (["x"], {"y": 0.0, "z": 0.0}, ["y=1", "z=2"], True),
    (["x", "y"], {}, [" x = 1", "y = 2,"], True), (["x"], {"y": 0.0}, ["y=1", "x=2"], True),
    (["x", "y"], {"z": 0.0}, ["z=1", "x=2", "y=3"], True), (["x", "y"], {}, ["x=1"], False), (["x"], {}, [], False)])
def test_options_are_one_point_where_one_alone_lacks_a_needed_input(names, defaults, specs, one) -> None:
    found = joined(program(*names, **defaults), specs)
    assert found == ([",".join(specs)] if one else specs)


@pytest.mark.parametrize(("specs", "wanted"), [
    (["x=1,y=2"], False), (["x=1", "y=2"], False), (["x=1,y=2", "x=2,y=3"], True), (["x=0:1:2,y=2"], True), (["@f"], True),
    ([], False)])
def test_points_have_headings_where_there_may_be_several(specs: list[str], wanted: bool) -> None:
    assert need_headings(program("x", "y"), specs) is wanted


@pytest.mark.parametrize(("names", "others", "said"), [
    (["x"], "", "no values for x\nhelp: give a point: --at x=1"),
    (["x", "y", "z"], "", "no values for x, y, z\nhelp: give a point: --at x=1,y=1,z=1"),
    (["a", "b", "c", "d"], "; or not", "no values for a, b, c, d\nhelp: give a point: --at a=1,b=1,c=1,…; or not")])
def test_what_a_point_needs_is_named(names: list[str], others: str, said: str) -> None:
    with pytest.raises(AdError) as fault:
        require_point(program(*names, k=1.0), [], others)
    assert f"{fault.value.message}\nhelp: {fault.value.help}" == said
    require_point(program(*names), ["x=1"], others)
    require_point(program(k=1.0), [], others)


def test_an_input_that_leaves_its_range_is_remarked_upon_once() -> None:
    params = parse("input x in [0, 1], y in [-1, 1], z\nv = x + y + z\n").params
    pairs = ((0.0, -1.0), (1.0, 1.0), (math.nextafter(1, 2), 0.0), (2.0, math.nan), (3.0, -2.0))
    at = [{"x": x, "y": y, "z": 1e9} for x, y in pairs]
    said: list[Note] = []
    assert list(within(params, at, said.append, None)) == at
    assert [note.message for note in said] == [
        "x = 1.0000000000000002 is outside its range [0.0, 1.0]", "y = nan is outside its range [-1.0, 1.0]"]
    for column, first in (([0.0, 1.0], None), ([0.5, -5e-324, 2.0], -5e-324), ([1.0, 2.0], 2.0), ([math.nan], math.nan)):
        assert repr(first_outside(np.array(column), 0.0, 1.0)) == repr(first)


def test_the_names_of_a_point_are_checked_in_time_that_grows_as_their_number_does():
    seconds = []
    for count in (2_000, 20_000):
        params = parse("v = " + " + ".join(f"x{i}" for i in range(count))).params
        pathlib.Path("many.json").write_text(json.dumps(dict.fromkeys((p.name for p in params), 1.0)))
        start = time.process_time()
        assert checked(params, ["@many.json"], print).points == 1
        seconds.append(time.process_time() - start)
    assert seconds[1] < 40 * seconds[0]


@pytest.mark.parametrize("verb", ["eval", "jacobian", "check", "why", "trace", "propagate"])
def test_a_number_that_is_given_a_matrix_is_refused(verb):
    np.save("c.npy", np.ones((2, 3)))
    ended = adcli(verb, "-e", "input A(M, N), c; B(i, j) = A(i, j)/c", "--at=A=@c.npy,c=@c.npy")
    assert ended.code in (2, 3) and ended.err.startswith("adcli: error: 'c' is a scalar, and the value given has 2 dimensions\n")

