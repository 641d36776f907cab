"""Programs with the stages of their way to a derivative, as golden files: `tests/programs/*.ad`.

A file is a program, and behind it, as comments, what adcli makes of it, so that the whole file still is the program:

    # --- reverse --style prefix        the text of `adcli show --stage reverse --style prefix`
    # --- grad --order 2                the text of `adcli grad --order 2 --emit text`, without its header

`pytest tests/test_programs.py --rewrite-programs` writes what is made today into the files; what it changed is for the
eye, in the difference of the commit.
"""
from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from itertools import dropwhile
from pathlib import Path

import pytest
from adcli.lang.ir import Program
from adcli.lang.lower import frontend
from adcli.lang.lower.frontend import parse
from adcli.lang.passes import pipeline
from adcli.lang.passes.pipeline import STAGES
from adcli.lang.printing.printer import print_program
from command import adcli
from places import ROOT
from planted_faults import wrong_rule
from row_tables import each_row
from same_programs import equal

FILES = sorted((ROOT / "tests" / "programs").glob("*.ad"))
HEADING = "# --- "


def sections(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The program, and every heading with the text below it."""
    program, *rest = text.split(f"\n{HEADING}")
    split = [part.partition("\n")[::2] for part in rest]
    return program, [(heading, "".join(f"{line[2:]}\n" for line in body.splitlines() if line)) for heading, body in split]


def made(program: str, heading: str) -> str:
    """What adcli writes for a heading."""
    words = shlex.split(heading)
    staged = words[0] in STAGES
    ended = adcli(*(["show", "-", "--stage", *words] if staged else [words[0], "-", *words[1:], "--emit", "text"]),
                  stdin=program.encode())
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines(keepends=True)
    return "".join(dropwhile(lambda line: line.startswith("#"), lines))


def rewritten(text: str) -> str:
    """A file with the stages as they are made today."""
    program, given = sections(text)
    parts = [f"\n{HEADING}{heading}\n" + "".join(f"# {line}".rstrip() + "\n" for line in made(program, heading).splitlines())
             for heading, _ in given]
    return program + "".join(parts)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_stages_are_as_written(path: Path, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite-programs"):
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    assert rewritten(text) == text


@each_row("path", FILES, ids=lambda p: p.stem)
def test_stages_read_back(path: Path) -> None:
    """The text of a stage is a program that is equal to what the pass made, and that of a verb one that prints and reads back."""
    program, given = sections(path.read_text(encoding="utf-8"))
    for heading, text in given:
        stage, *options = shlex.split(heading)
        made_by = STAGES.get(stage)
        if stage in ("forward", "reverse"):
            chosen = dict(zip(options[::2], options[1::2], strict=True))
            wrt, of = (chosen[o].split(",") if o in chosen else None for o in ("--wrt", "--of"))
            want = {"forward": pipeline.tangents, "reverse": pipeline.adjoints}[stage](parse(program), wrt, of)
        elif stage in STAGES:
            want = made_by(parse(program)) if made_by else parse(program)
        else:
            want = parse(print_program(parse(text), "nested"))
        assert equal(parse(text), want), heading


def test_every_stage_and_every_verb_that_emits_text_has_a_program() -> None:
    headings = {shlex.split(heading)[0] for path in FILES for heading, _ in sections(path.read_text(encoding="utf-8"))[1]}
    assert headings == {*STAGES, "grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "taylor"}


# ---------------------------------------------------------------- planted changes

def changed(name: str) -> set[str]:
    """The headings of a file whose text is not that of the file."""
    program, given = sections((ROOT / "tests" / "programs" / f"{name}.ad").read_text(encoding="utf-8"))
    return {heading for heading, text in given if made(program, heading) != text}


def forgetful(lower: Callable[..., Program]) -> Callable[..., Program]:
    """Lowering that loses the last result."""
    def wrong(*args: object) -> Program:
        program = lower(*args)
        return dataclasses.replace(program, results=program.results[:-1])
    return wrong


def test_a_change_of_any_stage_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    with wrong_rule("mul", 0, lambda m: m + m):
        assert changed("op_graph") == {"forward", "reverse", "grad --mode forward", "grad --mode reverse"}
    with monkeypatch.context() as patch:
        patch.setitem(STAGES, "dup", lambda program: program)
        assert changed("duplication") == {"dup"}
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "simplify", lambda program: program)
        assert changed("folding") == {"simplified"}
    with monkeypatch.context() as patch:
        patch.setattr(frontend, "lower", forgetful(frontend.lower))
        assert changed("reassignment") == {"ssa", "forward", "reverse"}
    assert not {heading for path in FILES for heading in changed(path.stem)}
