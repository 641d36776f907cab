"""Somebody's derivatives: a function in a shared library, a function in a Python file, or a command, asked at points.

None of it is loaded here. A library or a Python file is called by a child process (adcli/check/caller.py), a command is one;
each gets all points at once and has so many seconds. What goes wrong on their side, a crash as well as a wrong number of
results, is a finding about them; that there is nothing to call is a mistake of the command line, an AdError.
"""
from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import IO, Any

from adcli.input.programs import quoted
from adcli.input.sampling import Point
from adcli.lang.ir.errors import AdError, nearest, one_line, plural
from adcli.output.numbers import shortest
from adcli.output.streams import ENDINGS

LIBRARY = re.compile(r".+\.(so(\.\d+)*|dylib|dll)")
PYTHON = re.compile(r"(.+\.pyw?):([^\s/:]*)")
SOURCES = {".c": "cc -shared -fPIC -O2 -ffp-contract=off {0} -o lib{1}.so -lm", ".o": "cc -shared {0} -o lib{1}.so -lm",
           ".a": "cc -shared -Wl,--whole-archive {0} -Wl,--no-whole-archive -o lib{1}.so -lm",
           **dict.fromkeys((".cc", ".cpp", ".cxx"), "c++ -shared -fPIC -O2 -ffp-contract=off {0} -o lib{1}.so"),
           ".f90": "gfortran -shared -fPIC -O2 -ffp-contract=off {0} -o lib{1}.so",
           ".rs": "rustc --crate-type cdylib -O {0} -o lib{1}.so"}
"""Files that are no libraries, and the commands that make libraries of them."""
BETWEEN = re.compile(r"\s*;\s*|\s+")
"""Separators of numbers in the output of other programs."""
CALLER = Path(__file__).with_name("caller.py")
MOST_BYTES = 64 << 20
"""Bytes of an answer that are read."""
LAST_BYTES = 4000
"""Bytes of standard error that are kept."""
LAST_WORDS = 2.0
"""Seconds in which pipes of a process that has ended are read to their ends."""
NOT_RUN = (126, 127)
"""Exit codes of a shell for a missing command and one that cannot be run."""
KINDS = "⟦--against⟧ takes ./libmodel.so, a library; model.py:grad, a Python function; or a command that reads and writes rows"


@dataclass(frozen=True)
class Answer:
    """Answer for a point: numbers, with `names` where they have names, or what went wrong (`everywhere`: with all points
    at once). `unread` says by their places of those that are no numbers what they are."""

    numbers: tuple[float, ...] = ()
    names: tuple[str, ...] | None = None
    unread: Mapping[int, str] = field(default_factory=dict)
    wrong: str | None = None
    everywhere: bool = False


@dataclass(frozen=True)
class Foreign:
    """Somebody's function or command, as on the command line, and its time limit in seconds. A command is a text for the shell;
    a file that is called has the `names` to try in it."""

    what: str
    seconds: float
    kind: str
    file: str = ""
    names: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """A short name of it."""
        return one_line(cut(self.what))

    def answers(self, inputs: Sequence[str], points: Sequence[Point], most: int, arrays: bool = False) -> list[Answer]:
        """One answer for each point, or fewer where it ended early: then the last says why. Values may be `arrays`."""
        if self.kind == "command":
            return self._rows(inputs, points)
        return self._called(inputs, [[at[n].tolist() if hasattr(at[n], "tolist") else at[n] for n in inputs] for at in points],
                            most, arrays)

    # ---------------------------------------------------------------- a function

    def _called(self, inputs: Sequence[str], points: Sequence[Sequence[object]], most: int, arrays: bool) -> list[Answer]:
        request = {self.kind: os.path.abspath(self.file), "names": self.names, "inputs": list(inputs), "most": most,
                   "seconds": self.seconds, "arrays": arrays, "points": points}
        ended = finished([sys.executable, "-P", str(CALLER)], json.dumps(request).encode(), self.seconds)
        try:
            first, *records = [json.loads(line) for line in ended.out.split(b"\n")[:-1]] or [{}]
            unusable, known = first.get("unusable"), first.get("known", ())
            found = [answer(r) for r in records[:len(points)]]
        except (ValueError, KeyError, TypeError, AttributeError):
            return [Answer(wrong="writes into the pipe of its results", everywhere=True)]
        if unusable is not None:
            raise self._unusable(unusable, known)
        if len(found) < len(points):
            found.append(Answer(wrong=ended.how() if first else ended.how(" when it is loaded"), everywhere=not first))
        return found

    def _unusable(self, why: str, known: Sequence[str]) -> AdError:
        if self.kind == "library" and why == "no such function":
            return AdError(f"{self.file}: none of the functions {', '.join(self.names)}",
                           help=f"nm -D {quoted(self.file)} lists what it has: name one with ⟦--symbol⟧")
        help = nearest(self.names[0].rpartition(".")[2], known) or f"it has {', '.join(known[:8])}" if known else None
        return AdError(f"{self.file}: {why}", help=help)

    # ---------------------------------------------------------------- a command

    def _rows(self, inputs: Sequence[str], points: Sequence[Point]) -> list[Answer]:
        """Rows in, rows out."""
        rows = [",".join(inputs), *(",".join(shortest(at[n]) for n in inputs) for at in points), ""]
        ended = finished(self.what, "\n".join(rows).encode(), self.seconds)
        if ended.code in NOT_RUN and not ended.out:
            raise AdError(f"⟦--against⟧: {ended.last or 'command not found'}", help=KINDS)
        if ended.code != 0:
            return [Answer(wrong=ended.how(), everywhere=True)]
        found = list(table(ended.out, inputs))
        if len(found) != len(points) and not any(a.wrong for a in found):
            return [Answer(wrong=f"writes {plural(len(found), 'row')} for {plural(len(points), 'point')}", everywhere=True)]
        return found[:len(points)]


# ---------------------------------------------------------------- what the command line says

def foreign(what: str, names: Sequence[str], given: str | None, seconds: float) -> Foreign:
    """Function or command that --against names; `names` are those of functions of a library to try where --symbol gives none.
    AdError where there is no such file."""
    python = PYTHON.fullmatch(what)
    path = python[1] if python else what
    kind = "python" if python else "library" if LIBRARY.fullmatch(what) else "command"
    if re.search(r"\s", path) and not os.path.exists(path):
        kind = "command"   # with an argument that looks like a file
    if given is not None and kind != "library":
        raise AdError("⟦--symbol⟧ is the name of a function in a library", help="a Python function is named as model.py:grad" if
                      python or what.endswith(".py") else None)
    if kind == "command":
        refuse_file(what)
        return Foreign(what, seconds, kind)
    if not os.path.isfile(path):
        raise AdError(f"{path}: {'not a file' if os.path.exists(path) else 'No such file or directory'}", help=KINDS)
    if python is not None:
        if not python[2]:
            raise AdError(f"'{what}' names no function", help=f"write ⟦--against {quoted(path)}:grad⟧")
        names = [python[2]]
    return Foreign(what, seconds, kind, path, (given,) if given is not None else tuple(names))


def refuse_file(what: str) -> None:
    """AdError where a command is rather a file of which one wants something else."""
    if not what.strip() or os.path.isdir(what):
        raise AdError(f"⟦--against⟧: {what} is a folder" if what.strip() else "⟦--against⟧ names nothing", help=KINDS)
    path = PurePath(what)
    if path.suffix in (".py", ".pyw") and not re.search(r"\s", what):
        raise AdError(f"{what}: which function of it?", help=f"write ⟦--against {quoted(what)}:grad⟧")
    if path.suffix in SOURCES and not re.search(r"\s", what):
        made = SOURCES[path.suffix].format(quoted(what), path.stem.removeprefix("lib"))
        raise AdError(f"{what} is no shared library", help=made)


# ---------------------------------------------------------------- what comes back

def answer(record: dict[str, Any]) -> Answer:
    """An answer of the child."""
    if "wrong" in record:
        return Answer(wrong=str(record["wrong"]))
    names = record.get("names")
    return Answer(tuple([float(x) for x in record["numbers"]]), names and tuple(names),
                  {int(i): str(why) for i, why in record.get("unread", {}).items()})


def table(written: bytes, inputs: Sequence[str]) -> Iterator[Answer]:
    """The rows of CSV, with a header or without; columns that are inputs are no results."""
    try:
        rows = [row for row in csv.reader(separated(written.decode("utf-8-sig", "replace").splitlines())) if row]
    except csv.Error as error:
        yield Answer(wrong=f"writes no table of CSV: {error}", everywhere=True)
        return
    header = [name.strip() for name in rows[0]] if rows and not any(number(x) is not None for x in rows[0]) else None
    if header and not any(map(str.isidentifier, header)):
        yield Answer(wrong=f"begins with '{cut(header[0])}', which is no number and no name of a column", everywhere=True)
        return
    kept = [i for i, name in enumerate(header) if name not in inputs] if header else None
    for row in rows[1:] if header else rows:
        if header and len(row) != len(header):
            yield Answer(wrong=f"writes a row of {plural(len(row), 'field')} under a header of {len(header)}")
            continue
        numbers = [(text, number(text)) for text in ([row[i] for i in kept] if kept is not None else row)]
        yield Answer(tuple([math.nan if x is None else x for _, x in numbers]),
                     tuple([header[i] for i in kept or ()]) if header else None,
                     {i: f"writes '{cut(text)}', which is no number" for i, (text, x) in enumerate(numbers) if x is None})


def separated(lines: list[str]) -> list[str]:
    """Lines of CSV; numbers and names with spaces, tabs or semicolons between them get commas."""
    first = BETWEEN.split(lines[0].strip()) if lines else []
    if any("," in line for line in lines) or not all(number(x) is not None or x.isidentifier() for x in first):
        return lines
    return [BETWEEN.sub(",", line.strip()) for line in lines]


def cut(text: str, most: int = 40) -> str:
    """A text that may be long, in a message."""
    return text if len(text) <= most else f"{text[:most - 1]}…"


def number(text: str) -> float | None:
    """A field as a number, None where it is none."""
    with suppress(ValueError, OverflowError):
        return float.fromhex(text) if "0x" in text.lower() else float(text)
    return None


# ---------------------------------------------------------------- processes

@dataclass
class Ended:
    """A process that has ended, or was ended: what it wrote, and the end of what it wrote to standard error."""

    code: int
    out: bytes
    err: bytes
    late: float | None = None
    flood: bool = False

    @property
    def last(self) -> str:
        """The last line of standard error."""
        lines = self.err.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def how(self, when: str = "") -> str:
        """Cause and time of its end, with its last line."""
        if self.late is not None:
            return f"gives no answer within {self.late:g} s{when}"
        if self.flood:
            return f"writes more than {MOST_BYTES >> 20} MiB"
        killed = -self.code if self.code < 0 else self.code - 128
        said = f"crashes ({SIGNALS[killed]})" if killed in SIGNALS else f"ends with exit code {self.code}"
        return f"{said}{when}: {self.last}" if self.last else f"{said}{when}"


SIGNALS = {int(s): s.name for s in signal.Signals}


def finished(command: str | list[str], given: bytes, seconds: float) -> Ended:
    """Run a command (a text is one of the shell) in a session of its own, which is ended with all its processes."""
    process = subprocess.Popen(command, shell=isinstance(command, str), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    out, err, full = bytearray(), bytearray(), threading.Event()

    def feed(pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError), pipe:
            pipe.write(given)

    def collect(pipe: IO[bytes], into: bytearray, most: int, last: bool) -> None:
        with suppress(OSError, ValueError):
            while piece := os.read(pipe.fileno(), 1 << 16):
                into += piece
                if len(into) > most and last:
                    del into[:-most]
                elif len(into) > most:
                    full.set()
                    stop(process)
                    return
    assert process.stdin and process.stdout and process.stderr
    threads = [threading.Thread(target=work, args=args, daemon=True) for work, args in (
        (feed, (process.stdin,)), (collect, (process.stdout, out, MOST_BYTES, False)),
        (collect, (process.stderr, err, LAST_BYTES, True)))]
    ending = partial(stop, process)
    ENDINGS.add(ending)
    try:
        for t in threads:
            t.start()
        late = None
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            late = seconds
            stop(process)
        for t in threads:
            t.join(LAST_WORDS)
    finally:
        stop(process)
        process.wait()
        ENDINGS.discard(ending)
    return Ended(process.returncode, bytes(out), bytes(err), late, full.is_set())


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process with those that it started, unless it has ended: then its number may be that of another."""
    if process.returncode is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
