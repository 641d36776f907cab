"""An expression of SymPy, written by `srepr` or `str`, as a program: its text is nearly Python's.

Symbols are inputs, bases of `Indexed` arrays whose extents are those of the subscripts, as C's pointers have them.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from types import SimpleNamespace

from adcli.codegen.scripts.symbolic import NAMES
from adcli.from_c.module import begun_again
from adcli.from_c.text import Kind
from adcli.lang.ir.errors import AdError, Source, alike

LOAD = ast.Load()
CALLED = {name: f"adcli.{row}" for row, name in reversed(NAMES.items())} | {
    name: f"scipy.special.{name}" for name in ("beta", "erfcinv")}
"""SymPy's functions of numbers, in the libraries of the tables."""
OPERATORS: dict[str, type[ast.operator]] = {"Add": ast.Add, "Mul": ast.Mult, "Pow": ast.Pow, "Mod": ast.Mod}
COMPARISONS: dict[str, type[ast.cmpop]] = {
    "StrictLessThan": ast.Lt, "LessThan": ast.LtE, "StrictGreaterThan": ast.Gt, "GreaterThan": ast.GtE, "Equality": ast.Eq,
    "Unequality": ast.NotEq, "Lt": ast.Lt, "Le": ast.LtE, "Gt": ast.Gt, "Ge": ast.GtE, "Eq": ast.Eq, "Ne": ast.NotEq}
RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan"}
CONSTANTS = {"pi": "pi", "E": "e", "oo": "inf", "nan": "nan", "EulerGamma": "euler_gamma"}
MATRICES = ("Matrix", "MutableDenseMatrix", "ImmutableDenseMatrix", "ImmutableMatrix", "Array", "ImmutableDenseNDimArray")
NAME = "f"
"""What the value is called."""


class SympyTree:
    """The tree of a text, in the terms of Python's reader."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.symbols: dict[str, Kind] = {}
        self.bound: list[str] = []
        self.named: dict[str, str] = {}

    def fault(self, node: ast.expr | ast.stmt, message: str, help: str | None = None) -> AdError:
        line = self.source.text.split("\n")[node.lineno - 1]
        start = self.source.start_of(node.lineno) + len(line.encode()[:node.col_offset].decode())
        length = len(ast.get_source_segment(self.source.text, node) or "")
        return AdError(message, (start, start + max(1, length)), help, self.source)

    def value(self, n: ast.expr) -> ast.expr:
        return ast.copy_location(self.made(n), n)

    def made(self, n: ast.expr) -> ast.expr:
        match n:
            case ast.Constant():
                return n
            case ast.Name(id=name):
                return self.symbol(name, n) if name in self.named or name in self.bound else self.name(name, n)
            case ast.BinOp(left=left, op=op, right=right):
                return ast.BinOp(self.value(left), op, self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return ast.UnaryOp(op, self.value(operand))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return ast.Compare(self.value(left), ops, [self.value(x) for x in others])
            case ast.Subscript(value=base, slice=at):
                return self.indexed(base, list(at.elts) if isinstance(at, ast.Tuple) else [at], n)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return ast.List([self.value(x) for x in items], LOAD)
            case ast.Call(func=ast.Name(id=name), args=args):
                try:
                    return self.call(name, args, n)
                except (IndexError, ValueError, ArithmeticError) as wrong:
                    if isinstance(wrong, AdError):
                        raise
                    raise self.fault(n, f"'{name}' cannot be read with these arguments") from None
            case ast.Attribute(value=ast.Name(id="S"), attr="Half"):
                return ast.Constant(0.5)
        raise self.fault(n, "this is no expression of SymPy that can be read", "write what sympy.srepr gives")

    def library(self, path: str, args: Sequence[ast.expr]) -> ast.expr:
        return ast.Call(ast.Name(path, LOAD), list(args), [])

    def name(self, name: str, n: ast.expr) -> ast.expr:
        if name in CONSTANTS:
            return ast.Attribute(ast.Name("numpy.", LOAD), CONSTANTS[name], LOAD)
        if name in ("True", "true", "False", "false"):
            return ast.Constant(name.lower() == "true")
        if name in ("I", "zoo"):
            raise self.fault(n, f"{name} cannot be read", "numbers are real here")
        return self.symbol(name, n)

    def symbol(self, name: str, n: ast.expr) -> ast.expr:
        name = self.named.get(name, name)
        name = re.sub(r"_*\W+_*", "_", name).strip("_") or "x"
        if name not in self.bound:
            self.symbols.setdefault(name, Kind(False))
        return ast.Name(name, LOAD)

    def indexed(self, base: ast.expr, at: Sequence[ast.expr], n: ast.expr) -> ast.expr:
        name = self.symbol(text_of(base) or "", base)
        if not isinstance(name, ast.Name) or not text_of(base):
            raise self.fault(n, "this has no subscripts", "write IndexedBase('x')[i]")
        self.symbols[name.id] = Kind(False, (None,) * len(at))
        parts = [self.value(x) for x in at]
        for x in (y for p in parts for y in ast.walk(p) if isinstance(y, ast.Name) and y.id in self.symbols):
            self.symbols[x.id] = Kind(True)
        whole = parts[0] if len(parts) == 1 else ast.Tuple(parts, LOAD)
        return ast.Subscript(name, whole, LOAD)

    # Statements.

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """A line of a module; a symbol is declared, and is no line."""
        match s:
            case ast.Import() | ast.ImportFrom():
                return []
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id="symbols" | "Symbol"),
                                                             args=[ast.Constant(value=str(names)), *_])):
                each = [t.id for t in ast.walk(target) if isinstance(t, ast.Name)]
                for own, name in zip(each, re.split(r"[\s,]+", names), strict=False):
                    self.named[own] = name
                    self.symbol(own, target)
                return []
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                found = self.value(value)
                self.bound.append(name)
                return [ast.copy_location(ast.Assign([target], found), s)]
        raise self.fault(s, "this statement cannot be read", "write name = expression")

    # Calls.

    def call(self, name: str, args: list[ast.expr], n: ast.Call) -> ast.expr:
        special: Callable[[list[ast.expr], ast.Call], ast.expr] | None = getattr(self, f"of_{name}", None)
        if special is not None:
            return special(args, n)
        if name == "Pow" and len(args) == 2 and isinstance(args[1], ast.Call) and ast.unparse(args[1]) == "Rational(1, 2)":
            return self.library("math.sqrt", [self.value(args[0])])
        if name in OPERATORS and args:
            return reduce(lambda x, y: ast.BinOp(x, OPERATORS[name](), y), map(self.value, args))
        if name in COMPARISONS and len(args) == 2:
            return ast.Compare(self.value(args[0]), [COMPARISONS[name]()], [self.value(args[1])])
        if name in RECIPROCALS and len(args) == 1:
            return ast.BinOp(ast.Constant(1), ast.Div(), self.library(f"math.{RECIPROCALS[name]}", [self.value(args[0])]))
        if name in ("And", "Or"):
            return ast.BoolOp(ast.And() if name == "And" else ast.Or(), [self.value(x) for x in args])
        if name in MATRICES:
            return self.library("numpy.array", [self.value(args[-1])])
        if name in CALLED:
            return self.library(CALLED[name], [self.value(x) for x in args])
        close = alike(name, [*CALLED, *OPERATORS, "Piecewise", "Sum", "log"])
        raise self.fault(n, f"'{name}' cannot be read", f"did you mean '{close}'?" if close else
                         "write it in functions that `adcli help sources` has")

    def of_Symbol(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.symbol(text_of(n) or "x", n)

    of_Dummy = of_Symbol

    def of_Integer(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.value(args[0])

    def of_Float(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        value = args[0].value if isinstance(args[0], ast.Constant) else None
        return ast.Constant(float(Fraction(value))) if isinstance(value, str | int | float) else self.value(args[0])

    def of_Rational(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.of_Float(args, n) if len(args) == 1 else ast.BinOp(self.value(args[0]), ast.Div(), self.value(args[1]))

    def of_Indexed(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.indexed(args[0], args[1:], n)

    def of_log(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        parts = [self.library("math.log", [self.value(x)]) for x in args]
        return parts[0] if len(parts) == 1 else ast.BinOp(parts[0], ast.Div(), parts[1])

    def of_Not(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return ast.UnaryOp(ast.Not(), self.value(args[0]))

    def of_LambertW(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.library("adcli.lambert_wm1" if len(args) > 1 else "adcli.lambert_w0", [self.value(args[0])])

    def of_zeta(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.library("adcli.hurwitz_zeta" if len(args) > 1 else "adcli.zeta", [*map(self.value, args)])

    def of_Heaviside(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.library("numpy.heaviside", [*map(self.value, args), *[ast.Constant(0.5)] * (2 - len(args))])

    def of_factorial(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.library("math.gamma", [ast.BinOp(self.value(args[0]), ast.Add(), ast.Constant(1))])

    def of_Piecewise(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        """Choices, the first condition that holds; NaN where none does."""
        found: ast.expr = ast.Attribute(ast.Name("numpy.", LOAD), "nan", LOAD)
        for pair in reversed(args):
            parts = pair.elts if isinstance(pair, ast.Tuple) else pair.args if isinstance(pair, ast.Call) else []
            if len(parts) != 2:
                raise self.fault(pair, "this is no value with its condition", "write (value, condition)")
            found = ast.IfExp(self.value(parts[1]), self.value(parts[0]), found)
        return found

    def of_Sum(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.over("builtins.sum", args, n)

    def of_Product(self, args: list[ast.expr], n: ast.Call) -> ast.expr:
        return self.over("numpy.prod", args, n)

    def over(self, function: str, args: list[ast.expr], n: ast.Call) -> ast.expr:
        """A sum over ranges, the first of which is the innermost."""
        ranges: list[tuple[str, ast.expr]] = []
        for limits in args[1:]:
            parts = limits.elts if isinstance(limits, ast.Tuple) else limits.args if isinstance(limits, ast.Call) else []
            if len(parts) != 3 or not (name := text_of(parts[0])):
                raise self.fault(limits, "this is no range", "write (i, 0, n - 1)")
            low, high = (self.value(x) for x in parts[1:])
            for x in (y for b in (low, high) for y in ast.walk(b) if isinstance(y, ast.Name) and y.id in self.symbols):
                self.symbols[x.id] = Kind(True)
            end = ast.BinOp(high, ast.Add(), ast.Constant(1))
            ranges.append((name, self.library("builtins.range", [low, end])))
        before, self.bound = self.bound, [*self.bound, *(name for name, _ in ranges)]
        made = self.value(args[0])
        self.bound = before
        for name, steps in ranges:
            index = ast.Name(name, ast.Store())
            each = ast.GeneratorExp(made, [ast.comprehension(index, steps, [], 0)])
            made = self.library(function, [each])
        return made


def text_of(n: ast.expr) -> str | None:
    """The name that stands in Symbol('x') or IndexedBase(Symbol('x')), or that is one."""
    match n:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="Symbol" | "Dummy" | "IndexedBase" | "Idx" | "Str"), args=[first, *_]):
            return text_of(first)
        case ast.Constant(value=str(name)):
            return name
    return None


def parsed(source: Source) -> tuple[list[ast.stmt], ast.expr]:
    """The statements of a module, and the expression that it ends with."""
    try:
        *lines, last = ast.parse(source.text.strip()).body or [ast.Pass(lineno=1, col_offset=0)]
    except SyntaxError as fault:
        at = min(source.start_of(fault.lineno or 1) + max(0, (fault.offset or 1) - 1), max(0, len(source.text) - 1))
        raise AdError(f"this is no expression of SymPy: {fault.msg}", (at, at + 1), "write what sympy.srepr gives",
                      source) from None
    except (RecursionError, MemoryError, ValueError):
        raise AdError("this is nested too deeply to be read", source=source) from None
    if not isinstance(last, ast.Expr | ast.Assign):
        raise SympyTree(source).fault(last, "this is no expression of SymPy", "write what sympy.srepr gives")
    return lines, last.value


def read(source: Source, name: str | None, given: Mapping[str, object], ranks: Mapping[str, int]) -> Source:
    """The program that an expression is, or a module that `--emit sympy` writes."""
    if name is not None:
        raise AdError(f"an expression of SymPy has no function '{name}'", source=source, help="leave it out")
    lines, root = parsed(source)
    tree = SympyTree(source)
    parts: Sequence[ast.expr] = root.values if isinstance(root, ast.Dict) else root.elts if isinstance(
        root, ast.Tuple | ast.List) else [root]
    if not parts:
        raise tree.fault(root, "this is no expression of SymPy", "write what sympy.srepr gives")
    names = [text_of(k) if k else None for k in root.keys] if isinstance(root, ast.Dict) else [
        NAME, *(f"{NAME}{k}" for k in range(2, len(parts) + 1))]
    try:
        body = [made for s in lines for made in tree.statement(s)]
        declared = [*tree.symbols]
        values = [tree.value(x) for x in parts]
        params = [ast.arg(n) for n in [*declared, *sorted(set(tree.symbols) - set(declared))]]
        keys: list[ast.expr | None] = [ast.Constant(name) for name in names]
        value = values[0] if names == [NAME] else ast.Dict(keys, values)
        body.append(ast.Return(value))
        arguments = ast.arguments([], params, None, [], [], None, [])
        function = ast.copy_location(ast.FunctionDef(NAME, arguments, body, [], None), root)
        ast.fix_missing_locations(function)
    except RecursionError:
        raise AdError("this is nested too deeply to be read", source=source) from None
    signature = SimpleNamespace(params=tree.symbols, outs=[], numbers=set(), returns=Kind(False))
    file = SimpleNamespace(signature=lambda _: signature, text=SimpleNamespace(comments=[]))
    return begun_again(source, ast.Module([function], []), function, file, given)


def names(text: str) -> list[str]:
    """No functions: a text is one expression."""
    return []
