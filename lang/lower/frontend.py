"""The one door from text to Program: the tree is read and lowered, and the faults of both are reported together."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from adcli.lang.expressions.inline import Template
from adcli.lang.expressions.scope import Context
from adcli.lang.ir import Param, Program
from adcli.lang.ir.errors import AdError, Source, together
from adcli.lang.ir.records import paused
from adcli.lang.lower.library import prelude
from adcli.lang.lower.program import MainScope, is_function
from adcli.lang.syntax.parse import read
from adcli.lang.syntax.scan import normal, scan
from adcli.lang.tree.nodes import (
    LIST,
    Assign,
    Call,
    Declare,
    DeclareOutputs,
    Def,
    For,
    KnownLine,
    Node,
    Op,
    Statement,
    TensorAssign,
    Tree,
    TupleAssign,
    Typed,
    bare,
)

LONG = 100
"""Lines of a text for which it is worth the while to look for what is of one shape in them."""
WIDTH = 100
"""Characters that count as a line."""


def parse(text: str, name: str = "<text>", exact_order: bool = False, checkpoint: bool = False) -> Program:
    """The program that a text says. Raises AdError with every fault found, up to `MOST_FAULTS`."""
    return parse_source(replace(normal(text, name), exact_order=exact_order, checkpoint=checkpoint))


def parse_source(source: Source) -> Program:
    """The same for a text that `decode` has made."""
    program = by_lines(source)
    return with_origin(program) if program else tree_and_program(source)[1]


@paused()
def by_lines(source: Source, least: int | None = None) -> Program | None:
    """The program of a text of at least so many lines, those of one shape lowered together; None where that cannot be, or where
    something is wrong, which only a reading of the whole text says."""
    text, wanted = source.text, LONG if least is None else least
    if text.count("\n") < wanted and len(text) < wanted * WIDTH:
        return None
    from adcli.lang.syntax.shapes import by_shape  # only for long texts
    read = by_shape(source)
    try:
        return read and lower(read[0], prelude, (), read[1])
    except AdError:
        return None


def reads_as(text: str, plain: str) -> bool:
    """Test for a text that reads back to what is printed like another one."""
    from adcli.lang.printing.printer import print_program  # only for texts with functions
    try:
        return print_program(parse(text)) == plain
    except AdError:
        return False


def tree_and_program(source: Source) -> tuple[Tree, Program]:
    """The same, with the source tree, for callers that write the text anew."""
    tree, program, error = read_through(source)
    if program is None:
        assert error is not None
        raise error
    return tree, with_origin(program)


def with_origin(program: Program) -> Program:
    """The program with the notes and the defaults that the text it was made of has."""
    origin = program.source.origin if program.source else None
    if origin is None:
        return program
    return replace(program, params=with_defaults(program.params, origin.data), notes=(*program.notes, *origin.notes))


def with_defaults(params: Sequence[Param], data: Mapping[str, object]) -> tuple[Param, ...]:
    return tuple([replace(p, default=data[p.name]) if p.name in data else p for p in params])


def read_through(source: Source) -> tuple[Tree, Program | None, AdError | None]:
    """The tree of a text whatever is wrong with it, and its program or its faults."""
    tree, faults = read_tree(source)
    try:
        return tree, lower(tree, prelude, faults), None
    except AdError as error:
        from adcli.lang.suggest.fixes import tried  # only after a fault
        return tree, None, tried(error, tree, lowered)


def lowered(source: Source) -> Program:
    """The program that a text says, or its faults as they stand."""
    tree, faults = read_tree(source)
    return lower(tree, prelude, faults)


def read_tree(source: Source) -> tuple[Tree, list[AdError]]:
    """The tree of a text, in which equations are differences where the source asks for it, and the faults."""
    tree, faults = read(source)
    if source.equations:
        as_differences(tree)
    return tree, faults


def as_differences(tree: Tree) -> None:
    """For verbs that look for zeros: rewrite each `a == b` that is the value of a tensor, or of a name that no expression reads,
    as `a - b`. Elsewhere an output is a number and no truth value, so no meaning is taken away."""
    uses = Counter(t.text for t in scan(tree.source.text)[0])
    for s in tree.statements:
        if type(s) is DeclareOutputs:
            uses.subtract(t.text for t in s.names)
    for s in tree.statements:
        if type(s) is TensorAssign and s.symbol == "=":
            s.value = difference(s.value)
        elif type(s) is Assign and all(uses[t.text] <= 1 for t in s.targets):
            s.values = [difference(value) for value in s.values]


def difference(node: Node) -> Node:
    root = bare(node)
    return Op("sub", root.args, root.start, root.end) if type(root) is Op and root.name == "eq" else node


@paused()
def lower(tree: Tree, library: Callable[[], Mapping[str, Template]], faults: Sequence[AdError] = (),
          lines: Sequence[Statement | KnownLine] = ()) -> Program:
    """The program of a tree. Raises AdError, together with the `faults` already found in the text. `library` is asked where a
    name is neither the program's own nor an operation. `lines` are all statements in order where some are KnownLines, which the
    tree has not; then the first fault ends it."""
    kind = MainScope
    if any(map(of_tensors, tree.statements)):   # no KnownLine is
        from adcli.lang.loops.nested_loops import (
            has_nested,
            unnested,
            with_steps,  # only for programs with tensors
        )
        from adcli.lang.lower.tensor_program import MainTensors
        kind = MainTensors
    context = Context(tree, library)
    if kind is not MainScope:
        context.tree = tree = with_steps(tree)
    if kind is not MainScope and has_nested(tree):
        context.tree = tree = unnested(context, tree)
    main = kind(context, lines)
    main.faults += faults
    program = main.function() if not lines and is_function(tree) else main.program()
    if main.faults:
        raise together(main.faults)
    assert program is not None
    return main.finished(program)


def of_tensors(s: Statement) -> bool:
    """Whether a statement makes, declares or defines something of tensors. Others can only where one of these stands."""
    if type(s) is Assign:
        root = bare(s.values[0])
        return type(root) is Call and root.name == LIST
    if isinstance(s, Declare):
        return any(type(item.name) is Typed for item in s.items)
    return s.tensors if isinstance(s, Def) else isinstance(s, TensorAssign | TupleAssign | For)
