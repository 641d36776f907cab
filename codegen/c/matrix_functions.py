"""Operations on matrices as functions of C and of JavaScript, on matrices where they lie; words in capitals are a language's own.

Elimination is Gauss's with the pivot of greatest absolute value in its column, Cholesky's by rows, and substitution, as textbooks
have them (Golub and Van Loan, Matrix Computations, 4th edition, 3.4, 4.2 and 3.1). LAPACK takes sums in another order: results
differ in their last digits, as far as the condition of the matrix lets them. Where an operation is not defined all elements are
NaN, as `adcli.lang.operations.matrix` says.
"""
from __future__ import annotations

MATRICES = {
    "undefined": """
VOID FUNCTION $undefined(LENGTH count, MADE x)BEGIN
    for (COUNT k = 0; k < count; k++) x[k] = NAN;
}""",
    "eliminated": """
INT FUNCTION $eliminated(LENGTH n, LENGTH columns, LENGTH row, LENGTH step, GIVEN A, MADE a, MADE b)BEGIN
    /* Gauss's elimination of a copy a of A, and of the rows of b: the sign of the permutation, 0 for a pivot that is 0 */
    SIGN sign = 1;
    for (COUNT i = 0; i < n; i++) {
        for (COUNT j = 0; j < n; j++) a[i*n + j] = A[i*row + j*step];
    }
    for (COUNT k = 0; k < n; k++) {
        COUNT best = k;
        for (COUNT i = k + 1; i < n; i++) if (FABS(a[i*n + k]) > FABS(a[best*n + k])) best = i;
        for (COUNT j = 0; best != k && j < n; j++) {
            FIXED held = a[k*n + j];
            a[k*n + j] = a[best*n + j];
            a[best*n + j] = held;
        }
        for (COUNT j = 0; best != k && j < columns; j++) {
            FIXED held = b[k*columns + j];
            b[k*columns + j] = b[best*columns + j];
            b[best*columns + j] = held;
        }
        if (best != k) sign = -sign;
        if (a[k*n + k] == ZERO) return 0;
        for (COUNT i = k + 1; i < n; i++) {
            FIXED ratio = a[i*n + k] / a[k*n + k];
            for (COUNT j = k + 1; j < n; j++) a[i*n + j] -= ratio * a[k*n + j];
            for (COUNT j = 0; j < columns; j++) b[i*columns + j] -= ratio * b[k*columns + j];
        }
    }
    return sign;
}""",
    "finite": """
INT FUNCTION $finite(LENGTH n, LENGTH row, LENGTH step, GIVEN A, FLAG part)BEGIN
    /* whether all elements are finite numbers: of the matrix, or with a part of 1 or -1 of the upper or lower triangle */
    for (COUNT i = 0; i < n; i++) {
        for (COUNT j = part > 0 ? i : 0; j < (part < 0 ? i + 1 : n); j++) if (!FINITE(A[i*row + j*step])) return 0;
    }
    return 1;
}""",
    "solve_upper": """
VOID FUNCTION $solve_upper(LENGTH n, LENGTH columns, LENGTH row, LENGTH step, GIVEN U, GIVEN b, MADE x)BEGIN
    /* x with U*x = b, of U what is on and above the diagonal */
    SIGN defined = $finite(n, row, step, U, 1);
    for (COUNT i = 0; i < n; i++) if (U[i*row + i*step] == ZERO) defined = 0;
    if (!defined) {
        $undefined(n*columns, x);
        return;
    }
    for (COUNT k = 0; k < n*columns; k++) x[k] = b[k];
    for (COUNT k = n; k-- > 0;) {
        for (COUNT j = 0; j < columns; j++) x[k*columns + j] /= U[k*row + k*step];
        for (COUNT i = 0; i < k; i++) {
            for (COUNT j = 0; j < columns; j++) x[i*columns + j] -= U[i*row + k*step] * x[k*columns + j];
        }
    }
}""",
    "solve_lower": """
VOID FUNCTION $solve_lower(LENGTH n, LENGTH columns, LENGTH row, LENGTH step, GIVEN L, GIVEN b, MADE x)BEGIN
    /* x with L*x = b, of L what is on and below the diagonal */
    SIGN defined = $finite(n, row, step, L, -1);
    for (COUNT i = 0; i < n; i++) if (L[i*row + i*step] == ZERO) defined = 0;
    if (!defined) {
        $undefined(n*columns, x);
        return;
    }
    for (COUNT k = 0; k < n*columns; k++) x[k] = b[k];
    for (COUNT k = 0; k < n; k++) {
        for (COUNT j = 0; j < columns; j++) x[k*columns + j] /= L[k*row + k*step];
        for (COUNT i = k + 1; i < n; i++) {
            for (COUNT j = 0; j < columns; j++) x[i*columns + j] -= L[i*row + k*step] * x[k*columns + j];
        }
    }
}""",
    "solve": """
VOID FUNCTION $solve(LENGTH n, LENGTH columns, LENGTH row, LENGTH step, GIVEN A, GIVEN b, MADE x, MADE a)BEGIN
    /* x with A*x = b; a is for a matrix */
    for (COUNT k = 0; k < n*columns; k++) x[k] = b[k];
    if ($finite(n, row, step, A, 0) && $eliminated(n, columns, row, step, A, a, x) != 0) {
        $solve_upper(n, columns, n, 1, a, x, x);
    } else {
        $undefined(n*columns, x);
    }
}""",
    "inverse": """
VOID FUNCTION $inverse(LENGTH n, LENGTH row, LENGTH step, GIVEN A, MADE x, MADE a)BEGIN
    /* x with A*x = 1; a is for a matrix */
    for (COUNT i = 0; i < n; i++) {
        for (COUNT j = 0; j < n; j++) x[i*n + j] = i == j ? ONE : ZERO;
    }
    $solve(n, n, row, step, A, x, x, a);
}""",
    "det": """
REAL FUNCTION $det(LENGTH n, LENGTH row, LENGTH step, GIVEN A, MADE a)BEGIN
    /* the determinant; a is for a matrix */
    SIGN sign;
    NUMBER product = ONE;
    if (!$finite(n, row, step, A, 0)) return NAN;
    sign = $eliminated(n, 0, row, step, A, a, a);
    if (sign < 0) product = -product;
    for (COUNT i = 0; i < n; i++) product *= a[i*n + i];
    return sign == 0 ? ZERO : product;
}""",
    "logdet": """
REAL FUNCTION $logdet(LENGTH n, LENGTH row, LENGTH step, GIVEN A, MADE a)BEGIN
    /* the logarithm of the determinant; a is for a matrix */
    SIGN sign;
    NUMBER sum = ZERO;
    if (!$finite(n, row, step, A, 0)) return NAN;
    sign = $eliminated(n, 0, row, step, A, a, a);
    if (sign == 0) return -INFINITY;
    for (COUNT i = 0; i < n; i++) {
        if (a[i*n + i] < ZERO) sign = -sign;
        sum += LOG(FABS(a[i*n + i]));
    }
    return sign > 0 ? sum : NAN;
}""",
    "cholesky": """
VOID FUNCTION $cholesky(LENGTH n, LENGTH row, LENGTH step, GIVEN A, MADE x)BEGIN
    /* x with x*xT = (A + AT)/2, 0 above the diagonal: its transpose first, along rows */
    SIGN defined = $finite(n, row, step, A, 0);
    for (COUNT i = 0; i < n; i++) {
        for (COUNT j = i; j < n; j++) x[i*n + j] = HALF * A[i*row + j*step] + HALF * A[j*row + i*step];
    }
    for (COUNT k = 0; defined && k < n; k++) {
        if (!(x[k*n + k] > ZERO)) defined = 0;
        x[k*n + k] = SQRT(x[k*n + k]);
        for (COUNT j = k + 1; j < n; j++) x[k*n + j] /= x[k*n + k];
        for (COUNT i = k + 1; i < n; i++) {
            for (COUNT j = i; j < n; j++) x[i*n + j] -= x[k*n + i] * x[k*n + j];
        }
    }
    for (COUNT i = 0; i < n; i++) {
        for (COUNT j = 0; j < i; j++) {
            x[i*n + j] = x[j*n + i];
            x[j*n + i] = ZERO;
        }
    }
    if (!defined) $undefined(n*n, x);
}""",
    "search": """
REAL FUNCTION $search(LENGTH n, GIVEN x, VALUE q)BEGIN
    /* the number of elements of an ascending x that are at most q */
    COUNT found = 0;
    for (COUNT left = n; left > 0; left = (left - left % 2) / 2) {
        COUNT half = (left + left % 2) / 2;
        if (x[found + half - 1] <= q) found += half;
    }
    return AS_REAL(found);
}""",
}
"""A matrix has its element i, j at i*row + j*step, so that a transposed one needs no copy."""
