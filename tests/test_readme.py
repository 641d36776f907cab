"""Every example of README.md is run: the console blocks, the Python, and each row of the table of awkward points."""
from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys

import pytest
from adcli.codegen.targets import TARGETS
from adcli.lang.ir import LEVELS
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from back_ends import MODES
from back_ends import derivatives as partials
from places import ROOT

from adcli.main import VERBS

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def examples() -> list[tuple[str, str]]:
    """Every `$ command` of the console blocks, with what stands below it."""
    return [(command, shown) for block in blocks("console")
            for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.M)]


def terminal(command: str) -> str:
    """What a terminal shows of a command, run in the project's folder with this environment's adcli first."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", check=False)
    return done.stdout


@pytest.mark.parametrize("command, shown", examples())
def test_a_console_example_prints_what_is_shown(command, shown):
    assert terminal(command) == shown


def test_every_file_that_is_named_is_there():
    inside = README.partition("## Inside")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w*/]+\.(?:py|lark))`", inside)
    assert len(named) > 10
    for name in named:
        assert list(ROOT.glob(name) if "/" in name else ROOT.glob(f"*/{name}")), name


def test_the_first_command_prints_what_stands_below_it():
    first, shown = re.search(r"```sh\n(.+)\n```\n\n((?:    .+\n)+)", README).groups()
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q . && ")
    assert terminal(first.split(" && ")[-1].removeprefix(".venv/bin/")) == re.sub("^    ", "", shown, flags=re.M)


def test_there_are_two_commands_and_each_makes_an_environment_of_its_own():
    first, second = [block.strip() for block in blocks("sh")]
    assert second == "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/python -m pytest"
    assert "\n" not in first


def test_the_python_examples():
    """As one session, compared character for character."""
    (text,) = blocks("python")
    example = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(ROOT / "README.md"), 0)
    assert len(example.examples) > 10
    written: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(example, out=written.append).failed == 0, "".join(written)


ROWS = re.findall(r"^\| `(.+?)` \| `(\S+=\S+)` \| (.+?) \| (\w+) \|$", README, re.M)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("formula, at, derivatives, status", ROWS)
def test_a_row_of_the_awkward_points(formula, at, derivatives, status, mode):
    program = parse(f"v = {formula}\n")
    point = {name: float(x) for name, x in re.findall(r"(\w+)=([^,]+)", at)}
    ((got, level),) = partials(program, [point], mode, "native")
    want = [float(x) for x in derivatives.split(", ")]
    assert [got[f"dv_d{p.name}"] for p in program.params] == pytest.approx(want, rel=1e-15, nan_ok=True)
    assert level == status


def test_the_table_of_awkward_points_is_there():
    assert len(ROWS) > 20


def test_the_functions_that_are_listed_are_those_there_are():
    table = README.partition("| functions | |")[2].partition("\n\n")[0]
    listed = {name for row in re.findall(r"\| `([a-z0-9 ]+)` \|", table) for name in row.split()}
    operators = {"dup", "add", "sub", "mul", "div", "neg", "pow", "pown", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not",
                 "select"}
    assert set(TABLE) - operators <= listed
    for name in listed:
        first = "1" if name == "polygamma" else "x"
        forms = [f"v = {name}({', '.join([first, 'y', 'z'][:n])})\n" for n in (1, 2, 3)]
        assert any(accepted(text) for text in forms), name


def accepted(text: str) -> bool:
    try:
        return bool(parse(text))
    except AdError:
        return False


def test_every_verb_target_and_status_is_explained():
    explained = README.partition("## Not there yet")[0]
    assert all(re.search(rf"\$ adcli {verb} |`(adcli )?{verb}[` ]", explained) for verb in VERBS)
    assert all(re.search(rf"`(--emit )?{target}`", explained) for target in TARGETS)
    assert " < ".join(LEVELS) in explained


@pytest.mark.parametrize("code, command", [
    (0, "adcli grad -e 'log(x)' --at x=-1"), (1, "adcli fmt --check -e 'v=x'"), (2, "adcli grad -e 'v = x'"),
    (2, "adcli eval absent.ad"), (3, "adcli eval -e 'v = (x' --at x=1"), (4, "adcli grad -e 'log(x)' --at x=-1 --strict"),
    (5, "printf 'x\\nabc\\n' | adcli eval -e 'x**2'")])
def test_the_exit_codes(code, command):
    assert f"| {code} |" in README
    assert terminal(f"{command} > /dev/null 2>&1; echo $?") == f"{code}\n"


def test_completion_is_provided():
    (line,) = re.findall(r'eval "\$\((.+)\)"', README)
    assert terminal(line).startswith("_adcli_completion() {")
    assert terminal('COMP_WORDS="adcli gr" COMP_CWORD=1 _ADCLI_COMPLETE=bash_complete adcli') == "plain,grad\n"
