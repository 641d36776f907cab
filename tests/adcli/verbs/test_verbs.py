"""The verbs as people use them: programs, points, formats, files, help."""
from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import shlex
import sys

import click
import pytest
from command import adcli, succeeds
from places import ROOT, WORKED
from session_seed import half

from adcli.command.usage import GROUPS
from adcli.main import VERBS, cli

pytestmark = pytest.mark.usefixtures("empty_folder")


# ---------------------------------------------------------------- the verbs

def test_the_worked_example():
    assert succeeds("eval", WORKED, "--at", "x=2,y=5").out == "v = 3920.6\n"
    assert succeeds("grad", WORKED, "--at", "x=2,y=5").out == "v = 3920.6\ndv_dx = 5880.0\ndv_dy = -0.12\n"
    assert succeeds("jvp", WORKED, "--at", "x=2,y=4", "--tangent", "y=1").out == "v = 3920.75\ndv = -0.1875\n"
    assert succeeds("vjp", WORKED, "--at", "x=2,y=4").out == "v = 3920.75\nd_dx = 5880.0\nd_dy = -0.1875\n"


def test_json_of_every_verb():
    at = ["--at", "x=2,y=4", "--format", "json"]
    point = '{"at":{"x":2.0,"y":4.0},'
    assert succeeds("eval", WORKED, *at).out == point + '"value":{"v":3920.75},"status":"smooth"}\n'
    assert succeeds("grad", WORKED, *at).out == \
        point + '"value":{"v":3920.75},"grad":{"v":{"x":5880.0,"y":-0.1875}},"status":"smooth"}\n'
    assert succeeds("jvp", WORKED, *at, "--tangent", "y=1").out == \
        point + '"tangent":{"x":0.0,"y":1.0},"value":{"v":3920.75},"jvp":{"v":-0.1875},"status":"smooth"}\n'
    assert succeeds("vjp", WORKED, *at).out == \
        point + '"cotangent":{"v":1.0},"value":{"v":3920.75},"vjp":{"x":5880.0,"y":-0.1875},"status":"smooth"}\n'


def test_higher_orders():
    record = succeeds("grad", WORKED, "--order", 2, "--at", "x=2,y=4", "--format", "json").records[0]
    assert record["grad"]["v"] == {"x": 5880.0, "y": -0.1875, "x,x": 5880.0, "x,y": 0.0, "y,y": 0.09375}
    names = [line.split(" = ")[0] for line in succeeds("grad", WORKED, "--order", 2, "--at", "x=2,y=4").out.splitlines()]
    assert names == ["v", "dv_dx", "dv_dy", "d2v_dx_dx", "d2v_dx_dy", "d2v_dy_dy"]


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_modes_agree(mode):
    assert succeeds("grad", WORKED, "--mode", mode, "--at", "x=2,y=4").out == "v = 3920.75\ndv_dx = 5880.0\ndv_dy = -0.1875\n"


def test_wrt_and_of():
    two = ["-e", "v = x*y", "-e", "w = x + y", "--at", "x=2,y=5"]
    assert succeeds("grad", *two, "--of", "w", "--wrt", "y").out == "w = 7.0\ndw_dy = 1.0\n"
    assert succeeds("eval", *two, "--of", "w,v").out == "w = 7.0\nv = 10.0\n"
    assert succeeds("jvp", *two, "--wrt", "y").out == "v = 10.0\nw = 7.0\ndv = 2.0\ndw = 1.0\n"
    assert succeeds("vjp", *two, "--of", "v", "--wrt", "y").out == "v = 10.0\nd_dy = 2.0\n"


def test_a_param_is_differentiated_only_where_named():
    program = ["-e", "param k = 3; v = k*x", "--at", "x=2"]
    assert succeeds("grad", *program).out == "v = 6.0\ndv_dx = 3.0\n"
    assert succeeds("grad", *program, "--wrt", "k").out == "v = 6.0\ndv_dk = 2.0\n"


def test_a_zero_in_a_direction_drops_what_it_would_have_caused():
    """sqrt has no finite derivative at 0, and a direction along y alone does not ask for one."""
    line = ["jvp", "-e", "sqrt(x) + y", "--tangent", "y=1"]
    assert adcli(*line, "--at", "x=0,y=1").out == "f = 1.0\ndf = 1.0\n"
    text = succeeds(*line, "--emit", "text").out
    assert adcli("eval", "-", "--at", "x=0,y=1", stdin=text.encode()).out == "f = 1.0\ndf = 1.0\n"


# ---------------------------------------------------------------- programs

def test_expressions():
    assert succeeds("eval", "-e", "x*y", "--at", "x=2,y=3").out == "f = 6.0\n"
    assert succeeds("eval", "-e", "p = 2*x", "-e", "p*y", "--at", "x=2,y=3").out == "f = 12.0\n"
    assert succeeds("eval", "-e", "x", "-e", "2*x", "--at", "x=2").out == "f = 2.0\nf2 = 4.0\n"
    assert succeeds("eval", "-e", "p = 2*x; w = p + 1", "--at", "x=2").out == "w = 5.0\n"
    assert succeeds("eval", "-e", "f = 2*x", "-e", "f*f", "--at", "x=2").out == "f2 = 16.0\n"


def test_standard_input():
    assert succeeds("eval", "-", "--at", "x=2", stdin=b"\xef\xbb\xbfv = x*x\r\nw = v + 1").out == "w = 5.0\n"


def test_the_program_may_stand_anywhere():
    assert succeeds("grad", "--at", "x=2,y=5", WORKED).out == succeeds("grad", WORKED, "--at", "x=2,y=5").out


@pytest.mark.parametrize("name", ["a b.ad", "Δx é.ad", "-d.ad", "quote'd.ad", "new\nline.ad"])
def test_file_names(name):
    pathlib.Path(name).write_text("v = x*x")
    assert succeeds("grad", "--at", "x=3", "--", name).out == "v = 9.0\ndv_dx = 6.0\n"
    text = succeeds("grad", "--emit", "text", "--", name).out
    assert succeeds("eval", "-", "--at", "x=3", stdin=text.encode()).out == "v = 9.0\ndv_dx = 6.0\n"


def test_defaults_need_no_point():
    assert succeeds("grad", "-e", "input x = 3; v = x*x").out == "v = 9.0\ndv_dx = 6.0\n"
    assert succeeds("eval", "-e", "1 + 1").out == "f = 2.0\n"


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


def test_templates_and_hexadecimal():
    assert succeeds("eval", "-e", "x/3", "--at", "x=1", "--fmt", "%.3g").out == "f = 0.333\n"
    assert succeeds("eval", "-e", "x/4", "--at", "x=1", "--hex").out == "f = 0x1.0000000000000p-2\n"
    assert succeeds("eval", "-e", "x/3", "--at", "x=1", "--fmt", "%.3g", "--format", "json").records[0]["value"] == {"f": 0.333}


def test_status():
    line = ["grad", "-e", "abs(x)", "--at", "x=0", "-q", "--status"]
    assert succeeds(*line).out == "f = 0.0\ndf_dx = 0.0\nstatus = kink\n"
    assert succeeds(*line, "--format", "csv").out == "x,f,df_dx,status\n0.0,0.0,0.0,kink\n"
    assert succeeds(*line, "--format", "json").records[0]["status"] == "kink"
    assert succeeds("eval", "-e", "status = x", "--at", "x=1", "--status").out == "status = 1.0\nstatus_1 = smooth\n"


def test_strict_writes_and_then_says_no():
    ended = adcli("grad", "-e", "abs(x)", "--at", "x=-1:1:3", "--strict", "-q", "--format", "csv", "-o", "r.csv")
    assert ended[:3] == (4, "", "")
    assert len(pathlib.Path("r.csv").read_text().splitlines()) == 4
    assert adcli("grad", "-e", "abs(x)", "--at", "x=1", "--strict").code == 0


def test_no_cache_is_accepted():
    assert succeeds("eval", "-e", "x", "--at", "x=1", "--no-cache").out == "f = 1.0\n"


# ---------------------------------------------------------------- help

def verb_help(verb: str) -> str:
    return succeeds(verb, "--help").out


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
        assert option.help, option.opts
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


def test_version():
    for line in (["--version"], ["grad", "--version"]):
        assert succeeds(*line).out == "adcli, version 0.1.0\n"


def test_json_reads_with_any_reader():
    line = adcli("eval", "-e", "Größe = x", "--at", "x=1", "--format", "json").data
    assert json.loads(line)["value"] == {"Größe": 1.0}


# ---------------------------------------------------------------- vectors of which a formula uses some components

def test_a_component_that_the_formula_does_not_use_is_noted_and_dropped():
    ended = adcli("grad", "-e", "x1*x2", "--at", "x0=5,x1=2,x2=3")
    assert (ended.code, ended.out) == (0, "f = 6.0\ndf_dx1 = 3.0\ndf_dx2 = 2.0\n")
    assert ended.err == "note: the program does not use x0\n"


@pytest.mark.parametrize("at", ["x0=5,x1=2", "x1=2,x3=3", "y=5,x1=2,x2=3", "x=5,x1=2,x2=3", "y1=5,x1=2,x2=3"])
def test_any_other_name_that_is_no_input_is_an_error(at):
    assert adcli("grad", "-e", "x1*x2", "--at", at).code == 2


# ---------------------------------------------------------------- fast-math

def test_fast_math_is_asked_for_and_changes_last_digits_at_most():
    grid = ["-e", "v = x*y/7 + sin(x)/(x*y + 2)", "--at", "x=0.1:5:50,y=0.1:3:20", "--format", "csv"]
    exact, fast = (list(csv.reader(io.StringIO(succeeds("grad", *grid, *more).out))) for more in ([], ["--fast-math"]))
    for one, other in zip(exact[1:], fast[1:], strict=True):
        assert [float(x) for x in other] == pytest.approx([float(x) for x in one], rel=1e-13, abs=1e-15)
    assert " contract arcp " in succeeds("grad", "-e", "v = x*y", "--emit", "llvm", "--fast-math").out
    assert "contract" not in succeeds("grad", "-e", "v = x*y", "--emit", "llvm").out


def test_fast_math_keeps_what_is_not_finite():
    at = ["-e", "v = 1/x + sqrt(y)", "--at", "x=0,y=-1", "-q"]
    assert succeeds("grad", *at, "--fast-math").out == succeeds("grad", *at).out
