"""The verbs as people use them: programs, points, formats, files, help."""
from __future__ import annotations

import csv
import io
import os
import pathlib
import re
import shlex
import sys

import click
import pytest
from command import adcli, succeeds
from places import ROOT
from session_seed import half

from adcli.command.usage import GROUPS
from adcli.main import VERBS, cli

pytestmark = pytest.mark.usefixtures("empty_folder")


# ---------------------------------------------------------------- programs


@pytest.mark.parametrize("name", ["a b.ad", "Δx é.ad", "-d.ad", "quote'd.ad", "new\nline.ad"])
def test_file_names(name):
    pathlib.Path(name).write_text("v = x*x")
    assert succeeds("grad", "--at", "x=3", "--", name).out == "v = 9.0\ndv_dx = 6.0\n"
    text = succeeds("grad", "--emit", "text", "--", name).out
    assert succeeds("eval", "-", "--at", "x=3", stdin=text.encode()).out == "v = 9.0\ndv_dx = 6.0\n"


# ---------------------------------------------------------------- points

@pytest.mark.parametrize("options", [[], ["--hex"]])
def test_results_are_points_again(options):
    at = ["--at", "x=0.1:0.7:3,y=nan", "--at", "x=-inf,y=1e-320"]
    first = adcli("grad", "-e", "x*y", *at, "--format", "json", *options)
    pathlib.Path("r.json").write_text(first.out)
    again = adcli("grad", "-e", "x*y", "--at", "@r.json", "--format", "json", *options)
    assert first.out == again.out
    assert len(first.records) == 4


# ---------------------------------------------------------------- formats

@pytest.mark.parametrize("verb", ["eval", "grad"])
@pytest.mark.parametrize("options", [[], ["--hex"], ["--fmt", "%.3e"]])
def test_text_is_a_program_that_prints_itself(verb, options):
    for point in ("x=2,y=5", "x=0,y=0", "x=-1,y=-0.0", "x=1e-310,y=1e300", "x=inf,y=3"):
        text = adcli(verb, "-e", "v = x/y", "-e", "w = x*y", "--at", point, *options).out
        assert adcli("eval", "-", *options, stdin=text.encode()).out == text


# ---------------------------------------------------------------- help

def verb_help(verb: str) -> str:
    return succeeds(verb, "--help-all").out


@pytest.mark.parametrize("verb", half(list(VERBS)))
def test_the_help_of_a_verb_ends_with_examples_that_run(verb, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]))
    lines = verb_help(verb).rstrip().splitlines()
    examples = lines[lines.index("Examples:") + 1:]
    assert len(examples) >= 2
    for example in examples:
        words = shlex.split(example.partition(" || ")[0])
        assert words[:2] == ["adcli", verb]
        ended = adcli(*words[1:])
        assert (ended.code, bool(ended.out or ended.err)) == ((1 if "||" in example else 0), True), ended


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_groups_its_options_by_purpose(verb):
    text = verb_help(verb)
    found = [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    known = [*GROUPS, "Examples"]
    assert found == sorted(found, key=known.index) and found[-1] == "Examples"
    command = cli.get_command(click.Context(cli), verb)
    for option in command.params:
        if isinstance(option, click.Option):
            assert getattr(option, "group", None) in GROUPS, option.name
            assert getattr(option, "group", None) in found, option.name


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_explained(verb):
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    for option in (p for p in command.params if isinstance(p, click.Option)):
        assert re.fullmatch(r"(?:[A-Z][a-z ]|[^A-Z ])(?:.*[^ ])?\.", option.help or ""), option.opts
        assert "_" not in (option.metavar or ""), option.opts
    assert command.help
    assert len(command.get_short_help_str(100)) < 70


def test_the_help_of_adcli_lists_the_verbs_and_its_example_runs():
    text = succeeds("--help").out
    for verb in VERBS:
        assert f"\n  {verb} " in text
    example = next(line.strip() for line in text.splitlines() if "Example:" in line).removeprefix("Example: adcli ")
    assert succeeds(*shlex.split(example)).out
    assert succeeds("-h").out == text


# ---------------------------------------------------------------- fast-math

def test_fast_math_is_asked_for_and_changes_last_digits_at_most():
    grid = ["-e", "v = x*y/7 + sin(x)/(x*y + 2)", "--at", "x=0.1:5:50,y=0.1:3:20", "--format", "csv"]
    exact, fast = (list(csv.reader(io.StringIO(succeeds("grad", *grid, *more).out))) for more in ([], ["--fast-math"]))
    for one, other in zip(exact[1:], fast[1:], strict=True):
        assert [float(x) for x in other] == pytest.approx([float(x) for x in one], rel=1e-13, abs=1e-15)
    assert " contract arcp " in succeeds("grad", "-e", "v = x*y", "--emit", "llvm", "--fast-math").out
    assert "contract" not in succeeds("grad", "-e", "v = x*y", "--emit", "llvm").out

