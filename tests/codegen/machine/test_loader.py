"""Object code runs without LLVM's linker, with the same bits; whatever is wrong with an object is a LoadError."""
import ctypes
import struct
import sys

import pytest
from adcli.codegen.machine import loader, veclib
from adcli.codegen.machine.kernel import EntryPoint, run
from adcli.codegen.machine.loader import LoadError, load
from adcli.codegen.rows import jit, llvm
from native_programs import WIDTHS, everything, long_program
from session_seed import drawn


def compiled(program, lanes=None, level=1):
    module = llvm.emit(program, lanes or veclib.lanes(), veclib.host())
    return jit.object_code(module.text, level=level), module.entry


@pytest.fixture(scope="module")
def some():
    return compiled(everything())


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_same_bits_as_through_llvm(lanes, level):
    for program in (everything(), long_program(3000)):
        code, entry = compiled(program, lanes, level)
        at = [[0.1 * i + 0.2 * j for i in range(11)] for j in range(len(program.params))]
        assert repr(run(load(code, entry), at)) == repr(run(jit.link(code, entry), at))


def test_code_is_executable_and_never_writable(some):
    kernel = load(*some)
    start = int.from_bytes(bytes(ctypes.c_void_p.from_buffer(kernel.function)), sys.byteorder)
    with open("/proc/self/maps") as maps:
        each = [line.replace("-", " ", 1).split() for line in maps]
    rights = [m[2] for m in each if int(m[0], 16) <= start < int(m[1], 16)]
    assert rights == ["r-xp"]


def test_memory_is_given_back():
    code, entry = compiled(everything())

    def mapped():
        with open("/proc/self/maps") as maps:
            return sum(1 for line in maps if " r-xp " in line)
    before = mapped()
    for _ in range(300):
        load(code, entry)
    assert mapped() - before < 10


@pytest.mark.parametrize("length", [0, 1, 40, 63, 64, 200, 1000, -1])
def test_truncated(some, length):
    code, entry = some
    with pytest.raises(LoadError):
        load(code[:length], entry)


def test_another_machine(some):
    code, entry = some
    for at, byte in ((4, 1), (5, 2), (16, 2), (18, 183)):   # 32 bits, big endian, a program, AArch64
        with pytest.raises(LoadError, match="not an object file of this machine"):
            load(code[:at] + bytes([byte]) + code[at + 1:], entry)


def test_another_entry(some):
    code, entry = some
    with pytest.raises(LoadError, match="no other"):
        load(code, entry._replace(name="other"))


def test_a_function_that_the_entry_does_not_name(some):
    code, entry = some
    with pytest.raises(LoadError, match="does not name"):
        load(code, entry._replace(externals=entry.externals[1:]))


def test_a_function_that_this_machine_has_not():
    text = "declare double @no_such_function(double)\ndefine void @f(ptr %i, ptr %o, i64 %b, i64 %e, ptr %w) {\n" \
           "  %x = call double @no_such_function(double 1.0)\n  store double %x, ptr %w\n  ret void\n}\n"
    with pytest.raises(LoadError, match="this machine has no no_such_function"):
        load(jit.object_code(text), EntryPoint("f", 1, 8, 0, 0, ("no_such_function",)))


@pytest.mark.parametrize(("text", "reason"), [
    ("@g = global i64 5\n@p = global ptr @g\n", "writable data"),
    ("@g = external thread_local global i64\n", "relocation of type|does not name"),
])
def test_kinds_of_code_that_are_refused(text, reason):
    text += "define void @f(ptr %i, ptr %o, i64 %b, i64 %e, ptr %w) {\n" \
            "  %x = load i64, ptr @g\n  store i64 %x, ptr %w\n  ret void\n}\n"
    with pytest.raises(LoadError, match=reason):
        load(jit.object_code(text), EntryPoint("f", 1, 8, 0, 0, ()))


def relocations(code):
    """The places in the file of the relocations that are carried out."""
    every = loader.sections(code)
    at, _ = loader.layout(every)
    return [o for s in every if s.type == loader.RELA and s.info in at for o in range(s.offset, s.offset + s.size, 24)]


@pytest.mark.parametrize("field", ["offset", "symbol", "kind", "addend"])
def test_a_relocation_that_leads_out(some, field):
    code, entry = some
    for o in relocations(code):
        offset, info, addend = struct.unpack_from("<QQq", code, o)
        wrong = {"offset": (1 << 40, info, addend), "symbol": (offset, info | 0xffff << 32, addend),
                 "kind": (offset, info & ~0xffffffff | 9, addend), "addend": (offset, info, 1 << 30)}[field]
        changed = bytearray(code)
        struct.pack_into("<QQq", changed, o, *wrong)
        with pytest.raises(LoadError):
            load(bytes(changed), entry)


def test_changed_bytes_are_loaded_or_refused_and_nothing_else(some):
    """Loading is safe whatever the object says; running is another matter, which the checksum of the cache sees to."""
    code, entry = some
    chance, refused = drawn("test_changed_bytes_are_loaded_or_refused_and_nothing_else"), 0
    for _ in range(4000):
        changed = bytearray(code)
        for _ in range(chance.choice((1, 1, 2, 8))):
            where = chance.randrange(len(code)) if chance.random() < 0.3 else chance.randrange(len(code) * 3 // 4, len(code))
            changed[where] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
        try:
            load(bytes(changed), entry)
        except LoadError:
            refused += 1
    assert 100 < refused < 4000


def test_a_system_without_executable_memory(some, monkeypatch):
    before = repr(run(load(*some), [[2.0]]))

    def denied(size, content):
        raise OSError(13, "mprotect")
    monkeypatch.setattr(loader, "made_executable", denied)
    assert repr(run(load(*some), [[2.0]])) == before   # from an unnamed file
    monkeypatch.setattr(loader, "mapped_executable", denied)
    with pytest.raises(LoadError, match="no executable memory"):
        load(*some)


def test_another_operating_system(some, monkeypatch):
    monkeypatch.setattr(loader, "supported", lambda: False)
    with pytest.raises(LoadError, match="not x86-64 Linux"):
        load(*some)
