"""Reads under conditions on places: what is known where they are done, and how far they bound the indices then."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from random import Random

import numpy as np
import pytest
from adcli.lang.evaluate import evaluate
from adcli.lang.ir.affine import Index, value
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes.pipeline import adjoint_program
from adcli.lang.printing.printer import print_program
from adcli.lang.sizes.condition_dnf import EVERYWHERE, UNTOLD
from adcli.lang.statements.index_conditions import GuardedCall, PlaceComparisons, Spans
from adcli.lang.tree.nodes import Node
from row_tables import each_row
from session_seed import drawn, half
from tensor_laws import NUMPY
from well_formed import check

PLACES = ("0", "1", "2", "N - 2", "N - 1", "N", "N/2")
COMPARED = ("<", "<=", ">", ">=", "==", "!=")


@each_row(("statement", "value"), [
    ("z(i) = i == 0 ? 7 : x(i - 1)", [7, 1, 2, 3]), ("z(i) = i != 0 ? x(i)*x(i - 1) : 7", [7, 2, 6]),
    ("z(i) = i == N - 1 ? 7 : x(i + 1)", [2, 3, 7]), ("z(i) = i <= N - 2 ? x(i + 1) : x(i)", [2, 3, 3]),
    ("z(i) = i == 0 or i == N - 1 ? 7 : x(i) + x(i - 1) + x(i + 1)", [7, 6, 7]),
    ("z(i) = i < N ? x(i) : 0", [1, 2, 3]), ("z(i) = i != 1 ? x(i) : 7", [1, 7, 3]),
    ("z(i) = (i > 0 ? x(i - 1) : 0) - 2*x(i) + (i < N - 1 ? x(i + 1) : 0)", [0, 0, -4]),
    ("z(i) = i > 0 && s > 0 ? x(i - 1) : x(i)", [1, 1, 2]), ("z(i) = not (i > 0 and s > 0) ? x(i) : x(i - 1)", [1, 1, 2]),
    ("z(i) = s < 0 || i == 0 ? x(i) : x(i - 1)", [1, 1, 2]), ("z(i) = s > 0 ? (i > 0 ? x(i - 1) : 0) : x(i)", [0, 1, 2]),
    ("z(i) +=! (i + k >= 1 && i + k <= N ? x(i + k - 1) : 0)*w(k) where i in 0:N", [201, 312, 23]),
    ("z(i) +=! x(i + k - 1)*w(k) where i in 0:N, i + k >= 1, i + k <= N", [201, 312, 23]),
    ("z(i) +=! x(i - k)*w(k) where k <= i, i in 0:N", [10, 21, 132]),
    ("z(i) +=! x(j)*x(i - j) where j >= 0, j <= i, i in 0:N", [1, 4, 10]),
    ("z(k) +=! x(i)*x(i + k) where k in 0:N, i + k < N", [14, 8, 3]),
    ("z(i) +=! x(i + 2*j) where i in 0:2, i + 2*j < N", [4, 2]),
    ("z(i) +=! x(i - k)*w(k) where i >= k, i - k < N", [10, 21, 132, 203, 300]),
    ("z +=! i > 0 ? x(i)*x(i - 1) : 100", 108), ("z +=! i < N - 1 ? x(i)*x(i + 1) : 100", 108),
])
def test_a_condition_keeps_a_read_inside_that_does_not_bound_its_indices_then(statement: str, value: object) -> None:
    """Every read is done where its conditions hold, so the others say where an index ends."""
    inputs = {"x": [1.0, 2.0, 3.0], "w": [10.0, 1.0, 100.0], "s": 2.0}
    program = check(parse(f"input x(N), w(K), s\n{statement}"))
    np.testing.assert_array_equal(evaluate(program, {p.name: inputs[p.name] for p in program.params}, NUMPY)["z"], value)
    again = parse(print_program(adjoint_program(program)))
    assert print_program(again) == print_program(adjoint_program(program))


def condition(random: Random, depth: int) -> str:
    """A random condition on i, on the value s too, as Python has it."""
    kind = random.choice(("and", "or", "not", "")) if depth else ""
    if kind == "not":
        return f"not ({condition(random, depth - 1)})"
    if kind:
        return f"({condition(random, depth - 1)}) {kind} ({condition(random, depth - 1)})"
    return "s > 0" if random.random() < 0.1 else f"i {random.choice(COMPARED)} {random.choice(PLACES)}"


@pytest.mark.parametrize(("condition", "value"), [
    ("(i >= 1 ? 1 : 0) < 2", None),
    ("i >= 1 and (c and d ? 1 : 0) < 2", [7, 1, 2]),
    ("(c and d ? 1 : 0) < 2 and i >= 1", [7, 1, 2]),
    ("not ((i >= 1 and c ? 1 : 0) >= 2)", None),
    ("(i >= 1 ? 1 : 0) > 0", [7, 1, 2]),
])
def test_a_condition_in_what_a_condition_compares_is_no_part_of_it(condition: str, value: object) -> None:
    """What it says of places is not known ahead: the read is looked at where the condition holds."""
    program = parse(f"input x(N)\ny(i) = {condition} ? x(i - 1) : 7 where c = i < 2, d = i > 0, i in 0:N\n")
    check(program)
    at = {"x": np.array([1.0, 2.0, 3.0])}
    if value is None:
        with pytest.raises(AdError, match="= -1 is out of range for dimension 0 of 'x'"):
            evaluate(program, at, NUMPY)
        return
    assert evaluate(program, at, NUMPY)["y"].tolist() == value
    adjoint = parse(print_program(adjoint_program(program)))
    assert evaluate(adjoint, at | {"d_dy": np.ones(np.shape(value))}, NUMPY)["y"].tolist() == value


def test_what_is_known_of_a_read_holds_where_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested choices: wherever an arm is read, what is known of its read holds, and nowhere else if places alone choose."""
    random, kept, seen = drawn("arms"), PlaceComparisons.guarded, set[bool]()
    known: list[tuple[Index, dict[Spans, GuardedCall]]] = []

    def watched(self: PlaceComparisons, roots: Iterable[Node]) -> dict[Spans, GuardedCall]:
        known.append((self.b.indices["i"], kept(self, roots)))
        return known[-1][1]
    monkeypatch.setattr(PlaceComparisons, "guarded", watched)
    for _ in range(80):
        first, second = [condition(random, depth) for depth in random.choice(((1, 1), (2, 0)))]   # fewer pieces than can be
        source = f"input x(M), s, g(N)\nz(i) = {first} ? x(i + 10) : {second} ? x(i + 20) : x(i + 30) where i in 0:N"
        known.clear()
        parse(source)
        i, found = known[0]
        arms = {source[slice(*spans[0])]: call.where for spans, call in found.items() if spans[0]}
        places_alone = "s" not in first + second
        for at, n, s in product(range(9), range(1, 5), (-1, 1)):
            done = "i + 10" if told(first, at, n, s) else "i + 20" if told(second, at, n, s) else "i + 30"
            for arm in ("i + 10", "i + 20", "i + 30"):
                inside = any(all(g == UNTOLD or value(g, {i: at, "N": n}) >= 0 for g in piece)
                             for piece in arms.get(arm, EVERYWHERE))
                assert inside if arm == done else not (inside and places_alone), (source, arm, at, n, s)
                seen.add(inside)
    assert seen == {True, False}


def told(condition: str, i: int, n: int, s: int) -> bool:
    return bool(eval(condition, {"i": i, "N": n, "s": s}))


def done(source: str, n: int) -> list[int]:
    """The places that a program writes, for a size."""
    ops = [e.op for e in parse(source).equations if isinstance(e.op, Comprehension)]
    return sorted({i for op in ops for r in op.ranges for i in range(value(r.low, {"N": n}), value(r.high, {"N": n}))
                   if all(value(g, {r.index: i, "N": n}) >= 0 for g in op.guards)})


@pytest.mark.parametrize("compared", half(list(COMPARED)))
def test_an_index_runs_over_all_places_whose_reads_are_inside(compared: str) -> None:
    """Two reads, of which the place says which is done: where the places with that read inside are one range for all sizes, from
    0 to one that the size moves, that is the range. (Elements below it would be left out.)"""
    count = 0
    for limit, yes, no in product(("0", "1", "N - 2", "N - 1"), range(-2, 3), range(-2, 3)):
        rule = f"i {compared} {limit}"
        inside = {n: [i for i in range(3*n + 4) if 0 <= i + (yes if told(rule, i, n, 0) else no) < n] for n in range(7)}
        if 0 not in inside[6] or any(places != [*range(n - 6 + inside[6][-1] + 1)] for n, places in inside.items()):
            continue
        source = f"input x(N)\nz(i) = {rule} ? x(i + {yes}) : x(i + {no})".replace("+ -", "- ")
        assert {n: done(source, n) for n in inside} == inside, source
        count += 1
    assert count >= 10
