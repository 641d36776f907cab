"""Graphs and plots from Python: what the shell draws, as data, in characters, and as pictures that a notebook shows."""
from __future__ import annotations

import csv
import json
import pickle
from functools import partial

import numpy as np
import pytest
from adcli.lang.ir.errors import missing
from command import adcli as shell
from fronts import in_python
from markup import Reader, visible

import adcli
from adcli.api.view import PictureView, in_characters

SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'


@pytest.mark.parametrize("program, given, options", [
    ("v = x*sin(y)", {}, ()),
    ("output v, w; v = x*sin(y); w = v/x", {"stage": "dup", "of": "v"}, ("--stage", "dup", "--of", "v")),
    ("v = x/y", {"x": 2.0, "y": 0.0}, ("--at", "x=2,y=0")),
    ("input x in [0, 1]\noutput v, w; v = x*y; w = x/y", {"x": 2.0, "y": 4.0}, ("--at", "x=2,y=4")),
    ("v = x/y", {"stage": "reverse", "x": 2, "y": 4.0, "cotangent": {"v": 3.0}, "wrt": ["y"]},
     ("--stage", "reverse", "--at", "x=2,y=4", "--cotangent", "v=3", "--wrt", "y")),
    ("input A(M, N), B(N)\nC(i) +=! A(i, j) * B(j)", {"A": np.eye(2), "B": [1, 2]}, ("--at", "A=[[1,0],[0,1]],B=[1,2]")),
])
def test_graphs_are_those_of_the_shell(program, given, options):
    view = adcli.compile(program, "-e").draw(**given)
    told = shell("draw", "-e", program, *options, "--format", "text")
    assert (view.text, "".join(f"{note}\n" for note in view.notes)) == (told.out, in_python(told.err))
    dot = shell("draw", "-e", program, *options, "--format", "dot").out
    assert view["dot"].partition("{")[2] == dot.partition("{")[2]   # after its name
    assert len(view["nodes"]) == view["dot"].count("label=<") or len(view["nodes"]) > 1
    assert {edge["tail"] for edge in view["edges"]} <= set(range(len(view["nodes"])))
    assert pickle.loads(pickle.dumps(view)) == view and json.loads(json.dumps(dict(view)))["stage"] == view["stage"]


@pytest.mark.parametrize("given, at", [
    ({"x": (-3, 3), "y": 2.0}, "x=-3:3,y=2"), ({"x": "-3:3", "y": (0, 1, 5), "points": 7}, "x=-3:3,y=0:1:5")])
def test_plots_are_those_of_the_shell(given, at):
    pytest.importorskip("plotext")
    program = "input x in [0, 4]; v = y/x"
    view = adcli.compile(program, "-e").plot(**given)
    more = ("--points", "7") if "points" in given else ()
    told = shell("plot", "-e", program, "--at", at, *more)
    assert (view.text, "".join(f"{note}\n" for note in view.notes)) == (told.out, in_python(told.err))
    rows = list(csv.DictReader(shell("plot", "-e", program, "--at", at, *more, "--format", "csv").out.splitlines()))
    assert [list(row) for row in rows[:1]] == [list(row) for row in view["rows"][:1]] and len(rows) == len(view["rows"])
    for row, told in zip(view["rows"], rows, strict=True):
        assert all(x == told[name] if isinstance(x, str) else repr(x) == repr(float(told[name])) for name, x in row.items())
    assert view["notes"] and all(note in view.caption for note in view["notes"])


@pytest.mark.parametrize("verb, given, options", [
    ("check", {"x": 1.0, "y": 2.0}, "--at x=1,y=2"),
    ("propagate", {"x": (1.0, 0.1), "y": 2.0, "monte_carlo": 2000}, "--at x=1±0.1,y=2 --monte-carlo 2000")])
def test_pictures_beside_what_verbs_say_are_those_of_the_shell(verb, given, options):
    pytest.importorskip("plotext")
    f = adcli.compile("v = x*sin(y)", "-e")
    view = getattr(f, verb)(**given, plot=True)
    told = shell(verb, "-e", "v = x*sin(y)", *options.split(), "--plot", "-")
    assert (view.text, "".join(f"{note}\n" for note in view.notes)) == (told.out, in_python(told.err))
    assert {name: x for name, x in view.items() if name != "plot"} == getattr(f, verb)(**given)
    assert view.text.endswith(view.characters) and len(view["plot"]["rows"]) > 10 and view["plot"]["x"] in view.caption
    assert pickle.loads(pickle.dumps(view)) == view


def test_a_fit_has_its_picture():
    x = np.linspace(0.0, 1.0, 20)
    f = adcli.compile("param a = 1; v = a*x")
    assert "plot" not in f.fit({"x": x, "y": 2*x}) and f.fit({"x": x, "y": 2*x}, plot=True).x == [2.0]
    seen = f.fit({"x": x, "y": 2*x}, plot=True).plot
    assert seen["rows"][-1] == {"x": 1.0, "v": 2.0, "v_fit": 2.0, "v_residual": 0.0} and "residual of v against x" in seen.caption


# ---------------------------------------------------------------- how it is shown

def image(form, data=SVG):
    return data


def lacking(form):
    raise missing("a picture", "matplotlib")


def test_a_picture_is_shown_by_itself_and_in_words(tmp_path):
    view = PictureView("plot", {"x": 1}, "characters", "<p>above</p>", ("note: a pole",), image, 'v against "x" <1>',
                       "characters")
    page = Reader(view._repr_html_())
    assert page.described == ['v against "x" <1>'] and page.seen.split("\n")[1:3] == ["note: a pole", "above"]
    assert "<script" not in view._repr_html_()   # an image runs nothing, and is no part of the page
    for name in ("p.svg", "p.PNG", tmp_path / "p.pdf"):
        view.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == SVG
    with pytest.raises(adcli.AdError, match=r"no picture is written to 'p\.gif'"):
        view.save("p.gif")
    assert repr(view) == "note: a pole\ncharacters"


def test_characters_stand_in_where_nothing_draws(tmp_path):
    view = in_characters("plot", {}, lambda: "┊ v\n", (), lacking, "caption")
    assert visible(view._repr_html_()).strip() == "┊ v"
    with pytest.raises(adcli.AdError, match="a picture needs matplotlib"):
        view.save(tmp_path / "p.svg")
    assert not list(tmp_path.iterdir())
    neither = in_characters("plot", {}, partial(lacking, "text"), (), lacking, "v against x")
    assert repr(neither) == "v against x\na picture needs matplotlib, which is not installed"


def test_a_notebook_shows_graphs():
    view = adcli.compile("v = x*sin(y)").draw(stage="forward")
    assert Reader(view._repr_html_()).described == [view.caption] and b"<svg" in view.drawn("svg")
    assert "graph at stage forward: " in view.caption


@pytest.mark.engine
def test_a_notebook_shows_plots_through_matplotlib(tmp_path):
    pytest.importorskip("matplotlib")
    view = adcli.compile("v = 1/x").plot(x=(-3, 3))
    assert Reader(view._repr_html_()).described == [view.caption]
    view.save(tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
