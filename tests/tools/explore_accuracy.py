#!/usr/bin/env python3
"""Derivatives of every row of the table to third order at random points of all sizes; prints what loses digits, exit 1 if any.

    python tests/tools/explore_accuracy.py [ROW…] [--points N] [--seed S] [--show N]

The law and its bounds are those of tests/test_accuracy.py, in both modes on both back ends. Points are dense where functions
turn: near 0, near ±1, in the tails of exponentials, at both ends of the range of doubles.
"""
from __future__ import annotations

import argparse
import math
import pathlib
import random
import sys

from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Primitive

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))
from accuracy import beyond
from back_ends import BACK_ENDS, MODES
from one_operation import REAL, program

WAYS = [(mode, back_end) for mode in MODES for back_end in BACK_ENDS]
STATIC = {"pown": (-100, -5, -1, 1, 3, 64, 65), "polygamma": (0, 1, 2, 5, 20, 60, 100)}


def drawn(r: random.Random, most: float) -> float:
    """A number of either sign whose size is anything up to 10**most, or near 1, or moderate."""
    x = r.choice((lambda: 10 ** r.uniform(-most, most), lambda: 1 + r.choice((1, -1)) * 2.0 ** -r.randint(2, 52),
                  lambda: r.uniform(0, 8), lambda: r.uniform(0, 800)))()
    return x * r.choice((1, -1))


def explored(op: Primitive, static: float, points: int, seed: int, show: int) -> int:
    """Look at one row; the number of derivatives that lose digits."""
    p, r = program(op, static=static), random.Random(f"{op.name}{seed}")
    names = [x.name for x in p.params]
    at = [{n: drawn(r, 300 if len(names) == 1 else 75) for n in names} for _ in range(points)]
    at = [x for x in at if math.isfinite(evaluate(p, x, FLOAT)["z"])]
    misses = list(beyond(op, p, at, WAYS))
    print(f"{op.name}{f' {static:g}' if op.static else '':6s} {len(at):5d} points {len(misses):5d} misses", flush=True)
    for m in misses[:show]:
        print(f"    by {','.join(m.wrt) or 'value'} at {m.at} {'/'.join(m.how)}: {m.got!r}, truth {m.want!r}, "
              f"off {m.off:.3g} ulp, condition {m.condition:.3g}")
    return len(misses)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of rows; all, if none is given")
    parser.add_argument("--points", type=int, default=100, metavar="N", help="points of each row")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which random points")
    parser.add_argument("--show", type=int, default=6, metavar="N", help="misses to print of each row")
    args = parser.parse_args(arguments)
    rows = [op for op in REAL if op.pieces != "step" and (not args.rows or op.name in args.rows)]
    looked = [explored(op, float(n), args.points, args.seed, args.show) for op in rows for n in STATIC.get(op.name, (0,))]
    return int(any(looked))


if __name__ == "__main__":
    sys.exit(main())
