"""Code for other machines: what it says of itself, refusals, and its results under an emulator."""
from __future__ import annotations

import math
import pathlib
import subprocess

import pytest
from adcli.codegen.rows.cross_compile import processors
from adcli.codegen.rows.expand import for_machine
from adcli.codegen.rows.platforms import PLATFORMS
from adcli.lang.derive.derivatives import gradient
from adcli.lang.lower.frontend import parse
from back_ends import same
from command import succeeds
from engines import program, zig
from native_programs import native
from session_seed import part

MAIN = """
#include <stdio.h>
int f(const double *in, double *out);
int main(void) {
    double in[2], out[OUT];
    while (scanf("%la %la", in, in + 1) == 2) {
        if (f(in, out)) return 1;
        for (int i = 0; i < OUT; i++) printf("%a ", out[i]);
        printf("\\n");
    }
    return 0;
}
"""
EXACT = "u = max(x, 2*y) + floor(3*x) - min(x, y)*(x/y)\nv = sqrt(x*y) + round(1.5*y) + fma(x, y, 1) + x*y - 0.1\n" \
        "w = x > y ? ceil(x)*0.3 : trunc(y)/7\nz = max(x, y, 1) + copysign(x, -y)"
"""Operations whose results are exact, or rounded once, everywhere."""
POINTS = [(1.5, 2.5), (0.1, 0.7), (-0.3, -12.25), (3.0, 3.0), (1e300, 1e-300), (-0.0, 0.0), (2.5, -1.5), (1e-310, 4.0)]
FORMATS = {"linux": b"\x7fELF", "none": b"\x7fELF",
           "windows": (b"\x64\x86", b"\x64\xaa"), "macos": b"\xcf\xfa\xed\xfe", "wasm32": b"\0asm"}


@pytest.mark.parametrize("name", part(list(PLATFORMS), 4))
def test_an_object_file_of_the_format_of_its_machine(name: str, tmp_path: pathlib.Path) -> None:
    words = ("grad", "-e", EXACT, "--emit", "object", "--target", name, "-o", tmp_path / "f.o")
    succeeds(*words)
    data = (tmp_path / "f.o").read_bytes()
    assert data.startswith(next(magic for word, magic in FORMATS.items() if word in name))
    assert b"adcli_grad" in data
    assert b"fmaximum" not in data


@pytest.mark.parametrize("words", [("--target", "arm", "--cpu", "cortex-m4"), ("--target", "thumbv7em-none-eabihf")])
def test_single_precision_needs_no_doubles(words: tuple[str, ...]) -> None:
    """Neither in what the processor must have nor in its code."""
    code = succeeds("grad", "-e", EXACT, "--emit", "asm", "--precision", "single", *words).out
    assert "vmul.f32" in code
    assert not any(name in code for name in ("f64", "__aeabi_d", "__aeabi_f"))


def test_a_processor_changes_the_code_and_the_text_says_the_machine() -> None:
    line = ("eval", "-e", "v = fma(x, y, z)", "--emit", "asm", "--target", "x86_64-linux-gnu")
    assert "vfmadd" in succeeds(*line, "--cpu", "haswell").out
    assert "vfmadd" not in succeeds(*line).out
    text = succeeds("eval", "-e", "v = x*y", "--emit", "llvm", "--target", "aarch64-macos").out
    assert text.endswith('target triple = "arm64-apple-macosx11.0.0"\n')


def test_names_of_processors() -> None:
    said = ["Available CPUs for this target:", "", "  a   - Select the a processor.", "", "Available features for this target:",
            "  b   - Select the b processor."]
    assert processors(said) == ["a"]


@pytest.mark.engine
@pytest.mark.parametrize("name, system", [("aarch64-linux-gnu", "arm64"), ("riscv64-linux-gnu", "riscv64"),
                                          ("arm-linux-gnueabihf", "armhf")])
def test_a_library_on_another_machine(name: str, system: str, tmp_path: pathlib.Path) -> None:
    """It and a program of C that calls it, under an emulator: the bits of this machine, and with functions of another maths
    library nearly its numbers."""
    emulator = f"qemu-{name.partition('-')[0]}"
    emulator, link, folder = program(emulator, f"{emulator}-static"), [*zig(), "cc", "-target", name], pathlib.Path("/usr", name)
    if not folder.is_dir():
        pytest.skip(f"no package libc6-{system}-cross")
    (tmp_path / "f.ad").write_text(f"{EXACT}\ns = sin(x)*exp(0.01*y)\nt = erf(x) + x**y")
    succeeds("grad", tmp_path / "f.ad", "--symbol", "f", "--emit", "library", "--target", name, "-o", tmp_path / "libf.so")
    derivative = gradient(parse((tmp_path / "f.ad").read_text()))
    rows = native(for_machine(derivative), POINTS, 1)
    (tmp_path / "main.c").write_text(MAIN.replace("OUT", str(len(rows[0]))))
    subprocess.run([*link, "main.c", "./libf.so", "-o", "main"], cwd=tmp_path, check=True)
    given = "".join(f"{x.hex()} {y.hex()}\n" for x, y in POINTS)
    command = [emulator, "-L", folder, "./main"]
    ended = subprocess.run(command, cwd=tmp_path, input=given, capture_output=True, text=True, check=True)
    for point, ours, theirs in zip(POINTS, rows, ended.stdout.splitlines(), strict=True):
        for r, a, b in zip(derivative.results, ours, map(read, theirs.split()), strict=True):
            of_libm = (r.of or r.name) in ("s", "t")
            assert same(a, b) or (of_libm and abs(a - b) <= 4e-15 * abs(a)), (r.name, point, a, b)


def read(word: str) -> float:
    return math.nan if "nan" in word else float.fromhex(word)

