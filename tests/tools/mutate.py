#!/usr/bin/env python3
"""Mutation testing: do the tests notice when a file is wrong?

    python -m pytest --cov --cov-context=test --cov-report=
    python tests/tools/mutate.py codegen/machine/cache.py [FILE …] [--most 60] [--seed 1] [--covered .coverage]
        [--wider tests/test_manual.py]

Each mutant is one small change of one file, made by the operators of mutmut (the extra `mutation`), to which negated
conditions are added. It is put into a copy of the project with an environment of its own, so that every test sees the
mutant, those that start processes included. With `--covered`, a record of which test runs which line, the tests that run the
changed line are tried, then all tests of the file. Without it, and where only imports run the line, the tests of the file run
first, then those of its room, then of `--wider`. A mutant is killed by the first test that fails, or does not end, and holds
without the mutant: a test that fails on a busy machine kills nothing, nor does one that is deselected or has gone since the
record. Tests marked `engine` are run too, as CI does. Survivors are printed as the difference that no test noticed.

Left out are annotations, triple-quoted texts, the letter case of texts, and None for an argument or for what is assigned,
which every test notices that comes by: that is what coverage is for. So are mutants that are the same program by
construction: of assertions (`strict` of a zip is one), `slots`, the size of a cache of pure functions, and of what only the
type checker reads. Others that are the same program, or the same but for its speed, are listed with the reason
in `mutants_alike.txt`. Files are drawn by their lengths, then a place and one of its mutants, so that a long sum has no more
weight than a comparison.
"""
from __future__ import annotations

import argparse
import difflib
import os
import queue
import random
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]
from session_seed import WHOLE  # noqa: E402
from test_rooms import TESTED_AS  # noqa: E402

ALIKE = Path(__file__).with_name("mutants_alike.txt")
IDLE_ARGUMENTS: dict[str, tuple[str | int, ...]] = {
    "zip": ("strict",), "dataclass": ("slots",), "lru_cache": ("maxsize", 0), "cast": (0,), "TypeVar": (0,),
    "dataclass_transform": ("frozen_default", "field_specifiers")}
"""Arguments, by keyword or position, without which a correct program is the same."""
LONGEST_STATEMENT = 12
"""Lines, as far as one looks for the first."""
NONE_SELECTED = 5
"""Exit status of pytest that has run no test."""
MOST_TESTS, MOST_SECONDS, MOST_SECONDS_OF_A_ROOM = 60, 300.0, 900.0
"""Functions of tests that run the changed line, and the seconds that they, or files of tests, may take."""


class Mutant(NamedTuple):
    """One change: the file (from the root), the number of the first line, its lines before and after, without indentation, and
    the whole new text."""

    file: str
    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]
    text: str
    difference: str


class Alike(NamedTuple):
    """Mutants that no test can tell from the program: the file, its lines before and after (none: whatever), the reason."""

    file: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    reason: str


# ---------------------------------------------------------------- mutants

def places(text: str) -> list[list[Callable[[], str]]]:
    """The places of a text of Python that can be changed: for each what makes the text of each of its mutants."""
    import libcst
    from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_assignment

    module = libcst.parse_module(text)
    others = [row for row in mutation_operators if row[1] not in (operator_arg_removal, operator_assignment)]
    operators = [*others, (libcst.If, negated), (libcst.While, negated), (libcst.Call, shortened)]
    found, idle = [], set[libcst.CSTNode]()

    class Places(libcst.CSTVisitor):
        def on_visit(self, node: libcst.CSTNode) -> bool:
            if is_idle(node) or node in idle:
                return False
            idle.update(idle_arguments(node))
            made = [new for kind, operator in operators if isinstance(node, kind) for new in operator(node)]
            if isinstance(node, libcst.SimpleString):
                made = made[:1]   # the others change letters between small and capital
            if made:
                found.append([partial(changed, module, node, new) for new in made])
            return True

    module.visit(Places())
    return found


def changed(module: Any, node: Any, new: Any) -> str:
    return str(module.deep_replace(node, new).code)


def negated(node: Any) -> Iterator[Any]:
    """A condition turned round, which mutmut does only where it has an operator."""
    import libcst
    left, right = libcst.LeftParen(), libcst.RightParen()
    inner = node.test.with_changes(lpar=[left], rpar=[right])
    yield node.with_changes(test=libcst.UnaryOperation(operator=libcst.Not(), expression=inner, lpar=[left], rpar=[right]))


def shortened(node: Any) -> Iterator[Any]:
    """A call of several arguments without one of them."""
    idle = idle_arguments(node)
    for argument in node.args if len(node.args) > 1 else ():
        if argument not in idle:
            yield node.with_changes(args=[a for a in node.args if a is not argument])


def is_idle(node: Any) -> bool:
    """Not part of what a correct program does: annotations, imports, assertions."""
    import libcst
    return isinstance(node, libcst.Annotation | libcst.Import | libcst.ImportFrom | libcst.Assert) \
        or (isinstance(node, libcst.If) and isinstance(node.test, libcst.Name) and node.test.value == "TYPE_CHECKING")


def idle_arguments(node: Any) -> list[Any]:
    """Those of IDLE_ARGUMENTS that a call has."""
    import libcst
    if not isinstance(node, libcst.Call) or not isinstance(node.func, libcst.Name):
        return []
    idle = IDLE_ARGUMENTS.get(node.func.value, ())
    return [a for i, a in enumerate(node.args) if (a.keyword.value if a.keyword else i) in idle]


def compiles(text: str) -> bool:
    try:
        compile(text, "", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def compared(file: str, before: str, after: str) -> Mutant:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))[2:]
    removed, added = (tuple(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
    first = next(i for i, (x, y) in enumerate(zip(before.splitlines(), [*after.splitlines(), ""], strict=False)) if x != y) + 1
    return Mutant(file, first, removed, added, after, "\n".join(lines))


def listed(text: str) -> list[Alike]:
    """The blocks of a list of mutants alike, which are parted by empty lines."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().splitlines()
        if all(line.startswith("#") for line in lines):
            continue
        reason = " ".join(line[1:].strip() for line in lines if line[0] == "#")
        (file,) = (line for line in lines if line[0] not in "#+-")
        removed, added = (tuple(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
        blocks.append(Alike(file, removed, added, reason))
    return blocks


def is_alike(mutant: Mutant, alike: Iterable[Alike]) -> bool:
    return any((a.file, a.removed) == (mutant.file, mutant.removed) and a.added in ((), mutant.added) for a in alike)


def sample(files: Iterable[str], most: int, seed: int) -> list[Mutant]:
    """At most so many mutants, each of another place. What is no Python or alike is no mutant."""
    chance, alike = random.Random(seed), listed(ALIKE.read_text(encoding="utf-8"))
    sources = {file: (ROOT / file).read_text(encoding="utf-8") for file in files}
    left: dict[str, list[list[Callable[[], str]]]] = {}
    drawn: list[Mutant] = []
    while len(drawn) < most and sources:
        (file,) = chance.choices([*sources], [*map(len, sources.values())])
        if file not in left:
            left[file] = places(sources[file])
            chance.shuffle(left[file])
        if not left[file]:
            del sources[file]
            continue
        made = left[file].pop()
        texts = (make() for make in chance.sample(made, len(made)))
        new = (compared(file, sources[file], text) for text in texts if compiles(text))
        drawn += [m for m in new if m.removed != m.added and not is_alike(m, alike)][:1]
    return drawn


# ---------------------------------------------------------------- tests

def mirrors(file: str) -> list[str]:
    """The tests of a file: where one looks, or where tests/test_rooms.py says."""
    module = Path(file).with_suffix("")
    names = {f"test_{module.name}.py", f"test_{module.name.removeprefix('tensor_')}.py"}
    own = [p for name in sorted(names) if (p := ROOT / "tests" / module.parent / name).exists()]
    said = [p for tests, patterns in TESTED_AS.items() if any(fnmatch(module.as_posix(), p) for p in patterns)
            for p in sorted((ROOT / "tests").glob(tests))]
    return [p.relative_to(ROOT).as_posix() for p in dict.fromkeys([*own, *([] if own else said)])]


class Covered:
    """The tests that run each line, from a file of coverage.py with contexts."""

    def __init__(self, path: str) -> None:
        from coverage import CoverageData
        self.data = CoverageData(path)
        self.data.read()
        self.files = {Path(name).as_posix(): name for name in self.data.measured_files()}

    def stages(self, mutant: Mutant) -> list[tuple[str, ...]]:
        """Functions of tests that run the line (of a statement of several lines the last one above that is known to run), at
        most MOST_TESTS after those of the file itself, then all tests of the file, of which a record of one row a table knows
        few; empty where only imports run it."""
        name = self.files.get((ROOT / mutant.file).as_posix(), "")
        known = self.data.contexts_by_lineno(name) if name else {}
        contexts = next((known[n] for n in range(mutant.line, mutant.line - LONGEST_STATEMENT, -1) if n in known), [])
        named = dict.fromkeys(re.split(r"[\[|]", context)[0] for context in sorted(contexts) if context)
        functions = [name for name in named if self.exists(name)]
        mirrored = mirrors(mutant.file)
        own = tuple(f for f in functions if f.split("::")[0] in mirrored)
        others = [f for f in functions if f not in own]
        rest = tuple(random.Random(mutant.line).sample(others, min(len(others), MOST_TESTS)))
        return [stage for stage in (own, rest, tuple(mirrored)) if stage] if functions else []

    @staticmethod
    @cache
    def exists(test: str) -> bool:
        """Is there still such a test?"""
        path, _, name = test.partition("::")
        place = ROOT / path
        return place.exists() and f"def {name.rpartition('::')[2]}(" in place.read_text(encoding="utf-8")


def stages(file: str, wider: Iterable[str]) -> list[tuple[str, ...]]:
    """The tests that are run, one stage after the other until a mutant is killed."""
    own, room = tuple(mirrors(file)), f"tests/{Path(file).parent.as_posix()}"
    others = tuple(p.relative_to(ROOT).as_posix() for p in sorted((ROOT / room).glob("test_*.py")))
    rest = tuple(p for p in others if p not in own)
    return [stage for stage in (own, rest, *((w,) for w in wider)) if stage]


class Copy:
    """A copy of the project, installed in an environment of its own that shares the packages of others with this one."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        ignored = shutil.ignore_patterns(".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis",
                                         ".coverage*")
        shutil.copytree(ROOT, self.root, ignore=ignored)
        environment = folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
        self.python = environment / "bin" / "python"
        (packages,) = environment.glob("lib/python*/site-packages")
        (packages / "others.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
        install = ["-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", str(self.root)]
        subprocess.run([str(self.python), *install], check=True, capture_output=True)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
                            WHOLE: "1", "PATH": os.pathsep.join([str(self.python.parent), os.environ["PATH"]])}

    def run(self, tests: Iterable[str], limit: float) -> tuple[bool, str]:
        """Whether these tests hold within so many seconds, and what pytest says."""
        command = [str(self.python), "-m", "pytest", "-n0", "-x", "-q", "-m", "", "--no-header", "--tb=line", *tests]
        running = subprocess.Popen(command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True)
        try:
            said, _ = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return False, f"no end after {limit:.0f} s"
        return running.returncode in (0, NONE_SELECTED), said

    def killer(self, mutant: Mutant, wider: Iterable[str], covered: Covered | None) -> str | None:
        """The test that killed a mutant; None where it survives."""
        chosen = covered.stages(mutant) if covered else []
        limit = MOST_SECONDS if chosen else MOST_SECONDS_OF_A_ROOM
        for tests in chosen or stages(mutant.file, wider):
            with self.changed(mutant):
                holds, said = self.run(tests, limit)
            if not holds and self.run([failed_test(said)] if failed_test(said) else tests, limit)[0]:
                return first_failure(said)
        return None

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        place = self.root / mutant.file
        before = place.read_text(encoding="utf-8")
        place.write_text(mutant.text, encoding="utf-8")
        try:
            yield
        finally:
            place.write_text(before, encoding="utf-8")


def first_failure(said: str) -> str:
    faults = (line for line in said.splitlines() if line.startswith(("FAILED", "ERROR", "no end")))
    return next(faults, said[-200:]).split(" - ")[0]


def failed_test(said: str) -> str | None:
    """The function of a test that failed first, or its file; None where none is named."""
    failure = first_failure(said)
    return re.split(r"[\[ ]", failure.split(" ", 1)[1])[0] if failure.startswith(("FAILED", "ERROR tests/")) else None


# ---------------------------------------------------------------- command

def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="of the package, from the root of the project")
    parser.add_argument("--most", type=int, default=60, help="mutants at most (60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wider", action="append", default=[], metavar="TESTS", help="run last, for what still lives")
    parser.add_argument("--processes", type=int, default=1, help="copies of the project at work at the same time (1)")
    parser.add_argument("--covered", metavar="FILE", help="of coverage.py, with the contexts of tests")
    given = parser.parse_args(args)
    covered = Covered(given.covered) if given.covered else None
    drawn = sample(given.files, given.most, given.seed)
    print(f"{len(drawn)} mutants, seed {given.seed}", flush=True)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.processes) as pool:
        idle: queue.Queue[Copy] = queue.Queue()
        for i in range(given.processes):
            idle.put(Copy(Path(folder) / str(i)))

        def judge(mutant: Mutant) -> str | None:
            copy = idle.get()
            try:
                return copy.killer(mutant, given.wider, covered)
            finally:
                idle.put(copy)

        for mutant, killer in zip(drawn, pool.map(judge, drawn), strict=True):
            survivors += killer is None
            verdict = f"killed by {killer}" if killer else "survived"
            print(f"{mutant.file}\n{mutant.difference}\n{verdict}\n", flush=True)
    killed = len(drawn) - survivors
    print(f"{killed} of {len(drawn)} killed: {killed / max(1, len(drawn)):.0%}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
