"""The tables that --data names: files, folders and patterns, one after the other in the order in which they are read.

Names are looked up once, before the first row is read, and nothing is opened: a `Location` can be sent to another process. A
mention reads a file once, however often it leads there; two mentions of a file are two tables.
"""
from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from shlex import quote

from adcli.lang.ir.errors import AdError, alike
from adcli.output import remote
from adcli.tables.streams import PACKED, SUFFIXES, Input, kind_by_name, named

HIDDEN = (".", "_")
"""How the names begin of what a folder of tables has beside them: what a shell hides, and what Spark, Hive and Delta do."""
MOST_NAMED = 5
"""Files that a message lists."""


@dataclass(frozen=True)
class Location:
    """A table that has not been opened: a path or - for standard input, its size in bytes, and what no other contents of
    the same file share; None where that is unknown. `held` is a table that has been opened to see whether there is one."""

    path: str
    size: int | None = None
    stamp: str | None = None
    held: Input | None = None

    @property
    def name(self) -> str:
        """Its name in messages."""
        return named(self.path)

    @property
    def kind(self) -> str | None:
        """csv, tsv, ndjson, json, parquet or npz, as far as its name says."""
        return kind_by_name(self.path)

    def opened(self) -> Input:
        """The table, opened. OSError where it cannot be."""
        return self.held or Input(self.path)


def locations(mentions: Iterable[str], note: Callable[[str], None] = lambda _: None) -> list[Location]:
    """The tables that are mentioned, each as a file, a folder, a pattern with * ? [ or **, or - for standard input. AdError where
    a mention has no table. What is passed over is noted."""
    found: list[Location] = []
    for mention in mentions:
        there = located(mention, note)
        known = {location.path for location in found}
        if twice := [location.name for location in there if location.path in known and mention != "-"]:
            note(f"note: {several(twice)} {'is' if len(twice) == 1 else 'are'} read again for --data {named(mention)}")
        found += there
    return found


def located(mention: str, note: Callable[[str], None]) -> list[Location]:
    """The tables of one mention, in natural order: part-2 before part-10."""
    if mention == "-":
        return [Location("-", held=Input("-"))]   # at once, so that nothing else of the command line reads it
    if remote.is_url(mention):
        return elsewhere(mention, note)
    if os.path.isdir(mention):
        return among(beneath([mention]), mention, note)
    if os.path.lexists(mention) or not glob.has_magic(mention):
        return [local(mention)]
    files, folders = matching(mention)
    found = [local(path) for path in files]
    if folders and not found:
        return among(beneath(folders), mention, note)
    if not found:
        raise AdError(f"no file matches '{named(mention)}'", help=nearby(mention))
    return ordered(found)


def matching(pattern: str) -> tuple[list[str], list[str]]:
    """The files and the folders that match a pattern."""
    files: list[str] = []
    folders: list[str] = []
    for path in glob.glob(pattern, recursive=True):
        if not hidden(path, pattern):
            (folders if os.path.isdir(path) else files).append(path)
    return files, folders


def hidden(path: str, mention: str) -> bool:
    """True if a part of a path is hidden, below what its mention spells out, and the mention is not about hidden names."""
    magic = remote.PATTERN.search(mention)
    fixed = mention[:magic.start()].rpartition("/")[0] if magic else mention.rstrip("/")
    asked = tuple({part[0] for part in mention[len(fixed):].split("/") if part.startswith(HIDDEN)})
    return any(part.startswith(HIDDEN) and not part.startswith(asked) for part in path[len(fixed):].split("/"))


def local(path: str) -> Location:
    """A file of this machine. AdError where there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise AdError(f"{named(path)}: No such file or directory", help=nearby(path)) from None
    if not stat.S_ISREG(status.st_mode):   # a pipe, which has a size when it has been read
        return Location(path)
    return Location(path, status.st_size, f"{status.st_mtime_ns:x}")


def elsewhere(url: str, note: Callable[[str], None]) -> list[Location]:
    """The tables of a URL, which may be a folder or a pattern, too."""
    files, kind = remote.listed(url)
    found = [Location(*file) for file in files if kind == "file" or not hidden(file.url, url)]
    if kind == "folder":
        return among(found, url, note)
    if not found:
        raise AdError(f"no file matches '{named(url)}'")
    return ordered(found)


def ordered(found: Iterable[Location]) -> list[Location]:
    """Each file once, in natural order."""
    once = {x.path if remote.is_url(x.path) else os.path.normpath(x.path): x for x in found}
    return sorted(once.values(), key=lambda location: natural(location.path))


def natural(path: str) -> tuple[list[list[str | int]], str]:
    """The sort key of paths: folder by folder, and numbers by their value."""
    return [[int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))] for name in path.split("/")], path


# ---------------------------------------------------------------- folders

def among(files: Iterable[Location], mention: str, note: Callable[[str], None]) -> list[Location]:
    """The tables among the files of folders, by suffix; what else there is, is noted. AdError where there is none."""
    found: list[Location] = []
    others: list[str] = []
    for file in files:
        if file.kind is not None and file.size is not None:
            found.append(file)
        else:
            others.append(file.path)
    if not found:
        there = f"these are no tables: {several(sorted(others, key=natural))}; " if others else ""
        raise AdError(f"{named(mention)}: no table in this folder",
                      help=f"{there}tables end in {', '.join(SUFFIXES)}, also with {' or '.join(PACKED)}")
    if others:
        note(f"note: files that are not tables are left out: {several(sorted(others, key=natural))}")
    return ordered(found)


def beneath(tops: Iterable[str]) -> Iterator[Location]:
    """The files in folders and the folders in these that are not hidden. OSError where one cannot be looked into."""
    def refuse(error: OSError) -> None:
        raise error
    for path, folders, files in chain.from_iterable(os.walk(top, onerror=refuse) for top in tops):
        linked = [name for name in folders if os.path.islink(os.path.join(path, name))]   # a circle, perhaps
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        for name in files + linked:
            if not name.startswith(HIDDEN):
                file = os.path.join(path, name)
                yield local(file) if kind_by_name(name) else Location(file)


def several(names: list[str]) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(map(named, names[:MOST_NAMED]))
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


# ---------------------------------------------------------------- names that lead nowhere

def nearby(path: str) -> str | None:
    """A help for a path or a pattern that leads to nothing: several, or the same with its first wrong part put
    right, if that leads to something; else what there is in place of it."""
    if not path:
        return "write --data FILE"
    if "," in path and all(map(leads, path.split(","))):
        return "write " + " ".join(f"--data {quote(part)}" for part in path.split(",")[:MOST_NAMED])
    parts = path.split("/")
    for i, part in enumerate(parts):
        folder = "/".join(parts[:i]) + "/" if i else ""
        if part in ("", ".", "..") or leads(folder + part):
            continue
        names = sorted((os.path.basename(found) for found in glob.glob(folder + "*")), key=natural)
        close = alike(part, names + sorted({f"*{os.path.splitext(name)[1]}" for name in names} - {"*"}))
        meant = "/".join([*parts[:i], close or "", *parts[i + 1:]])
        if close and leads(meant):
            return f"did you mean '{meant}'?"
        return f"there {'is' if len(names) == 1 else 'are'} {several(names)}" if glob.has_magic(part) and names else None
    return None


def leads(path: str) -> bool:
    """True if there is a file of this name, or one that matches it."""
    return os.path.lexists(path) or any(True for _ in glob.iglob(path, recursive=True))
