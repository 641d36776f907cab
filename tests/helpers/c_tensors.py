"""Programs with tensors as C or as objects, compiled together under sanitizers and run with arrays that are exactly as long as
their shapes say."""
from __future__ import annotations

import pathlib
import random
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from adcli.codegen.c.source import CFunction, tensor_source
from adcli.codegen.nests.layout import size_parameters
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir import Program, has_tensors, shape_of
from adcli.lang.ir.affine import Affine
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.matrix import Boxed
from adcli.lang.operations.recurrence import with_statements
from adcli.lang.passes.pipeline import adjoint_program, evaluation_program, tangent_program
from adcli.lang.sizes.all_sizes import size_conditions
from adcli.lang.sizes.binding import bind, counts
from adcli.lang.sizes.binding import number as number_of
from back_ends import same
from c_programs import CC, SANITIZERS, WARNINGS, hexadecimal, number
from loop_programs import LOOPS
from places import ROOT
from random_comprehensions import sample
from sample_files import TENSORS
from subscript_cases import SUBSCRIPTS, WHOLE_NUMBERS
from tensor_cases import PROGRAMS
from tensor_laws import direction
from tensor_texts import ACCEPTED, NAMED

Given = Mapping[str, Any]
Point = tuple[Given, Mapping[str, int]]
"""Values of inputs, and sizes."""
DERIVATIVES = [lambda p: p, tangent_program, adjoint_program, lambda p: tangent_program(adjoint_program(p))]
LONGEST = 1_000_000
"""Elements of an output; sizes that do not fit may ask for more."""
MOST_POINTS = 500
"""Of a box, as the reference goes through them one by one."""
NEAR = 1e-12
"""Of the largest number of a program: maths libraries of compilers and of Python may be two, and sums have other orders."""
READERS = """
#include <stdio.h>
#include <stdlib.h>
double *reals(size_t n)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) if (scanf("%la", &x[i]) != 1) exit(1);
    return x;
}
int32_t *integers(size_t n)
{
    int32_t *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) { long k; if (scanf("%ld", &k) != 1) exit(1); x[i] = (int32_t)k; }
    return x;
}
double *space(size_t n)
{
    double *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = -77.0;
    return x;
}
void show(const double *x, size_t n) { for (size_t i = 0; i < n; i++) printf("%a ", x[i]); }
"""


def caller(k: int, program: Program, f: CFunction) -> list[str]:
    """A function of C that reads sizes, lengths and numbers, calls, and prints what comes back."""
    sizes = [f"s{i}" for i in range(len(f.sizes))]
    lines = [f"static int call{k}(void)", "{", *(f"    const size_t {s} = one();" for s in sizes)]
    given, held = [], []
    counted = []
    for i, p in enumerate(program.params):
        kind = "integers" if p.var.integer else "reals"
        lines += [f"    const size_t n{i} = one();", f"    {'int32_t' if p.var.integer else 'double'} *x{i} = {kind}(n{i});"]
        given.append(f"x{i}" if p.var.shape else f"*x{i}")
        held.append(f"x{i}")
        if f.work_head and p.name in f.counted:
            counted.append(f"(size_t)*x{i}")
    for i in range(len(program.results)):
        lines += [f"    const size_t m{i} = one();", f"    double *y{i} = space(m{i});"]
    outs = [f"y{i}" for i in range(len(program.results))]
    if f.work_head:
        lines += [f"    const size_t w = {f.name}_work_size({', '.join([*sizes, *counted])});",
                  f"    double *work = space(w < {LONGEST} ? w : 0);"]
    lines += [f"    const int code = {f.name}({', '.join([*sizes, *given, *outs, *(['work'] if f.work_head else [])])});",
              '    printf("%d ", code);',
              *(f"    show({y}, m{i});" for i, y in enumerate(outs)),
              '    printf("\\n");', *(f"    free({x});" for x in [*held, *outs, *(["work"] if f.work_head else [])]),
              "    return 0;", "}"]
    return lines


def main_program(programs: Sequence[Program], functions: Sequence[CFunction], declared: bool) -> str:
    """The program that runs them; `declared`: their text is somewhere else."""
    heads = [f"{head};" for f in functions for head in (f.head, f.work_head) if declared and head]
    calls = [line for k, (p, f) in enumerate(zip(programs, functions, strict=True)) for line in caller(k, p, f)]
    return "\n".join(["#include <stddef.h>", "#include <stdint.h>", READERS,
                      "size_t one(void)", "{",
                      '    unsigned long long n; if (scanf("%llu", &n) != 1) exit(1);', "    return (size_t)n;", "}",
                      *heads, *calls, "int main(void)", "{", "    int k;", '    while (scanf("%d", &k) == 1)',
                      "        switch (k) {",
                      *(f"        case {k}: call{k}(); break;" for k in range(len(programs))),
                      "        default: return 1;", "        }", "    return 0;", "}", ""])


def length(x: Affine, known: Mapping[str, int]) -> int:
    """An extent or a range as one that there can be; none by a quotient that there is not."""
    try:
        return max(0, number_of(x, known))
    except AdError:
        return 0


def words(program: Program, at: Given, sizes: Mapping[str, int]) -> str:
    """What a caller reads: sizes, then the length of every array, with numbers where it is an input."""
    said = [str(sizes[s]) for s in size_parameters(program)]
    for p in program.params:
        x = np.asarray(at[p.name]).ravel()
        said += [str(len(x)), *(str(int(v)) if p.var.integer else hexadecimal(float(v)) for v in x)]
    known = {**sizes, **{p.name: int(at[p.name]) for p in counts(program)}}
    made = [prod(length(x, known) for x in shape_of(r.atom)) for r in program.results]
    return " ".join([*said, *(str(min(n, LONGEST)) for n in made)])


def run_tensors(folder: pathlib.Path, programs: Sequence[Program], points: Sequence[Sequence[Point]],
                objects: Sequence[bytes] = ()) -> list[list[tuple[int, list[float]]]]:
    """For each point of each program what its function returns, and all its outputs, one after the other. With `objects` it is
    their functions that are called."""
    functions = [tensor_source(p, f"f{k}") for k, p in enumerate(programs)]
    text = [main_program(programs, functions, bool(objects))]
    (folder / "all.c").write_text("\n".join([*(f.text for f in functions if not objects), *text]))
    for k, code in enumerate(objects):
        (folder / f"f{k}.o").write_bytes(code)
    names = [f"f{k}.o" for k in range(len(objects))]
    subprocess.run([str(CC), *WARNINGS, "-fno-builtin", *SANITIZERS, "all.c", *names, "-o", "all", "-lm"], cwd=folder, check=True)
    said = "".join(f"{k} {words(p, *at)}\n" for k, (p, row) in enumerate(zip(programs, points, strict=True)) for at in row)
    ended = subprocess.run([folder / "all"], input=said, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
    lines = iter(ended.stdout.splitlines())
    return [[(int(code), list(map(number, words))) for _ in row for code, *words in [next(lines).split()]] for row in points]


def points(program: Program, sizes: Mapping[str, int]) -> int:
    """The points of the largest box of a program; counts among its inputs are small."""
    known = {**sizes, **{p.name: 1 for p in counts(program)}}
    return max((prod(length(x.high - x.low, known) for x in e.op.ranges)
                for e in with_statements(program.equations) if isinstance(e.op, Boxed)), default=0)


def drawn_point(r: random.Random, program: Program, choices: Sequence[int] = (0, 1, 2, 3, 5)) -> Point:
    """Sizes, fitting or not, with arrays of the shapes that they make."""
    sizes = {s: r.choice(choices) for s in size_parameters(program)}
    while points(program, sizes) > MOST_POINTS and max(sizes.values(), default=0) > 1:
        sizes = {s: min(n, max(1, n - 1)) for s, n in sizes.items()}
    at: dict[str, Any] = {}
    for p in program.params:
        shape = tuple(length(x, {**sizes, **at}) for x in p.var.shape)
        if p.var.integer:
            drawn = np.array([r.randrange(max(1, min(sizes.values(), default=1))) for _ in range(prod(shape))], int)
        else:
            drawn = np.array([r.choice((-0.5, 0.0, 0.25, 1.0, r.uniform(-2, 2))) for _ in range(prod(shape))])
        at[p.name] = drawn.reshape(shape) if shape else drawn[0].item()
    return at, sizes


def expected(program: Program, at: Given) -> list[float] | None:
    """All outputs by the reference evaluation; None where it refuses the point."""
    try:
        found = evaluate(program, {p.name: at[p.name] for p in program.params}, FLOAT)
    except AdError:
        return None
    return [float(x) for r in program.results for x in np.asarray(found[r.name], float).ravel()]


def agree(programs: Sequence[Program], points: Sequence[Sequence[Point]], folder: pathlib.Path, objects: Sequence[bytes] = (),
          near: float = NEAR) -> int:
    """The results of the reference, or 1 where that refuses; how many points had results."""
    results = 0
    for program, row, found in zip(programs, points, run_tensors(folder, programs, points, objects), strict=True):
        for (at, sizes), (code, got) in zip(row, found, strict=True):
            want = expected(program, at)
            if want is None:
                assert code == 1 or size_conditions(program).loose, (sizes, at)
                continue
            assert code == 0, (sizes, at)
            scale = max((abs(x) for x in want if abs(x) < 1e300), default=0.0)
            wrong = [(x, y) for x, y in zip(want, got, strict=True) if not same(x, y) and not abs(x - y) <= near * scale]
            assert not wrong, (wrong[:3], sizes, at)
            results += 1
    return results


def texts() -> list[str]:
    """The programs with tensors of samples, of the tests and of other people."""
    files = [*TENSORS, *sorted((ROOT / "tests" / "programs").glob("*.ad"))]
    found = [*(path.read_text(encoding="utf-8") for path in files), *PROGRAMS.values(), *NAMED.values(),
             *(source for source, *_ in (*SUBSCRIPTS, *WHOLE_NUMBERS)), *(d["text"] for d in ACCEPTED)]
    found += [made.text for made in LOOPS.values()]
    return [text for text in found if has_tensors(parse(text))]


def derivatives(r: random.Random, count: int) -> list[Program]:
    """Some of them, differentiated in some way."""
    return [evaluation_program(r.choice(DERIVATIVES)(parse(text))) for text in r.sample(texts(), count)]


def at_random(r: random.Random, count: int) -> Iterator[tuple[Program, Point]]:
    """Random comprehensions and their derivatives, with a point that fits."""
    for k in range(count):
        made = sample(r, rank=r.choice((2, 4)), longest=r.choice((3, 3, 6)))
        program = evaluation_program(DERIVATIVES[k % 3](made.program()))
        seeds = {p.name: direction(r, made.extents(p.seed)) for p in program.params if p.seed}
        at = {**made.values, **seeds}
        yield program, (at, bind(program, {p.name: np.shape(at[p.name]) for p in program.params}, at))
