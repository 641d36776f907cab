"""Sums of results: the same bits however rows are ordered, cut, grouped and merged, and those of fractions."""
import json
import math
from array import array
from fractions import Fraction
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from adcli.lang.syntax.scan import decode
from session_seed import drawn

from adcli.rows import sum_work
from adcli.rows.sum_work import ArraySums, SumWork, quantities
from adcli.rows.sums import Group, Sums
from adcli.task.request import Request
from adcli.task.tasks import Task, made

RESIDUALS = "r = x*y - 1\ns = exp(x/700)\n"


@cache
def task(verb: str, text: str) -> Task:
    return made(Request(verb, decode(text.encode(), "-e")), None)


def work(verb: str, text: str, weights: str | None = None, gauss_newton: bool = False) -> SumWork:
    found = task(verb, text)
    return SumWork(found.kernel, found.signature, {}, quantities(found.signature, gauss_newton, weights), keep=False)


def wild(random: Random, rows: int) -> list[float]:
    """Numbers of all sizes, every third one the opposite of the one before, and now and then one that is not finite."""
    found = [math.ldexp(random.uniform(-1, 1), random.randint(-1080, 1024)) for _ in range(rows)]
    for i in range(1, rows, 3):
        found[i] = -found[i - 1]
    if random.random() < 0.3:
        found[random.randrange(rows)] = random.choice((math.nan, math.inf, -math.inf))
    return found


def nearest(x: Fraction) -> float:
    """The double next to a fraction."""
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def by_fractions(values: list[float], weights: list[float] | None = None) -> float:
    """The sum of the products, rounded once."""
    special = sum(x for x in values if not math.isfinite(x))
    if special:
        return special
    return nearest(sum((Fraction(x) * Fraction(w) for x, w in zip(values, weights or [1.0] * len(values), strict=True)),
                       Fraction(0)))


def only(sums: Sums) -> Group:
    (_, found), = sums.items()
    return found


def same(a: Any, b: Any) -> bool:
    return list(map(repr, map(float, a))) == list(map(repr, map(float, b)))


@pytest.mark.parametrize("case", range(6))
def test_no_order_cut_or_merge_changes_a_bit(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permuted, cut anywhere, merged in any order and association, packed on the way: one state, and the fractions' double."""
    random = drawn("sums", case)
    values = wild(random, random.randint(1, 300))
    weights = [abs(x) if math.isfinite(x) else 1.0 for x in wild(random, len(values))]
    one = work("eval", "v = x", "w")
    monkeypatch.setattr(sum_work, "CHUNK", random.choice((16, 64, sum_work.CHUNK)))
    total = one.add({"x": array("d", values)}, len(values), weights=array("d", weights))
    assert same(only(total).values(), [by_fractions(weights), by_fractions(values, weights)])
    rows = list(zip(values, weights, strict=True))
    random.shuffle(rows)
    ends = sorted({0, len(rows), *(random.randrange(len(rows)) for _ in range(5))})
    states = [one.add({"x": np.array([v for v, _ in rows[a:b]])}, b - a, weights=np.array([w for _, w in rows[a:b]]))
              for a, b in pairwise(ends)]
    while len(states) > 1:
        i, j = random.sample(range(len(states)), 2)
        states[i].merge(Sums.unpacked(json.loads(json.dumps(states[j].packed()))))
        del states[j]
    assert [state.packed() for state in states] == [total.packed()]


@pytest.mark.parametrize("weights", [None, "weights"])
def test_products_for_gauss_and_newton(weights: str | None) -> None:
    """Exact sums of the doubles' products, weighted or not, against fractions of the same doubles."""
    random = drawn("gauss-newton", weights)
    columns = {name: [random.uniform(-9, 9) for _ in range(100)] for name in "xyw"}
    one = work("grad", RESIDUALS, weights, gauss_newton=True)
    each = [only(work("grad", RESIDUALS).add({n: array("d", [columns[n][i]]) for n in "xy"}, 1)).values() for i in range(100)]
    table = [dict(zip((c.name for c in one.signature.results), row, strict=True)) for row in each]
    found = one.add({n: array("d", columns[n]) for n in "xy"}, 100,
                            weights=array("d", columns["w"]) if weights else None)
    w = list(map(Fraction, columns["w"])) if weights else [Fraction(1)] * 100

    def sum_of(*pairs: tuple[str, str]) -> float:
        return nearest(sum(k * Fraction(t[a]) * Fraction(t[b]) for k, t in zip(w, table, strict=True) for a, b in pairs))

    assert dict(zip(found.names, only(found).values(), strict=True)) | {"r": 0, "s": 0} == {
        **({"weights": nearest(sum(w))} if weights else {}), "r": 0, "s": 0,
        **{name: nearest(sum(k * Fraction(t[name]) for k, t in zip(w, table, strict=True)))
           for name in ("dr_dx", "dr_dy", "ds_dx", "ds_dy")},
        "rtr": sum_of(("r", "r"), ("s", "s")), "jtr_x": sum_of(("dr_dx", "r"), ("ds_dx", "s")),
        "jtr_y": sum_of(("dr_dy", "r"), ("ds_dy", "s")), "jtj_x_x": sum_of(("dr_dx", "dr_dx"), ("ds_dx", "ds_dx")),
        "jtj_x_y": sum_of(("dr_dx", "dr_dy"), ("ds_dx", "ds_dy")), "jtj_y_y": sum_of(("dr_dy", "dr_dy"), ("ds_dy", "ds_dy"))}


def test_names_of_products_are_free() -> None:
    found = quantities(task("grad", "jtj_x_x = x\nrtr = x*y").signature, gauss_newton=True, weights="rtr_1")
    assert [q.name for q in found][-6:] == ["rtr_2", "jtr_x", "jtr_y", "jtj_x_x_1", "jtj_x_y", "jtj_y_y"]
    assert all(len(set(names)) == len(names) for names in [[q.name for q in found]])


def test_constants_and_a_program_without_columns() -> None:
    found = task("eval", "v = k\n")
    one = SumWork(found.kernel, found.signature, {"k": 0.1}, quantities(found.signature), keep=False)
    assert only(one.add({}, 70_001)).values() == [nearest(Fraction(0.1) * 70_001)]


@pytest.mark.parametrize("weights", [None, "w"])
def test_arrays_are_summed_element_by_element(weights: str | None) -> None:
    random = drawn("arrays", weights)
    rows = [(random.gauss(0, 1e9), np.array([wild(random, 6)]).reshape(2, 3), random.random()) for _ in range(20)]
    total = ArraySums(["loss", "slope"], weights, keep=False)
    for loss, slope, w in rows:
        total.add([loss, slope], 0, weight=w if weights else None)
    w = [r[2] for r in rows] if weights else [1.0] * 20
    found = total.sums()
    assert found.names == [*(["w"] if weights else []), "loss", *["slope"] * 6]
    assert found.rows == 20
    want = [by_fractions([r[0] for r in rows], w), *(by_fractions([float(r[1].flat[k]) for r in rows], w) for k in range(6))]
    assert same(only(found).values()[-7:], want)

