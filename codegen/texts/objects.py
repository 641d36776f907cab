"""Lines of JSON objects that are alike, to columns of doubles.

Programs write objects by one template: the same names in the same order, the same blanks. So a line is what stands between its
values, character by character the same in all, and the values: numbers that are wanted, and numbers, words and strings without a
backslash that are not. A text with any other line is handed back as a whole.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from adcli.codegen.machine.kernel import EntryPoint, Kernel
from adcli.codegen.rows.compiled import same_for_all
from adcli.codegen.texts.reading import ARGUMENTS, ENDS, NUMBER, ODD, ScannedRows, addresses, small_powers
from adcli.codegen.texts.shortest import table
from adcli.codegen.texts.writing import BAD, automaton, following_lines, whole_lines

MEMBER = 3
"""Words for a member: the address of its numbers (0 where they are not wanted), and the address and the size of the piece of text
in front of its value."""


def scanned_objects(kernel: Kernel, text: bytes, pieces: Sequence[bytes], numbers: Sequence[int]) -> ScannedRows | None:
    """The rows of a text of JSON objects, which have these pieces of text around their values; of some members the `numbers` are
    wanted. The kernel is that of `object_reader`. None where a line is not ended or not so."""
    if not text.endswith(b"\n"):
        return None
    rows, members = text.count(b"\n"), len(pieces) - 1
    columns = {member: np.empty(rows) for member in numbers}
    held = [np.frombuffer(piece, np.uint8) for piece in pieces]
    into = [columns[i].ctypes.data if i in columns else 0 for i in range(members + 1)]
    plan = np.array([[column, piece.ctypes.data, len(piece)] for column, piece in zip(into, held, strict=True)])
    places, odd = np.empty((rows, 2), np.int64), np.empty((rows * len(columns), ODD), np.int64)
    data, given, counts = np.frombuffer(text, np.uint8), np.array([members]), np.zeros(2, np.int64)
    kernel(addresses(data, plan, given), addresses(places, odd, counts), 0, len(text))
    found, strange = counts.tolist()
    return ScannedRows(places, columns, odd[:strange], {}) if found == rows else None


@cache
def object_reader(keep: bool = True) -> Kernel:
    """The code that `scanned_objects` runs. `keep`: it may come from the compile cache and go there. NoExecutableMemory where the
    system runs no code of ours."""
    return same_for_all("doubles of objects", EntryPoint("scan_objects", 1, 0, 3, 3, ()), text, keep)


# ---------------------------------------------------------------- as LLVM IR

def text() -> str:
    """The code as an LLVM module, with the entry that `adcli.codegen.rows.llvm` describes, as `reading.text` has it."""
    return table() + small_powers() + automaton() + NUMBER + VALUES + SCAN_OBJECTS


VALUES = f"""
; Behind a number of JSON, which is as long as it can be; null where there is none.
define private ptr @behind_number(ptr %at) {{
entry:
  br label %next
next:
  %p = phi ptr [ %at, %entry ], [ %p.next, %take ]
  %state = phi i8 [ 0, %entry ], [ %after, %take ]
  %c = load i8, ptr %p
{following_lines("%after", "%state", "%c")}
  %over = icmp eq i8 %after, {BAD}
  br i1 %over, label %end, label %take
take:
  %p.next = getelementptr i8, ptr %p, i64 1
  br label %next
end:
{whole_lines("%number", "%state")}
  %found = select i1 %number, ptr %p, ptr null
  ret ptr %found
}}

; Behind a value that is no object and no array; null where there is none, or a string with a backslash.
define private ptr @behind_value(ptr %at) {{
entry:
  %first = load i8, ptr %at
  switch i8 %first, label %number [ i8 34, label %string  i8 116, label %four  i8 110, label %four  i8 102, label %false ]
number:
  %number.end = call ptr @behind_number(ptr %at)
  ret ptr %number.end
string:
  %s = phi ptr [ %at, %entry ], [ %s.next, %letter ]
  %s.next = getelementptr i8, ptr %s, i64 1
  %c = load i8, ptr %s.next
  %quote = icmp eq i8 %c, 34
  br i1 %quote, label %closed, label %letter
letter:
  %slash = icmp eq i8 %c, 92
  %control = icmp ult i8 %c, 32
  %odd = or i1 %slash, %control
  br i1 %odd, label %none, label %string
closed:
  %string.end = getelementptr i8, ptr %s.next, i64 1
  ret ptr %string.end
four:
  %true = call ptr @same(ptr %at, ptr @true, i64 4)
  %null = call ptr @same(ptr %at, ptr @null, i64 4)
  %is.true = icmp ne ptr %true, null
  %four.end = select i1 %is.true, ptr %true, ptr %null
  ret ptr %four.end
false:
  %false.end = call ptr @same(ptr %at, ptr @false, i64 5)
  ret ptr %false.end
none:
  ret ptr null
}}

; Behind a piece of text that stands at a place; null where another one does.
define private ptr @same(ptr %at, ptr %piece, i64 %size) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %character ]
  %p = getelementptr i8, ptr %at, i64 %i
  %over = icmp eq i64 %i, %size
  br i1 %over, label %yes, label %character
character:
  %q = getelementptr i8, ptr %piece, i64 %i
  %here = load i8, ptr %p
  %there = load i8, ptr %q
  %i.next = add i64 %i, 1
  %equal = icmp eq i8 %here, %there
  br i1 %equal, label %next, label %no
yes:
  ret ptr %p
no:
  ret ptr null
}}

@true = private unnamed_addr constant [4 x i8] c"true"
@null = private unnamed_addr constant [4 x i8] c"null"
@false = private unnamed_addr constant [5 x i8] c"false"
"""


SCAN_OBJECTS = f"""
define void @scan_objects(ptr %in, ptr %out, i64 %begin, i64 %end, ptr %work) {{
entry:
{ARGUMENTS}  %members = load i64, ptr %given
  br label %row

row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %row.at = phi ptr [ %text, %entry ], [ %row.next, %row.end ]
  %strange.row = phi i64 [ 0, %entry ], [ %strange, %row.end ]
  %more = icmp ult ptr %row.at, %text.end
  br i1 %more, label %piece, label %exit

piece:
  %j = phi i64 [ 0, %row ], [ %j.next, %behind ]
  %at = phi ptr [ %row.at, %row ], [ %value.end, %behind ]
  %strange = phi i64 [ %strange.row, %row ], [ %strange.next, %behind ]
  %member.at = getelementptr [{MEMBER} x i64], ptr %plan, i64 %j
  %piece.at = getelementptr i64, ptr %member.at, i64 1
  %size.at = getelementptr i64, ptr %member.at, i64 2
  %column = load ptr, ptr %member.at
  %piece.text = load ptr, ptr %piece.at
  %piece.size = load i64, ptr %size.at
  %value.at = call ptr @same(ptr %at, ptr %piece.text, i64 %piece.size)
  %another = icmp eq ptr %value.at, null
  br i1 %another, label %irregular, label %value

value:
  %last = icmp eq i64 %j, %members
  br i1 %last, label %line, label %member
member:
  %wanted = icmp ne ptr %column, null
  br i1 %wanted, label %number, label %other
other:
  %other.end = call ptr @behind_value(ptr %value.at)
  br label %behind
number:
  %number.end = call ptr @behind_number(ptr %value.at)
  %number.none = icmp eq ptr %number.end, null
  br i1 %number.none, label %irregular, label %parse
parse:
  %parsed = call {{ double, ptr }} @number(ptr %value.at, i8 46)
  %x = extractvalue {{ double, ptr }} %parsed, 0
  %x.end = extractvalue {{ double, ptr }} %parsed, 1
  %x.at = getelementptr double, ptr %column, i64 %i
  store double %x, ptr %x.at
  %x.odd = icmp eq ptr %x.end, null
  br i1 %x.odd, label %note, label %behind
note:
  %o.at = getelementptr [{ODD} x i64], ptr %odd, i64 %strange
  %o.member = getelementptr i64, ptr %o.at, i64 1
  %o.begin = getelementptr i64, ptr %o.at, i64 2
  %o.last = getelementptr i64, ptr %o.at, i64 3
  %begin.long = ptrtoint ptr %value.at to i64
  %end.long = ptrtoint ptr %number.end to i64
  %begin.place = sub i64 %begin.long, %text.begin
  %end.place = sub i64 %end.long, %text.begin
  store i64 %i, ptr %o.at
  store i64 %j, ptr %o.member
  store i64 %begin.place, ptr %o.begin
  store i64 %end.place, ptr %o.last
  br label %behind

behind:
  %value.end = phi ptr [ %other.end, %other ], [ %number.end, %parse ], [ %number.end, %note ]
  %is.odd = phi i64 [ 0, %other ], [ 0, %parse ], [ 1, %note ]
  %strange.next = add i64 %strange, %is.odd
  %j.next = add i64 %j, 1
  %no.value = icmp eq ptr %value.end, null
  br i1 %no.value, label %irregular, label %piece

line:
  %c = load i8, ptr %value.at
  %cr = icmp eq i8 %c, 13
  %return = zext i1 %cr to i64
  %lf.at = getelementptr i8, ptr %value.at, i64 %return
  %lf.c = load i8, ptr %lf.at
  %lf = icmp eq i8 %lf.c, 10
  br i1 %lf, label %row.end, label %irregular

row.end:
  %row.begin = ptrtoint ptr %row.at to i64
  %row.last = ptrtoint ptr %value.at to i64
  %row.place = sub i64 %row.begin, %text.begin
  %row.stop = sub i64 %row.last, %text.begin
  %p.at = getelementptr [2 x i64], ptr %places, i64 %i
  %p.end = getelementptr i64, ptr %p.at, i64 1
  store i64 %row.place, ptr %p.at
  store i64 %row.stop, ptr %p.end
  %i.next = add i64 %i, 1
  %row.next = getelementptr i8, ptr %lf.at, i64 1
  br label %row

{ENDS}}}
"""
