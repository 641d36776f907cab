"""Whether what is proposed for a fault mends it.

A fault may come with a change of the text. Here the change is made and the program read again. Where the same statement then
has a further fault with a change, that one is made too, and the help writes out the statement as it is in the end. A change that
leads nowhere is not proposed, and a fault that goes away with another one is not reported.

Notes on inputs whose names mean something else elsewhere.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from adcli.lang.ir.errors import AdError, Fix, Note, Source
from adcli.lang.syntax.constants import CONSTANTS_ELSEWHERE
from adcli.lang.tree.nodes import Assign, Def, Node, Op, TensorAssign, Token, Tree, TupleAssign, bare, postorder, within

LONGEST_TEXT, MOST_FAULTS, MOST_CHANGES = 5000, 5, 8
"""Characters of a program whose changes are tried, faults that are tried to mend, and changes of one statement."""
LONGEST_HELP = 120


@dataclass
class Patch:
    """A text with changes in the statement `start`..`end`, which was `start`..`old_end`; they lie in `first`..`last`."""

    text: str
    start: int
    end: int
    old_end: int
    first: int
    last: int
    changes: int = 0

    def change(self, fix: Fix) -> None:
        grown = len(fix.text) - (fix.end - fix.start)
        self.text = fix.applied(self.text)
        self.old_end += max(0, fix.end - self.end)
        self.start, self.end = min(self.start, fix.start), max(self.end, fix.end) + grown
        self.first = min(self.first, fix.start)
        self.last = max(self.last + grown if fix.start <= self.last else 0, fix.start + len(fix.text))
        self.changes += 1

    @property
    def statement(self) -> str:
        return self.text[self.start:self.end].strip().strip(";").strip()


def tried(error: AdError, tree: Tree, read: Callable[[Source], object]) -> AdError:
    """The error with those fixes that mend something. `read` raises the faults of a text."""
    faults = [error, *error.more]
    if len(tree.source.text) > LONGEST_TEXT:
        return error
    for fault in faults[:MOST_FAULTS]:
        if fault.fix is not None and not try_fix(fault, tree, read):
            fault.more = ()
            return fault   # all others went away with it
    return error


def try_fix(fault: AdError, tree: Tree, read: Callable[[Source], object]) -> list[AdError]:
    """Make the change that a fault proposes, and all that follow from it; the faults that are left in the program. A guess is
    made alone and follows from none: where it would, what it asks becomes the help."""
    assert fault.fix is not None
    patch, certain = begun(fault.fix, tree), fault.fix.certain
    fix: Fix | None = fault.fix
    left: list[AdError] = []
    while fix is not None and patch.changes < MOST_CHANGES:
        patch.change(fix)
        left = faults_of(Source(tree.source.name, patch.text), read)
        here = [f for f in left if touches(f, patch.start, patch.end)] if certain else []
        fix = next((f.fix for f in here if f.fix is not None and f.fix.certain), None)
    open = [f for f in left if touches(f, patch.first, patch.last)]
    if fix is not None or open:
        asked = next((f.help for f in open if certain and f.help and not (f.fix and f.fix.certain)), None)
        fault.fix, fault.help = None, asked or (None if (fault.help or "").startswith("write ") else fault.help)
        return left or [fault]
    if patch.changes > 1:
        short = len(patch.statement) <= LONGEST_HELP and "\n" not in patch.statement
        fault.help = f"write {patch.statement}" if short else None
    fault.fix = Fix(patch.start, patch.old_end, patch.text[patch.start:patch.end], certain)
    return left


def begun(fix: Fix, tree: Tree) -> Patch:
    """A patch for the statement that a change is made in, with no change so far."""
    inside = [s for s in tree.statements if s.start <= fix.start <= s.end]
    start = min(fix.start, *(s.start for s in inside)) if inside else fix.start
    end = max(fix.end, *(s.end for s in inside)) if inside else fix.end
    return Patch(tree.source.text, start, end, end, fix.start, fix.end)


def faults_of(source: Source, read: Callable[[Source], object]) -> list[AdError]:
    try:
        read(source)
    except AdError as error:
        return [error, *error.more]
    return []


def touches(fault: AdError, start: int, end: int) -> bool:
    """Whether a fault lies in a part of the text, or is of the program as a whole and can be mended."""
    if fault.span is None:
        return fault.fix is not None
    return fault.span[0] <= end and start <= fault.span[1]


# ---------------------------------------------------------------- suspects

DOT = "\N{MIDDLE DOT}"
MAYBE_INPUTS = ("e", "E")
"""Constants whose names inputs often have: noted only as the base of a power."""


def notes(tree: Tree, names: Sequence[str]) -> list[Note]:
    """What may have been meant by inputs with these names, each said once."""
    found = []
    uses = first_uses(tree, names)
    for name in names:
        if name not in uses:
            continue
        token, power = uses[name]
        if DOT in name:
            said = f"'{name}' is one name, with a middle dot in it; for a product write {name.replace(DOT, '*')}"
        elif name in MAYBE_INPUTS and power is not None:
            exponent = tree.source.text[power.start:power.end].strip("()")
            said = f"'{name}' is an input here; for the exponential function write exp({short(exponent)})"
        elif name in CONSTANTS_ELSEWHERE and name not in MAYBE_INPUTS:
            said = f"'{name}' is an input here; the constant is {CONSTANTS_ELSEWHERE[name]}"
        else:
            continue
        found.append(Note(said, token.span, tree.source))
    return found


def short(text: str) -> str:
    return text if len(text) <= 40 and "\n" not in text else "..."


def first_uses(tree: Tree, names: Collection[str]) -> dict[str, tuple[Token, Node | None]]:
    """Where each name is first raised to something, and to what; else where it is first read. One walk for all of them."""
    wanted, read, raised = {*names}, dict[str, tuple[Token, Node | None]](), dict[str, tuple[Token, Node | None]]()
    for root in expressions(tree):
        for node in postorder(root):
            if type(node) is Token and node.text in wanted:
                read.setdefault(node.text, (node, None))
            elif type(node) is Op and node.name == "pow" and type(base := bare(node.args[0])) is Token and base.text in wanted:
                raised.setdefault(base.text, (base, node.args[1]))
    return {**read, **raised}


def expressions(tree: Tree) -> Iterator[Node]:
    """The expressions of the program's own statements."""
    for s in (s for outer in tree.statements if not isinstance(outer, Def) for s in within(outer)):
        if isinstance(s, Assign | TupleAssign):
            yield from s.values
        elif isinstance(s, TensorAssign):
            yield s.value
