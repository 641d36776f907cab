"""A plugin of pytest that adds the row of the manual's walk-through to the table, before a test is collected: what loops over the
table meets it, too."""
from __future__ import annotations

from adcli.lang.ir import primitives
from documents import fenced, text

BLOCK = fenced(text("internals"), "text")[0]
NAME = BLOCK.partition(" =")[0]

exec(compile(BLOCK, "internals.md", "exec"), vars(primitives))

import row_tables  # noqa: E402
from conformance import OPERATIONS  # noqa: E402

row_tables.CHOSEN[:] = [NAME]
OPERATIONS[:] = [primitives.TABLE[NAME]]   # all others run beside it elsewhere
