#!/usr/bin/env python3
"""Everything that adcli prints for a fixed list of commands, recorded, and two records compared: the gate of a change that must
change nothing.

    PYTHON tests/tools/gate.py record FOLDER [--only REGEX] [--every K] [--processes N]
    python tests/tools/gate.py compare BEFORE AFTER [--only REGEX] [--most N]
    python tests/tools/gate.py list [--only REGEX] [--every K]

PYTHON is the interpreter of the environment that has the adcli to be recorded: the commands come from the checkout of this file,
the program from the environment. The list is every verb × every sample × points, grids, rows in every format × format of
the results × precision, every target of --emit, wrong programs and wrong options, and the help texts. A record is a folder with a
file for each verb, made for reading and for `diff`. `compare` exits with 1 where an exit code or a text differs, times masked.

Each command runs in a process forked from one that has imported adcli, so that thousands take minutes.
"""
from __future__ import annotations

import argparse
import collections
import difflib
import hashlib
import importlib
import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from adcli.lang.operations.activity import inputs_to_differentiate

import adcli

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 120
BAR = "─" * 40

Command = tuple[str, ...]


class Sample(NamedTuple):
    """A program with a point for its inputs, a direction and weights; `names` are the inputs of a program of scalars, empty with
    tensors, and `grid` has points along the first of them."""

    program: Command
    at: Command
    tangent: Command
    cotangent: Command
    one: Command
    """The choice of one output, where there are several."""
    names: tuple[str, ...]
    grid: Command


# ---------------------------------------------------------------- the programs

EXTRA = {   # kinds of programs that no sample has, each with a point
    "loop": ("input x; h(0) = x; for t in 0:5 { h(t+1) = sin(h(t))*x }; v = h(5)", "x=2"),
    "algebra": ("input b(N); param A(N, N); u = solve(A, b); v +=! u(i)*b(i)", "A=[[4,1],[1,3]],b=[1,2]"),
    "branches": ("input x, y; v = x > y ? x*y : exp(x) - y; w = abs(x - 1) + max(x, y)", "x=1,y=1"),
    "special": ("input x; v = lgamma(x) + erf(x)*expm1(x); w = atan2(x, 2) + hypot(x, 3)", "x=0.7"),
    "poles": ("input x; v = log(x) + 1/x; w = sqrt(x)", "x=0"),
    "powers": ("input x, y; v = x**y + x**1.5 + x**3 - y**-2", "x=2,y=0.5"),
    "gather": ("input x(N), int32(M) k; y(i) = x(k(i))**2; v max=! y(i)", "x=[1,2,3],k=[0,2]"),
    "cumulative": ("input x(N); c(0) = x(0); for t in 1:N { c(t) = c(t-1)*x(t) }; v +=! c(i)", "x=[1,2,3]"),
    "softmax": ("input x(N); l lse=! x(i); p(i) = exp(x(i) - l); v +=! p(i)*p(i)", "x=[1,2,3]"),
}


def samples() -> dict[str, Sample]:
    """Every program of samples/, at the point of its first comment with one, and EXTRA."""
    found = {}
    for path in sorted((ROOT / "samples").glob("*.ad")):
        text = path.read_text("utf-8")
        given = [w for w in map(shlex.split, re.findall(r"^# Try:  (adcli .+)$", text, re.M))
                 if "--at" in w and not re.search(r"[±~]|[^=,]*=[^,\[]*:", w[w.index("--at") + 1])]
        at = tuple(given[0][given[0].index("--at"):][:2]) if given else ()
        found[path.stem] = sample((f"samples/{path.name}",), text, at)
    for name, (text, point) in EXTRA.items():
        lines = text.split("; ")
        found[name] = sample(tuple(word for line in lines for word in ("-e", line)), "\n".join(lines), ("--at", point))
    return found


def sample(program: Command, text: str, at: Command) -> Sample:
    function = adcli.compile(text)
    numbers = at and re.fullmatch(r"(\w+=[-.\w]+,?)+", at[1])
    given = dict(part.partition("=")[::2] for part in at[1].split(",")) if numbers else {}
    first = next(iter(given), "")
    grid = ",".join(f"{name}={x}:{float(x) + 1}:3" if name == first else f"{name}={x}" for name, x in given.items())
    active = inputs_to_differentiate(function.program, None)
    return Sample(program, at, ("--tangent", ",".join(f"{name}=1" for name in active)),
                  ("--cotangent", ",".join(f"{name}=1" for name in function.outputs)),
                  ("--of", function.outputs[-1]) if len(function.outputs) > 1 else (), tuple(given),
                  ("--at", grid) if given else ())


# ---------------------------------------------------------------- the commands

DERIVED = ("eval", "grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "taylor")
ONE = ("hessian", "hvp")
TARGETS = ("text", "c", "header", "js", "python", "latex", "dot", "llvm", "object")
HOW = {   # options and the verbs that have them
    **{("--format", form): DERIVED for form in ("text", "json", "csv")}, ("--precision", "single", "--format", "json"): DERIVED,
    **{(word,): DERIVED
       for word in ("--status", "--strict", "--digits", "--enclose", "--hex", "--fast-math", "--checkpoint")},
    ("--explain",): DERIVED[1:], ("--order", "2"): ("grad", "taylor"), ("--order", "3"): ("grad", "taylor"),
    ("--mode", "forward"): DERIVED[1:4], ("--mode", "reverse"): DERIVED[1:4], ("--tier", "tape"): ("grad", "hessian"),
    ("--tier", "compiled"): ("grad",), ("--exact-order",): ("grad", "vjp"), ("--fmt", "%.3g"): ("grad",),
    ("--format", "coo"): ("jacobian", "hessian"), ("--format", "mtx"): ("jacobian", "hessian"),
}
STAGES = ("parsed", "anf", "ssa", "ranges", "dup", "forward", "reverse", "simplified")
STYLES = ("nested", "anf", "prefix")
ROWS = ("csv", "tsv", "ndjson", "json", "parquet")
OF_ROWS = [(), ("--sum",), ("--mean",), ("--only",), ("--status",), ("--strict",), ("--digits",), ("--order", "2"), ("--hex",),
           ("--precision", "single"), ("--on-error", "mark"), ("--on-error", "skip")]
VERBS = (*DERIVED, "show", "fmt", "draw", "trace", "explore", "why", "check", "plot", "fit", "minimize", "solve", "bench",
         "cache", "lsp", "editor", "functions", "help", "propagate")
CHAPTERS = ("language", "status", "rows", "tensors", "uncertainty", "precision", "errors", "internals", "api")
SURFACES = [   # wrong or rare uses of the command line
    (), ("grd",), ("grad",), ("grad", "nofile.ad"), ("grad", "-e", ""), ("grad", "-e", "v = x"),
    ("grad", "-e", "v = x", "--at", "y=1"), ("grad", "-e", "v = x", "--at", "x=abc"),
    ("grad", "-e", "v = x", "--at", "x=1,x=2"), ("grad", "-e", "v = x", "--at", "x"),
    ("grad", "-e", "v = x", "--at", "x=1", "--precison", "single"), ("grad", "-e", "v = x", "--at", "x=1", "--wrt", "z"),
    ("grad", "-e", "v = x", "--at", "x=1", "--of", "w"), ("grad", "-e", "v = x", "--at", "x=1", "--format", "xml"),
    ("grad", "-e", "v = x", "--at", "x=1", "--order", "0"), ("grad", "-e", "v = x", "--at", "x=1", "--emit", "c"),
    ("grad", "-e", "v = x", "--emit", "c", "--sum"), ("grad", "-e", "v = x", "--emit", "c", "--digits"),
    ("grad", "-e", "v = x", "--emit", "python", "--lanes", "4"), ("jvp", "-e", "v = x*y", "--at", "x=1,y=2"),
    ("vjp", "-e", "v = x; w = x", "--at", "x=1"), ("hvp", "-e", "v = x*y", "--at", "x=1,y=2"),
    ("grad", "-e", "input x(N); v +=! x(i)", "--at", "x=1"),
    ("grad", "-e", "input x(N)", "-e", "v +=! x(i)", "--at", "x=[[1]]"),
    ("grad", "-e", "input x(N)", "-e", "v +=! x(i)", "--at", "x=[1,2"), ("eval", "-e", "x/0", "--at", "x=1", "--strict"),
    ("grad", "-e", "v = x", "--data", "nofile.csv"), ("grad", "-e", "v = x", "--at", "x=1", "--sum"),
    ("show", "--stage", "nothing", "-e", "x"), ("grad", "-e", "v = x*y", "--at", "x=0:1:3,y=0:1:2"),
    ("grad", "-e", "v = x", "--at", "x=1", "--weights", "w"), ("grad", "-e", "v = x", "--at", "x=1", "--format", "parquet"),
    ("grad", "-e", "v = x", "--at", "x=1", "--status", "--enclose"),
    ("grad", "-e", "v = x", "--at", "x=1", "--digits", "--enclose"), ("grad", "-e", "v = x", "--at", "x=1±0.1", "--enclose"),
    ("why", "-e", "v = sqrt(x)", "--at", "x=0", "--limit"), ("why", "-e", "v = sin(x)/x", "--at", "x=0", "--limit"),
    ("solve", "-e", "x**2 - 2", "--at", "x=1"), ("solve", "-e", "x == cos(x)", "--at", "x=1"),
    ("solve", "-e", "x**2 + 1", "--at", "x=1"), ("minimize", "-e", "(x-1)**2 + (y-x**2)**2", "--at", "x=3,y=3"),
    ("minimize", "-e", "x**3", "--at", "x=1"), ("minimize", "-e", "hypot(x,y)**2", "--at", "x=1,y=1"), ("--version",),
    ("--help",), ("check", "-e", "v = abs(x)", "--at", "x=0"),
]


def commands(folder: pathlib.Path) -> Iterator[Command]:
    """The whole list, in a fixed order; tables of rows and wrong programs are written to the folder."""
    for each in samples().values():
        yield from of_a_program(each)
    yield from of_rows(folder)
    for path in sorted((ROOT / "samples").glob("*.ad")):
        for line in re.findall(r"^# Try:  (.+)$", path.read_text("utf-8"), re.M):
            if "|" not in line and ">" not in line and (words := shlex.split(line))[0] == "adcli":
                yield tuple(words[1:])
    for text in wrong_programs():
        path = folder / f"wrong{zlib.crc32(text.encode()):08x}.ad"
        path.write_text(text + "\n", "utf-8")
        yield ("grad", str(path))
    for verb in VERBS:
        yield (verb, "--help")
    for chapter in CHAPTERS:
        yield ("help", chapter)
    yield from [("help",), ("functions",), ("functions", "--format", "json"), ("editor",)]
    yield from SURFACES


def of_a_program(s: Sample) -> Iterator[Command]:
    """Every verb with every option, at the point of one program."""
    for verb in DERIVED:
        base = (verb, *s.program, *along(verb, s))
        yield from ((*base, *s.at, *how) for how, verbs in HOW.items() if verb in verbs)
        yield from ((*base, *s.grid, "--format", form) for form in ("text", "csv") if s.grid)
        yield from ((verb, *s.program, *(s.one if verb in ONE else ()), "--emit", target) for target in TARGETS)
    yield from (("grad", *s.program, "--emit", target, "--precision", "single") for target in TARGETS[1:6])
    yield from (("grad", *s.program, "--emit", target, "--status") for target in TARGETS[:5])
    yield from (("show", *s.program, "--stage", stage) for stage in STAGES)
    yield from (("show", *s.program, "--stage", stage, "--style", style) for stage in ("parsed", "reverse") for style in STYLES)
    yield from [("show", *s.program, "--shapes"), ("fmt", *s.program), ("explore", *s.program, *s.at)]
    yield from (("draw", *s.program, *point, "--stage", stage, "--format", form) for point in ((), s.at)
                for stage in ("ssa", "reverse") for form in ("dot",))
    yield from (("trace", *s.program, *s.at, *how, "--format", form)
                for how in ((), s.tangent, s.cotangent, ("--names", "program")) for form in ("text", "markdown", "latex", "json"))
    yield from (("why", *s.program, *s.at, *how)
                for how in ((), ("--limit",), ("--order", "2"), ("--mode", "forward"), ("--format", "json")))
    yield from (("check", *s.program, *s.at, *how) for how in ((), ("--format", "json"), ("--precision", "single")))
    yield from (("propagate", *s.program, *uncertain(s), *how)
                for how in ((), ("--format", "json"), ("--second-order",), ("--coverage", "95%"), ("--monte-carlo", "1000")))
    yield ("bench", *s.program, *s.at, "--seconds", "0.001")
    if s.grid:
        yield from (("plot", *s.program, "--at", s.grid[1].replace(":3", ""), "--format", form, "--points", "21")
                    for form in ("text", "csv"))


def along(verb: str, s: Sample) -> Command:
    """The direction or the weights that a verb needs, and the one output."""
    given = s.tangent if verb in ("jvp", "hvp", "taylor") else s.cotangent if verb == "vjp" else ()
    return (*given, *s.one) if verb in ONE else given


def uncertain(s: Sample) -> Command:
    """Its point with one per cent of uncertainty for each scalar."""
    return ("--at", ",".join(f"{part}±1%" for part in s.at[1].split(","))) if s.names else s.at


def of_rows(folder: pathlib.Path) -> Iterator[Command]:
    """Rows of the programs of scalars: five formats of tables, with a column of text beside them and two rows that are odd."""
    for name, s in samples().items():
        if not s.names:
            continue
        given = [float(part.split("=")[1]) for part in s.at[1].split(",")]
        rows = [[f"row {i}", *(x * (1 + 0.01 * i) for x in given)] for i in range(5)] + [["zero", *(0.0 for _ in given)]]
        header = ["id", *s.names]
        records = [dict(zip(header, row, strict=True)) for row in rows]
        tables = {"csv": lines(",", header, rows), "tsv": lines("\t", header, rows),
                  "ndjson": "".join(json.dumps(r) + "\n" for r in records), "json": json.dumps(records)}
        for form, text in tables.items():
            (folder / f"{name}.{form}").write_text(text, "utf-8")
        parquet(folder / f"{name}.parquet", records)
        (folder / f"{name}_bad.csv").write_text(tables["csv"] + "bad," + ",".join("?" for _ in given) + "\n", "utf-8")
        yield from (("grad", *s.program, "--data", str(folder / f"{name}.{form}"), "--format", into)
                    for form in ROWS for into in ("csv", "json"))
        yield from (("grad", *s.program, "--data", str(folder / f"{name}_bad.csv"), *how) for how in OF_ROWS)
        yield from ((verb, *s.program, *along(verb, s), "--data", str(folder / f"{name}.csv")) for verb in DERIVED)
        yield from (("propagate", *s.program, "--data", str(folder / f"{name}.{form}")) for form in ("csv", "ndjson"))


def lines(mark: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return "".join(mark.join(map(str, row)) + "\n" for row in (header, *rows))


def parquet(path: pathlib.Path, records: list[dict[str, object]]) -> None:
    try:
        arrow = importlib.import_module("pyarrow")
        written = importlib.import_module("pyarrow.parquet")
    except ImportError:
        return
    written.write_table(arrow.Table.from_pylist(records), path)


def wrong_programs() -> list[str]:
    """Those of the golden file of messages."""
    text = (ROOT / "tests" / "lang" / "faults.txt").read_text("utf-8")
    return [case.partition("\n=>\n")[0] for case in re.split(r"^---\n", text, flags=re.M)]


def selected(folder: pathlib.Path, only: re.Pattern[str], every: int) -> list[Command]:
    """The commands that `only` finds, of these one of `every`, whatever is beside it in the list."""
    return [c for c in dict.fromkeys(commands(folder))
            if only.search(text := shlex.join(c)) and zlib.crc32(text.encode()) % every == 0]


# ---------------------------------------------------------------- recording

def record(folder: pathlib.Path, only: re.Pattern[str], every: int, processes: int) -> int:
    """Run the commands with the adcli of this interpreter and write what they print; returns their number."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        tables = pathlib.Path("/tmp/adcli-gate-tables")   # the same in every record, since messages name it
        tables.mkdir(exist_ok=True)
        chosen = selected(tables, only, every)
        for module in ("adcli.main", "numpy", "llvmlite.binding", "click"):
            importlib.import_module(module)
        workers = [forked(lambda k=k: worker(chosen[k::processes], pathlib.Path(scratch) / f"part{k}")) for k in range(processes)]
        for pid in workers:
            os.waitpid(pid, 0)
        parts = [json.loads((pathlib.Path(scratch) / f"part{k}").read_text("utf-8")) for k in range(processes)]
    ended = dict(itertools.chain.from_iterable(parts))
    by_verb = collections.defaultdict(list)
    for command in chosen:
        verb = command[0] if command and command[0] in VERBS else "other"
        by_verb[verb].append(f"$ adcli {shlex.join(command)}\n{ended[shlex.join(command)]}\n{BAR}\n")
    for verb, texts in by_verb.items():
        (folder / f"{verb}.txt").write_text("".join(texts), "utf-8")
    return len(chosen)


def forked(work) -> int:
    if pid := os.fork():
        return pid
    code = 1
    try:
        code = work() or 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def worker(chosen: list[Command], path: pathlib.Path) -> None:
    os.chdir(ROOT)
    os.environ.update(XDG_CACHE_HOME=str(path.parent), COLUMNS="120", NO_COLOR="1", TERM="dumb", LC_ALL="C.UTF-8")
    out, err = path.with_suffix(".out"), path.with_suffix(".err")
    path.write_text(json.dumps([(shlex.join(c), one(c, out, err)) for c in chosen]), "utf-8")


def one(command: Command, out: pathlib.Path, err: pathlib.Path) -> str:
    """Exit code, standard output and standard error of one command."""
    pid = forked(lambda: run(command, out, err))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said = readable(err)
    return f"exit {code}\n{readable(out)}" + (f"-- standard error\n{said}" if said else "")


def run(command: Command, out: pathlib.Path, err: pathlib.Path) -> int:
    from adcli.main import run as command_line
    for number, path in ((0, os.devnull), (1, out), (2, err)):
        file = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    signal.alarm(LIMIT_S)
    code = command_line(list(command))
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def readable(path: pathlib.Path) -> str:
    """The text of a file with times masked; of other bytes the digest."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}\n"
    return text if text.endswith("\n") or not text else text + "\n(no newline)\n"


# ---------------------------------------------------------------- comparing

TIME = re.compile(r"\d[\d.,]*(e[-+]\d+)?(?= ?(ns|µs|us|ms|s|min|Mrows|M|k|GB|MB|GFlop)\b)")


def compare(before: pathlib.Path, after: pathlib.Path, only: re.Pattern[str], most: int) -> int:
    """Print what differs; returns the number of commands that do."""
    old, new = read(before), read(after)
    both = [command for command in old if command in new and only.search(command)]
    different = [command for command in both if masked(command, old[command]) != masked(command, new[command])]
    for command in different[:most]:
        changes = difflib.unified_diff(old[command].splitlines(), new[command].splitlines(), lineterm="", n=0)
        print(command, *itertools.islice(changes, 2, 24), sep="\n", end="\n\n")
    print(f"{len(both)} commands in both records, {len(different)} differ; {len(old.keys() - new.keys())} only before, "
          f"{len(new.keys() - old.keys())} only after")
    kinds = collections.Counter((command.split()[2], "text" if code(old[command]) == code(new[command]) else "exit code")
                                for command in different)
    for (verb, kind), number in sorted(kinds.items()):
        print(f"  {verb:10} {kind:10} {number}")
    return len(different)


def code(ended: str) -> str:
    return ended.partition("\n")[0]


def read(folder: pathlib.Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.glob("*.txt")):
        for block in path.read_text("utf-8").split(BAR + "\n"):
            command, _, rest = block.partition("\n")
            if command:
                found[command] = rest
    return found


def masked(command: str, text: str) -> str:
    """Without times; of `bench`, without any number."""
    return re.sub(r"[\d.,e+-]+", "#", text) if command.startswith("$ adcli bench") else TIME.sub("#", text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Record what adcli prints, and compare two records.")
    parser.add_argument("what", choices=("record", "compare", "list"))
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--only", default="", type=re.compile, help="commands that this regular expression finds")
    parser.add_argument("--processes", default=2, type=int)
    parser.add_argument("--every", default=1, type=int, metavar="K", help="one of K commands, the same in every record")
    parser.add_argument("--most", default=20, type=int, help="differences to show")
    given = parser.parse_args()
    if given.what == "compare":
        return int(compare(*given.folders, given.only, given.most) > 0)
    if given.what == "list":
        with tempfile.TemporaryDirectory() as folder:
            print(*map(shlex.join, selected(pathlib.Path(folder), given.only, given.every)), sep="\n")
        return 0
    print(record(*given.folders, given.only, given.every, given.processes), "commands recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
