"""The zero rule for tensors: an exact zero in an element of a seed drops what it would have caused, 0·inf included."""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from adcli.lang.derive.derivatives import hvp
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Equation, Program, Var
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.comprehension import Comprehension
from adcli.lang.passes import zero_seeds as seeds
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.zero_seeds import drop_zero_seeds
from adcli.lang.simplify.simplify import simplify
from comprehension_samples import Sample, Scalar, stated, written
from hypothesis import given
from laws import check_modes_agree, check_zero_seeds
from planted_faults import caught
from random_comprehensions import tensor_samples
from random_programs import Sample as Written
from random_programs import choices, extreme, law, mixed_points
from tensor_laws import NUMPY, close, direction
from well_formed import check

INF = np.inf


def columns(program: Program, values: dict[str, Any], seed: str, result: str) -> np.ndarray:
    """The matrix that a derivative program gives for one unit vector after the other."""
    program = check(simplify(drop_zero_seeds(program)))
    n = len(values["A"])
    return np.array([evaluate(program, {**values, seed: w}, NUMPY)[result] for w in np.eye(n)])


def roots(*between: Any, results: str = "z") -> Sample:
    return written({"A": ("N", [0.0, 4.0, 1.0])}, stated("y(i)", "=", "A(i)", ("sqrt", 0), "i:N", "N"), *between, results=results)


@pytest.mark.parametrize("between", [
    (stated("z(i)", "=", "y(i)", 0, "i:N", "N"),),
    (stated("u(i)", "=", "y(i)", ("mul", 2.0, 0), "i:N", "N"), stated("z(i)", "=", "u(i)", ("mul", 0.5, 0), "i:N", "N")),
    (stated("u(i)", "=", "y(i)", 0, "i:N", "N"), stated("z(i)", "+", "y(i)", 0, "i:0", "N", onto="u")),
    (stated("z(i)", "+", "y(i); y(i)", ("add", ("mul", 0.25, 0), ("mul", 0.75, 1)), "i:N", "N"),),
])
def test_columns_of_a_jacobian_at_a_singular_point(between: tuple[Any, ...]) -> None:
    made = roots(*between)
    want = np.diag([INF, .25, .5])
    close(columns(adjoints(made.program()), made.values, "d_dz", "d_dA"), want, 0, "rows")
    close(columns(tangents(made.program()), made.values, "dA", "dz"), want, 0, "columns")


def test_what_assignment_overwrites_does_not_exist() -> None:
    made = roots(stated("z(i)", "=", "", 1.0, "i:1", "N", onto="y"))
    close(columns(adjoints(made.program()), made.values, "d_dz", "d_dA"), np.diag([0, .25, .5]), 0, "rows")


def test_an_arm_that_is_not_taken_in_a_later_line() -> None:
    """y = sqrt(A); z = 0 < A ? y : A: the adjoint of y exists only where the arm is taken."""
    made = roots(stated("z(i)", "=", "A(i); y(i)", ("where", 0.0, 0, 1, 0), "i:N", "N"))
    close(columns(adjoints(made.program()), made.values, "d_dz", "d_dA"), np.diag([1, .25, .5]), 0, "rows")
    close(columns(tangents(made.program()), made.values, "dA", "dz"), np.diag([1, .25, .5]), 0, "columns")


def test_a_sum_exists_where_one_of_its_terms_does() -> None:
    made = roots(stated("s", "+", "y(i)", 0, "i:N"), Scalar("v", ("mul", 0, 1), ("s", "s")), results="v")
    program = simplify(drop_zero_seeds(adjoints(made.program())))
    assert evaluate(program, {**made.values, "d_dv": 1.0}, NUMPY)["d_dA"].tolist() == [INF, 1.5, 3.0]
    assert evaluate(program, {**made.values, "d_dv": 0.0}, NUMPY)["d_dA"].tolist() == [0, 0, 0]


def test_hessian_vector_products_drop_zeros() -> None:
    made = roots(stated("s", "+", "y(i)", ("mul", 0, ("mul", 0, 0)), "i:N"), results="s")
    program = simplify(drop_zero_seeds(hvp(made.program())))
    got = evaluate(program, {**made.values, "dA": np.array([0.0, 1.0, 0.0])}, NUMPY)
    assert np.isfinite(got["hvp_A"][1:]).all() and got["hvp_A"][1] == pytest.approx(.75 / 2)


def test_nothing_is_added_where_nothing_can_be_infinite() -> None:
    made = written({"A": ("M, N", np.ones((2, 3))), "B": ("N", np.ones(3))},
                   stated("C(i)", "+", "A(i, j); B(j)", ("mul", 0, 1), "i:M j:N", "M"), results="C")
    program = simplify(adjoints(made.program()))
    again = simplify(drop_zero_seeds(program))
    assert len(again.equations) == len(program.equations)
    assert [len(e.op.sources) for e in again.equations if isinstance(e.op, Comprehension)] == [2, 2, 2]


@law(130)
@given(tensor_samples())
def test_where_all_is_finite_nothing_changes(made: Sample) -> None:
    r = random.Random(7)
    for derive, start, names in ((adjoints, "d_d", made.results), (tangents, "d", made.reals)):
        program = simplify(derive(made.program()))
        shapes = {n: made.extents(n) if n in made.shapes else () for n in names}
        seeds = {f"{start}{n}": thinned(r, direction(r, shape)) for n, shape in shapes.items()}
        want = evaluate(program, {**made.values, **seeds}, NUMPY)
        got = evaluate(check(simplify(drop_zero_seeds(program))), {**made.values, **seeds}, NUMPY)
        for name in want:
            close(got[name], want[name], 1e-14, name)


def thinned(r: random.Random, x: Any) -> Any:
    """Some elements 0."""
    if not np.shape(x):
        return 0.0 if r.randrange(2) else x
    return x * np.array([r.randrange(2) for _ in range(x.size)]).reshape(x.shape)


# ---------------------------------------------------------------- scalars

# A zero seed, and a seed that the arm taken does not see, are both no contribution to what comes behind.
BEHIND = [parse("s = c > 0 ? a : x\nv = s*log(y)"), parse("s = a*round(x)\nv = s*log(y)\nc = 0")]
NAN_BEHIND = [{"c": 1.0, "a": 2.0, "x": 0.3, "y": -1.0}]


@pytest.mark.parametrize("program", BEHIND)
def test_a_seed_let_in_through_the_arm_not_taken(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    check_zero_seeds(program, NAN_BEHIND)
    check_modes_agree(program, NAN_BEHIND)

    def any_arm(b: Any, e: Equation, present: Any) -> Var:
        return next(present[a] for a in reversed(e.args) if a in present)
    monkeypatch.setattr(seeds, "_chosen", any_arm)
    with caught():
        check_zero_seeds(program, NAN_BEHIND)


@law(130)
@given(extreme, choices)
def test_a_zero_seed_drops_its_contributions(written: Written, r: random.Random) -> None:
    program = parse(written.text)
    check_zero_seeds(program, mixed_points(r, program))
