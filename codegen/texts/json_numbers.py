"""The automaton of numbers in JSON, which native code runs: states, and their successors by character."""
from __future__ import annotations

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
