"""The files of a function of C: the function itself, and its header, which has its declaration, what its arrays hold, and which
derivatives are not zero by construction.

    NAME_IN, NAME_OUT                  lengths of the arrays
    NAME_inputs[], NAME_outputs[]      names, in order
    NAME_defaults[]                    a value for each input; NAN where it has no default

and the entries that are not zero by construction, as compressed columns, one for each input: of the Jacobian, with a row for each
output that is no derivative, and of the Hessian's upper triangle, with a row for each input:

    NAME_hessian_start[]               the entries of column j are those from start[j] to start[j + 1] - 1
    NAME_hessian_row[]                 the row of an entry
    NAME_hessian_at[]                  its place in `out`

C and C++ read it; the function's own file does not need it. With tensors it has ranks, and the names of sizes, instead.
"""
from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from adcli.codegen.c.filter import INCLUDES, filtering
from adcli.codegen.c.source import CFunction, source
from adcli.codegen.c.spelling import comment, number
from adcli.codegen.c.tensors import tensor_source
from adcli.codegen.emission import EmitOptions
from adcli.codegen.rows.expand import for_machine
from adcli.lang.ir import Lit, Program, Result, has_tensors, shape_of
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.precision import Precision
from adcli.lang.passes.pipeline import evaluation_program

Entry = tuple[int, int, int]
"""Column, row, and place among the results."""


def emit_source(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    """The file of the function."""
    function, program = function_of(program, options)
    before, behind = "", ""
    if options.main:
        if has_tensors(program):
            raise AdError("--main reads rows of numbers; this program has tensors or int32 inputs",
                          help="leave out --main, and call the function")
        nothing = ["0"]   # C has no array without elements
        tables = [*names(program, function.name, nothing),
                  *array(options.real.type, f"{function.name}_defaults", defaults(program, options.real) or nothing)]
        before, behind = INCLUDES, filtering(function, len(program.params), len(program.results), tables)
    compiled = f"compile: cc -std=c99 -O2 -ffp-contract={'fast' if options.fast else 'off'}, and link with -lm"
    return comment([*header, *function.calling, compiled]) + before + function.text + behind


def emit_header(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    """The header for callers of the function. C++ has no `restrict`, which makes no other function."""
    function, program = function_of(program, options)
    name, ins, outs = function.name, program.params, program.results
    includes = ["stddef", "stdint"] if has_tensors(program) else ["math"] if any(p.default is None for p in ins) else []
    lines = [*(f"#include <{h}.h>" for h in includes), *([""] if includes else [])]
    if has_tensors(program):
        lines += [*names(program, name),
                  *array("int", f"{name}_input_ranks", [str(len(p.var.shape)) for p in ins]),
                  *array("int", f"{name}_output_ranks", [str(len(shape_of(r.atom))) for r in outs]),
                  *array("char *const", f"{name}_sizes", [quoted(n) for n in function.sizes])]
    else:
        lines += [f"#define {name}_IN {len(ins)}", f"#define {name}_OUT {len(outs)}",
                  *([f"#define {name}_WORK {function.work}"] if function.work else []), "", *names(program, name),
                  *array(function.precision.type, f"{name}_defaults", defaults(program, function.precision)),
                  *(line for kind, entries in (("jacobian", first(program)), ("hessian", second(program))) if entries
                    for line in columns(f"{name}_{kind}", sorted(entries), len(ins)))]
    heads = [h.replace("restrict ", "") + ";" for h in (function.work_head, function.head) if h]
    return comment(header) + "\n".join([
        f"#ifndef {name}_H", f"#define {name}_H", "", *lines, "", "#ifdef __cplusplus", 'extern "C" {', "#endif", *heads,
        "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def function_of(program: Program, options: EmitOptions) -> tuple[CFunction, Program]:
    """The function of a program, and the program that it computes."""
    if has_tensors(program):
        program = evaluation_program(program)
        return tensor_source(program, options.name, options.fast, options.real), program
    program = for_machine(program)
    return source(program, options.name, options.fast, precision=options.real), program


def names(program: Program, name: str, nothing: Sequence[str] = ()) -> list[str]:
    """Arrays of the names of inputs and outputs, with `nothing` in those that would be empty."""
    return [*array("char *const", f"{name}_inputs", [quoted(p.name) for p in program.params] or nothing),
            *array("char *const", f"{name}_outputs", [quoted(r.name) for r in program.results] or nothing)]


def defaults(program: Program, precision: Precision) -> list[str]:
    """A value for each input, NAN where it has no default. AdError where it has one that is no number of the precision."""
    found = []
    for p in program.params:
        try:
            found.append(number(math.nan if p.default is None else p.default, precision)[0])
        except AdError as cannot:
            raise AdError(f"the default of {p.name}: {cannot.message}", help=cannot.help) from None
    return found


def first(program: Program) -> list[Entry]:
    """The first derivatives that are not zero by construction."""
    position = {p.name: i for i, p in enumerate(program.params)}
    rows = {r.name: i for i, r in enumerate(r for r in program.results if not r.wrt)}
    return [(position[r.wrt[0]], rows[r.of], k) for k, r in stored(program, 1) if r.of in rows]


def second(program: Program) -> list[Entry]:
    """The second derivatives that are not zero by construction, each once."""
    position = {p.name: i for i, p in enumerate(program.params)}
    found = []
    for k, r in stored(program, 2):
        row, column = sorted(position[x] for x in r.wrt)
        found.append((column, row, k))
    return found


def stored(program: Program, order: int) -> Iterator[tuple[int, Result]]:
    """The derivatives of an order that some point may have other than zero, with their places among the results."""
    known = {p.name for p in program.params}
    for k, r in enumerate(program.results):
        if len(r.wrt) == order and known.issuperset(r.wrt) and not (isinstance(r.atom, Lit) and r.atom.value == 0):
            yield k, r


def columns(name: str, entries: Sequence[Entry], count: int) -> list[str]:
    """Three arrays: where columns start, rows, places."""
    return ["", *array("int", f"{name}_start", [str(k) for k in starts([column for column, _, _ in entries], count)]),
            *array("int", f"{name}_row", [str(row) for _, row, _ in entries]),
            *array("int", f"{name}_at", [str(at) for _, _, at in entries])]


def starts(columns: Sequence[int], count: int) -> list[int]:
    """Where each of `count` columns begins among entries in the order of their columns, and where the last one ends."""
    sizes = Counter(columns)
    return list(accumulate((sizes[j] for j in range(count)), initial=0))


def array(kind: str, name: str, items: Sequence[str]) -> list[str]:
    """A constant array, on as many lines as it needs; C has none without elements."""
    if not items:
        return []
    text = f"static const {kind} {name}[] = {{{', '.join(items)}}};"
    return textwrap.wrap(text, 120, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def quoted(text: str) -> str:
    """A string of C, in ASCII."""
    return json.dumps(text) if text.isascii() else '"' + "".join(
        c if c.isascii() else "".join(f"\\x{b:02x}" for b in c.encode()) + '""' for c in text) + '"'
