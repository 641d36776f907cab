"""adcli: derivatives of formulas, from the shell and from Python.

    import adcli
    f = adcli.load("samples/worked.ad")          # or adcli.compile("v = x*y")
    f(x=2.0, y=5.0)                              # {'v': 3920.6}
    f.grad()(x=2.0, y=5.0)["dv_dx"]              # 5880.0

`load` and `compile` give a `Function`; whatever is wrong with a program or a point is an `AdError`, a ValueError.
The parts are imported when they are first used, since a command line starts in a tenth of a second or not at all.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adcli.output.version import __version__

__all__ = ["AdError", "Function", "__version__", "compile", "load"]

if TYPE_CHECKING:
    from adcli.api.function import Function, compile, load
    from adcli.lang.ir.errors import AdError


def __getattr__(name: str) -> Any:
    if name == "AdError":
        from adcli.lang.ir.errors import AdError
        return AdError
    if name in ("Function", "compile", "load"):
        from adcli.api import function
        return getattr(function, name)
    raise AttributeError(f"module 'adcli' has no attribute '{name}'")
