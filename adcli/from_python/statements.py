"""Statements of Python: a function is a list of what is still to be done, so that a `return`, `break` or `continue` under a
condition is a choice between two ways to go on."""
from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from adcli.from_python.arrays import SUBSCRIPT
from adcli.from_python.expressions import subscripts_of
from adcli.from_python.frame import ZERO
from adcli.from_python.loops import SizeLoops, name_of
from adcli.from_python.reading import Advice, names_in
from adcli.from_python.values import Absent, Array, Defined, Indexed, KnownDict, PythonRange, Several, imported, stacked
from adcli.lang.ir.affine import Affine, affine, product
from adcli.lang.ir.errors import AdError
from adcli.readers.draft import Ref, leaves

LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
VIEWS = frozenset(("asarray", "transpose", "t", "squeeze", "atleast_1d", "diagonal", "item", "contiguous"))
"""Functions whose result may be their argument."""
FEW_TURNS = 64
"""Turns of a loop that are written out without a look for anything better."""


END = object()
"""The end of a turn of a loop, behind which the loop itself is still to be done."""


class Turns(NamedTuple):
    """A loop that is written out, from the turn with this number on."""

    node: ast.For
    items: list[Any]
    first: int = 0


class PythonStatements(SizeLoops):
    """The statements of a function."""

    def result(self, function: ast.FunctionDef | ast.Lambda) -> Any:
        return self.value(function.body) if isinstance(function, ast.Lambda) else self.run([*reversed(function.body)])

    def run(self, todo: list[Any]) -> Any:
        """Do what is to be done, the last of the list first; gives what is returned."""
        outer = self.reading.part
        try:
            while todo:
                s = todo.pop()
                self.reading.part = s.node if isinstance(s, Turns) else s
                if isinstance(s, ast.Return):
                    return None if s.value is None else self.value(s.value)
                if isinstance(s, ast.Raise):
                    return Absent("raises an error")
                if isinstance(s, ast.If):
                    c = self.truth(s.test)
                    if c.known is not None:
                        todo += reversed(s.body if c.known else s.orelse)
                    elif leaving(s.body) or leaving(s.orelse):
                        return self.two_ways(c, s, todo)
                    else:
                        self.both(c, s)
                elif s is not END:
                    self.step(s, todo)
        finally:
            self.reading.part = outer
        return None

    def step(self, s: Any, todo: list[Any]) -> None:
        """Do a statement of loops, or one that is followed by the next one."""
        if isinstance(s, ast.For | ast.While) and s.orelse:
            raise self.fault("'else' of a loop cannot be read")
        if isinstance(s, ast.Break | ast.Continue):
            while todo.pop() is not END:
                pass
            if isinstance(s, ast.Break):
                todo.pop()
        elif isinstance(s, ast.For):
            self.loop(s, todo)
        elif isinstance(s, Turns):
            if s.first < len(s.items):
                item = s.items[s.first]
                self.unpack(s.node.target, item)
                self.share(s.node.target, None, item)
                todo += [s._replace(first=s.first + 1), END, *reversed(s.node.body)]
        elif isinstance(s, ast.While):
            c = self.truth(s.test)
            if c.known is None:
                self.at(s.test, self.settle_constant, c)
                raise self.fault("this condition depends on a value, so the number of turns is not known", Advice.NUMBER_OF_STEPS,
                                 s.test)
            self.reading.counted()
            if c.known:
                todo += [s, END, *reversed(s.body)]
        else:
            self.statement(s)

    def two_ways(self, c: Array, s: ast.If, todo: list[Any]) -> Any:
        """The results of both ways to the end of the function, and a choice between them."""
        found = [self.arm_of(arm, todo)[1] for arm in (s.body, s.orelse)]
        yes, no = (self.undefined(x, y) for x, y in (found, found[::-1]))
        if yes is None or no is None:
            raise self.fault("one way through this 'if' returns nothing", "return a value on every way to the end")
        made = self.choice(c, yes, no)
        if isinstance(made, Absent):
            raise self.fault("the two ways through this 'if' return results of different kinds", "return the same names in both")
        return made

    def arm_of(self, arm: Sequence[ast.stmt], todo: Sequence[Any]) -> tuple[PythonStatements, Any]:
        """The frame of an arm of an `if`, and what is returned on that way, on which this is still to be done."""
        frame = self.beside(dict(self.values), arm=True, conditional=True)
        return frame, frame.run([*todo, *reversed(arm)])

    def undefined(self, value: Any, other: Any) -> Any:
        """NaN where an error would be raised, in the place of each part of the other result."""
        if not isinstance(value, Absent):
            return value
        if isinstance(other, Several):
            return Several([self.undefined(value, x) for x in other.items], other.kind)
        if isinstance(other, KnownDict):
            return KnownDict({k: self.undefined(value, x) for k, x in other.items.items()})
        return self.known(float("nan"))

    def both(self, c: Array, s: ast.If) -> None:
        """An `if` that goes on behind its arms: what they assign is a choice."""
        arms = [self.arm_of(arm, [])[0].values for arm in (s.body, s.orelse)]
        changed = [n for n in dict.fromkeys([*arms[0], *arms[1]]) if arms[0].get(n) is not arms[1].get(n)]
        if len(changed) > 1 and c.variable is None and not self.steps:
            c = self.at(s.test, self.line, "case", c)
        for name in changed:
            yes, no = (a.get(name, Absent("is assigned in one arm of an 'if' only")) for a in arms)
            absent = next((x for x in (yes, no) if isinstance(x, Absent)), None)
            self.values[name] = absent or self.bound(name, self.choice(c, yes, no))

    def loop(self, s: ast.For, todo: list[Any]) -> None:
        """A loop as one of the language, or written out: each turn is done before what follows."""
        over = self.value(s.iter)
        size = self.at(s.iter, self.turns, over)
        as_one = ast.copy_location(ast.For(s.target, s.iter, guarded(s.body), []), s)
        if size is not None:
            if left_early(as_one.body):
                raise self.fault("a loop over a size cannot be left early", Advice.KEEP)
            self.share(s.target, None, None)
            self.over_size(as_one, size)
        elif not isinstance(over, PythonRange) or not self.many(over, as_one):
            todo.append(Turns(s, self.at(s.iter, self.each_of, over)))

    def many(self, over: PythonRange, s: ast.For) -> bool:
        """Try a loop of many turns as one of the language; False where it has to be written out."""
        low, high = over.low.number, over.high.number
        turns = 0 if low is None or high is None or over.step.number is None else len(range(low, high, over.step.number))
        if turns < FEW_TURNS or left_early(s.body):
            return False
        values, lines = dict(self.values), list(self.lines)
        try:
            self.over_size(s, Indexed(affine(turns), lambda t: self.whole(over.low + product(t, over.step))))
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
                    self.unpack(t, found)
                for t in targets:
                    self.share(t, value, found)
                if len(targets) > 1 and not (isinstance(found, Array) and not found.shape):
                    self.shared |= {t.id for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.unpack(target, self.value(value))
            case ast.AugAssign():
                self.augmented(s)
            case ast.Expr(value=value):
                self.expression(value)
            case ast.FunctionDef():
                self.values[s.name] = Defined(s, self.values)
            case ast.Pass() | ast.Assert():
                pass
            case ast.Import() | ast.ImportFrom():
                self.values.update(imported(s))
            case _:
                raise self.fault(f"'{NAMES.get(type(s).__name__, type(s).__name__.lower())}' cannot be read")

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
            self.shared |= {target.id} | names_in(value or target)

    def own(self, target: ast.expr, name: str) -> None:
        """AdError where an element is assigned of what may have another name, too."""
        if name in self.shared and not self.by_reference:
            raise self.fault(f"'{name}' may be the same array as another name",
                             f"make it one of its own: {name} = {name}.copy()", target)

    def augmented(self, s: ast.AugAssign) -> None:
        if self.added_to_element(s):
            return
        left, right = self.value(s.target), self.value(s.value)
        if isinstance(left, Array) and left.whole == ZERO and isinstance(s.target, ast.Name) and isinstance(s.op, ast.Add):
            self.bind(s.target.id, self.at(s.value, self.as_array, right))
        else:
            self.unpack(s.target, self.combined(type(s.op), (left, s.target), (right, s.value)))

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
            value = self.binary(ast.Sub, self.known(0), value)
        self.store_element(base, self.places(t, base), value, "+=")
        return True

    def places(self, target: ast.Subscript, base: Array) -> list[Affine]:
        """The subscripts of an element."""
        parts = zip(subscripts_of(target), base.shape, strict=False)
        return [self.at(target, self.inside, self.affine(p, SUBSCRIPT), e) for p, e in parts]

    def expression(self, node: ast.expr) -> None:
        """An expression that stands alone: a docstring, or a list that gets longer."""
        match node:
            case ast.Constant() | ast.Call(ast.Name("print")):
                pass
            case ast.Call(ast.Attribute(ast.Name(name), "append" | "extend" as how)) \
                    if isinstance(old := self.values.get(name), Several):
                self.own(node, name)
                args = [self.value(a) for a in node.args]
                self.values[name] = Several([*old.items, *(args if how == "append" else self.each_of(args[0]))], old.kind)
            case _:
                raise self.fault("a call whose result nobody uses cannot be read", "assign its result to a name")

    # Elements.

    def store(self, target: ast.expr, value: Any) -> None:
        """x[i] = value."""
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name | ast.Subscript):
            raise self.fault("this target cannot be read", "assign to a name, or to an element x[i] of one", target)
        base = self.value(target.value)
        self.own(target, name_of(target))
        if isinstance(base, KnownDict):
            self.unpack_into(target.value, KnownDict({**base.items, self.key(target.slice): value}))
            return
        parts = subscripts_of(target)
        if any(isinstance(p, ast.Slice) for p in parts):
            raise self.fault("a slice as a target cannot be read", "assign the elements in a loop over range", target)
        places = [self.affine(p, SUBSCRIPT) for p in parts]
        if isinstance(base, Array) and base.items is None and base.shape and isinstance(target.value, ast.Name):
            if base.opened is None:
                base = self.values[target.value.id] = self.opened(target.value.id, base)
            self.store_element(base, self.places(target, base), self.as_array(value))
            return
        items = base if isinstance(base, Several) or base.items is not None else None
        if items is None or any(x.number is None for x in places):
            raise self.fault("this element cannot be assigned", Advice.ELEMENTS, target)
        self.unpack_into(target.value, self.with_item(items, [x.number or 0 for x in places], value, target))

    def unpack_into(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
        else:
            self.store(target, value)

    def with_item(self, base: Any, places: Sequence[int], value: Any, target: ast.expr) -> Any:
        """A list or an array with one element replaced."""
        items, k = list(base.items), places[0]
        if not -len(items) <= k < len(items):
            raise self.fault(f"there are {len(items)} elements, and none at {k}", None, target)
        if len(places) > 1:
            value = self.with_item(items[k], places[1:], value, target)
        elif isinstance(value, Array) and not value.shape:
            value = self.bound(name_of(target), value)
        items[k] = value
        if isinstance(base, Several):
            return Several(items, base.kind)
        if isinstance(value, Array) and value.shape != base.shape[1:]:
            self.fit(value.shape, base.shape[1:])
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


def left_early(body: Sequence[ast.stmt]) -> bool:
    return leaving(body) or returns(body)


NAMES = {"With": "with", "Try": "try", "ClassDef": "class", "Delete": "del", "Nonlocal": "nonlocal", "Global": "global",
         "Match": "match", "AsyncFunctionDef": "async def"}
