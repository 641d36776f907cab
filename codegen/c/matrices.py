"""Operations on matrices in C99, without a library: a small function for each that is used, on matrices where they lie.

Elimination is Gauss's with the pivot of greatest absolute value in its column, Cholesky's by rows, and substitution, as textbooks
have them (Golub and Van Loan, Matrix Computations, 4th edition, 3.4, 4.2 and 3.1). LAPACK takes sums in another order: results
differ in their last digits, as far as the condition of the matrix lets them. Where an operation is not defined all elements are
NaN, as `adcli.lang.ir.matrix` says.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from adcli.codegen.c.loops import BoxLoops
from adcli.codegen.c.spelling import number
from adcli.lang.ir import Equation, Var, shape_of
from adcli.lang.ir.affine import affine
from adcli.lang.ir.comprehension import Read
from adcli.lang.ir.matrix import MatrixOperation, covered_points, matrix_extent, trailing
from adcli.lang.ir.precision import Precision
from adcli.lang.syntax.comprehension_printer import BoxText, MatrixText, TensorWriter

FUNCTIONS = {
    "undefined": """
static void $undefined(size_t count, REAL *x)
{
    for (size_t k = 0; k < count; k++) x[k] = (REAL)NAN;
}""",
    "eliminated": """
static int $eliminated(size_t n, size_t columns, size_t row, size_t step, const REAL *A, REAL *a, REAL *b)
{
    /* Gauss's elimination of a copy a of A, and of the rows of b: the sign of the permutation, 0 for a pivot that is 0 */
    int sign = 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) a[i*n + j] = A[i*row + j*step];
    }
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++) if (FABS(a[i*n + k]) > FABS(a[best*n + k])) best = i;
        for (size_t j = 0; best != k && j < n; j++) {
            const REAL held = a[k*n + j];
            a[k*n + j] = a[best*n + j];
            a[best*n + j] = held;
        }
        for (size_t j = 0; best != k && j < columns; j++) {
            const REAL held = b[k*columns + j];
            b[k*columns + j] = b[best*columns + j];
            b[best*columns + j] = held;
        }
        if (best != k) sign = -sign;
        if (a[k*n + k] == ZERO) return 0;
        for (size_t i = k + 1; i < n; i++) {
            const REAL ratio = a[i*n + k] / a[k*n + k];
            for (size_t j = k + 1; j < n; j++) a[i*n + j] -= ratio * a[k*n + j];
            for (size_t j = 0; j < columns; j++) b[i*columns + j] -= ratio * b[k*columns + j];
        }
    }
    return sign;
}""",
    "finite": """
static int $finite(size_t n, size_t row, size_t step, const REAL *A, int part)
{
    /* whether all elements are finite numbers: of the matrix, or with a part of 1 or -1 of the upper or lower triangle */
    for (size_t i = 0; i < n; i++) {
        for (size_t j = part > 0 ? i : 0; j < (part < 0 ? i + 1 : n); j++) if (!isfinite(A[i*row + j*step])) return 0;
    }
    return 1;
}""",
    "solve_upper": """
static void $solve_upper(size_t n, size_t columns, size_t row, size_t step, const REAL *U, const REAL *b, REAL *x)
{
    /* x with U*x = b, of U what is on and above the diagonal */
    int defined = $finite(n, row, step, U, 1);
    for (size_t i = 0; i < n; i++) if (U[i*row + i*step] == ZERO) defined = 0;
    if (!defined) {
        $undefined(n*columns, x);
        return;
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = 0; j < columns; j++) {
            REAL rest = b[i*columns + j];
            for (size_t k = i + 1; k < n; k++) rest -= U[i*row + k*step] * x[k*columns + j];
            x[i*columns + j] = rest / U[i*row + i*step];
        }
    }
}""",
    "solve_lower": """
static void $solve_lower(size_t n, size_t columns, size_t row, size_t step, const REAL *L, const REAL *b, REAL *x)
{
    /* x with L*x = b, of L what is on and below the diagonal */
    int defined = $finite(n, row, step, L, -1);
    for (size_t i = 0; i < n; i++) if (L[i*row + i*step] == ZERO) defined = 0;
    if (!defined) {
        $undefined(n*columns, x);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < columns; j++) {
            REAL rest = b[i*columns + j];
            for (size_t k = 0; k < i; k++) rest -= L[i*row + k*step] * x[k*columns + j];
            x[i*columns + j] = rest / L[i*row + i*step];
        }
    }
}""",
    "solve": """
static void $solve(size_t n, size_t columns, size_t row, size_t step, const REAL *A, const REAL *b, REAL *x, REAL *a)
{
    /* x with A*x = b; a is for a matrix */
    for (size_t k = 0; k < n*columns; k++) x[k] = b[k];
    if ($finite(n, row, step, A, 0) && $eliminated(n, columns, row, step, A, a, x) != 0) {
        $solve_upper(n, columns, n, 1, a, x, x);
    } else {
        $undefined(n*columns, x);
    }
}""",
    "inverse": """
static void $inverse(size_t n, size_t row, size_t step, const REAL *A, REAL *x, REAL *a)
{
    /* x with A*x = 1; a is for a matrix */
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) x[i*n + j] = i == j ? ONE : ZERO;
    }
    $solve(n, n, row, step, A, x, x, a);
}""",
    "logdet": """
static REAL $logdet(size_t n, size_t row, size_t step, const REAL *A, REAL *a)
{
    /* the logarithm of the determinant; a is for a matrix */
    int sign;
    REAL sum = ZERO;
    if (!$finite(n, row, step, A, 0)) return (REAL)NAN;
    sign = $eliminated(n, 0, row, step, A, a, a);
    if (sign == 0) return -(REAL)INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (a[i*n + i] < ZERO) sign = -sign;
        sum += LOG(FABS(a[i*n + i]));
    }
    return sign > 0 ? sum : (REAL)NAN;
}""",
    "cholesky": """
static void $cholesky(size_t n, size_t row, size_t step, const REAL *A, REAL *x)
{
    /* x with x*xT = (A + AT)/2, 0 above the diagonal */
    int defined = $finite(n, row, step, A, 0);
    for (size_t i = 0; defined && i < n; i++) {
        for (size_t j = 0; j < n; j++) x[i*n + j] = ZERO;
        for (size_t j = 0; j <= i; j++) {
            REAL rest = HALF * A[i*row + j*step] + HALF * A[j*row + i*step];
            for (size_t k = 0; k < j; k++) rest -= x[i*n + k] * x[j*n + k];
            if (i == j && !(rest > ZERO)) defined = 0;
            x[i*n + j] = i == j ? SQRT(rest) : rest / x[j*n + j];
        }
    }
    if (!defined) $undefined(n*n, x);
}""",
}
"""The functions, each behind those that it calls; `$name` stands for one of them. A matrix has its element i, j at
i*row + j*step, so that a transposed one needs no copy."""


def called(names: Iterable[str]) -> list[str]:
    """The functions of this list that some of them call, and they themselves, in order."""
    wanted = set(names)
    for name in reversed(FUNCTIONS):
        if name in wanted:
            wanted |= {other for other in FUNCTIONS if f"${other}(" in FUNCTIONS[name]}
    return [name for name in FUNCTIONS if name in wanted]


def functions(used: Iterable[str], named: Callable[[str], str], precision: Precision) -> Iterator[list[str]]:
    """The texts of the functions that are used and of those that they call; `named` has their names."""
    known = {word: number(x, precision)[0] for word, x in (("ZERO", 0.0), ("ONE", 1.0), ("HALF", 0.5))}
    known |= {word: word.lower() + precision.suffix for word in ("FABS", "SQRT", "LOG")} | {"REAL": precision.type}
    for name in called(used):
        text = re.sub(r"\$(\w+)", lambda word: named(word[1]), FUNCTIONS[name].strip("\n"))
        yield re.sub("|".join(known), lambda word: known[word[0]], text).split("\n")


class MatrixLoops(BoxLoops):
    """Writes one operation on matrices: a call for each point of its box."""

    op: MatrixOperation

    def shown_as(self, printed: TensorWriter, shown: Equation) -> BoxText:
        return MatrixText(printed, shown)

    def written(self) -> None:
        if not self.stays and self.op.shape and not covered_points(self.op):
            self.filled(lambda at: self.f.number(0.0)[0])
        left = list(self.op.guards)
        for i in self.op.indices:
            self.open(i, left)
        self.tested(left)
        call = f"{self.f.matrices[self.op.name]}({', '.join(self.arguments())})"
        if self.op.name != "logdet":
            self.say(f"{call};")
        elif self.op.shape:
            self.say(f"{self.place(self.out, self.op.write)} = {call};")
        else:
            self.say(f"{self.language.constant} {self.f.values[self.out]} = {call};")
        self.close(0)

    def arguments(self) -> list[str]:
        """Extents, the matrix and the distances of its elements, right-hand sides, the result, and a place for a matrix."""
        n = self.whole.size(matrix_extent(self.e))[0]
        matrix, *right = [self.start(self.e.args[s.arg], s) for s in self.op.sources]
        given = [n, *([self.whole.product(trailing(self.e)[1:])] if right else [])]
        given += ["1", n] if self.op.transposed else [n, "1"]
        given += [matrix, *right]
        if self.op.name != "logdet":
            given.append(self.start(self.out, Read(0, self.op.write)))
        if (place := self.f.scratch.get(self.e)) is not None:
            given.append(self.f.values[place])
        return given

    def start(self, atom: object, s: Read) -> str:
        """Where a matrix begins."""
        assert isinstance(atom, Var)
        rest = len(shape_of(atom)) - len(s.subscripts)
        name, _, place = self.place(atom, (*s.subscripts, *[affine(0)] * rest)).removesuffix("]").partition("[")
        return name if place == "0" else self.language.part.format(name, place)

