"""Lists of numbers in the rows of tables: tensors in fields and in members of JSON objects, read and written.

A field holds a JSON array. What JSON has no number for stands in it as one of the strings "NaN", "Infinity" and "-Infinity"; a
field, which is not JSON as a whole, may have these words bare, too.
"""
from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from adcli.input.arrays import Array, given, json_array
from adcli.input.fields import Fault, shown
from adcli.input.nested import element, flattened
from adcli.lang.ir import Param
from adcli.lang.ir.affine import shape_text
from adcli.lang.ir.errors import AdError
from adcli.output.numbers import non_finite

PLAIN = re.compile(r"[-+0-9eE.,\[\] \t]*")
"""A JSON array of finite numbers, if it is one of anything."""


def field_list(text: bytes) -> Any:
    """The contents of a field: nested lists of doubles, with strings for what is not finite. Fault where that is not JSON."""
    try:
        return json.loads(text, parse_int=float, parse_constant=str)
    except (ValueError, RecursionError):
        raise Fault(f"{shown(text)} is not a JSON array", "write [1, 2.5, 3] in the field, in quotes where commas separate fields"
                    ) from None


def tensor(p: Param, nested: Any, nan: bool) -> Any:
    """The value of an input that is a tensor or an integer; with `nan` a null among its elements stands for NaN. Fault where that
    cannot be."""
    if p.var.shape and not isinstance(nested, list):
        raise Fault(f"'{p.name}' is a tensor of shape {shape_text(p.var.shape)}, and "
                    f"{shown(json.dumps(nested, ensure_ascii=False))} is not a list")
    try:
        array = json_array(p.name, nested if not nan else with_nan(nested)) if p.var.shape else nested
        return given(p, array) if p.var.integer else array
    except AdError as fault:
        if not nan and p.var.shape and (place := first_null(p.name, nested)):
            raise Fault(f"{place} is null", "--missing nan reads missing values as nan") from None
        raise Fault(fault.message, fault.help) from None


def with_nan(nested: Any) -> Any:
    """Nested lists with NaN for null."""
    return [with_nan(x) if isinstance(x, list) else math.nan if x is None else x for x in nested]


def first_null(name: str, nested: Any) -> str | None:
    """The first element that is null, as x(1, 0), where the lists are not ragged and there is one."""
    with suppress(AdError):
        shape, leaves = flattened(name, nested)
        if None in leaves:
            return element(name, leaves.index(None), shape)
    return None


def list_text(x: Array, leaf: Callable[[float], str], plain: bool) -> str:
    """A tensor as a JSON array without blanks. `leaf` writes an element; `plain`: the way that JSON does where it is finite."""
    if plain and "n" not in (text := repr(x.tolist())):   # neither nan nor inf
        return text.replace(" ", "")
    leaves = map(leaf, x.reshape(-1).tolist())

    def lists(shape: Sequence[int]) -> str:
        return "[" + ",".join([lists(shape[1:]) for _ in range(shape[0])]) + "]" if shape else next(leaves)

    return lists(x.shape)


def json_list(field: str) -> str | None:
    """A field that holds a list as JSON has it, null where it holds nothing; None where it holds no list. Numbers stay as they
    are written, unless what is not finite stands among them."""
    bare = field.strip(" \t")
    if not bare:
        return "null"
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    return bare if PLAIN.fullmatch(bare) else json.dumps(strings(found), ensure_ascii=False, separators=(",", ":"))


def strings(x: Any) -> Any:
    """Nested lists with strings for what JSON has no number for."""
    if isinstance(x, list):
        return [strings(e) for e in x]
    return non_finite(x) if isinstance(x, float) and not math.isfinite(x) else x
