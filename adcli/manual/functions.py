"""Facts about every function, from the table of primitives: form, domain, derivative, and where it is not smooth.

Nothing here is written per function. The derivative is the row's map with the seed 1 as mathematics writes it, without the cases
that no point of the domain is in, since the status names those points; they stand in `rule`, as the row has them.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adcli.lang.derive.derivatives import gradient
from adcli.lang.ir import LEVELS, Atom, Equation, Lit, Param, Primitive, Program, Result, Var
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rounded import Meaning, meaning
from adcli.lang.lower.frontend import parse
from adcli.lang.lower.library import prelude
from adcli.lang.operations.rule_programs import map_rule, status_rule
from adcli.lang.simplify.mathematics import mathematical
from adcli.lang.tree.notation import ALIASES, ATOM, MATRIX_CALLS, TENSOR_CALLS, Piece, constant, infix
from adcli.manual.markdown import BREAK

OF_MATRICES = "whole matrices (adcli help tensors)"
OF_TENSORS = "whole tensors (adcli help tensors)"
NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression: an operation on others, a name, or a number."""

    head: str | float
    args: tuple[Formula, ...] = ()


BRIEF = 4
"""Operations of a function of the prelude up to which its derivatives are shown; those of others are long."""
ZERO, ONE = Formula(0.0), Formula(1.0)


@dataclass(frozen=True, slots=True)
class NotSmooth:
    """A status and the points that have it; `wrt` is set where only the derivative by that argument has it."""

    level: str
    where: str
    wrt: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """Facts about a function or an operator."""

    name: str
    form: str
    about: str
    arguments: tuple[str, ...]
    domain: str
    derivatives: Mapping[str, str]
    status: tuple[NotSmooth, ...] = ()
    rule: Mapping[str, str] = field(default_factory=dict)
    latex: str | None = None
    example: str = ""
    """The constant that stands in the derivative where the function wants one: n = 3."""
    operator: bool = False


def functions(wanted: str | None = None) -> list[FunctionFacts]:
    """All functions in the order of the table, those of the prelude behind them, then the operators; or those of one name. A
    power has two, since a constant whole exponent has a rule of its own. One of tensors has no row: only by its name."""
    name = ALIASES.get(wanted, wanted) if wanted else None
    if name in MATRIX_CALLS or name in TENSOR_CALLS:
        args, about = (MATRIX_CALLS | TENSOR_CALLS)[name]
        domain = OF_MATRICES if name in MATRIX_CALLS else OF_TENSORS
        return [FunctionFacts(name, f"{name}({args})", about, tuple(args.split(", ")), domain, {})]
    rows = [described(row) for row in TABLE.values() if name in (None, row.spelled or row.name)]
    own = [composed(known) for known in prelude() if name in (None, known)]
    return [*[f for f in rows if not f.operator], *own, *[f for f in rows if f.operator]]


def names() -> list[str]:
    """The names that `functions` knows."""
    return list(dict.fromkeys([*[row.spelled or row.name for row in TABLE.values()], *prelude(), *ALIASES, *MATRIX_CALLS,
                               *TENSOR_CALLS]))


def called() -> list[str]:
    """The functions among them, without the names of operators."""
    return [n for n in names() if n in prelude() or (n in TABLE and not is_operator(TABLE[n]))]


# ---------------------------------------------------------------- one row

def described(row: Primitive) -> FunctionFacts:
    """The entry of a row of the table."""
    arguments = argument_names(row)
    name, text = row.spelled or row.name, usage(row)
    static = tuple((i, row.domain[i][0] + 1) for i in row.static)
    wrt = [a for i, a in enumerate(arguments) if row.maps and row.kind(i) == "r" and i not in row.static]
    rules = {a: written(map_formula(row, arguments.index(a), static, arguments)) for a in wrt}
    return FunctionFacts(
        name, f"{text[:-1]}, …)" if row.variadic else text, row.about, arguments, row.defined,
        dict(zip(wrt, partials(alone(row, arguments, dict(static)), wrt), strict=True)) if wrt else {},
        tuple(not_smooth(row, [Formula(a) for a in arguments])), rules, latex=row.latex, operator=is_operator(row),
        example=", ".join(f"{arguments[i]} = {constant(x)[0]}" for i, x in static))


def alone(row: Primitive, arguments: Sequence[str], static: Mapping[int, float]) -> Program:
    """The program of one operation on inputs from its domain."""
    args: list[Atom] = [Lit(static[i]) if i in static else Var(a, truth=row.kind(i) == "t") for i, a in enumerate(arguments)]
    params = [Param(v, v.name or "", low=low, high=high) for v, (low, high) in zip(args, row.domain, strict=False)
              if isinstance(v, Var)]
    outs = tuple(Var("v", truth=row.truth) for _ in row.signature.partition(">")[2])
    return Program(tuple(params), (Equation(outs, row, tuple(args)),), (Result("v", outs[0]),))


def partials(program: Program, wrt: Sequence[str]) -> list[str]:
    """The partial derivatives of an output, as mathematics writes them."""
    derived = mathematical(gradient(program, wrt))
    known: dict[Atom, Formula] = {p.var: Formula(p.name) for p in derived.params}
    return [written(formula_of(derived.equations, r.atom, known)) for r in derived.results[1:]]


def usage(row: Primitive) -> str:
    """A row applied to its arguments, as it is written."""
    return infix(row.spelled or row.name, [(a, ATOM) for a in argument_names(row)])[0]


def is_operator(row: Primitive) -> bool:
    return row.name == "dup" or not usage(row).startswith(f"{row.spelled or row.name}(")


def argument_names(row: Primitive) -> tuple[str, ...]:
    """The arguments as they are called in writing; of a row that takes any number, the first ones."""
    return tuple(row.args.removesuffix(", …").split(", "))


def map_formula(row: Primitive, position: int, static: tuple[tuple[int, float], ...], arguments: Sequence[str]) -> Formula:
    """The partial derivative by one argument, as the row has it."""
    rule = map_rule(row, position, static, row.arity)
    if rule is None:
        return ZERO
    fixed = {i: constant(x)[0] for i, x in static}
    known = known_names(row, rule.args, rule.z, [Formula(fixed.get(i, a)) for i, a in enumerate(arguments)]) | {rule.t: ONE}
    value = formula_of(rule.equations, rule.value, known)
    if rule.condition is None:
        return value
    return Formula("select", (formula_of(rule.equations, rule.condition, known), value, ZERO))


def not_smooth(row: Primitive, arguments: Sequence[Formula]) -> Iterator[NotSmooth]:
    for number, entry in enumerate(row.status):
        rule = status_rule(row, number, (), row.arity)
        where = formula_of(rule.equations, rule.value, known_names(row, rule.args, rule.z, arguments))
        level = LEVELS[entry.level] + f" from order {entry.order} on" * bool(entry.order)
        yield NotSmooth(level, written(where), None if entry.needs is None else written(arguments[entry.needs]))


def known_names(row: Primitive, args: Sequence[Atom], z: Var, arguments: Sequence[Formula]) -> dict[Atom, Formula]:
    """Formulas of the arguments, and of the result as a call of them."""
    return {**dict(zip(args, arguments, strict=True)), z: Formula(row.spelled or row.name, tuple(arguments))}


def composed(name: str) -> FunctionFacts:
    """The entry of a function of the prelude, which is another name for an expression."""
    arguments = tuple(p.name or "x" for p in prelude()[name].params)
    form = f"{name}({', '.join(arguments)})"
    program = parse(f"v = {form}\n")
    if len(program.equations) > BRIEF:
        return FunctionFacts(name, form, prelude().body(name), arguments, "where its expression is defined", {})
    known: dict[Atom, Formula] = {p.var: Formula(p.name) for p in program.params}
    value = written(formula_of(program.equations, program.results[0].atom, known))
    calls = [(e.op, [formula_of(program.equations, a, known) for a in e.args]) for e in program.equations]
    domain = " and ".join(where for op, args in calls if (where := defined(op, args)))
    return FunctionFacts(name, form, value, arguments, domain,
                         dict(zip(arguments, partials(program, arguments), strict=True)),
                         tuple(s for op, args in calls for s in not_smooth(op, args)))


def defined(row: Primitive, arguments: Sequence[Formula]) -> str:
    """The domain of a row in terms of these arguments."""
    shown = dict(zip(argument_names(row), map(written, arguments), strict=True))
    return re.sub("|".join(rf"\b{a}\b" for a in shown), lambda found: shown[found[0]], row.defined)


# ---------------------------------------------------------------- expressions

def formula_of(equations: Sequence[Equation], atom: Atom, known: Mapping[Atom, Formula]) -> Formula:
    """The value of an atom as one expression."""
    known_formulas = dict(known)

    def formula(a: Atom) -> Formula:
        return constant_formula(meaning(a.value)) if isinstance(a, Lit) else known_formulas[a]

    for e in equations:
        made = Formula(e.op.spelled or e.op.name, tuple([formula(a) for a in e.args]))
        known_formulas.update(dict.fromkeys(e.outs, tidy(made)))
    return formula(atom)


def constant_formula(meant: Meaning) -> Formula:
    """A constant as what it means: log(2), where the double is only near it."""
    return Formula(meant) if isinstance(meant, float) else Formula(meant[0], tuple([constant_formula(a) for a in meant[1:]]))


def tidy(formula: Formula) -> Formula:
    """Without factors of 1 and the sums with 0 that only turn −0 into 0, and with negations moved into comparisons."""
    match formula:
        case Formula("mul", (Formula(1.0), x)) | Formula("mul", (x, Formula(1.0))) | Formula("add", (x, Formula(0.0))):
            return x
        case Formula("dup", (x,)) | Formula("neg", (Formula("neg", (x,)),)) | Formula("not", (Formula("not", (x,)),)):
            return x
        case Formula("neg", (Formula(float(x)),)):
            return Formula(-x)
        case Formula("not", (Formula("and" | "or" as head, (x, y)),)):
            return Formula("or" if head == "and" else "and", (tidy(Formula("not", (x,))), tidy(Formula("not", (y,)))))
        case Formula("not", (Formula(str(head), args),)) if head in NEGATED:
            return Formula(NEGATED[head], args)
    return formula


def written(formula: Formula) -> str:
    """The expression in the language."""
    return piece(formula)[0]


def piece(formula: Formula) -> Piece:
    if isinstance(formula.head, float):
        return constant(formula.head)
    return infix(formula.head, [piece(a) for a in formula.args]) if formula.args else (formula.head, ATOM)


# ---------------------------------------------------------------- in a table

def row_of(f: FunctionFacts) -> tuple[str, str, str, str]:
    """The row of a table about a function, with a line for each partial derivative and each status."""
    alone = len(f.derivatives) == 1
    example = f" for {f.example}" if f.example else ""
    partials = [f"`{text if alone else f'{x}: {text}'}{example}`" for x, text in f.derivatives.items()]
    places = [f"`{s.level}{f' by {s.wrt}' if s.wrt else ''}: {s.where}`" for s in f.status]
    return f"`{f.form}`", meaning_of(f), BREAK.join(partials), BREAK.join(places)


def meaning_of(f: FunctionFacts) -> str:
    """Meaning of a function, with its domain if not everywhere."""
    return f"{f.about}, for {f.domain}" if f.domain else f.about
