"""Programs as expressions of SymPy."""
from __future__ import annotations

from typing import Any

from adcli.api.function import Function
from adcli.codegen.scripts.symbolic import module
from adcli.lang.ir.errors import missing


def to_sympy(f: Function) -> Any:
    """The output of a Function of numbers as an expression of SymPy, or a dictionary of its outputs, as `--emit sympy` writes
    them. Decimal numbers are the rational ones that are written."""
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise missing("to_sympy", "sympy") from None
    built: dict[str, Any] = {}
    exec(module(f.program, "found"), built)
    found = built["found"]
    return found if len(found) > 1 else next(iter(found.values()))
