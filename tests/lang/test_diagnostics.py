"""What is said about a wrong program: the exact text, for every kind of fault."""
import pytest
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse
from adcli.lang.syntax.source import decode

CASES = """\
v = 2 * tahn(p)
=>
f.ad:1:9: error: unknown function 'tahn'
    v = 2 * tahn(p)
            ^^^^
help: did you mean 'tanh'?
---
v = sin(x, y)
=>
f.ad:1:5: error: 'sin' takes 1 argument, not 2
    v = sin(x, y)
        ^^^^^^^^^
---
v = atan2(x)
=>
f.ad:1:5: error: 'atan2' takes 2 arguments, not 1
    v = atan2(x)
        ^^^^^^^^
---
v = min(x)
=>
f.ad:1:5: error: 'min' takes 2 arguments or more, not 1
    v = min(x)
        ^^^^^^
help: write input x(N); v min=! x(i)
---
def f(a) = f(a - 1)
v = f(x)
=>
f.ad:1:12: error: function 'f' calls itself
    def f(a) = f(a - 1)
               ^
help: recursion is not possible
---
def f(a) = g(a)
def g(a) = a
v = f(x)
=>
f.ad:1:12: error: function 'g' is called above its definition
    def f(a) = g(a)
               ^
help: move its def up; a function may call only functions defined above it
---
def f(a) = a * k
v = f(x)
=>
f.ad:1:16: error: function 'f' has no parameter 'k'
    def f(a) = a * k
                   ^
help: a function sees only its parameters; pass the value as one
---
def f(a) = a
v = f(x, y)
=>
f.ad:2:5: error: 'f' takes 1 argument, not 2
    v = f(x, y)
        ^^^^^^^
---
def f(a) -> (u) { w = a }
v = f(x)
=>
f.ad:1:14: error: result 'u' of function 'f' is never assigned
    def f(a) -> (u) { w = a }
                 ^
---
def f(a, a) = a
v = f(x, x)
=>
f.ad:1:10: error: parameter 'a' is named twice
    def f(a, a) = a
             ^
---
def f(a) = a
def f(b) = b
v = f(x)
=>
f.ad:2:5: error: function 'f' is defined twice
    def f(b) = b
        ^
---
v = x(y + 1) + x
=>
f.ad:1:5: error: 'x' is an input, not a function
    v = x(y + 1) + x
        ^
help: write x*(y + 1)
---
input f
def f(a) = a
v = f(2)
=>
f.ad:1:7: error: 'f' is a function and cannot be an input too
    input f
          ^
help: call it, f(...), or choose another name
---
def f(a) = a
v = f + 1
=>
f.ad:2:5: error: 'f' is a function and cannot be an input too
    v = f + 1
        ^
help: call it, f(...), or choose another name
---
v = polygamma(x, 2)
=>
f.ad:1:15: error: the first argument of 'polygamma' must be a literal integer, 0 or more
    v = polygamma(x, 2)
                  ^
help: for example polygamma(1, x)
---
v = dup(x)
=>
f.ad:1:5: error: 'dup' gives two results
    v = dup(x)
        ^^^^^^
help: write (a, b) = dup(x) as a statement
---
v = sin x
=>
f.ad:1:5: error: 'sin' needs parentheses around its argument
    v = sin x
        ^^^^^
help: write sin(x)
---
def f(a) = a
=>
f.ad: error: the program only defines functions
help: call one: v = f(a)
---
v = (x < y) + 1
=>
f.ad:1:5: error: a truth value used as a number
    v = (x < y) + 1
        ^^^^^^^
help: write x < y ? 1 : 0
---
v = x ? 1 : 2
=>
f.ad:1:5: error: a number used as a truth value
    v = x ? 1 : 2
        ^
help: compare it, for example x != 0
---
v = not a
=>
f.ad:1:9: error: a number used as a truth value
    v = not a
            ^
help: compare it, for example a != 0
---
v = a < b
=>
f.ad:1:1: error: output 'v' is a truth value
    v = a < b
    ^
help: an output is a number: write a < b ? 1 : 0
---
v = x < y < z
=>
f.ad:1:5: error: comparisons do not chain
    v = x < y < z
        ^^^^^^^^^
help: write v = x < y and y < z ? 1 : 0
---
v = a < b == c
=>
f.ad:1:5: error: comparisons do not chain
    v = a < b == c
        ^^^^^^^^^^
help: write v = a < b and b == c ? 1 : 0
---
v = x ? 1
=>
f.ad:1:7: error: '?' without its ':'
    v = x ? 1
          ^
help: write c ? a : b
---
v = x : 2
=>
f.ad:1:7: error: ':' without its '?'
    v = x : 2
          ^
help: write c ? a : b
---
h(0) = 1; for t in 0:7:2 { h(t + 1) = 2*h(t) }; v = h(3)
=>
f.ad:1:23: error: a range has two bounds, and an index goes by ones
    h(0) = 1; for t in 0:7:2 { h(t + 1) = 2*h(t) }; v = h(3)
                          ^
help: write k in 0:n, and 2*k where you need steps of 2
---
h(0) = 1; for t in 0:sin(x) { h(t + 1) = 2*h(t) }; v = h(3)
=>
f.ad:1:22: error: the range of the step 't' is not affine: sin(x)
    h(0) = 1; for t in 0:sin(x) { h(t + 1) = 2*h(t) }; v = h(3)
                         ^^^^^^
help: a bound is made of sizes and whole numbers by + - * /, min and max
---
y(i) = x(i) *
=>
f.ad:1:13: error: an expression is missing after '*'
    y(i) = x(i) *
                ^
help: an expression in parentheses may span several lines
---
v = (a + b
=>
f.ad:1:5: error: '(' is never closed
    v = (a + b
        ^
help: a ')' is missing
---
v = a + b)
=>
f.ad:1:10: error: ')' was never opened
    v = a + b)
             ^
help: remove it, or add the missing '('
---
v = (a + b]
=>
f.ad:1:11: error: ']' closes a bracket of another kind
    v = (a + b]
              ^
---
v = f(x
w = 2 * y
=>
f.ad:1:6: error: '(' is never closed
    v = f(x
         ^
help: a ')' is missing
---
v = ()
=>
f.ad:1:5: error: nothing between the parentheses
    v = ()
        ^^
---
def f(a) -> (u) { u = a
=>
f.ad:1:17: error: '{' is never closed
    def f(a) -> (u) { u = a
                    ^
help: a '}' is missing
---
v = 2x
=>
f.ad:1:6: error: an operator is missing before 'x'
    v = 2x
         ^
help: write 2*x
---
v = 2(x + 1)
=>
f.ad:1:6: error: an operator is missing before '('
    v = 2(x + 1)
         ^
help: write 2*(x + 1)
---
v = (a)(b)
=>
f.ad:1:8: error: an operator is missing before '('
    v = (a)(b)
           ^
help: write (a)*(b)
---
v = x y
=>
f.ad:1:7: error: an operator is missing before 'y'
    v = x y
          ^
help: write x*y
---
v = sin(x)cos(y)
=>
f.ad:1:11: error: an operator is missing before 'cos'
    v = sin(x)cos(y)
              ^^^
help: write sin(x)*cos(y)
---
v = x +
=>
f.ad:1:7: error: an expression is missing after '+'
    v = x +
          ^
help: an expression in parentheses may span several lines
---
v = * 3
=>
f.ad:1:3: error: an expression is missing after '='
    v = * 3
      ^
---
v = x ^^ 2
=>
f.ad:1:8: error: unexpected '^'
    v = x ^^ 2
           ^
---
s += 2
=>
f.ad:1:3: error: there is no '+='
    s += 2
      ^^
help: write s = s + 2
---
v := 3
=>
f.ad:1:3: error: there is no ':='
    v := 3
      ^^
help: write =
---
v = x**-not y
=>
f.ad:1:9: error: 'not' binds less tightly than the operator before it
    v = x**-not y
            ^^^
help: put parentheses around it: (not a)
---
v = max(1,)
=>
f.ad:1:10: error: an expression is missing after ','
    v = max(1,)
             ^
---
v =
=>
f.ad:1:3: error: an expression is missing after '='
    v =
      ^
help: an expression in parentheses may span several lines
---
u = x = 2
=>
f.ad:1:7: error: '=' inside an expression
    u = x = 2
          ^
help: write == to compare, and one assignment a line
---
v = 2
x*sin(y)
=>
f.ad:2:1: error: an expression by itself does nothing
    x*sin(y)
    ^^^^^^^^
help: give it a name: f = x*sin(y)
---
v == 3
=>
f.ad:1:1: error: '==' compares, and '=' assigns
    v == 3
    ^^^^^^
help: write v = 3
---
if x < 0
=>
f.ad:1:1: error: 'if' is not a word of this language
    if x < 0
    ^^
help: for a choice write c ? a : b
---
for i in x
=>
f.ad:1:1: error: a loop has its statements in braces
    for i in x
    ^^^
help: write for i in 0:T { ... }
---
3 = x
=>
f.ad:1:1: error: a statement cannot start with '3'
    3 = x
    ^
help: a statement is name = expression
---
(a, b) = (1, 2, 3)
=>
f.ad:1:2: error: 2 names on the left, 3 values on the right
    (a, b) = (1, 2, 3)
     ^^^^^^^^^^^^^^^^^
help: use _ for a value that is not wanted
---
(a, b) = 3
=>
f.ad:1:2: error: 2 names on the left, 1 value on the right
    (a, b) = 3
     ^^^^^^^^^
---
(a, b, c) = dup(x)
=>
f.ad:1:13: error: 'dup' gives 2 results, 3 wanted here
    (a, b, c) = dup(x)
                ^^^^^^
help: write (a, b) = dup(x)
---
(a, a) = dup(x)
=>
f.ad:1:5: error: target 'a' is named twice
    (a, a) = dup(x)
        ^
---
v = (a, b)
=>
f.ad:1:7: error: unexpected ','
    v = (a, b)
          ^
help: several values go to several names: (a, b) = (x, y)
---
input x
x = x + 1
=>
f.ad:2:1: error: 'x' is an input and cannot be assigned
    x = x + 1
    ^
help: choose another name, or declare it as an output too: output x
---
input x, x
v = x
=>
f.ad:1:10: error: input 'x' is declared twice
    input x, x
             ^
help: write input x
---
input y(N), float(M) x, y; v +=! x(i) * y(i)
=>
f.ad:1:25: error: input 'y' is declared twice
    input y(N), float(M) x, y; v +=! x(i) * y(i)
                            ^
help: write input y(N), float(M) x
---
input x, x(N); v +=! x(i)
=>
f.ad:1:10: error: input 'x' is declared twice
    input x, x(N); v +=! x(i)
             ^
help: write input x(N)
---
input x; input x, y; v = x * y
=>
f.ad:1:16: error: input 'x' is declared twice
    input x; input x, y; v = x * y
                   ^
help: remove one of the two declarations
---
v = x()
=>
f.ad:1:5: error: unknown function 'x'
    v = x()
        ^
help: write x
---
v = x + x()
=>
f.ad:1:9: error: 'x' is an input, not a function
    v = x + x()
            ^^^
help: write x
---
v = 2 * pi()
=>
f.ad:1:9: error: unknown function 'pi'
    v = 2 * pi()
            ^^
help: write pi
---
input x(N); v = x()
=>
f.ad:1:17: error: 'x' has 1 dimension, not 0
    input x(N); v = x()
                    ^^^
help: an element of it is x(i)
---
v = x
input x
=>
f.ad:2:7: error: 'x' is declared after it was read
    input x
          ^
help: declare inputs above their first use
---
input x in [2, 1]
v = x
=>
f.ad:1:13: error: the range of 'x' is empty
    input x in [2, 1]
                ^^^^
help: write [smallest, largest]
---
input x = 5 in [0, 1]
v = x
=>
f.ad:1:11: error: the default of 'x' is outside its range
    input x = 5 in [0, 1]
              ^
---
input x = sin(2)
v = x
=>
f.ad:1:11: error: a default or a bound must be a constant
    input x = sin(2)
              ^^^^^^
help: numbers, pi, inf and + - * / ** of them
---
def f(a) -> (u) {
  input b
  u = a
}
v = f(x)
=>
f.ad:2:3: error: a function contains only assignments and loops
      input b
      ^^^^^^^
help: move it out of the braces
---
v = x
output w
=>
f.ad:2:8: error: output 'w' is never assigned
    output w
           ^
---
input x
v = x
output x
=>
f.ad:3:8: error: output 'x' is an input and is never assigned
    output x
           ^
---
v = x
output v, v
=>
f.ad:2:11: error: output 'v' is named twice
    output v, v
              ^
---
input x
=>
f.ad: error: the program has no output
help: an output is a name assigned and never read: v = x*y
---
input = 3
=>
f.ad:1:1: error: 'input' is a keyword and cannot be a name
    input = 3
    ^^^^^
help: choose another name
---
in = 3
=>
f.ad:1:1: error: 'in' is a keyword and cannot be a name
    in = 3
    ^^
help: choose another name
---
v = def + 1
=>
f.ad:1:5: error: 'def' is a keyword and cannot be a name
    v = def + 1
        ^^^
help: choose another name
---
inf = 2
=>
f.ad:1:1: error: 'inf' is a constant and cannot be a name
    inf = 2
    ^^^
help: choose another name
---
nan = x
=>
f.ad:1:1: error: 'nan' is a constant and cannot be a name
    nan = x
    ^^^
help: choose another name
---
v = 1e999
=>
f.ad:1:5: error: this number is too large for a double
    v = 1e999
        ^^^^^
help: the largest is 1.7976931348623157e308; write inf for infinity
---
v = 0x1p2000
=>
f.ad:1:5: error: this number is too large for a double
    v = 0x1p2000
        ^^^^^^^^
help: the largest is 1.7976931348623157e308; write inf for infinity
---
v = 1e
=>
f.ad:1:5: error: '1e' is not a number
    v = 1e
        ^^
help: numbers look like 2, 2.5, .5, 1e-3, 0x1.8p-2, 1_000
---
v = 1__0
=>
f.ad:1:5: error: '1__0' is not a number: digits are grouped by three
    v = 1__0
        ^^^^
help: write 10
---
v = 0x
=>
f.ad:1:5: error: '0x' is not a number
    v = 0x
        ^^
help: numbers look like 2, 2.5, .5, 1e-3, 0x1.8p-2, 1_000
---
v = x − 2
=>
f.ad:1:7: error: '−' (U+2212 MINUS SIGN) does not belong here
    v = x − 2
          ^
help: type -
---
v = 2 × x
=>
f.ad:1:7: error: '×' (U+00D7 MULTIPLICATION SIGN) does not belong here
    v = 2 × x
          ^
help: type *
---
v = x²
=>
f.ad:1:6: error: '²' (U+00B2 SUPERSCRIPT TWO) does not belong here
    v = x²
         ^
help: write **2
---
v = “x”
=>
f.ad:1:5: error: there are no strings in a program
    v = “x”
        ^^^
help: write x
---
v = x\u200b*y
=>
f.ad:1:6: error: the invisible character U+200B ZERO WIDTH SPACE does not belong here
    v = x�*y
         ^
help: remove it
---
v = x\u00a0+ 2
=>
f.ad:1:6: error: the invisible character U+00A0 NO-BREAK SPACE does not belong here
    v = x�+ 2
         ^
help: type an ordinary space
---
v = （x）
=>
f.ad:1:5: error: '（' (U+FF08 FULLWIDTH LEFT PARENTHESIS) does not belong here
    v = （x）
        ^
help: write v = (x)
---
v = 5 % 3
=>
f.ad:1:7: error: '%' does not belong here
    v = 5 % 3
          ^
help: write 5 - 3 * floor(5 / 3)
---
v = x ≤ 2 ? 1 : 2
=>
f.ad:1:7: error: '≤' (U+2264 LESS-THAN OR EQUAL TO) does not belong here
    v = x ≤ 2 ? 1 : 2
          ^
help: type <=
---
v = x\0
=>
f.ad:1:6: error: the invisible character U+0000 does not belong here
    v = x�
         ^
help: remove it
---
def f(a) ⇒ (u) { u = a }
=>
f.ad:1:10: error: '⇒' (U+21D2 RIGHTWARDS DOUBLE ARROW) does not belong here
    def f(a) ⇒ (u) { u = a }
             ^
help: type ->
---
v = 2 · x
=>
f.ad:1:7: error: '·' (U+00B7 MIDDLE DOT) does not belong here
    v = 2 · x
          ^
help: type *
"""


def said(text: str) -> str:
    with pytest.raises(AdError) as caught:
        parse(text, "f.ad")
    return str(caught.value)


@pytest.mark.parametrize("case", CASES.split("---\n"), ids=lambda case: case.splitlines()[0].replace("\0", "NUL"))
def test_diagnostic(case: str) -> None:
    text, expected = case.split("\n=>\n")
    assert said(text) == said(f"{text}\n") == expected.rstrip("\n")


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


@pytest.mark.parametrize("text", [
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
