"""PythonStatements of Python: a function is a list of what is still to be done, so that a `return`, `break` or `continue` under a
condition is a choice between two ways to go on."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from adcli.from_python.arrays import SUBSCRIPT
from adcli.from_python.expressions import subscripts_of
from adcli.from_python.loops import SizeLoops, name_of
from adcli.from_python.reading import Advice
from adcli.from_python.values import (
    Absent,
    Array,
    Defined,
    Indexed,
    KnownDict,
    PythonRange,
    Several,
    known,
    scalar,
    stacked,
    whole,
)
from adcli.lang.ir.affine import Affine, affine, product
from adcli.lang.ir.errors import AdError
from adcli.readers.draft import Ref, leaves, number

LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
VIEWS = frozenset(("asarray", "transpose", "t", "squeeze", "atleast_1d", "diagonal", "item", "contiguous"))
"""Functions whose result may be their argument."""
FEW_TURNS = 64
"""Turns of a loop that are written out without a look for anything better."""


class Turn(NamedTuple):
    """The beginning of a turn of a loop: its variable takes a value."""

    target: ast.expr
    value: Any
    node: ast.For


class LoopEnd(NamedTuple):
    """Where `continue` (the end of a turn) and `break` (that of the loop) go on."""

    end: bool


class Repeat(NamedTuple):
    """Where the condition of a `while` is asked again."""

    loop: ast.While


Todo = ast.stmt | Turn | LoopEnd | Repeat


class PythonStatements(SizeLoops):
    """The statements of a function."""

    def run(self, todo: list[Todo]) -> Any:
        """Do what is to be done, the last of the list first; gives what is returned."""
        while todo:
            s = todo.pop()
            if isinstance(s, Turn):
                self.unpack(s.target, s.value, s.node)
                self.share(s.target, None, s.value)
            elif isinstance(s, ast.Return):
                return None if s.value is None else self.value(s.value)
            elif isinstance(s, ast.Raise):
                return Absent("raises an error")
            elif isinstance(s, ast.Break | ast.Continue):
                while not (isinstance(m := todo.pop(), LoopEnd) and (m.end or isinstance(s, ast.Continue))):
                    pass
            elif isinstance(s, ast.If):
                c = self.truth(s.test)
                if c.known is not None:
                    todo += reversed(s.body if c.known else s.orelse)
                elif any(leaving(n) for n in (s.body, s.orelse)):
                    return self.two_ways(c, s, todo)
                else:
                    self.both(c, s)
            elif isinstance(s, ast.For):
                self.loop(s, todo)
            elif isinstance(s, ast.While):
                if s.orelse:
                    raise self.fault(s, "'else' of a loop cannot be read")
                todo += [LoopEnd(True), Repeat(s)]
            elif isinstance(s, Repeat):
                turn, s = s, s.loop
                c = self.truth(s.test)
                if c.known is None:
                    self.settle_constant(c, s.test)
                    raise self.fault(s.test, "this condition depends on a value, so the number of turns is not known",
                                     Advice.NUMBER_OF_STEPS)
                self.reading.counted(s)
                if c.known:
                    todo += [turn, LoopEnd(False), *reversed(s.body)]
            elif isinstance(s, ast.stmt):
                self.statement(s)
        return None

    def two_ways(self, c: Array, s: ast.If, todo: list[Todo]) -> Any:
        """The results of both ways to the end of the function, and a choice between them."""
        found = [self.arm_of(arm, todo)[1] for arm in (s.body, s.orelse)]
        yes, no = (self.undefined(x, y, s) for x, y in (found, found[::-1]))
        if yes is None or no is None:
            raise self.fault(s, "one way through this 'if' returns nothing", "return a value on every way to the end")
        made = self.choice(c, yes, no, s)
        if isinstance(made, Absent):
            raise self.fault(s, "the two ways through this 'if' return results of different kinds",
                             "return the same names in both")
        return made

    def arm_of(self, arm: Sequence[ast.stmt], todo: Sequence[Todo]) -> tuple[PythonStatements, Any]:
        """The frame of an arm of an `if`, and what is returned on that way, on which this is still to be done."""
        frame = self.within(dict(self.values), True)
        frame.conditional = True
        return frame, frame.run([*todo, *reversed(arm)])

    def undefined(self, value: Any, other: Any, node: ast.AST) -> Any:
        """NaN where an error would be raised, in the place of each part of the other result."""
        if not isinstance(value, Absent):
            return value
        if isinstance(other, Several):
            return Several([self.undefined(value, x, node) for x in other.items], other.kind)
        if isinstance(other, KnownDict):
            return KnownDict({k: self.undefined(value, x, node) for k, x in other.items.items()})
        return scalar(number(float("nan"), self.span(node)))

    def both(self, c: Array, s: ast.If) -> None:
        """An `if` that goes on behind its arms: what they assign is a choice."""
        arms = [self.arm_of(arm, [])[0].values for arm in (s.body, s.orelse)]
        changed = [n for n in dict.fromkeys([*arms[0], *arms[1]]) if arms[0].get(n) is not arms[1].get(n)]
        if len(changed) > 1 and c.variable is None and not self.steps:
            c = self.line("case", c, self.span(s.test))
        for name in changed:
            yes, no = (a.get(name, Absent("is assigned in one arm of an 'if' only")) for a in arms)
            made = no if isinstance(no, Absent) else self.choice(c, yes, no, s)
            if isinstance(yes, Absent):
                made = yes
            self.values[name] = self.bound(name, made, self.span(s)) if isinstance(made, Array) else made

    def loop(self, s: ast.For, todo: list[Todo]) -> None:
        """A loop written out: each turn is done before what follows."""
        if s.orelse:
            raise self.fault(s, "'else' of a loop cannot be read")
        over, written_out = self.value(s.iter), s
        s = ast.copy_location(ast.For(s.target, s.iter, guarded(s.body), []), s)
        size = self.turns(over, s.iter)
        if size is not None:
            if leaving(s.body) or returns(s.body):
                raise self.fault(s, "a loop over a size cannot be left early",
                                 Advice.KEEP)
            self.share(s.target, None, None)
            self.over_size(s, size)
            return
        if isinstance(over, PythonRange) and self.many(over, s):
            return
        items = self.each_of(over, s.iter)
        todo.append(LoopEnd(True))
        for item in reversed(items):
            todo += [LoopEnd(False), *reversed(written_out.body), Turn(s.target, item, s)]

    def many(self, over: PythonRange, s: ast.For) -> bool:
        """Try a loop of many turns as one of the language; False where it has to be written out."""
        low, high = over.low.number, over.high.number
        turns = 0 if low is None or high is None or isinstance(over.step, Affine) else len(range(low, high, over.step))
        if turns < FEW_TURNS or leaving(s.body) or returns(s.body):
            return False
        values, lines = dict(self.values), list(self.lines)
        try:
            self.over_size(s, Indexed(affine(turns), lambda t: whole(over.low + product(t, affine(over.step)), self.span(s))))
        except AdError:
            self.values.clear()
            self.values.update(values)
            self.lines[:] = lines
            return False
        return True

    def statement(self, s: ast.stmt) -> None:
        match s:
            case ast.Assign(targets=targets, value=value):
                found = self.value(value)
                for t in targets:
                    self.unpack(t, found, s)
                for t in targets:
                    self.share(t, value, found)
                if len(targets) > 1 and not (isinstance(found, Array) and not found.shape):
                    self.shared |= {t.id for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.unpack(target, self.value(value), s)
            case ast.AugAssign():
                self.augmented(s)
            case ast.Expr(value=value):
                self.expression(value)
            case ast.FunctionDef():
                self.values[s.name] = Defined(s, self.values)
            case ast.Pass() | ast.Assert():
                pass
            case ast.Import() | ast.ImportFrom():
                self.values.update(self.reading.imported(s))
            case _:
                raise self.fault(s, f"'{NAMES.get(type(s).__name__, type(s).__name__.lower())}' cannot be read")

    def share(self, target: ast.expr, value: ast.expr | None, found: Any) -> None:
        """Keep in mind which names may be one array or list, so that no element of them is assigned; without a `value`, any."""
        if isinstance(target, ast.Tuple | ast.List):
            pairs = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts) else None
            for k, t in enumerate(target.elts):
                self.share(t, pairs[k] if pairs else None, None)
            return
        if not isinstance(target, ast.Name):
            return
        self.shared.discard(target.id)
        if isinstance(found, Array) and not found.shape:
            return
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in VIEWS:
            value = value.args[0] if value.args else value.func.value
        if value is None or isinstance(value, ast.Name | ast.Subscript | ast.Attribute | ast.IfExp | ast.BoolOp):
            self.shared |= {target.id, *(n.id for n in ast.walk(value or target) if isinstance(n, ast.Name))}

    def own(self, target: ast.expr, name: str) -> None:
        """AdError where an element is assigned of what may have another name, too."""
        if name in self.shared:
            raise self.fault(target, f"'{name}' may be the same array as another name",
                             f"make it one of its own: {name} = {name}.copy()")

    def augmented(self, s: ast.AugAssign) -> None:
        if self.added_to_element(s):
            return
        left, right = self.value(s.target), self.value(s.value)
        if isinstance(left, Several) and isinstance(right, Several):
            self.unpack(s.target, Several([*left.items, *right.items], left.kind), s)
            return
        a, b = self.as_array(left, s.target), self.as_array(right, s.value)
        if isinstance(s.target, ast.Name) and a.whole is not None and a.whole.number == 0 and isinstance(s.op, ast.Add):
            self.bind(s.target.id, b, s)
            return
        made = self.matrix_product(a, b, s) if isinstance(s.op, ast.MatMult) else self.binary(type(s.op), a, b, s)
        self.unpack(s.target, made, s)

    def added_to_element(self, s: ast.AugAssign) -> bool:
        """y[i] += e of an array whose elements are assigned in a loop is a sum."""
        t = s.target
        base = self.values.get(t.value.id) if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) else None
        if not isinstance(base, Array) or base.opened is None or not isinstance(s.op, ast.Add | ast.Sub):
            return False
        assert isinstance(t, ast.Subscript)
        self.own(t, name_of(t))
        value = self.number(s.value)
        if not value.shape and any(isinstance(x, Ref) and x.variable is base.opened.variable for x in leaves(value.element(()))):
            return False   # of elements of its own: no sum
        if isinstance(s.op, ast.Sub):
            value = self.binary(ast.Sub, known(0, self.span(s)), value, s)
        self.store_element(base, self.places(t, base), value, s, "+=")
        return True

    def places(self, target: ast.Subscript, base: Array) -> list[Affine]:
        """The subscripts of an element."""
        parts = zip(subscripts_of(target), base.shape, strict=False)
        return [self.inside(self.affine(p, SUBSCRIPT), e, target) for p, e in parts]

    def expression(self, node: ast.expr) -> None:
        """An expression that stands alone: a docstring, or a list that gets longer."""
        if isinstance(node, ast.Constant):
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) \
                and isinstance(old := self.values.get(node.func.value.id), Several) and node.func.attr in ("append", "extend"):
            self.own(node, node.func.value.id)
            args = [self.value(a) for a in node.args]
            more = args if node.func.attr == "append" else self.each_of(args[0], node)
            self.values[node.func.value.id] = Several([*old.items, *more], old.kind)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            return
        else:
            raise self.fault(node, "a call whose result nobody uses cannot be read", "assign its result to a name")

    # Elements.

    def store(self, target: ast.expr, value: Any, node: ast.AST) -> None:
        """x[i] = value."""
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name | ast.Subscript):
            raise self.fault(target, "this target cannot be read", "assign to a name, or to an element x[i] of one")
        base = self.value(target.value)
        self.own(target, name_of(target))
        if isinstance(base, KnownDict):
            self.unpack_into(target.value, KnownDict({**base.items, self.key(target.slice): value}), node)
            return
        parts = subscripts_of(target)
        if any(isinstance(p, ast.Slice) for p in parts):
            raise self.fault(target, "a slice as a target cannot be read", "assign the elements in a loop over range")
        places = [self.affine(p, SUBSCRIPT) for p in parts]
        if isinstance(base, Array) and base.items is None and base.shape and isinstance(target.value, ast.Name):
            if base.opened is None:
                base = self.values[target.value.id] = self.opened(target.value.id, base, node)
            self.store_element(base, self.places(target, base), self.as_array(value, node), node)
            return
        items = base if isinstance(base, Several) or base.items is not None else None
        if items is None or any(x.number is None for x in places):
            raise self.fault(target, "this element cannot be assigned",
                             Advice.ELEMENTS)
        self.unpack_into(target.value, self.with_item(items, [x.number or 0 for x in places], value, target), node)

    def unpack_into(self, target: ast.expr, value: Any, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
        else:
            self.store(target, value, node)

    def with_item(self, base: Any, places: Sequence[int], value: Any, node: ast.AST) -> Any:
        """A list or an array with one element replaced."""
        items, k = list(base.items), places[0]
        if not -len(items) <= k < len(items):
            raise self.fault(node, f"there are {len(items)} elements, and none at {k}")
        if len(places) > 1:
            value = self.with_item(items[k], places[1:], value, node)
        elif isinstance(value, Array) and not value.shape:
            value = self.bound(name_of(node), value, self.span(node))
        items[k] = value
        if isinstance(base, Several):
            return Several(items, base.kind)
        if isinstance(value, Array) and value.shape != base.shape[1:]:
            for x, y in zip(value.shape, base.shape[1:], strict=False):
                self.equal(x, y, node)
        return stacked(items) if items else Array((affine(0),), base.element, items=[])


def guarded(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of a turn with what follows a `continue` under the condition that there is none."""
    for k, s in enumerate(body):
        if isinstance(s, ast.Continue):
            return body[:k]
        if isinstance(s, ast.If) and leaving([s]):
            arms = [guarded([*arm, *body[k + 1:]]) for arm in (s.body, s.orelse)]
            return [*body[:k], ast.copy_location(ast.If(s.test, arms[0] or [ast.Pass()], arms[1]), s)]
    return body


def leaving(body: Sequence[ast.stmt]) -> bool:
    """True if a way through these statements ends the function or a turn of a loop around them."""
    for s in body:
        if isinstance(s, LEAVING):
            return True
        if isinstance(s, ast.If) and (leaving(s.body) or leaving(s.orelse)):
            return True
        if isinstance(s, ast.For | ast.While) and returns(s.body):
            return True
    return False


def returns(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return | ast.Raise) for s in body for n in ast.walk(s))


NAMES = {"With": "with", "Try": "try", "ClassDef": "class", "Delete": "del", "Nonlocal": "nonlocal", "Global": "global",
         "Match": "match", "AsyncFunctionDef": "async def"}
