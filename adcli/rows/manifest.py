"""The manifest of a run in parts, in the folder of its results: the request, and which parts are done.

While the run lasts it is a journal, a line of JSON for what was asked and one for each part behind it, written when the part
stands: a run that is killed at any moment has lost the part that it was at. When all is done the journal becomes
`manifest.json`, so that file says that the folder is whole.
"""
from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO

from adcli.lang.ir import Values
from adcli.lang.ir.errors import AdError, one_line
from adcli.output.replacing import replaced
from adcli.output.version import __version__

VERSION = 1
"""Of the manifest: counted up when its lines change their meaning."""
NAME, JOURNAL = "manifest.json", ".manifest.ndjson"
TEMPORARY = re.compile(r"\.(.+)\.\d+-\d+\.part")
"""Name of a file that is not whole yet, see `output.replacing`."""
BYTES_AT_ONCE = 1 << 20

Entry = Values
"""One part that is done: `part` is its number, `file` the name of its results where they are a file, with its `sha256`."""
Asked = Values
"""Everything that results depend on, by the words of the command line; `sources` says of every file read what it is called and
what changes when it changes."""


class DoneParts:
    """The parts that are done, known as long as the run lasts."""

    def __init__(self) -> None:
        self.done: dict[int, Entry] = {}

    def add(self, entry: Entry) -> None:
        """Note a part that is done."""
        self.done[int(entry["part"])] = entry

    def in_order(self) -> list[Entry]:
        return [self.done[part] for part in sorted(self.done)]

    def finish(self) -> None:
        """All parts are done, and so is what was to be made of them."""

    def close(self) -> None:
        """The run ends."""


class Manifest(DoneParts):
    """Parts that are done, in a folder that `begin` has opened, to which nobody else writes as long as this process lives. It
    stays there when the run is over, unless all is to end in one file, the `whole`."""

    def __init__(self, folder: str, asked: Asked, whole: str | None = None) -> None:
        super().__init__()
        self.folder, self.asked, self.keep = folder, asked, whole is None
        self.beside = [] if whole is None else [os.path.relpath(whole, folder)]
        self.journal: BinaryIO | None = None
        self.lock: int | None = None
        self.made = False

    def begin(self, resume: bool, files: Iterable[str]) -> None:
        """Take the folder, with what stands in it if the run is to `resume`. `files` are the names of all results. AdError where
        the folder has results of another run, or files that would be lost."""
        files = set(files)
        self.made = not os.path.isdir(self.folder)
        os.makedirs(self.folder, exist_ok=True)
        self._lock()
        held = self._read()
        if held is None:
            self._refuse_to_lose(files)
        head, entries = held or ({}, [])
        if entries and not resume:
            raise AdError(f"{self._shown}: has results of an earlier run",
                          help="add --resume to go on with them, or write to another folder")
        if entries and (differs := difference(head, self._head)):
            raise AdError(f"{self._shown}: was begun with {differs}", help="write to another folder, or remove this one")
        self.done = {int(e["part"]): e for e in entries if self._stands(e)}
        self._remove_unfinished({*files, *self.beside})
        self._start()

    def add(self, entry: Entry) -> None:
        assert self.journal is not None, "begin has opened it"
        self.journal.write(line(entry))
        super().add(entry)

    def finish(self) -> None:
        if self.keep:
            whole = {**self._head, "parts": self.in_order()}
            with replaced(os.path.join(self.folder, NAME)) as out:
                out.write(json.dumps(whole, ensure_ascii=False, indent=1).encode("utf-8", "surrogateescape") + b"\n")
        self._unlink(JOURNAL)
        self.made |= not self.keep

    def close(self) -> None:
        """Leave the folder to others; as it was, if nothing has been done."""
        if self.journal is not None:
            self.journal.close()
            if not self.done:
                self._unlink(JOURNAL)
        if self.made:
            with suppress(OSError):   # there is something in it
                os.rmdir(self.folder)
        if self.lock is not None:
            os.close(self.lock)

    # ------------------------------------------------------------ what is there

    @property
    def _shown(self) -> str:
        return one_line(self.folder)

    @property
    def _head(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps({"manifest": VERSION, "adcli": __version__, **self.asked}))
        return plain

    def _lock(self) -> None:
        with suppress(ImportError):   # no such locks on this system
            import fcntl
            self.lock = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.EACCES):
                    raise AdError(f"{self._shown}: another run of adcli is writing here", help="wait for it to end") from None

    def _read(self) -> tuple[dict[str, Any], list[Entry]] | None:
        """The manifest that an earlier run has left. The journal counts where both are there: then the run was to mend the
        results."""
        for name, split in ((JOURNAL, journal_lines), (NAME, manifest_lines)):
            with suppress(FileNotFoundError), open(os.path.join(self.folder, name), "rb") as file:
                head, *entries = split(file.read()) or [None]
                if not isinstance(head, dict) or head.get("manifest") != VERSION:
                    raise AdError(f"{os.path.join(self._shown, name)}: not a manifest of this adcli",
                                  help="write to another folder, or remove this one")
                return head, entries
        return None

    def _stands(self, entry: Entry) -> bool:
        """True if the results of a part are there, to the last byte."""
        file = entry.get("file")
        if file is None:
            return True
        try:
            return sha256(os.path.join(self.folder, file)) == entry["sha256"]
        except OSError:
            return False

    def _refuse_to_lose(self, files: Iterable[str]) -> None:
        for file in sorted(files):
            if os.path.lexists(path := os.path.join(self.folder, file)):
                raise AdError(f"{one_line(path)}: is there already, and not of an earlier run", help="write to another folder")

    def _remove_unfinished(self, files: set[str]) -> None:
        """Remove files that a killed process had not renamed yet."""
        for folder in {os.path.dirname(os.path.join(self.folder, file)) for file in (*files, NAME)}:
            with suppress(FileNotFoundError):
                for name in os.listdir(folder):
                    found = TEMPORARY.fullmatch(name)
                    whole = found and os.path.relpath(os.path.join(folder, found[1]), self.folder)
                    if whole in files or whole in (NAME, JOURNAL):
                        os.unlink(os.path.join(folder, name))

    def _start(self) -> None:
        """A journal with what stands; from now on the folder is not whole."""
        path = os.path.join(self.folder, JOURNAL)
        with replaced(path) as out:
            out.writelines(map(line, (self._head, *self.done.values())))
        self._unlink(NAME)
        self.journal = open(path, "ab", buffering=0)  # noqa: SIM115  # as long as the run lasts

    def _unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, name))


def line(entry: Entry) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"


def journal_lines(data: bytes) -> list[Any]:
    """The lines of a journal up to the first that is not whole, which a kill or a power cut has left."""
    found = []
    for text in data.split(b"\n")[:-1]:
        try:
            found.append(json.loads(text.decode("utf-8", "surrogateescape")))
        except ValueError:
            break
    return found


def manifest_lines(data: bytes) -> list[Any]:
    """The lines of a manifest that is whole."""
    try:
        head = json.loads(data.decode("utf-8", "surrogateescape"))
        return [head, *head.pop("parts")]
    except (ValueError, AttributeError, KeyError, TypeError):
        return []


def difference(old: Values, new: Values) -> str | None:
    """In what a run differs from an earlier one, in words that follow 'was begun with'; of several differences the one that
    explains the others."""
    for name in dict.fromkeys(("adcli", "code", "verb", "program", *old, *new)):
        if old.get(name) != new.get(name):
            return {"sources": "other files", "code": "another adcli"}.get(name, f"another {name}")
    return None


def sha256(path: str) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    from hashlib import sha256
    found = sha256()
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(BYTES_AT_ONCE):
            found.update(piece)
    return found.hexdigest()
