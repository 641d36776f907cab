"""What scalar statements and functions have in common wherever they stand: names that are allowed, and what the targets get."""
from __future__ import annotations

from adcli.lang.expressions.scope import Context, Scope
from adcli.lang.ir import Atom
from adcli.lang.ir.errors import AdError, plural
from adcli.lang.ir.primitives import TABLE
from adcli.lang.syntax.constants import NEVER_HIDDEN
from adcli.lang.syntax.scan import LOGICAL
from adcli.lang.tree.nodes import Assign, Call, Def, Token, TupleAssign, bare


def check_signature(context: Context, definition: Def) -> None:
    check_word(context, definition.name)
    unique(context, definition.params, "parameter")
    unique(context, definition.results, "result")
    for token in (*definition.params, *definition.results):
        check_name(context, token)
    for token in definition.results:
        check_wanted(context, token)


def check_wanted(context: Context, token: Token) -> None:
    """An output is read by others, so it has a name."""
    if token.text == "_":
        raise context.fault("'_' is a value that is not wanted and cannot be an output", token, "choose another name")


def unique(context: Context, tokens: list[Token], what: str) -> None:
    seen: set[str] = set()
    for token in tokens:
        if token.text in seen:
            raise context.fault(f"{what} '{token.text}' is named twice", token)
        seen.add(token.text)


def check_name(context: Context, token: Token) -> None:
    if token.text in NEVER_HIDDEN:
        raise context.fault(f"'{token.text}' is a constant and cannot be a name", token, "choose another name")
    check_word(context, token)


def check_word(context: Context, token: Token) -> None:
    """The scanner takes `and` and `or` for names before a parenthesis, where they are called."""
    if token.text in LOGICAL:
        raise context.fault(f"'{token.text}' is a keyword and cannot be a name", token, "choose another name")


def assignment(scope: Scope, statement: Assign) -> list[tuple[Token, Atom]]:
    """Emit a statement; returns which target gets which value. Nothing is bound yet."""
    targets, values, context = statement.targets, statement.values, scope.context
    for token in targets:
        check_name(context, token)
    wanted = [t for t in targets if t.text != "_"]
    unique(context, wanted, "target")
    names = [None if t.text == "_" else t.text for t in targets]
    if len(targets) == len(values):
        atoms = [scope.value(v, n) for v, n in zip(values, names, strict=True)]
    elif len(values) == 1:
        atoms = results(scope, statement, names)
    else:
        raise count_fault(context, statement)
    return list(zip(targets, atoms, strict=True))


def results(scope: Scope, statement: Assign, names: list[str | None]) -> list[Atom]:
    """The values of a call with several results."""
    node = bare(statement.values[0])
    if type(node) is not Call:
        raise count_fault(scope.context, statement)
    args = [scope.value(a) for a in node.args]
    if node.name != "dup" or "dup" in scope.context.functions:
        return scope.call(node, args, names)
    scope.check_count(node, 1, 1)
    scope.check_results(node, 2, len(names))
    scope.require("r", args[0], node.args[0])
    return list(scope.emit(TABLE["dup"], tuple(args), node.span, tuple(names)))


def count_fault(context: Context, statement: Assign | TupleAssign) -> AdError:
    given, wanted = len(statement.values), len(statement.targets)
    span = statement.span
    return AdError(f"{plural(wanted, 'name')} on the left, {plural(given, 'value')} on the right", span,
                   "use _ for a value that is not wanted" if given > wanted else None, context.source)
