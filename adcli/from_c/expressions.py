"""Expressions of C as those of Python's tree, and the places that pointers stand for."""
from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple, NoReturn

from pycparser import c_ast as c

from adcli.from_c.text import Kind, named
from adcli.from_c.tree import COPYING, COUNTING, CFile, CSignature, root
from adcli.lang.ir.errors import AdError
from adcli.readers.names import NAMED
from adcli.readers.origin import PartReader

OPERATORS: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div}
COMPARISONS: dict[str, type[ast.cmpop]] = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq}
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
OTHERS = {"round": "c.round", "fmax": "numpy.fmax", "fmin": "numpy.fmin", "rint": "numpy.rint", "nearbyint": "numpy.rint",
          "tgamma": "math.gamma", "abs": "builtins.abs", "labs": "builtins.abs", "fdim": "c.fdim"}
"""Functions of math.h that have another name in the tables, or are none of Python's."""
FUNCTIONS = {name: f"math.{name}" for name in NAMED["math"] - {"degrees", "radians", "gamma"}} | OTHERS
CONSTANTS = {"M_PI": "pi", "M_E": "e", "INFINITY": "inf", "HUGE_VAL": "inf", "NAN": "nan"}
NUMBERS = {"M_PI_2": math.pi / 2, "M_PI_4": math.pi / 4, "M_1_PI": 1 / math.pi, "M_2_PI": 2 / math.pi, "M_SQRT2": math.sqrt(2),
           "M_2_SQRTPI": 2 / math.sqrt(math.pi), "M_SQRT1_2": math.sqrt(0.5), "M_LN2": math.log(2), "M_LN10": math.log(10),
           "M_LOG2E": 1 / math.log(2), "M_LOG10E": 1 / math.log(10), "DBL_MAX": 1.7976931348623157e308, "DBL_EPSILON": 2.0**-52,
           "DBL_MIN": 2.0**-1022, "FLT_MAX": 3.4028234663852886e38, "FLT_EPSILON": 2.0**-23, "true": 1, "false": 0,
           "INT_MAX": 2**31 - 1, "PTRDIFF_MAX": 2**63 - 1, "SIZE_MAX": 2**64 - 1}
"""Constants of math.h, float.h and stdbool.h."""
LOAD = ast.Load()
"""The context of all names, also of targets until the tree is whole: see `read`."""


class Local(NamedTuple):
    """A name: what it is called in the program, its type, and where a pointer begins, in which array."""

    name: str
    kind: Kind
    at: Pointer | None = None


class Pointer(NamedTuple):
    """A place in an array, which may be a field of structs: the subscripts before the last one, where that begins, and how many
    elements further it is."""

    name: str
    kind: Kind
    before: list[ast.expr] = []   # noqa: RUF012
    offset: ast.expr | None = None
    by: ast.expr | None = None
    fields: tuple[str, ...] = ()

    @property
    def at(self) -> list[ast.expr]:
        """All subscripts."""
        return [*self.before, *([] if self.offset is None else [self.offset])]


class CExpressions(PartReader, ABC):
    """The expressions of a function; `signature` is None for what stands outside of all."""

    def __init__(self, file: CFile, signature: CSignature | None, main: bool = False) -> None:
        self.file, self.main, self.signature = file, main, signature
        self.scopes: list[dict[str, Local]] = [{n: Local(n, k) for n, k in file.globals.items()}]
        self.used: set[str] = set(file.globals)
        self.before: list[ast.stmt] = []
        self.steps: list[list[ast.stmt] | None] = []   # of the loops around: what `continue` does first
        self.fixed = 0
        self.moving: set[str] = set()   # names of pointers that move
        if self.signature:
            self.scopes.append({p: Local(self.signature.same.get(p, p), k) for p, k in self.signature.params.items()})
            self.used |= set(self.signature.params)

    def fault(self, message: str, help: str | None = None, node: c.Node | None = None) -> AdError:
        return self.file.fault(node or self.part, message, help)

    def put(self, made: Any, node: c.Node | None = None) -> Any:
        """A node with the place of a part."""
        return made if hasattr(made, "lineno") else self.file.put(made, node or self.part)

    @abstractmethod
    def function(self, d: c.FuncDef) -> ast.FunctionDef:
        """The function with what it stores as a result."""

    @abstractmethod
    def statement(self, n: c.Node) -> list[ast.stmt]:
        """A statement of C as statements."""

    # Names.

    def local(self, node: c.ID) -> Local:
        for scope in reversed(self.scopes):
            if node.name in scope:
                return scope[node.name]
        if node.name in self.file.unread:
            raise self.file.unread[node.name]
        if node.name in self.file.definitions or node.name in FUNCTIONS:
            raise self.fault(f"'{node.name}' is a function", "call it: a pointer to a function cannot be read", node)
        known = [n for s in self.scopes for n in s]
        raise self.fault(f"'{node.name}' is not declared",
                         named(known, node.name) or "declare it, or write its #define in this file", node)

    def declare(self, name: str, kind: Kind, at: Pointer | None = None) -> Local:
        """A new name, numbered where an outer one is hidden."""
        called, k = name, 1
        while called in self.used and any(s.get(name, Local("", kind)).name == called for s in self.scopes[:-1]):
            k += 1
            called = f"{name}_{k}"
        self.used.add(called)
        self.scopes[-1][name] = made = Local(called, kind, at)
        return made

    def name(self, text: str) -> ast.expr:
        return ast.Name(text, LOAD)

    def call(self, function: str, args: Sequence[ast.expr]) -> ast.expr:
        return ast.Call(self.name(function), list(args), [])

    # Types of expressions.

    def whole(self, n: c.Node) -> bool:
        """True if an expression is a whole number."""
        return self.kind_of(n).whole

    def kind_of(self, n: c.Node) -> Kind:
        """The type of an expression."""
        match n:
            case c.Constant():
                return Kind("float" not in n.type and "double" not in n.type)
            case c.ID(name=name) if (name in NUMBERS or name in CONSTANTS) and not any(name in s for s in self.scopes):
                return Kind(isinstance(NUMBERS.get(name), int))
            case c.ID():
                return self.local(n).kind
            case c.ArrayRef(name=inner) | c.UnaryOp(op="*", expr=inner):
                kind = self.kind_of(inner)
                return kind._replace(dims=kind.dims[1:])
            case c.StructRef(name=inner, field=field):
                return self.field(self.kind_of(inner), field)
            case c.Cast():
                return self.file.kind(n.to_type.type, n)
            case c.UnaryOp(expr=inner) | c.Assignment(lvalue=inner):
                return Kind(True) if n.op in ("!", "sizeof") else self.kind_of(inner)
            case c.BinaryOp(left=one, right=other) | c.TernaryOp(iftrue=one, iffalse=other):
                truth = isinstance(n, c.BinaryOp) and (n.op in COMPARISONS or n.op in ("&&", "||"))
                return Kind(truth or (self.whole(one) and self.whole(other)))
            case c.FuncCall(name=c.ID(name=name)):
                if name in self.file.definitions:
                    return self.file.signature(name).returns or Kind(False)
                return Kind(name in ("abs", "labs", "isnan", "isinf", "isfinite"))
        return Kind(False)

    def as_kind(self, value: ast.expr, n: c.Node, kind: Kind) -> ast.expr:
        """A value as a variable of a type holds it."""
        return self.call("builtins.int", [value]) if kind.whole and not self.whole(n) else value

    # Expressions.

    def value(self, n: c.Node) -> ast.expr:
        outer, self.part = self.part, n   # as `at` does, with one call less for each level of nesting
        try:
            return self.put(getattr(self, f"of_{type(n).__name__}", self.not_read)(n))
        finally:
            self.part = outer

    def not_read(self, n: c.Node) -> NoReturn:
        raise self.fault("this expression cannot be read", "write statements of their own")

    def of_Constant(self, n: c.Constant) -> ast.expr:
        text = n.value
        if n.type in ("string", "char"):
            raise self.fault(f"a {'text' if n.type == 'string' else 'character'} cannot be read", "numbers only are read")
        if "float" in n.type or "double" in n.type:
            text = text.rstrip("fFlL")
            return ast.Constant(float.fromhex(text) if text[:2] in ("0x", "0X") else float(text))
        text = text.rstrip("uUlL")
        return ast.Constant(int(text, 8) if len(text) > 1 and text.isdigit() and text[0] == "0" else int(text, 0))

    def of_ID(self, n: c.ID) -> ast.expr:
        declared = any(n.name in s for s in self.scopes)
        if not declared and n.name in CONSTANTS:
            return ast.Attribute(self.name("numpy."), CONSTANTS[n.name], LOAD)
        if not declared and n.name in NUMBERS:
            return ast.Constant(NUMBERS[n.name])
        local = self.local(n)
        if local.at is not None:
            return self.view(self.pointer(n))
        return self.name(local.name)

    def of_ArrayRef(self, n: c.ArrayRef) -> ast.expr:
        return self.element(n)

    def of_StructRef(self, n: c.StructRef) -> ast.expr:
        if root(n):
            return self.element(n)
        return self.subscript(self.value(n.name), [ast.Constant(n.field.name)])   # of what a call gives

    def of_CompoundLiteral(self, n: c.CompoundLiteral) -> ast.expr:
        kind = self.file.kind(n.type.type, n)
        return self.filled(n.init, kind.dims, kind)

    @abstractmethod
    def filled(self, init: c.Node, dims: tuple[Any, ...], kind: Kind) -> ast.expr:
        """The value of a list of elements."""

    def of_UnaryOp(self, n: c.UnaryOp) -> ast.expr:
        if n.op in COUNTING:
            return self.counting(n)
        if n.op == "*":
            return self.element(n)
        if n.op == "&":
            return self.view(self.pointer(n))
        if n.op == "sizeof":
            counts = self.elements(n)
            if counts is None:
                raise self.fault("the size of this is not known", "write the number of its elements")
            return multiplied(counts)
        kinds: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "!": ast.Not}
        if n.op not in kinds:
            raise self.fault(f"'{n.op}' cannot be read", "arithmetic is + - * / %")
        return ast.UnaryOp(kinds[n.op](), self.value(n.expr))

    def counting(self, n: c.UnaryOp, at: ast.expr | None = None) -> ast.expr:
        """i++ and ++i inside of an expression come before it; of a pointer it is the place `at` which counts."""
        self.hoisted(f"'{n.op[-2:]}'")
        before = at or self.value(n.expr)
        if n.op[0] == "p":
            name = self.declare(f"{root(n.expr)}_before", Kind(True)).name
            self.before.append(self.put(ast.Assign([self.name(name)], before)))
            before = self.name(name)
        self.before += self.statement(n)
        return before

    def of_BinaryOp(self, n: c.BinaryOp) -> ast.expr:
        left = self.value(n.left)
        self.fixed += n.op in ("&&", "||")
        right = self.value(n.right)
        self.fixed -= n.op in ("&&", "||")
        if n.op in ("&&", "||"):
            return ast.BoolOp(ast.And() if n.op == "&&" else ast.Or(), [left, right])
        if n.op in COMPARISONS:
            return ast.Compare(left, [COMPARISONS[n.op]()], [right])
        return self.arithmetic(n.op, left, right, self.whole(n.left) and self.whole(n.right))

    def constant(self, n: c.Node) -> int:
        """A number that the compiler knows."""
        from adcli.from_c.text import constant
        try:
            return constant(self.value(n), self.file.text.source)
        except AdError:
            raise self.fault("this has to be a number, where elements are given", "write the number", n) from None

    def arithmetic(self, op: str, left: ast.expr, right: ast.expr, whole: bool) -> ast.expr:
        if op == "%" or (op == "/" and whole):
            return self.call("c.remainder" if op == "%" else "c.quotient", [left, right])
        if op not in OPERATORS:
            raise self.fault(f"'{op}' cannot be read", "arithmetic is + - * / %")
        return ast.BinOp(left, OPERATORS[op](), right)

    def of_TernaryOp(self, n: c.TernaryOp) -> ast.expr:
        test = self.value(n.cond)
        self.fixed += 1
        made = ast.IfExp(test, self.value(n.iftrue), self.value(n.iffalse))
        self.fixed -= 1
        return made

    def of_Cast(self, n: c.Cast) -> ast.expr:
        if isinstance(n.to_type.type, c.PtrDecl):
            return self.value(n.expr)
        return self.as_kind(self.value(n.expr), n.expr, self.file.kind(n.to_type.type, n))

    def of_Assignment(self, n: c.Assignment) -> ast.expr:
        """An assignment inside of an expression comes before it."""
        self.hoisted("an assignment")
        self.before += self.statement(n)
        return self.value(n.lvalue)

    def hoisted(self, what: str) -> None:
        if self.fixed:
            raise self.fault(f"{what} here cannot be read, for it is not always made", "write it as a statement before")

    def of_FuncCall(self, n: c.FuncCall) -> ast.expr:
        called = n.name.name if isinstance(n.name, c.ID) else ""
        given = n.args.exprs if n.args else []
        if called in self.file.definitions:
            return self.own_call(called, given)
        if called in COPYING and len(given) == 3:
            return self.copied(called, given)
        plain = called[:-1] if called not in FUNCTIONS and called[-1:] in ("f", "l") else called
        if plain in FUNCTIONS:
            return self.call(FUNCTIONS[plain], [self.value(a) for a in given])
        if not called:
            raise self.fault("a function by a pointer cannot be called", "call it by its name")
        raise self.fault(f"there is no function '{called}' in this file, nor in math.h as it is read", named(
            [*FUNCTIONS, *self.file.definitions], called) or "write it in this file", n.name)

    def copied(self, name: str, given: Sequence[c.Node]) -> ast.expr:
        """Elements that are copied, or set to 0, one by one."""
        self.hoisted(f"'{name}'")
        counts = self.elements(given[2])
        if counts is None or (name == "memset" and self.constant(given[1]) != 0):
            raise self.fault(f"this {name} cannot be read", "write n*sizeof(double) as the size, or a loop")
        count = multiplied(counts)
        i = self.declare(f"{root(given[0])}_i", Kind(True)).name
        target, value = (ast.Constant(0) if name == "memset" and x is given[1] else self.at_pointer(
            self.moved(self.flat(self.pointer(x)), self.name(i))) for x in given[:2])
        over = self.call("builtins.range", [count])
        self.before.append(self.put(ast.For(self.name(i), over, [ast.Assign([target], value)], [])))
        return ast.Constant(0)

    def elements(self, n: c.Node) -> list[ast.expr] | None:
        """The factors of a number of elements; None for a number of bytes that is none of elements."""
        match n:
            case c.UnaryOp(op="sizeof", expr=c.Typename(type=type)):
                dims = self.file.kind(type, n).dims
            case c.UnaryOp(op="sizeof", expr=inner):
                dims = self.kind_of(inner).dims
            case c.BinaryOp(op="*", left=left, right=right):
                one, other = self.elements(left), self.elements(right)
                return [*one, self.value(right)] if one else None if other is None else [self.value(left), *other]
            case _:
                return None
        return None if None in dims else [ast.Constant(1), *map(self.value, dims)]

    def field(self, kind: Kind, field: c.ID) -> Kind:
        if kind.fields is None or field.name not in kind.fields:
            raise self.fault(f"there is no field '{field.name}'", named(kind.fields or (), field.name), field)
        return kind.fields[field.name]

    def own_call(self, name: str, given: Sequence[c.Node]) -> ast.expr:
        """A call of a function of the file. What it stores comes before the expression that it stands in."""
        s = self.file.signature(name)
        if len(given) != len(s.params):
            raise self.fault(f"'{name}' has {len(s.params)} parameter{'s' * (len(s.params) != 1)}, and {len(given)} are given")
        pairs = list(zip(s.params, given, strict=True))
        args = [self.argument(s, p, a) for p, a in pairs]
        s = self.variant(s, {p: ast.unparse(a) for p, a in zip(s.params, args, strict=True) if s.params[p].dims})
        targets = [self.argument(s, p, a) for p, a in pairs if p in s.outs]
        for base in dict.fromkeys(root(a) for p, a in pairs if p in s.outs):
            shared = [k for k, (p, a) in enumerate(pairs) if s.params[p].dims and root(a) == base and s.same.get(p, p) == p]
            numbers = [k for k in shared if pairs[k][0] in s.numbers]
            if 0 < len(numbers) < len(shared):
                raise self.fault(f"'{name}' gets an array and an element of it", "pass a copy of the element")
            if len(shared) > 1 and not numbers:
                self.apart(args, shared, f"{name}_{base}")
        call = self.call(s.name, args)
        if not s.outs:
            return call
        self.hoisted(f"'{name}' stores through a pointer, and its call")
        made = self.name(f"{name}_value")
        results = ast.Tuple([*([made] if s.returns else []), *targets], LOAD)
        self.before.append(self.put(ast.Assign([results], call)))
        return self.name(f"{name}_value") if s.returns else ast.Constant(0)

    def variant(self, s: CSignature, places: dict[str, str]) -> CSignature:
        """A function that gets one array by several parameters, and stores into it, as one of its own."""
        stored = {places[p] for p in s.outs}
        same = {p: next(q for q in places if places[q] == at) for p, at in places.items() if at in stored}
        if len({*same.values()}) == len(same):
            return s
        made = s._replace(name="_".join((s.name, *(f"{p}_{q}" for p, q in same.items() if p != q))), same=same,
                          outs=[p for p in s.params if same.get(p) == p])
        if made.name not in self.file.variants:
            self.file.variants[made.name] = None   # for one that calls itself
            self.file.variants[made.name] = type(self)(self.file, made).function(self.file.definitions[s.name])
        return made

    def argument(self, s: CSignature, p: str, a: c.Node) -> ast.expr:
        kind = s.params[p]
        if not kind.dims:
            return self.as_kind(self.value(a), a, kind)
        at = self.pointer(a)
        if p in s.numbers:
            return self.at(a, self.at_pointer, at)
        return self.at(a, self.view, self.flat(at) if len(kind.dims) == 1 else at)

    def flat(self, p: Pointer) -> Pointer:
        """The first element of an array of several dimensions, which are one for a pointer to an element."""
        rest = len(p.kind.dims) - len(p.before)
        if rest < 2:
            return p
        zeros: list[ast.expr] = [ast.Constant(0)] * (rest - 2)
        return p._replace(before=[*p.before, p.offset or ast.Constant(0), *zeros], offset=ast.Constant(0))

    def apart(self, args: list[ast.expr], shared: list[int], name: str) -> None:
        """Parts of one array that a function gets, each up to where the next one begins."""
        parts = self.call("c.apart", [args[k] for k in shared])
        self.before.append(self.put(ast.Assign([self.name(name)], parts)))
        for at, k in enumerate(shared):
            args[k] = self.subscript(self.name(name), [ast.Constant(at)])

    # Pointers and elements.

    def pointer(self, n: c.Node) -> Pointer:
        """The place that an expression points to."""
        match n:
            case c.ID():
                local = self.local(n)
                return local.at or Pointer(local.name, local.kind)
            case c.Cast():
                return self.pointer(n.expr)
            case c.UnaryOp(op="&"):
                return self.address(n.expr)
            case c.UnaryOp(op=op) if op in COUNTING:
                p = self.pointer(n.expr)
                at = self.counting(n, p.by or p.offset)
                return p._replace(by=at) if p.by else p._replace(offset=at)
            case c.ArrayRef() | c.StructRef() | c.UnaryOp(op="*"):
                p = self.address(n)
                if len(p.at) < len(p.kind.dims):
                    return p._replace(before=p.at, offset=None)
            case c.BinaryOp(op="+"):
                name = root(n.left)
                pointed = any(s[name].kind.dims or s[name].at for s in self.scopes if name in s)
                inner, by = (n.left, n.right) if pointed else (n.right, n.left)
                return self.moved(self.pointer(inner), self.value(by))
            case c.BinaryOp(op="-"):
                return self.moved(self.pointer(n.left), ast.UnaryOp(ast.USub(), self.value(n.right)))
        raise self.fault("this pointer cannot be read", "write an array, or a place in one: &x[i]", n)

    def moved(self, p: Pointer, by: ast.expr) -> Pointer:
        if p.before and p.offset is not None:   # over the ends of rows
            return p._replace(by=by if p.by is None else ast.BinOp(p.by, ast.Add(), by))
        return p._replace(offset=by if p.offset is None else ast.BinOp(p.offset, ast.Add(), by))

    def address(self, n: c.Node) -> Pointer:
        """The place of an element, or of a field."""
        match n:
            case c.ID():
                return Pointer((local := self.local(n)).name, local.kind)
            case c.ArrayRef():
                p = self.pointer(n.name)
                inner = isinstance(n.name, c.ArrayRef | c.StructRef) and p.offset is None
                return p._replace(offset=self.value(n.subscript)) if inner else self.moved(p, self.value(n.subscript))
            case c.UnaryOp(op="*"):
                return self.pointer(n.expr)
            case c.StructRef():
                p = self.pointer(n.name) if n.type == "->" else self.address(n.name)
                kind = self.field(p.kind, n.field)
                at = [*p.at, *[ast.Constant(0)] * (len(p.kind.dims) - len(p.at))] if not self.one(p) else []
                outer = p.kind.dims if at else ()
                return Pointer(p.name, kind._replace(dims=(*outer, *kind.dims)), at[:-1], at[-1] if at else None, None,
                               (*p.fields, n.field.name))
        return self.pointer(n)

    def base(self, p: Pointer) -> ast.expr:
        """The array that a place is in."""
        made = self.name(p.name)
        for f in p.fields:
            made = self.subscript(made, [ast.Constant(f)])
        return made

    def view(self, p: Pointer) -> ast.expr:
        """What is behind a pointer as an array."""
        made = self.base(p)
        parts = [*p.before, *([ast.Slice(p.offset)] if p.offset is not None else [])] if p.kind.dims else []
        if parts:
            made = self.subscript(made, parts)
        return self.subscript(made, [ast.Slice(p.by)]) if p.kind.dims and p.by is not None else made

    def subscript(self, base: ast.expr, parts: list[Any]) -> ast.expr:
        return self.put(ast.Subscript(base, parts[0] if len(parts) == 1 else ast.Tuple(parts, LOAD), LOAD))

    def element(self, n: c.Node) -> ast.expr:
        """An element, or the number behind a pointer to one."""
        return self.at_pointer(self.address(n))

    def one(self, p: Pointer) -> bool:
        """True for a parameter that points to one number, or one struct."""
        return self.signature is not None and p.name in self.signature.numbers and not p.fields

    def at_pointer(self, p: Pointer) -> ast.expr:
        if not p.kind.dims or self.one(p):
            return self.base(p)
        if p.by is not None:
            return self.subscript(self.view(p._replace(by=None)), [p.by])
        return self.subscript(self.base(p), p.at or [ast.Constant(0)])


def multiplied(factors: Sequence[ast.expr]) -> ast.expr:
    return reduce(lambda x, y: ast.BinOp(x, ast.Mult(), y), factors)
