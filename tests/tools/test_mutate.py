"""Mutation testing: each file finds its tests, the list of mutants alike is about today's files, and a verdict is right."""
from __future__ import annotations

from pathlib import Path

import coverage
import mutate
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
    for context, lines in (("", [1, 2, 9]), ("tests/t.py::test_u[a-b]|run", [2, 3]), ("tests/t.py::test_v|run", [3]),
                           ("tests/codegen/machine/test_memory.py::test_w|run", [3])):
        data.set_context(context)
        data.add_lines({str(ROOT / file): lines})
    data.write()
    covered = mutate.Covered(record)
    rest = ("tests/t.py::test_u", "tests/t.py::test_v")
    for line, wanted in ((2, [rest[:1]]), (3, [("tests/codegen/machine/test_memory.py::test_w",), rest]), (9, [])):
        assert [tuple(sorted(stage)) for stage in covered.stages(mutate.Mutant(file, line, (), (), "", ""))] == wanted
    assert not covered.stages(mutate.Mutant("codegen/machine/cache.py", 3, (), (), "", ""))


def test_a_mutant_is_killed_by_the_first_tests_that_fail(tmp_path: Path) -> None:
    """A copy whose tests hold, fail or never end."""
    class Planned(mutate.Copy):
        def __init__(self) -> None:
            self.root, self.usual, self.ran = tmp_path, {}, []

        def run(self, tests: tuple[str, ...], limit: float | None) -> tuple[bool, str]:
            changed = (self.root / FILE).read_text() == "after"
            self.ran.append((changed, limit is not None))
            return (not changed, "1 failed\nFAILED tests/t.py::test_u - reason") if limit != 0 else (False, "no end after 0 s")

    FILE = "codegen/machine/memory.py"
    place = tmp_path / FILE
    place.parent.mkdir(parents=True)
    place.write_text("before")
    copy = Planned()
    assert copy.killer(mutate.Mutant(FILE, 1, (), (), "after", ""), [], None) == "FAILED tests/t.py::test_u"
    assert place.read_text() == "before"
    assert copy.ran == [(False, False)] * 2 + [(True, True)], "known without the mutant, then one stage with it"
    assert copy.killer(mutate.Mutant(FILE, 1, (), (), "same", ""), [], None) is None
