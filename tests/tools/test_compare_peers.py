"""The comparison in README.md has the shape that its program writes."""
from __future__ import annotations

import math

import compare_peers as peers


def test_the_figures_of_the_readme_are_those_that_the_program_writes() -> None:
    _, between, _ = peers.parts(peers.README.read_text("utf-8"))
    names = [(name, text) for name, text in peers.programs()]
    kernels = [peers.Kernel(name, peers.inputs_and_outputs(text), 1, 1, 1, 1) for name, text in names]
    jobs = [peers.Job(title, 1, *(math.nan if absent else 1 for absent in missing)) for title, *missing in peers.JOBS]
    assert peers.shape(between) == peers.shape(peers.rendered(kernels, jobs, "a machine"))


def test_a_figure_has_two_digits() -> None:
    assert [peers.figure(x) for x in (0.612, 0.0512, 7.249, 12.51, 258.4, 1988.0, math.nan)] == [
        "0.61", "0.051", "7.2", "13", "260", "2,000", "–"]


def test_a_planted_difference_of_shape_is_seen() -> None:
    one = peers.rendered([], [peers.Job("a", 1, 2, 3)], "x")
    assert peers.shape(one) == peers.shape(peers.rendered([], [peers.Job("a", 5, math.nan, 30)], "y"))
    assert peers.shape(one) != peers.shape(peers.rendered([], [peers.Job("b", 1, 2, 3)], "x"))
