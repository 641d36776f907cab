"""Native code against the reference evaluator: every operation of many programs at many points, values and statuses.

Each operation of the machine is repeated by the reference on the very operands that it had (`laws.check_native`), so that the
millions of operations of a run are as many comparisons. Rows are run in blocks of every size and at every alignment, and must
have the bits of a row alone; programs with tensors run between pages that nobody may touch.
"""
from __future__ import annotations

import itertools
import random
import time
import traceback
from collections import Counter

import laws
import numpy as np
import one_operation
import random_comprehensions
from adcli.lang.derive.derivatives import gradient
from adcli.lang.evaluate import evaluate
from adcli.lang.ir import Program
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.primitives import TABLE
from adcli.lang.lower.frontend import parse
from adcli.lang.passes.pipeline import adjoints, tangents
from adcli.lang.passes.status import with_status
from adcli.lang.printing.printer import print_program
from adcli.lang.simplify.simplify import simplify
from back_ends import MODES, bits
from harness import Finding, Tell, announce
from native_tensors import LANES, everywhere
from primitives import SPECIAL, number
from random_programs import mixed_points, sample
from tensor_laws import NUMPY, direction

from adcli.api.function import Function

ABOUT = "native code against the reference: operations, statuses, rows of every size and alignment, tensors"
KINDS = ("row of the table", "program", "program", "rows", "tensors")
POINTS = 400
"""Points at which an operation of the table is looked at; a program of some hundred operations has a tenth."""


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        kind, seed = r.choice(KINDS), r.randrange(2**40)
        command = (kind, str(seed))
        announce("", command, tried)
        try:
            tried[kind] += 1
            tried["operations"] += ATTEMPTS[kind](random.Random(seed))
        except Exception as fault:
            tell(Finding("native", 0, described(fault), "", command))
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    try:
        ATTEMPTS[command[0]](random.Random(int(command[1])))
    except Exception as fault:
        return described(fault)
    return None


def described(fault: BaseException) -> str:
    lines = str(fault).splitlines() or [""]
    where = traceback.extract_tb(fault.__traceback__)[-1].name
    return f"{traceback.format_exc()[-3000:]}\n{type(fault).__name__} in {where}: {lines[-1].partition('(')[0][:60]}"


def derivative(r: random.Random, program: Program) -> Program:
    """The program with derivatives, or without, and with its status, or without."""
    wrt = [p.name for p in program.params]
    made = gradient(program, mode=r.choice(MODES)) if r.random() < 0.8 and wrt else program
    return with_status(made, program, wrt) if r.random() < 0.5 and wrt else made


def row_of_the_table(r: random.Random) -> int:
    op = r.choice([op for op in TABLE.values() if not op.truth and op.name != "dup"])
    count = r.randint(op.arity, 5) if op.variadic else None
    made = one_operation.program(op, float(r.choice((-3, 2, 5)) if op.name == "pown" else r.randrange(4)), count)
    names = [p.name for p in made.params]
    points = [dict(zip(names, (number(r) for _ in names), strict=True)) for _ in range(POINTS)]
    if len(names) <= 2:
        points += [dict(zip(names, xs, strict=True)) for xs in r.sample(list(itertools.product(SPECIAL, repeat=len(names))), 30)]
    return laws.check_native(derivative(r, made), points)


def program(r: random.Random) -> int:
    made = parse(sample(r, r.choice((5, 15, 40)), extreme=r.random() < 0.5).text)
    points = [at for _ in range(POINTS // 40) for at in mixed_points(r, made, 4)]
    return laws.check_native(derivative(r, made), points)


def rows(r: random.Random) -> int:
    """Columns that begin anywhere, with any distance between elements: the bits of each row alone."""
    made = parse(sample(r, 15, extreme=r.random() < 0.5).text)
    function = Function(derivative(r, made))
    count = r.choice((1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000, 5000))
    columns = {n: column(r, count) for n in function.inputs}
    if not columns:
        return 0
    together = function(columns, jobs=r.choice((None, 1, 2)))
    for i in r.sample(range(count), min(count, 12)):
        alone = function({n: float(c[i]) for n, c in columns.items()})
        for name, x in alone.items():
            got = float(np.broadcast_to(together[name], count)[i])
            said = f"row {i} of {count}: {name} is {got!r}, alone {x!r}"
            assert bits(got) == bits(x), f"{print_program(made)}\n{said}\na row among others"
    return count * len(function.program.equations)


def column(r: random.Random, count: int) -> np.ndarray:
    """Numbers in memory that is not aligned to a vector, or not to a number, or has gaps, or runs backwards."""
    values = np.array([number(r) if r.random() < 0.2 else r.uniform(-3, 3) for _ in range(count)])
    match r.randrange(4):
        case 0:
            whole = np.empty(count + 8)[(k := r.randrange(8)):k + count]
        case 1:
            whole = np.empty(count * 8 + 8, np.uint8)[(k := r.randrange(8)):k + count * 8].view(np.float64)
        case 2:
            whole = np.empty(count * (k := r.randint(2, 5)))[::k]
        case _:
            whole = np.empty(count)[::-1]
    whole[:] = values
    return whole


def tensors(r: random.Random) -> int:
    bounds = r.choice(({"rank": 2, "longest": 20}, {"rank": 2, "longest": 9}, {}))
    made = random_comprehensions.sample(r, **bounds)
    kind, lanes = r.randrange(3), r.choice(LANES)
    if kind == 0:
        everywhere(made.program(), made.values, made.meaning(), lanes)
        return len(made.statements)
    whole = simplify((adjoints if kind == 1 else tangents)(made.program()))
    ahead = {f"d{n}": np.shape(made.values[n]) for n in made.reals}
    seeds = {f"d_d{n}": made.extents(n) for n in made.results} if kind == 1 else ahead
    at = {**made.values, **{n: direction(r, shape) for n, shape in seeds.items()}}
    try:
        want = evaluate(whole, {p.name: at[p.name] for p in whole.params}, NUMPY)
    except AdError as fault:
        raise AssertionError(str(fault)) from fault
    everywhere(whole, at, want, lanes)
    return len(whole.equations)


ATTEMPTS = {"row of the table": row_of_the_table, "program": program, "rows": rows, "tensors": tensors}
