"""Derivatives that people ask for, composed from the two modes: gradients and mixed partials of any order.

A gradient is the value and every first partial derivative; each of them remembers what it is the derivative of, so that
differentiating again gives d2v_dx_dy once, not twice. Reverse mode costs one sweep for each output, forward mode one for
each input; `auto` counts both on the program and takes the cheaper.
"""
from __future__ import annotations

from collections.abc import Collection, Sequence

from lang import forward, reverse
from lang.check import checked
from lang.collector import paused
from lang.errors import AdError, nearest
from lang.ir import MODES, Atom, Lit, Program, Result
from lang.names import Names
from lang.simplify import simplify


def inputs_to_differentiate(program: Program, wrt: Sequence[str] | None) -> list[str]:
    """The names in `wrt`, checked, in order; by default every input that is not a `param`."""
    if wrt is None:
        return [p.name for p in program.params if p.active]
    known = [p.name for p in program.params]
    for name in wrt:
        if name not in known:
            raise AdError(f"no input '{name}'", help=nearest(name, known) or f"the inputs are {', '.join(known) or 'none'}")
    return list(dict.fromkeys(wrt))


def outputs_to_differentiate(program: Program, of: Sequence[str] | None) -> list[str]:
    """The names in `of`, checked, in order; by default every output."""
    known = [r.name for r in program.results]
    for name in of or ():
        if name not in known:
            raise AdError(f"no output '{name}'", help=nearest(name, known) or f"the outputs are {', '.join(known)}")
    return list(dict.fromkeys(of)) if of is not None else known


@paused()
def gradient(program: Program, wrt: Sequence[str] | None = None, of: Sequence[str] | None = None, mode: str = "auto",
             order: int = 1) -> Program:
    """The outputs in `of` and all their partial derivatives with respect to `wrt`, up to `order`."""
    if mode not in MODES:
        raise AdError(f"no mode '{mode}'", help=nearest(str(mode), MODES) or f"the modes are {', '.join(MODES)}")
    if not isinstance(order, int) or order < 1:
        raise AdError(f"order {order} is not a whole number from 1", help="order 1 is the gradient")
    inputs, outputs = inputs_to_differentiate(program, wrt), outputs_to_differentiate(program, of)
    kept = {r.name: r for r in program.results}
    program = simplify(Program(program.params, program.equations, tuple(kept[n] for n in outputs), program.source))
    newest = outputs
    for _ in range(order):
        before = {r.name for r in program.results}
        program = checked(simplify(checked(_with_partials(program, inputs, newest, mode))))
        newest = [r.name for r in program.results if r.name not in before]
    return program


def _with_partials(program: Program, wrt: list[str], of: list[str], mode: str) -> Program:
    """The program with the first partial derivatives of the results `of` as further results."""
    if mode == "auto":
        mode = cheaper_mode(program, wrt, of)
    sweeps = forward.partials if mode == "forward" else reverse.partials
    equations, found = sweeps(program, wrt, set(of))
    names, position = Names.of(program), {x: i for i, x in enumerate(wrt)}
    results = list(program.results)
    known = {(r.of, tuple(sorted(r.wrt))) for r in program.results if r.wrt}
    for r in program.results:
        for x in wrt if r.name in of else ():
            origin, along = r.of or r.name, tuple(sorted((*r.wrt, x), key=lambda n: position.get(n, -1)))
            if (origin, tuple(sorted(along))) not in known:
                known.add((origin, tuple(sorted(along))))
                results.append(Result(names.fresh(partial_name(origin, along)), found[r.name, x], origin, along))
    return Program(forward.strip_seeds(program), tuple(equations), tuple(results), program.source)


def partial_name(output: str, wrt: Sequence[str]) -> str:
    """dv_dx, d2v_dx_dy, …"""
    power = "" if len(wrt) == 1 else str(len(wrt))
    return f"d{power}{output}_" + "_".join(f"d{x}" for x in wrt)


def cheaper_mode(program: Program, wrt: Collection[str], of: Collection[str]) -> str:
    """The mode with fewer rule applications, counted on the program: each equation counts once for each input that
    reaches it in forward mode, and once for each output that it reaches in reverse mode."""
    from_inputs: dict[Atom, int] = {program.param(x).var: 1 << i for i, x in enumerate(wrt)}
    forward_cost = reverse_cost = 0
    for e in program.equations:
        mask = _union(from_inputs, e.args)
        if mask and not e.op.truth:
            from_inputs.update(dict.fromkeys(e.outs, mask))
            forward_cost += mask.bit_count()
    to_outputs: dict[Atom, int] = {}
    for i, r in enumerate(r for r in program.results if r.name in of):
        to_outputs[r.atom] = to_outputs.get(r.atom, 0) | 1 << i
    for e in reversed(program.equations):
        mask = _union(to_outputs, e.outs)
        if mask and e.outs[0] in from_inputs:
            reverse_cost += mask.bit_count()
            for a in e.args:
                if not isinstance(a, Lit):
                    to_outputs[a] = to_outputs.get(a, 0) | mask
    return "forward" if forward_cost <= reverse_cost else "reverse"


def _union(masks: dict[Atom, int], atoms: Collection[Atom]) -> int:
    whole = 0
    for a in atoms:
        whole |= masks.get(a, 0)
    return whole
