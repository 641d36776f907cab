"""adcli: derivatives of formulas, from the shell and from Python.

    import adcli
    f = adcli.load("samples/worked.ad")          # or adcli.compile("v = x*y")
    f(x=2.0, y=5.0)                              # {'v': 3920.6}
    f.grad()(x=2.0, y=5.0)["dv_dx"]              # 5880.0

In a notebook `%load_ext adcli` gives the magic %%ad (see `adcli help notebooks`).
`adcli.polars`, `adcli.duckdb`, `adcli.spark` and `adcli.ray` are for tables in these engines (see `adcli help engines`).
`load` and `compile` give a `Function`; whatever is wrong with a program or a point is an `AdError`, a ValueError.
Everything is imported when it is first used, since a command line starts in a tenth of a second or not at all.
"""
from __future__ import annotations

from os.path import dirname, exists, join

TYPE_CHECKING = False   # as typing has it, whose import takes longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from adcli.api.function import Function, compile, load, to_sympy
    from adcli.lang.ir.errors import AdError
    from adcli.output.version import __version__

if not exists(join(__path__[0], "lang")):
    __path__.append(dirname(__path__[0]))   # the folder of the sources: Python that runs there finds it before what is installed

__all__ = ["AdError", "Function", "__version__", "compile", "load", "to_sympy"]

_HOMES = {"AdError": "lang.ir.errors", "Function": "api.function", "compile": "api.function", "load": "api.function",
          "to_sympy": "api.function", "__version__": "output.version"}


_ENGINES = ("duckdb", "polars", "ray", "spark")


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _ENGINES:
        raise AttributeError(f"module 'adcli' has no attribute '{name}'")
    from importlib import import_module
    if name in _ENGINES:
        return import_module(f"adcli.{name}")
    value = globals()[name] = getattr(import_module(f"adcli.{_HOMES[name]}"), name)
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext adcli` in a notebook: the magic %%ad, and errors without a traceback."""
    from adcli.notebook import load
    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from adcli.notebook import unload
    unload(shell)


def __dir__() -> list[str]:
    return __all__
