"""Inputs declared in simplex or in ordered: notes on values, points that are drawn, and what refuses them."""
from __future__ import annotations

import numpy as np
import pytest
from adcli.lang.lower.frontend import parse
from command import adcli

from adcli.input.constraints import HOLDS
from adcli.input.sampled_tensors import draw

PAIR = "input p(K) in simplex, c(D, L) in ordered, F(M, M) in cholesky_factor_corr; " \
    "a +=! p(k); b +=! c(i, j); e +=! F(i, j); v = a*b*e; output v"


@pytest.mark.parametrize("p, c, said", [
    ("[0.25,0.75]", "[[1,2],[3,4]]", ""), ("[0,1]", "[[-1],[2]]", ""),
    ("[1]", "[[1]]", "F is not in cholesky_factor_corr, where rows have length 1"),
    ("[0.25,0.5]", "[[1,2]]", "p is not in simplex, where no element is negative and their sum is 1"),
    ("[-0.5,1.5]", "[[1,2]]", "p is not in simplex"), ("[nan,1]", "[[1,2]]", "p is not in simplex"),
    ("[1]", "[[1,2],[3,3]]", "c(1, :) is not in ordered, where each element is larger than the one before")])
def test_values_that_break_a_constraint_are_told(p: str, c: str, said: str) -> None:
    factor = "[[1,0],[0.6,0.7]]" if said.startswith("F") else "[[1,0],[0.6,0.8]]"
    for _ in range(2):   # computed anew, and with the code from the cache
        found = adcli("grad", "-e", PAIR, "--at", f"p={p},c={c},F={factor}")
        assert found.code == 0 and (said in found.err if said else not found.err)


def test_points_are_drawn_within_constraints() -> None:
    points = draw(parse(PAIR), 1)
    for _ in range(20):
        at = next(points)
        assert HOLDS["simplex"](at["p"]) and HOLDS["ordered"](at["c"]).all() and HOLDS["cholesky_factor_corr"](at["F"])
        assert np.shape(at["p"]) and np.ndim(at["c"]) == 2


@pytest.mark.parametrize("words, help", [
    (("minimize", "-e", PAIR, "--wrt", "p", "--at", "p=[0.5,0.5],c=[[1,2]],F=[[1]]"), "subject to sum(p) == 1"),
    (("fit", "-e", PAIR, "--params", "c=[[1,2]]", "--y", "v", "--at", "p=[1],F=[[1]]", "--data", "-"), "c(k) = first + s(k)")])
def test_what_moves_inputs_within_ranges_alone_refuses_a_constraint(words: tuple[str, ...], help: str) -> None:
    found = adcli(*words, stdin=b"v\n1\n2\n")
    assert found.code == 2 and "and only Function.logdensity keeps it so" in found.err and help in found.err
