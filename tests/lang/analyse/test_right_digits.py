"""How many digits of a result are right: counted where they can be proven, and never a claim that is false."""
from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from adcli.lang.analyse.right_digits import EXACT, decimal, right_digits
from adcli.lang.derive.derivatives import gradient
from adcli.lang.enclosures.interval_arithmetic import interval_arithmetic
from adcli.lang.enclosures.intervals import DECORATIONS, INF, Interval, arb, infinity, point_of, power
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.lower.frontend import parse
from compare_corpus import cases
from places import DATA
from row_tables import each_row
from session_seed import fixed

LOSING = list(cases(DATA / "cancellation"))


def references(case, point):
    """Every number that a point of a case states, by the output and what it is differentiated by."""
    for v, text in point["value"].items():
        yield v, (), text
    for v, partials in point.get("grad", {}).items():
        for x, text in partials.items():
            yield v, (x,), text


def digits_of(x, reference):
    """The right digits of x by the 25 digits of a reference."""
    exact = Fraction(reference)
    error = abs(Fraction(x) - exact)
    if not error:
        return EXACT
    return float(min(max(-mpmath.log10(mpmath.mpf(error.numerator) / error.denominator / abs(mpmath.mpf(reference))), 0), 16)) \
        if exact else 0.0


def judged(case):
    """The digits of every number of a case that has a reference: as counted, and by the reference."""
    program = gradient(parse(case["program"]), case["inputs"])
    for point in case["points"]:
        at = {k: float(x) for k, x in point["at"].items()}
        values = evaluate(program, at, FLOAT)
        found = dict(zip([(r.of or r.name, r.wrt) for r in program.results],
                         right_digits(program, at, [values[r.name] for r in program.results]), strict=True))
        names = {(r.of or r.name, r.wrt): r.name for r in program.results}
        for v, wrt, text in references(case, point):
            x = values[names[v, wrt]]
            if math.isfinite(x):
                yield found[v, wrt], digits_of(x, text), text


@each_row("case", LOSING)
def test_digits_lost_to_cancellation_are_counted(case):
    """Every number within one digit of the count by the reference, and at least one of them has lost some."""
    counts = list(judged(case))
    assert all(abs(min(d.count, 16) - min(expected, 16)) <= 1 for d, expected, _ in counts)
    assert all(abs(Fraction(d.exact) / Fraction(text) - 1) <= Fraction("5.01e-17") for d, _, text in counts if float(text))
    assert min(expected for _, expected, _ in counts) < 12


def test_there_are_twenty_programs_that_lose_digits():
    assert len({c["id"] for c in LOSING}) >= 20
    assert {c["source"]["licence"].split()[0] for c in LOSING} == {"MIT", "NIST"}


# ---------------------------------------------------------------- what is long or large

@each_row("formula", ["exp(exp(exp(x)))", "sin(exp(exp(x)))", "gamma(exp(x))", "exp(-exp(exp(x)))",
                                     "tan(exp(exp(x)))",
                                     "erfc(exp(exp(x)))", "exp(x)**exp(exp(x))", "cosh(sinh(exp(x)))", "fmod(exp(exp(x)), 0.1)"])
def test_towers_of_exponentials_end(formula):
    for x in (50.0, 300.0):
        found = right_digits(gradient(parse(f"v = {formula}")), {"x": x}, [math.inf, math.inf])
        assert [d.count in (0.0, EXACT, None) for d in found] == [True, True]


def test_a_long_program_is_done_in_reasonable_time():
    lines = "\n".join(["s = x"] + [f"s = s * 0.99 + sin(s) / {i + 3}" for i in range(600)] + ["v = s"])
    program = gradient(parse(lines))
    values = evaluate(program, {"x": 0.3})
    counts = right_digits(program, {"x": 0.3}, list(values.values()))
    assert all(d.count > 9 for d in counts)


# ---------------------------------------------------------------- claims against independent truths

class NoValue(Exception):
    """Beyond a pole there is no truth to compare with."""


NUMBERS = (1.0, -1.0, 3.0, 0.1, 1e-17, 1e17, 1e-160, -1e160, 1e300, 0.0, 2.0 ** -1074, 1 / 3)


def rational(r, depth, at):
    """A random program of sums, products, quotients and choices as text, and a function that evaluates it: in fractions (None
    for 0/0, which is a value for a comparison) or floats, and notes in a list how comparisons come out."""
    if depth == 0:
        name = r.choice(sorted(at))
        x = r.choice(NUMBERS)
        return r.choice([(name, lambda number, seen: number(at[name])), (repr(x), lambda number, seen: number(x))])
    (a, f), (b, g) = rational(r, depth - 1, at), rational(r, depth - 1, at)
    if r.random() < 0.2:
        (c, h), (d, k), sign = rational(r, 1, at), rational(r, 1, at), r.choice(["<", "==", ">="])

        def chosen(number, seen):
            x, y = f(number, seen), g(number, seen)
            seen.append(x is not None and y is not None and {"<": x < y, "==": x == y, ">=": x >= y}[sign])
            return (h if seen[-1] else k)(number, seen)
        return f"({a} {sign} {b} ? {c} : {d})", chosen
    if r.random() < 0.3:                                         # what cancels, wholly or all but a little
        first, second = r.choice(["+-", "-+"])
        again, last = (a, f) if first == "+" else (b, g)
        return f"(({a} {first} {b}) {second} {again})", lambda number, seen: combined(
            second, combined(first, f(number, seen), g(number, seen)), last(number, seen))
    sign = r.choice("+-*/")
    return f"({a} {sign} {b})", lambda number, seen: combined(sign, f(number, seen), g(number, seen))


def combined(sign, x, y):
    if isinstance(x, float):
        return FLOAT.functions[{"+": "add", "-": "sub", "*": "mul", "/": "div"}[sign]](x, y)
    if x is None or y is None or (sign == "/" and x == y == 0):
        return None
    if sign == "/" and y == 0:
        raise NoValue
    return {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else 0}[sign]


def mp(f):
    return lambda x: f(mpmath.mpf(x))


SATURATING = {
    "log(1-sigmoid(x))": mp(lambda x: -x - mpmath.log1p(mpmath.exp(-x))),
    "log(0.5*(1-erf(x)))": mp(lambda x: mpmath.log(mpmath.erfc(x) / 2)),
    "atanh(tanh(x))": mp(lambda x: x),
    "((1+exp(-x*x))-1)/exp(-x*x)": mp(lambda x: mpmath.mpf(1)),
    "1+exp(-x)==1 ? 1 : 2": mp(lambda x: mpmath.mpf(2)),
    "tanh(x) < 1 ? x : -x": mp(lambda x: x),
    "log(exp(-exp(exp(x))))": mp(lambda x: -mpmath.exp(mpmath.exp(x)) if x < 30 else None),
    "log(exp(exp(exp(x))))": mp(lambda x: mpmath.exp(mpmath.exp(x)) if x < 30 else None),
    "log(1+exp(-x))": mp(lambda x: mpmath.log1p(mpmath.exp(-x))),
    "(1-cos(x/1e6))/x**2": mp(lambda x: 2 * (mpmath.sin(x / (2 * mpmath.mpf(1e6))) / x) ** 2),
    "sqrt(x*x+1)-x": mp(lambda x: 1 / (mpmath.sqrt(x * x + 1) + x)),
    "exp(x)/exp(x+1)": mp(lambda x: mpmath.exp(-1)),
    "sin(x)**2+cos(x)**2-1": mp(lambda x: mpmath.mpf(0)),
    "tan(atan(x))-x+1e-30": mp(lambda x: mpmath.mpf(1e-30)),
    "sinh(x)/cosh(x)-1": mp(lambda x: -2 / (mpmath.exp(2 * x) + 1)),
    "1-erf(x)": mp(mpmath.erfc), "acosh(cosh(x))": mp(lambda x: x), "log(gamma(x))-lgamma(x)": mp(lambda x: mpmath.mpf(0)),
    "erfc(x)*0 + log(x)": mp(mpmath.log), "exp(-exp(x))*exp(exp(x))": mp(lambda x: mpmath.mpf(1)),
}
"""Programs that saturate, cancel, tie or tower, with forms for x > 0 that do not (None where even those are out of reach)."""
FAR = (1e-9, 0.3, 1.0, 4.0, 5.0, 36.7, 50.0, 60.0, 700.25, 1000.0, 1700.0, 1921.0, 2000.0, 1e5, 1e17)


def claims(programs):
    """What each claim is about, and whether it is true; None where nothing is claimed."""
    for text, at, truth, turned in truths(programs):
        program = parse(f"v = {text}")
        (x,) = evaluate(program, at).values()
        (d,) = right_digits(program, at, [x])
        right = true_claim(x, d, truth, turned)
        yield (text, at, x, truth, d), None if right and d.exact is None and d.count is None else right


def truths(programs):
    """Programs, points, the exact values (None without, "pole" where the question has no answer), and whether a comparison
    comes out otherwise in doubles."""
    r = fixed("truths")
    for _ in range(programs):
        at = {n: r.choice(NUMBERS) * r.choice((1.0, 0.3)) for n in ("x", "y")}
        text, value = rational(r, r.randint(1, 3), at)
        exact, doubles = [], []
        value(float, doubles)
        try:
            yield text, at, value(Fraction, exact), exact != doubles
        except NoValue:
            if "?" not in text:                                  # a choice at a pole has a value, whichever it is
                yield text, at, "pole", False
    for text, form in SATURATING.items():
        for x in FAR:
            with mpmath.workdps(60):
                truth = form(x)
            if truth is not None:
                yield text, {"x": x}, truth, True


def true_claim(x, d, truth, turned):
    if d.turned and not turned:
        return False
    if d.exact is None and d.count is None:
        return True
    if truth is None or truth == "pole":
        return d.exact == "nan" if truth is None else d.exact in ("nan", "inf", "-inf", "inf or -inf")
    if d.exact in ("nan", "inf", "-inf", "inf or -inf"):
        return False
    if d.exact is not None and not agrees(d.exact, truth):
        return False
    return d.count is None or true_digits(x, truth, d.count)


def agrees(written, truth):
    """To 16 digits: the 17th is written where the bounds agree on it, and zeros at the end never."""
    with mpmath.workdps(60):
        exact = quotient(truth)
        return abs(mpmath.mpf(written) - exact) <= mpmath.mpf("5.01e-16") * abs(exact)


def true_digits(x, truth, count):
    """Whether so many digits of x are right. A truth of 60 digits that is x to the last may be x or not."""
    with mpmath.workdps(60):
        exact = quotient(truth)
        if not math.isfinite(x) or not exact:
            return count == (EXACT if x == exact else 0.0)
        if isinstance(truth, Fraction) and (count == EXACT or Fraction(x) == truth):
            return count >= 16 and Fraction(x) == truth
        error = abs((mpmath.mpf(x) - exact) / exact)
        return count >= 16 if not error else abs(count - min(max(-mpmath.log10(error), 0), 16)) < 0.02


def quotient(truth):
    return mpmath.mpf(truth.numerator) / truth.denominator if isinstance(truth, Fraction) else truth


def test_no_claim_is_false():
    found = [*claims(300)]
    assert not [about for about, right in found if right is False][:3]
    assert sum(right is not None for _, right in found) > 400


FALSE_ENCLOSURES = {
    "a difference of one double": ("sub", lambda x, y: point_of(arb(float(x.lo) - float(y.lo)))),
    "a sum rounded at the highest precision": ("add", lambda x, y: point_of((x.lo + y.lo).mid())),
    "a saturated function": ("sigmoid", lambda x: point_of(arb(1)) if x.lo > 100 else point_of((1 / (1 + (-x.lo).exp())).mid())),
    "an overflow that is taken for infinity": (
        "exp", lambda x: infinity(arb.pos_inf()) if x.lo > 2 ** 40 else ball(x.ball().exp())),
    "a comparison of doubles": ("eq", lambda x, y: float(x.lo) == float(y.lo)),
    "an inner half": ("log", lambda x: ball(arb(x.ball().log().upper()))),
}


def ball(b):
    return Interval(b.lower(), b.upper())


@pytest.mark.parametrize("fault", FALSE_ENCLOSURES)
def test_an_enclosure_that_is_too_narrow_is_caught(fault, monkeypatch):
    name, function = FALSE_ENCLOSURES[fault]
    sound = interval_arithmetic().functions[name]
    monkeypatch.setitem(interval_arithmetic().functions, name, lambda *xs: function(*xs) if all(
        getattr(x, "decoration", 0) and x.bounded for x in xs) else sound(*xs))
    assert any(right is False for _, right in claims(150))


@each_row(("number", "digits", "text"), [
    ("0", 3, "0.0"), ("123.456", 3, "123.0"), ("-2.5", 17, "-2.5"), ("999.4", 3, "999.0"), ("999.6", 3, "1.0e+3"),
    ("1000", 3, "1.0e+3"), ("99999", 5, "99999.0"), ("123456", 5, "1.2346e+5"), ("0.00001", 3, "0.00001"),
    ("0.0000099", 3, "9.9e-6"), ("1e-400", 3, "1.0e-400"), ("-1.25e500", 3, "-1.25e+500")])
def test_a_number_is_written_in_so_many_digits(number: str, digits: int, text: str) -> None:
    assert decimal(arb(number), digits) == text


@each_row(("base", "exponent", "word"), [
    ((0, INF), (-1, 2), "trv"), ((0, INF), (0, 2), "trv"), ((0, INF), (1, 2), "dac"), ((1, INF), (-1, 2), "dac"),
    ((0, 4), (-1, 2), "trv"), ((0, 4), (1, 2), "com"), ((1, 4), (-1, 2), "com"), ((1, 4), (-1, INF), "dac")])
def test_a_power_is_continuous_away_from_its_pole(base: tuple, exponent: tuple, word: str) -> None:
    found = power(*(Interval(arb(low), high if high is INF else arb(high)) for low, high in (base, exponent)))
    assert DECORATIONS[found.decoration] == word
