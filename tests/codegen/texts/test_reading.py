"""Doubles of texts against Python's `float`, which reads any digits exactly; and which rows are regular."""
from __future__ import annotations

import math
import struct
from decimal import Context, Decimal, localcontext
from random import Random

import pytest
from adcli.codegen.machine.kernel import Kernel
from adcli.codegen.rows.compiled import linked
from adcli.codegen.rows.jit import object_code
from adcli.codegen.texts import reading
from adcli.codegen.texts.reading import ScannedRows, reader, scanned
from row_tables import each_row
from session_seed import drawn


def column(kernel: Kernel, texts: list[str], point: bytes = b".") -> list[float | None]:
    """What each text is read as, None for what is odd."""
    found = scanned(kernel, "".join(f"{t}\n" for t in texts).encode(), b";", 1, [0], [], point)
    assert found is not None
    odd = set(found.odd[:, 0].tolist())
    return [None if i in odd else x for i, x in enumerate(found.numbers[0].tolist())]


def shapes(random: Random, count: int) -> list[str]:
    """Numbers as they are written in tables: shortest, scientific, rounded, of 19 digits and more, any digits with any
    exponent."""
    found = []
    for x in struct.unpack(f"<{count}d", random.randbytes(8 * count)):
        y = random.gauss(0, 1000)
        if math.isfinite(x):
            found += [repr(x), repr(y), f"{y:.18e}", f"{x:.16E}", f"{y:+.3f}", f"{y:.14f}", str(round(y))]
            found.append(f"{random.getrandbits(random.randrange(1, 64))}e{random.randrange(-330, 300)}")
            found += [f"{y:.25f}", f"{y:.30e}"]
            found.append(f"{random.getrandbits(200)}.{random.getrandbits(80)}E{random.randrange(-330, 250)}")
    return found


def between(random: Random, count: int) -> list[str]:
    """Numbers half-way between two doubles, and next to there."""
    found = ["9007199254740993.00000000000000000001", "9007199254740992.99999999999999999999", "9007199254740993" + "0" * 30]
    for _ in range(count):
        whole, places = random.getrandbits(53) | 1 << 52, random.randrange(1, 4)
        tail = str((1 << places - 1) * 5**places).rjust(places, "0")
        x = random.gauss(0, 1)
        with localcontext(Context(prec=200)):
            middle = f"{Decimal(x) / 2 + Decimal(math.nextafter(x, 9)) / 2:f}"
        found += [middle, f"{middle}1", f"{middle[:-1]}4"]
        found += [f"{2 * whole + 1}.{'0' * random.randrange(9)}{random.randrange(2)}"]
        found += [f"{2 * whole}.{'9' * random.randrange(20)}"]
        found += [f"{2 * whole + 1}e0", f"{whole >> 1}.{tail}", f"{whole}.4999999999", f"{2 * whole + 1}.0"]
    return found


EDGES = ["0", "-0", "+0.0", ".0", "0.", "-.5e1", "5.E-1", "1e0000001", "00000000000000000000001.50", "18446744073709551599",
         "1e22", "1e-22", "9007199254740993e22", "9007199254740992e-22", "2.2250738585072014e-308", "1.7976931348623157e308",
         "1e23", "1e308", "4.4501477170144028e-308", "8.98846567431158e307", "  7 \t", "9999999999999999999",
         "123456789012345678e-340"]


def test_numbers_are_those_that_python_reads() -> None:
    random = drawn("doubles of texts")
    texts = [*EDGES, *shapes(random, 4000), *between(random, 2000)]
    found = column(reader(), texts)
    assert [(t, x) for t, x in zip(texts, found, strict=True) if x is not None and repr(x) != repr(float(t))] == []
    plain = [repr(random.gauss(0, 1e6)) for _ in range(3000)]
    assert None not in column(reader(), plain), "what tables hold takes the fast way"
    long = [f"{random.gauss(0, 1e6):.{digits}f}" for digits in range(20, 60) for _ in range(100)]
    assert column(reader(), long).count(None) < len(long) / 10, "nearly always for any number of digits, too"
    assert column(reader(), ["1,5", "1.5", "-,5"], b",") == [1.5, None, -0.5]


@each_row("text", ["", " ", "x", "1 2", "1_0", "0x10", "nan", "inf", ".", "-", "+-1", "1e", "1e+", "e5", "1.5.2",
                                  '"1', '"x"', '""', '"1"";"', '"1;"', '"1 2"', '"1\r"', "1\r1", "1e99999", "1e400", "1e-400",
                                  "1\0", "١", "1d5", "--1"])
def test_what_is_no_plain_number_is_odd(text: str) -> None:
    data = text.encode()
    if text == '"1':
        assert scanned(reader(), b'"1\n', b";", 1, [0], []) is None
        return
    found = scanned(reader(), data + b";7\n;" + data + b"\n", b";", 2, [0, 1], [0])
    assert found is not None and found.odd.tolist() == [
        [0, 0, 0, len(data)], [1, 0, len(data) + 3, len(data) + 3], [1, 1, len(data) + 4, 2 * len(data) + 4]]


@each_row("wrong", [
    ("icmp ult i128 %rest, %room", "icmp ult i128 0, 1"), ("icmp ne i128 %rest, 0", "icmp ne i128 1, 0"),
    ("%unit.less, %slack", "%unit.less, 0"), ("%ten.less, %whole.less", "%ten.less, 0"), ("i64 %bits54, 1", "i64 %bits54, 0"),
    ("%scale.free, 1085", "%scale.free, 1084"), (f"icmp ule i64 %m, {1 << 53}", f"icmp ule i64 %m, {1 << 54}"),
    (f"add i64 %ten, {reading.EXACT}", f"add i64 %ten, {reading.EXACT - 1}"), ("%biased.less, 2045", "%biased.less, -1"),
    (f"value, {reading.MOST_WHOLE}", f"value, {1 << 62}")], ids=lambda w: w[1])
def test_a_wrong_bit_is_noticed(wrong: tuple[str, str]) -> None:
    text = reading.text()
    assert wrong[0] in text
    broken = linked(object_code(text.replace(*wrong), level=0), reader().entry)
    random = drawn("wrong bits", *wrong)
    texts = [*EDGES, *shapes(random, 400), *between(random, 400), "10000000000000000000", "1e23", "20000000000000000001", "1e-22"]
    found = column(broken, texts)
    assert any(x is not None and repr(x) != repr(float(t)) for t, x in zip(texts, found, strict=True))


@pytest.mark.parametrize("separator", [b",", b"\t", b" "])
def test_a_number_in_quotes_is_read_as_one_without(separator: bytes) -> None:
    random = drawn("numbers in quotes", separator)
    texts = [*EDGES[:6], *shapes(random, 30), "  7", "7 ", "\t7\t"]
    for end in ("\n", "\r\n"):
        data = "".join(f'"{t}"{separator.decode()}"{t}"{end}' for t in texts).encode()
        found = scanned(reader(), data, separator, 2, [0, 1], [1])
        assert found is not None and [data[a:b].decode() for a, b in found.texts[1].tolist()] == [f'"{t}"' for t in texts]
        for field in (0, 1):
            odd = {row for row, at, *_ in found.odd.tolist() if at == field}
            assert len(odd) < len(texts) / 4, "nearly all take the fast way"
            assert [repr(x) for i, x in enumerate(found.numbers[field].tolist()) if i not in odd] == [
                repr(float(t)) for i, t in enumerate(texts) if i not in odd]


def rows(text: bytes, fields: int, separator: bytes = b",") -> list[list[bytes]] | None:
    """All fields of a text, of which there are as many in each row, and that row before them."""
    found = scanned(reader(), text, separator, fields, [], range(fields))
    return found and [[text[a:b] for a, b in places] for places in taken(found, fields)]


def taken(found: ScannedRows, fields: int) -> list[list[list[int]]]:
    columns = [found.places.tolist(), *(found.texts[i].tolist() for i in range(fields))]
    return [list(row) for row in zip(*columns, strict=True)]


@each_row(("text", "fields", "want"), [
    (b"a,b\nc,\n", 2, [[b"a,b", b"a", b"b"], [b"c,", b"c", b""]]), (b"a,b\r\n,\r\n", 2, [[b"a,b", b"a", b"b"], [b",", b"", b""]]),
    (b'"a,b",c\n', 2, [[b'"a,b",c', b'"a,b"', b"c"]]), (b'"a""b"\r\n', 1, [[b'"a""b"', b'"a""b"']]),
    (b'"",""""\n', 2, [[b'"",""""', b'""', b'""""']]), (b'a"b,c\n', 2, [[b'a"b,c', b'a"b', b"c"]]),
    (b"a\rb,\r\n", 2, [[b"a\rb,", b"a\rb", b""]]),
    (b"\r,\n", 2, [[b"\r,", b"\r", b""]]), (b"", 1, None), (b"a", 1, None), (b"\n", 1, None), (b"\r\n", 1, None),
    (b"a\n\nb\n", 1, None),
    (b"a,b\n", 1, None), (b"a,b\n", 3, None), (b'"a\nb"\n', 1, None), (b'"a"b,c\n', 2, None), (b'"a,b\n', 2, None),
    (b'"a" ,b\n', 2, None), (b'"a"\rb\n', 1, None), (b'"\n', 1, None)])
def test_rows_and_their_fields(text: bytes, fields: int, want: list[list[bytes]] | None) -> None:
    assert rows(text, fields) == want
