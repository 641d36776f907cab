"""Tensors out of nested lists, as text and as JSON has them: small ones need no NumPy."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from adcli.codegen.machine.small import SMALL_BYTES, SmallTensor, packed, shape_of, unpacked
from adcli.input.values import json_number, shortened, value
from adcli.lang.ir import Param
from adcli.lang.ir.errors import AdError

MOST_DIMENSIONS = 32
"""Dimensions that every NumPy has."""
TOKEN = re.compile(r'\s*([\[\],]|"[^"]*"|[^\[\],"\s][^\[\],"]*)')
SPACES, ROWS = re.compile(r"(?<=[\w.\]])\s+(?=[-+\w.\[])"), re.compile(r"\s*;\s*")
"""Separators of elements, and of rows, in other notations."""
INTEGERS = 2.0 ** 53
"""Below this all integers are doubles."""


def tensor(shape: tuple[int, ...], elements: Sequence[float]) -> Any:
    """A small tensor of these numbers; an array, where they are many or none."""
    if 0 < 8 * len(elements) <= SMALL_BYTES:
        return packed(shape, elements)
    import numpy as np
    return np.array(elements, dtype=np.float64).reshape(shape)


def small(p: Param, x: Any) -> float | SmallTensor | None:
    """The value of an input, where it needs no NumPy: a float, or a small tensor of what the program declares."""
    if not isinstance(x, memoryview if p.var.shape else float):
        return None
    if not p.var.integer:
        return x
    elements = [x] if isinstance(x, float) else unpacked(x)
    whole = all(abs(e) < INTEGERS and e.is_integer() for e in elements)
    return packed(shape_of(x), list(map(int, elements)), "q") if whole else None


def arrays_of(point: dict[str, Any]) -> dict[str, Any]:
    """The point with arrays for small tensors, for whatever computes with it but code from the cache."""
    if not any(isinstance(x, memoryview) for x in point.values()):
        return point
    import numpy as np
    return {name: np.asarray(x) if isinstance(x, memoryview) else x for name, x in point.items()}


def of_text(name: str, text: str) -> Any:
    """A tensor written as nested lists: [[1, 2], [3, pi/2]], with numbers as points have them."""
    if text.count("[") != text.count("]"):
        raise unreadable(name, text)
    whole: list[Any] = []
    stack = [whole]
    after = False
    for token in tokens(name, text):
        if token == "[" and not after:
            stack[-1].append([])
            stack.append(stack[-1][-1])
        elif token == "]" and (after or not stack[-1]) and len(stack) > 1:
            stack.pop()
            after = True
        elif token == "," and after and len(stack) > 1:
            after = False
        elif token not in ("[", "]", ",") and not after and len(stack) > 1:
            stack[-1].append(element_value(name, text, token))
            after = True
        else:
            raise unreadable(name, text)
    if len(stack) > 1 or not whole:
        raise unreadable(name, text)
    shape, leaves = flattened(name, whole[0])
    return tensor(shape, leaves)


def element_value(name: str, text: str, token: str) -> float:
    """The number that an element of a tensor, which is written as `text`, is written as."""
    try:
        return json_number(f"{name}: {token}", token[1:-1]) if token[0] == '"' else value(name, token)
    except AdError as fault:
        mended = ROWS.sub("], [", SPACES.sub(", ", text))
        if mended != text:
            fault.message = f"{name}={shortened(text)} is not a tensor"
            mended = f"[{mended}]" if ROWS.search(text) else mended
            fault.help = f"commas separate elements, and brackets rows: write {name}={mended}"
        raise


def tokens(name: str, text: str) -> Iterator[str]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = TOKEN.match(text, at)
        if found is None:
            raise unreadable(name, text)
        yield found[1].strip()
        at = found.end()


def unreadable(name: str, text: str) -> AdError:
    return AdError(f"{name}={shortened(text)} is not a tensor",
                   help=f"write numbers in nested lists, as in {name}=[[1, 2], [3, 4]]")


def of_lists(name: str, nested: Any, where: str = "") -> Any:
    """Nested lists of numbers, as JSON has them, as a tensor. AdError where they are ragged or hold something else."""
    shape, leaves = flattened(name, nested, where)
    if not set(map(type, leaves)) <= {float} or not math.isfinite(sum(leaves)):
        leaves = [json_number(f"{where}{element(name, i, shape)}", x) for i, x in enumerate(leaves)]
    return tensor(shape, leaves)


def flattened(name: str, nested: Any, where: str = "") -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists and their elements in order."""
    shape: tuple[int, ...] = ()
    level = [nested]
    while any(issubclass(kind, list | tuple) for kind in set(map(type, level))):
        lengths = [len(x) if isinstance(x, list | tuple) else -1 for x in level]
        if lengths.count(lengths[0]) < len(lengths):
            raise ragged(name, shape, lengths, where)
        if len(shape) == MOST_DIMENSIONS:
            raise AdError(f"{where}'{name}' has more than {MOST_DIMENSIONS} dimensions")
        shape = (*shape, lengths[0])
        level = list(chain.from_iterable(level))
    return shape, level


def ragged(name: str, shape: tuple[int, ...], lengths: Sequence[int], where: str) -> AdError:
    """Two parts of a tensor with different numbers of elements."""
    def part(i: int) -> str:
        n = lengths[i]
        return f"{element(name, i, shape)} {'is a number' if n < 0 else 'has 1 element' if n == 1 else f'has {n} elements'}"

    other = next(i for i, n in enumerate(lengths) if n != lengths[0])
    return AdError(f"{where}'{name}' is ragged along dimension {len(shape)}: {part(0)}, and {part(other)}")


def element(name: str, position: int, shape: tuple[int, ...]) -> str:
    """A(1, 0): an element by its position in the order of memory."""
    place: list[str] = []
    for extent in reversed(shape):
        position, i = divmod(position, extent)
        place.insert(0, str(i))
    return f"{name}({', '.join(place)})" if shape else name
