"""Text to source tree.

A text without faults is read in one go. Where that fails, tensor comprehensions that go on over several lines are put together
(`adcli.lang.syntax.line_ends`); only after a fault is a text read statement by statement (`adcli.lang.syntax.recover`), so that
all faults are reported together.
"""
from __future__ import annotations

from itertools import count

from adcli.lang.ir.errors import AdError, Source, together
from adcli.lang.ir.records import paused
from adcli.lang.syntax.actions import Unexpected, read_tokens
from adcli.lang.syntax.scan import expression_tokens, scan
from adcli.lang.tree.nodes import Statement, Token, Tree


def parse_tree(source: Source) -> Tree:
    """The source tree of a text. Raises AdError with every fault of syntax found, up to `MOST_FAULTS`."""
    tree, faults = read(source)
    if faults:
        raise together(faults)
    return tree


@paused()
def read(source: Source) -> tuple[Tree, list[AdError]]:
    """The tree, with a Broken statement for each that has a fault, and the faults."""
    tokens, comments, names = scan(source.text)
    faults: list[AdError] = []
    try:
        statements = read_tokens(tokens, source)
    except (AdError, Unexpected):
        statements, faults = read_again(tokens, names, source)
    if not source.text.isascii():
        from adcli.lang.syntax.foreign import suspicious  # most programs have no need of it
        faults += suspicious(names, comments, source)
    return Tree(source, statements, comments, names), faults


def read_again(tokens: list[Token], names: set[str], source: Source) -> tuple[list[Statement], list[AdError]]:
    """Statements of tokens that the grammar does not accept as they stand; words that turn out to be names are added to `names`.
    A text that is one expression is an assignment to `f`, as on a command line."""
    from adcli.lang.syntax.line_ends import laid_out  # a plain text is read without these two
    from adcli.lang.syntax.recover import recover
    if expression := expression_tokens(tokens, source.equations):
        name = next(n for i in count(1) if (n := f"f{i}" if i > 1 else "f") not in names)
        at = expression[0].start
        try:
            statements = read_tokens([Token("NAME", name, at, at), Token("EQUAL", "=", at, at), *expression, tokens[-1]], source)
        except (AdError, Unexpected):
            return recover(source)
        names.add(name)
        return statements, []
    tensors = laid_out(tokens)
    if tensors is None:
        return recover(source)
    names |= {t.text for t in tensors if t.type == "NAME"}
    try:
        return read_tokens(tensors, source), []
    except (AdError, Unexpected):
        return recover(source)
