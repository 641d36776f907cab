"""The menu of derivatives: Jacobian, Hessian, products, Taylor coefficients, chosen partials; and how they are computed."""
import math

import pytest
from adcli.lang.derive import derivatives
from adcli.lang.derive.derivatives import gradient, hessian, hvp, jacobian
from adcli.lang.derive.sweep_plans import Entries, SweepPlan, carried_out, cheapest, needed_for, plans, priced
from adcli.lang.ir import Lit
from adcli.lang.ir.build import Builder
from adcli.lang.lower.frontend import parse
from adcli.lang.simplify.simplify import simplify
from back_ends import BACK_ENDS, values
from random_programs import point, sample
from row_tables import each_row
from session_seed import drawn

import adcli as package


def rosenbrock(n: int) -> str:
    return "v = " + " + ".join(f"100*(x{i + 1} - x{i}**2)**2 + (1 - x{i})**2" for i in range(1, n)) + "\n"


def arrow(n: int) -> str:
    """A Jacobian with one dense row, one dense column and a diagonal, where the dense ones go through long chains."""
    chain = "x0"
    rows = []
    for i in range(1, n):
        chain = f"y{i}"
        rows += [f"y{i} = sin({f'y{i - 1}' if i > 1 else 'x0'})", f"r{i} = sin(x{i})*{chain}"]
    total = " + ".join(f"x{i}**2" for i in range(n))
    return "\n".join([*rows, f"r0 = sin(cos(exp(sin(cos(exp(0.001*({total})))))))"]) + "\n"


AT = {f"x{i}": 0.3 + 0.1 * i for i in range(40)}


# ---------------------------------------------------------------- the entries are the same, however they are computed

@each_row("text", [rosenbrock(12), arrow(14), "u = x1*x2\nw = exp(x2)/x3\nq = x3**2\n",
                                  "a = x1 + x2\nb = x1*x2\n"])
@each_row("zeros", [True, False])
def test_every_plan_gives_the_same_jacobian(text, zeros):
    program = parse(text)
    outputs = [r.name for r in program.results]
    wrt = [p.name for p in program.params]
    plain = values(gradient(program, mode="reverse"), [AT], "reference")[0]
    for plan in plans(program, Entries.of(program, outputs, wrt)):
        equations, found = carried_out(program, plan)
        got = evaluated(program, equations, found)
        assert {(v, x): plain[f"d{v}_d{x}"] for v, x in found} == pytest.approx(got, rel=1e-14)
    made = jacobian(program, zeros=zeros)
    got = values(made, [AT], "native")[0]
    assert set(got) - {r for r in got if not zeros} <= set(plain)
    assert all(plain[name] == pytest.approx(x, rel=1e-13) for name, x in got.items())
    assert all(plain[name] == 0 for name in set(plain) - set(got))


def evaluated(program, equations, found):
    from adcli.lang.ir import Program, Result
    results = tuple(Result(f"e{i}", atom) for i, atom in enumerate(found.values()))
    got = values(Program(program.params, tuple(equations), results), [AT], "reference")[0]
    return dict(zip(found, got.values(), strict=True))


@each_row("mode", ["auto", "forward", "reverse"])
@each_row("back_end", BACK_ENDS)
@each_row("text", [rosenbrock(12), "v = sin(x1*x2)*exp(x3) + x4", "v = x1*x2*x3*x4/(x1 + x2)", "v = x1\n"])
def test_a_hessian_is_the_gradient_of_the_gradient(text, back_end, mode):
    program = parse(text)
    plain = values(gradient(gradient(program, mode="forward"), mode="reverse"), [AT], back_end)[0]
    for zeros in (True, False):
        got = values(hessian(program, mode=mode, zeros=zeros), [AT], back_end)[0]
        assert all(plain[name] == pytest.approx(x, rel=1e-12, abs=1e-13) for name, x in got.items())
        assert all(plain[name] == 0 for name in set(plain) - set(got))
        assert set(got) == set(plain) or not zeros


@each_row("seed", range(40))
def test_sparse_plans_on_random_programs(seed):
    r = drawn("test_sparse_plans_on_random_programs", seed)
    program = parse(sample(r).text)
    wrt, at = [p.name for p in program.params], point(r, program)
    whole = gradient(program, wrt, mode="reverse")
    plain = values(whole, [at], "reference")[0]
    overflown = {r.name for r in whole.results if not math.isfinite(plain[r.of or r.name])}
    for mode in ("auto", "forward", "reverse"):
        got = values(jacobian(program, wrt, mode=mode, zeros=False), [at], "reference")[0]
        near_the_end = {name for name, value in got.items() if abs(value) > 1e290}   # other orders of factors overflow there
        for name in got.keys() - overflown - near_the_end:
            assert plain[name] == pytest.approx(got[name], rel=1e-9, nan_ok=True), name
        assert all(plain[name] == 0 for name in set(plain) - set(got))


def test_a_colour_that_mixes_columns_is_noticed():
    """Two columns that meet in a row must not share a sweep: the comparison above would see it."""
    program = parse("u = x1*x2\n")
    (right, *_), wrong_groups = plans(program, Entries.of(program, ["u"], ["x1", "x2"])), (("x1", "x2"),)
    wrong = SweepPlan(wrong_groups, (), right.reads)
    assert evaluated(program, *carried_out(program, wrong)) != evaluated(program, *carried_out(program, right))


@pytest.mark.no_cover
def test_the_hessian_of_rosenbrocks_function_of_300_variables():
    steps: list[derivatives.DerivationStep] = []
    made = hessian(parse(rosenbrock(300)), steps=steps)
    assert [r.wrt[0] for r in made.results if len(r.wrt) == 1] == [p.name for p in made.params]
    assert steps[-1].entries == 898
    assert steps[-1].taken.sweeps == 3
    assert len([r for r in made.results if len(r.wrt) == 2]) == 599


def test_long_rows_and_columns_are_taken_by_different_modes():
    program = parse(arrow(30))
    steps: list[derivatives.DerivationStep] = []
    jacobian(program, steps=steps)
    (forward, reverse, mixed) = steps[0].plans
    assert (forward.sweeps, reverse.sweeps) == (30, 30)
    assert mixed.mode == "mixed" and mixed.sweeps <= 3
    assert steps[0].taken is mixed and mixed.cost < min(forward.cost, reverse.cost)


def test_the_cost_is_counted_on_the_program():
    """The estimate and what is really added are of a kind: within about a factor of two where nothing is shared."""
    for text in (rosenbrock(20), "v = " + " * ".join(f"sin(x{i})" for i in range(20)), arrow(20)):
        steps: list[derivatives.DerivationStep] = []
        jacobian(parse(text), steps=steps)
        added = steps[0].after - steps[0].before
        assert 0.5 <= priced(steps[0].needed, steps[0].taken).cost / added <= 2.1


@each_row("seed", range(100))
def test_one_sweep_back_is_never_dearer_than_others(seed):
    """So nothing else is counted where one is enough, and what is taken is what counting all of them takes."""
    whole = simplify(parse(sample(drawn("test_one_sweep_back_is_never_dearer_than_others", seed)).text))
    wrt = [p.name for p in whole.params]
    for r in whole.results:
        program = needed_for(whole, {r.name})
        found = plans(program, Entries.of(program, [r.name], wrt))
        taken = priced(program, cheapest(program, found))
        assert taken == min([priced(program, p) for p in found], key=lambda p: (p.cost, p.sweeps))


def test_auto_takes_forward_for_tall_and_reverse_for_wide():
    for text, mode in (("".join(f"y{i} = sin({i}*x)\n" for i in range(1, 9)), "forward"), ("v = a*b*c*d*e*f\n", "reverse")):
        steps: list[derivatives.DerivationStep] = []
        jacobian(parse(text), steps=steps)
        assert steps[0].taken.mode == mode


# ---------------------------------------------------------------- chosen partials and products

def test_chosen_partial_derivatives():
    program = parse("v = x**3 * y**2\nw = x*y\n")
    got = values(gradient(program, of=["v:x,x,y", "v:y", "w:y,x"]), [{"x": 2.0, "y": 3.0}], "native")[0]
    assert got == {"v": 72.0, "w": 6.0, "d3v_dx_dx_dy": 72.0, "dv_dy": 48.0, "d2w_dx_dy": 1.0}


def test_a_chosen_partial_of_high_order_costs_no_other():
    """Of a function of 30 inputs, 27,000 third derivatives are not computed for one."""
    made = gradient(parse("v = " + " * ".join(f"sin(x{i})" for i in range(30)) + "\n"), of=["v:x0,x1,x2"])
    assert len(made.equations) < 500
    assert [r.name for r in made.results] == ["v", "d3v_dx0_dx1_dx2"]


def test_a_hessian_vector_product_is_the_product_with_the_hessian():
    program = parse("v = sin(x1*x2)*exp(x3) + x4**3\n")
    whole = values(hessian(program), [AT], "native")[0]
    direction = {"x1": 0.5, "x2": -1.0, "x3": 2.0, "x4": 0.25}
    got = values(hvp(program), [AT | {f"d{x}": d for x, d in direction.items()}], "native")[0]
    for x in direction:
        entries = [whole[f"d2v_d{min(x, y)}_d{max(x, y)}"] * d for y, d in direction.items()]
        assert got[f"hvp_{x}"] == pytest.approx(sum(entries), rel=1e-13)
    assert got["v"] == whole["v"]


def test_products_are_programs_that_can_be_differentiated_again():
    f = package.compile("v = x**3*y")
    assert f.hvp().grad(of="hvp_x", wrt="x")(x=2.0, y=3.0, dx=1.0, dy=0.0)["dhvp_x_dx"] == 18.0
    again = f.grad().hvp(of="dv_dx")(x=2.0, y=3.0, dx=1.0, dy=0.0)   # of an output that is a derivative itself
    assert (again["hvp_x"], again["hvp_y"]) == tuple(f.grad(order=3)(x=2.0, y=3.0)[f"d3v_dx_dx_d{x}"] for x in "xy")
    assert f.hessian().grad(of="d2v_dx_dx", wrt="x")(x=2.0, y=3.0)["d3v_dx_dx_dx"] == 18.0
    assert f.taylor(2).grad(of="v_2", wrt="x")(x=2.0, y=3.0, dx=1.0, dy=0.0)["dv_2_dx"] == 9.0


def test_structural_zeros_are_constants():
    made = jacobian(parse("u = x\nw = y\n"), zeros=True)
    assert isinstance(made.result("du_dy").atom, Lit)
    assert Builder().equations == [] and [r.name for r in jacobian(parse("u = x\nw = y\n"), zeros=False).results] == [
        "u", "w", "du_dx", "dw_dy"]
