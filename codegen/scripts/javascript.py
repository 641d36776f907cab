"""JavaScript as a language that programs are written in, and the ES module of a program of any rank, for web pages and for node.

    export const inputs = [{name: "x", value: 2, min: 0, max: 4}, {name: "A", shape: ["M", "N"]}, …]
    export const outputs = ["v", …]
    export function NAME(x, A, …) { x = +x, …; …; return {v, …}; }

`inputs` has what a slider needs: `value` is the default, `min` and `max` the declared range, where there are any. Functions are
those of `Math`; what it lacks, or has with other values at special points than IEEE 754 and C99 give them, is written out in
`HELPERS`. Approximations there are polynomials through Chebyshev points, accurate to 2e-17 relative to the function.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from adcli.codegen.c.language import (
    LONGEST_COMPOSITION,
    WIDTH,
    Helpers,
    Language,
    Statements,
    SumForm,
    composition,
    constant,
    counting,
    filled,
    letters,
    listed,
    quoted,
    spelled,
    wrapped,
)
from adcli.codegen.c.matrix_functions import MATRICES
from adcli.codegen.c.spelling import operator
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.emission import EmitOptions, commented
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.rows.parts import alone, cut
from adcli.lang.ir import Equation, Param, Primitive, Program, Var, has_tensors
from adcli.lang.ir.affine import shape_text, text
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import words
from adcli.lang.ir.primitives import INDEX_POWER, TABLE, pow_
from adcli.lang.ir.table_sum import TableSum
from adcli.lang.tree.notation import ATOM, INDENT, Piece
from adcli.lang.tree.notation import number as shortest

PART_SIZE = 1_000
"""Operations of a function at most."""
MOST_INPUTS = 65_534
"""Parameters of a function that engines take."""

WORDS = words("""
abstract arguments as async await boolean break byte case catch char class const continue debugger default delete do double else
enum eval export extends false final finally float for from function get goto if implements import in instanceof int interface let
long native new null of package private protected public return set short static super switch synchronized this throw throws
transient true try typeof var void volatile while with yield
Array BigInt BigInt64Array Float64Array Infinity Math NaN Number Object globalThis undefined
inputs outputs given work found
RangeError TypeError ArrayBuffer
""")
"""Words of the language, what our functions call, and what the module exports."""

HELPERS = {
    "pow": """
function $pow(x, y) {
    // 1 to any power is 1, and -1 to an infinite one, as in C
    return x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y;
}""",
    "powi": """
function $powi(x, n) {
    // the product of n factors x; for n < 0 its reciprocal
    let z = 1;
    for (let left = Math.abs(n); left > 0; left--) {
        const longer = z * x;
        if (longer === z || longer === -z || longer !== longer) {
            z = left % 2 === 0 && (x < 0 || Object.is(x, -0)) ? -longer : longer;
            break;
        }
        z = longer;
    }
    return n < 0 ? 1 / z : z;
}""",
    "round": """
function $round(x) {
    // to the nearest whole number, halves away from 0
    const whole = Math.trunc(x);
    return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole;
}""",
    "copysign": """
function $copysign(x, y) {
    return y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x);
}""",
    "fma": """
function $fma(a, b, c) {
    // a*b + c, rounded once: product and sum in two doubles each, their lower parts added with rounding to odd (Boldo, Melquiond)
    if (a === 0 || b === 0 || !isFinite(a) || !isFinite(b)) return a * b + c;
    if (!isFinite(c)) return c;
    const product = a * b;
    const largest = Math.max(Math.abs(a), Math.abs(b), Math.abs(product), Math.abs(c));
    if (largest > 1e290 || Math.abs(product) < 1e-270) return $exact_fma(a, b, c);
    const split = 134217729;
    const a1 = split * a - (split * a - a), a2 = a - a1;
    const b1 = split * b - (split * b - b), b2 = b - b1;
    const product2 = a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2);
    const [sum, sum2] = $two_sum(product, c);
    const [low, lost] = $two_sum(sum2, product2);
    const bits = new BigInt64Array(Float64Array.of(low).buffer);
    if (lost !== 0 && bits[0] % 2n === 0n) bits[0] += (lost > 0) === (low > 0) ? 1n : -1n;
    return sum + new Float64Array(bits.buffer)[0];
}""",
    "two_sum": """
function $two_sum(x, y) {
    // x + y as a rounded sum and what rounding lost
    const sum = x + y, other = sum - x;
    return [sum, (x - (sum - other)) + (y - other)];
}""",
    "exact_fma": """
function $exact_fma(a, b, c) {
    // a*b + c in whole numbers times powers of two, rounded to 53 bits or to a multiple of 2**-1074, halves to even
    const [ma, ea] = $parts(a), [mb, eb] = $parts(b), [mc, ec] = $parts(c);
    const e = Math.min(ea + eb, ec);
    const sum = (ma * mb << BigInt(ea + eb - e)) + (mc << BigInt(ec - e));
    if (sum === 0n) return a * b + c;
    const size = sum < 0n ? -sum : sum;
    const drop = BigInt(Math.max(0, size.toString(2).length - 53, -1074 - e));
    const half = (1n << drop) >> 1n, whole = size >> drop, rest = size - (whole << drop);
    const rounded = whole + (rest > half || (rest === half && drop > 0n && whole % 2n === 1n) ? 1n : 0n);
    const shift = e + Number(drop);
    const value = shift > 1000 ? Infinity : Number(rounded) * $power_of_two(shift);
    return sum < 0n ? -value : value;
}""",
    "parts": """
function $parts(x) {
    // x as a whole number and the power of two that it is multiplied by
    const bits = new BigInt64Array(Float64Array.of(x).buffer)[0];
    const exponent = Number((bits >> 52n) & 2047n), fraction = bits & ((1n << 52n) - 1n);
    const whole = exponent ? fraction + (1n << 52n) : fraction;
    return [bits < 0n ? -whole : whole, Math.max(exponent, 1) - 1075];
}""",
    "power_of_two": """
function $power_of_two(n) {
    // 2**n for n from -1074 to 1023
    return new Float64Array(BigInt64Array.of(n < -1022 ? 1n << BigInt(n + 1074) : BigInt(n + 1023) << 52n).buffer)[0];
}""",
    "polynomial": """
function $polynomial(x, coefficients) {
    // the highest power first
    return coefficients.reduce((value, a) => value * x + a, 0);
}""",
    "erf": """
function $erf(x) {
    // erf(x)/x is a polynomial in x**2 below 1
    const size = Math.abs(x);
    if (size >= 1) return Math.sign(x) * (1 - $erfc(size));
    return x * $polynomial(x * x, [
        -7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
        -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692, 0.0052239776071164225,
        -0.02686617064323777, 0.11283791670945006, -0.37612638903183543, 1.1283791670955126]);
}""",
    "erfc": """
function $erfc(x) {
    // (1 + 2x) exp(x**2) erfc(x) is a polynomial in (x - 2.5)/(x + 2.5) from 0.5 on
    if (x < 0.5) return x > -1 ? 1 - $erf(x) : 2 - $erfc(-x);
    if (x > 28) return 0;
    const short = Math.fround(x);   // its square is exact
    const gauss = Math.exp(-short * short) * Math.exp((short - x) * (short + x));
    return gauss / (1 + 2 * x) * $polynomial((x - 2.5) / (x + 2.5), [
        9.867207044911035e-09, 1.4022273910200026e-08, -1.365221636536954e-07, -5.8604690220105404e-08,
        5.829525602141134e-07, 6.021240096103899e-07, -1.6414199274871647e-06, -4.252718298972184e-06,
        2.641813224025897e-06, 2.270932552179598e-05, 6.254560481255614e-06, -0.00011352398048192162,
        -8.847676304522976e-05, 0.0006321244958205441, 0.0004918654851979209, -0.004382078348044046,
        0.0009318928424999801, 0.03276089326884435, -0.10296705603956233, 0.15762991902321524, -0.09902453957358659,
        -0.12235676308240424, 1.2648381843668615]);
}""",
    "beyond_one": """
function $beyond_one(t) {
    // 1/gamma(1 + t) - 1 for t from 0 to 1
    return t * (1 - t) * $polynomial(t, [
        -1.6796002705931017e-08, 1.9930170446435493e-07, -9.30572699437163e-07, 2.9600771315225563e-07,
        2.0466380023160652e-05, -0.00010761474392844187, 0.00010764481919020127, 0.0012728052284062504,
        -0.005946136019490933, 0.003675835130925686, 0.04587356973275799, -0.1206650416529461, -0.07866240661871901,
        0.5772156649015329]);
}""",
    "stirling": """
function $stirling(x) {
    // what Stirling's formula lacks of lgamma(x) for x > 24 (DLMF 5.11.1)
    const square = 1 / (x * x);
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / x;
}""",
    "sinpi": """
function $sinpi(x) {
    // sin(pi*x); the argument is reduced exactly
    let r = x % 2;
    if (Math.abs(r) > 1) r -= 2 * Math.sign(r);
    if (Math.abs(r) > 0.5) r = Math.sign(r) - r;
    return Math.sin(Math.PI * r);
}""",
    "gamma": """
function $gamma(x) {
    // 1/gamma is a polynomial between 1 and 2, and gamma(x + 1) = x gamma(x); Stirling's formula far out, reflection below 0
    if (x === 0) return 1 / x;
    if (x < 0) {
        if (Math.floor(x) === x) return NaN;
        if (x > -0.5) return $gamma(1 + x) / x;
        if (x < -190) return -0 * Math.sign($sinpi(x));
        if (x < -170) return $gamma(x + 1) / x;
        return -Math.PI / (x * $sinpi(x) * $gamma(-x));
    }
    if (x < 1) return 1 / (x * (1 + $beyond_one(x)));
    if (x > 172) return Infinity;
    if (x > 24) {
        const power = x ** (x / 2 - 0.25);
        return Math.sqrt(2 * Math.PI) * Math.exp($stirling(x)) * Math.exp(-x) * power * power;
    }
    let product = 1;
    while (x > 2) product *= --x;
    return product / (1 + $beyond_one(x - 1));
}""",
    "lgamma": """
function $lgamma(x) {
    // log(abs(gamma(x))), in the same pieces
    if (x <= 0) {
        if (Math.floor(x) === x) return Infinity;
        if (x > -0.5) return $lgamma(1 + x) - Math.log(-x);
        return Math.log(Math.PI / Math.abs(x * $sinpi(x))) - $lgamma(-x);
    }
    if (x < 1) return -Math.log(x) - Math.log1p($beyond_one(x));
    if (x > 24) return (x - 0.5) * (Math.log(x) - 1) + (0.5 * Math.log(2 * Math.PI) - 0.5 + $stirling(x));
    let product = 1;
    while (x > 2) product *= --x;
    return Math.log(product) - Math.log1p($beyond_one(x - 1));
}""",
    "shape": """
function $shape(name, given, rank) {
    // the extents of nested arrays; behind an extent of 0 they do not say theirs
    const found = [];
    for (let part = given; found.length < rank; part = part?.[0]) {
        if (!Array.isArray(part) && !ArrayBuffer.isView(part) && !(part === undefined && found.includes(0))) {
            throw new TypeError(`'${name}' has ${rank} dimensions, and what is given has ${found.length}`);
        }
        found.push(part?.length);
    }
    return found;
}""",
    "elements": """
function $elements(name, given, shape, whole) {
    // all elements of nested arrays, one behind the other
    const found = new Float64Array(shape.reduce((count, extent) => count && count * extent, 1));
    let at = 0;
    function fill(part, d) {
        if (d < shape.length) {
            if (part.length !== shape[d]) throw new RangeError(`'${name}' has rows of different lengths`);
            for (const inner of part) fill(inner, d + 1);
        } else {
            if (whole && !Number.isInteger(+part)) throw new TypeError(`'${name}' has ${part}, which is no whole number`);
            found[at++] = part;
        }
    }
    fill(given, 0);
    return found;
}""",
    "nested": """
function $nested(elements, shape) {
    // the elements as nested arrays
    if (shape.length === 1) return Array.from(elements);
    const size = shape[0] ? elements.length / shape[0] : 0;
    return Array.from({length: shape[0]}, (_, i) => $nested(elements.subarray(i * size, (i + 1) * size), shape.slice(1)));
}""",
}
MATRIX_WORDS = {
    **dict.fromkeys(("VOID FUNCTION", "INT FUNCTION", "REAL FUNCTION"), "function"), "BEGIN": " {",
    **dict.fromkeys(("GIVEN ", "MADE ", "LENGTH ", "FLAG ", "VALUE "), ""),
    **dict.fromkeys(("COUNT ", "SIGN ", "NUMBER "), "let "),
    "FIXED ": "const ", "FINITE": "Number.isFinite", "NAN": "NaN", "INFINITY": "Infinity", "FABS": "Math.abs",
    "AS_REAL": "", "SQRT": "Math.sqrt", "LOG": "Math.log", "ZERO": "0", "ONE": "1", "HALF": "0.5"}
"""The words of functions on matrices in this language."""


number = partial(constant, nan="NaN", infinity="Infinity", shown=shortest)


FUNCTION = """\
function {name}({parameters}) {{
{body}    return {value};
}}"""
TABLE_SUM = """\
const {table} = [
{rows}
];
function {name}({parameters}) {{
    let {total} = 0;
    for (const [{columns}] of {table}) {{
{body}        {total} += {value};
    }}
    return {total};
}}"""


class ScriptNumbers(WholeNumbers):
    """Expressions of sizes and indices, which are numbers like any others."""

    floored = True

    def quotient(self, whole: str, divisor: str) -> Piece:
        return f"Math.floor({whole} / {divisor})", ATOM


LANGUAGE = Language(
    name="JavaScript", words=WORDS, identifier=letters, spelling=lambda op: op.js, number=number,
    helpers={**HELPERS, **{name: spelled(text, MATRIX_WORDS) for name, text in MATRICES.items()}},
    definitions={**DEFINITIONS, "exp2": lambda x: pow_(2, x)}, operation=lambda e, spelling, parts: operator(spelling, parts),
    declaration=lambda var, name, text: f"const {name} = {text};", function=FUNCTION, table_sum=SumForm(TABLE_SUM, "    [{}],"),
    comment=lambda lines: commented(lines, "//").splitlines(),
    expressions=lambda names, helpers: ScriptNumbers(names, {"least": "Math.min", "greatest": "Math.max"}.__getitem__),
    loop=counting("let"), whole="const ", constant="const ", variable="let ", part="{}.subarray({})",
    required='if (!({})) throw new RangeError("a subscript that is read is outside");')


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    shapes = [p.name + shape_text(p.var.shape) for p in program.params if p.var.shape]
    inputs, outputs = (listed([x.name for x in names]) for names in (program.params, program.results))
    calling = [f"call: {options.name}({inputs}) gives {{{outputs}}}{'' if shapes else ', numbers by their names'}",
               *([f"tensors are nested arrays: {listed(shapes)}"] if shapes else []),
               f'load: import {{{options.name}, inputs}} from "./FILE.mjs"; in a page inside <script type="module">']
    return commented([*header, *calling], "//") + module(program, options.name)


def module(program: Program, name: str, size: int = PART_SIZE) -> str:
    """The module of a program, without its comment; of more than `size` operations a function that calls others. AdError where a
    function cannot have so many parameters."""
    if len(program.params) > MOST_INPUTS:
        raise AdError(f"a function of JavaScript has at most {MOST_INPUTS} parameters; this program has {len(program.params)}",
                      help="write --emit text or c")
    helpers, functions = Helpers(LANGUAGE, [name]), list[str]()
    if has_tensors(program):
        from adcli.codegen.scripts.nested_arrays import JavaScriptTensors
        tensors = JavaScriptTensors(helpers, program)
        inputs, body, results = tensors.inputs, tensors.lines(), tensors.returned()
    else:
        writer = helpers.statements(program)
        inputs = [writer.names[p.var] for p in program.params]
        if len(writer.program.equations) > size:
            body, results, functions = parted(helpers, writer, name, size)
        else:
            body = list(writer.computed())
            results = [writer.piece(r.atom)[0] for r in writer.program.results]
        body = [*numbers(inputs), *body]
    parameters = [n if p.default is None else f"{n} = {number(p.default)[0]}"
                  for p, n in zip(program.params, inputs, strict=True)]
    entries = [text if text == r.name else f"{key(r.name)}: {text}" for r, text in zip(program.results, results, strict=True)]
    return "\n".join([*wrapped("export const inputs = [", [described(p) for p in program.params], "];"),
                      *wrapped("export const outputs = [", [quoted(r.name) for r in program.results], "];"), "",
                      *helpers.lines, *functions, *wrapped(f"export function {name}(", parameters, ") {"),
                      *(INDENT + line for line in body), *wrapped(f"{INDENT}return {{", entries, "};"), "}", ""])


def numbers(names: Sequence[str]) -> list[str]:
    """The statement that makes numbers of what is given: a slider has a text, and + joins texts."""
    lines = filled([f"{name} = +{name}" for name in names], WIDTH - len(INDENT))
    return [*lines[:-1], lines[-1][:-1] + ";"] if lines else []


def parted(helpers: Helpers, writer: Statements, name: str, size: int) -> tuple[list[str], list[str], list[str]]:
    """A long program in functions that pass values through an array, since an engine keeps all values of one function on its
    stack: the statements that call them, the texts of the results, and the functions."""
    program, names = writer.program, writer.names
    parts, slots = cut(program, size)
    lines: list[str] = []
    calls = [*wrapped("const given = [", [names[p.var] for p in program.params], "];"),
             f"const work = new Array({slots}), found = new Array({len(program.results)});"]
    for k, part in enumerate(parts):
        writer = Statements(helpers, alone(program, part), names)
        own = helpers.named(f"{name}_part{k}")
        inside = [*(f"const {names[program.params[i].var]} = given[{i}];" for i in part.params),
                  *(f"const {names[var]} = work[{slot}];" for var, slot in part.loads),
                  *writer.computed(),
                  *(f"work[{slot}] = {names[var]};" for var, slot in part.stores),
                  *(f"found[{i}] = {writer.piece(atom)[0]};" for i, atom in part.results)]
        lines += [f"function {own}(given, work, found) {{", *(INDENT + line for line in inside), "}", ""]
        calls.append(f"{own}(given, work, found);")
    return calls, [f"found[{i}]" for i in range(len(program.results))], lines


def described(p: Param) -> str:
    """An input as an object with what a slider is made of."""
    shape = f"[{', '.join(quoted(text(x)) for x in p.var.shape)}]"
    known = [("name", quoted(p.name)), *([("shape", shape)] if p.var.shape else []),
             *([("whole", "true")] if p.var.integer else []),
             *((k, number(x)[0]) for k, x in (("value", p.default), ("min", p.low), ("max", p.high)) if x is not None)]
    return f"{{{', '.join(f'{k}: {x}' for k, x in known)}}}"


def key(name: str) -> str:
    """The name of a property: a plain one would set the prototype if it is called __proto__."""
    return '["__proto__"]' if name == "__proto__" else quoted(name) if not name.isascii() else name


# ---------------------------------------------------------------- the table as functions

def in_library(op: Primitive) -> bool:
    """True for a function of `operations`: one that JavaScript has, or `HELPERS`, or a long composition."""
    if op.name in (LANGUAGE.definitions or ()) or op.static or op.name == "dup" or isinstance(op, TableSum):
        return False
    return bool(op.llvm or op.libm) or (op.value is not None and len(composition(op, ()).equations) > LONGEST_COMPOSITION)


def operations(name: str, used: Collection[str]) -> str:
    """An object of this name with the operations used as functions, and what they call in front of it."""
    helpers, entries = Helpers(LANGUAGE, [name]), []
    for op in (x for x in (*TABLE.values(), INDEX_POWER) if x.name in used and in_library(x)):
        args = "abc"[:op.arity]
        e = Equation((Var(),), op, tuple([Var(x, truth=op.kind(i) == "t") for i, x in enumerate(args)]))
        entries.append(f"{op.name}: ({', '.join(args)}) => {helpers.operation(e, [(x, ATOM) for x in args])[0]}")
    return "\n".join([*helpers.lines, f"const {name} = {{", *(f"{INDENT}{entry}," for entry in entries), "};", ""])
