"""Watches results go by: what is said of them on standard error, and whether --strict would fail."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from adcli.codegen.machine.small import shape_of, unpacked
from adcli.input.nested import arrays_of, element
from adcli.input.settings import Options
from adcli.lang.ir.errors import Note
from adcli.output.layout import Row
from adcli.output.streams import say
from adcli.task.tasks import Task

ROUGH = "results are not smooth"
REMARKS = "remarks of this kind"


class Reporter:
    """A note for each result that is not smooth, one for each tensor with elements that are not finite, and what else a verb
    has to remark; `MOST` of each kind, and then how many more there are.

    Nothing is said with --quiet. Where the results say themselves what they are, as in JSON, there are no notes on them. `heard`
    gets what would be said on standard error.
    """

    MOST = 20

    def __init__(self, task: Task, options: Options, jobs: int | None = None,
                 heard: Callable[[object], object] | None = None) -> None:
        self.task, self.jobs, self.heard = task, jobs, heard
        self.loud, self.noting, self.strict = not options.quiet, options.form != "json", options.strict
        self.failed = False
        self.counts: Counter[str] = Counter()
        self.beyond: set[str] = set()

    def say(self, remark: object) -> None:
        if self.loud:
            (self.heard or say)(remark)

    def begin(self) -> None:
        """Report the notes on the program itself."""
        for note in self.task.signature.notes:
            self.say(note)

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows as they are, each looked at when it has been written."""
        tensors = self.task.signature.tensors
        kind = f"{ROUGH} or not finite" if tensors else ROUGH
        names = [c.name for c in self.task.signature.results]
        for row in rows:
            yield row
            if row.level:
                self.failed = True
                self.rough(row, kind)
            if not tensors:
                finite = all(map(math.isfinite, row.results))
                self.failed |= not finite
                if self.strict and not finite and not row.level:
                    self.rough(row, f"{ROUGH} or not finite")
                continue
            for note in not_finite(names, row.results):
                self.failed = True
                self.note(kind, note.__str__)

    def over_block(self, at: Mapping[str, Any], results: Sequence[Any], levels: Any) -> None:
        """Report on many points of scalars, a column for each input and each result."""
        import numpy as np
        self.failed |= bool(levels.any()) or not all(np.isfinite(r).all() for r in results)
        for i in np.flatnonzero(levels).tolist():
            if self.noting and self.counts[ROUGH] >= self.MOST:
                self.counts[ROUGH] += int(np.count_nonzero(levels[i:]))
                return
            self.rough(Row({n: float(c[i]) for n, c in at.items()}, [float(r[i]) for r in results], int(levels[i])))

    def outside(self, found: Mapping[str, float]) -> None:
        """Say once of each input that it leaves the range it was declared with, of which a value was `found`."""
        from adcli.input.points import out_of_range
        for p in self.task.free:
            if p.name in found and p.name not in self.beyond:
                self.beyond.add(p.name)
                self.say(out_of_range(p, found[p.name], self.task.signature.source))

    def outside_block(self, at: Mapping[str, Any]) -> None:
        """Report values outside declared ranges, a column for each input."""
        from adcli.input.points import first_outside
        for p in self.task.free:
            if p.low is not None and p.high is not None and p.name not in self.beyond:
                x = first_outside(at[p.name], p.low, p.high)
                self.outside({} if x is None else {p.name: x})

    def rough(self, row: Row, kind: str = ROUGH) -> None:
        """The note on a result that is not smooth."""
        self.note(kind, lambda: self.explained(row))

    def explained(self, row: Row) -> Note | str:
        """Explanation of a rough result: the operation, or the first value that is not finite though nothing was rough on its
        way."""
        from adcli.answers.diagnose import note
        if row.level:
            return note(self.task, row._replace(at=arrays_of(row.at)), self.jobs)
        return next(not_finite([c.name for c in self.task.signature.results], row.results))

    def note(self, kind: str, made: Callable[[], Any]) -> None:
        """A note on a result, made only where it is said."""
        if self.noting:
            self.remark(kind, made)

    def remark(self, kind: str, made: Callable[[], Any]) -> None:
        self.counts[kind] += 1
        if self.loud and self.counts[kind] <= self.MOST:
            self.say(made())

    def conclude(self) -> int:
        """Say how much was not said; returns the exit code."""
        for kind, count in self.counts.items():
            if count > self.MOST:
                self.say(f"note: {count - self.MOST} more {kind}")
        return 4 if self.strict and self.failed else 0


def not_finite(names: Sequence[str], values: Sequence[Any]) -> Iterator[str]:
    """A note for each result with elements that are not finite."""
    for name, x in zip(names, values, strict=True):
        if isinstance(x, memoryview | float | int):
            elements = unpacked(x) if isinstance(x, memoryview) else [x]
            wrong = [i for i, e in enumerate(elements) if not math.isfinite(e)]
        else:
            import numpy as np
            elements = x.reshape(-1)
            wrong = np.flatnonzero(~np.isfinite(elements)).tolist()
        if wrong:
            several = f": {len(wrong):,} of {len(elements):,} elements are not finite" if shape_of(x) else " is not finite"
            yield f"note: {element(name, wrong[0], shape_of(x))} = {float(elements[wrong[0]])!r}{several}"
