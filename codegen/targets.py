"""What a program can be emitted as: `--emit` name → target. A further target is one line in `TARGETS` and a file.

Emitted files are the same on every machine of an architecture: one lane, libm's names and the baseline processor,
unless asked otherwise. Heavy imports sit in the emitters.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from adcli.codegen.machine.kernel import EntryPoint
from adcli.lang.ir import Program
from adcli.lang.ir.elementwise import needs_scalars
from adcli.lang.ir.errors import AdError, nearest
from adcli.lang.syntax.printer import STYLES, print_program

if TYPE_CHECKING:
    from adcli.codegen.c.tensors import CTensorFunction
    from adcli.codegen.library.plain import LibraryModule
    from adcli.codegen.rows.llvm import Module
    from adcli.codegen.rows.platforms import Platform
    from adcli.lang.ir.precision import Precision

LATEX_NEEDS = "needs: \\usepackage{amsmath}"
LANES = (1, 2, 4, 8)
ABIS = ("plain", "casadi")
CODE = ("symbol", "precision", "lanes", "fast_math", "triple", "cpu")
"""Options of code on rows."""
LLVM_NEEDED = (("splat (", 18), ("@llvm.maximum", 17), ("@llvm.minimum", 17), ("", 15))
"""The first LLVM that reads and compiles IR with such a text in it: a constant vector in short; an operation that earlier
ones cannot select on x86; and everywhere pointers without a type, which LLVM 14 reads with `-opaque-pointers`."""


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What an emitter can be told: `style` is for text, the function's `name` for all others, `lanes` for LLVM and below, `abi`
    for libraries. `triple` and `cpu` name another machine than this one, or another processor of it.

    `fast` licenses a compiler to round otherwise, and machine code to take numbers below the least normal one for 0; `precision`
    is double or single; `main` makes its function a program. AdError for a style or a number of lanes that there is not, and for
    a name that the `language` of the target has another use for.
    """

    style: str = "nested"
    lanes: int = 1
    name: str = "kernel"
    fast: bool = False
    precision: str = "double"
    main: bool = False
    language: str = "C"
    abi: str = "plain"
    triple: str | None = None
    cpu: str | None = None

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise AdError(f"no style '{self.style}'", help=nearest(self.style, STYLES) or f"the styles are {', '.join(STYLES)}")
        if self.lanes not in LANES:
            raise AdError(f"{self.lanes} lanes are not supported", help="lanes are 1, 2, 4 or 8")
        if (other := SYMBOLS[self.language](self.name)) != self.name:
            from adcli.codegen.scripts.module import no_symbol
            raise no_symbol(self.name, self.language, other)

    @property
    def real(self) -> Precision:
        from adcli.lang.ir.precision import PRECISIONS
        return PRECISIONS[self.precision]

    @property
    def machine(self) -> Platform | None:
        """The machine that code is for; None for the least processor of this one."""
        from adcli.codegen.rows.platforms import for_processor, platform
        if self.triple is not None:
            return for_processor(platform(self.triple), self.cpu)
        if self.cpu is not None:
            from adcli.codegen.rows.cross_compile import here
            return for_processor(here(), self.cpu)
        return None

    @property
    def flushing(self) -> str:
        """The architecture on which machine code has bits set that make numbers 0; none without `fast`."""
        from adcli.codegen.rows.flushing import able, here
        if not self.fast:
            return ""
        return able(self.machine.architecture) if self.machine else here()


def c_symbol(text: str) -> str:
    from adcli.codegen.c.spelling import symbol
    return symbol(text)


def js_symbol(text: str) -> str:
    from adcli.codegen.scripts.javascript import LANGUAGE
    return LANGUAGE.symbol(text)


def python_symbol(text: str) -> str:
    from adcli.codegen.scripts.python import LANGUAGE
    return LANGUAGE.symbol(text)


SYMBOLS = {"C": c_symbol, "JavaScript": js_symbol, "Python": python_symbol}
"""What a function can be called in a language: a text as the name nearest to it."""


Emitter = Callable[[Program, Sequence[str], EmitOptions], str | bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """A name for `--emit`, the usual suffix of a file, what it is in a line of help, its emitter, the options that change what it
    writes, and the language that names the function; `tensors` is the emitter for programs with tensors, where they can be
    written."""

    name: str
    suffix: str
    help: str
    emit: Emitter
    options: tuple[str, ...] = CODE
    language: str = "C"
    tensors: Emitter | None = None


def text(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    return print_program(program, options.style, header)


def c(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.c.source import calling, comment, source
    from adcli.codegen.rows.expand import for_machine
    program = for_machine(program)
    written = source(program, options.name, options.fast, precision=options.real)
    before, behind = "", ""
    if options.main:
        from adcli.codegen.c.filter import INCLUDES, filtering
        before, behind = INCLUDES, filtering(program, written)
    return comment([*header, *calling(written, options.fast)]) + before + written.text + behind


def c_tensors(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.c.source import comment
    from adcli.codegen.c.tensors import calling, tensor_source
    from adcli.lang.passes.pipeline import evaluation_program
    if options.main:
        raise AdError("--main reads rows of numbers; this program has tensors or int32 inputs",
                      help="leave out --main, and call the function")
    written = tensor_source(evaluation_program(program), options.name, options.fast, options.real)
    return comment([*header, *calling(written, options.fast)]) + written.text


def c_header_tensors(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.c.header import tensor_declarations
    from adcli.codegen.c.source import comment
    from adcli.codegen.c.tensors import tensor_source
    from adcli.lang.passes.pipeline import evaluation_program
    program = evaluation_program(program)
    written = tensor_source(program, options.name, precision=options.real)
    return comment(header) + tensor_declarations(program, written)


def c_header(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.c.header import declarations
    from adcli.codegen.c.source import comment, source
    from adcli.codegen.rows.expand import for_machine
    program = for_machine(program)
    return comment(header) + declarations(program, source(program, options.name, precision=options.real))


def js(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.scripts.javascript import calling, module
    return commented([*header, *calling(program, options.name)], "//") + module(program, options.name)


def js_tensors(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.scripts.tensors import tensor_calling, tensor_module
    from adcli.lang.passes.pipeline import evaluation_program
    program = evaluation_program(program)
    return commented([*header, *tensor_calling(program, options.name)], "//") + tensor_module(program, options.name)


def python(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.scripts.python import calling, module
    return commented([*header, *calling(program, options.name)], "#") + module(program, options.name)


def python_tensors(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.scripts.arrays import array_module
    from adcli.codegen.scripts.python import tensor_calling
    from adcli.lang.passes.pipeline import evaluation_program
    program = evaluation_program(program)
    return commented([*header, *tensor_calling(program, options.name)], "#") + array_module(program, options.name)


def latex(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.documents.latex import equations
    return commented([*header, LATEX_NEEDS], "%") + equations(program)


def latex_tensors(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.documents.latex import equations
    from adcli.codegen.documents.latex_tensors import TensorLatexWriter
    return commented([*header, LATEX_NEEDS], "%") + equations(program, TensorLatexWriter)


def dot(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    from adcli.codegen.documents.dot import graph
    return commented([*header, "draw: dot -Tsvg FILE"], "//") + graph(program, options.name)


def llvm(program: Program, header: Sequence[str], options: EmitOptions, tensors: bool = False) -> str:
    from adcli.codegen.rows import cross_compile, jit
    flushing = options.flushing if options.machine else ""   # this text is for all machines
    module, call = (compiled_tensors if tensors else compiled)(program, options, flushing)
    written = commented([*header, *call, f"needs LLVM {llvm_needed(module.text)} or newer"], ";") + module.text
    if options.machine is None:
        jit.verify(written)
        return written
    return cross_compile.made(written, options.machine, 0, "text", options.real.type).decode()


def assembly(program: Program, header: Sequence[str], options: EmitOptions, tensors: bool = False) -> str:
    from adcli.codegen.rows import cross_compile, jit
    module, call = (compiled_tensors if tensors else compiled)(program, options, options.flushing)
    mark = "#"
    if options.machine is None:
        code = jit.assembly(module.text, jit.baseline(), module.level)
    else:
        mark = options.machine.comment
        code = cross_compile.made(module.text, options.machine, module.level, "assembly", options.real.type).decode()
    return commented([*header, *call], mark) + code


def object_file(program: Program, header: Sequence[str], options: EmitOptions, tensors: bool = False) -> bytes:
    """The header goes where compilers leave their name, the section .comment: `readelf -p .comment` shows it."""
    module, call = (compiled_tensors if tensors else compiled)(program, options, options.flushing)
    return object_code(module.text, [*header, *call], options, module.level)


def library(program: Program, header: Sequence[str], options: EmitOptions, tensors: bool = False) -> bytes:
    """The header is where that of an object file is."""
    from adcli.codegen.library.link import linked
    from adcli.codegen.rows.llvm import level
    if options.abi not in ABIS:
        raise AdError(f"no interface '{options.abi}'", help=nearest(options.abi, ABIS) or f"the interfaces are {', '.join(ABIS)}")
    module = (library_of_tensors if tensors else library_of_scalars)(program, options)
    code = object_code(module.text, [*header, *module.calling], options, level(module.length))
    return linked(code, module.exports, options.machine if options.triple else None)


def library_of_scalars(program: Program, options: EmitOptions) -> LibraryModule:
    def prepared(p: Program) -> Program:
        return for_options(p, options)

    if options.abi == "casadi":
        from adcli.codegen.library import casadi
        if options.precision != "double":
            raise AdError("--abi casadi has functions of doubles", help="leave out --precision")
        return casadi.module(program, options.name, prepared, options.fast, visible(options), options.flushing)
    from adcli.codegen.library import plain
    return plain.module(program, options.name, prepared, options.fast, visible(options), options.real, options.flushing)


def library_of_tensors(program: Program, options: EmitOptions) -> LibraryModule:
    """What an object file has of a program with tensors."""
    from adcli.codegen.c.tensors import interface
    from adcli.codegen.library.plain import LibraryModule
    if options.abi != "plain":
        raise needs_scalars(program, f"--abi {options.abi}", "leave it out: the library has the functions of C")
    module, function = tensor_module(program, options, options.flushing, visible(options))
    return LibraryModule(module.text, function.exports, tuple(interface(function)), module.length)


def object_code(text: str, header: Sequence[str], options: EmitOptions, level: int) -> bytes:
    from adcli.codegen.rows import cross_compile, jit
    from adcli.codegen.rows.llvm import identification
    marked = text + identification(header)
    if options.machine is None:
        return jit.object_code(marked, jit.baseline(), level)
    return cross_compile.made(marked, options.machine, level, "object", options.real.type)


def visible(options: EmitOptions) -> str:
    """How LLVM is told that a function can be called from outside a library."""
    return options.machine.visible if options.machine else "dllexport" if os.name == "nt" else ""


def compiled(program: Program, options: EmitOptions, flushing: str) -> tuple[Module, list[str]]:
    """The program as LLVM IR, and how it is called; on the architecture `flushing` numbers below the least normal one are 0."""
    from adcli.codegen.rows.llvm import emit
    module = emit(for_options(program, options), options.lanes, name=options.name, fast=options.fast,
                  precision=options.real, flushing=flushing)
    return module, calling(module.entry, options.real.type)


def compiled_tensors(program: Program, options: EmitOptions, flushing: str) -> tuple[Module, list[str]]:
    """The same of a program with tensors."""
    from adcli.codegen.c.tensors import interface
    module, function = tensor_module(program, options, flushing)
    return module, interface(function)


def tensor_module(program: Program, options: EmitOptions, flushing: str, visible: str = "") -> tuple[Module, CTensorFunction]:
    """A program with tensors as LLVM IR, and as the function of C that has its interface; `visible` as `visible` gives it."""
    from adcli.codegen.c.tensors import tensor_source
    from adcli.codegen.nests.standalone import emit
    from adcli.lang.passes.pipeline import evaluation_program
    if options.machine and options.machine.narrow:
        raise needs_scalars(program, f"code for {options.machine.name}, where sizes have 32 bits,",
                            "write --emit c, and compile it there")
    program = evaluation_program(program)
    written = tensor_source(program, options.name, precision=options.real)
    return emit(program, options.lanes, options.name, options.fast, visible, options.real, flushing), written


def for_options(program: Program, options: EmitOptions) -> Program:
    """The program as code is made from it, in terms of what its machine has."""
    from adcli.codegen.rows.expand import expand, for_machine
    from adcli.codegen.rows.instructions import DEFINITIONS
    from adcli.codegen.rows.platforms import EXTREMA
    program = for_machine(program)
    return expand(program, {**DEFINITIONS, **EXTREMA}) if options.machine and options.machine.extrema else program


def llvm_needed(text: str) -> int:
    """The first version of LLVM that can be given this IR."""
    return next(version for part, version in LLVM_NEEDED if part in text)


def calling(entry: EntryPoint, real: str) -> list[str]:
    """How emitted code is called, in the terms of C."""
    several = f"; their number is a multiple of {entry.lanes}" if entry.lanes > 1 else ""
    work = f"{entry.work_bytes} bytes that no other call uses meanwhile" if entry.work_bytes else "not used, may be null"
    return [f"call: void {entry.name}(const {real} *const *in, {real} *const *out, int64_t begin, int64_t end, void *work);",
            "in[i][row] is input i, out[j][row] output j, counted from 0 in the order above, on arrays that do not overlap",
            f"rows: begin to end - 1{several}",
            f"work: {work}"]


def commented(lines: Sequence[str], mark: str) -> str:
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in lines)


TARGETS: dict[str, Target] = {target.name: target for target in (
    Target("text", ".ad", "the program, readable again", text, ("style",), tensors=text),
    Target("c", ".c", "a function of C99", c, ("symbol", "precision", "main", "fast_math"), tensors=c_tensors),
    Target("header", ".h", "its header: sizes, names, defaults and the pattern of zeros", c_header, ("symbol", "precision"),
           tensors=c_header_tensors),
    Target("js", ".mjs", "a module of JavaScript", js, ("symbol",), "JavaScript", js_tensors),
    Target("python", ".py", "a module of Python for NumPy", python, ("symbol",), "Python", python_tensors),
    Target("latex", ".tex", "equations of LaTeX", latex, (), tensors=latex_tensors),
    Target("dot", ".dot", "a graph for Graphviz", dot, ("symbol",), tensors=dot),
    Target("llvm", ".ll", "verified LLVM IR", llvm, tensors=partial(llvm, tensors=True)),
    Target("asm", ".s", "assembly", assembly, tensors=partial(assembly, tensors=True)),
    Target("object", ".o", "an object file", object_file, tensors=partial(object_file, tensors=True)),
    Target("library", ".so", "a shared library", library, ("symbol", "precision", "fast_math", "abi", "triple", "cpu"),
           tensors=partial(library, tensors=True)),
)}
