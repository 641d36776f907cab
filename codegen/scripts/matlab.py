"""MATLAB as a language that programs are written in, and the function of a program of any rank, which Octave runs too.

    function [v, …] = NAME(x, A, …)

The file is called as the function. Inputs are numbers and arrays, defaults at the end of the list may be left out; vectors among
the results are columns. An error says where sizes do not fit one another or the subscripts, and where a subscript is outside that
is read. Where a function of MATLAB gives a complex number, it is NaN here, as in IEEE 754 and C99.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from adcli.codegen.c.language import Helpers, Language, LoopHead, SumForm, constant, letters, listed
from adcli.codegen.c.loop_nests import LoopStatements
from adcli.codegen.c.spelling import operator
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.emission import EmitOptions, commented
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.codegen.scripts.nested_arrays import ScriptTensors
from adcli.lang.ir import Equation, Param, Primitive, Program, Var
from adcli.lang.ir.affine import Affine, shape_text
from adcli.lang.ir.names import words
from adcli.lang.tree.notation import ATOM, COMPARISON, INDENT, SUM, Piece, enclosed

REAL = ("sqrt", "log", "log2", "log10", "log1p", "asin", "acos", "acosh", "atanh")
"""Functions that give complex numbers beyond their domains."""
WORDS = words("""
break case catch classdef continue else elseif end endfunction endif endfor for function global if otherwise parfor persistent
return spmd switch try while do until unwind_protect i j e pi eps ans nargin nargout
abs acos acosh all asin asinh atan atan2 atanh ceil cos cosh double erf erfc error exp expm1 fix floor gamma gammaln hypot int64
isinf isnan isreal log log10 log1p log2 max min mod nthroot numel permute pow2 prod reshape round sin sinh size sqrt tan tanh
typecast zeros NaN Inf
""")
"""Words of the language, and functions that are called."""
OWN = {"fabs": "abs", "trunc": "fix", "exp2": "pow2", "!": "~"}
"""Functions by other names than those of C."""
HELPERS = """
function z = $select(test, one, other)
    if test, z = one; else, z = other; end
end

function z = $max(x, y)
    % NaN where one is NaN; 0.0 is above -0.0
    if x > y, z = x; elseif y > x, z = y; elseif x == y && x ~= 0, z = x; else, z = x + y; end
end

function z = $min(x, y)
    % NaN where one is NaN; -0.0 is below 0.0
    if x < y, z = x; elseif y < x, z = y; elseif x == y && x ~= 0, z = x; else, z = -(-x - y); end
end

function z = $copysign(x, y)
    if y < 0 || (y == 0 && 1/y < 0), z = -abs(x); else, z = abs(x); end
end

function z = $powi(x, n)
    % the product of n factors x; for n < 0 its reciprocal
    z = 1;
    left = abs(n);
    while left > 0
        longer = z*x;
        settled = longer == z || longer == -z || longer ~= longer;
        left = left - 1;
        z = longer;
        if settled && mod(left, 2) ~= 0, z = $copysign(1, x)*longer; end
        if settled, break; end
    end
    if n < 0, z = 1/z; end
end

function z = $pow(x, y)
    % 1 to any power is 1; NaN in place of what is complex
    if x == 1 || y == 0, z = 1;
    elseif isnan(y), z = NaN;
    elseif ~(x < 0), z = x^y;
    elseif y == fix(y) || isinf(x), z = abs(x)^y;
    else, z = NaN; end
    if x < 0 && mod(y, 2) == 1, z = -z; end
end

function z = $cbrt(x)
    if x == 0 || isinf(x), z = x; else, z = nthroot(x, 3); end
end

function z = $fmod(x, y)
    % what is left of abs(x) when multiples of abs(y) are taken away, each without rounding
    b = abs(y);
    z = abs(x);
    if isnan(x) || isnan(y) || isinf(x) || y == 0, z = NaN; return; end
    while z >= b
        [~, p] = log2(z);
        [~, q] = log2(b);
        t = b*2^fix((p - q)/2)*2^(p - q - fix((p - q)/2));
        if t > z, t = t/2; end
        z = z - t;
    end
    z = $copysign(z, x);
end

function z = $gamma(x)
    if x < 0 && x == fix(x), z = NaN; elseif x == 0, z = 1/x; else, z = gamma(x); end
end

function z = $sinpi(x)
    % the argument is reduced exactly
    r = x - 2*fix(x/2);
    if abs(r) > 1, r = r - 2*$copysign(1, r); end
    if abs(r) > 0.5, r = $copysign(1, r) - r; end
    z = sin(pi*r);
end

function z = $lgamma(x)
    % log(abs(gamma(x)))
    if x > 0 || isnan(x), z = gammaln(x);
    elseif x == fix(x), z = Inf;
    elseif x > -0.5, z = gammaln(1 + x) - log(-x);
    else, z = log(pi/abs(x*$sinpi(x))) - gammaln(-x); end
end
""" + "".join(f"""
function z = ${name}(x)
    z = {name}(x);
    if ~isreal(z), z = NaN; end
end
""" for name in REAL)


OWN_FUNCTIONS = {text.partition("$")[2].partition("(")[0]: text for text in HELPERS.strip().split("\n\n")}
"""By name."""


FUNCTION = """\
function z = {name}({parameters})
{body}    z = {value};
end"""
TABLE_SUM = """\
function {total} = {name}({parameters})
    {table} = [ ...
{rows}
    ];
    {total} = 0;
    for {row} = 1:{count}
{body}        {total} = {total} + {value};
    end
end"""


number = partial(constant, nan="NaN", infinity="Inf")


def spelling(op: Primitive) -> str | None:
    return None if op.c is None or op.name in (*OWN_FUNCTIONS, "fma") else OWN.get(op.c, op.c)


def spelled(e: Equation, spelling: str, parts: Sequence[Piece]) -> Piece:
    if spelling == "!=":
        return " ~= ".join(enclosed(x, SUM) for x in parts), COMPARISON
    return operator(spelling, parts)


class MatlabNumbers(WholeNumbers):
    """Expressions of sizes and indices, which are numbers like any others."""

    negation, floored = "~", True

    def quotient(self, whole: str, divisor: str) -> Piece:
        return f"floor({whole} / {divisor})", ATOM

    def modulo(self, whole: Affine, by: Affine) -> Piece:
        return f"mod({self.text(whole)}, {self.text(by)})", ATOM


def loop(x: LoopHead) -> list[str]:
    """The range of the first test, and a way out where another fails."""
    span = f"{x.high} - 1:-1:{x.low}" if x.down else f"{x.low}:{x.high} - 1"
    return [f"for {x.name} = {span}", *(f"if ~({test}), break; end" for test in x.tests[1:])]


LANGUAGE = Language(
    name="MATLAB", words=WORDS, identifier=letters, number=number, spelling=spelling, operation=spelled, function=FUNCTION,
    table_sum=SumForm(TABLE_SUM, "        {}; ...", "{name} = {table}({row}, {place});"),
    definitions=DEFINITIONS, prefix="own_", helpers=OWN_FUNCTIONS,
    declaration=lambda var, name, text: f"{name} = {text};", comment=lambda lines: commented(lines, "%").splitlines(),
    expressions=lambda names, helpers: MatlabNumbers(names, {"least": "min", "greatest": "max"}.__getitem__),
    loop=loop, test="if {}", opens="", closes="end", element="{}({} + 1)", added="{0} = {0} {1} {3};",
    required="if ~({}), error('a subscript that is read is outside'); end")


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    helpers = Helpers(LANGUAGE, [options.name])
    body = MatlabStatements(helpers, program)
    lines = body.lines()
    shapes = [p.name + shape_text(p.var.shape) for p in program.params if p.var.shape]
    calling = [f"call: [{listed(body.outputs)}] = {options.name}({listed(body.inputs)}), in a file {options.name}.m",
               *([f"tensors are arrays: {listed(shapes)}"] if shapes else [])]
    head = f"function [{', '.join(body.outputs)}] = {options.name}({', '.join(body.inputs)})"
    return commented([*header, *calling], "%") + "\n".join([head, *(INDENT + x for x in lines), "end", "", *helpers.lines])


class MatlabStatements(ScriptTensors, LoopStatements):
    """Writes the body of a function."""

    def lines(self) -> list[str]:
        statements = list(self.computed())
        return [*self.taken(), *self.places(), *statements, *self.returned()]

    def input(self, p: Param, name: str) -> Iterator[str]:
        rank = len(p.var.shape)
        if p.default is not None:
            yield f"if nargin < {self.inputs.index(name) + 1}, {name} = {number(p.default)[0]}; end"
        if rank:
            shape = self.shapes[p.name] = self.helpers.named(f"{name}_shape")
            extents = ", ".join(f"size({name}, {d + 1})" for d in range(rank))
            yield f"{shape} = {f'[{extents}]' if rank > 1 else f'numel({name})'};"
        if rank > 1:
            yield self.required(f"numel({name}) == prod({shape})", f"{p.name} has more dimensions than {rank}")
        yield f"{name} = {f'reshape(permute(double({name}), {rank}:-1:1), [], 1)' if rank > 1 else f'double({name}(:))'};"
        if p.var.integer:
            yield self.required(f"all({name} == fix({name}))", f"{p.name} is no whole number")

    def extent(self, name: str, d: int) -> str:
        return f"{self.shapes[name]}({d + 1})"

    def required(self, test: str, message: str) -> str:
        quoted = message.replace("'", "''")
        return f"if ~({test}), error('%s', '{quoted}'); end"

    def places(self) -> Iterator[str]:
        """The arrays of results, and of what is kept between nests."""
        for v in dict.fromkeys([*self.own_outputs(), *(v for v, _ in self.slots)]):
            yield f"{self.values[v]} = zeros({self.whole.product(v.shape)}, 1);"

    def returned(self) -> Iterator[str]:
        """Results as they are returned, those of several dimensions in MATLAB's order."""
        for r, n in zip(self.given.results, self.outputs, strict=True):
            if not (isinstance(r.atom, Var) and r.atom.shape):
                yield f"{n} = {self.piece(r.atom)[0]};"
            elif (rank := len(r.atom.shape)) > 1:
                extents = ", ".join(self.whole.text(x) for x in reversed(r.atom.shape))
                yield f"{n} = permute(reshape({self.values[r.atom]}, [{extents}]), {rank}:-1:1);"
            elif self.values[r.atom] != n:
                yield f"{n} = {self.values[r.atom]};"
