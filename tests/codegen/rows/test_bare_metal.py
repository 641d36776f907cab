"""Object files for machines without a system: linked with a program in C and run by an emulator of the board."""
from __future__ import annotations

import pathlib
import struct
import subprocess

import pytest
from adcli.lang.operations.precision import PRECISIONS
from command import succeeds
from engines import program

from adcli import compile

SCRIPT = """
MEMORY { FLASH (rx) : ORIGIN = 0, LENGTH = 256K  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 16K }
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > FLASH
    .data : { *(.data*) *(.bss*) *(COMMON) } > RAM
    /DISCARD/ : { *(.ARM.exidx*) *(.comment) *(.note*) }
}
"""
MAIN = """
#include <stdint.h>
#include <string.h>
void f(const REAL *const *in, REAL *const *out, int64_t begin, int64_t end, void *work);
static const REAL points[][2] = {POINTS};

static void ask_host(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

__attribute__((noinline)) static void work(void)
{
    for (unsigned row = 0; row < sizeof points / sizeof points[0]; row++) {
        REAL x = points[row][0], y = points[row][1], results[OUT];
        const REAL *in[] = {&x, &y};
        REAL *out[OUT];
        for (int i = 0; i < OUT; i++) out[i] = &results[i];
        f(in, out, 0, 1, 0);
        for (int i = 0; i < OUT; i++) {
            unsigned char bytes[sizeof(REAL)];
            char text[2 * sizeof(REAL) + 2] = {0};
            memcpy(bytes, &results[i], sizeof bytes);
            for (unsigned k = 0; k < sizeof bytes; k++) {
                text[2 * k] = "0123456789abcdef"[bytes[k] >> 4];
                text[2 * k + 1] = "0123456789abcdef"[bytes[k] & 15];
            }
            text[2 * sizeof bytes] = '\\n';
            ask_host(4, text);   /* write */
        }
    }
}

static void start(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;   /* switch floating point on */
    __asm__ volatile("dsb; isb");
#endif
    work();
    ask_host(0x18, (void *)0x20026);   /* exit */
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {(void *)0x20004000, (void *)start};
"""
TEXT = "u = max(x, 2*y) + floor(3*x) - min(x, y)*(x/y)\nv = sqrt(x*y) + round(1.5*y) + x*y - k\n" \
       "w = x > y ? ceil(x)*k : trunc(y)/7\nz = max(x, y, 1) + copysign(x, -y)"
POINTS = [(1.5, 2.5), (0.125, 0.75), (-0.25, -12.25), (3.0, 3.0), (12.5, 0.0625)]


@pytest.mark.engine
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("target, flags, board", [
    (["thumbv7em-none-eabihf"], ["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"], "mps2-an386"),
    (["arm-none-eabi", "--cpu", "cortex-m4"], ["-mcpu=cortex-m4", "-mfloat-abi=softfp", "-mfpu=fpv4-sp-d16"], "mps2-an386"),
    (["thumbv6m-none-eabi"], ["-mcpu=cortex-m0"], "microbit")])
def test_bits_on_a_board(target: list[str], flags: list[str], board: str, precision: str, tmp_path: pathlib.Path) -> None:
    """Doubles too, which none of these processors has: the compiler's functions compute them."""
    compiler, emulator, real = program("arm-none-eabi-gcc"), program("qemu-system-arm"), PRECISIONS[precision]
    succeeds("grad", "-e", TEXT, "--at", "k=0.125", "--symbol", "f", "--emit", "object", "--precision", precision,
             "--target", *target, "-o", tmp_path / "f.o")
    expected = compile(TEXT, precision=precision).grad(("x", "y"))(x=[x for x, _ in POINTS], y=[y for _, y in POINTS], k=0.125)
    values = {"REAL": real.type, "OUT": str(len(expected)), "POINTS": ", ".join(f"{{{x}, {y}}}" for x, y in POINTS)}
    text = MAIN
    for word, value in values.items():
        text = text.replace(word, value)
    (tmp_path / "main.c").write_text(text)
    (tmp_path / "board.ld").write_text(SCRIPT)
    subprocess.run([compiler, *flags, "-mthumb", "-O1", "-nostartfiles", "-T", "board.ld", "main.c", "f.o", "-lm", "-o", "f"],
                   cwd=tmp_path, check=True, capture_output=True)
    shown = subprocess.run([emulator, "-M", board, "-semihosting", "-nographic", "-kernel", "f"], cwd=tmp_path, check=True,
                           capture_output=True, text=True, timeout=60).stderr.split()   # the host writes there
    assert shown == [struct.pack(f"<{real.code}", float(x)).hex() for row in zip(*expected.values(), strict=True) for x in row]
