"""Rows of doubles, as their shortest decimal texts, between pieces of text.

A row is a list of steps, each of which appends something to it: a number, a word, a piece of text that is there already, or a
field of a table as JSON has it.

The automaton of numbers in JSON, which native code runs: states, and their successors by character.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from adcli.codegen.machine.kernel import EntryPoint, Kernel, NoExecutableMemory, pointers
from adcli.codegen.rows.compiled import same_for_all
from adcli.codegen.texts.shortest import NAME, spelled

# ---------------------------------------------------------------- numbers of JSON

CLASSES = {"-": 1, "+": 2, "0": 3, **dict.fromkeys("123456789", 4), ".": 5, "e": 6, "E": 6}
"""Characters of a number in JSON by what they do in it; any other is of class 0."""
AFTER = [   # where there comes another character, - + 0 1 . e
    (9, 1, 9, 2, 3, 9, 9),   # 0: nothing yet
    (9, 9, 9, 2, 3, 9, 9),   # 1: a sign
    (9, 9, 9, 9, 9, 4, 6),   # 2: 0
    (9, 9, 9, 3, 3, 4, 6),   # 3: digits
    (9, 9, 9, 5, 5, 9, 9),   # 4: a point
    (9, 9, 9, 5, 5, 9, 6),   # 5: digits behind it
    (9, 7, 7, 8, 8, 9, 9),   # 6: e
    (9, 9, 9, 8, 8, 9, 9),   # 7: its sign
    (9, 9, 9, 8, 8, 9, 9),   # 8: its digits
    (9,) * 7]                # 9: no number
"""Successors of states, by the class of the next character (RFC 8259, section 6)."""
BAD = 9
"""The state from which there is no number any more."""
WHOLE = sum(1 << state for state in (2, 3, 5, 8))
"""The states in which a number is whole."""


def automaton() -> str:
    """The automaton as constants of a module."""
    classes = ", ".join(f"i8 {CLASSES.get(chr(i), 0)}" for i in range(256))
    after = ", ".join(f"i8 {state}" for row in AFTER for state in (*row, 9))
    return f"@classes = private unnamed_addr constant [256 x i8] [{classes}]\n" \
        f"@after = private unnamed_addr constant [{8 * len(AFTER)} x i8] [{after}]\n"


def following_lines(name: str, state: str, c: str) -> str:
    """The state that follows one where a character comes, as a value of native code."""
    return f"""\
  {name}.place = zext i8 {c} to i64
  {name}.class.at = getelementptr i8, ptr @classes, i64 {name}.place
  {name}.class = load i8, ptr {name}.class.at
  {name}.row = shl i8 {state}, 3
  {name}.entry = or i8 {name}.row, {name}.class
  {name}.long = zext i8 {name}.entry to i64
  {name}.at = getelementptr i8, ptr @after, i64 {name}.long
  {name} = load i8, ptr {name}.at"""


def whole_lines(name: str, state: str) -> str:
    """The test that a number is complete in a state, in native code."""
    return f"""\
  {name}.state = zext i8 {state} to i64
  {name}.bit = lshr i64 {WHOLE}, {name}.state
  {name} = trunc i64 {name}.bit to i1"""


ROOM = 40
"""Bytes that a number may touch; its text has up to 24, as -2.2250738585072014e-308."""
LITERAL, NUMBER, WORD, SLICE, VALUE = range(5)
"""The text that a step appends."""
STEP = 3
"""Words of a step: what it appends, and two addresses or sizes."""


class NumberSpelling(NamedTuple):
    """How numbers are written: the decimal mark, and the texts for NaN, infinity and -infinity, of up to NAME bytes; and which
    decimal mark those have that stand in fields."""

    point: bytes = b"."
    names: tuple[bytes, bytes, bytes] = (b"nan", b"inf", b"-inf")
    mark: bytes = b"."


class WordColumn(NamedTuple):
    """A column of words: for each row the number of its word, as a double."""

    numbers: np.ndarray
    words: Sequence[bytes]


class TextColumn(NamedTuple):
    """A column of texts that stand in one text: for each row the begin and the end, as 64-bit integers."""

    text: bytes
    places: np.ndarray


class FieldColumn(NamedTuple):
    """A column of fields of a table, which stand in one text, with their quotes; they are written as values of JSON: numbers as
    they are, but with a point, anything else as a string. No control character may be in them."""

    text: bytes
    places: np.ndarray


Column = np.ndarray | WordColumn | TextColumn | FieldColumn
"""A cell of each row: a number (contiguous, float64), a word, a text or a field."""


class Step(NamedTuple):
    """A step: its text, its memory, the size that may follow, and the most bytes it makes of all rows."""

    kind: int
    held: tuple[np.ndarray, ...]
    size: int
    most: int


def filled(kernel: Kernel, rows: int, pieces: Sequence[bytes | Column], spelling: NumberSpelling) -> bytes:
    """The text of rows, each of which has the pieces and the columns in this order; the kernel is that of `writer`."""
    steps = [step(piece, rows) for piece in pieces]
    plan = np.zeros((len(steps), STEP), np.int64)
    for s, words in zip(steps, plan, strict=True):
        words[:] = [s.kind, *(array.ctypes.data for array in s.held[:2]), *[s.size] * (len(s.held) < 2)]
    names = np.frombuffer(b"".join(n.ljust(NAME, b"\0") + bytes([len(n)]) for n in spelling.names), np.uint8)
    given = np.array([len(steps), ord(spelling.point), ord(spelling.mark)])
    made, size = np.empty(sum(s.most for s in steps) + ROOM, np.uint8), np.zeros(1, np.int64)
    kernel(pointers([a.ctypes.data for a in (plan, given, names)]), pointers([a.ctypes.data for a in (made, size)]), 0, rows)
    return made[:size[0]].tobytes()


def step(piece: bytes | Column, rows: int) -> Step:
    """The code for a piece of each row."""
    if isinstance(piece, bytes):
        return Step(LITERAL, (np.frombuffer(piece, np.uint8),), len(piece), rows * len(piece))
    if isinstance(piece, WordColumn):
        texts = [np.frombuffer(word, np.uint8) for word in piece.words]
        places = np.array([[t.ctypes.data, len(t)] for t in texts])
        return Step(WORD, (piece.numbers, places, *texts), 0, rows * max(map(len, texts)))
    if isinstance(piece, TextColumn | FieldColumn):
        size = int((piece.places[:, 1] - piece.places[:, 0]).sum())
        held = piece.places, np.frombuffer(piece.text, np.uint8)
        return Step(SLICE, held, 0, size) if isinstance(piece, TextColumn) else Step(VALUE, held, 0, 2 * (size + rows))
    return Step(NUMBER, (piece,), 0, rows * ROOM)


@cache
def writer(keep: bool = True) -> Kernel:
    """The code that `filled` runs. `keep`: it may come from the compile cache and go there. NoExecutableMemory where the system
    runs no code of ours, or bytes lie in words the other way round."""
    if sys.byteorder == "big":
        raise NoExecutableMemory

    return same_for_all("texts of doubles", EntryPoint("fill", 1, 0, 3, 2, ()), text, keep)


# ---------------------------------------------------------------- as LLVM IR

def text() -> str:
    """The code as an LLVM module, with the entry that `adcli.codegen.rows.llvm` describes: of the plan, what is given and the
    names it makes the text and its size."""
    return spelled() + automaton() + VALUED + FILL


VALUED = f"""
; A field as a value of JSON at a place; the place behind it.
define private ptr @valued(ptr %at, ptr %from, i64 %size, i8 %mark) {{
entry:
  %first = load i8, ptr %from
  %some = icmp ne i64 %size, 0
  %mark.first = icmp eq i8 %first, 34
  %quoted = and i1 %some, %mark.first
  %off = zext i1 %quoted to i64
  %both = shl i64 %off, 1
  %begin = getelementptr i8, ptr %from, i64 %off
  %inner = sub i64 %size, %both
  %stop = getelementptr i8, ptr %begin, i64 %inner
  br label %look

look:                                                      ; is it a number?
  %p = phi ptr [ %begin, %entry ], [ %p.next, %character ]
  %state = phi i8 [ 0, %entry ], [ %state.next, %character ]
  %over = icmp eq ptr %p, %stop
  br i1 %over, label %seen, label %character

character:
  %c = load i8, ptr %p
  %is.mark = icmp eq i8 %c, %mark
  %is.point = icmp eq i8 %c, 46
  %other = select i1 %is.point, i8 0, i8 %c
  %shown = select i1 %is.mark, i8 46, i8 %other
{following_lines("%state.next", "%state", "%shown")}
  %p.next = getelementptr i8, ptr %p, i64 1
  br label %look

seen:
{whole_lines("%number", "%state")}
  br i1 %number, label %copy, label %string

copy:
  %n = phi ptr [ %begin, %seen ], [ %n.next, %copy ]
  %n.to = phi ptr [ %at, %seen ], [ %n.to.next, %copy ]
  %n.c = load i8, ptr %n
  %n.mark = icmp eq i8 %n.c, %mark
  %n.shown = select i1 %n.mark, i8 46, i8 %n.c
  store i8 %n.shown, ptr %n.to
  %n.next = getelementptr i8, ptr %n, i64 1
  %n.to.next = getelementptr i8, ptr %n.to, i64 1
  %n.over = icmp eq ptr %n.next, %stop
  br i1 %n.over, label %copied, label %copy
copied:
  ret ptr %n.to.next

string:
  store i8 34, ptr %at
  %inside = getelementptr i8, ptr %at, i64 1
  br label %letter

letter:
  %s = phi ptr [ %begin, %string ], [ %s.next, %written ]
  %to = phi ptr [ %inside, %string ], [ %to.next, %written ]
  %s.over = icmp eq ptr %s, %stop
  br i1 %s.over, label %close, label %write

write:
  %s.c = load i8, ptr %s
  %s.quote = icmp eq i8 %s.c, 34
  %s.slash = icmp eq i8 %s.c, 92
  %escape = or i1 %s.quote, %s.slash
  %double = and i1 %s.quote, %quoted                        ; two of them stand for one
  store i8 92, ptr %to                                     ; a backslash, which the character replaces where it needs none
  %escape.size = zext i1 %escape to i64
  %escaped = getelementptr i8, ptr %to, i64 %escape.size
  store i8 %s.c, ptr %escaped
  %double.size = zext i1 %double to i64
  %s.last = getelementptr i8, ptr %s, i64 %double.size
  br label %written
written:
  %to.next = getelementptr i8, ptr %escaped, i64 1
  %s.next = getelementptr i8, ptr %s.last, i64 1
  br label %letter

close:
  store i8 34, ptr %to
  %end = getelementptr i8, ptr %to, i64 1
  ret ptr %end
}}
"""


FILL = f"""
define void @fill(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work) {{
entry:
  %given.slot = getelementptr ptr, ptr %in, i64 1
  %names.slot = getelementptr ptr, ptr %in, i64 2
  %size.slot = getelementptr ptr, ptr %out, i64 1
  %plan = load ptr, ptr %in
  %given = load ptr, ptr %given.slot
  %names = load ptr, ptr %names.slot
  %text = load ptr, ptr %out
  %size.at = load ptr, ptr %size.slot
  %count = load i64, ptr %given
  %point.at = getelementptr i64, ptr %given, i64 1
  %point.long = load i64, ptr %point.at
  %point = trunc i64 %point.long to i8
  %mark.at = getelementptr i64, ptr %given, i64 2
  %mark.long = load i64, ptr %mark.at
  %mark = trunc i64 %mark.long to i8
  br label %row

row:
  %i = phi i64 [ %begin, %entry ], [ %i.next, %row.end ]
  %row.at = phi ptr [ %text, %entry ], [ %at, %row.end ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %step, label %exit

step:
  %j = phi i64 [ 0, %row ], [ %j.next, %appended ]
  %at = phi ptr [ %row.at, %row ], [ %behind, %appended ]
  %some = icmp slt i64 %j, %count
  br i1 %some, label %do, label %row.end

row.end:
  %i.next = add i64 %i, 1
  br label %row

do:
  %step.at = getelementptr [{STEP} x i64], ptr %plan, i64 %j
  %first.at = getelementptr i64, ptr %step.at, i64 1
  %second.at = getelementptr i64, ptr %step.at, i64 2
  %kind = load i64, ptr %step.at
  %first = load ptr, ptr %first.at
  %second = load i64, ptr %second.at
  switch i64 %kind, label %literal [ i64 {NUMBER}, label %number  i64 {WORD}, label %word
                                     i64 {SLICE}, label %slice  i64 {VALUE}, label %slice ]

number:
  %x.at = getelementptr double, ptr %first, i64 %i
  %x = load double, ptr %x.at
  %number.end = call ptr @spelled(ptr %at, double %x, i8 %point, ptr %names)
  br label %appended

literal:
  br label %copy

word:
  %which.at = getelementptr double, ptr %first, i64 %i
  %which = load double, ptr %which.at
  %which.whole = fptosi double %which to i64
  %words = inttoptr i64 %second to ptr
  %word.at = getelementptr [2 x i64], ptr %words, i64 %which.whole
  %word.size.at = getelementptr i64, ptr %word.at, i64 1
  %word.from = load ptr, ptr %word.at
  %word.size = load i64, ptr %word.size.at
  br label %copy

slice:
  %slice.at = getelementptr [2 x i64], ptr %first, i64 %i
  %slice.end.at = getelementptr i64, ptr %slice.at, i64 1
  %slice.begin = load i64, ptr %slice.at
  %slice.end = load i64, ptr %slice.end.at
  %slice.size = sub i64 %slice.end, %slice.begin
  %source = inttoptr i64 %second to ptr
  %slice.from = getelementptr i8, ptr %source, i64 %slice.begin
  %is.value = icmp eq i64 %kind, {VALUE}
  br i1 %is.value, label %value, label %copy

value:
  %value.end = call ptr @valued(ptr %at, ptr %slice.from, i64 %slice.size, i8 %mark)
  br label %appended

copy:
  %from = phi ptr [ %first, %literal ], [ %word.from, %word ], [ %slice.from, %slice ]
  %size = phi i64 [ %second, %literal ], [ %word.size, %word ], [ %slice.size, %slice ]
  call void @llvm.memcpy.p0.p0.i64(ptr %at, ptr %from, i64 %size, i1 false)
  %copied = getelementptr i8, ptr %at, i64 %size
  br label %appended

appended:
  %behind = phi ptr [ %number.end, %number ], [ %value.end, %value ], [ %copied, %copy ]
  %j.next = add i64 %j, 1
  br label %step

exit:
  %text.begin = ptrtoint ptr %text to i64
  %text.end = ptrtoint ptr %row.at to i64
  %written = sub i64 %text.end, %text.begin
  store i64 %written, ptr %size.at
  ret void
}}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
