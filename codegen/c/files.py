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

With `main` the function is a program of its own: rows of CSV in on standard input, the same rows with results behind them out.
It reads as adcli reads tables: columns are found by the names of inputs, in any order, others are kept as they are, and an
input with a default needs no column. Exit codes are ours too: 2 where the table does not fit the function, 5 at a row that
cannot be read; rows before it are written. A row has ROW bytes at most, since nothing is allocated.
"""
from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from string import Template

from adcli.codegen.c.source import CFunction, source, tensor_source
from adcli.codegen.c.spelling import comment, number
from adcli.codegen.emission import EmitOptions
from adcli.codegen.rows.expand import for_machine
from adcli.lang.ir import Lit, Program, Result, has_tensors, shape_of
from adcli.lang.ir.errors import AdError
from adcli.lang.operations.precision import SINGLE, Precision
from adcli.lang.passes.pipeline import evaluation_program

Entry = tuple[int, int, int]
"""Column, row, and place among the results."""


def emit_source(program: Program, header: Sequence[str], options: EmitOptions) -> str:
    """The file of the function."""
    function, program = function_of(program, options)
    before, behind = "", ""
    if options.main:
        if not function.scalars:
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
    if not function.scalars:
        includes = ["stddef", "stdint"]
        lines = [*names(program, name),
                  *array("int", f"{name}_input_ranks", [str(len(p.var.shape)) for p in ins]),
                  *array("int", f"{name}_output_ranks", [str(len(shape_of(r.atom))) for r in outs]),
                  *array("char *const", f"{name}_sizes", [quoted(n) for n in function.sizes])]
    else:
        includes = ["math"] if any(p.default is None for p in ins) else []
        lines = [f"#define {name}_IN {len(ins)}", f"#define {name}_OUT {len(outs)}",
                  *([f"#define {name}_WORK {function.work}"] if function.work else []), "", *names(program, name),
                  *array(function.precision.type, f"{name}_defaults", defaults(program, function.precision)),
                  *(line for kind, entries in (("jacobian", first(program)), ("hessian", second(program))) if entries
                    for line in columns(f"{name}_{kind}", sorted(entries), len(ins)))]
    heads = [h.replace("restrict ", "") + ";" for h in (function.work_head, function.head) if h]
    return comment(header) + "\n".join([
        f"#ifndef {name}_H", f"#define {name}_H", "", *(f"#include <{h}.h>" for h in includes),
        *([""] if includes else []), *lines, "", "#ifdef __cplusplus", 'extern "C" {', "#endif", *heads,
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


# ---------------------------------------------------------------- a function as a program of its own

INCLUDES = "#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"

FILTER = Template(r"""
enum { ${name}_IN = $inputs, ${name}_OUT = $outputs, ${name}_ROW = 1 << 20 };
$tables
static long ${name}_line = 1;    /* of standard input, where the row begins */

/* Ends the program; a NULL is left out. */
static void ${name}_stop(int code, const char *what, const char *which)
{
    fflush(stdout);
    fprintf(stderr, "standard input:%ld: %s%s\n", ${name}_line, what, which ? which : "");
    exit(code);
}

/* Reads a row without the end of its line; returns 0 at the end of the table. */
static int ${name}_row(char *row)
{
    static int lines = 0;
    int c = getchar(), length = 0, inside = 0;
    ${name}_line += lines;
    lines = 1;
    if (c == EOF) return 0;
    for (; c != EOF && (c != '\n' || inside); c = getchar()) {
        if (c == 0) ${name}_stop(5, "a zero byte", NULL);
        if (length == ${name}_ROW - 1) ${name}_stop(5, "a row of more than a megabyte", NULL);
        if (c == '"') inside = !inside;
        if (c == '\n') lines++;
        row[length++] = (char)c;
    }
    if (inside) ${name}_stop(5, "a quote that is not closed", NULL);
    if (length > 0 && row[length - 1] == '\r') length--;
    row[length] = 0;
    return 1;
}

/* The end of the field at `from`: a comma, or the end of the row. */
static char *${name}_end(char *from)
{
    int inside = 0;
    for (; *from && (inside || *from != ','); from++) if (*from == '"') inside = !inside;
    return from;
}

/* Cuts a field out of its row, without blanks and quotes around it. */
static char *${name}_bare(char *from, char *end)
{
    while (from < end && strchr(" \t\"", *from)) from++;
    while (from < end && strchr(" \t\"", end[-1])) end--;
    *end = 0;
    return from;
}

static void ${name}_print($type x)
{
    char text[40];
    int digits = $fewest;
    do snprintf(text, sizeof text, "%.*g", digits, $double x);
    while (digits++ < $most && $read(text, NULL) != x);
    printf(",%s", x != x ? "nan" : text);
}

int main(void)
{
    static char row[${name}_ROW], copy[${name}_ROW];
    static $type in[${name}_IN + 1], out[${name}_OUT + 1];$work
    static int column[${name}_IN + 1];
    int columns = 0, i;
    char *from, *end;
    for (i = 0; i < ${name}_IN; i++) column[i] = -1;
    if (!${name}_row(row)) ${name}_stop(2, "no table: its first line names the columns", NULL);
    strcpy(copy, strncmp(row, "\xef\xbb\xbf", 3) ? row : row + 3);
    strcpy(row, copy);
    for (from = row;; from = end + 1, columns++) {
        const int last = !*(end = ${name}_end(from));
        const char *const found = ${name}_bare(from, end);
        for (i = 0; i < ${name}_IN; i++) {
            if (strcmp(found, ${name}_inputs[i])) continue;
            if (column[i] >= 0) ${name}_stop(2, "two columns are called ", found);
            column[i] = columns;
        }
        for (i = 0; i < ${name}_OUT; i++)
            if (!strcmp(found, ${name}_outputs[i])) ${name}_stop(2, "a column has the name of a result: ", found);
        if (last) break;
    }
    for (i = 0; i < ${name}_IN; i++) {
        in[i] = ${name}_defaults[i];
        if (column[i] < 0 && in[i] != in[i]) ${name}_stop(2, "no column ", ${name}_inputs[i]);
    }
    printf("%s", copy);
    for (i = 0; i < ${name}_OUT; i++) printf(",%s", ${name}_outputs[i]);
    putchar('\n');
    while (${name}_row(row)) {
        int k = 0;
        if (!*row) continue;
        strcpy(copy, row);
        for (from = row;; from = end + 1, k++) {
            const int last = !*(end = ${name}_end(from));
            char *const found = ${name}_bare(from, end), *stop = found;
            for (i = 0; i < ${name}_IN; i++) {
                if (column[i] != k) continue;
                in[i] = $read(found, &stop);
                if (!*found) ${name}_stop(5, "an empty field: ", ${name}_inputs[i]);
                if (*stop || strchr(found, '(')) ${name}_stop(5, "not a number: ", found);
                if (in[i] - in[i] != 0 && strpbrk(found, "0123456789")) ${name}_stop(5, "too large a number: ", found);
            }
            if (last) break;
        }
        if (k != columns) ${name}_stop(5, k < columns ? "too few fields" : "too many fields", NULL);
        $call;
        printf("%s", copy);
        for (i = 0; i < ${name}_OUT; i++) ${name}_print(out[i]);
        putchar('\n');
    }
    if (ferror(stdin)) ${name}_stop(2, strerror(errno), NULL);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "standard output: %s\n", strerror(errno));
        return 2;
    }
    return 0;
}
""")


def filtering(function: CFunction, inputs: int, outputs: int, tables: Sequence[str]) -> str:
    """The text behind the function's that makes a program of it; `tables` have the names of both and the inputs' defaults."""
    name, real, single = function.name, function.precision.type, function.precision is SINGLE
    return FILTER.substitute(
        name=name, inputs=inputs, outputs=outputs, tables="\n".join(tables), type=real,
        double="(double)" if single else "", fewest=6 if single else 15, most=9 if single else 17,
        read="strtof" if single else "strtod", call=f"{name}_work(in, out, work)" if function.work else f"{name}(in, out)",
        work=f"\n    static {real} work[{name}_WORK];" if function.work else "")
