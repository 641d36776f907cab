"""What is said of options in the shell is said of arguments in Python, and what to write does what it says."""
from __future__ import annotations

import pickle

import pytest
from adcli.lang.ir.errors import FRONT, worded

import adcli
from adcli.api.words import in_python

TWO = adcli.compile("output v, w; v = x*y; w = x")
SUM = adcli.compile("input x(N); v +=! x(i)**2")


@pytest.mark.parametrize("message, python", [
    ("name the unknowns: ⟦--wrt x⟧", "name the unknowns: wrt='x'"),
    ("write ⟦--at x=-3:3,A=[[1,2],[3,4]],b=@b.npy⟧", "write x='-3:3', A='[[1,2],[3,4]]', b='@b.npy'"),
    ("give a spread: ⟦--at 'x=[1,2]±0.1'⟧; or leave it", "give a spread: x='[1,2]±0.1'; or leave it"),
    ("⟦--at⟧ gives several points", "the point gives several points"),
    ("choose outputs with ⟦--of⟧, or fewer inputs with ⟦--wrt⟧", "choose outputs with of=, or fewer inputs with wrt"),
    ("try ⟦--second-order⟧ or ⟦--monte-carlo 100000⟧", "try second_order=True or monte_carlo=100000"),
    ("⟦--second-order⟧: x and y are correlated", "second_order: x and y are correlated"),
    ("write ⟦--covariance x=@C.npy⟧", "write covariance={'x': C}"),
    ("write ⟦--equation 'px == 0.5'⟧", "write equations='px == 0.5'"),
    ("--format json and ⟦--of⟧", "--format json and of=")])
def test_each_front_words_options_for_itself(message, python):
    assert worded(message) == message.replace("⟦", "").replace("⟧", "")
    before = FRONT.set(in_python)
    assert worded(message) == python
    FRONT.reset(before)


@pytest.mark.parametrize("f, call, told, mended", [
    (TWO, lambda f: f.solve(x=1.0, y=2.0, of="v"),
     "1 equation for 2 unknowns, x, y\nhelp: name the unknowns: wrt='x'; the others are then given by the point",
     lambda f: f.solve(x=1.0, y=2.0, of="v", wrt="x")),
    (TWO, lambda f: f.hessian(), "a Hessian needs one output, and there are 2\nhelp: choose one: of='v'",
     lambda f: f.hessian(of="v")),
    (TWO, lambda f: f.propagate(x=(1.0, 0.1), y=2.0, plot=True),
     "plot draws one output\nhelp: choose one: of='v'", lambda f: f.propagate(x=(1.0, 0.1), y=2.0, plot=True, of="v")),
    (SUM, lambda f: f.propagate(x=[]),
     "no uncertainties\nhelp: give an input a spread: x=([1.0, 2.0], 0.1), or covariance={'x': C}",
     lambda f: f.propagate(x=([1.0, 2.0], 0.1))),
    (SUM, lambda f: f.propagate(x=[1.0, 2.0], covariance={"q": [[1.0, 0.0], [0.0, 1.0]]}),
     "covariance of q: no input 'q' is a tensor\nhelp: write covariance={'x': C}",
     lambda f: f.propagate(x=[1.0, 2.0], covariance={"x": [[1.0, 0.0], [0.0, 1.0]]}))])
def test_what_to_write_works(f, call, told, mended):
    with pytest.raises(adcli.AdError) as caught:
        call(f)
    assert str(caught.value) == f"error: {told}" == str(pickle.loads(pickle.dumps(caught.value)))
    mended(f)


def test_remarks_have_the_words_of_python():
    assert TWO.draw(x=1.0, y=2.0).notes == (
        "note: adjoints need weights of the outputs: cotangent='v=1,w=1', or one output: of='v'",)
    assert TWO.only("v").propagate(x=(0.0, 0.1), y=0.0).notes[0].endswith("try second_order=True or monte_carlo=100000")
