"""The text of a program: a file, standard input or the lines of -e, and what is said of a word that is none of these; and what a
point says of inputs before there is a program: numbers, and the dimensions of lists and arrays."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from adcli.lang.ir import Values
from adcli.lang.ir.errors import AdError, Source, alike
from adcli.output.standard import opened, standard_input

FORMULA = re.compile(r"[*^=()+|<>?!\s\u00b2\u00b3\u221a\u2212\u00d7\u00f7\u00b7\u22c5]|^(\w{1,2}[-/])+\w{1,2}$|^\d[\d.]*\w$")
"""Characters of a program that file names rarely have."""
TABLE = re.compile(r"\.(csv|tsv|tab|ndjson|jsonl|parquet)(\.gz|\.zst)?$", re.IGNORECASE)

VALUE = re.compile(r"[^\W\d]\w*=(?:[-+]?\.?\d|[@[]|[-+]?(?:inf|nan|pi)$)")
"""Start of a point: a name with a value."""


def is_formula(word: str) -> bool:
    """Test for a program in the place of a file name."""
    return FORMULA.search(word) is not None and not word.lower().endswith(".ad")


def quoted(word: str) -> str:
    """A word as a shell wants it."""
    from shlex import quote
    return quote(word)


def both_given(word: str) -> AdError:
    """The error for a PROGRAM beside -e: a table, a point or one line more, perhaps."""
    point, number = VALUE.match(word), re.fullmatch(r"(?=.*\d)[-+\d.eE]+", word)
    option = "--data" if word == "-" or TABLE.search(word) else "--at" if point else "-e" if is_formula(word) else None
    if number:
        return AdError(f"unexpected argument '{word}'",
                       help="-e gives the program, and an option that is a switch takes no value")
    return AdError("give a PROGRAM file or -e, not both (rows go to --data)",
                   help=option and f"write {option} {quoted(word)}")


def no_file(path: str) -> AdError:
    """The error for a program that is not there: a formula, or the name of a file mistyped."""
    if VALUE.match(path):
        help = f"for a point write --at {quoted(path)}"
    elif is_formula(path):
        help = f"for a formula write -e {quoted(path)}"
    else:
        folder, name = os.path.split(path)
        with suppress(OSError):
            stems = {os.path.splitext(n)[0]: n for n in os.listdir(folder or ".") if n.endswith(".ad")}
            name = stems.get(alike(os.path.splitext(name)[0], list(stems)) or "", "")
        help = f"did you mean '{os.path.join(folder, name)}'?" if name and os.path.join(folder, name) != path else ""
    return AdError(f"{path}: No such file or directory", help=help or None)


def read_source(program: str | None, expressions: tuple[str, ...], language: str | None = None,
                at: Sequence[str] = (), equations: bool = False, cached: bool = False) -> Source:
    """The text of the program: a file, standard input, or the -e lines, which may be `equations`. One in another `language` is
    read as a program; `at` is the point that is asked for, whose values have ranks."""
    from adcli.readers.front import decoder, foreign, read
    asked = foreign(program, language)
    asked = None if expressions else asked
    source = own_source(asked.path if asked else program, expressions, decoder(asked), equations)
    if asked is None:
        return source
    return read(source, asked, *known_of(at), cached)


def own_source(program: str | None, expressions: tuple[str, ...], decode: Callable[[bytes, str], Source],
               equations: bool = False) -> Source:
    """A text as it stands."""
    if program is not None and expressions:
        raise both_given(program)
    if expressions:
        return expression_source(expressions, equations)
    if program is None:
        raise AdError("no PROGRAM", help="give a file, - for standard input, or -e 'v = x*sin(y)'")
    if program == "-":
        return decode(standard_input("the program").read(), "<stdin>")
    if TABLE.search(program):
        raise AdError(f"{program}: a table of rows, not a program", help=f"write -e 'v = x*y' --data {quoted(program)}")
    if program.endswith((".json", ".npz")):
        raise AdError(f"{program}: values, not a program", help=f"write -e 'v = x*y' --at @{quoted(program)}")
    try:
        with opened(program) as file:
            return decode(file.read(), program)
    except FileNotFoundError:
        raise no_file(program) from None


def expression_source(expressions: tuple[str, ...], equations: bool) -> Source:
    """The -e lines as one text; bare expressions, and `equations`, are named f, f2, … as far as these names are free."""
    from adcli.lang.syntax.scan import decode, is_bare_expression, is_file_name, scan
    if (file := next(filter(is_file_name, expressions), None)) is not None:
        raise AdError(f"-e takes the text of a program, and '{file}' is the name of a file",
                      help=f"write {quoted(file)} without -e")
    lines = [decode(e.encode("utf-8", "surrogateescape"), "-e").text for e in expressions]
    taken = set().union(*[scan(line)[2] for line in lines])
    free = (name for i in range(1, len(taken) + len(lines) + 1) if (name := f"f{i}" if i > 1 else "f") not in taken)
    named = [f"{next(free)} = {line}" if is_bare_expression(line, equations) else line for line in lines]
    return decode("\n".join([*named, ""]).encode(), "-e")


# ---------------------------------------------------------------- what a point says

class Rank(int):
    """Dimensions of a list or an array."""


def known_of(at: Sequence[str]) -> tuple[dict[str, object], dict[str, int]]:
    """The numbers and words of a point by their names, and the ranks of its lists and arrays."""
    from adcli.input.points import parts
    given: dict[str, object] = {}
    for text in at:
        if text.startswith("@"):
            given.update(from_file(text[1:]))
        else:
            written = (part.partition("=") for part in parts(text))
            given.update({name.strip(): seen(value.strip()) for name, equals, value in written if equals})
    return ({name: x for name, x in given.items() if not isinstance(x, Rank)},
            {name: x for name, x in given.items() if isinstance(x, Rank)})


def seen(value: object) -> object:
    """The rank of a list, the number that a text is, and any other value itself."""
    if isinstance(value, list):
        first = seen(value[0]) if value else None
        return Rank(1 + first) if isinstance(first, Rank) else Rank(1)
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        return Rank(value[:len(value) - len(value.lstrip("[ "))].count("["))
    if value.startswith("@"):
        return rank if isinstance(rank := from_file(value[1:]).get(""), Rank) else value
    try:
        return float(value)
    except ValueError:
        return value


def from_file(path: str) -> Values:
    """What a file of values says as far as it can be looked into here, by the names of inputs, or by "" what is of one."""
    import json
    try:
        if path.endswith((".npy", ".npz")):
            import numpy as np
            loaded = np.load(path, mmap_mode="r", allow_pickle=False)
            arrays = loaded.items() if path.endswith(".npz") else [("", loaded)]
            return {name: Rank(x.ndim) if x.ndim else x.item() for name, x in arrays}
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            return {name: seen(x) for name, x in (found if isinstance(found, dict) else {"": found}).items()}
        if path.endswith(".csv"):
            return {"": Rank(2)}
    except (OSError, ValueError):   # which those who take the values tell
        pass
    return {}
