"""Mutation testing: each file finds its tests, the list of mutants alike is about today's files, and a verdict is right."""
from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import coverage
import mutate
import pytest
from places import ROOT
from test_rooms import MODULES


def test_a_file_finds_its_tests() -> None:
    for module in MODULES:
        own, *wider = mutate.stages(f"{module}.py", ["tests/test_samples.py"])
        assert all((ROOT / path).is_file() for path in own)
        assert wider[-1] == ("tests/test_samples.py",)
        assert not set(own) & {path for stage in wider for path in stage}


def test_what_is_listed_as_alike_is_there_and_has_a_reason() -> None:
    for file, removed, added, reason in mutate.listed(mutate.ALIKE.read_text(encoding="utf-8")):
        lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
        places = [i for i in range(len(lines)) if tuple(lines[i:i + len(removed)]) == removed]
        assert places and reason and removed != added, (file, removed)


def test_a_mutant_is_alike_where_its_lines_are_listed() -> None:
    before = "LIMIT = 3\nif x < LIMIT:\n    run(x)\n"
    slower = mutate.compared("a.py", before, before.replace("= 3", "= 4"))
    wrong = mutate.compared("a.py", before, before.replace("<", "<="))
    assert (wrong.removed, wrong.added) == (("if x < LIMIT:",), ("if x <= LIMIT:",))
    listed = mutate.listed("# How this list is read.\n\n# A limit of speed.\na.py\n- LIMIT = 3\n\n# So.\nb.py\n- y\n+ z\n")
    assert listed == [("a.py", ("LIMIT = 3",), (), "A limit of speed."), ("b.py", ("y",), ("z",), "So.")]
    assert mutate.is_alike(slower, listed) and not mutate.is_alike(wrong, listed)
    assert not mutate.is_alike(slower._replace(file="b.py"), listed)


def test_the_tests_that_run_a_line_are_tried(tmp_path: Path) -> None:
    file, record = "codegen/machine/memory.py", str(tmp_path / "coverage")
    data = coverage.CoverageData(record)
    rest = tuple(f"tests/tools/test_mutate.py::test_{name}" for name in (
        "a_file_finds_its_tests", "a_mutant_is_alike_where_its_lines_are_listed"))
    own = "tests/codegen/machine/test_memory.py::test_amounts_in_the_largest_unit_that_has_digits_enough"
    for context, lines in (("", [1, 2, 9]), (f"{rest[0]}[a-b]|run", [2, 3]), (f"{rest[1]}|run", [3]),
                           ("tests/gone.py::f|run", [3]), (f"{own}|run", [3])):
        data.set_context(context)
        data.add_lines({str(ROOT / file): lines})
    data.write()
    covered = mutate.Covered(record)
    all_of_it = (own.split("::")[0],)
    for line, wanted in ((2, [rest[:1], all_of_it]), (3, [(own,), rest, all_of_it]), (9, [])):
        assert [tuple(sorted(stage)) for stage in covered.stages(mutate.Mutant(file, line, (), (), "", ""))] == wanted
    assert not covered.stages(mutate.Mutant("codegen/machine/cache.py", 3, (), (), "", ""))


def test_what_a_correct_program_does_not_need_is_left_out() -> None:
    pytest.importorskip("mutmut")
    idle = "if TYPE_CHECKING:\n    A = 1\nassert 1 < x, 'no'\n@lru_cache(maxsize=2)\ndef f(x: 'X') -> int: return g\n"
    made = [make() for made in mutate.places(idle + "zip(a, b, strict=True)\n") for make in made]
    assert made == [idle + "zip(b, strict=True)\n", idle + "zip(a, strict=True)\n"]


def test_mutants_are_of_different_places_and_the_same_for_a_seed() -> None:
    pytest.importorskip("mutmut")
    file = "lang/sizes/condition_dnf.py"
    drawn = mutate.sample([file], 20, 1)
    assert drawn == mutate.sample([file], 20, 1) != mutate.sample([file], 20, 2) and len(drawn) == 20
    whole = mutate.sample([file], 10**6, 1)
    assert len(whole) == len({m.text for m in whole})


FILE = "codegen/machine/memory.py"


class Planned(mutate.Copy):
    """A copy of which so many runs, one after the other, hold or not."""

    def __init__(self, folder: Path, *holds: bool) -> None:
        self.root, self.plan, self.ran = folder, iter(holds), []
        (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_text("before")

    def run(self, tests: Iterable[str], limit: float) -> tuple[bool, str]:
        self.ran.append((self.root / FILE).read_text())
        return next(self.plan), "1 failed\nFAILED tests/t.py::test_u[a] - reason"


@pytest.mark.parametrize("holds, ran, killed", [
    ((False, True), ["after", "before"], True), ((True, False, True), ["after", "after", "before"], True),
    ((True, True), ["after"] * 2, False), ((False, False, True), ["after", "before", "after"], False)],
    ids=["first stage", "second stage", "survives", "fails without it, too"])
def test_a_mutant_is_killed_by_a_test_that_holds_without_it(tmp_path: Path, holds, ran, killed) -> None:
    copy = Planned(tmp_path, *holds)
    found = copy.killer(mutate.Mutant(FILE, 1, (), (), "after", ""), [], None)
    assert found == ("FAILED tests/t.py::test_u[a]" if killed else None)
    assert copy.ran == ran and (tmp_path / FILE).read_text() == "before"


def test_tests_that_are_all_deselected_kill_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_t.py").write_text("import pytest\n@pytest.mark.engine\ndef test_u(): assert False\n")
    copy = Planned(tmp_path)
    copy.python, copy.environment = sys.executable, dict(os.environ)
    ran = [mutate.Copy.run(copy, ["test_t.py", "-m", marks], 60)[0] for marks in ("not engine", "engine")]
    assert ran == [True, False]
    assert [mutate.failed_test(text) for text in ("FAILED t.py::u[a b] - x", "ERROR tests/t.py", "no end after 3 s")] == \
        ["t.py::u", "tests/t.py", None]
