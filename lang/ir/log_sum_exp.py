"""The reduction `lse`, the logarithm of a sum of exponentials, in terms of others: what it means, and how machines compute it.

    s(i) lse=! z(i, k)    m(i) max=! z(i, k)
                          e(i) +=! exp(z(i, k) - f)
                          s(i) = f + log(e(i))        with f = m(i) where that is finite, else 0

No exponential is larger than 1, so nothing overflows; one of them is 1, so the logarithm is of no less than that (P. Blanchard,
D. J. Higham, N. J. Higham, Accurately computing the log-sum-exp and softmax functions, 2021, algorithm 3.1). Without elements, or
if all of them are -inf, it is -inf; it is inf if one is and NaN if one is.

It stays one operation until it is computed, so it is smooth where elements are equal, and its derivative is exp(z - s).
"""
from __future__ import annotations

from dataclasses import replace

from adcli.lang.ir import Equation, Param, Program, Var
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.comprehension import Comprehension, Read, body_of
from adcli.lang.ir.elementwise import every_element
from adcli.lang.ir.names import Names
from adcli.lang.ir.primitives import abs_, exp, log, select

INF = float("inf")


def in_sums(program: Program) -> Program:
    """The program with every log-sum-exp written out."""
    return replace(program, equations=tuple([x for e in program.equations for x in written_out(e)]))


def written_out(e: Equation) -> tuple[Equation, ...]:
    """A log-sum-exp as a maximum, a sum and a logarithm; any other equation as it is."""
    op, out = e.op, e.outs[0]
    if not isinstance(op, Comprehension) or op.reduction != "lse":
        return (e,)
    largest, total = (Var(None, True, shape=op.shape) for _ in range(2))
    ranges, here = every_element(op.shape)
    sums = replace(op, reduction="+", sources=(*op.sources, Read(len(e.args), op.write)), body=_exponential(op.body))
    last = Comprehension(ranges=ranges, write=here, shape=op.shape, reduction="=", sources=(Read(0, here), Read(1, here)),
                         body=_logarithm())
    return (Equation((largest,), replace(op, reduction="max"), e.args, e.span, e.group),
            Equation((total,), sums, (*e.args, largest), e.span, e.group),
            Equation((out,), last, (largest, total), e.span, e.group))


def _exponential(body: Program) -> Program:
    """exp(z - f) for the value z of a body, with the largest z as one more parameter."""
    b, name = Builder(), Names.of(body).fresh("m")
    m = Var(name)
    b.equations.extend(body.equations)
    value = exp(b.expr(body.results[0].atom) - _shift(b.expr(m)))
    return body_of(value.atom, (*body.params, Param(m, name)), b.equations)


def _logarithm() -> Program:
    b, m, total = Builder(), Var("m"), Var("e")
    value = _shift(b.expr(m)) + log(b.expr(total))
    return body_of(value.atom, (Param(m, "m"), Param(total, "e")), b.equations)


def _shift(m: Expr) -> Expr:
    """What is taken out of the exponents."""
    return select(abs_(m) < INF, m, 0)
