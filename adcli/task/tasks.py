"""What an evaluating verb works on: a derivative program with its native code, from the cache where it is there.

A Task from the cache has programs without equations: inputs, results and notes are all that an evaluation needs. Nothing is
parsed, differentiated or compiled then, and the modules that do so are not even imported. `whole` gives the Task with
equations when a result has to be explained.
"""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.codegen.machine import cache
from adcli.codegen.machine.kernel import CodegenError, Entry, Kernel
from adcli.codegen.machine.loader import LoadError, load
from adcli.lang.ir import Param, Program, Result, Var
from adcli.lang.ir.errors import Note, Source

if TYPE_CHECKING:
    from adcli.codegen.rows.llvm import Module
    from adcli.lang.derive.derivatives import Step


class Request(NamedTuple):
    """What a user asks for: everything that the derivative program depends on."""

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

    def key(self) -> str:
        """The name of the cache entry, here and now."""
        asked = json.dumps([getattr(self, name) for name in self._fields if name != "source"])
        return cache.key([self.source.text, self.source.name, asked, *cache.surroundings()])


class Slot(NamedTuple):
    """A place for one entry."""

    store: cache.Store
    key: str


class Task:
    """What a verb computes: the derivative `program` of `primal` with respect to `wrt`, at its `seeds` where they are given.

    Code that is made is kept in the `slot` of the cache, if there is one.
    """

    def __init__(self, request: Request, primal: Program, program: Program, wrt: list[str],
                 steps: Sequence[Step] = (), slot: Slot | None = None) -> None:
        self.request, self.primal, self.program, self.wrt, self.slot = request, primal, program, wrt, slot
        self.steps = steps
        self.seeds: dict[str, Any] = {}

    @property
    def tensors(self) -> bool:
        """Whether this is about a program with tensors. No code is kept of those, so they are never without equations."""
        from adcli.lang.ir.elementwise import has_tensors
        return has_tensors(self.primal)

    @property
    def verb(self) -> str:
        return self.request.verb

    @property
    def derivative(self) -> Program:
        """The derivative program; the program itself where nothing is derived."""
        return self.primal if self.verb == "eval" else self.program

    @property
    def mode(self) -> str:
        """The mode of differentiation in words."""
        from adcli.task.derive import modes
        return modes(self.request, self.steps)

    def at(self, seeds: dict[str, float], derive: bool) -> Task:
        """The task with its seeds given. With `derive`, what a zero seed would have caused is left out of the program."""
        self.seeds = seeds
        if derive and seeds:
            from adcli.task.derive import along
            self.program = along(self.request, self.primal, self.program, self.wrt, seeds)
        return self

    def whole(self) -> Task:
        """The same with the equations of its programs."""
        return self

    @cached_property
    def kernel(self) -> Kernel:
        """Native code for the derivative with the status as its last result; what was made is kept."""
        from adcli.codegen.machine.veclib import host, lanes
        from adcli.codegen.rows import jit
        from adcli.codegen.rows.expand import for_machine
        from adcli.codegen.rows.llvm import emit
        from adcli.lang.ir.gc import paused
        from adcli.lang.passes.status import with_status
        with paused():
            program = for_machine(with_status(self.program, self.primal, self.wrt))
            module = emit(program, lanes(), host(), fast=self.request.fast)
            code = jit.object_code(module.text, level=jit.effort(module))
        kernel = linked(code, module.entry)
        if self.slot:
            self.slot.store.put(self.slot.key, pack(self, module, code))
        return kernel


class Kept(Task):
    """A Task from the cache: its programs have no equations."""

    @property
    def tensors(self) -> bool:
        return False

    def whole(self) -> Task:
        return made(self.request, None)


def prepared(request: Request, options: Mapping[str, Any]) -> Task:
    """The Task for a request. AdError if the program or what is asked of it is wrong."""
    if options["no_cache"] or options["emit"]:
        return made(request, None)
    try:
        slot = Slot(cache.Store(cache.location(), cache.to_stderr), request.key())
    except OSError:   # our own files cannot be looked at
        return made(request, None)
    data = slot.store.get(slot.key)
    return (unpack(request, data) if data is not None else None) or made(request, slot)


def made(request: Request, slot: Slot | None) -> Task:
    from adcli.task.derive import derived
    primal, program, wrt, steps = derived(request)
    return Task(request, primal, program, wrt, steps, slot)


def linked(code: bytes, entry: Entry) -> Kernel:
    """Object code made callable: without LLVM where that is possible."""
    try:
        return load(code, entry)
    except LoadError:
        from adcli.codegen.rows import jit
        return jit.link(code, entry)


# ---------------------------------------------------------------- entries of the cache

def pack(made: Task, module: Module, code: bytes) -> bytes:
    """What an evaluation needs of a Task: a line of JSON, then the object code."""
    head = {
        "entry": list(module.entry), "wrt": made.wrt, "own": len(made.primal.params),
        "params": [[p.name, p.default, p.low, p.high, p.active, p.seed] for p in made.program.params],
        "outputs": [r.name for r in made.primal.results],
        "results": [[r.name, r.of, r.wrt] for r in made.program.results],
        "notes": [[n.message, n.span] for n in made.primal.notes],
    }
    return json.dumps(head).encode() + b"\n" + code


def unpack(request: Request, data: bytes) -> Task | None:
    """The Task of a verified entry; None where this machine cannot run its code after all."""
    text, _, code = data.partition(b"\n")
    head: dict[str, Any] = json.loads(text)
    params = tuple(Param(Var(p[0]), *p) for p in head["params"])
    notes = tuple(Note(message, span and tuple(span), request.source) for message, span in head["notes"])
    outputs = tuple(Result(name, Var(name)) for name in head["outputs"])
    results = tuple(Result(name, Var(name), of, tuple(wrt)) for name, of, wrt in head["results"])
    primal = Program(params[:head["own"]], (), outputs, request.source, notes)
    kept = Kept(request, primal, Program(params, (), results, request.source), head["wrt"])
    *entry, externals = head["entry"]
    try:
        kept.kernel = linked(code, Entry._make([*entry, tuple(externals)]))
    except CodegenError:
        return None
    return kept
