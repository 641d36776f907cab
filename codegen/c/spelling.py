"""C99 as a language that programs are written in: numbers, names, operations, and functions that it lacks.

A piece of text travels with its level, so that parentheses stand where C needs them, and where compilers warn if there are none.
"""
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache

from adcli.codegen.c.language import Language, SumForm, counting, letters, spelled
from adcli.codegen.c.matrix_functions import MATRICES
from adcli.codegen.c.whole_numbers import WholeNumbers
from adcli.lang.ir.names import words
from adcli.lang.operations.precision import DOUBLE, Precision
from adcli.lang.tree.notation import ATOM, COMPARISON, INFIX, OR, PRODUCT, SUM, TERNARY, UNARY, Piece, call, enclosed

OPERATORS = {**{symbol: level for name, (symbol, level) in INFIX.items() if name != "pow"},
             "===": COMPARISON, "!==": COMPARISON, "&&": INFIX["and"][1], "||": OR, "%": PRODUCT}
"""Binary operators of C and of languages that share its order, with the levels of our language, which does so too."""

HELPERS = {
    "max": """
static REAL $max(REAL x, REAL y)
{
    /* the larger; NaN where one is NaN; 0.0 is above -0.0 */
    return x > y ? x : y > x ? y : x == y && x != ZERO ? x : x + y;
}""",
    "min": """
static REAL $min(REAL x, REAL y)
{
    /* the smaller; NaN where one is NaN; -0.0 is below 0.0 */
    return x < y ? x : y < x ? y : x == y && x != ZERO ? x : -(-x - y);
}""",
    "powi": """
static REAL $powi(REAL x, REAL n)
{
    /* the product of n factors x; for n < 0 its reciprocal */
    REAL z = ONE;
    size_t left = (size_t)(n < ZERO ? -n : n);
    while (left > 0) {
        const REAL longer = z * x;
        const int settled = longer == z || longer == -z || longer != longer;
        left--;
        z = settled && left % 2 != 0 && signbit(x) ? -longer : longer;
        if (settled) break;
    }
    return n < ZERO ? ONE / z : z;
}""",
    "floor": """
static ptrdiff_t $floor(ptrdiff_t x, ptrdiff_t y)
{
    /* the floor of x / y, for y above 0: C rounds to 0 */
    return x / y - (x % y < 0);
}""",
    "least": """
static ptrdiff_t $least(ptrdiff_t x, ptrdiff_t y)
{
    return x < y ? x : y;
}""",
    "greatest": """
static ptrdiff_t $greatest(ptrdiff_t x, ptrdiff_t y)
{
    return x > y ? x : y;
}""",
}
"""Operations that C has not, as functions. Equal numbers other than zeros are the result themselves; the sum of two zeros is -0.0
only if both are, and a sum with NaN is NaN."""


KEYWORDS = words("""
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return
short signed sizeof static struct switch typedef union unsigned void volatile while
alignas alignof asm bool complex constexpr false imaginary noreturn nullptr static_assert thread_local true typeof
and and_eq bitand bitor catch class compl concept const_cast delete dynamic_cast explicit export friend mutable namespace new not
not_eq operator or or_eq private protected public reinterpret_cast static_cast template this throw try typename using virtual
wchar_t xor xor_eq
in out work main linux unix i386 errno stdin stdout stderr assert signgam offsetof
float_t double_t size_t ssize_t ptrdiff_t max_align_t wint_t off_t fpos_t div_t ldiv_t lldiv_t
""") | {f"{sign}int{kind}_t" for sign in ("", "u")
        for kind in ("max", "ptr", *(f"{least}{bits}" for least in ("", "_least", "_fast") for bits in (8, 16, 32, 64)))}
"""Words of C and of C++, what its headers and compilers define, types among it, and the parameters of our functions."""
MATHS = words("""
acos asin atan atan2 ceil copysign cos cosh div erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin fmod fpclassify frexp
gamma hypot ilogb isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered j0 j1 jn
ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo
rint round scalbln scalbn signbit significand sin sinh sqrt tan tanh tgamma trunc y0 y1 yn acosh asinh atanh cbrt drem finite
exp10 pow10 sincos scalb abs
""")
"""The names of <math.h>, standard and customary; with an f or an l behind them they are those of other precisions."""
LIBRARY = words("""
abort atexit atof atoi atol atoll bsearch calloc clearerr exit fclose feof ferror fflush fgetc fgetpos fgets fopen fprintf fputc
fputs fread free freopen fscanf fseek fsetpos ftell fwrite getc getchar getenv gets labs ldiv llabs lldiv longjmp malloc memchr
memcmp memcpy memmove memset mblen mbtowc perror printf putc putchar puts qsort raise rand realloc remove rename rewind scanf
setbuf setlocale setvbuf signal snprintf sprintf srand sscanf strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat
strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull system time tmpfile
tmpnam ungetc vfprintf vprintf vsnprintf vsprintf
""")
"""Other functions of C's library, which no function of a program can be called; a value can."""
CONSTANTS = re.compile(r"[A-Z][A-Z0-9_]*")
"""Names that headers may give a meaning: NAN, INFINITY, M_PI, I."""


WORDS = frozenset((*KEYWORDS, *MATHS, *(f"{name}{kind}" for name in MATHS for kind in "fl")))


def identifier(text: str) -> str:
    """The text in letters that C99 surely has. It is not in capitals only, as macros are."""
    name = letters(text)
    return f"v_{name}" if CONSTANTS.fullmatch(name) and len(name) > 1 else name


def number(value: float, precision: Precision = DOUBLE) -> Piece:
    """A constant: short where decimals are exact, else hexadecimal, so that every compiler has the same bits."""
    if math.isnan(value):
        return f"({precision.type})NAN", UNARY
    if math.isinf(value):
        return f"{'' if value > 0 else '-'}({precision.type})INFINITY", UNARY
    value = precision.nearest(value)
    text = repr(value)
    if not (abs(value) < 2.0 ** precision.digits and value * 8 == math.floor(value * 8)) or "e" in text:
        text = re.sub(r"\.?0*p", "p", value.hex())
    return text + precision.suffix, UNARY if text.startswith("-") else ATOM


def operator(spelling: str, parts: Sequence[Piece], suffix: str = "") -> Piece:
    """An operator on pieces, or a call of a function, whose name ends with the suffix."""
    if spelling == "?:":
        return f"{enclosed(parts[0], OR)} ? {enclosed(parts[1], OR)} : {enclosed(parts[2], TERNARY)}", TERNARY
    if len(parts) == 1 and not spelling[-1].isalnum():
        return f"{spelling}{enclosed(parts[0], ATOM)}", UNARY
    level = OPERATORS.get(spelling)
    if level is None:
        return call(spelling + suffix, parts)
    left, right = (SUM, SUM) if level == COMPARISON else (level, level + 1)
    if level < COMPARISON:   # compilers warn where && stands in || without parentheses
        left = right = COMPARISON
    return f"{enclosed(parts[0], left)} {spelling} {enclosed(parts[1], right)}", level


TABLE_SUM = """\
static const REAL {table}[{count}][{width}] = {{
{rows}
}};
static REAL {name}({parameters})
{{
    REAL {total} = ZERO;
    for (int {row} = 0; {row} < {count}; {row}++) {{
{body}        {total} += {value};
    }}
    return {total};
}}"""


@cache
def language(precision: Precision) -> Language:
    """C for programs of a precision."""
    real = precision.type
    known = {"VOID FUNCTION": "static void", "INT FUNCTION": "static int", "REAL FUNCTION": "static REAL", "BEGIN": "\n{",
             "GIVEN ": "const REAL *", "VALUE ": "REAL ", "AS_REAL": "(REAL)",
             "MADE ": "REAL *", "LENGTH ": "ptrdiff_t ", "FLAG ": "int ", "COUNT ": "ptrdiff_t ",
             "SIGN ": "int ", "FIXED ": "const REAL ", "NUMBER ": "REAL ", "FINITE": "isfinite", "NAN": "(REAL)NAN",
             "INFINITY": "(REAL)INFINITY",
             **{word: number(x, precision)[0] for word, x in (("ZERO", 0.0), ("ONE", 1.0), ("HALF", 0.5))},
             **{word: word.lower() + precision.suffix for word in ("FABS", "SQRT", "LOG")}, "REAL": real}
    return Language(
        name="C", words=WORDS, library=LIBRARY, identifier=identifier, number=lambda x: number(x, precision),
        spelling=lambda op: op.c,
        operation=lambda e, spelling, parts: operator(spelling, parts, precision.suffix if e.op.c else ""),
        helpers={name: spelled(text, known) for name, text in {**HELPERS, **MATRICES}.items()},
        declaration=lambda var, name, text: f"const {'int' if var.truth else real} {name} = {text};",
        comment=lambda lines: comment(lines).splitlines(),
        expressions=lambda names, helpers: WholeNumbers(names, helpers.function), loop=counting("ptrdiff_t"),
        whole="const ptrdiff_t ", constant=f"const {real} ", variable=f"{real} ", as_number=f"({real}){{}}",
        as_subscript="(ptrdiff_t){}", required="if (!({})) return 1;", part="&{}[{}]",
        parameter=f"{real} {{}}", precision=precision.name,
        table_sum=SumForm(spelled(TABLE_SUM, known), "    {{{}}},", f"const {real} {{name}} = {{table}}[{{row}}][{{k}}];"))


def comment(lines: Sequence[str]) -> str:
    """A comment of C; what would end it, or begin another, is taken apart."""
    inside = (line.replace("*/", "* /").replace("/*", "/ *").rstrip() for line in lines)
    return "/* " + "\n   ".join(inside) + " */\n"


LANGUAGE = language(DOUBLE)
