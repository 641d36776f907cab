"""A function of C as a program of its own: rows of CSV in on standard input, the same rows with results behind them out.

It reads as adcli reads tables: columns are found by the names of inputs, in any order, others are kept as they are, and an input
with a default needs no column. Exit codes are ours too: 2 where the table does not fit the function, 5 at a row that cannot be
read; rows before it are written. A row has ROW bytes at most, since nothing is allocated.
"""
from __future__ import annotations

from collections.abc import Sequence
from string import Template

from adcli.codegen.c.source import CFunction
from adcli.lang.ir.precision import SINGLE

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
