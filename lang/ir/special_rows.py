"""Rows of special functions: each function with a row of its derivatives, of which a constant says how many.

`family` makes both. The second has the name of the first with a d before it, is read in texts that were derived, and nobody types
it. The formulas are those of the room `formulas`, which are loaded when code needs them.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from adcli.lang.ir import POLE, SINGULAR, Primitive, Status
from adcli.lang.ir.build import Expr, apply
from adcli.lang.ir.rounded import Rounded
from adcli.lang.ir.table_sum import table_sum

Fn = Callable[..., Expr]
Table = dict[str, Primitive]
ORDERS = (0.0, 2.0)
DERIVATIVES: list[str] = []
"""The rows of derivatives."""


class TableOperations:
    """The operations of the table by name, on expressions, and sums over tables of constants."""

    table_sum = staticmethod(table_sum)

    def __init__(self, table: Table) -> None:
        self.table = table

    def __getattr__(self, name: str) -> Fn:
        primitive = self.table[name]
        return lambda *args: apply(primitive, *args)


def order(n: Expr) -> int:
    count = n.literal.integer
    assert count is not None
    return count


def formula(place: str) -> Callable[..., Any]:
    """A formula as file:function, loaded when it is first called."""
    file, _, name = place.partition(":")

    def called(*args: Any) -> Any:
        return getattr(import_module(f"adcli.lang.formulas.{file}"), name)(*args)
    return called


def derivatives(row: Callable[..., Fn], name: str, args: str, orders: str, value: Callable[..., Any], *others: Fn,
                domain: tuple[Any, ...], **columns: Any) -> Fn:
    """Enter a row of the derivatives by the first arguments, one for each name in `orders`, of how many times; `others` are the
    rules of the other arguments."""
    count, ordered = args.count(",") + 1, orders.count(",") + 1

    def once_more(i: int) -> Fn:
        return lambda t, z, *at: t * made(*at[:count], *(order(n) + (k == i) for k, n in enumerate(at[count:])))

    DERIVATIVES.append(name)
    made: Fn = row(name, "r" * (count + ordered) + ">r", *map(once_more, range(ordered)), *others, *[None] * ordered,
                   static=tuple(range(count, count + ordered)), args=f"{args}, {orders}", domain=(*domain, *[ORDERS] * ordered),
                   value=lambda *at: value(*map(order, at[count:]), *at[:count]), **columns)
    return made


def enter(row: Callable[..., Fn], table: Table) -> None:
    """Enter the rows."""
    op = TableOperations(table)

    def family(name: str, place: str, about: str, **columns: Any) -> None:
        """A function of one number and its derivatives."""
        value, columns = formula(place), {"domain": ((-3.0, 3.0),), **columns}
        repeated = derivatives(row, f"d{name}", "x", "n", lambda n, x: value(x, n, op), about=f"derivative n of {name}(x)",
                               **columns)
        row(name, "r>r", lambda t, z, x: t * repeated(x, 1), value=lambda x: value(x, 0, op), about=about, **columns)

    family("sinc", "elementary:sinc", "sin(pi*x)/(pi*x), and 1 at 0", saturates=True)
    family("exprel", "elementary:exprel", "(exp(x) - 1)/x, and 1 at 0", saturates=True)
    family("zeta", "zeta:zeta", "zeta function of Riemann", saturates=True, domain=((1.2, 4.0),), defined="x != 1",
           status=(Status(POLE, lambda z, x, *orders: x == 1),))
    lbeta_rows(row, op)
    inverse_rows(row, op)
    incomplete_gamma_rows(row, op)
    bessel_rows(row, op)
    voigt_rows(row, op)
    incomplete_beta_rows(row, op, "inc_beta", 1)
    incomplete_beta_rows(row, op, "inc_beta_logit", 0)


    zeta_rows(row, op)
    owens_t_row(row, op)


def lbeta_rows(row: Callable[..., Fn], op: TableOperations) -> None:
    """The logarithm of the beta function, whose derivatives are differences of polygamma functions."""
    value, gap_value = formula("beta:lbeta"), formula("beta:polygamma_gap")
    positive = (0.1, 4.0)
    DERIVATIVES.append("polygamma_gap")
    gap: Fn = row("polygamma_gap", "rrrr>r", None, None,
                  lambda t, z, n, m, a, b: t * gap(order(n) + 1, order(m), a, b),
                  lambda t, z, n, m, a, b: t * gap(order(n), order(m) + 1, a, b), static=(0, 1), args="n, m, a, b",
                  domain=(ORDERS, ORDERS, positive, positive), saturates=True, defined="a > 0 and b > 0",
                  value=lambda n, m, a, b: gap_value(order(n), order(m), a, b, op),
                  status=(Status(POLE, lambda z, n, m, a, b: a == 0, nan=True),),
                  about="polygamma(n, a) - polygamma(n, a + b), m times by b")
    row("lbeta", "rr>r", lambda t, z, a, b: t * gap(0, 0, a, b), lambda t, z, a, b: t * gap(0, 0, b, a),
        domain=(positive, positive), value=lambda a, b: value(a, b, op), args="a, b", commutes=True, defined="a > 0 and b > 0",
        status=(Status(POLE, lambda z, a, b: (a == 0) | (b == 0), nan=True),), about="logarithm of the beta function")


def inverse_rows(row: Callable[..., Fn], op: TableOperations) -> None:
    """Functions whose derivatives are elementary in their values and arguments."""
    branch, e1, ei = (formula(f"inverses:{name}") for name in ("lambert", "e1", "ei"))

    def lambert_slope(t: Expr, z: Expr, x: Expr) -> Expr:
        far = (op.abs(z) > 0.5) & (op.abs(z) < math.inf)         # where exp(−z) would lose digits
        return t * (op.select(far, z / x, op.exp(-z)) / (1 + z))

    row("lambert_w0", "r>r", lambert_slope, value=lambda x: branch(0, x, op), domain=((-0.3, 4.0),), vanishes=True,
        saturates=True, defined="x > -exp(-1)", about="solution w >= -1 of w*exp(w) = x")
    row("lambert_wm1", "r>r", lambda t, z, x: op.select(x == 0, t * z, lambert_slope(t, z, x)),
        value=lambda x: branch(-1, x, op), domain=((-0.3, -0.05),), status=(Status(SINGULAR, lambda z, x: x == 0),),
        defined="-exp(-1) < x and x < 0", about="solution w <= -1 of w*exp(w) = x")
    row("expint_e1", "r>r", lambda t, z, x: -(t * op.select(x < 0, z, op.exp(-x) / (x + 0))), value=lambda x: e1(x, op),
        domain=((0.1, 4.0),), status=(Status(SINGULAR, lambda z, x: x == 0),), saturates=True, defined="x > 0",
        about="integral of exp(-t)/t over t > x")
    row("expint_ei", "r>r", lambda t, z, x: t * (op.exp(x) / x), value=lambda x: ei(x, op), domain=((0.1, 4.0),),
        status=(Status(SINGULAR, lambda z, x: x == 0),), saturates=True, defined="x != 0",
        about="principal value of the integral of exp(t)/t over t < x")


def incomplete_gamma_rows(row: Callable[..., Fn], op: TableOperations) -> None:
    """Regularized incomplete gamma functions, their derivatives by the shape a, and the density with all of its derivatives."""
    tail, density_value = formula("incomplete_gamma:tail"), formula("incomplete_gamma:derived_density")
    both, inside = ((0.3, 4.0), (0.1, 4.0)), "a >= 0 and x >= 0 and a + x > 0"
    columns: dict[str, Any] = {"domain": both, "saturates": True, "status": (Status(SINGULAR, lambda z, a, x, *orders: x == 0),)}
    density = derivatives(row, "gamma_density", "a, x", "m, n", lambda *given: density_value(*given, op),
                          defined="a >= 0 and x > 0 or x == 0 and (a > n + 1 or m == 0 and a > 0 and a == trunc(a))",
                          about="derivative of the gamma density, m by a and n by x", **columns)
    partial = derivatives(row, "dgamma_p", "a, x", "m", lambda *given: tail(False, *given, op),
                          lambda t, z, a, x, m: t * density(a, x, order(m), 0), defined=inside,
                          about="derivative of gamma_p(a, x), m times by a", **columns)
    columns |= {"defined": inside, "args": "a, x", "factored": True}
    row("gamma_p", "rr>r", lambda t, z, a, x: t * partial(a, x, 1), lambda t, z, a, x: t * density(a, x, 0, 0),
        value=lambda a, x: tail(False, 0, a, x, op), about="regularized lower incomplete gamma function", **columns)
    row("gamma_q", "rr>r", lambda t, z, a, x: -(t * partial(a, x, 1)), lambda t, z, a, x: -(t * density(a, x, 0, 0)),
        value=lambda a, x: tail(True, 0, a, x, op), about="regularized upper incomplete gamma function", vanishes=True, **columns)


def bessel_rows(row: Callable[..., Fn], op: TableOperations) -> None:
    """Bessel functions, their products with exponentials and their logarithms, each with all of its derivatives."""
    def surface(name: str, value: Callable[..., Any], about: str, factored: bool = False, **columns: Any) -> None:
        columns = {"domain": ((0.1, 4.0), (0.1, 4.0)), "saturates": True, **columns}
        partial = derivatives(row, f"d{name}", "nu, x", "m, n", lambda *given: value(*given, op),
                              about=f"derivative of {name}, m times by nu and n times by x", **columns)
        row(name, "rr>r", lambda t, z, nu, x: t * partial(nu, x, 1, 0), lambda t, z, nu, x: t * partial(nu, x, 0, 1),
            args="nu, x", value=lambda nu, x: value(0, 0, nu, x, op), about=about, factored=factored, **columns)

    k, second = formula("bessel:k"), "modified Bessel function of the second kind"
    pole = Status(POLE, lambda z, nu, x, *orders: x == 0, nan=True),
    columns: dict[str, Any] = {"defined": "x > 0", "status": pole}
    surface("bessel_k", lambda *args: k(False, *args), second, **columns)
    surface("bessel_ke", lambda *args: k(True, *args), f"exp(x) times the {second}", **columns)
    surface("log_bessel_k", formula("bessel:log_k"), f"logarithm of the {second}", **columns)
    i, first = formula("bessel_i:i"), "modified Bessel function of the first kind"
    columns = {"defined": "x > 0 or x == 0 and (nu >= 0 or nu == trunc(nu))",
               "status": (Status(SINGULAR, lambda z, nu, x, *orders: x == 0),)}
    surface("bessel_i", lambda *args: i(False, *args), first, True, **columns)
    surface("bessel_ie", lambda *args: i(True, *args), f"exp(-x) times the {first}", True, **columns)
    either = formula("bessel_j:of_kind")
    surface("bessel_j", lambda *args: either(False, *args), "Bessel function of the first kind", True, **columns)
    columns["defined"] = "nu >= 0 and x >= 0"
    surface("log_bessel_i", formula("bessel_i:log_i"), f"logarithm of the {first}", **columns)
    columns = {"defined": "x > 0 or x == 0 and nu < 0 and nu + 0.5 == trunc(nu)", "status": pole}
    surface("bessel_y", lambda *args: either(True, *args), "Bessel function of the second kind", **columns)


def voigt_rows(row: Callable[..., Fn], op: TableOperations) -> None:
    """The Voigt profile, whose derivatives satisfy the equations of Laplace in x and γ and of heat in x and σ."""
    value, domain = formula("voigt:voigt"), ((-3.0, 3.0), (0.3, 2.0), (0.1, 2.0))
    columns: dict[str, Any] = {
        "saturates": True, "defined": "sigma >= 0 and gamma >= 0 and sigma + gamma > 0",
        "status": (Status(SINGULAR, lambda z, x, s, g, *orders: (x == 0) & (s == 0) & (g == 0)),)}
    DERIVATIVES.append("dvoigt")

    def by_gamma(x: Expr, sigma: Expr, gamma: Expr, m: int, n: int) -> Expr:
        return -derived(x, sigma, gamma, m + 2, n - 1) if n else derived(x, sigma, gamma, m, 1)

    derived: Fn = row("dvoigt", "rrrrr>r", lambda t, z, x, s, g, m, n: t * derived(x, s, g, order(m) + 1, order(n)),
                      lambda t, z, x, s, g, m, n: t * (s * derived(x, s, g, order(m) + 2, order(n))),
                      lambda t, z, x, s, g, m, n: t * by_gamma(x, s, g, order(m), order(n)), None, None, static=(3, 4),
                      domain=(*domain, ORDERS, ORDERS), args="x, sigma, gamma, m, n",
                      value=lambda x, s, g, m, n: value(order(m), order(n), x, s, g, op),
                      about="derivative of voigt, m times by x and n times by gamma", **columns)
    row("voigt", "rrr>r", lambda t, z, x, s, g: t * derived(x, s, g, 1, 0),
        lambda t, z, x, s, g: t * (s * derived(x, s, g, 2, 0)), lambda t, z, x, s, g: t * derived(x, s, g, 0, 1),
        domain=domain, args="x, sigma, gamma", value=lambda x, s, g: value(0, 0, x, s, g, op),
        about="Voigt profile: normal density convolved with Cauchy density", **columns)


def incomplete_beta_rows(row: Callable[..., Fn], op: TableOperations, name: str, step: int) -> None:
    """The regularized incomplete beta function of x with `step`, and the upper tail, or of log odds; its derivatives by the
    shapes and the densities."""
    tail, density_value, place = (formula(f"incomplete_beta:{each}") for each in
                                  ("tail", "derived_density", "at" if step else "at_log_odds"))
    x = "x" if step else "u"
    columns: dict[str, Any] = {"saturates": not step, "domain": ((0.3, 4.0), (0.3, 4.0), (0.05, 0.95) if step else (-3.0, 3.0))}
    if step:
        columns["status"] = (Status(SINGULAR, lambda z, a, b, x, *n: (x == 0) | (x == 1)),)
    inside = "a >= 0 and b >= 0 and a + b > 0" + (" and x >= 0 and x <= 1 and a + x > 0 and b + (1 - x) > 0" if step else "")
    density = derivatives(
        row, f"{name}_density", f"a, b, {x}", "m, k, n",
        lambda m, k, n, a, b, x: density_value(step, m, k, n, a, b, place(a, b, x, op), op),
        defined=inside if not step else f"{inside} and (x > 0 or a > n + 1 or m == 0 and a > 0 and a == trunc(a))"
        " and (x < 1 or b > n + 1 or k == 0 and b > 0 and b == trunc(b))",
        about="derivative of its density, m by a, k by b, n by the other", **columns)
    partial = derivatives(
        row, f"d{name}", f"a, b, {x}", "m, k", lambda m, k, a, b, x: tail(False, m, k, a, b, place(a, b, x, op), op),
        lambda t, z, a, b, x, m, k: t * density(a, b, x, order(m), order(k), 0), defined=inside,
        about=f"derivative of {name}, m by a and k by b", **columns)
    abouts = {name: "regularized incomplete beta function", f"{name}c": f"1 - {name}(a, b, x)"} if step else \
        {name: "regularized incomplete beta function of x = sigmoid(u)"}
    for k, (each, about) in enumerate(abouts.items()):
        sign = -1 if k else 1
        row(each, "rrr>r", lambda t, z, a, b, x, sign=sign: sign * (t * partial(a, b, x, 1, 0)),
            lambda t, z, a, b, x, sign=sign: sign * (t * partial(a, b, x, 0, 1)),
            lambda t, z, a, b, x, sign=sign: sign * (t * density(a, b, x, 0, 0, 0)), args=f"a, b, {x}",
            value=lambda a, b, x, k=k: tail(bool(k), 0, 0, a, b, place(a, b, x, op), op), about=about, defined=inside,
            factored=True, vanishes=bool(k), **columns)


def zeta_rows(row: Callable[..., Fn], op: TableOperations) -> None:
    """Hurwitz's zeta function: a derivative by a is −s times the function of s + 1."""
    value, name = formula("zeta:hurwitz"), "hurwitz_zeta"
    columns: dict[str, Any] = {"domain": ((1.2, 4.0), (0.3, 4.0)), "saturates": True, "defined": "s > 1 and a > 0", "status": (
        Status(SINGULAR, lambda z, s, a, *orders: s == math.inf), Status(POLE, lambda z, s, a, *orders: (s == 1) | (a == 0)))}

    def by_a(t: Expr, z: Expr, s: Expr, a: Expr, m: int) -> Expr:
        slope = op.select(s < 1, z, s) * partial(s + 1, a, m)
        return -(t * (slope + m * partial(s + 1, a, m - 1) if m else slope))

    partial = derivatives(row, f"d{name}", "s, a", "m", lambda *given: value(*given, op),
                          lambda t, z, s, a, m: by_a(t, z, s, a, order(m)),
                          about=f"derivative of {name}, m times by s", **columns)
    row(name, "rr>r", lambda t, z, s, a: t * partial(s, a, 1), lambda t, z, s, a: by_a(t, z, s, a, 0), args="s, a",
        value=lambda s, a: value(0, s, a, op), about="zeta function of Hurwitz, a sum of (a + k)**-s over k >= 0", **columns)


def owens_t_row(row: Callable[..., Fn], op: TableOperations) -> None:
    value, root_half = formula("zeta:owens_t"), Rounded(math.sqrt(0.5), ("sqrt", 0.5))

    def within(x: Expr, most: float) -> Expr:
        """An argument, or the bound from which on derivatives are 0."""
        far = op.stop(x)
        return op.select(op.abs(far) > most, op.copysign(most, far), x)

    def by_h(t: Expr, z: Expr, h: Expr, a: Expr) -> Expr:
        x = within(h, 1000.0)
        return -0.5 * t * (op.normal_pdf(x) * op.erf(x * within(a, 1e308) * root_half))

    def by_a(t: Expr, z: Expr, h: Expr, a: Expr) -> Expr:
        x, slope = within(h, 1000.0), within(a, 1e308)
        return t * (op.normal_pdf(x) * op.normal_pdf(x * slope) * op.lorentz(slope))
    row("owens_t", "rr>r", by_h, by_a, args="h, a",
        saturates=True, vanishes=True, factored=True, value=lambda h, a: value(h, a, op),
        status=(Status(SINGULAR, lambda z, h, a: (h == 0) & (op.abs(a) == math.inf)),),
        about="Owen's T: P(X > h and 0 < Y < a*X) for normal X and Y")
