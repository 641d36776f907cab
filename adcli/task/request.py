"""What a user asks of a program: everything that the derivative program depends on, and nothing else."""
from __future__ import annotations

import json
from typing import NamedTuple

from adcli.codegen.machine import cache
from adcli.lang.ir.errors import Source


class Request(NamedTuple):
    """One verb about one program.

    `of` and `wrt` name outputs (for grad also single partial derivatives, 'v:x,x,y') and inputs, None for the default; `order` is
    that of grad, taylor and propagate; `zeros` says whether matrices keep entries that are zero by construction (None: as they
    pay); `correlations` are of pairs of inputs, `moments` of inputs that are not normal, and with `dof` standard uncertainties
    have degrees of freedom; `fast` lets code fuse and reciprocate, and `precision` is that of the code.
    """

    verb: str
    source: Source
    of: list[str] | None = None
    wrt: list[str] | None = None
    mode: str = "auto"
    order: int = 1
    fast: bool = False
    zeros: bool | None = None
    scaled: bool = False
    correlations: tuple[tuple[str, str, float], ...] = ()
    moments: tuple[tuple[str, float, float], ...] = ()
    precision: str = "double"
    dof: bool = False

    def key(self) -> str:
        """The name of the cache entry, here and now."""
        asked = json.dumps([getattr(self, name) for name in self._fields if name != "source"])
        wishes = str((self.source.exact_order, self.source.checkpoint, self.source.equations))
        return cache.key([self.source.text, self.source.name, wishes, asked, *cache.surroundings()])
