"""The syntax file of Vim in Vim, character by character against the table."""
from __future__ import annotations

import subprocess

import pytest
from engines import program
from texts_to_colour import FILES

from adcli.editors.command import group, syntax
from adcli.editors.kinds import tokens

DUMP = """
set encoding=utf-8 nomodeline
source {syntax}
let found = []
for l in range(1, line('$'))
  call add(found, join(map(range(1, len(getline(l))), {{_, c -> synIDattr(synID(g:l, c, 1), 'name')}}), ','))
endfor
call writefile(found, '{out}')
qa!
"""
SAME = {"assignment": "operator"}
"""What needs the token before, which Vim does not know."""


def test_every_line_is_a_command():
    known = ("syntax match ", "syntax keyword ", "highlight default link ", "if ", "  finish", "endif", "let ", '" ')
    assert all(line.startswith(known) for line in syntax().splitlines() if line)


@pytest.mark.engine
def test_vim_colours_the_tokens_of_the_scanner(tmp_path):
    text = "".join(line + "\n" for text in FILES for line in text.splitlines())
    for name, written in {"all.ad": text, "adcli.vim": syntax(), "dump.vim": DUMP.format(
            syntax=tmp_path / "adcli.vim", out=tmp_path / "out")}.items():
        (tmp_path / name).write_text(written, encoding="utf-8")
    subprocess.run([program("vim"), "-u", "NONE", "-i", "NONE", "-es", "-N", "-n", "-S", tmp_path / "dump.vim",
                    tmp_path / "all.ad"], stdin=subprocess.DEVNULL, timeout=120)   # its exit status is of the last search
    shown = [name for line in (tmp_path / "out").read_text(encoding="utf-8").split("\n") for name in (*line.split(","), "")]
    want = [""] * len(text)
    for start, end, kind in tokens(text):
        want[start:end] = [group(SAME.get(kind.name, kind.name))] * (end - start)
    at, wrong = 0, []
    for i, c in enumerate(text):
        if c != "\n" and shown[at] != want[i]:
            wrong.append((text[max(0, i - 9):i + 9], shown[at], want[i]))
        at += len(c.encode()) if c != "\n" else (1 if text[i - 1:i] != "\n" else 2)
    assert wrong == []
