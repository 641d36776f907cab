"""What a shell is told when it completes a word: names of the program, files, and never anything else."""
from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from command import adcli
from places import ROOT, WORKED
from session_seed import half

from adcli.command.completion import COMPLETED, LONGEST, SHELLS, quoted, words
from adcli.main import VERBS, cli


@pytest.fixture
def completed(monkeypatch, tmp_path):
    """What follows the cursor, which is a | in the line; the line is typed in a folder with some files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHERE", str(tmp_path))
    (tmp_path / "f.ad").write_text("v = x*y + z\n")
    (tmp_path / "model.py").write_text("def fall(t, k=2.0):\n    return k*t\n\n\ndef _own(x):\n    return x\n")
    (tmp_path / "wrong.ad").write_text("v = x*(\n")
    (tmp_path / "long.ad").write_text("v = x*y\n" + "#" * LONGEST)
    (tmp_path / "data").mkdir()
    (tmp_path / "a b.npy").write_text("")
    (tmp_path / ".hidden").write_text("")
    os.mkfifo(tmp_path / "pipe")

    def ask(line: str, shell: str = "bash") -> list[str]:
        before, _, after = line.partition("|")
        for name, text in {"_ADCLI_COMPLETE": f"{shell}_complete", "COMP_LINE": before, "COMP_REST": after}.items():
            monkeypatch.setenv(name, text)
        ended = adcli()
        assert (ended.code, ended.err) == (0, ""), line
        return ended.out.splitlines()
    return ask


def test_the_golden_file_is_that_of_today(completed, request):
    """A line with its cursor, and what is appended to the word there: "a" with a space after it, "a~" without one."""
    path = ROOT / "tests" / "adcli" / "command" / "completion.txt"
    today = ""
    for line in re.findall(r"^\$ (.*)", path.read_text(encoding="utf-8"), flags=re.M):
        got = [item.partition(",") for item in completed(f"adcli {line}")]
        today += f"$ {line}\n{' '.join(rest + {'plain': '', 'part': '~', 'file': 'FILE'}[kind] for kind, _, rest in got)}\n"
    if request.config.getoption("--rewrite-programs"):
        path.write_text(today, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == today


def test_zsh_and_fish_get_whole_words_with_what_is_known_of_them(completed):
    for shell in ("zsh", "fish"):
        assert completed("adcli gra|", shell) == ["plain,grad\tThe outputs and their partial derivatives."]
        assert completed("adcli grad f.ad --at 'x=2,|", shell) == ["part,x=2,y=\t", "part,x=2,z=\t"]
        assert completed("adcli grad f.ad --wrt=x,z,|", shell) == ["plain,--wrt=x,z,y\t"]
        assert completed("adcli eval f.ad --at @a|", shell) == ["plain,@a b.npy\t"]


@pytest.mark.parametrize("verb", half([*VERBS]))
def test_nothing_else_is_ever_printed(completed, verb):
    command = cli.get_command(cli.make_context("adcli", [], resilient_parsing=True), verb)
    for example in command.examples:
        line = example.partition("|")[0].partition(" > ")[0].rstrip()
        for end in {*range(0, len(line), 17), *(m.end() for m in re.finditer(r"--?\w+ |[=,:]", line))}:
            for item in completed(f"{line[:end]}|"):
                assert re.fullmatch(r"(plain|part),.+|plain,|part,|file,", item), line[:end]


def test_every_option_that_takes_names_is_completed():
    for verb in VERBS:
        command = cli.get_command(cli.make_context("adcli", [], resilient_parsing=True), verb)
        assert {p.metavar for p in command.params if p.metavar and not p.metavar.isupper()} <= set(COMPLETED), verb


@pytest.mark.parametrize("before, after, want", [
    ("adcli a 'b c' d", "e f", (["a", "b c"], "d", ["f"])), ("adcli ", "", ([], "", [])), ("adcli a\\ b", "", ([], "a b", [])),
    ("adcli 'a b", "c' d", ([], "a b", [])), ("adcli \"x y", "", ([], "x y", [])), ("adcli a#b #", " c", (["a#b"], "#", ["c"])),
])
def test_words(before, after, want):
    assert words(before, after)[:2] == want[:2]
    if "'" not in after:
        assert words(before, after) == want
    assert quoted(before) == (before.count("'") % 2 == 1 or before.count('"') % 2 == 1)


def test_bash_itself(tmp_path):
    """The script in bash: words as bash cuts them at = and :, with the word to be replaced as its second argument."""
    cases = [("grad f.ad --at x=2,", "2,", "2,y= nospace"), ("grad f.ad --of v:x,", "x,", "x,x x,y nospace nospace"),
             ("grad f.ad --data r", "r", "default"), ("grad wrong.ad --wrt ", "", "")]
    (tmp_path / "f.ad").write_text("v = x*y\n")
    (tmp_path / "model.py").write_text("def fall(t, k=2.0):\n    return k*t\n\n\ndef _own(x):\n    return x\n")
    (tmp_path / "wrong.ad").write_text("v = x*(\n")
    script = [SHELLS["bash"].source_template, f'adcli() {{ {shlex.quote(sys.executable)} -m adcli "$@"; }}',
              'compopt() { options+=("$2"); }']
    for line, word, _ in cases:
        script += [f"COMP_LINE={shlex.quote('adcli ' + line + ' --status')} COMP_POINT={len('adcli ' + line)} options=()",
                   f"_adcli_completion adcli {shlex.quote(word)} before", 'echo "${COMPREPLY[@]}" "${options[@]}"']
    ended = subprocess.run(["bash", "-c", "\n".join(script)], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
                           capture_output=True, text=True, check=True)
    assert (ended.stdout.splitlines(), ended.stderr) == ([want for *_, want in cases], "")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not here")
def test_fish_itself(tmp_path):
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    lines = [f"adcli grad {WORKED} --wrt=x,", "adcli gra"]
    script = SHELLS["fish"].source_template + "".join(f"complete -C {shlex.quote(line)}\n" for line in lines)
    ended = subprocess.run(["fish", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
                           capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("--wrt=x,y\ngrad\tThe outputs and their partial derivatives.\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script(shell, monkeypatch):
    monkeypatch.setenv("_ADCLI_COMPLETE", f"{shell}_source")
    script = adcli().out
    assert "_adcli_completion" in script and "2>/dev/null" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, capture_output=True)


@pytest.mark.parametrize("asked", ["tcsh_source", "bash_", "bash", "", "bash_sauce"])
def test_what_there_is_not(asked, monkeypatch):
    monkeypatch.setenv("_ADCLI_COMPLETE", asked)
    ended = adcli()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("help: the scripts are bash_source, zsh_source, fish_source\n")


def test_classes_of_early_click_are_not_generic():
    """As before click 8.4.2."""
    code = "import click.shell_completion as c; c.CompletionItem = type('Item', (), {}); import adcli.command.completion"
    subprocess.run([sys.executable, "-c", code], check=True)
