"""How much memory there is, asked before much of it is taken."""
from __future__ import annotations

UNASKED_BYTES = 1 << 26
"""Bytes that are taken without asking how many there are."""


def available() -> int:
    """Bytes of memory that the system has left; very many where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 1 << 62


def amount(size: int) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 10_000 or unit == "GiB":
            break
        size //= 1024
    return f"{size} {unit}"
