"""Running a program every way there is: reference and native, forward and reverse, with its status."""
from __future__ import annotations

import math
import pathlib
import struct
import tempfile
from collections.abc import Sequence

from adcli.codegen.machine.kernel import Kernel, run
from adcli.codegen.rows import tiers
from adcli.codegen.rows.compiled import compile_program
from adcli.codegen.rows.expand import for_machine
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import LEVELS, Program
from adcli.lang.passes.status import with_status
from c_programs import run_in_c

MODES = ("forward", "reverse")
BACK_ENDS = ("reference", "native")


def values(program: Program, points: list[dict[str, float]], back_end: str) -> list[dict[str, float]]:
    """The results of a program at points."""
    if back_end == "reference":
        return [evaluate(program, at, FLOAT) for at in points]
    columns: Sequence[Sequence[float]]
    if back_end == "c":
        with tempfile.TemporaryDirectory() as folder:
            found = run_in_c(pathlib.Path(folder), [(program, [[at[p.name] for p in program.params] for at in points])])[0]
        columns = list(zip(*found, strict=True))
    else:
        columns = both_tiers(for_machine(program), [[at[p.name] for at in points] for p in program.params], len(points))
    return [{r.name: c[i] for r, c in zip(program.results, columns, strict=True)} for i in range(len(points))]


def both_tiers(program: Program, columns: Sequence[Sequence[float]], rows: int) -> list[list[float]]:
    """The results of a program's compiled code, which those of its tape equal to the bit."""
    found = run(compile_program(program), columns, rows)
    for r, one, other in zip(program.results, found, run(on_tape(program), columns, rows), strict=True):
        assert list(map(bits, one)) == list(map(bits, other)), f"{r.name}: {one} compiled, {other} from the tape"
    return found


def on_tape(program: Program) -> Kernel:
    """The program on a tape, with which it stays."""
    return tiers.native(program, "tape")


def derivatives(program: Program, points: list[dict[str, float]], mode: str, back_end: str, wrt=None,
                ) -> list[tuple[dict[str, float], str]]:
    """The value, the gradient and the status word at each point."""
    names = [p.name for p in program.params if p.active] if wrt is None else wrt
    whole = with_status(gradient(program, names, None, mode), program, names)
    found = []
    for got in values(whole, points, back_end):
        level = got.pop(whole.results[-1].name)
        found.append((got, LEVELS[int(level)]))
    return found


def bits(x: float) -> bytes:
    """What must agree where results must be the same to the bit; NaN has no sign and no payload here."""
    return b"nan" if math.isnan(x) else struct.pack("<d", x)


def same(x: float, y: float) -> bool:
    return bits(x) == bits(y)


def alike(x: float, y: float) -> bool:
    """The same, whatever the sign of a zero."""
    return x == y or (x != x and y != y)


def ulps(x: float, y: float) -> float:
    """Distance in units in the last place of the larger; 0 for two NaNs or equal infinities."""
    if alike(x, y):
        return 0.0
    if not (math.isfinite(x) and math.isfinite(y)):
        return math.inf
    return abs(x - y) / math.ulp(max(abs(x), abs(y)))
