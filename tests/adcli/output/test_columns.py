"""Columns are as wide as what stands in them, and lines end where their text does."""
from adcli.output.wrap import aligned, commented


def test_words_stand_on_the_left_and_numbers_on_the_right():
    assert aligned([("method", "count", ""), ("complex step", "7", "ok"), ("x", "1,000", "")], "<><") == [
        "method        count",
        "complex step      7  ok",
        "x             1,000"]
    assert aligned([], "<>") == []


def test_comments_begin_in_one_column():
    assert commented(["v = 1.0", "dv_dx = 2.0"], ["exact", ""]) == ["v = 1.0       # exact", "dv_dx = 2.0"]
    assert commented([], []) == []
