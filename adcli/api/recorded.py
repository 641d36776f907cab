"""A Python function as a program: it is called once, with values that write down what is done to them.

What they write is a program of the language, which is then read like any other, so that an operation means the same in both.
Python's control flow is not in it: a loop is written out, and a condition that depends on a value is an error, since one of its
arms would never be seen. What the function itself raises comes out of it as it is.
"""
from __future__ import annotations

import inspect
import reprlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import Names
from adcli.readers.names import row_of

LONGEST = 100
"""Characters of an operation that stands inside of another; a longer one gets a line of its own, as one used twice does."""

APART = "give each number a parameter of its own, lambda x, y: x**2 + y; tensors are declared in a text: " \
    "adcli.compile('input p(N); v +=! p(i)**2')"
"""Help where a parameter was taken for a vector."""


class NoAttribute(AdError, AttributeError):
    """An attribute that a recorded value lacks, as `hasattr` and AdError have it."""


class Recorded(NDArrayOperatorsMixin):
    """A value whose operations are written down: each makes one more, `row(operands)`. An input has no row."""

    __hash__ = None  # type: ignore[assignment]  # `==` is an operation of the program

    def __init__(self, steps: list[Recorded], row: str | None = None, operands: tuple[Any, ...] = ()) -> None:
        self.steps, self.row, self.operands = steps, row, operands

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        row = row_of(ufunc.__name__, len(operands))
        if row is None or method != "__call__" or options:
            raise unknown(ufunc.__name__)
        if any(isinstance(x, np.ndarray) for x in operands):   # element by element
            each = np.frompyfunc(lambda *one: self.record(row, *one), len(operands), 1)
            return each(*(np.array(x, object) for x in operands))
        return self.record(row, *operands)

    def __array_function__(self, function: Any, types: Any, operands: tuple[Any, ...], options: Any) -> Any:
        row = row_of(function.__name__, len(operands))
        if row is None or options:
            raise unknown(function.__name__)
        return self.record(row, *operands)

    def __getattr__(self, name: str) -> Callable[[], Any]:
        row = None if name.startswith("_") else row_of(name, 1)
        if row is None:
            raise NoAttribute(f"a recorded value is one number, and has no '{name}'", help=APART)
        return lambda: self.record(row, self)   # which NumPy calls for the elements of an array of objects

    def __pos__(self) -> Recorded:
        return self

    __copy__ = __pos__

    def __deepcopy__(self, memo: object) -> Recorded:
        return self

    def __bool__(self) -> NoReturn:
        raise AdError("a Python condition on a value sees only one of its arms",
                      help="write numpy.where(c, a, b), numpy.maximum(a, b) or numpy.minimum(a, b); in a text, c ? a : b")

    def __float__(self) -> NoReturn:
        raise AdError("a value of a recorded function is no number yet",
                      help="write numpy.sin(x) instead of math.sin(x), or a text: adcli.compile('v = sin(x)')")

    __int__ = __index__ = __complex__ = __round__ = __trunc__ = __float__

    def no_elements(self, *given: object, **named: object) -> NoReturn:
        raise AdError("a recorded value is one number, and has no elements", help=APART)

    __getitem__ = __len__ = __iter__ = __call__ = no_elements

    def record(self, row: str, *operands: Any) -> Recorded:
        """Write down one operation."""
        for x in operands:
            if not isinstance(x, Recorded):
                literal(x)
        self.steps.append(Recorded(self.steps, row, operands))
        return self.steps[-1]


def unknown(name: str) -> AdError:
    return AdError(f"numpy.{name} as it is called here is not a function of the language",
                   help="`adcli functions` lists those that are")


def literal(x: Any) -> str:
    """A number as the language writes it. AdError for what is none."""
    if isinstance(x, bool | int | np.integer | np.bool_):
        return str(int(x))
    if isinstance(x, float | np.floating) or (isinstance(x, np.ndarray) and not x.ndim and x.dtype.kind in "fiub"):
        return repr(float(x))
    raise AdError(f"a function of numbers cannot have {type(x).__name__} {reprlib.repr(x)} in it")


# ---------------------------------------------------------------- the text

def written(function: Callable[..., Any]) -> str:
    """The program of a function. AdError where it has none."""
    steps: list[Recorded] = []
    inputs = parameters(function)
    values = {name: Recorded(steps) for name in inputs}
    by_name = {name: x for name, x in values.items() if signature(function)[name].kind is inspect.Parameter.KEYWORD_ONLY}
    by_position = [x for name, x in values.items() if name not in by_name]
    found = function(*by_position, **by_name)
    results = {} if found is None else named(found, inputs)
    if not results:
        raise AdError("the function returns nothing")
    names = Names([*inputs, *results])
    uses = Counter(id(x) for step in steps for x in step.operands) + Counter(map(id, results.values()))
    texts = {id(x): name for name, x in values.items()}
    lines = [f"input {name}{default}" for name, default in inputs.items()]

    def text(x: Any) -> str:
        if isinstance(x, Recorded) and id(x) not in texts:
            raise AdError("a value of another recorded function stands in this one", help="give it to this function as an input")
        return texts[id(x)] if isinstance(x, Recorded) else literal(x)

    for step in steps:
        found = f"{step.row}({', '.join(map(text, step.operands))})"
        if uses[id(step)] > 1 or len(found) > LONGEST:
            name = names.fresh("t", 1)
            lines.append(f"{name} = {found}")
            found = name
        texts[id(step)] = found
    lines += [f"{name} = {text(x)}" for name, x in results.items()]
    return "\n".join([*lines, f"output {', '.join(results)}", ""])


def signature(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function. AdError where Python knows none."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        raise AdError(f"{function!r} does not say what its inputs are", help="write lambda x, y: x*y") from None


def parameters(function: Callable[..., Any]) -> dict[str, str]:
    """The names of the inputs, each with its default as it is declared."""
    found = {}
    for p in signature(function).values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise AdError(f"'{p}' is not the name of one input", help="write lambda x, y: x*y")
        found[p.name] = "" if p.default is p.empty else f" = {literal(p.default)}"
    return found


def named(returned: Any, inputs: Mapping[str, str]) -> dict[str, Any]:
    """The results by name: the keys of a dictionary, else f, f2, … as far as no input has that name."""
    if isinstance(returned, Mapping):
        return {str(name): x for name, x in returned.items()}
    several = isinstance(returned, list | tuple) or (isinstance(returned, np.ndarray) and returned.ndim)
    return dict(zip(free(inputs), returned if several else [returned]))  # noqa: B905  # the names have no end


def free(inputs: Mapping[str, str]) -> Iterator[str]:
    """f, f2, f3, … without those that inputs have."""
    n = 1
    while True:
        name = f"f{n}" if n > 1 else "f"
        if name not in inputs:
            yield name
        n += 1
