"""Loops that end early, with the steps that are taken as an input: which they are, and the text of what becomes of them."""
from __future__ import annotations

from adcli.lang.lower.frontend import parse
from adcli.lang.passes.steps_taken import LEAST_OF_NUMBERS, LEAST_STEPS, counted_steps
from adcli.lang.printing.printer import print_program
from row_tables import each_row

VECTORS = "input a(N)\nx(0, i) = a(i)\nfor t in 0:1000 until x(t + 1, 0) > 1 {{ x(t + 1, i) = x(t, i)*2 }}\n{}"


def test_the_text_of_the_steps_that_are_taken() -> None:
    text = "input a(N), u(T)\nx(0, i) = a(i)\nx(1, i) = 2*a(i)\nfor t in 1:T until e(t) > 1 " \
           "{ e(t) max=! x(t, i); x(t + 1, i) = x(t - 1, i)*u(t) }\ns +=! x(T, i) + x(3, i)*x(0, i)\noutput s"
    found = counted_steps(parse(text))
    assert found is not None
    assert print_program(found.program) == """input a(N), u(T), int32 steps
x(0, i) = a(i) where float(steps + 2, N) x
x(1, i) = 2 * a(i)
done = 0
for t in 1:steps + 1 {
    e_1(t) max=! x(t, i)
    e(t) = e_1(t) where 1 >= t
    e(t) = done(t) > 0.5 ? e(t - 1) : e_1(t) where t >= 2
    x(t + 1, i) = done(t) > 0.5 ? x(t, i) : t1 where t1 = x(t - 1, i) * u(t)
    done(t + 1) = done(t) > 0.5 ? 1 : e(t) > 1 ? 1 : 0
}
s +=! x(steps + 1, i) + x(min(steps + 1, 3), i) * x(0, i)
output s
"""
    counter = print_program(found.counter)
    assert "taken(t + 1) = done(t) > 0.5 ? taken(t) : t\n" in counter
    assert counter.endswith("output steps\n")


@each_row(("text", "cut"), [
    (VECTORS.format("s +=! x(1000, i); output s"), 1),
    (VECTORS.format("output x"), 0),                                         # all steps are a result
    (VECTORS.format("s +=! x(t, i); output s"), 0),                          # an index reads them
    (VECTORS.format("input int32 k; y(i) = x(k, i); output y"), 0),          # one that is not known
    (VECTORS.format("input int32 k(M); y(j, i) = x(k(j), i); output y"), 0),
    (VECTORS.format("for k in 0:9 { y(k, i) = x(1000, i)*k }; output y"), 1),
    (VECTORS.format("for k in 0:9 { y(k, i) = x(k, i)*k }; output y"), 0),
    (VECTORS.format("input b(N, N); y = solve(b, x(1000)); output y"), 1),
    (VECTORS.format("y(i) = x(1000, i); output y").replace("1000", str(LEAST_STEPS - 1)), 0),
    ("x(0) = a; for t in 0:{} until x(t + 1) > 1 {{ x(t + 1) = 2*x(t) }}; y = x({})".format(*[LEAST_OF_NUMBERS] * 2), 1),
    ("x(0) = a; for t in 0:{} until x(t + 1) > 1 {{ x(t + 1) = 2*x(t) }}; y = x({})".format(*[LEAST_OF_NUMBERS - 1] * 2), 0),
    ("x(0) = a; for t in 0:T until x(t + 1) > 1 { x(t + 1) = 2*x(t) }; y = x(T)", 1),
    ("x(T) = a; for t in 0:T down until x(t) > 1 { x(t) = 2*x(t + 1) }; y = x(0)", 0),
    ("x(0) = a; for t in 0:T until x(t + 1) > x(0) { x(t + 1) = 2*x(t) }; y = x(T)", 0),   # one that may not be there
    ("x(0) = a; for t in 0:T { x(t + 1) = 2*x(t) }; y = x(T)", 0),
    ("x(0) = a; for t in 0:T until x(t + 1) > 1 { x(t + 1) = 2*x(t) }\n"
     "z(0) = x(T); for t in 0:T until z(t + 1) > 9 { z(t + 1) = z(t) + x(T) }; y = z(T)", 2),
])
def test_which_loops_have_no_other_steps(text: str, cut: int) -> None:
    found = counted_steps(parse(text))
    assert len(found.most if found else ()) == cut
