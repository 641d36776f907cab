"""Times of bench."""
from __future__ import annotations

from adcli.verbs.bench import best, timed


def test_work_is_done_once_where_it_is_timed_and_three_times_where_the_best_is_asked_for():
    calls: list[int] = []
    made, seconds = timed(lambda: calls.append(1) or "made")
    assert (made, len(calls)) == ("made", 1) and seconds >= 0
    assert best(lambda: calls.append(1), 0.0) >= 0 and len(calls) == 4
