"""Object code runs without LLVM's linker, with the same bits; whatever is wrong with an object is a LoadError."""
import ctypes
import os
import struct
import sys
from itertools import pairwise

import pytest
from adcli.codegen.machine import loader, veclib
from adcli.codegen.machine.kernel import EntryPoint, run
from adcli.codegen.machine.loader import LoadError, load
from adcli.codegen.rows import jit, llvm
from native_programs import WIDTHS, everything, long_program
from session_seed import drawn, each_choice


def compiled(program, lanes=None, level=1):
    module = llvm.emit(program, lanes or veclib.lanes(), veclib.host())
    return jit.object_code(module.text, level=level), module.entry


@pytest.fixture(scope="module")
def some():
    return compiled(everything())


@pytest.mark.usefixtures("made_well")
@pytest.mark.parametrize(("lanes", "level"), each_choice(WIDTHS, [0, 1, 2]))
def test_same_bits_as_through_llvm(lanes, level):
    for program in (everything(), long_program(1500)):
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
    for _ in range(60):
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


def changed_field(code, at, layout, **fields):
    """The object with other values in the record at a place of the file."""
    record = layout._make((loader.SECTION if layout is loader.ElfSection else loader.SYMBOL).unpack_from(code, at))
    data = bytearray(code)
    (loader.SECTION if layout is loader.ElfSection else loader.SYMBOL).pack_into(data, at, *record._replace(**fields))
    return bytes(data)


def places(code):
    """Where the records of the sections lie in the file by type (of code, and of its relocations); that of a symbol in code; and
    the section of code."""
    every = loader.sections(code)
    table = loader.HEADER.unpack_from(code)[6]
    found = {s.type: table + i * loader.SECTION.size for i, s in enumerate(every)}
    code_at = next(i for i, s in enumerate(every) if s.flags & loader.EXECUTE and s.size)
    for i, s in enumerate(every):
        if i == code_at or (s.type, s.info) == (loader.RELA, code_at):
            found[s.type] = table + i * loader.SECTION.size
    [names] = [s for s in every if s.type == loader.SYMTAB]
    inside = [names.offset + i * loader.SYMBOL.size for i in range(names.size // loader.SYMBOL.size)
              if loader.ElfSymbol(*loader.SYMBOL.unpack_from(code, names.offset + i * loader.SYMBOL.size)).section == code_at]
    return found, inside[-1], every[code_at]


@pytest.mark.parametrize(("section", "fields", "reason"), [
    (loader.PROGBITS, {"addralign": 48}, "a section of strange size or alignment"),
    (loader.PROGBITS, {"addralign": 2 * loader.PAGE}, "a section of strange size or alignment"),
    (loader.PROGBITS, {"type": loader.NOBITS, "size": loader.LARGEST_CODE + 1}, "a section of strange size or alignment"),
    (loader.PROGBITS, {"type": loader.NOBITS, "size": loader.LARGEST_CODE}, "more code than fits"),
    (loader.PROGBITS, {"size": 1 << 40}, "a section of strange size or alignment"),
    (loader.PROGBITS, {"offset": 1 << 40}, "a truncated object"),
    (loader.PROGBITS, {"flags": loader.ALLOC | loader.EXECUTE | loader.WRITE}, "writable data"),
    (loader.PROGBITS, {"flags": loader.ALLOC}, "the object code has no {entry}"),
    (loader.PROGBITS, {"size": 1}, "a symbol outside its section"),
    (loader.RELA, {"type": loader.REL}, "relocations without addends"),
    (loader.RELA, {"size": 24 * 10_000}, "a truncated object"),
    (loader.RELA, {"size": 25}, "a malformed object: error('iterative unpacking requires a buffer of a multiple of 24 bytes')"),
    (loader.SYMTAB, {"link": 0}, "no symbol table"), (loader.SYMTAB, {"link": 0xffff}, "no symbol table"),
    (loader.SYMTAB, {"link": 1000}, "no symbol table"), (loader.SYMTAB, {"type": loader.STRTAB}, "no symbol table"),
    (loader.RELA, {"type": loader.SYMTAB}, "no symbol table"), (loader.STRTAB, {"type": loader.PROGBITS}, "no symbol table"),
])
def test_a_section_that_cannot_be(some, section, fields, reason):
    code, entry = some
    found, _, _ = places(code)
    with pytest.raises(LoadError) as fault:
        load(changed_field(code, found[section], loader.ElfSection, **fields), entry)
    assert str(fault.value) == reason.replace("{entry}", entry.name)


def test_alignments_that_are_kept(some):
    """Each power of two up to a page; what is aligned to 0 bytes lies anywhere."""
    code, entry = some
    found, _, _ = places(code)
    for align in (0, 1, 2, 64, loader.PAGE):
        changed = changed_field(code, found[loader.PROGBITS], loader.ElfSection, addralign=align)
        at, end = loader.layout(loader.sections(changed))
        for i, s in enumerate(every := loader.sections(changed)):
            if i in at:
                assert at[i] % max(s.addralign, 1) == 0 and at[i] + s.size <= end
        ends = sorted((at[i], at[i] + every[i].size) for i in at)
        assert all(low >= high for (_, high), (low, _) in pairwise(ends))
        assert load(changed, entry)


def test_no_symbol_lies_behind_its_section(some):
    code, entry = some
    _, symbol, section = places(code)
    assert load(changed_field(code, symbol, loader.ElfSymbol, value=section.size), entry)
    with pytest.raises(LoadError, match="a symbol outside its section"):
        load(changed_field(code, symbol, loader.ElfSymbol, value=section.size + 1), entry)


def test_all_sections_together_are_not_too_much(some, monkeypatch):
    loading = loader.Loading(*some)
    for most, fits in ((loading.size, True), (loading.size - 1, False)):
        monkeypatch.setattr(loader, "LARGEST_CODE", most)
        if fits:
            assert load(*some)
        else:
            with pytest.raises(LoadError, match="more code than fits"):
                load(*some)


def relocations(code):
    """The places in the file of the relocations that are carried out."""
    every = loader.sections(code)
    at, _ = loader.layout(every)
    return [o for s in every if s.type == loader.RELA and s.info in at for o in range(s.offset, s.offset + s.size, 24)]


@pytest.mark.parametrize(("field", "reason"), [
    ("offset", "a relocation outside its section"), ("symbol", "a malformed object: KeyError("), ("kind", "relocation of type 9"),
    ("addend", "a reference out of the code")])
def test_a_relocation_that_leads_out(some, field, reason):
    code, entry = some
    every = relocations(code)
    for o in {every[0], every[-1], *drawn("relocations", field).sample(every, 20)}:
        offset, info, addend = struct.unpack_from("<QQq", code, o)
        wrong = {"offset": (1 << 40, info, addend), "symbol": (offset, info | 0xffff << 32, addend),
                 "kind": (offset, info & ~0xffffffff | 9, addend), "addend": (offset, info, 1 << 30)}[field]
        changed = bytearray(code)
        struct.pack_into("<QQq", changed, o, *wrong)
        with pytest.raises(LoadError) as fault:
            load(bytes(changed), entry)
        assert str(fault.value).startswith(reason)


def test_a_relocation_ends_with_its_section_at_the_latest(some):
    code, entry = some
    _, _, section = places(code)
    for o in relocations(code):
        offset, info, addend = struct.unpack_from("<QQq", code, o)
        size = struct.calcsize(loader.RELOCATED_AS[info & 0xffffffff])
        for last, fits in ((section.size - size, True), (section.size - size + 1, False)):
            changed = bytearray(code)
            struct.pack_into("<QQq", changed, o, last, info, addend)
            if offset < section.size and fits:
                load(bytes(changed), entry)
            elif not fits:
                with pytest.raises(LoadError, match="a relocation outside its section"):
                    load(bytes(changed), entry)
        break


@pytest.mark.parametrize("name", ["ceil", "floor", "trunc", "rint", "roundeven", "nearbyint", "fma", "fmax", "fmin",
                                  "memset", "memcpy", "memmove"])
def test_what_llvm_calls_without_being_told_is_allowed(some, name):
    code, entry = some
    assert loader.Loading(code, entry._replace(externals=())).function(name) == loader.find(name)


@pytest.mark.parametrize("there", [0, -8, -9, 1])
def test_a_reference_may_end_where_the_code_does(some, there):
    """One that counts from the end of its instruction may come before the code by that instruction."""
    code, entry = some
    loading = loader.Loading(code, entry)
    o = relocations(code)[0]
    _, info, _ = struct.unpack_from("<QQq", code, o)
    at = loading.places(bytearray(loading.size))[0][0][info >> 32]
    changed = bytearray(code)
    struct.pack_into("<q", changed, o + 16, (there if there < 0 else loading.size + there) - at)
    if there in (0, -8):
        load(bytes(changed), entry)
    else:
        with pytest.raises(LoadError, match="a reference out of the code"):
            load(bytes(changed), entry)


@pytest.mark.no_cover
def test_changed_bytes_are_loaded_or_refused_and_nothing_else(some):
    """Loading is safe whatever the object says; running is another matter, which the checksum of the cache sees to."""
    code, entry = some
    chance, refused = drawn("test_changed_bytes_are_loaded_or_refused_and_nothing_else"), 0
    for _ in range(600):
        changed = bytearray(code)
        for _ in range(chance.choice((1, 1, 2, 8))):
            where = chance.randrange(len(code)) if chance.random() < 0.3 else chance.randrange(len(code) * 3 // 4, len(code))
            changed[where] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
        try:
            load(bytes(changed), entry)
        except LoadError:
            refused += 1
    assert 15 < refused < 600


def test_a_system_without_executable_memory(some, monkeypatch):
    before = repr(run(load(*some), [[2.0]]))
    monkeypatch.setattr(loader, "made_executable", refused)
    assert repr(run(load(*some), [[2.0]])) == before   # from an unnamed file
    monkeypatch.setattr(loader, "mapped_executable", refused)
    with pytest.raises(LoadError, match="no executable memory"):
        load(*some)


def test_what_cannot_be_mapped_is_refused(some, monkeypatch):
    """Neither pages that may be made executable, nor a file that may be mapped: by what the calls of the C library answer."""
    original = loader.c_function
    for answer in (None, loader.FAILED):
        monkeypatch.setattr(loader, "c_function", lambda name, answer=answer: {
            "mprotect": lambda *args: -1, "mmap": lambda *args: answer}.get(name) or original(name))
        assert not loader.allowed()
        with pytest.raises(LoadError, match=r"no executable memory: .*mmap"):
            load(*some)
    monkeypatch.setattr(loader, "c_function", original)
    monkeypatch.delattr(loader.os, "memfd_create")
    assert loader.allowed() and load(*some)
    monkeypatch.setattr(loader, "c_function", lambda name: lambda *args: -1)
    with pytest.raises(LoadError, match="no executable memory"):
        load(*some)


def test_pages_of_a_file_are_given_back_and_the_file_is_closed(some, monkeypatch):
    def held():
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), sum("memfd:adcli" in line for line in maps)
    before = held()
    monkeypatch.setattr(loader, "made_executable", refused)
    kernels = [load(*some) for _ in range(3)]
    with open("/proc/self/maps") as maps:
        assert {line.split()[1] for line in maps if "memfd:adcli" in line} == {"r-xs"}
    assert held()[0] == before[0] and held()[1] == before[1] + 3
    del kernels
    assert held() == before


def refused(size, content):
    raise OSError(13, "mprotect")


@pytest.mark.parametrize(("where", "name", "value"), [
    (sys, "platform", "darwin"), (sys, "maxsize", 2**31 - 1),
    (os, "uname", lambda: os.uname_result(("", "", "", "", "aarch64")))])
def test_one_kind_of_machine_is_supported(monkeypatch, where, name, value):
    assert loader.supported()
    monkeypatch.setattr(where, name, value)
    assert not loader.supported()


def test_a_library_that_is_not_there_hides_no_other(monkeypatch):
    monkeypatch.setattr(loader, "LIBRARIES", ("libnone.so.99", *loader.LIBRARIES))
    assert [lib._name for lib in loader.libraries.__wrapped__()] == [lib._name for lib in loader.libraries()]
    assert loader.find.__wrapped__("sin") == loader.find("sin") and loader.find("no_such_function") is None


def test_another_operating_system(some, monkeypatch):
    monkeypatch.setattr(loader, "supported", lambda: False)
    with pytest.raises(LoadError, match="not x86-64 Linux"):
        load(*some)
