"""The manual as a page for man."""
from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from command import adcli, succeeds

from adcli.main import VERBS
from adcli.manual import TOPICS


def test_the_man_page_has_everything():
    page = succeeds("help", "--man").out
    assert page.startswith(".TH ADCLI 1 ")
    for verb in VERBS:
        assert f'\n.SS "adcli {verb} ' in page
    for topic in TOPICS:
        assert '\n.SH "' + topic.upper().replace("-", "\\-") + ": " in page
    assert adcli("help", "--man", "rows").code == 2


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_groff_has_nothing_to_say_about_the_man_page(tmp_path):
    page = tmp_path / "adcli.1"
    page.write_text(succeeds("help", "--man").out, encoding="utf-8")
    done = subprocess.run(["groff", "-K", "utf8", "-man", "-ww", "-Tutf8", str(page)], capture_output=True, text=True,
                          encoding="utf-8", check=True)
    assert done.stderr == ""
    assert "EXIT-CODES: WHAT THE EXIT CODE SAYS" in re.sub("\x1b\\[\\d+m|.\x08", "", done.stdout).replace("‐", "-")


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc")
def test_mandoc_finds_no_error_in_the_man_page(tmp_path):
    page = tmp_path / "adcli.1"
    page.write_text(succeeds("help", "--man").out, encoding="utf-8")
    done = subprocess.run(["mandoc", "-Tlint", "-Werror", str(page)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
