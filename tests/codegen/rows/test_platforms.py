"""Machines by the words of their triples."""
from __future__ import annotations

import itertools
import math

import pytest
from adcli.codegen.rows.expand import expand
from adcli.codegen.rows.platforms import EXTREMA, PLATFORMS, platform
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError
from adcli.lang.lower.frontend import parse
from back_ends import same
from row_tables import each_row


@each_row("triple, name", [
    ("aarch64", "aarch64-linux-gnu"), ("arm64-linux", "aarch64-linux-gnu"), ("aarch64-unknown-linux-musl", "aarch64-linux-musl"),
    ("arm64-apple-darwin23.1", "aarch64-macos"), ("x86_64-apple-macosx11.0.0", "x86_64-macos"),
    ("x86_64-pc-windows-msvc", "x86_64-windows-msvc"), ("x86_64-w64-mingw32", "x86_64-windows-gnu"),
    ("AMD64-PC-Linux-GNU", "x86_64-linux-gnu"), ("riscv64gc-unknown-linux-gnu", "riscv64-linux-gnu"),
    ("armv7-unknown-linux-gnueabihf", "arm-linux-gnueabihf"), ("wasm32-wasi", "wasm32"), ("wasm32-unknown-unknown", "wasm32"),
    ("arm", "arm-linux-gnueabihf"), ("armv7em-none-eabihf", "thumbv7em-none-eabihf"), ("thumbv7em-eabi", "thumbv7em-none-eabi"),
    ("riscv64-unknown-elf", "riscv64-none-elf"), ("riscv32imac-unknown-none-elf", "riscv32-none-elf"),
    ("aarch64-none-elf", "aarch64-none-elf"), ("arm-none-eabi", "arm-none-eabi"),
    *((name, name) for name in PLATFORMS), *((p.llvm, name) for name, p in PLATFORMS.items())])
def test_triples(triple: str, name: str) -> None:
    assert platform(triple).name == name


@pytest.mark.parametrize("triple, help", [
    ("aarch64-linus-gnu", "did you mean 'aarch64-linux-gnu'?"), ("aarch65-linux-gnu", "did you mean 'aarch64'?"),
    ("powerpc64le-linux-gnu", "the targets are x86_64-linux-gnu, "), ("", "the targets are "), ("-", "the targets are "),
    ("linux-gnu", "the targets are "), ("x86_64-linux-gnueabihf", "did you mean 'x86_64-linux-gnu'?")])
def test_triples_that_are_not_known(triple: str, help: str) -> None:
    with pytest.raises(AdError) as refused:
        platform(triple)
    assert refused.value.message == f"no target '{triple}'"
    assert str(refused.value.help).startswith(help)


def test_extrema_by_comparisons_are_the_extrema() -> None:
    program = parse("u = max(x, y)\nv = min(x, y)\nw = max(x, y, 1) - min(x, 2, y)")
    written = expand(program, EXTREMA)
    assert not {"max", "min"} & {e.op.name for e in written.equations}
    for x, y in itertools.product((0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan), repeat=2):
        ours, theirs = (evaluate(p, {"x": x, "y": y}, FLOAT) for p in (program, written))
        assert all(same(ours[name], theirs[name]) for name in "uvw"), (x, y, ours, theirs)
