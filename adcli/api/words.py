"""The words of Python: names, points by name and options that a method is given, and options in messages as its arguments."""
from __future__ import annotations

import functools
import inspect
import re
import reprlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from adcli.input.points import parts
from adcli.input.values import has_partials, listed, partials
from adcli.lang.ir import Param, Program, Result, Values
from adcli.lang.ir.errors import FRONT, AdError, nearest, plural
from adcli.lang.ir.errors import missing as missing_package
from adcli.lang.ir.names import composed

Class = TypeVar("Class", bound=type)
NUMBER, MATRIX = re.compile(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?|…"), re.compile(r"(\w+)=@(\w+)\.npy")
"""Values written without quotes, and a matrix of a name, which is an array in Python."""
RENAMED = {"equation": "equations"}
ALONE = {"at": "the point", "of": "of="}
"""Options without a value that are said in another way than by their names."""
FLAGS = re.compile(r"(?:try|write) (second_order|maximize|plot|shortest|all|limit)$")
OneOrMore = str | Sequence[str] | None
"""Names as 'x,y' or a sequence of them, or None for the default."""


def plain(program: Program) -> Program:
    """A derivative as any program: its seeds are inputs, and its partial derivatives outputs like others."""
    if not any(p.seed for p in program.params) and not any(r.of for r in program.results):
        return program
    return replace(program, params=tuple(replace(p, seed=None) for p in program.params),
                   results=tuple(Result(r.name, r.atom) for r in program.results))


def says_python(cls: Class) -> Class:
    """A class whose public methods say what is wrong in the words of Python, and take inputs in order."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, translated(method))
    return cls


def translated(method: Callable[..., Any]) -> Callable[..., Any]:
    inputs = method.__code__.co_posonlyargcount == method.__code__.co_argcount == 2
    known, makes = inspect.signature(method).parameters, method.__annotations__.get("return") == "Function"

    @functools.wraps(method)
    def called(*given: Any, **named: Any) -> Any:
        before = FRONT.set(in_python)
        try:
            if inputs and given[1:] and given[1] is not None:
                given = given[0], in_order(given[0].program.params, given[1:], named)
            if strays := [n for n in named if makes and n not in known and n in given[0].inputs]:
                values = ", ".join(f"{n}={named[n]!r}" for n in strays)
                raise AdError(f"{method.__name__}() makes a function: '{strays[0]}' is an input of that",
                              help=f"write f.{method.__name__}()({values})" if len(values) <= 40 else None)
            return method(*given, **named)
        finally:
            FRONT.reset(before)
    return called


def in_python(option: re.Match[str]) -> str:
    """An option of a message as an argument: wrt='x'; of --at the arguments that give the point."""
    name, value = RENAMED.get(option[1], option[1].replace("-", "_")), option[2].strip("'")
    if not value:
        flag = FLAGS.search(option.string[:option.start()] + name)
        return f"{name}=True" if flag else ALONE.get(name, name)
    if matrix := MATRIX.fullmatch(value):
        return f"{name}={{'{matrix[1]}': {matrix[2]}}}"
    given = (part.partition("=")[::2] for part in parts(value)) if name == "at" else [(name, value)]
    return ", ".join(f"{x.strip()}={v if NUMBER.fullmatch(v) else repr(v)}" for x, v in given)


def together(at: Values | None, values: Values) -> Values:
    """The inputs that a call gives, in a dictionary and by name."""
    if at is None:
        return values
    if type(at) is not dict and not isinstance(at, Mapping):
        raise AdError("give inputs by name", help="write at={'x': 2.0}")
    both = [name for name in at if name in values] if values else []
    if both:
        raise AdError(f"input '{both[0]}' is given twice")
    return {**at, **values} if values else at


def in_order(params: Sequence[Param], given: Sequence[Any], named: Container[str] = ()) -> Values:
    """Positional arguments of a call: a mapping, the columns of a data frame, or values in the order of the inputs. AdError
    where it is none of these, or leaves an input without a value that is not `named` either."""
    if len(given) == 1 and isinstance(given[0], Mapping):
        return given[0]
    frame = next((x for x in given if hasattr(type(x), "columns")), None)
    if frame is not None and len(given) == 1:
        return columns_of(frame, [p for p in params if p.name not in named])
    if frame is not None or any(isinstance(x, Mapping) for x in given):
        kind = "a data frame" if frame is not None else "a dictionary"
        raise AdError(f"{kind} has all inputs, and there are other values beside it", help="give the others by name: f(…, x=2.0)")
    if len(given) > len(params):
        raise AdError(f"{plural(len(given), 'value')} for {plural(len(params), 'input')}",
                      help=f"the inputs are {', '.join(p.name for p in params)}" if params else None)
    return {p.name: x for p, x in zip(params, given, strict=False)}


def columns_of(frame: Any, params: Sequence[Param]) -> dict[str, Any]:
    """The columns of a data frame of pandas, polars or Arrow that are inputs."""
    if hasattr(frame, "collect"):
        raise AdError(f"a {type(frame).__name__} is not computed yet", help="give a data frame: f(frame.collect()), or of Spark "
                      "f(frame.toPandas())")
    known = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    found = {}
    for p in params:
        if p.name in known:
            found[p.name] = frame[p.name]
        elif p.default is None:
            raise AdError(f"the data frame has no column '{p.name}'",
                          help=nearest(p.name, list(map(str, known))) or f"the columns are {', '.join(map(str, known[:10]))}")
    return found


def names(given: OneOrMore) -> list[str] | None:
    """The names as a list; 'x,y' names two, as on the command line, and 'v:x,x; u:y' are partial derivatives."""
    if given is None:
        return None
    if isinstance(given, str):
        return (partials(given) if has_partials(given) else listed(given)) or [composed(given)]
    found: list[Any]
    try:
        found = list(given)   # once: it may be a generator
    except TypeError:
        found = [given]
    if isinstance(given, Mapping) or not all(isinstance(name, str) for name in found):
        raise AdError(f"{reprlib.repr(given)} are not names", help="write 'x,y' or ['x', 'y']")
    return [composed(name) for name in found]


def by_name(kind: str, given: object) -> Values | str | None:
    """A tangent, a cotangent or covariances: values by name, or a text as the option has it."""
    if given is None or isinstance(given, str | Mapping):
        return given
    what, example = {"tangent": ("numbers", "'x': 1.0"), "cotangent": ("numbers", "'v': 1.0"),
                     "covariance": ("matrices", "'x': C")}[kind]
    raise AdError(f"{kind} is {what} by name, not {type(given).__name__}", help=f"write {kind}={{{example}}}")


def word(what: str, value: object) -> str:
    """The value of an option that is a text, of which what is done with it says whether there is such a one."""
    if not isinstance(value, str):
        raise AdError(f"{what} is a word, not {type(value).__name__}")
    return value


def one_of(what: str, value: object, known: Sequence[str]) -> str:
    """The value of an option that is one of some words."""
    if word(what, value) not in known:
        raise AdError(f"no {what} '{value}'", help=nearest(str(value), known) or f"write {' or '.join(map(repr, known))}")
    return str(value)


def unused(given: Mapping[str, object], reason: str, help: str | None = None) -> None:
    """AdError if one of these options is given (None is not): it would do nothing."""
    for name, value in given.items():
        if value is not None:
            raise AdError(f"{name} {reason}", help=help)


def truth(what: str, value: object) -> bool:
    """The value of an option that is True or False."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):   # NumPy's
        return bool(value)
    raise AdError(f"{what} is True or False, not {type(value).__name__}")


def whole(what: str, value: object, low: int, high: int) -> int:
    """The value of an option that is a whole number from `low` to `high`."""
    from operator import index
    try:
        found = int(value) if isinstance(value, float) and value.is_integer() else index(value)  # type: ignore[arg-type]
    except TypeError:
        raise AdError(f"{what} is a whole number, not {type(value).__name__}") from None
    if not low <= found <= high:
        raise AdError(f"{what} must be from {low} to {high}, not {reprlib.repr(found)}")
    return found


def need_arrow(what: str) -> None:
    """AdError where there is no pyarrow."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise missing_package(what, "pyarrow") from None
