"""The part of a pass that is for tensors: a file beside it, with its name and _tensors, that builds on it.

The pass asks for it at the first operation on tensors, so programs of numbers never load it.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def part_for_tensors(name: str) -> Callable[[], Any]:
    """What gives the part beside the module of this name, loaded when it is first asked for."""
    return cache(lambda: import_module(f"{name}_tensors"))
