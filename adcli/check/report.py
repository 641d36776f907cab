"""Results of `check`, as a table with a verdict, as JSON, and Taylor remainders as a picture."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adcli.answers.diagnose import described, letter
from adcli.check.methods import directions
from adcli.check.subject import Blame
from adcli.lang.ir.errors import AdError, diagnostic, missing, plural
from adcli.output.numbers import json_text, non_finite, shortest
from adcli.output.wrap import few, fitted, table

if TYPE_CHECKING:
    from adcli.check.points import Check
    from adcli.check.subject import Compared, Tally
    from adcli.lang.verify.culprits import Culprit
    from adcli.pictures.picture import Panel, Picture

HEADINGS = ("method", "compared", "worst", "allowed", "verdict", "")
SIDES = "<>>><<"
PREFERRED = ("multiple", "differences", "forward", "native", "single", "Taylor", "against")
"""Methods by how much they say about the entry that is wrong: first words."""
MOST_FINDINGS = 5
"""Findings and entries that are listed."""


def text_report(check: Check, points: dict[str, Any], columns: int | None = None) -> str:
    """The table, what was not compared, the worst entry where there is a fault, and the verdict; in so many columns."""
    lines = [*heading(check, points), "", *table([HEADINGS, *map(row, check.tallies)], SIDES, columns)]
    if skipped := not_compared(check):
        lines += ["", "not compared:"] + [f"  {n:6d}  {reason}" for reason, n in skipped.items()]
    if check.failed:
        lines += ["", *fault_lines(check)]
    return fitted("\n".join([*lines, "", verdict(check), ""]), columns)


def html_report(check: Check, points: dict[str, Any]) -> str:
    """Report for notebooks."""
    from adcli.output import html
    parts = [*map(html.paragraph, heading(check, points)),
             html.table("Methods", [*HEADINGS[:-1], "remarks"], [[*map(row, check.tallies)]], SIDES)]
    if skipped := not_compared(check):
        parts.append(html.table("Not compared", ("reason", "times"), [[(reason, str(n)) for reason, n in skipped.items()]], "<>"))
    if check.failed:
        parts.append(html.preformatted("\n".join(fault_lines(check))))
    return "".join([*parts, html.emphasized(verdict(check))])


def not_compared(check: Check) -> Counter[str]:
    """Counts of entries not compared, by method and reason."""
    skipped: Counter[str] = Counter()
    for t in check.tallies:
        skipped.update({f"{t.method}: {reason}": n for reason, n in t.skipped.items()})
    return skipped


def heading(check: Check, points: dict[str, Any]) -> list[str]:
    """Number of points, and entries."""
    if points["how"] == "drawn":
        lines = [f"points: {points['usable']} drawn (seed {points['seed']})"]
        if points["unusable"]:
            lines[0] += f", and {points['unusable']} more with values that are not finite"
    else:
        lines = [f"points: {points['usable']} given"]
        if points["unusable"]:
            lines[0] += f", and {points['unusable']} where an input or every value is not finite"
    if check.looked_at < points["usable"]:
        lines[0] += f"; checked {check.looked_at:,} (time limit)"
    return [*lines, f"entries: {check.coverage()}"]


def row(t: Tally) -> tuple[str, ...]:
    """The cells of a method; of one that compared nothing, why."""
    if not t.compared:
        return t.method, "", "", "", "–", t.note or "nothing to compare"
    remarks = [r for r in (slope_text(t), digits_text(t), t.note, t.findings and plural(len(t.findings), "finding")) if r]
    if t.worst is None:
        return t.method, str(t.compared), "", "", t.verdict, ", ".join(remarks)
    w = t.worst
    worst, allowed = relative(w)
    if t.method.startswith("Taylor"):
        worst = allowed = ""
    return t.method, str(t.compared), worst, allowed, t.verdict, ", ".join(remarks)


def slope_text(t: Tally) -> str:
    if not t.method.startswith("Taylor"):
        return ""
    return "nothing remains" if t.slope is None else f"slope {t.slope:.2f}"


def digits_text(t: Tally) -> str:
    return "" if t.digits is None else f"{math.floor(t.digits * 10) / 10:.1f} right digits at least"


def relative(w: Compared) -> tuple[str, str]:
    """The worst difference and what is allowed, relative to the entry."""
    return f"{w.relative(abs(w.got - w.expected)):.1e}", f"{w.relative(w.allowed):.1e}"


def verdict(check: Check) -> str:
    """The last line: ok, FAIL or nothing compared, with the counts."""
    compared, failed = sum(t.compared for t in check.tallies), sum(t.failed for t in check.tallies)
    if failed:
        methods = sum(t.failed > 0 for t in check.tallies)
        return f"FAIL: {failed} of {plural(compared, 'comparison')} failed, in {methods} of {len(check.tallies)} methods"
    if not compared:
        return "nothing compared: no method applies at any of these points"
    if (method := check.unanswered) is not None:
        return f"nothing compared: no entry of {method.method.removeprefix('against ')} can be told at these points"
    return f"ok: {plural(compared, 'comparison')}, no disagreement"


# ---------------------------------------------------------------- the fault

def worst(check: Check) -> Tally:
    """The method whose worst entry is shown."""
    failed = [t for t in check.tallies if t.failed]
    return min(failed, key=lambda t: PREFERRED.index(t.method.split()[0]))


def fault_of(check: Check, t: Tally) -> Blame | None:
    """Source of the worst entry of a method; None without an explanation."""
    assert t.worst is not None
    if foreign(check, t):
        assert check.against is not None
        return check.against.explanation(t.worst)
    found = check.culprit(t.worst.at)
    return blame(found) if found else None


def fault_lines(check: Check) -> list[str]:
    """The worst entry, and the operation it comes from."""
    t = worst(check)
    lines, w, theirs = finding_lines(t), t.worst, foreign(check, t)
    if w is None or w.ratio <= 1:
        return lines
    lines += [f"worst: {w.name}{f' at {place(w.at)}' if w.at else ''}",
              f"  got {shortest(w.got)}, expected {shortest(w.expected)} ± {w.allowed:.1e} ({t.method})"]
    found = fault_of(check, t)
    if theirs:
        lines += foreign_lines(check, w, found)
    if found is None and theirs:
        return lines
    said = diagnostic("error", found.message, found.span, found.span and check.primal.source) if found else elsewhere(check)
    return [*lines, "", said]


def place(at: dict[str, float]) -> str:
    """A point in a message."""
    return few((f"{n} = {shortest(x)}" for n, x in at.items()), 8)


def finding_lines(t: Tally) -> list[str]:
    """Findings without numbers, each once, with its first point."""
    lines, met = [], Counter(f.message for f in t.findings)
    for f in {f.message: f for f in reversed(t.findings)}.values():
        more = f", and at {plural(met[f.message] - 1, 'other point')}" if met[f.message] > 1 else ""
        lines.append(diagnostic("error", f"{t.method.removeprefix('against ')} {f.message}"
                                f"{f', at {place(f.at)}' if f.at else ''}{more}", None, None))
    return lines[::-1][:MOST_FINDINGS]


def foreign(check: Check, t: Tally) -> bool:
    """Test for the method that compares with somebody else's derivatives."""
    return check.against is not None and t is check.against.tally


def foreign_lines(check: Check, w: Compared, found: Blame | None) -> list[str]:
    """Error on their side: its size, and its other places."""
    against = check.against
    assert against is not None
    lines, wrong = [], against.wrong()
    if 1 < w.ratio < math.inf:
        lines.append(f"  {w.ratio:.2g} times what rounding allows")
    if against.points > 1:
        entries = (f"{name} at {n} of {plural(looked_at, 'point')}" for name, n, looked_at in wrong)
        lines.append(f"wrong: {few(entries, MOST_FINDINGS)}")
    elif found is None:
        lines.append("note: at more points than one, check looks for the part of the formula that it comes from")
    return lines


def blame(found: Culprit) -> Blame:
    """Message about a wrong rule, with the place of its operation."""
    shown, e = ", ".join(f"{letter(i)} = {shortest(x)}" for i, x in enumerate(found.operands)), found.equation
    which = f" for {letter(found.position)}" if len(found.operands) > 1 else ""
    return Blame(f"the rule of {described(e, '')}{which} gives {shortest(found.got)} at {shown};"
                 f" differences of the operation give {shortest(found.expected)}", e.span, e.op.spelled or e.op.name)


def elsewhere(check: Check) -> str:
    """Where the fault must be if no rule is wrong."""
    failed = {t.method for t in check.tallies if t.failed}
    if check.too_large:
        return "at smaller points check looks at every operation, and names the one that is wrong: leave out the point"
    if failed == {"native against reference"}:
        return "the reference evaluator agrees with every other method: the fault is in native code"
    if all(method.startswith("single precision") for method in failed):
        return "all methods agree in doubles: the fault is in native code of single precision"
    if "forward against reverse" in failed:
        return "no wrong rule found, but the modes differ: the fault is in a sweep"
    return "no wrong rule found"


# ---------------------------------------------------------------- JSON

Written = Callable[[float], object]
"""Form of a number in a record: as JSON has it, or as it is."""


def number(x: float) -> object:
    """A number as it is; the slope that is expected is a whole one."""
    return x if math.isfinite(x) else non_finite(x)


def entry(t: Tally, number: Written) -> dict[str, Any]:
    """The worst of a method."""
    assert t.worst is not None
    w = t.worst
    return {"entry": w.name, "at": {n: number(x) for n, x in w.at.items()}, "got": number(w.got),
            "expected": number(w.expected), "allowed": number(w.allowed)}


def json_report(check: Check, points: dict[str, Any]) -> str:
    """Everything as one JSON object."""
    return json_text(record(check, points, number)) + "\n"


def record(check: Check, points: dict[str, Any], number: Written) -> dict[str, Any]:
    """The figures of all methods, the fault, and the verdict."""
    source = check.primal.source
    return {
        "program": source.name if source else None,
        "points": {**points, "looked_at": check.looked_at},
        "entries": {"first": len(check.entries(1)), "second": len(check.entries(2)), "all": check.whole},
        "methods": [{"method": t.method, "verdict": t.verdict, "compared": t.compared, "failed": t.failed,
                     "worst": entry(t, number) if t.worst else None, "digits": t.digits, "slope": t.slope,
                     "skipped": dict(t.skipped), "note": t.note,
                     **({"findings": [{"message": f.message, "at": {n: number(x) for n, x in f.at.items()}} for f in t.findings]}
                        if foreign(check, t) else {})} for t in check.tallies],
        "fault": fault_record(check, number) if check.failed else None,
        "verdict": verdict(check).split(":")[0],
    }


def fault_record(check: Check, number: Written) -> dict[str, Any]:
    """The worst entry with the operation that it comes from, as JSON has it."""
    t, source = worst(check), check.primal.source
    if t.findings:
        first = t.findings[0]
        found: Blame | None = Blame(first.message)
        what = {"entry": None, "at": {n: number(x) for n, x in first.at.items()}, "got": None, "expected": None, "allowed": None}
    else:
        found, what = fault_of(check, t), entry(t, number)
    found = found or Blame("no part of the formula explains it" if foreign(check, t) else elsewhere(check))
    line, column = source.where(found.span)[1:] if source and found.span else (None, None)
    return {"method": t.method, **what, "message": found.message, "operation": found.operation, "line": line, "column": column}


# ---------------------------------------------------------------- a picture

STEPS = tuple(10.0 ** (-k / 2) for k in range(16, -1, -1))
"""Steps along the direction, in parts of the scale of each input. On logarithmic axes a remainder of order k is a line of slope
k + 1."""
MOST_OUTPUTS = 3
LONG = 2000
"""Equations from which on the second derivatives are left out."""
ORDERS = ("value", "gradient", "Hessian")


def picture(check: Check) -> Picture:
    """The remainders at the first point where the program is smooth, along a random direction, in multiple precision."""
    if find_spec("flint") is None:
        raise missing("the picture of remainders", "python-flint")
    if not check.subjects:
        raise AdError("⟦--plot⟧ draws remainders in multiple precision, for which this point is too large",
                      help="give smaller tensors; without ⟦--at⟧, small ones are drawn")
    subject = check.subjects[0]
    outputs = [r.name for r in subject.primal.results]
    if len(outputs) > MOST_OUTPUTS:
        raise AdError(f"⟦--plot⟧ draws up to {MOST_OUTPUTS} outputs, and there are {len(outputs)}",
                      help=f"choose: ⟦--of {','.join(outputs[:MOST_OUTPUTS])}⟧")
    seen = next((s for s in subject.seen if not s.level), None)
    if seen is None:
        raise AdError("⟦--plot⟧ needs a point where the program is smooth", help="give another point")
    from adcli.lang.verify.differences import sizes
    from adcli.pictures.picture import Picture, PictureTable
    once = subject.tangents
    derivatives = (subject.tangents_twice if len(once.equations) <= LONG else None) or once
    direction = {x: part * subject.length(seen, x, local=False) for x, part in directions(subject).items()}
    found = sizes(subject.primal, derivatives, seen.at, direction, STEPS)
    panels = tuple(panel(name, list(zip(*rows, strict=True))) for name, rows in found.items())
    title = f"at {few(f'{n} = {x:.6g}' for n, x in seen.at.items())}"
    names = ("h", *(f"{name}_{order}" for name, rows in found.items() for order in range(len(rows[0]))))
    rows = tuple((h, *(x for each in found.values() for x in each[k])) for k, h in enumerate(STEPS))
    return Picture(title, "step h", panels, table=PictureTable(names, rows), log_x=True)


def panel(name: str, rests: Sequence[Sequence[float]]) -> Panel:
    """The remainders of one output; one that vanishes is in no logarithm."""
    from adcli.pictures.picture import Curve, Panel
    return Panel(f"remainder of {name}", tuple(
        Curve(f"after the {order}: slope {k + 1}", STEPS, tuple(x if x > 0 else math.nan for x in rest), number=k)
        for k, (order, rest) in enumerate(zip(ORDERS, rests, strict=False))), log=True)
