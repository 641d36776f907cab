"""What a point says of inputs before there is a program: numbers, and the dimensions of lists and arrays."""
from __future__ import annotations

import json
from collections.abc import Sequence

from adcli.input.points import parts
from adcli.lang.ir import Values


class Rank(int):
    """Dimensions of a list or an array."""


def known_of(at: Sequence[str]) -> tuple[dict[str, object], dict[str, int]]:
    """The numbers and words of a point by their names, and the ranks of its lists and arrays."""
    given: dict[str, object] = {}
    for text in at:
        if text.startswith("@"):
            given.update(from_file(text[1:]))
        else:
            written = (part.partition("=") for part in parts(text))
            given.update({name.strip(): seen(value.strip()) for name, equals, value in written if equals})
    return ({name: x for name, x in given.items() if not isinstance(x, Rank)},
            {name: x for name, x in given.items() if isinstance(x, Rank)})


def seen(value: object) -> object:
    """The rank of a list, the number that a text is, and any other value itself."""
    if isinstance(value, list):
        first = seen(value[0]) if value else None
        return Rank(1 + first) if isinstance(first, Rank) else Rank(1)
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        return Rank(value[:len(value) - len(value.lstrip("[ "))].count("["))
    if value.startswith("@"):
        return rank if isinstance(rank := from_file(value[1:]).get(""), Rank) else value
    try:
        return float(value)
    except ValueError:
        return value


def from_file(path: str) -> Values:
    """What a file of values says as far as it can be looked into here, by the names of inputs, or by "" what is of one."""
    try:
        if path.endswith((".npy", ".npz")):
            import numpy as np
            loaded = np.load(path, mmap_mode="r", allow_pickle=False)
            arrays = loaded.items() if path.endswith(".npz") else [("", loaded)]
            return {name: Rank(x.ndim) if x.ndim else x.item() for name, x in arrays}
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            return {name: seen(x) for name, x in (found if isinstance(found, dict) else {"": found}).items()}
        if path.endswith(".csv"):
            return {"": Rank(2)}
    except (OSError, ValueError):   # which those who take the values tell
        pass
    return {}
