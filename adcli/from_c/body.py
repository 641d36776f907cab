"""The body of a C function as statements of Python's tree."""
from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast as c

from adcli.from_c.expressions import FLIPPED, LOAD, OPERATORS, CExpressions, Pointer
from adcli.from_c.text import Kind
from adcli.from_c.tree import COUNTING, CFile, names, root, walk
from adcli.lang.ir.errors import AdError


class CBody(CExpressions):
    """The statements of a function."""

    def function(self, d: c.FuncDef) -> ast.FunctionDef:
        """The function with what it stores as a result."""
        assert self.signature is not None
        self.moving = {n.name for m in walk(d.body) if isinstance(m, c.Assignment | c.UnaryOp) and isinstance(
            n := m.lvalue if isinstance(m, c.Assignment) else m.expr, c.ID) and getattr(m, "op", "") in (*COUNTING, "+=", "-=")}
        moved = [(p, k) for p, k in self.signature.params.items() if k.dims and p in self.moving]
        body = [self.put(s, d.decl) for p, k in moved for s in self.placed(p, Pointer(self.signature.same.get(p, p), k), k, True)]
        body += self.block(d.body.block_items or [])
        if self.signature.outs and not (body and isinstance(body[-1], ast.Return)):
            body.append(self.returned(None))
        params = d.decl.type.args.params if d.decl.type.args else []
        args = ast.arguments([], [self.put(ast.arg(p.name, None), p) for p in params if p.name], None, [], [], None, [])
        made = ast.FunctionDef(self.signature.name, args, body or [self.put(ast.Pass(), d.decl)], [], None)
        return self.put(made, d)

    # Statements.

    def block(self, items: Sequence[c.Node]) -> list[ast.stmt]:
        self.scopes.append({})
        made = [s for n in items for s in self.statement(n)]
        self.scopes.pop()
        return made

    def arm(self, n: c.Node | None) -> list[ast.stmt]:
        return [] if n is None else self.block(n.block_items or [] if isinstance(n, c.Compound) else [n])

    def statement(self, n: c.Node) -> list[ast.stmt]:
        outer, self.before = self.before, []
        visit = getattr(self, f"do_{type(n).__name__}", None)
        if visit is None:
            raise self.fault(f"'{type(n).__name__.lower()}' cannot be read", INSTEAD.get(type(n).__name__), n)
        made = self.at(n, visit, n)
        made, self.before = [self.put(s, n) for s in (*self.before, *made)], outer
        return made

    def do_Compound(self, n: c.Compound) -> list[ast.stmt]:
        return self.block(n.block_items or [])

    def do_EmptyStatement(self, n: c.EmptyStatement) -> list[ast.stmt]:
        return []

    do_Pragma = do_EmptyStatement

    def do_Decl(self, n: c.Decl) -> list[ast.stmt]:
        return self.declared(n)

    def do_DeclList(self, n: c.DeclList | c.ExprList) -> list[ast.stmt]:
        return [s for d in (n.decls if isinstance(n, c.DeclList) else n.exprs) for s in self.statement(d)]

    do_ExprList = do_DeclList

    def declared(self, d: c.Decl) -> list[ast.stmt]:
        kind = self.file.kind(d.type, d)
        if isinstance(d.type, c.PtrDecl):
            if d.init is None:
                raise self.fault("a pointer that is set later cannot be read", "write x[i] in its place")
            return self.placed(d.name, self.pointer(d.init), kind, d.name in self.moving)
        if "static" in d.storage and self.signature and d.name in stores(self.file.definitions[self.signature.name].body):
            raise self.fault(f"'{d.name}' has another value in the next call", "pass it in, or declare it without static")
        if kind.dims:
            if d.init and kind.dims[0] is None:
                kind = kind._replace(dims=(c.Constant("int", str(len(d.init.exprs)), d.coord), *kind.dims[1:]))
        elif d.init is None and kind.fields is None:
            self.declare(d.name, kind)
            return []
        value = self.unset(kind, kind.dims) if d.init is None else self.filled(d.init, kind.dims, kind)
        local = self.declare(d.name, kind)
        return [ast.Assign([self.name(local.name)], value)]

    def placed(self, name: str, p: Pointer, kind: Kind, moves: bool) -> list[ast.stmt]:
        """A pointer by the array that it points into, and a whole number that says where."""
        over_rows = bool(p.before) and p.offset is not None
        at = (p.by if over_rows else p.offset) or (ast.Constant(0) if moves else None)
        made: list[ast.stmt] = []
        if at is not None:
            local = self.declare(f"{name}_at", Kind(True))
            made = [ast.Assign([self.name(local.name)], at)]
            p = p._replace(by=self.name(local.name)) if over_rows else p._replace(offset=self.name(local.name))
        self.declare(name, kind._replace(dims=(None, *kind.dims[1:])), p)
        return made

    def unset(self, kind: Kind, dims: tuple[Any, ...]) -> ast.expr:
        """The first value of what has none: of a struct that of its fields."""
        if kind.fields is None:
            return self.call("c.unset", [ast.Tuple([self.value(x) for x in dims], LOAD)])
        each = {name: self.unset(k, (*dims, *k.dims)) for name, k in kind.fields.items()}
        return ast.Dict([ast.Constant(name) for name in each], [*each.values()])

    def filled(self, init: c.Node, dims: tuple[Any, ...], kind: Kind) -> ast.expr:
        """The value of a list of elements, zeros for those that are not given; a struct has those of its fields."""
        if kind.fields is not None and (dims or isinstance(init, c.InitList)):
            return self.of_fields(init, dims, kind)
        if not dims:
            init = init.exprs[0] if isinstance(init, c.InitList) and init.exprs else init
            return ast.Constant(0) if isinstance(init, c.InitList) else self.as_kind(self.value(init), init, kind)
        return self.call("numpy.array", [ast.List([self.filled(x, dims[1:], kind) for x in self.items(init, dims)], LOAD)])

    def items(self, init: c.Node, dims: tuple[Any, ...]) -> list[c.Node]:
        """The elements of a list, with empty ones for those that are not given."""
        if not isinstance(init, c.InitList) or any(isinstance(x, c.NamedInitializer) for x in init.exprs) or (
                len(dims) > 1 and not all(isinstance(x, c.InitList) for x in init.exprs) and not zero(init)):
            raise self.fault("these elements cannot be read", "write a list for each row: {{1.0, 2.0}, {3.0, 4.0}}", init)
        given = [] if zero(init) else init.exprs
        return [*given, *(c.InitList([], init.coord) for _ in range(self.constant(dims[0]) - len(given)))]

    def of_fields(self, init: c.Node, dims: tuple[Any, ...], kind: Kind) -> ast.expr:
        """The fields of a struct, of an array of structs those of each."""
        assert kind.fields is not None
        if dims:
            rows = [x.exprs if isinstance(x, c.InitList) else [x] for x in self.items(init, dims)]
            given = {name: c.InitList([r[k] if k < len(r) else c.InitList([], init.coord) for r in rows], init.coord)
                     for k, name in enumerate(kind.fields)}
        else:
            given = dict((x.name[0].name, x.expr) if isinstance(x, c.NamedInitializer) else (name, x)
                         for name, x in zip(kind.fields, init.exprs, strict=False))
        empty = c.InitList([], init.coord)
        values = [self.filled(given.get(name, empty), (*dims, *k.dims), k) for name, k in kind.fields.items()]
        return ast.Dict([ast.Constant(name) for name in kind.fields], values)

    def target(self, n: c.Node) -> Any:
        """What an assignment changes: of a pointer the place where it is."""
        if not (isinstance(n, c.ID) and (self.local(n).at or self.local(n).kind.dims) and not self.one(self.pointer(n))):
            return self.at(n, self.element, n)
        p = self.pointer(n)
        at = p.by or p.offset
        if not isinstance(at, ast.Name):
            raise self.fault("this array is no pointer", f"write {n.name}[i] with an index that moves", n)
        return self.name(at.id)

    def do_Assignment(self, n: c.Assignment) -> list[ast.stmt]:
        op, moving = n.op[:-1], isinstance(n.lvalue, c.ID) and self.kind_of(n.lvalue).dims != ()
        if moving and not op:
            raise self.fault("a pointer that gets another array cannot be read", "declare one for each: const double *p = y;")
        target = self.target(n.lvalue)
        whole, value = moving or self.whole(n.lvalue), self.value(n.rvalue)
        if not op:
            return [ast.Assign([target], self.as_kind(value, n.rvalue, Kind(whole)))]
        if op in OPERATORS and not (whole and (op == "/" or not self.whole(n.rvalue))):
            made = ast.AugAssign(target, OPERATORS[op](), value)
            made.whole = whole   # type: ignore[attr-defined]
            return [made]
        found = self.arithmetic(op, self.value(n.lvalue), value, whole and self.whole(n.rvalue))
        if whole and not self.whole(n.rvalue):
            found = self.call("builtins.int", [found])
        return [ast.Assign([target], found)]

    def do_UnaryOp(self, n: c.UnaryOp) -> list[ast.stmt]:
        if n.op not in COUNTING:
            return self.do_expression(n)
        kind = ast.Add() if n.op[-1] == "+" else ast.Sub()
        return [ast.AugAssign(self.target(n.expr), kind, ast.Constant(1))]

    def do_expression(self, n: c.Node) -> list[ast.stmt]:
        if not (isinstance(n, c.Cast) and getattr(n.to_type.type.type, "names", []) == ["void"]):
            self.value(n)
            if not self.before:
                raise self.fault("a value that nobody uses", "assign it, or leave it out")
        return []

    do_FuncCall = do_BinaryOp = do_Cast = do_ID = do_TernaryOp = do_Constant = do_expression

    def do_If(self, n: c.If) -> list[ast.stmt]:
        return [self.put(ast.If(self.value(n.cond), self.arm(n.iftrue) or [ast.Pass()], self.arm(n.iffalse)),
                         n.cond)]

    def do_Return(self, n: c.Return) -> list[ast.stmt]:
        return [self.returned(n.expr)]

    def returned(self, value: c.Node | None) -> ast.stmt:
        s = self.signature
        assert s is not None
        if self.main and s.status and value is not None:
            if not (isinstance(value, c.Constant) and value.value.strip("0uUlL") == ""):
                return ast.Raise()
            value = None
        if value is None and not s.outs:
            return ast.Return(None)
        found = None if value is None else self.as_kind(self.value(value), value, s.returns or Kind(False))
        if not s.outs:
            return ast.Return(found)
        outs = [self.name(p) for p in s.outs]
        if not self.main:
            values = [] if s.returns is None else [found or ast.Constant(0)]
            return ast.Return(ast.Tuple([*values, *outs], LOAD))
        pairs = dict(zip(s.outs, outs, strict=True))
        if found is not None:
            called = value.name if isinstance(value, c.ID) and value.name not in pairs else s.name
            pairs = {called: found, **pairs}
        return ast.Return(ast.Dict([ast.Constant(k) for k in pairs], list(pairs.values())))

    # Loops.

    def do_For(self, n: c.For) -> list[ast.stmt]:
        self.scopes.append({})
        made = self.counted(n)
        if made is None:
            first = [] if n.init is None else self.statement(n.init)
            step = [] if n.next is None else self.statement(n.next)
            test = ast.Constant(1) if n.cond is None else self.condition(n.cond)
            made = [*first, self.put(ast.While(test, [*self.turn(n.stmt, step), *step], []), n.cond or n)]
        self.scopes.pop()
        return made

    def turn(self, body: c.Node, step: list[ast.stmt] | None) -> list[ast.stmt]:
        self.steps.append(step)
        made = self.arm(body)
        self.steps.pop()
        return made

    def condition(self, n: c.Node) -> ast.expr:
        self.fixed += 1
        made = self.value(n)
        self.fixed -= 1
        return made

    def counted(self, n: c.For) -> list[ast.stmt] | None:
        """for (i = a; i < b; i++) as a loop over a range; None where it is none."""
        match n.init:
            case c.DeclList(decls=[c.Decl(name=name, init=low)]) if low is not None:
                inside = True
            case c.Assignment(op="=", lvalue=c.ID(name=name), rvalue=low):
                inside = False
            case _:
                return None
        sign, by = stepped(n.next, name) or (0, None)
        match n.cond:
            case c.BinaryOp(op=op, left=c.ID(name=left), right=high) if left == name:
                pass
            case c.BinaryOp(op=op, left=c.BinaryOp(op="+" | "-", left=c.ID(name=left), right=more), right=end) if left == name:
                high = c.BinaryOp("-" if n.cond.left.op == "+" else "+", end, more, end.coord)
            case c.BinaryOp(op=op, left=high, right=c.ID(name=right)) if right == name and op in FLIPPED:
                op = FLIPPED[op]
            case _:
                return None
        fits = op in (("<", "<=") if sign > 0 else (">", ">=")) or (op == "!=" and by is None)
        fixed = names([high, *([by] if by else [])])
        if not sign or not fits or {name, *fixed} & stores(n.stmt) or name in fixed or (by and not self.whole(by)):
            return None
        first, last = self.value(low), self.condition(high)
        local = self.declare(name, Kind(True)) if inside else self.local(n.init.lvalue)
        if not local.kind.whole:
            return None
        if op in ("<=", ">="):
            last = ast.BinOp(last, ast.Add() if sign > 0 else ast.Sub(), ast.Constant(1))
        given = [first, last]
        if sign < 0 or by is not None:
            step = ast.Constant(1) if by is None else self.condition(by)
            given.append(step if sign > 0 else ast.UnaryOp(ast.USub(), step))
        over = self.call("builtins.range", given)
        body = self.turn(n.stmt, []) or [ast.Pass()]
        made: list[ast.stmt] = [self.put(ast.For(self.name(local.name), over, body, []), n.cond)]
        if not inside:
            behind = self.call("c.behind", given)
            made = [ast.Assign([self.name(local.name)], self.value(low)), *made]
            if not any(isinstance(m, c.Break) for m in walk(n.stmt)):
                made.append(ast.Assign([self.name(local.name)], behind))
        return made

    def do_While(self, n: c.While) -> list[ast.stmt]:
        match n.cond:
            case c.UnaryOp(op="p--", expr=c.ID() as left) | c.BinaryOp(op=">", left=c.UnaryOp(
                    op="p--", expr=c.ID() as left), right=c.Constant(value="0")) if left.name not in names([n.stmt]):
                over, body = self.call("builtins.range", [self.value(left)]), self.turn(n.stmt, []) or [ast.Pass()]
                return [self.put(ast.For(self.name(f"{left.name}_left"), over, body, []), n.cond),
                        ast.Assign([self.at(left, self.element, left)], ast.Constant(-1))]
        return [self.put(ast.While(self.condition(n.cond), self.turn(n.stmt, []), []), n.cond)]

    def do_DoWhile(self, n: c.DoWhile) -> list[ast.stmt]:
        leave: list[ast.stmt] = [self.put(ast.If(self.condition(n.cond), [ast.Pass()], [ast.Break()]), n.cond)]
        return [self.put(ast.While(ast.Constant(1), [*self.turn(n.stmt, leave), *leave], []), n.cond)]

    def do_Switch(self, n: c.Switch) -> list[ast.stmt]:
        """The cases as choices, each to the end of those that it falls through to."""
        cases: list[tuple[list[c.Node], list[c.Node]]] = []
        for x in n.stmt.block_items or []:
            labels = [x.expr if isinstance(x, c.Case) else None] if isinstance(x, c.Case | c.Default) else []
            if cases and cases[-1][1] == [] and labels:
                cases[-1][0].extend(labels)
            elif labels:
                cases.append((labels, []))
            cases[-1][1].extend(x.stmts or [] if labels else [x])
        made: list[ast.stmt] = []
        for k in sorted(range(len(cases)), key=lambda k: (None not in cases[k][0], -k)):   # `default` is the last choice
            body = [m for _, each in cases[k:] for m in each]
            end = next((i for i, m in enumerate(body) if isinstance(m, c.Break | c.Return | c.Continue)), len(body))
            body = body[:end + (end < len(body) and not isinstance(body[end], c.Break))]
            if (b := next((m for x in body for m in inside(x) if isinstance(m, c.Break)), None)) is not None:
                raise self.fault("'break' under a condition in a 'switch' cannot be read", "write if and else", b)
            tests: list[ast.expr] = [ast.Compare(self.value(n.cond), [ast.Eq()], [self.value(x)]) for x in cases[k][0] if x]
            arm = self.block(body) or [ast.Pass()]
            if None in cases[k][0]:
                made = arm
            else:
                test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.Or(), tests)
                made = [self.put(ast.If(test, arm, made), n.cond)]
        return made

    def do_Break(self, n: c.Break) -> list[ast.stmt]:
        return [ast.Break()]

    def do_Continue(self, n: c.Continue) -> list[ast.stmt]:
        return [*(self.steps[-1] or []), ast.Continue()]


INSTEAD = {"Goto": "write a loop, or if and else"}


def zero(init: c.InitList) -> bool:
    """True for {0}, and for {} with nothing in it."""
    return not init.exprs or (len(init.exprs) == 1 and isinstance(init.exprs[0], c.Constant)
                              and init.exprs[0].value.strip("0.fFlL") == "")


def inside(n: c.Node) -> Iterator[c.Node]:
    """A statement and those in it, without those of loops and of a `switch` in it."""
    yield n
    if not isinstance(n, c.For | c.While | c.DoWhile | c.Switch):
        for _, m in n.children():
            yield from inside(m)


def stepped(n: c.Node | None, name: str) -> tuple[int, c.Node | None] | None:
    """Whether the variable of a loop grows or falls after a turn, and by what; by 1 where that is None."""
    match n:
        case c.UnaryOp(op="p++" | "++", expr=c.ID(name=found)) if found == name:
            return 1, None
        case c.UnaryOp(op="p--" | "--", expr=c.ID(name=found)) if found == name:
            return -1, None
        case c.Assignment(op="+=" | "-=", lvalue=c.ID(name=found), rvalue=by) if found == name:
            return 1 if n.op == "+=" else -1, by
        case c.Assignment(op="=", lvalue=c.ID(name=found), rvalue=c.BinaryOp(op="+" | "-", left=c.ID(name=left), right=by)) if (
                found == left == name):
            return 1 if n.rvalue.op == "+" else -1, by
    return None


def stores(n: c.Node) -> set[str]:
    """The names that a statement may change."""
    found = set()
    for m in walk(n):
        if isinstance(m, c.Assignment):
            found.add(root(m.lvalue))
        elif isinstance(m, c.UnaryOp) and m.op in (*COUNTING, "&"):
            found.add(root(m.expr))
    return found


def read_declarations(file: CFile) -> None:
    """Take in the functions, types and values of a file."""
    for d in file.declarations:
        if isinstance(d, c.Decl | c.Typedef):
            file.structs |= {x.name: x for x in walk(d.type) if isinstance(x, c.Struct) and x.decls}
        if isinstance(d, c.FuncDef):
            file.definitions[d.decl.name] = d
        elif isinstance(d, c.Typedef):
            file.typedefs[d.name] = d.type
        elif isinstance(d, c.Decl) and isinstance(d.type, c.Enum):
            enumerated(file, d.type)
        elif isinstance(d, c.Decl) and not isinstance(d.type, c.FuncDecl | c.Struct | c.Union):
            try:
                reader = CBody(file, None)
                file.body += reader.statement(d)
                file.globals[d.name] = reader.scopes[0][d.name].kind
            except AdError as fault:   # said where it is read
                file.unread[d.name] = fault


def enumerated(file: CFile, e: c.Enum) -> None:
    """The names of an enum as constants."""
    value = -1
    for x in e.values.enumerators if e.values else []:
        value = value + 1 if x.value is None else CBody(file, None).constant(x.value)
        file.globals[x.name] = Kind(True)
        file.body.append(file.put(ast.Assign([ast.Name(x.name, ast.Store())], ast.Constant(value)), x))
