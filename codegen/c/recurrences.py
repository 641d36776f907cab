"""A loop over steps as a loop of C99, with the loop itself as a comment: its statements write into the histories where these lie.

What a loop is for a machine, `adcli.codegen.nests.recurrences` says: which tensors are of one step only, and which elements a
statement writes. All steps are run, also behind one for which `until` holds, where every statement copies.
"""
from __future__ import annotations

from collections.abc import Iterator

from adcli.codegen.c.loops import Loops, Surroundings
from adcli.codegen.c.matrices import MatrixLoops
from adcli.codegen.c.source import comment
from adcli.codegen.nests.recurrences import StepLoop
from adcli.lang.ir import Equation
from adcli.lang.ir.matrix import MatrixOperation
from adcli.lang.ir.notation import INDENT


def recurrence(f: Surroundings, shown: Equation, loop: StepLoop) -> Iterator[str]:
    """The lines of a loop, which is `shown` as the language has it."""
    yield from comment("\n".join(f.printed.recurrence(shown)).split("\n")).splitlines()
    yield head(f, loop) + " {"
    for e in loop.equations:
        write = MatrixLoops if isinstance(e.op, MatrixOperation) else Loops
        yield from (INDENT + line for line in write(f, None, e, e.outs[0] in loop.histories).lines())
    yield "}"


def head(f: Surroundings, loop: StepLoop) -> str:
    """The steps from the first to the last, or down from there."""
    name, whole = f.steps[loop.step], f.whole
    kind = whole.bind(loop.step, name, loop.low)
    index = f.language.index or kind
    low = (whole.size if kind == "size_t" else whole.signed)(loop.low)[0]
    if not loop.down:
        return f"for ({index} {name} = {low}; {whole.below(loop.step, loop.high)}; {name}++)"
    some = whole.natural_test(loop.high - loop.low)
    high = (whole.size if kind == "size_t" else whole.signed)(loop.high)[0]
    return f"for ({index} {name} = {f'{some} ? {high} : {low}' if some else high}; {name}-- > {low};)"

