"""Values of a step against the same loop with the step written out, and what is none."""
from __future__ import annotations

import pytest
from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.printing.printer import print_program

BEFORE = "input a, q(N)\ndef g(w) = w + 1\ndef f(x, a) -> (u, v) {{ u = x*a; v = x + a }}\nx(0) = a\n{}\nv = x(3)\noutput v"
SAME = {
    "a value": ("for t in 0:3 { w = 2*x(t); x(t+1) = sin(w) + a*w }",
                "for t in 0:3 { w(t) = 2*x(t); x(t+1) = sin(w(t)) + a*w(t) }"),
    "results of a function": ("for t in 0:3 { (u, w) = f(x(t), a); x(t+1) = u*w }",
                              "for t in 0:3 { (u(t), w(t)) = f(x(t), a); x(t+1) = u(t)*w(t) }"),
    "a sum": ("for t in 0:3 { s +=! q(i)*x(t); x(t+1) = s/N }", "for t in 0:3 { s(t) +=! q(i)*x(t); x(t+1) = s(t)/N }"),
    "a vector": ("for t in 0:3 { w(i) = q(i)*x(t); x(t+1) = w(0) - w(1) }",
                 "for t in 0:3 { w(t, i) = q(i)*x(t); x(t+1) = w(t, 0) - w(t, 1) }"),
    "single elements": ("for t in 0:3 { w(0) = 2*x(t); w(1) = w(0)**2; x(t+1) = w(1) - w(0) }",
                        "for t in 0:3 { w(t, 0) = 2*x(t); w(t, 1) = w(t, 0)**2; x(t+1) = w(t, 1) - w(t, 0) }"),
    "in the condition": ("for t in 0:3 until e < 1e-3 { x(t+1) = cos(x(t)); e = abs(x(t+1) - x(t)) }",
                         "for t in 0:3 until e(t) < 1e-3 { x(t+1) = cos(x(t)); e(t) = abs(x(t+1) - x(t)) }"),
    "beside an inner loop": ("for t in 0:3 { c = 2*x(t); u(0) = c; for k in 0:2 { g = u(k)*c; u(k+1) = g + a }; x(t+1) = u(2) }",
                             "for t in 0:3 { c(t) = 2*x(t); u(t, 0) = c(t); g(t, 0) = u(t, 0)*c(t); u(t, 1) = g(t, 0) + a; "
                             "g(t, 1) = u(t, 1)*c(t); u(t, 2) = g(t, 1) + a; x(t+1) = u(t, 2) }"),
}
CARRIED = "write {0}(t + 1) = ... {0}(t) ..., and its first element before the loop"
NONE = {   # a loop, and the help
    "read before": ("for t in 0:3 { x(t+1) = x(t)*w; w = 2*a }", "write w(t) = ..."),
    "read by itself": ("for t in 0:3 { w = w + 1; x(t+1) = x(t)*w }", CARRIED.format("w")),
    "a second value": ("for t in 0:3 { w = 2*x(t); w = w + 1; x(t+1) = w }", "write w(t) = ..."),
    "read behind the loop": ("for t in 0:3 { w = 2*x(t); x(t+1) = w }\nz = w", "write w(t) = ..."),
    "known before the loop": ("w = a\nfor t in 0:3 { w = 2*x(t); x(t+1) = w }", "write w(t) = ..."),
    "read by nothing": ("for t in 0:3 { w = 2*x(t); x(t+1) = a*x(t) }", "write w(t) = ..."),
    "added to": ("for t in 0:3 { s += x(t); x(t+1) = a*s }", CARRIED.format("s")),
}


@pytest.mark.parametrize("name", SAME)
def test_a_value_of_a_step_is_an_element(name: str) -> None:
    one, other = (parse(BEFORE.format(text)) for text in SAME[name])
    assert print_program(one) == print_program(other)
    assert print_program(gradient(one)) == print_program(gradient(other))


@pytest.mark.parametrize("name", NONE)
def test_what_is_more_than_a_value_of_a_step_has_its_step(name: str) -> None:
    loop, help = NONE[name]
    with pytest.raises(AdError, match="is assigned in the loop without its step") as fault:
        parse(BEFORE.format(loop))
    assert fault.value.help == help
