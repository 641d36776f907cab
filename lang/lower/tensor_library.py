"""The functions of whole tensors that need no definition: those of lang/prelude/tensors.ad, which is read when a text calls one.

A name may have a definition for each number of dimensions of its arguments. All that stands in a definition has the place of the
call, so messages and statuses name that.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

from adcli.lang.ir.errors import Source
from adcli.lang.lower.library import FOLDER
from adcli.lang.syntax.parse import parse_tree
from adcli.lang.tree.nodes import (
    Assign,
    Call,
    Declare,
    Def,
    Node,
    Statement,
    TensorAssign,
    Token,
    Tree,
    TupleAssign,
    Typed,
    postorder,
    targets_of,
)
from adcli.lang.tree.notation import TENSOR_CALLS

PATH = FOLDER / "tensors.ad"


@lru_cache(maxsize=1)
def definitions() -> Mapping[str, Sequence[Def]]:
    """The definitions of each name."""
    found: dict[str, list[Def]] = {}
    for s in parse_tree(Source(PATH.name, PATH.read_text(encoding="utf-8"))).statements:
        assert isinstance(s, Def)
        found.setdefault(s.name.text, []).append(s)
    return found


def named_in(tree: Tree) -> Mapping[str, Sequence[Def]]:
    """The definitions of the names that a text has and gives no meaning of its own, after those that they call."""
    names = tree.names & TENSOR_CALLS.keys()
    own = {t.text for s in tree.statements for t in own_names(s)} if names else set()
    needed = {name: called_by(name) for name in names}
    found = set().union(*[{name, *more} for name, more in needed.items() if own.isdisjoint((name, *more))])
    return {name: choices for name, choices in definitions().items() if name in found} if found else {}


@lru_cache
def called_by(name: str) -> frozenset[str]:
    """The functions of the library that one calls, and those that these call."""
    direct = {n for d in definitions()[name] for s in d.body for n in calls_in(s) if n in TENSOR_CALLS and n != name}
    return frozenset(direct.union(*map(called_by, direct)))


def own_names(s: Statement) -> Iterator[Token]:
    """The names that a statement declares, defines or assigns, at any depth."""
    if isinstance(s, Def):
        yield from (s.name, *s.params, *s.results)
        for inner in s.body:
            yield from targets_of(inner)
    elif isinstance(s, Declare):
        yield from (item.name for item in s.items)
    else:
        yield from targets_of(s)


def definition_for(choices: Sequence[Def], ranks: Sequence[int], at: Node) -> Def | None:
    """The definition for arguments of so many dimensions, as if it stood in the place of the call."""
    found = next((d for d in choices if [len(p.extents or ()) for p in d.params if isinstance(p, Typed)] == [*ranks]), None)
    return None if found is None else moved(found, at.start, at.end)


def calls_in(s: Statement) -> Iterator[str]:
    """The names of what a statement calls."""
    values = [s.value] if isinstance(s, TensorAssign) else s.values if isinstance(s, Assign | TupleAssign) else []
    return (n.name for v in values for n in postorder(v) if type(n) is Call)


def takes_numbers(definition: Def) -> bool:
    return any(isinstance(p, Typed) and not p.extents for p in definition.params)


def moved(part: Any, start: int, end: int) -> Any:
    """A copy of a piece of a tree, all of it at one place."""
    if isinstance(part, list):
        return [moved(p, start, end) for p in part]
    if not hasattr(part, "start"):
        return part
    made = copy(part)
    for name in (n for c in type(part).__mro__ for n in getattr(c, "__slots__", ())):
        setattr(made, name, moved(getattr(part, name), start, end))
    made.start, made.end = start, end
    return made
