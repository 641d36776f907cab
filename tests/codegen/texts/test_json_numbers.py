"""The automaton of JSON's numbers against Python's reader of JSON."""
import json
from itertools import product

from adcli.codegen.texts.writing import AFTER, BAD, CLASSES, WHOLE


def accepted(word: str) -> bool:
    state = 0
    for character in word:
        state = AFTER[state][CLASSES.get(character, 0)]
    return bool(WHOLE >> state & 1)


def is_number(word: str) -> bool:
    try:
        return word == word.strip() and type(json.loads(word)) in (int, float)
    except ValueError:
        return False


def test_all_words_of_six_characters() -> None:
    words = ["".join(w) for size in range(7) for w in product("-+01.e", repeat=size)]
    assert [w for w in words if accepted(w) != is_number(w)] == []
    assert not any(accepted(f"1{c}5") for c in map(chr, range(256)) if c not in "0123456789.eE")
    assert set(AFTER[BAD]) == {BAD}
