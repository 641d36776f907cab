"""A graph with the operations of calls as one node each, and their derivatives as another.

A call is folded with all that it calls. What it reads and what others read of it are its edges; values inside go unseen, but for
a mark on one of them.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush

from adcli.codegen.documents.graph import CALL, LONGEST_LINE, Edge, Graph, Node, wrapped
from adcli.lang.ir.errors import CalledSpan, FunctionCall, Source, Span

Key = tuple[FunctionCall, bool]
"""A call, and whether it is its derivatives that are meant."""


def called(graph: Graph) -> dict[str, int]:
    """The functions that can be folded, with the number of their calls."""
    seen: dict[int, FunctionCall] = {}
    for node in graph.nodes:
        call = call_of(node.span)
        while call is not None and id(call) not in seen:
            seen[id(call)] = call
            call = call.outer
    found: dict[str, int] = {}
    for call in seen.values():
        found[call.name] = found.get(call.name, 0) + 1
    return found


def call_of(span: Span | None) -> FunctionCall | None:
    return span.call if isinstance(span, CalledSpan) else None


def folded(graph: Graph, source: Source | None, chosen: Callable[[str], bool]) -> Graph:
    """The graph with every call folded whose function is `chosen`, and that is in no other such call."""
    outermost = _Outermost(chosen)
    keys = [outermost(node) for node in graph.nodes]
    members: dict[int | tuple[int, bool], list[int]] = {}
    for i, key in enumerate(keys):
        members.setdefault(i if key is None else (id(key[0]), key[1]), []).append(i)
    groups = list(members.values())
    group_of = {i: g for g, group in enumerate(groups) for i in group}
    edges = merged([Edge(group_of[e.tail], group_of[e.head], e.derivative, e.cut) for e in graph.edges
                    if group_of[e.tail] != group_of[e.head]])
    place = {g: i for i, g in enumerate(in_order(len(groups), edges))}
    used = {e.tail for e in graph.edges if group_of[e.tail] != group_of[e.head]}
    made: dict[int, Node] = {}
    for g, group in enumerate(groups):
        there = [(graph.nodes[i], i in used) for i in group]
        made[place[g]] = _node(there, keys[group[0]], source)
    return Graph(tuple(made[i] for i in sorted(made)),
                 tuple(Edge(place[e.tail], place[e.head], e.derivative, e.cut) for e in edges))


def merged(edges: Sequence[Edge]) -> list[Edge]:
    """One edge for all between two nodes; it is cut where they all are."""
    found: dict[tuple[int, int], Edge] = {}
    for e in edges:
        known = found.setdefault((e.tail, e.head), e)
        if known.cut and not e.cut:
            found[e.tail, e.head] = e
    return list(found.values())


def in_order(count: int, edges: Iterable[Edge]) -> list[int]:
    """The nodes so that every edge goes forwards, otherwise as they are."""
    missing, heads = [0] * count, [list[int]() for _ in range(count)]
    for e in edges:
        missing[e.head] += 1
        heads[e.tail].append(e.head)
    ready, found = [g for g, n in enumerate(missing) if not n], list[int]()
    heapify(ready)
    while ready:
        found.append(heappop(ready))
        for h in heads[found[-1]]:
            missing[h] -= 1
            if not missing[h]:
                heappush(ready, h)
    assert len(found) == count, "a call reads what is made of it"
    return found


class _Outermost:
    """The outermost chosen call that an operation is in; every call is looked at once."""

    def __init__(self, chosen: Callable[[str], bool]) -> None:
        self.chosen = chosen
        self.known: dict[int, FunctionCall | None] = {}

    def __call__(self, node: Node) -> Key | None:
        call, path = call_of(node.span), []
        while call is not None and id(call) not in self.known:
            path.append(call)
            call = call.outer
        found = self.known[id(call)] if call is not None else None
        for inner in reversed(path):
            found = found or (inner if self.chosen(inner.name) else None)
            self.known[id(inner)] = found
        return (found, node.derivative) if found else None


def _node(there: Sequence[tuple[Node, bool]], key: Key | None, source: Source | None) -> Node:
    """What stands for some operations, each with whether others use it."""
    members = [node for node, _ in there]
    if key is None:
        return members[0]
    call, derivative = key
    text = " ".join(source.text[slice(*call.span)].split()) if source else call.name
    shown = [n for n, used in there if used or n.output]
    names = ", ".join(n.lines[0].partition(" = ")[0] for n in shown)
    title = shortened(f"{shortened(names)} = {'derivative of ' * derivative}{text}", 2 * LONGEST_LINE)
    count = f"{len(members):,} operation{'s' * (len(members) != 1)}"
    known = [line for n in shown[:1] for line in n.lines[1:] if len(shown) == 1]
    marks = [n.mark for n in members if n.mark]
    return Node(CALL, (*wrapped(title), count, *known), derivative, any(n.output for n in members), marks[0] if marks else "",
                call.span)


def shortened(text: str, most: int = LONGEST_LINE // 2) -> str:
    """A text, or its beginning."""
    return text if len(text) <= most else f"{text[:most - 1]}…"
