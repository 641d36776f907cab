"""Python as a language that programs are written in, and the module of a program of any rank, which needs NumPy alone.

    inputs, outputs = ("x", …), ("v", …)
    defaults = {"x": 2.0, …}
    def NAME(x, …): …; return v, …

Inputs of a program of scalars are numbers or arrays that broadcast together; every result has their common shape. Both arms of a
choice are computed, and what is not chosen has no effect; nothing is said of infinities and NaN. Functions are those of NumPy;
what it lacks, or has with other values at special points than IEEE 754 and C99 give them, is written out in `HELPERS`: the
special functions are those of Python's own `math`, one element at a time.
"""
from __future__ import annotations

import keyword
from collections.abc import Sequence
from functools import partial

from adcli.codegen.c.language import Helpers, Language, LoopHead, SumForm, constant, letters, listed, quoted, wrapped
from adcli.codegen.c.spelling import operator
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.emission import EmitOptions, commented
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.lang.ir import Equation, Lit, Program, has_tensors
from adcli.lang.ir.affine import Affine, Index, atoms
from adcli.lang.ir.names import words
from adcli.lang.tree.notation import ATOM, INDENT, PRODUCT, UNARY, Piece, call, enclosed

WORDS = frozenset(keyword.kwlist) | words("""
np math Fraction False None True case match type float tuple zip ValueError OverflowError IndexError bool int len max min range
reversed inputs outputs defaults
""")
"""Words of the language, what our functions call, and what the module has of its own."""

IMPORTS = {"math.": "import math", "Fraction(": "from fractions import Fraction", "np.": "\nimport numpy as np\n"}
"""Imports of a module, by the texts that need them."""
HELPERS = {
    "arrays": """
def $arrays(*inputs):
    # numbers and arrays as arrays of doubles, of one shape
    return np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in inputs))""",
    "results": """
def $results(shape, *values):
    # values of the shape of the inputs; numbers where these are numbers
    return tuple(np.full(shape, value, dtype=float)[()] for value in values)""",
    "max": """
def $max(x, y):
    # the larger; NaN where one is NaN; 0.0 is above -0.0
    return np.where(x > y, x, np.where(y > x, y, np.where((x == y) & (x != 0.0), x, x + y)))""",
    "min": """
def $min(x, y):
    # the smaller; NaN where one is NaN; -0.0 is below 0.0
    return np.where(x < y, x, np.where(y < x, y, np.where((x == y) & (x != 0.0), x, -(-x - y))))""",
    "round": """
def $round(x):
    # to the nearest whole number, halves away from 0
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)""",
    "powi": """
def $powi(x, n):
    # the product of n factors x; for n < 0 its reciprocal
    x, n = np.broadcast_arrays(np.asarray(x, dtype=float), n)
    z, left = np.ones(x.shape), np.abs(n)
    while np.any(going := left > 0.0):
        longer = z * x
        settled = going & ((longer == z) | (longer == -z) | (longer != longer))
        z = np.where(settled & (left % 2.0 == 0.0) & np.signbit(x), -longer, np.where(going, longer, z))
        left = np.where(settled, 0.0, left - 1.0)
    return np.where(n < 0.0, 1.0 / z, z)""",
    "fma": """
def $fma(a, b, c):
    # a*b + c, rounded once: product and sum in two doubles each, their lower parts added with rounding to odd (Boldo, Melquiond)
    a, b, c = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (a, b, c)))
    product = a * b
    a1, b1 = (134217729.0 * x - (134217729.0 * x - x) for x in (a, b))
    product2 = (a - a1) * (b - b1) - (((product - a1 * b1) - (a - a1) * b1) - a1 * (b - b1))
    total, total2 = $two_sum(product, c)
    low, lost = $two_sum(total2, product2)
    even = (np.asarray(low).view(np.int64) % 2 == 0) & (lost != 0.0)
    result = np.asarray(total + np.where(even, np.nextafter(low, np.copysign(np.inf, lost)), low))
    largest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(product), np.abs(c)))
    other = ~((largest <= 1e290) & (np.abs(product) >= 1e-270))
    result[other] = [$exact_fma(*at) for at in zip(a[other], b[other], c[other])]
    return result[()]""",
    "two_sum": """
def $two_sum(x, y):
    # x + y as a rounded sum and what rounding lost
    total = x + y
    other = total - x
    return total, (x - (total - other)) + (y - other)""",
    "exact_fma": """
def $exact_fma(a, b, c):
    # a*b + c in fractions, rounded once
    if not (np.isfinite(a) and np.isfinite(b)):
        return a * b + c
    if not np.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf""",
    "elementwise": """
def $elementwise(function):
    # a function of math on arrays; infinite where it overflows, and at a pole that `math` does not take
    def safe(x):
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x)
        except ValueError:
            return math.inf if function is math.lgamma else math.copysign(math.inf, x) if x == 0.0 else math.nan
    return np.vectorize(safe, otypes=[float])""",
    "tensor": """
def $tensor(name, given, rank, kind):
    # what is given as an array
    found = np.asarray(given)
    if not found.size:   # lists do not say the extents behind a 0
        found = found.reshape(found.shape + (0,) * (rank - found.ndim))
    if kind is int and not np.all(found == np.floor(found)):
        raise ValueError(f"{name} has an element that is no whole number")
    if found.ndim != rank:
        raise ValueError(f"{name} has {rank} dimensions, and what is given has {found.ndim}")
    return found.astype(np.int64 if kind is int else float)""",
    "required": """
def $required(holds, message):
    if not holds:
        raise ValueError(message)""",
    "inside": """
def $inside(subscripts, extent):
    # subscripts that are known now, all inside of a dimension
    if not np.all((subscripts >= 0) & (subscripts < extent)):
        raise IndexError(f"a subscript is outside of a dimension with {extent} elements")
    return np.asarray(subscripts).astype(np.int64)""",
    "points": """
def $points(indices, conditions):
    # the points of a box where conditions hold, as lists of indices
    indices = np.broadcast_arrays(*indices)
    kept = np.ones(indices[0].shape, bool)
    for holds in conditions:
        kept &= holds
    return [x[kept] for x in indices]""",
    "solve": """
def $solve(a, b):
    # x with a @ x = b; NaN where that is not defined
    try:
        return np.linalg.solve(a, b) if np.isfinite(a).all() else np.full(b.shape, np.nan)
    except np.linalg.LinAlgError:
        return np.full(b.shape, np.nan)""",
    "solve_lower": """
def $solve_lower(a, b):
    # x with a @ x = b, of a what is on and below the diagonal
    a, x = np.tril(a), np.full(b.shape, np.nan)
    if np.isfinite(a).all() and np.all(np.diagonal(a) != 0.0):
        for i in range(len(a)):
            x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x""",
    "solve_upper": """
def $solve_upper(a, b):
    # x with a @ x = b, of a what is on and above the diagonal
    return $solve_lower(a[::-1, ::-1], b[::-1])[::-1]""",
    "cholesky": """
def $cholesky(a):
    # x with x @ x.T = (a + a.T)/2
    try:
        return np.linalg.cholesky(0.5 * a + 0.5 * a.T) if np.isfinite(a).all() else np.full(a.shape, np.nan)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan)""",
    "logdet": """
def $logdet(a):
    # the logarithm of the determinant
    sign, value = np.linalg.slogdet(a) if np.isfinite(a).all() else (-1.0, np.nan)
    return np.nan if sign < 0.0 else value""",
    "det": """
def $det(a):
    # the determinant
    return np.linalg.det(a) if np.isfinite(a).all() else np.nan""",
    "eigenvalues": """
def $eigenvalues(a):
    # those of (a + a.T)/2, from the least on
    return np.linalg.eigvalsh(0.5 * a + 0.5 * a.T) if np.isfinite(a).all() else np.full(len(a), np.nan)""",
    "eigenvectors": """
def $eigenvectors(a):
    # those of (a + a.T)/2, each with its first large element positive
    if not np.isfinite(a).all() or not len(a):
        return np.full(a.shape, np.nan)
    x = np.linalg.eigh(0.5 * a + 0.5 * a.T)[1]
    first = np.argmax(np.abs(x) >= 0.5 * np.abs(x).max(axis=0), axis=0)
    return x * np.sign(x[first, np.arange(len(a))])""",
    "qr_q": """
def $qr_q(a):
    # q with a = q @ r, q.T @ q = 1, r upper triangular with a diagonal that is not negative
    if not np.isfinite(a).all() or a.shape[0] < a.shape[1]:
        return np.full(a.shape, np.nan)
    q, r = np.linalg.qr(a)
    return q * np.where(np.diagonal(r) < 0, -1.0, 1.0)""",
    "qr_r": """
def $qr_r(a):
    # r with a = q @ r, q.T @ q = 1, r upper triangular with a diagonal that is not negative
    if not np.isfinite(a).all() or a.shape[0] < a.shape[1]:
        return np.full((a.shape[1], a.shape[1]), np.nan)
    r = np.linalg.qr(a)[1]
    return r * np.where(np.diagonal(r) < 0, -1.0, 1.0)[:, None]""",
    "singular_values": """
def $singular_values(a):
    # from the greatest on
    if not np.isfinite(a).all() or a.shape[0] < a.shape[1]:
        return np.full(a.shape[1], np.nan)
    return np.linalg.svd(a, compute_uv=False)""",
    "svd_u": """
def $svd_u(a):
    # u with a = u @ diag(s) @ v.T, in the signs of v
    if not np.isfinite(a).all() or a.shape[0] < a.shape[1] or not a.size:
        return np.full(a.shape, np.nan)
    u, _, x = np.linalg.svd(a, full_matrices=False)
    first = np.argmax(np.abs(x) >= 0.5 * np.abs(x).max(axis=1, keepdims=True), axis=1)
    return u * np.sign(x[np.arange(len(x)), first])""",
    "svd_v": """
def $svd_v(a):
    # v with a = u @ diag(s) @ v.T, of each column the first large element positive
    if not np.isfinite(a).all() or a.shape[0] < a.shape[1] or not a.size:
        return np.full((a.shape[1], a.shape[1]), np.nan)
    x = np.linalg.svd(a, full_matrices=False)[2]
    first = np.argmax(np.abs(x) >= 0.5 * np.abs(x).max(axis=1, keepdims=True), axis=1)
    return x.T * np.sign(x[np.arange(len(x)), first])""",
    "expm": """
def $expm(a):
    # the exponential, by scaling, an approximant of degree 13, and squaring
    if not np.isfinite(a).all():
        return np.full(a.shape, np.nan)
    b = [1.0]
    for k in range(13):
        b.append(b[k] * (13 - k) / ((26 - k) * (k + 1)))
    halvings = max(0, math.frexp(np.abs(a).sum(axis=0).max(initial=0.0) / 5.37)[1])
    a = np.ldexp(a, -halvings)
    square, one = a @ a, np.eye(len(a))
    even, odd = b[12] * one, b[13] * one
    for k in range(10, -1, -2):
        even, odd = even @ square + b[k] * one, odd @ square + b[k + 1] * one
    x = np.linalg.solve(even - a @ odd, even + a @ odd)
    for _ in range(halvings):
        x = x @ x
    return x""",
    "sort": """
def $sort(a):
    # the elements in ascending order
    return np.sort(a)""",
    "sort_order": """
def $sort_order(a):
    # the places of the elements in ascending order
    return np.argsort(a, kind="stable").astype(float)""",
    "search": """
def $search(x, q):
    # the number of elements of an ascending x that are at most q
    found, left = 0, len(x)
    while left:
        found, left = found + (left + 1) // 2 * bool(x[found + (left + 1) // 2 - 1] <= q), left // 2
    return float(found)""",
    "inverse": """
def $inverse(a):
    # x with a @ x = 1
    try:
        return np.linalg.inv(a) if np.isfinite(a).all() else np.full(a.shape, np.nan)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan)""",
    **{name: f"${name} = $elementwise(math.{name})" for name in ("erf", "erfc", "gamma", "lgamma")},
}


number = partial(constant, nan="np.nan", infinity="np.inf")


def spelled(e: Equation, spelling: str, parts: Sequence[Piece]) -> Piece:
    """An operation on pieces. Where all are constants, NumPy computes: Python would raise an error for 1.0 / 0.0."""
    if all(isinstance(a, Lit) for a in e.args):
        parts = [call("np.float64", parts[:1]), *parts[1:]]
    return operator(spelling, parts)


FUNCTION = """\
def {name}({parameters}):
{body}    return {value}"""
TABLE_SUM = """\
{table} = [
{rows}
]
def {name}({parameters}):
    {total} = 0.0
    for {columns} in {table}:
{body}        {total} = {total} + {value}
    return {total}"""


class ArrayNumbers(WholeNumbers):
    """Expressions of sizes and indices, which may be arrays."""

    both, either, negation = " and ", " or ", "not "
    floored = True

    def modulo(self, whole: Affine, by: Affine) -> Piece:
        return f"{enclosed(self.size(whole), PRODUCT)} % {enclosed(self.size(by), UNARY)}", PRODUCT

    def quotient(self, whole: str, divisor: str) -> Piece:
        text, level = super().quotient(whole, divisor)
        return text.replace(" / ", " // "), level

    def extreme(self, parts: Sequence[Affine], largest: bool) -> Piece:
        shown, *others = map(self.text, parts)
        if not any(isinstance(i, Index) for p in parts for i in atoms(p)):
            return f"{'max' if largest else 'min'}({', '.join([shown, *others])})", ATOM
        for text in others:
            shown = f"np.{'maximum' if largest else 'minimum'}({shown}, {text})"
        return shown, ATOM


def loop(x: LoopHead) -> list[str]:
    steps = f"range({x.low}, {x.high})"
    return [f"for {x.name} in {f'reversed({steps})' if x.down else steps}"]


LANGUAGE = Language(
    name="Python", words=WORDS, identifier=letters, spelling=lambda op: op.python, number=number, helpers=HELPERS,
    definitions=DEFINITIONS, operation=spelled, declaration=lambda var, name, text: f"{name} = {text}",
    function=FUNCTION, table_sum=SumForm(TABLE_SUM, "    ({}),"),
    comment=lambda lines: commented(lines, "#").splitlines(), expressions=lambda names, helpers: ArrayNumbers(names),
    as_number="np.float64({})", prefix="_", loop=loop, test="if {}", opens=":", closes="")


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    given, found = (listed([x.name for x in names]) for names in (program.params, program.results))
    kinds = "tensors are arrays or nested lists, with the shapes above" if has_tensors(program) else \
        "numbers, or arrays that broadcast together"
    calling = f"call: {options.name}({given}) gives {found}; {kinds}"
    return commented([*header, calling], "#") + module(program, options.name)


def module(program: Program, name: str) -> str:
    """The module of a program, without its comment."""
    helpers = Helpers(LANGUAGE, [name])
    if has_tensors(program):
        from adcli.codegen.scripts.numpy_nests import ArrayTensors
        tensors = ArrayTensors(helpers, program)
        inputs, body, results = tensors.inputs, list(tensors.computed()), tensors.returned()
        before = list(tensors.taken())
        returned = wrapped("return (", results, ")") if len(results) > 1 else [f"return {results[0]}"]
    else:
        inputs, before, body, returned = on_arrays(helpers, program)
    computed = ['with np.errstate(all="ignore"):', *(INDENT + line for line in body)] if body else []
    defaults = [f"{quoted(p.name)}: {number(p.default)[0]}" for p in program.params if p.default is not None]
    imports = [line for word, line in IMPORTS.items() if any(word in line for line in (*helpers.lines, *computed, *returned))]
    return "\n".join([
        *imports, *wrapped("inputs = (", tuple_items([quoted(p.name) for p in program.params]), ")"),
        *wrapped("outputs = (", tuple_items([quoted(r.name) for r in program.results]), ")"),
        *(wrapped("defaults = {", defaults, "}") if defaults else []), "", "",
        *(part for line in helpers.lines for part in ([line] if line else ["", ""])),
        *wrapped(f"def {name}(", parameters(program, inputs), "):"),
        *(INDENT + line for line in [*before, *computed, *returned]), ""])


def on_arrays(helpers: Helpers, program: Program) -> tuple[list[str], list[str], list[str], list[str]]:
    """A program of scalars on arrays: its inputs, the statement that makes arrays of these, the others, and what it returns."""
    arrays, results = helpers.function("arrays"), helpers.function("results")
    writer = helpers.statements(program)
    body = list(writer.computed())
    values = [writer.piece(r.atom)[0] for r in writer.program.results]
    inputs = [writer.names[p.var] for p in writer.program.params]
    before = joined(wrapped("[", inputs, "] = "), wrapped(f"{arrays}(", inputs, ")")) if inputs else []
    shape = f"{inputs[0]}.shape" if inputs else "()"
    return inputs, before, body, wrapped(f"return {results}(", [shape, *values], ")" if len(values) > 1 else ")[0]")


def tuple_items(items: Sequence[str]) -> list[str]:
    """The items of a tuple; a comma makes one of a single item."""
    return [f"{items[0]},"] if len(items) == 1 else list(items)


def parameters(program: Program, inputs: Sequence[str]) -> list[str]:
    """The parameters of the function; those at the end of the list that have a default are optional."""
    last = max((i for i, p in enumerate(program.params) if p.default is None), default=-1)
    return [name if i <= last or p.default is None else f"{name}={number(p.default)[0]}"
            for i, (name, p) in enumerate(zip(inputs, program.params, strict=True))]


def joined(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """Two sides of an assignment as one, on one line where they have room."""
    return [*left[:-1], left[-1] + right[0].lstrip(), *right[1:]]
