"""No code of this room looks at a byte outside the memory that it is given: a page that nobody may touch begins or ends there."""
from __future__ import annotations

from typing import Any

import guarded_arrays
import numpy as np
import pytest
from adcli.codegen.texts import objects, reading, writing
from adcli.codegen.texts.writing import FieldColumn, NumberSpelling, TextColumn, WordColumn
from session_seed import drawn

TEXTS = [b"\n", b"\r\n", b"\r\r\n", b"1\n", b"1,2\n", b",\n", b"\r,\n", b",\r\n", b"1,2\r\n", b" 1 , 2 \n", b"-\n", b"1e\n",
         b"1.\n", b"+\n", b'"\n', b'""\n', b'"",""\r\n', b'"a""b",2\n', b'1,"2\n', b'"1"\r2\n', b"1\r2,3\n", b'{"x":1}\n',
         b'{"x":"a"}\r\n', b'{"x":\n', b'{"x":"\n', b'{"x":t\n', b'{"x":fals\n', b'{"x":1', b"1", b""]


class Walled:
    """NumPy, but that text lies before or behind such a page, and all memory that is made for results."""

    def __init__(self, at_end: bool) -> None:
        self.at_end = at_end

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def frombuffer(self, data: bytes, kind: type) -> np.ndarray:
        return guarded_arrays.like(np.frombuffer(data, kind), self.at_end)

    def empty(self, shape: int | tuple[int, ...], kind: type = np.float64) -> np.ndarray:
        return guarded_arrays.empty(shape if isinstance(shape, tuple) else (shape,), kind, self.at_end)


@pytest.fixture(params=[True, False], ids=["end", "begin"])
def walls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reading, writing, objects):
        monkeypatch.setattr(module, "np", Walled(request.param))


def cuts() -> list[bytes]:
    """Lines of any of their characters, too."""
    random = drawn("texts at walls")
    return [*TEXTS, *("".join(random.choices('1,"\r.e- n', k=random.randrange(1, 9))).encode() + b"\n" for _ in range(100))]


def test_readers_stay_within_their_text(walls: None) -> None:
    for text in cuts():
        for fields in (1, 2):
            reading.scanned(reading.reader(), text, b",", fields, range(fields), range(fields))
        objects.scanned_objects(objects.object_reader(), text, [b'{"x":', b"}"], [0])
        objects.scanned_objects(objects.object_reader(), text, [b'{"x":', b"}"], [])


def test_the_writer_stays_within_its_memory(walls: None) -> None:
    numbers = [-2.2250738585072014e-308, -9007199254740993.0, -0.00012345678901234567, -1.2345678901234567e16, float("-inf")]
    for x in numbers:
        for pieces in ([np.array([x])], [b"", np.array([x]), b"a"], [WordColumn(np.array([1.0]), [b"", b"no"])],
                       [TextColumn(b"abc", np.array([[1, 3]]))], [FieldColumn(b'""""\n', np.array([[0, 4]]))],
                       [FieldColumn(b"\\\n", np.array([[0, 1]]))], [FieldColumn(b"\n", np.array([[0, 0]]))]):
            assert writing.filled(writing.writer(), 1, pieces, NumberSpelling())
