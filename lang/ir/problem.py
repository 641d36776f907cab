"""The problem that a program may state: an objective among its outputs, and conditions on its values."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from adcli.lang.ir import Atom
from adcli.lang.ir.records import record


@record
class SideCondition:
    """`parts` compared by `signs`, for every element where they are tensors; a scalar among these is compared with each element.

    `texts` are the parts as written, with {0}, {1}, … where an element has its subscripts, which count from `first`; `signs` have
    the blanks around them.
    """

    parts: tuple[Atom, ...]
    signs: tuple[str, ...]
    texts: tuple[str, ...]
    first: tuple[str, ...] = ()

    @property
    def equation(self) -> bool:
        return self.signs[0].strip() == "=="

    @property
    def text(self) -> str:
        """The condition on all elements."""
        return self.written().format(*"ijklmn")

    def element(self, place: Sequence[int]) -> str:
        """The condition on one element."""
        return self.written().format(*[k if first == "0" else int(first) + k if first.isdecimal() else f"{first} + {k}"
                                       for first, k in zip(self.first, place, strict=False)])

    def written(self) -> str:
        return self.texts[0] + "".join(sign + text for sign, text in zip(self.signs, self.texts[1:], strict=True))

    def substituted(self, env: Mapping[Atom, Atom]) -> SideCondition:
        return SideCondition(tuple(env.get(a, a) for a in self.parts), self.signs, self.texts, self.first)

    def pairs(self) -> list[SideCondition]:
        """The comparisons one by one."""
        return [self] if len(self.parts) == 2 else [
            SideCondition(self.parts[k:k + 2], (sign,), self.texts[k:k + 2], self.first) for k, sign in enumerate(self.signs)]


@record
class StatedProblem:
    """What a program asks for. `objective` is the name of an output."""

    objective: str | None = None
    maximize: bool = False
    conditions: tuple[SideCondition, ...] = ()
