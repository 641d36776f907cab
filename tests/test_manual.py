"""The manual: every example of every chapter runs, and everything that it must describe is described."""
from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys

import click
import pytest
from adcli.codegen.targets import TARGETS
from adcli.lang.ir import LEVELS, primitives
from adcli.lang.lower.frontend import parse
from back_ends import MODES
from back_ends import derivatives as partials
from command import adcli
from documents import MANUAL, as_shown, console_examples, fenced, imported, shell, terminal, text
from engines import package
from places import ROOT
from row_tables import each_row
from session_seed import WHOLE

from adcli.main import VERBS, cli
from adcli.manual import TOPICS
from adcli.manual.functions import described

EXAMPLES = console_examples()
EVERYTHING = "\n".join(text(topic) for topic in TOPICS)
CONTEXT = click.Context(cli, info_name="adcli")


# ---------------------------------------------------------------- examples

@pytest.mark.parametrize("command, shown", EXAMPLES)
def test_a_console_example_prints_what_is_shown(command, shown):
    assert terminal(command) == shown


SESSIONS = [pytest.param(block, id=f"{document} {i}", marks=[pytest.mark.engine] * (document == "engines"))
            for document in ("README", "guide-python", "python", "notebooks", "engines", "editors")
            for i, block in enumerate(fenced(text(document), "python"))
            if not {"pyspark", "ray"} & {*imported(block)}]   # which their own tests run, since they take long to start


@pytest.mark.parametrize("block", SESSIONS)
def test_the_python_examples(block, monkeypatch):
    """Each as one session; those of engines where the engine is."""
    for name in imported(block):
        package(name)
    monkeypatch.chdir(ROOT)
    as_shown(block)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("command", fenced(text("emit"), "sh"))
def test_the_c_examples(command, tmp_path):
    command, _, shown = command.strip().partition("    # ")
    for name, source in zip(("main.c", "tensors.c"), fenced(text("emit"), "c"), strict=True):
        (tmp_path / name).write_text(source, encoding="utf-8")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    assert shell(f"cd {shlex.quote(str(tmp_path))} && {command}") == shown + "\n"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_commands_of_the_cmake_project_make_what_it_compiles(tmp_path):
    (project,) = fenced(text("guide-firmware"), "cmake")
    (command,) = re.findall(r"COMMAND adcli (.+?)\)", project)
    (flags,) = re.findall(r"PRIVATE (.+?)\)", project)
    model = tmp_path / "beacon.ad"
    model.write_text("range = hypot(bx - x, by - y)\nbearing = atan2(by - y, bx - x) - heading\n", encoding="utf-8")
    for kind, suffix in ("c", "c"), ("header", "h"):
        made = command.replace("${MODEL}", str(model)).replace("${kind}", kind).replace("${suffix}", suffix)
        assert shell(f"cd {shlex.quote(str(tmp_path))} && adcli {made}") == ""
    main = '#include "beacon.h"\nint main(void) { float in[5] = {0}, out[12]; return beacon(in, out); }\n'
    (tmp_path / "main.c").write_text(main, encoding="utf-8")
    assert shell(f"cd {shlex.quote(str(tmp_path))} && cc -std=c99 -Wall {flags} beacon.c main.c -lm -o main && ./main") == ""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_somebody_elses_gradient(tmp_path):
    """In Python as the chapter shows it, and in C."""
    (source,), commands = fenced(text("digits"), "python"), fenced(text("digits"), "sh")
    (tmp_path / "model.py").write_text(source, encoding="utf-8")
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    for command in commands:
        line, _, shown = command.strip().partition("    # ")
        assert shell(f"cd {shlex.quote(str(tmp_path))} && {line}") == shown + "\n"


def test_the_primitive_that_is_added_as_an_example(monkeypatch):
    """The row of the walk-through is a row as any other."""
    monkeypatch.setattr(primitives, "TABLE", dict(primitives.TABLE))
    before = set(primitives.TABLE)
    exec(compile(fenced(text("internals"), "text")[0], "internals.md", "exec"), vars(primitives) | {"TABLE": primitives.TABLE})
    assert {*primitives.TABLE} - before == {"sech"}
    assert described(primitives.TABLE["sech"]).derivatives == {"x": "-sech(x) * tanh(x)"}


def test_the_primitive_of_the_example_passes_every_table_test():
    """To third order, at special points, by every mode and back end: what the tests of all rows ask of it as of these."""
    files = ["tests/test_laws.py", "tests/test_accuracy.py", "tests/test_orders.py", "tests/test_conventions.py",
             "tests/test_conformance.py", "tests/lang/ir", "tests/lang/operations", "tests/lang/derive",
             "tests/lang/analyse/test_exact_zeros.py", "tests/lang/analyse/test_enclosure.py", "tests/codegen/rows"]
    chosen = "sech or test_every_operation_at"
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "manuals_row", "-k", chosen, "-n0", "--no-header", *files],
                          cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "tests/helpers"), WHOLE: "1"}, capture_output=True,
                          text=True, check=False)
    ran = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0 and ran is not None and int(ran[1]) > 40, done.stdout[-3000:]


ROWS = re.findall(r"^\| `(.+?)` \| `(\S+=\S+)` \| (.+?) \| (\w+) \|$", text("status"), re.M)


@each_row("mode", MODES)
@each_row("formula, at, derivatives, status", ROWS)
def test_a_row_of_the_awkward_points(formula, at, derivatives, status, mode):
    program = parse(f"v = {formula}\n")
    point = {name: float(x) for name, x in re.findall(r"(\w+)=([^,]+)", at)}
    ((got, level),) = partials(program, [point], mode, "native")
    want = [float(x) for x in derivatives.split(", ")]
    assert [got[f"dv_d{p.name}"] for p in program.params] == pytest.approx(want, rel=1e-15, nan_ok=True)
    assert level == status


def test_the_table_of_awkward_points_is_there():
    assert len(ROWS) > 20


@pytest.mark.parametrize("code, command", [
    (0, "adcli grad -e 'log(x)' --at x=-1"), (1, "adcli fmt --check -e 'v=x'"), (2, "adcli grad -e 'v = x'"),
    (2, "adcli eval absent.ad"), (3, "adcli eval -e 'v = (x' --at x=1"), (4, "adcli grad -e 'log(x)' --at x=-1 --strict"),
    (2, "adcli help absent")])
def test_the_exit_codes(code, command):
    assert f"| {code} |" in text("exit-codes")
    assert adcli(*shlex.split(command)[1:]).code == code


def test_the_exit_code_of_a_bad_row():
    assert adcli("eval", "-e", "x**2", stdin=b"x\nabc\n").code == 5


# ---------------------------------------------------------------- everything is described

@each_row("verb", VERBS)
def test_a_chapter_describes_every_verb_and_each_of_its_options(verb):
    assert re.search(rf"^\| `{verb}` \|", text("verbs"), re.M)
    command = cli.get_command(CONTEXT, verb)
    assert command is not None
    for option in (p for p in command.params if isinstance(p, click.Option)):
        shown = rf"`(\w+ )?({'|'.join(option.opts)})\b"
        assert option.opts == ["--version"] or re.search(shown, EVERYTHING), (verb, option.opts)


def test_every_variable_of_the_environment_that_is_read_is_described():
    read: set[str] = set()
    for folder in ("adcli", "lang", "codegen"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            read |= set(re.findall(r"""environ(?:\.get\(|\[)["'](\w+)""", source)) | set(re.findall(r"\bADCLI_[A-Z_]+", source))
    assert read >= {"ADCLI_CACHE_DIR", "NO_COLOR", "PAGER"}
    for name in read - {"HOME", "COMP_LINE", "COMP_REST"}:   # the latter are passed by our scripts for completion
        assert f"`{name}`" in text("environment"), name


def test_every_exit_code_is_described():
    source = (ROOT / "adcli/main.py").read_text(encoding="utf-8")
    for code in {*re.findall(r"return (\d+)\b", source), *re.findall(r"exit\((\d+)\)", source), "1", "4", "5"}:
        assert f"| {code} |" in text("exit-codes"), code


def test_every_target_stage_and_status_is_described():
    from adcli.lang.passes.pipeline import STAGES
    assert all(f"`--emit {target}`" in text("emit") for target in TARGETS)
    assert all(f"`{stage}`" in text("emit") for stage in STAGES)
    assert " < ".join(LEVELS) in text("status")


def test_every_reference_leads_somewhere():
    for topic in re.findall(r"`adcli help ([a-z-]+)`", EVERYTHING + text("README")):
        assert topic in TOPICS, topic
    for name in re.findall(r"`((?:adcli|lang|codegen|samples|tests)/[\w/]*(?:\.\w+)?)`", EVERYTHING):
        assert (ROOT / name).exists(), name
    for module in re.findall(r"-m adcli\.([\w.]+)", EVERYTHING):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module


def test_every_room_is_in_the_plan_of_the_house():
    for room in (p.parent for folder in ("adcli", "lang", "codegen") for p in (ROOT / folder).glob("*/__init__.py")):
        assert f"`{room.relative_to(ROOT)}`" in text("internals"), room


def test_the_chapters_are_those_there_are():
    assert sorted(TOPICS) == sorted(p.stem for p in MANUAL.glob("*.md"))
    assert all(text(topic).startswith(f"# {topic}: ") for topic in TOPICS)


