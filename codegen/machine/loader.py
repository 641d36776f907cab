"""Object code into executable memory without LLVM, whose import alone takes longer than the rest of a short run.

It reads what `adcli.codegen.rows.jit` writes on Linux for x86-64: ELF relocatable objects without writable data, one behind
another, whose functions may call each other. All sections that are needed at run time lie in one mapping, so references between
them fit 32 bits; a function outside is reached through a stub at the mapping's end that holds its address. Memory is never
writable and executable at once: pages are written first and then made executable and read-only, and a system that refuses that
too (`PR_SET_MDWE`, systemd's MemoryDenyWriteExecute) gets the pages of an unnamed file, which are executable from the first and
written through the file.
Whatever the object says is checked against its own length and that of the mapping: nothing is written outside the mapping,
and no reference leads out of it but to functions of the maths libraries and the C library's loops over memory.

Everything else (another machine, another kind of relocation, a system that allows no executable memory) is a LoadError;
the caller has `adcli.codegen.rows.jit.link` for it.
"""
from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from adcli.codegen.machine.kernel import EntryPoint, Kernel

HEADER, SECTION, SYMBOL, RELOCATION = (struct.Struct(f) for f in ("<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QQq"))
IDENT = b"\x7fELF\x02\x01\x01"
RELOCATABLE, X86_64 = 1, 62
PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, REL = 1, 2, 3, 4, 8, 9
WRITE, ALLOC, EXECUTE = 1, 2, 4
ABS64, PC32, PLT32, PC64 = 1, 2, 4, 24
LOCAL = 0
"""How a symbol is bound that other objects do not see."""
RELOCATED_AS = {ABS64: "<Q", PC32: "<i", PLT32: "<i", PC64: "<q"}
PAGE = 4096
LARGEST_CODE = 1 << 30
"""Bytes of one object in memory."""
STUB = b"\xff\x25\x02\0\0\0\x90\x90"
"""jmp *[rip + 2]: the address follows."""
LIBRARIES = ("libm.so.6", "libmvec.so.1", "libc.so.6")
INSTEAD = frozenset(("ceil", "floor", "trunc", "rint", "roundeven", "nearbyint", "fma", "fmax", "fmin", "memset", "memcpy",
                     "memmove"))
"""Functions that LLVM calls where the processor lacks an instruction, and for loops over memory; no program names them as
external."""


FAILED = ctypes.c_void_p(-1).value
MAPPING_CALLS: dict[str, tuple[Any, ...]] = {
    "mprotect": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    "munmap": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    "mmap": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)}
"""Their results, then their arguments."""


class LoadError(Exception):
    """This object cannot be loaded here: `adcli.codegen.rows.jit.link` may."""


class ElfSection(NamedTuple):
    """A section header; the names are those of the ELF specification."""

    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    addralign: int
    entsize: int


class ElfSymbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


def supported() -> bool:
    """True on machines whose object files are understood here."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 1 << 32


def load(code: bytes, entry: EntryPoint) -> Kernel:
    """The kernel in an object file that `object_code` made for this machine. LoadError if that is not possible."""
    if not supported():
        raise LoadError("not x86-64 Linux")
    try:
        return Loading(code, entry).kernel()
    except (struct.error, IndexError, KeyError, ValueError, OverflowError) as error:
        raise LoadError(f"a malformed object: {error!r}") from error
    except (OSError, AttributeError) as error:   # a system may have no unnamed files
        raise LoadError(f"no executable memory: {error}") from error


class ObjectFile:
    """A parsed object file. Offsets in `at` count from the start of the mapping, where its sections lie behind `begin`."""

    def __init__(self, code: bytes, begin: int = 0) -> None:
        self.code, self.sections = code, sections(code)
        self.symbols, self.strings = symbols(code, self.sections)
        self.at, self.end = layout(self.sections, begin)

    def name(self, symbol: int) -> str:
        start = self.symbols[symbol].name
        return self.strings[start:self.strings.index(b"\0", start)].decode("ascii")

    def copy(self, memory: bytearray) -> None:
        for i, at in self.at.items():
            s = self.sections[i]
            if s.type == PROGBITS:
                memory[at:at + s.size] = part(self.code, s.offset, s.size)

    def inside(self) -> dict[int, int]:
        """Where each symbol lies that is defined here."""
        place = {}
        for i, s in enumerate(self.symbols):
            if s.section in self.at:
                if s.value > self.sections[s.section].size:
                    raise LoadError("a symbol outside its section")
                place[i] = self.at[s.section] + s.value
        return place

    def outside(self) -> Iterator[tuple[int, str]]:
        """The symbols that are not, with their names."""
        return ((i, self.name(i)) for i, s in enumerate(self.symbols) if i and s.section == 0)

    def functions(self, place: dict[int, int]) -> dict[str, int]:
        """Where the functions lie that others may call, by name."""
        return {self.name(i): at for i, at in place.items()
                if self.symbols[i].info >> 4 != LOCAL and self.sections[self.symbols[i].section].flags & EXECUTE}

    def relocate(self, memory: bytearray, base: int, place: dict[int, int]) -> None:
        for s in self.sections:
            if s.type == REL and s.info in self.at:
                raise LoadError("relocations without addends")
            if s.type != RELA or s.info not in self.at:
                continue
            target = self.sections[s.info]
            for offset, info, addend in RELOCATION.iter_unpack(part(self.code, s.offset, s.size)):
                kind = info & 0xffffffff
                if kind not in RELOCATED_AS:
                    raise LoadError(f"relocation of type {kind}")
                if offset + struct.calcsize(RELOCATED_AS[kind]) > target.size:
                    raise LoadError("a relocation outside its section")
                here, there = self.at[s.info] + offset, place[info >> 32] + addend
                # The processor counts from the end of the instruction, which the addend takes into account.
                if not -8 <= there <= len(memory):
                    raise LoadError("a reference out of the code")
                struct.pack_into(RELOCATED_AS[kind], memory, here, base + there if kind == ABS64 else there - here)


class Loading:
    """Objects on their way into memory. Offsets count from the start of the mapping."""

    def __init__(self, code: bytes, entry: EntryPoint) -> None:
        self.entry = entry
        self.objects: list[ObjectFile] = []
        end = 0
        for each in object_files(code):
            self.objects.append(ObjectFile(each, end))
            end = self.objects[-1].end
        self.stubs = -(-end // 16) * 16
        self.size = self.stubs + 16 * sum(1 for o in self.objects for _ in o.outside())
        if self.size > LARGEST_CODE:
            raise LoadError("more code than fits")

    def kernel(self) -> Kernel:
        memory = bytearray(self.size)
        for o in self.objects:
            o.copy(memory)
        places, functions = self.places(memory)
        if self.entry.name not in functions:
            raise LoadError(f"the object code has no {self.entry.name}")

        def placed(base: int) -> bytearray:
            for o, place in zip(self.objects, places, strict=True):
                o.relocate(memory, base, place)
            return memory

        held, base = executable(self.size, placed)
        return Kernel(self.entry, base + functions[self.entry.name], held)

    def places(self, memory: bytearray) -> tuple[list[dict[int, int]], dict[str, int]]:
        """Where each symbol of each object lies, those outside all of them at a stub that is written here; and the functions."""
        places, functions, at = [o.inside() for o in self.objects], dict[str, int](), self.stubs
        for o, place in zip(self.objects, places, strict=True):
            functions.update(o.functions(place))
        for o, place in zip(self.objects, places, strict=True):
            for i, name in o.outside():
                place[i] = functions.get(name, at)
                if name not in functions:
                    memory[at:at + 16] = STUB + struct.pack("<Q", self.function(name))
                    at += 16
        return places, functions

    def function(self, name: str) -> int:
        """The address of a function of the libraries."""
        if name not in self.entry.externals and name not in INSTEAD:
            raise LoadError(f"the code calls {name}, which its entry does not name")
        address = find(name)
        if not address:
            raise LoadError(f"this machine has no {name}")
        return address


def object_files(code: bytes) -> list[bytes]:
    """The objects that lie one behind another: each ends with the table of its sections."""
    found: list[bytes] = []
    at = 0
    while at < len(code) or not found:
        table, count = section_table(code[at:at + HEADER.size])
        end = at + max(HEADER.size, table + count * SECTION.size)
        found.append(part(code, at, end - at))
        at = end
    return found


def section_table(code: bytes) -> tuple[int, int]:
    """Where the headers of the sections lie, and their number."""
    header = HEADER.unpack_from(code)
    if header[0][:7] != IDENT or header[1] != RELOCATABLE or header[2] != X86_64 or header[11] != SECTION.size:
        raise LoadError("not an object file of this machine")
    return header[6], header[12]


def sections(code: bytes) -> list[ElfSection]:
    table, count = section_table(code)
    return [ElfSection(*fields) for fields in SECTION.iter_unpack(part(code, table, SECTION.size * count))]


def symbols(code: bytes, every: list[ElfSection]) -> tuple[list[ElfSymbol], bytes]:
    """The symbols, and the text that holds their names."""
    tables = [s for s in every if s.type == SYMTAB]
    if len(tables) != 1 or not 0 < tables[0].link < len(every) or every[tables[0].link].type != STRTAB:
        raise LoadError("no symbol table")
    strings = every[tables[0].link]
    found = [ElfSymbol(*fields) for fields in SYMBOL.iter_unpack(part(code, tables[0].offset, tables[0].size))]
    return found, part(code, strings.offset, strings.size)


def layout(every: list[ElfSection], end: int = 0) -> tuple[dict[int, int], int]:
    """Where each section that is needed at run time goes, behind what ends at `end`, and where they end."""
    at = {}
    for i, s in enumerate(every):
        if s.flags & ALLOC and s.type in (PROGBITS, NOBITS) and s.size:
            if s.flags & WRITE:
                raise LoadError("writable data")
            align = max(s.addralign, 1)
            if align & (align - 1) or align > PAGE or s.size > LARGEST_CODE:
                raise LoadError("a section of strange size or alignment")
            at[i] = -(-end // align) * align
            end = at[i] + s.size
    return at, end


def part(code: bytes, offset: int, size: int) -> bytes:
    """A piece of the file, which must hold all of it."""
    if offset + size > len(code):
        raise LoadError("a truncated object")
    return code[offset:offset + size]


# ---------------------------------------------------------------- executable memory

Placed = Callable[[int], bytearray]
"""The content of memory, given its address."""


def executable(size: int, content: Placed) -> tuple[object, int]:
    """Memory with this content, readable and executable: what holds it, and its address. OSError where the system has none."""
    try:
        return made_executable(size, content)
    except OSError:
        return mapped_executable(size, content)


def made_executable(size: int, content: Placed) -> tuple[mmap.mmap, int]:
    """Pages that are written and then protected."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[:] = content(base)
    if c_function("mprotect")(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError("mprotect")
    return memory, base


def mapped_executable(size: int, content: Placed) -> tuple[Mapped, int]:
    """Pages of an unnamed file, which are executable from the first and written as a file."""
    handle = os.memfd_create("adcli", os.MFD_CLOEXEC)
    try:
        os.ftruncate(handle, size)
        mapped = Mapped(handle, size)
        os.pwrite(handle, content(mapped.address), 0)
        return mapped, mapped.address
    finally:
        os.close(handle)


class Mapped:
    """All pages of a file, readable and executable, as long as this lives. (A mapping of Python's that cannot be written to does
    not tell its address.)"""

    def __init__(self, handle: int, size: int) -> None:
        self.size, self.address = size, 0
        found = c_function("mmap")(None, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_SHARED, handle, 0)
        if found is None or found == FAILED:
            raise OSError(ctypes.get_errno(), "mmap")
        self.address = int(found)
        self.unmap = c_function("munmap")

    def __del__(self) -> None:
        if self.address:
            self.unmap(self.address, self.size)


def c_function(name: str) -> Any:
    """A function of the C library that works on mappings."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    result, *arguments = MAPPING_CALLS[name]
    function.restype, function.argtypes = result, arguments
    return function


def allowed() -> bool:
    """True where pages can be written and then made executable, as LLVM's own linker does: refused, it crashes."""
    try:
        made_executable(PAGE, lambda base: bytearray(PAGE))
    except OSError:
        return False
    return True


@cache
def libraries() -> tuple[ctypes.CDLL, ...]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return tuple(found)


@cache
def find(name: str) -> int | None:
    """The address of a function of the libraries, None where they have none of that name."""
    for library in libraries():
        function: Callable[..., object] | None = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]  # a ctypes function
    return None
