"""The manual: chapters in Markdown that come with the package, read with `adcli help TOPIC`.

A chapter is a file `TOPIC.md` in this folder, whose heading is `# topic: what it is about`. Everything that a chapter says of
functions, distributions and samples is made from their tables and from the samples themselves when it is read.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from adcli.manual.markdown import Block, blocks, table

GUIDES = ("start", "guide-fit", "guide-budget", "guide-rows", "guide-firmware", "guide-check", "guide-nan", "guide-minimum",
          "guide-network", "guide-python", "guide-teach")
"""Whole tasks, from beginning to end."""
REFERENCE = ("verbs", "language", "tensors", "functions", "sources", "points", "rows", "clusters", "matrices", "emit", "pictures",
             "gallery", "libraries", "status", "precision", "digits", "diagnosis", "explore", "uncertainty", "fits", "solvers",
             "python", "notebooks", "engines", "editors", "environment", "security", "exit-codes", "samples", "internals")
TOPICS = GUIDES + REFERENCE
"""The chapters, in the order in which they are read."""
FOLDER = Path(__file__).parent


def source(topic: str) -> str:
    """The Markdown of a chapter."""
    return (FOLDER / f"{topic}.md").read_text(encoding="utf-8")


def chapter(topic: str) -> Iterator[Block]:
    """The blocks of a chapter."""
    made = {"functions": function_table, "samples": sample_table, "distributions": distribution_table}
    return blocks(source(topic), lambda name: made[name]())


def heading(topic: str) -> str:
    """Subject of a chapter."""
    return source(topic).partition("\n")[0].partition(": ")[2]


def function_table() -> str:
    """Every function with its meaning, its domain, its derivative, and where it is not smooth."""
    from adcli.manual.functions import functions, row_of
    return table(("function", "meaning", "derivative", "not smooth"), map(row_of, functions()))


def distribution_table() -> str:
    """Every distribution that an input may have, as it is written, and what it means."""
    from adcli.input.distributions import DISTRIBUTIONS
    rows = ((f"`~{d.name}({d.parameter})`", f"{d.about}; {d.parameter} {d.range}") if d.parameter else (f"`~{d.name}`", d.about)
            for d in DISTRIBUTIONS.values())
    return table(("written", "meaning"), rows)


def sample_table() -> str:
    """The samples that come with the package, a line each, and where they lie."""
    rows = ((f"`{path.name}`", summary(path)) for path in samples())
    return f"They lie in `{samples()[0].parent}`.\n\n{table(('sample', 'what it is'), rows)}"


def samples() -> list[Path]:
    """The programs in the folder `samples`: in the package where it is installed, beside it in a checkout."""
    inside = FOLDER.parent / "samples"
    return sorted((inside if inside.is_dir() else FOLDER.parent.parent / "samples").glob("*.ad"))


def summary(path: Path) -> str:
    """The first sentence of a sample."""
    comment: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        comment.append(line[2:])
    return re.split(r"(?<![A-Z])\. ", " ".join(comment))[0].rstrip(".")   # not behind an initial
