"""Programs as C, compiled together under sanitizers and run at points."""
from __future__ import annotations

import math
import pathlib
import shutil
import subprocess
from collections.abc import Sequence

from adcli.codegen.c.source import PART_SIZE, source
from adcli.codegen.rows.expand import for_machine
from adcli.lang.ir import Program
from adcli.lang.operations.precision import DOUBLE, Precision

CC = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wdouble-promotion", "-Wconversion", "-Werror", "-ffp-contract=off"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
Point = Sequence[float]


def run_in_c(folder: pathlib.Path, programs: Sequence[tuple[Program, Sequence[Point]]],
             size: int = PART_SIZE, precision: Precision = DOUBLE) -> list[list[list[float]]]:
    """The results of each program at each of its points, inputs in order. No warning is forgiven, and no call of a function is
    computed by the compiler, whose maths library is another one."""
    written = [source(for_machine(program), f"f{k}", size=size, precision=precision).text
               for k, (program, _) in enumerate(programs)]
    width = max((max(len(p.params), len(p.results)) for p, _ in programs), default=1)
    cases = [f"case {k}: ok = f{k}(in, out) == 0; n = {len(p.results)}; break;" for k, (p, _) in enumerate(programs)]
    sizes = ", ".join(str(len(p.params)) for p, _ in programs)
    scanned = "%la" if precision is DOUBLE else "%a"
    main = ["#include <stdio.h>", f"static const int sizes[] = {{{sizes}}};", "int main(void)", "{",
            f"    static {precision.type} in[{width + 1}], out[{width + 1}];", "    int k, n = 0, ok = 0;",
            '    while (scanf("%d", &k) == 1) {',
            f'        for (n = 0; n < sizes[k]; n++) if (scanf("{scanned}", &in[n]) != 1) return 1;',
            "        switch (k) {", *cases, "        default: return 1;", "        }", "        if (!ok) return 1;",
            '        for (int i = 0; i < n; i++) printf("%a ", (double)out[i]);',
            '        printf("\\n");', "    }", "    return 0;", "}"]
    (folder / "all.c").write_text("\n".join([*written, *main, ""]))
    subprocess.run([str(CC), *WARNINGS, "-fno-builtin", *SANITIZERS, "all.c", "-o", "all", "-lm"], cwd=folder, check=True)
    given = "".join(f"{k} {' '.join(map(hexadecimal, at))}\n" for k, (_, points) in enumerate(programs) for at in points)
    ended = subprocess.run([folder / "all"], input=given, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr[-2000:]
    lines = iter(ended.stdout.splitlines())
    return [[[number(word) for word in next(lines).split()] for _ in points] for _, points in programs]


def hexadecimal(x: float) -> str:
    return float(x).hex() if math.isfinite(x) else repr(float(x))


def number(word: str) -> float:
    return math.nan if "nan" in word else float.fromhex(word)
