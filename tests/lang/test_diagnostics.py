"""What is said about a wrong program: the exact text, for every kind of fault, in the golden file `faults.txt`.

A case is a program, `=>`, and what is said of it. `pytest tests/lang/test_diagnostics.py --rewrite-programs` writes what is said
today into the file; what it changed is for the eye, in the difference of the commit.
"""
import pytest
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.scan import decode
from places import ROOT
from row_tables import each_row

GOLDEN = ROOT / "tests" / "lang" / "faults.txt"
BETWEEN, THEREFORE = "\n---\n", "\n=>\n"
CASES = [case.split(THEREFORE) for case in GOLDEN.read_text(encoding="utf-8").removesuffix("\n").split(BETWEEN)]
INVISIBLE = [("v = x\u200b*y", "U+200B ZERO WIDTH SPACE", "remove it"),
             ("v = x\xa0+ 2", "U+00A0 NO-BREAK SPACE", "type an ordinary space"),
             ("v = x\0", "U+0000", "remove it")]


def said(text: str) -> str:
    with pytest.raises(AdError) as caught:
        parse(text, "f.ad")
    return str(caught.value)


def test_the_golden_file_is_that_of_today(request: pytest.FixtureRequest) -> None:
    assert [said(text) for text, _ in CASES] == [said(f"{text}\n") for text, _ in CASES]
    today = BETWEEN.join(f"{text}{THEREFORE}{said(text)}" for text, _ in CASES) + "\n"
    if request.config.getoption("--rewrite-programs"):
        GOLDEN.write_text(today, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == today


def test_a_change_that_is_sure_mends_what_it_is_proposed_for() -> None:
    for text, _ in CASES:
        with pytest.raises(AdError) as caught:
            parse(text)
        fault = caught.value
        if fault.fix is not None and fault.fix.certain:
            try:
                parse(fault.fix.applied(text))
            except AdError as left:
                assert not any((f.message, f.span) == (fault.message, fault.span) for f in (left, *left.more)), str(left)


@pytest.mark.parametrize(("text", "name", "help"), INVISIBLE)
def test_an_invisible_character_is_named(text: str, name: str, help: str) -> None:
    first, *_, last = said(text).splitlines()
    assert first == f"f.ad:1:6: error: the invisible character {name} does not belong here" and last == f"help: {help}"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "#!/usr/bin/env adcli"])
def test_empty_program(text: str) -> None:
    assert said(text).startswith("f.ad: error: the program is empty\nhelp: a program is a list of assignments")


@pytest.mark.parametrize(("data", "expected"), [
    (b"v = x\xff", "f.ad: error: not UTF-8: byte 0xff at byte offset 5\nhelp: save it as UTF-8"),
    (b"v = x\0y", "f.ad: error: a NUL byte at byte offset 5\nhelp: a program is plain text"),
    ("v = x".encode("utf-16"), "f.ad: error: not UTF-8: the file looks like UTF-16\nhelp: save it as UTF-8"),
    ("v = x".encode("utf-32"), "f.ad: error: not UTF-8: the file looks like UTF-32\nhelp: save it as UTF-8"),
])
def test_bytes_that_are_no_text(data: bytes, expected: str) -> None:
    with pytest.raises(AdError) as caught:
        decode(data, "f.ad")
    assert str(caught.value) == expected


@pytest.mark.parametrize("data", [b"a = x\nb = 2y\n", b"\xef\xbb\xbfa = x\r\nb = 2y", b"a = x\rb = 2y\r"])
def test_place_does_not_depend_on_line_ends(data: bytes) -> None:
    source = decode(data, "f.ad")
    with pytest.raises(AdError) as caught:
        parse(source.text, source.name)
    assert (caught.value.line, caught.value.column) == (2, 6)


def places(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(AdError) as caught:
        parse(text)
    return [(e.line, e.message) for e in (caught.value, *caught.value.more)]


def test_faults_of_syntax_and_of_meaning_are_reported_together_in_order() -> None:
    found = places("a = foo(x)\nb = 2y\nc = (1 + x\nd = x < 1 + (y < 2)\n")
    assert found == [(1, "unknown function 'foo'"), (2, "an operator is missing before 'y'"), (3, "'(' is never closed"),
                     (4, "a truth value used as a number")]


def test_at_most_twenty() -> None:
    assert len(places("\n".join(f"v{i} = 2x" for i in range(50)))) == 20
    assert len(places("\n".join(f"v{i} = foo(x)" for i in range(50)))) == 20


@each_row("text", [
    "def f(x) = 2x\nv = f(3)",
    "a = 2x\nv = a + 1\noutput v, a",
    "a = foo(x)\nb = a < 1 ? a : 2\noutput a, b",
    "input x = 2y\nv = x",
    "v = x +\n    y",
    "def f(a) -> (u) {\n  u = 2a\n}\nv = f(x)",
    "def f(a) -> (u) {\n  u = (a\n}\nv = f(x)",
    "v = (x\n  + (y\nw = v",
    "v = x)))))",
    "(a, b) = dup(foo(x))\nv = a + b",
])
def test_one_fault_is_one_error(text: str) -> None:
    assert len(places(text)) == 1


def test_a_long_line_is_cut_around_the_carets() -> None:
    lines = said("v = " + "x + " * 20_000 + "2y").splitlines()
    assert len(lines) == 4 and all(len(line) < 120 for line in lines)


def test_functions_that_double_without_end_are_refused() -> None:
    doubling = "".join(f"def f{i + 1}(x) = f{i}(f{i}(x))\n" for i in range(60))
    text = "def f0(x) = x * 2\n" + doubling + "v = f60(x)"
    assert "unfolded, 'f60' makes 1.2e+18 operations; the limit of a program is 10,000,000" in said(text)


# ---------------------------------------------------------------- what is in a message

HOSTILE = "a\x1b[31m\x07\x9b1m\u202eb\nfake.ad:1:1: error: c\udcff"


@pytest.mark.parametrize("error", [
    AdError(HOSTILE), AdError("m", help=HOSTILE), AdError("m", source=Source(HOSTILE, "x")),
    AdError(HOSTILE, (0, 1), HOSTILE, Source(HOSTILE, HOSTILE))])
def test_nothing_in_a_diagnostic_is_obeyed_by_a_terminal_or_makes_a_line(error):
    text = str(error)
    assert all(line.isprintable() for line in text.split("\n")), text
    assert not any(line.startswith("fake") for line in text.split("\n"))
    text.encode()


def test_a_diagnostic_is_never_long():
    word, words = "a" * 1_000_000, "a b " * 250_000
    for error in (AdError(word), AdError(words), AdError("m", help=word), AdError(words, (0, 9), words, Source(word, words))):
        assert len(str(error)) < 15_000
        assert "1,000,000 characters)" in str(error)
    assert str(AdError("a" * 900, help="b" * 3_000)) == f"error: {'a' * 900}\nhelp: {'b' * 3_000}"


@pytest.mark.parametrize("text, made, element", [
    ("y(i) = inv(A)(i, 0)", "B = inverse(A)", "B(i, 0)"), ("v = solve(A, b)(0)", "B = solve(A, b)", "B(0)"),
    ("v = softmax(b)(0)", "B = softmax(b)", "B(0)"),
    ("def f(float(N) x) -> (d) { d(i) = 2*x(i) }\nz(k) = f(A(1))(0) * b(k)", "B = f(A(1))", "B(0)"),
    ("y(i) = sin(A(i, 0))(B, 1)", "C = sin(A(i, 0))", "C(B, 1)")])
def test_what_a_function_gives_has_no_subscripts(text: str, made: str, element: str) -> None:
    with pytest.raises(AdError) as caught:
        parse(f"input A(N, N), b(N)\n{text}")
    assert caught.value.message == "only names have subscripts"
    assert caught.value.help == f"write {made} as a statement of its own, and {element} here"


@pytest.mark.parametrize("word", ["end", "done", "od", "enddo", "endfor"])
def test_a_loop_of_another_language_ends_at_its_word(word: str) -> None:
    assert said(f"input x\ns = 0\nfor t in 0:3\ns = s + x\n{word}\nv = s") == \
        said("input x\ns = 0\nfor t in 0:3\ns = s + x\nend\nv = s").replace("end", word)
