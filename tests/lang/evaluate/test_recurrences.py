"""What loops mean, in each arithmetic: the same in plain Python."""
from __future__ import annotations

import mpmath
import numpy as np
from adcli.lang.evaluate import FLOAT, evaluate, numpy_arithmetic
from adcli.lang.lower.frontend import parse
from loop_programs import LOOPS, given
from multiple_precision import mpmath_arithmetic
from row_tables import each_row
from session_seed import drawn


@each_row("name", LOOPS)
def test_every_arithmetic_gives_what_plain_python_gives(name: str) -> None:
    made = LOOPS[name]
    at = given(made, drawn("meaning", name))
    with mpmath.workdps(30):
        want = made.meaning({n: x if np.shape(x) else float(x) for n, x in at.items()}, made.steps)
        for arithmetic in (FLOAT, numpy_arithmetic(), mpmath_arithmetic(30)):
            got = evaluate(made.program(), {**at, **made.whole}, arithmetic)
            for n, x in want.items():
                assert np.allclose(np.asarray(got[n]).astype(float), np.asarray(x).astype(float), rtol=1e-12, atol=1e-14)


def test_a_loop_of_no_steps_leaves_what_was_there() -> None:
    program = parse("input a, int32 T\nh(0) = a\nfor t in 0:T { h(t+1) = h(t)*2 }\ny = h(T)\noutput h, y\n")
    got = evaluate(program, {"a": 3.0, "T": 0})
    assert list(got["h"]) == [3.0] and got["y"] == 3.0


def test_elements_that_are_added_to_keep_what_they_had_and_others_start_anew() -> None:
    program = parse("""input x(T), s0(T)
s = s0
for t in 0:T { s(t) += x(t); p(t) *=! x(t)*(i + 1) where i in 0:2; m(t) max=! x(t) - i where i in 0:3 }
output s, p, m
""")
    got = evaluate(program, {"x": [1.0, -2.0], "s0": [10.0, 20.0]})
    assert [list(got[n]) for n in "spm"] == [[11.0, 18.0], [2.0, 8.0], [1.0, -2.0]]
