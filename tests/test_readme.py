"""README.md: short, its two commands, and what it refers to. Its examples are run with those of the manual."""
from __future__ import annotations

import re
import tomllib

from documents import fenced, shell, text
from places import ROOT

README = text("README")


def test_it_is_short():
    assert len(README.splitlines()) <= 150


def test_the_first_command_prints_what_stands_below_it():
    found = re.search(r"```sh\n(.+)\n```\n\n((?:    .+\n)+)", README)
    assert found
    first, shown = found.groups()
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install -q '.[all]' && ")
    assert shell(first.split(" && ")[-1].removeprefix(".venv/bin/")) == re.sub("^    ", "", shown, flags=re.M)


def test_there_are_two_commands_and_each_makes_an_environment_of_its_own():
    first, second = [block.strip() for block in fenced(README, "sh")]
    assert second == "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/python -m pytest"
    assert "\n" not in first


def test_the_first_screen_has_both_commands():
    assert all(line < 26 for line, text in enumerate(README.splitlines()) if text.startswith("python3 -m venv"))


def test_every_file_it_refers_to_is_there():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) >= 5
    for name in [*links, *re.findall(r"samples/\w+\.ad", README)]:
        assert (ROOT / name).exists(), name


def test_the_extras_are_those_of_the_project():
    """README names each once, and `all` has what needs no more than a wheel."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    known = set(extras) - {"all", "test", "engines", "mutation"}
    table = README.partition("| extra |\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", " ".join(line.rsplit("|", 2)[1] for line in table.splitlines()[1:]))) == known
    assert set(re.fullmatch(r"adcli\[(.+)\]", *extras["all"])[1].split(",")) == known - {"ipopt"}
    rows = re.findall(r"^\| `(\w+)` \|", text("environment").partition("| extra |")[2], re.M)
    assert set(rows) == {*known, "all"} and len(rows) == len(known) + 1
