"""The two tiers of native code for a program of numbers: compiled code, and a tape with its player. The bits are the same.

Programs are compiled. One whose compilation takes over a second longer than it saves at a few points begins on a tape; the work
done there is counted, and when it is as much as compiling is, code is compiled in a thread of its own and takes over between two
blocks of rows. So the rows decide, however they come: in one call, in a stream, in many calls.
"""
from __future__ import annotations

import contextlib
import json
import math
import threading
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import COMPILING, EntryPoint, Kernel, NoExecutableMemory, Pointers, started
from adcli.codegen.machine.tape import Tape, TapeKernel
from adcli.codegen.rows.compiled import compile_program, kept, linked
from adcli.codegen.rows.tier_up import TierUp, finish_at_exit
from adcli.lang.ir.gc import paused

if TYPE_CHECKING:
    from adcli.codegen.machine.cache import Store
    from adcli.lang.ir import Program

TAPE_FROM = 100_000
"""Equations, as `compile_length` counts them, from which on compiling takes a second."""
COMPILE_SECONDS = 10e-6
"""What each takes from program to compiled code: a third of it Python's, the rest LLVM's."""
PLAY_SECONDS = 4e-9
"""What an instruction of a tape takes longer for a block of rows than in compiled code."""
AT_A_TIME = 0.05
"""Seconds of these after which it is looked whether there is compiled code."""


def begins_on_tape(program: Program) -> bool:
    """Whether a program that has been expanded is so long that it begins on a tape."""
    from adcli.codegen.rows.llvm import compile_length
    return compile_length(program) > TAPE_FROM


def blocks_worth(tape: Tape) -> int:
    """How many blocks of rows take as much longer on a tape than in compiled code as compiling takes."""
    return math.ceil(COMPILE_SECONDS * tape.length / (PLAY_SECONDS * tape.instructions))


def blocks_at_a_time(tape: Tape) -> int:
    """How many blocks are played before it is looked whether there is compiled code."""
    return max(1, int(AT_A_TIME / (PLAY_SECONDS * tape.instructions)))


@paused()
def recorded(program: Program, precision: str = "double") -> Tape:
    """The tape of a program as `for_machine` leaves it."""
    from adcli.codegen.rows.encoder import encoded
    from adcli.codegen.rows.expand import expand
    from adcli.codegen.rows.instructions import DEFINITIONS
    from adcli.lang.ir.constants_at import placing_constants
    from adcli.lang.ir.precision import PRECISIONS
    with placing_constants(program, PRECISIONS[precision]):
        return encoded(expand(program, DEFINITIONS), PRECISIONS[precision])


# ---------------------------------------------------------------- the player

_players: dict[tuple[int, str], Kernel] = {}
"""Those of this process, by their lanes and by the letter of their numbers."""


def player(store: Store | None, code: str = "d") -> Kernel:
    """The player for this machine, from the cache where it is there. NoExecutableMemory where the system refuses native code."""
    which = veclib.lanes(array(code).itemsize), code
    with COMPILING:
        if which not in _players:
            _players[which] = kept_player(store, *which) or made_player(store, *which)
        return _players[which]


def begin_player(store: Store | None, code: str = "d") -> None:
    """Begin to make the player in a thread of its own, while the tape is made that it will play. What goes wrong there does so
    again, and is said, where the player is wanted."""
    def make() -> None:
        finish_at_exit()
        with contextlib.suppress(Exception):
            player(store, code)

    started(threading.Thread(target=make, daemon=True))


def player_name(lanes: int, code: str) -> str:
    """Its entry in the cache. OSError where our own files cannot be read."""
    from adcli.codegen.machine.cache import key, surroundings
    return key(["player", str(lanes), code, *surroundings()])


def kept_player(store: Store | None, lanes: int, kind: str = "d") -> Kernel | None:
    """The player from the cache."""
    try:
        name = player_name(lanes, kind) if store else ""
    except OSError:
        return None
    head, _, code = ((store.get(name) if store else None) or b"").partition(b"\n")
    found, _, externals = head.partition(b" ")
    if not name or found != name.encode():
        return None
    return kept(code, EntryPoint("player", lanes, 0, 0, 0, tuple(json.loads(externals)), kind))


def made_player(store: Store | None, lanes: int, kind: str = "d") -> Kernel:
    """The player made anew, and kept."""
    from adcli.codegen.rows import jit
    from adcli.codegen.rows.player import emit
    from adcli.lang.ir.precision import PRECISIONS
    text, entry = emit(lanes, veclib.host(), next(p for p in PRECISIONS.values() if p.code == kind))
    code = jit.object_code(text)
    made = linked(code, entry)
    if store:
        try:
            name = player_name(lanes, kind)
        except OSError:
            return made
        store.put(name, f"{name} {json.dumps(entry.externals)}\n".encode() + code)
    return made


# ---------------------------------------------------------------- from a tape to compiled code

class TieredKernel(Kernel):
    """A tape that is replaced by compiled code, which `make` makes, when it has been played as long as that takes.

    Every call has memory of its own, which a later one uses again.
    """

    __slots__ = ("current", "idle", "succession")

    def __init__(self, tape: TapeKernel, make: Callable[[], Kernel]) -> None:
        self.entry, self.lanes, self.work_bytes = tape.entry._replace(work_bytes=0), tape.lanes, 0
        self.current: Kernel = tape
        self.idle: list[tuple[Kernel, Pointers]] = []

        def rise() -> None:
            self.current = make()

        self.succession = TierUp(rise, blocks_worth(tape.tape))

    def __call__(self, inputs: Pointers, outputs: Pointers, begin: int, end: int, work: Pointers = None) -> None:
        self.succession.spend((end - begin) // self.lanes)
        while begin < end:
            kernel = self.current
            until = min(end, begin + self.lanes * blocks_at_a_time(kernel.tape)) if isinstance(kernel, TapeKernel) else end
            memory = self.memory(kernel)
            kernel(inputs, outputs, begin, until, memory)
            self.idle.append((kernel, memory))
            begin = until

    def memory(self, kernel: Kernel) -> Pointers:
        """Memory for a call."""
        while self.idle:
            owner, memory = self.idle.pop()
            if owner is kernel:
                return memory
        return kernel.workspace()


def on_tape(tape: Tape, tier: str, make: Callable[[], Kernel], store: Store | None) -> Kernel:
    """The kernel that begins with a tape, and stays with it where `tier` says so. NoExecutableMemory where the system refuses
    native code."""
    kernel = TapeKernel(tape, player(store, tape.constants.typecode))
    return kernel if tier == "tape" else TieredKernel(kernel, make)


def native(program: Program, tier: str = "auto", store: Store | None = None, precision: str = "double",
           fast: bool = False) -> Kernel:
    """The program, as `for_machine` leaves it, as native code in a tier, which is compiled where it is to be `fast`; carried out
    by the evaluator where the system refuses native code."""
    def make() -> Kernel:
        return compile_program(program, store=store, precision=precision, fast=fast)

    if tier == "compiled" or fast or (tier == "auto" and not begins_on_tape(program)):
        return make()
    try:
        return on_tape(recorded(program, precision), tier, make, store)
    except NoExecutableMemory:
        return make()
