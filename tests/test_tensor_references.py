"""Programs with tensors against JAX: values, adjoints, and the tangents of both, natively and through texts that are read back.

The numbers are made by tests/tools/make_jax_references.py: attention, normalisation, convolutions, pooling, contractions,
gathers, products with zeros, extrema with ties and what else comes in papers.
"""
from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from places import DATA
from session_seed import drawn

import adcli as api

CASES: list[dict[str, Any]] = json.loads(
    (DATA / "tensors" / "jax.json").read_text(encoding="utf-8"))["cases"]


def agrees(f: api.Function, case: dict[str, Any]) -> None:
    """The function at the first so many arrays of a case has the first so many of its numbers."""
    at = dict(zip(f.inputs, case["at"], strict=False))
    found = f(at)
    assert len(at) == len(f.inputs) and list(found) == list(f.outputs)
    for (name, x), want in zip(found.items(), case["found"], strict=False):
        assert np.shape(x) == np.shape(want), name
        np.testing.assert_allclose(x, want, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(want).max(initial=0)), err_msg=name)


@pytest.mark.parametrize("case", drawn("references of JAX").sample(CASES, 5), ids=lambda case: case["name"])
def test_values_and_derivatives_to_the_second_order_are_those_of_jax(case: dict[str, Any]) -> None:
    f = api.compile(case["text"])
    assert list(f.inputs) == case["inputs"]
    agrees(f, case)
    reverse = api.compile(f.vjp().text())
    agrees(reverse, case)
    both = api.compile(reverse.jvp().text())
    assert (len(both.inputs), len(both.outputs)) == (len(case["at"]), len(case["found"]))
    agrees(both, case)


def test_there_are_programs_of_every_kind() -> None:
    texts = [c["text"] for c in CASES]
    assert len(texts) >= 30
    for word in ("max=!", "min=!", "*=!", "*=", "+=", "max=", "where", "def ", "int32 ", "?"):
        assert any(word in t for t in texts), word
