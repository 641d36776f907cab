"""Another name for one thing of a program, at all its places; or the reason why that cannot be.

Nothing is decided by cases: the change is made, the text read again, and every name must mean what it meant before. Where a name
would come to mean something else (it is taken, it hides a function, an index would become a value), the change is refused.
"""
from __future__ import annotations

from adcli.lang.ir.errors import AdError, Fix, Source
from adcli.lang.ir.names import RESERVED, composed
from adcli.lang.lower.frontend import read_through
from adcli.lang.syntax.scan import KEYWORDS, scan
from adcli.lang.syntax.tree import Broken, Tree
from adcli.lsp.occurrences import CONSTANT, KNOWN, Meaning, Occurrence, Occurrences, occurrences

OTHER = "choose another name"


def renamed(tree: Tree, at: Occurrence, name: str) -> list[Fix]:
    """The changes that give a new name to what stands at a place, in order; none where it has that name. AdError where it cannot
    have it."""
    name = composed(name.strip())
    renamable(tree, at.meaning)
    check_spelling(name)
    if name == at.meaning.name:
        return []
    fixes = [Fix(o.start, o.end, name) for o in at.meaning.places]
    before = occurrences(tree)
    after, _, error = read_through(Source(tree.source.name, all_applied(fixes, tree.source.text)))
    if pattern(before) != pattern(occurrences(after)):
        raise AdError(f"'{name}' {taken(before, name)}", help=OTHER)
    faults = read_through(tree.source)[2]
    if error is not None and len([error, *error.more]) > (0 if faults is None else len([faults, *faults.more])):
        raise AdError(f"with that name the program is wrong: {error.message}", help=OTHER)
    return fixes


def all_applied(fixes: list[Fix], text: str) -> str:
    """A text with changes made that are in order and apart from each other."""
    pieces, done = list[str](), 0
    for fix in fixes:
        pieces += [text[done:fix.start], fix.text]
        done = fix.end
    return "".join([*pieces, text[done:]])


def renamable(tree: Tree, meaning: Meaning) -> None:
    """AdError where something has no name to be changed, or where a part of the text cannot be read."""
    if meaning.kind in (KNOWN, CONSTANT):
        what = meaning.kind.removesuffix(" of the language")
        raise AdError(f"'{meaning.name}' is a {what} of the language and cannot be renamed")
    if meaning.name == "_":
        raise AdError("'_' is a value that is not wanted, and has no name", help="assign it to a name instead")
    if (broken := next((s for s in tree.statements if isinstance(s, Broken)), None)) is not None:
        line = tree.source.place(broken.start)[0]
        raise AdError(f"line {line} cannot be read, so it is not known which names are in it", help="mend it first")


def check_spelling(name: str) -> None:
    """AdError where a text is no name."""
    tokens = scan(name)[0]
    if name in KEYWORDS or name in RESERVED:
        raise AdError(f"'{name}' is a word of the language and cannot be a name", help=OTHER)
    if [t.type for t in tokens[:-1]] != ["NAME"] or tokens[0].text != name:
        raise AdError(f"'{name}' is not a name", help="a name is letters, digits and _, and does not start with a digit")


def pattern(found: Occurrences) -> list[tuple[int, str, bool]]:
    """Which places of a text mean the same, whatever it is called: for each the number of its meaning, and what kind that is."""
    numbers: dict[int, int] = {}
    return [(numbers.setdefault(id(o.meaning), len(numbers)), o.meaning.kind, o.defines) for o in found.places]


def taken(before: Occurrences, name: str) -> str:
    """Why a name cannot be given to something else."""
    there = next((m for m in before.meanings() if m.name == name), None)
    if there is None:
        return "would mean something else here"
    what = f"{'an' if there.kind[0] in 'aeiou' else 'a'} {there.kind}"
    return f"is {what} already" if there.kind not in (KNOWN, CONSTANT) else f"is {what} that the program uses"
