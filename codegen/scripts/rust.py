"""Rust as a language that programs are written in, and the module of a program of any rank, which needs nothing but `std`.

    pub struct Outputs { pub v: f64, pub C: Vec<f64> }
    pub fn NAME(M: usize, …, x: f64, A: &[f64], …) -> Result<Outputs, &'static str> { … }

Sizes come first, tensors are row-major. An Err says where lengths or sizes do not fit, or that a subscript is outside that is
read. Functions are those of `f64`; what it lacks, or computes in its own way, is that of the C library, which `std` links.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from adcli.codegen.c.language import Helpers, Language, LoopHead, SumForm, constant, letters, listed, quoted, wrapped
from adcli.codegen.c.loop_nests import LoopStatements
from adcli.codegen.c.spelling import operator
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.codegen.emission import EmitOptions, commented
from adcli.codegen.rows.instructions import DEFINITIONS
from adcli.lang.ir import Equation, Param, Primitive, Program, Var, has_tensors, shape_of
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.names import words
from adcli.lang.ir.primitives import TABLE
from adcli.lang.passes.pipeline import evaluation_program
from adcli.lang.tree.notation import ATOM, INDENT, Piece

WORDS = words("""
abstract as async await become box break const continue crate do dyn else enum extern f64 false final fn for gen i32 if impl in
isize let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof union
unsafe unsized use usize virtual where while yield Err Ok Option Outputs Result Self Some None Vec String str bool vec
""")
RESULT = "Result<Outputs, &'static str>"
METHODS = {"fabs": "abs", "log": "ln", "log1p": "ln_1p", "expm1": "exp_m1", "pow": "powf", "fma": "mul_add", "fmax": "max",
           "fmin": "min"}
"""Functions of `f64` by other names than those of C."""
OF_C = ("erf", "erfc", "gamma", "lgamma", "asinh", "acosh", "atanh", "fdim")
"""Operations that are functions of the C library."""
HELPERS = {
    "max": """
fn $max(x: f64, y: f64) -> f64 {
    // the larger; NaN where one is NaN; 0.0 is above -0.0
    if x > y { x } else if y > x { y } else if x == y && x != 0.0 { x } else { x + y }
}""",
    "min": """
fn $min(x: f64, y: f64) -> f64 {
    // the smaller; NaN where one is NaN; -0.0 is below 0.0
    if x < y { x } else if y < x { y } else if x == y && x != 0.0 { x } else { -(-x - y) }
}""",
    "copysign": """
fn $copysign(x: f64, y: f64) -> f64 {
    // of NaN the sign is nothing
    if y < 0.0 || (y == 0.0 && y.is_sign_negative()) { -f64::abs(x) } else { f64::abs(x) }
}""",
    "powi": """
fn $powi(x: f64, n: f64) -> f64 {
    // the product of n factors x; for n < 0 its reciprocal
    let (mut z, mut left) = (1.0, f64::abs(n) as u64);
    while left > 0 {
        let longer: f64 = z * x;
        let settled = longer == z || longer == -z || longer != longer;
        left -= 1;
        z = if settled && left % 2 != 0 && x.is_sign_negative() { -longer } else { longer };
        if settled { break; }
    }
    if n < 0.0 { 1.0 / z } else { z }
}""",
}


def of_c(name: str) -> dict[str, str]:
    """A function of the C library, and one that calls it."""
    op = TABLE[name]
    given, args = (", ".join(form.format(x) for x in "xy"[:op.arity]) for form in ("{}: f64", "{}"))
    return {f"c_{name}": f'\nunsafe extern "C" {{\n    #[link_name = "{op.c}"]\n    fn $c_{name}({given}) -> f64;\n}}',
            name: f"\nfn ${name}({given}) -> f64 {{\n    unsafe {{ $c_{name}({args}) }}\n}}"}


number = partial(constant, nan="f64::NAN", infinity="f64::INFINITY")


def spelling(op: Primitive) -> str | None:
    if op.c is None or op.name in OF_C or op.name in HELPERS:
        return None
    return "%" if op.name == "fmod" else f"f64::{METHODS.get(op.c, op.c)}" if op.c.isalnum() else op.c


def spelled(e: Equation, spelling: str, parts: Sequence[Piece]) -> Piece:
    if spelling == "?:":
        test, one, other = (text for text, _ in parts)
        return f"(if {test} {{ {one} }} else {{ {other} }})", ATOM
    return operator(spelling, parts)


FUNCTION = """\
fn {name}({parameters}) -> f64 {{
{body}    {value}
}}"""
TABLE_SUM = """\
const {table}: [[f64; {width}]; {count}] = [
{rows}
];
fn {name}({parameters}) -> f64 {{
    let mut {total} = 0.0;
    for &[{columns}] in {table}.iter() {{
{body}        {total} += {value};
    }}
    {total}
}}"""


def loop(x: LoopHead) -> list[str]:
    """The range of the first test, and a way out where another fails."""
    span = f"{x.low}..{x.high}"
    return [f"for {x.name} in {f'({span}).rev()' if x.down else span}", *(f"if !({test}) {{ break; }}" for test in x.tests[1:])]


LANGUAGE = Language(
    name="Rust", words=WORDS, identifier=letters, number=number, spelling=spelling, operation=spelled,
    function=FUNCTION, parameter="{}: f64", table_sum=SumForm(TABLE_SUM, "    [{}],"), definitions=DEFINITIONS,
    helpers=HELPERS | {key: text for name in OF_C for key, text in of_c(name).items()},
    declaration=lambda var, name, text: f"let {name} = {text};", comment=lambda lines: commented(lines, "//").splitlines(),
    expressions=lambda names, helpers: WholeNumbers(names, {"floor": "isize::div_euclid", "least": "isize::min",
                                                            "greatest": "isize::max"}.__getitem__),
    loop=loop, test="if {}", whole="let ", constant="let ", variable="let mut ", as_number="({} as f64)",
    as_subscript="({} as isize)", element="{}[({}) as usize]",
    required='if !({}) {{ return Err("a subscript that is read is outside"); }}')


def emit(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    helpers = Helpers(LANGUAGE, [options.name])
    body = RustStatements(helpers, evaluation_program(program) if has_tensors(program) else helpers.prepared(program))
    lines, ends = body.lines(), body.ends()
    given = [*(f"{n}: usize" for n in body.sizes.values()), *map(body.parameter, body.inputs, program.params)]
    kinds = ["Vec<f64>" if shape_of(r.atom) else "f64" for r in program.results]
    fields = [f"pub {n}: {kind}," for n, kind in zip(body.outputs, kinds, strict=True)]
    fails = any("return Err(" in line for line in lines)
    shapes = [p.name + shape_text(p.var.shape) for p in program.params if p.var.shape]
    calling = [f"call: {options.name}({listed([x.partition(':')[0] for x in given])}) gives Outputs {{{listed(body.outputs)}}}",
               *([f"tensors are row-major: {listed(shapes)}"] if shapes else [])]
    return commented([*header, *calling], "//") + "\n".join([
        "#![allow(dead_code, non_snake_case, unused_mut, unused_parens, unused_variables)]", "",
        "pub struct Outputs {", *(INDENT + f for f in fields), "}", "", *helpers.lines,
        *wrapped(f"pub fn {options.name}(", given, f") -> {RESULT if fails else 'Outputs'} {{"),
        *(INDENT + line for line in lines), INDENT + (f"Ok({ends})" if fails else ends), "}", ""])


class RustStatements(LoopStatements):
    """Writes the body of a function of Rust."""

    def parameter(self, name: str, p: Param) -> str:
        kind = "i32" if p.var.integer else "f64"
        return f"{name}: {f'&[{kind}]' if p.var.shape else kind}"

    def lines(self) -> list[str]:
        """The statements, in front of them the sizes, which must fit, and the arrays that are written."""
        made = [*self.own_outputs(), *(v for v, _ in self.slots)]
        places = [f"let mut {self.values[v]} = vec![0.0; ({self.whole.product(v.shape)}) as usize];" for v in made]
        return [*self.fitting(), *places, *self.computed(), *self.copies()]

    def fitting(self) -> Iterator[str]:
        for n in self.sizes.values():
            yield f"let {n} = {n} as isize;"
        for name, n in self.counted.items():
            yield f"let {n} = {self.values[self.counts[name].var]} as isize;"
            yield required(f"{n} >= 0", f"{name} is below 0")
        yield from self.sized(self.divisor_tests())
        for p, n in zip(self.given.params, self.inputs, strict=True):
            if p.var.shape:
                yield required(f"{n}.len() as isize == {self.whole.product(p.var.shape)}", f"{p.name} has another length")
        yield from self.sized(self.size_tests())

    def sized(self, tests: Iterable[tuple[str, str]]) -> Iterator[str]:
        return (required(test, f"sizes do not fit: {why}".rstrip(": ")) for test, why in tests)

    def copies(self) -> Iterator[str]:
        """Outputs that no nest has written: arrays that are also something else."""
        for r, n in zip(self.given.results, self.outputs, strict=True):
            if isinstance(r.atom, Var) and r.atom.shape and self.values[r.atom] != n:
                yield f"let {n}: Vec<f64> = {self.values[r.atom]}.iter().map(|x| *x as f64).collect();"

    def ends(self) -> str:
        """The value of the function."""
        values = [n if shape_of(r.atom) else self.piece(r.atom)[0] for r, n in zip(self.given.results, self.outputs, strict=True)]
        return f"Outputs {{ {', '.join(n if n == x else f'{n}: {x}' for n, x in zip(self.outputs, values, strict=True))} }}"


def required(test: str, message: str) -> str:
    return f"if !({test}) {{ return Err({quoted(message)}); }}"
