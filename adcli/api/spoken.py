"""What the code behind a verb says in the words of the shell, in those of Python: --wrt x is wrt='x', --at x=2 is x=2."""
from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from adcli.api.words import in_order
from adcli.input.points import parts
from adcli.lang.ir.errors import AdError

Class = TypeVar("Class", bound=type)
OPTION = re.compile(r"(?P<asked>: |\(|\b(?:write|try|or|with) )?--(?P<name>[a-z][a-z-]*[a-z])"
                    r"(?P<value> (?!or |and )(?:'[^']*'|[^\s;'-](?:[^\s;]*[^\s;,.:)])?)(?=[\s;,.:)]|$))?")
"""An option, with a value where the text asks for it."""
NUMBER = re.compile(r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?")
MATRIX = re.compile(r"(\w+)=@(\w+)\.npy")
"""A matrix of a name, which is an array in Python."""
FLAGS = {"all", "limit", "maximize", "plot", "second_order", "shortest"}
RENAMED = {"equation": "equations"}
ALONE = {"at": "the point", "of": "of="}
"""Options without a value that are said in another way than by their names."""
METHODS: list[Callable[..., Any]] = []
"""What says so."""


def says_python(cls: Class) -> Class:
    """A class whose public methods say what is wrong in the words of Python."""
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, translated(method))
    return cls


def translated(method: Callable[..., Any]) -> Callable[..., Any]:
    METHODS.append(method)
    inputs = method.__code__.co_posonlyargcount == method.__code__.co_argcount == 2

    @functools.wraps(method)
    def called(*given: Any, **named: Any) -> Any:
        try:
            if inputs and given[1:] and given[1] is not None:
                given = given[0], in_order(given[0].program.params, given[1:], named)
            return method(*given, **named)
        except AdError as fault:
            translate(fault)
            raise
    return called


def translate(fault: AdError) -> None:
    """Put the words of an error in those of Python."""
    fault.message, fault.help = in_python(fault.message), fault.help and in_python(fault.help)
    fault.args = (fault.message,)
    for other in fault.more:
        translate(other)


def in_python(text: str) -> str:
    """A message or a remark with options as arguments; those that no method takes stay as they are."""
    return OPTION.sub(argument, text) if "--" in text else text


def argument(option: re.Match[str]) -> str:
    asked, name, value = option["asked"] or "", option["name"].replace("-", "_"), (option["value"] or "").strip()
    name = RENAMED.get(name, name)
    if name not in arguments():
        return option[0]
    if name in FLAGS:
        return f"{asked}{name}{'=True' * bool(asked)}{option['value'] or ''}"
    begins = option.start() == 0 and option.string[option.end():].startswith(":")
    if not value or not (asked or begins):
        return f"{asked}{ALONE.get(name, name)}{option['value'] or ''}"
    value = value.strip("'")
    if matrix := MATRIX.fullmatch(value):
        return f"{asked}{name}={{'{matrix[1]}': {matrix[2]}}}"
    if name == "at":
        return asked + ", ".join(f"{x.strip()}={written(v)}" for x, _, v in (part.partition("=") for part in parts(value)))
    return f"{asked}{name}={written(value)}"


def written(value: str) -> str:
    """A value as Python has it: a number, or a text as the shell takes it."""
    return value if NUMBER.fullmatch(value) or value == "…" else repr(value)


@functools.cache
def arguments() -> frozenset[str]:
    """What the methods take."""
    return frozenset(name for method in METHODS for name in inspect.signature(method).parameters)
