"""Task of a verb that evaluates: a derivative with its native code, from the cache where it is there.

A Task from the cache knows the Signature of its derivative and has the code: nothing is parsed, differentiated or compiled
then, and the modules that do so are not even imported. The programs are worked out when somebody asks for them.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.codegen.machine import cache
from adcli.codegen.machine.kernel import EntryPoint, Kernel, NoExecutableMemory, Tape, unpacked
from adcli.codegen.rows.compiled import kept, linked
from adcli.lang.ir import Param, Program, Values, Var
from adcli.lang.ir.errors import AdError, Note
from adcli.output.layout import Layout
from adcli.task.request import Column, Request, Signature
from adcli.task.verbs import VERBS, Verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adcli.input.settings import ResultOptions
    from adcli.lang.ir.affine import Affine
    from adcli.task.derive import DerivedProgram, ShortProgram


class Slot(NamedTuple):
    """A place for one entry."""

    store: cache.Store
    key: str


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A request, the signature of its derivative, and the values of seeds where they are given, and of inputs that are constants.

    Code that is made is kept in the `slot` of the cache, if there is one. `worked`, `linked` and `recorded` are what is there
    already of the programs, the code and the tape; `tier` is the tier of code that is asked for, `jobs` the number of threads.
    `whole` is the program that is asked about, where it is there without its text being read. `counts` are the integers among
    the inputs that sizes are made of, known where a signature with tensors comes from the cache. Code with tensors of a task
    without a slot goes to the `store`, if there is one.
    """

    request: Request
    signature: Signature
    seeds: Values = field(default_factory=dict)
    slot: Slot | None = None
    worked: DerivedProgram | None = None
    linked: Kernel | None = None
    recorded: Tape | None = None
    tier: str = "auto"
    jobs: int | None = None
    whole: Program | None = None
    counts: Sequence[str] | None = None
    store: cache.Store | None = None

    @property
    def verb(self) -> Verb:
        return VERBS[self.request.verb]

    @cached_property
    def derivation(self) -> DerivedProgram:
        """The programs themselves."""
        from adcli.task.derive import derived
        return self.worked or derived(self.request)

    @cached_property
    def short(self) -> ShortProgram | None:
        """The programs with the steps that are taken of loops that end early; None where there are none."""
        from adcli.task.derive import short
        found = short(self.primal)
        found = found and found.derived(self.request)
        own = [r.name for r in self.program.results]   # solvers have programs of their own
        return found if found and [r.name for r in found.worked.program.results] == own else None

    @property
    def primal(self) -> Program:
        """The program with the outputs that are asked for."""
        return self.derivation.primal

    @property
    def program(self) -> Program:
        """The derivative program."""
        return self.derivation.program

    @property
    def mode(self) -> str:
        """The mode of differentiation in words."""
        if self.verb.mode is not None:
            return self.verb.mode
        return " over ".join(step.taken.mode for step in reversed(self.derivation.steps))

    @property
    def free(self) -> tuple[Param, ...]:
        """The inputs that have no value yet."""
        return tuple(p for p in self.signature.inputs if p.name not in self.seeds)

    def layout(self, show_status: bool) -> Layout:
        """Layout of the results. With `show_status` the status is one of them."""
        s = self.signature
        pairs = tuple((c.name, path) for c, path in zip(s.derived, self.verb.places(s), strict=True))
        status = s.names().fresh("status") if show_status else None
        group = self.verb.name if self.verb.differentiates else None
        seeds = {p.name: p.seed or "" for p in s.seeds}
        return Layout(group, tuple(p.name for p in s.own), self.verb.seed or "", seeds, s.values, pairs, status)

    def at(self, seeds: Values, derive: bool) -> Task:
        """The task with its seeds given. With `derive`, what a zero seed would have caused is left out of the program."""
        values = {**self.seeds, **seeds}
        if not (derive and seeds):
            return replace(self, seeds=values)
        worked = self.derivation.along(self.request, seeds)
        return replace(self, seeds=values, worked=worked, signature=worked.signature)

    @cached_property
    def kernel(self) -> Kernel:
        """Native code for the derivative with the status as its last result: compiled, or on a tape first."""
        if self.linked is not None:
            return self.linked
        from adcli.codegen.rows.tiers import on_tape
        try:
            if self.tape:
                return on_tape(self.tape, self.tier, self.compiled, self.slot and self.slot.store)
            return self.compiled()
        except NoExecutableMemory as refused:
            from adcli.codegen.rows.compiled import Interpreted
            cache.to_stderr(f"{refused.message}: programs are interpreted, thousands of times slower")
            from adcli.lang.operations.precision import PRECISIONS
            return Interpreted(self.expanded, PRECISIONS[self.request.precision])

    @cached_property
    def expanded(self) -> Program:
        """The derivative program with its status, as code is made of it."""
        from adcli.codegen.rows.expand import for_machine
        from adcli.lang.ir.records import paused
        from adcli.lang.passes.status import with_status
        with paused():
            return for_machine(with_status(self.program, self.primal, self.derivation.wrt))

    @cached_property
    def tape(self) -> Tape | None:
        """The program's tape, where its code is one or begins with one; what was made is kept. None where code is compiled."""
        if self.recorded or self.linked or self.tier == "compiled" or self.request.fast:
            return self.recorded
        from adcli.codegen.rows.tiers import begins_on_tape, recorded
        if self.tier == "auto" and not begins_on_tape(self.expanded):
            return None
        tape = recorded(self.expanded, self.request.precision)
        self.keep(EntryPoint(TAPE, 1, 0, tape.inputs, tape.outputs, (), tape.constants.typecode), tape.packed())
        return tape

    def compiled(self) -> Kernel:
        """The program's compiled code, made now; it is kept."""
        from adcli.codegen.machine.veclib import host, lanes
        from adcli.codegen.rows import jit
        from adcli.codegen.rows.compiled import kernel_texts
        from adcli.lang.ir.records import paused
        from adcli.lang.operations.precision import PRECISIONS
        with paused():
            real = PRECISIONS[self.request.precision]
            texts = kernel_texts(self.expanded, lanes(real.bytes), host(), self.request.fast, real)
            code = jit.object_codes(texts.texts, texts.level, self.jobs)
        kernel = linked(code, texts.entry)
        self.keep(texts.entry, code)
        return kernel

    def keep(self, entry: EntryPoint, code: bytes) -> None:
        """Put the code into the cache, if there is one."""
        if self.slot:
            self.slot.store.put(self.slot.key, pack(self.signature, entry, code))


def prepared(request: Request, options: ResultOptions, whole: Program | None = None) -> Task:
    """The Task for a request, about its text or the `whole` program. AdError if the program or what is asked of it is wrong."""
    tier = options.tier
    if tier == "auto" and options.in_parts:   # each part is a process, with rows enough
        tier = "compiled"
    elif tier == "auto" and options.data:
        from adcli.codegen.rows.tiers import many_rows
        tier = "compiled" if many_rows(options.data) else tier
    if tier == "tape" and request.fast:
        raise AdError("--tier tape and --fast-math cannot be used together", help="leave out --fast-math")
    if options.emit and options.at:
        from adcli.input.fixed_inputs import with_constants
        from adcli.lang.lower.frontend import parse_source
        program = whole or parse_source(request.source)
        whole, constants = with_constants(program, options.at, options.quiet, options.abi == "casadi")
        return replace(made(request, None, tier, options.jobs, whole), seeds=constants)
    if whole or options.no_cache or options.emit:
        return made(request, None, tier, options.jobs, whole)
    try:
        slot = Slot(cache.Store(cache.location(), cache.to_stderr), request.key())
    except OSError:   # our own files cannot be looked at
        return made(request, None, tier, options.jobs)
    data = slot.store.get(slot.key)
    found = unpack(request, data) if data is not None else None
    if found is None or tier == ("compiled" if found.recorded else "tape"):
        return made(request, slot, tier, options.jobs)
    return replace(found, slot=slot, tier=tier, jobs=options.jobs)


def made(request: Request, slot: Slot | None, tier: str = "auto", jobs: int | None = None, whole: Program | None = None) -> Task:
    from adcli.task.derive import derived
    worked = derived(request, whole)
    return Task(request, worked.signature, slot=slot, worked=worked, tier=tier, jobs=jobs, whole=whole)


# ---------------------------------------------------------------- entries of the cache

TAPE, TENSORS = "tape", "tensors"
"""Names of the entry of a tape, and of a program with tensors, whose code has entries of its own."""
LETTERS = {"double": "d", "single": "f"}
"""The letters that `array` has for the precisions."""


def pack(signature: Signature, entry: EntryPoint, code: bytes, counts: Sequence[str] = ()) -> bytes:
    """Entry of the cache: a line of JSON, then the object code or the tape. Of a program with tensors it is the line, with
    the integers that are `counts`."""
    head = {
        "entry": list(entry), "counts": counts, "wrt": signature.wrt, "outputs": signature.outputs,
        "results": signature.results,
        "inputs": [[p.name, p.default if isinstance(p.default, float) else None, p.low, p.high, p.active, p.seed, p.constraint,
                    [(x.terms, x.constant) for x in p.var.shape], p.var.integer] for p in signature.inputs],
        "notes": [[n.message, *(n.span or (None, None))] for n in signature.notes],
    }
    return json.dumps(head).encode() + b"\n" + code


def unpack(request: Request, data: bytes) -> Task | None:
    """The Task of an entry; None where this machine cannot run its code after all."""
    text, _, code = data.partition(b"\n")
    head = json.loads(text)
    inputs = tuple(Param(Var(p[0], shape=extents(p[7]), integer=p[8]), *p[:7]) for p in head["inputs"])
    if request.source.origin is not None and request.source.origin.data:
        from adcli.lang.lower.frontend import with_defaults  # only for programs with tables of their own
        inputs = with_defaults(inputs, request.source.origin.data)
    signature = Signature(
        inputs=inputs,
        outputs=tuple(head["outputs"]), wrt=tuple(head["wrt"]),
        results=tuple(Column(name, of, tuple(wrt)) for name, of, wrt in head["results"]), source=request.source,
        notes=tuple(Note(said, None if start is None else (start, end), request.source) for said, start, end in head["notes"]))
    *entry, externals, kind = head["entry"]
    point = EntryPoint._make([*entry, tuple(externals), kind])
    if point.name == TENSORS:
        return Task(request, signature._replace(tensors=True), counts=head["counts"])
    if point.name == TAPE:
        return Task(request, signature, recorded=unpacked(code, kind))
    kernel = kept(code, point)
    return None if kernel is None else Task(request, signature, linked=kernel)


def extents(packed: Sequence[Any]) -> tuple[Affine, ...]:
    """The extents of an input, which are sums of sizes."""
    if not packed:
        return ()
    from adcli.lang.ir.affine import Affine  # only for programs with tensors
    return tuple(Affine(tuple(map(tuple, terms)), constant) for terms, constant in packed)


def keep_tensors(task: Task, counts: Sequence[str]) -> None:
    """Keep the signature of a program with tensors, whose inputs have extents that are sums of sizes."""
    signature, code = task.signature, LETTERS[task.request.precision]
    if task.slot and all(isinstance(a, str) for p in signature.inputs for x in p.var.shape for a, _ in x.terms):
        entry = EntryPoint(TENSORS, 1, 0, len(signature.inputs), len(signature.results) + 1, (), code)
        task.slot.store.put(task.slot.key, pack(signature, entry, b"", counts))
