"""Elimination, substitution and Cholesky's factor in a few words of Python: loops over ranges, conditions, and arithmetic on
whole numbers, on numbers, and on registers of them. `writer` writes them in LLVM IR.

Every element is made by the operations of the C, in their order (Golub and Van Loan, Matrix Computations, 4th edition, 3.4, 4.2
and 3.1): blocks change only what is done meanwhile with others. A transposed matrix of more than TINY_ROWS rows is not eliminated
as it is in C: the factor of the matrix itself serves for it too.
"""

ALGORITHMS = """
def undefined(count, x):
    for k in range(0, count):
        x[k] = NAN

def regular(n, row, step, m, part):    # finite; with a part of 1 or -1 the upper or lower triangle, with no 0 on the diagonal
    wrong = ZEROS
    good = True
    part = 0 - part if row == 1 else part    # of a transposed matrix the other one
    row = row*step
    for i in range(0, n):
        first = i if part > 0 else 0
        end = i + 1 if part < 0 else n
        whole = first + (end - first)//LANES*LANES
        for j in range(first, whole, LANES):
            v = m[i*row + j:]
            wrong = wrong + (v - v)
        for j in range(whole, end):
            y = m[i*row + j]
            good = good and y - y == 0.0
        good = good and (part == 0 or m[i*row + i] != 0.0)
    return good and every(wrong == 0.0)

def moved(count, b, x):
    whole = count//LANES*LANES
    for j in range(0, whole, LANES):
        x[j:] = b[j:]
    for j in range(whole, count):
        x[j] = b[j]

def copied(n, width, row, step, m, a):    # to rows of whole registers, the rest 0
    whole = n//LANES*LANES if step == 1 else 0
    for i in range(0, n):
        a[i*width + width - LANES:] = 0.0
        for j in range(0, whole, LANES):
            a[i*width + j:] = m[i*row + j:]
        for j in range(whole, n):
            a[i*width + j] = m[i*row + j*step]

def updated(low, high, room, m, row, step, k, turn, first, width, b, x):    # rows of x, less LANES of b with factors in m
    for j in range(first, width, LANES):
        for c in unrolled(LANES):
            u[c] = b[(k + turn*c)*width + j:]
        for i in range(low, min(high, j + room)):
            v = x[i*width + j:]
            for c in unrolled(LANES):
                v = v - m[i*row + (k + turn*c)*step]*u[c]
            x[i*width + j:] = v

def eliminated(n, width, a, columns, b):    # by blocks of columns; the sign of the permutation, 0 for a pivot that is 0
    sign = 1
    for first in range(0, n, LANES):
        end = min(first + LANES, n)
        for k in range(first, end):
            best = k
            most = fabs(a[k*width + k])
            for i in range(k + 1, n):
                size = fabs(a[i*width + k])
                best = i if size > most else best
                most = size if size > most else most
            if best != k:
                for j in range(0, width, LANES):
                    v = a[k*width + j:]
                    a[k*width + j:] = a[best*width + j:]
                    a[best*width + j:] = v
                for j in range(0, columns):
                    y = b[k*columns + j]
                    b[k*columns + j] = b[best*columns + j]
                    b[best*columns + j] = y
            sign = sign if best == k else 0 - sign
            pivot = a[k*width + k]
            top = a[k*width + first:]
            for i in range(k + 1, n):
                ratio = a[i*width + k]/pivot
                v = a[i*width + first:]
                v = v - ratio*top if LANE > k - first else v
                a[i*width + first:] = ratio if LANE == k - first else v
            sign = 0 if pivot == 0.0 else sign
        for j in range(first + LANES, width, LANES):
            for i in range(first + 1, end):
                v = a[i*width + j:]
                for k in range(first, i):
                    v = v - a[i*width + k]*a[k*width + j:]
                a[i*width + j:] = v
        updated(end, n, n, a, width, 1, first, 1, first + LANES, width, a, a)
    return sign

def substituted(n, row, step, turn, divides, m, width, x):    # by blocks of rows, from the last up with a turn of -1
    for first in range(0, n, LANES):
        end = min(first + LANES, n)
        for done in range(first, end):
            k = done if turn > 0 else n - 1 - done
            if divides > 0:
                pivot = m[k*row + k*step]
                for j in range(0, width, LANES):
                    x[k*width + j:] = x[k*width + j:]/pivot
            for later in range(done + 1, end):
                i = later if turn > 0 else n - 1 - later
                ratio = m[i*row + k*step]
                for j in range(0, width, LANES):
                    x[i*width + j:] = x[i*width + j:] - ratio*x[k*width + j:]
        if end < n:
            start = first if turn > 0 else n - 1 - first
            low = end if turn > 0 else 0
            high = n if turn > 0 else n - end
            updated(low, high, n, m, row, step, start, turn, 0, width, x, x)

def replaced(n, columns, room, row, step, turn, m, b, x, c, order):    # b, substituted by groups of columns; with a
    back = 1 if turn == 0 and row == 1 else 0                      # turn of 0 in both ways, for a transposed matrix ordered last
    for first in range(0, columns, room):
        count = min(columns - first, room)
        width = (count + LANES - 1)//LANES*LANES
        for i in range(0, n):
            c[i*width + width - LANES:] = 0.0
            k = i if back > 0 else int(order[i])
            moved(count, at(b, k*columns + first), at(c, i*width))
        if turn == 0:
            substituted(n, row, step, 1, back, m, width, c)
            substituted(n, row, step, -1, 1 - back, m, width, c)
        else:
            substituted(n, row, step, turn, 1, m, width, c)
        for i in range(0, n):
            k = int(order[i]) if back > 0 else i
            moved(count, at(c, i*width), at(x, k*columns + first))

def counted(n, x):
    y = 0.0
    for i in range(0, n):
        x[i] = y
        y = y + 1.0

def triangular(n, columns, row, step, turn, m, b, x, a, c):
    width = (n + LANES - 1)//LANES*LANES
    if n > 0 and regular(n, row, step, m, 0 - turn):
        counted(n, c)
        replaced(n, columns, width, row, step, turn, m, b, x, a, c)
    else:
        undefined(n*columns, x)

def solve_lower(n, columns, row, step, m, b, x, a, c):
    triangular(n, columns, row, step, 1, m, b, x, a, c)

def solve_upper(n, columns, row, step, m, b, x, a, c):
    triangular(n, columns, row, step, -1, m, b, x, a, c)

def factored(n, m, a, f, kept):    # a after elimination, in f the order of rows; its sign, 0 for a pivot that is 0, else 2
    width = (n + LANES - 1)//LANES*LANES
    sign = 2
    if 2 > kept:    # f has none yet
        copied(n, width, n, 1, m, a)
        counted(n, f)
        good = regular(n, n, 1, m, 0)
        sign = eliminated(n, width, a, 1, f)
        sign = sign if good else 2
        if kept > 0:
            y = 1.0 if sign > 0 else 0.0 - 1.0
            y = 0.0 if sign == 0 else y
            f[n] = y + y if sign == 2 else y
            for i in range(0, n):
                moved(n, at(a, i*width), at(f, i*n + n + 1))
    else:
        sign = int(f[n])
        copied(n, width, n, 1, at(f, n + 1), a)
    return sign

def solve(n, columns, row, step, m, b, x, a, c, f, kept):
    width = (n + LANES - 1)//LANES*LANES
    sign = factored(n, m, a, f, kept)
    if n > 0 and sign*sign == 1 and regular(n, width, 1, a, 1):
        along = 1 if row == 1 else width
        replaced(n, columns, width, along, width + 1 - along, 0, a, b, x, c, f)
    else:
        undefined(n*columns, x)

def inverse(n, row, step, m, x, a, c, f, kept):
    for i in range(0, n):
        for j in range(0, n):
            x[i*n + j] = 1.0 if i == j else 0.0
    solve(n, n, row, step, m, x, x, a, c, f, kept)

def det(n, row, step, m, a, c, f, kept):
    width = (n + LANES - 1)//LANES*LANES
    sign = factored(n, m, a, f, kept)
    product = 1.0 if sign > 0 else 0.0 - 1.0
    for i in range(0, n):
        product = product*a[i*width + i]
    product = 0.0 if sign == 0 else product
    return NAN if sign == 2 else product

def logdet(n, row, step, m, a, c, f, kept):
    width = (n + LANES - 1)//LANES*LANES
    sign = factored(n, m, a, f, kept)
    singular = sign == 0
    good = sign != 2
    total = 0.0
    for i in range(0, n):
        sign = 0 - sign if a[i*width + i] < 0.0 else sign
        total = total + log(fabs(a[i*width + i]))
    value = total if sign > 0 else NAN
    value = BELOW_ALL if singular else value
    return value if good else NAN

def cholesky(n, row, step, m, x, a, c):    # its transpose first, along rows
    width = (n + LANES - 1)//LANES*LANES
    good = regular(n, row, step, m, 0)
    for i in range(0, n):
        a[i*width + i//LANES*LANES:] = 0.0
        a[i*width + width - LANES:] = 0.0
        for j in range(i, n):
            a[i*width + j] = 0.5*m[i*row + j*step] + 0.5*m[j*row + i*step]
    for first in range(0, n, LANES):
        end = min(first + LANES, n)
        for k in range(first, end):
            good = good and a[k*width + k] > 0.0
            root = sqrt(a[k*width + k])
            for j in range(first, width, LANES):
                a[k*width + j:] = a[k*width + j:]/root
            a[k*width + k] = root
            for i in range(k + 1, end):
                ratio = a[k*width + i]
                for j in range(first, width, LANES):
                    a[i*width + j:] = a[i*width + j:] - ratio*a[k*width + j:]
        if end < n:
            updated(end, n, LANES, a, 1, width, first, 1, first + LANES, width, a, a)
    if good:
        for i in range(0, n):
            for j in range(0, i + 1):
                x[i*n + j] = a[j*width + i]
            for j in range(i + 1, n):
                x[i*n + j] = 0.0
    else:
        undefined(n*n, x)

def search(n, turns, x, q):    # the number of elements of an ascending x that are at most q
    found = 0
    left = n
    for turn in range(0, turns):
        half = (left + 1) // 2
        found = found + half if x[found + half - 1] <= q else found
        left = left // 2
    return found

def less(n, width, m, b, x):    # x without the product of m and b
    whole = n//LANES*LANES
    for k in range(0, whole, LANES):
        updated(0, n, width, m, width, 1, k, 1, 0, width, b, x)
    for i in range(0, n):
        for k in range(whole, n):
            ratio = m[i*width + k]
            for j in range(0, width, LANES):
                x[i*width + j:] = x[i*width + j:] - ratio*b[k*width + j:]

def cleared(count, x):
    for k in range(0, count, LANES):
        x[k:] = 0.0

def expm(n, row, step, m, x, a, c):    # as `decompositions.exponential`; a is for seven matrices
    width = (n + LANES - 1)//LANES*LANES
    size = n*width
    cleared(7*size, a)
    copied(n, width, row, step, m, a)
    good = regular(n, row, step, m, 0)
    norm = 0.0
    for j in range(0, n):
        total = 0.0
        for i in range(0, n):
            total = total + fabs(a[i*width + j])
        norm = total if total > norm else norm
    norm = norm/PADE_NORM
    u[0] = 2.0
    v[0] = 1
    for k in unrolled(0, 9):
        u[k + 1] = u[k]*u[k]
        v[k + 1] = v[k]*2
    halvings = 0 if norm < 1.0 else 1
    scale = 1.0 if norm < 1.0 else 0.5
    finite = norm - norm == 0.0
    for turned in unrolled(0, 10):
        k = 9 - turned
        halvings = halvings if norm < u[k] else halvings + v[k]
        scale = scale if norm < u[k] else scale/u[k]
        norm = norm if norm < u[k] else norm/u[k]
    halvings = halvings if finite else 0
    scale = scale if finite else 1.0
    for k in range(0, size, LANES):
        a[k:] = scale*a[k:]
    less(n, width, a, a, at(a, size))
    less(n, width, at(a, size), at(a, size), at(a, 2*size))
    less(n, width, at(a, size), at(a, 2*size), at(a, 3*size))
    for odd in unrolled(0, 2):
        for k in range(0, size, LANES):
            a[4*size + k:] = PADE[odd + 12]*a[3*size + k:] + PADE[odd + 10]*a[2*size + k:] + PADE[odd + 8]*a[size + k:]
            a[5*size + odd*size + k:] = PADE[odd + 6]*a[3*size + k:] + PADE[odd + 4]*a[2*size + k:] + PADE[odd + 2]*a[size + k:]
        for i in range(0, n):
            a[5*size + odd*size + i*width + i] = a[5*size + odd*size + i*width + i] - PADE[odd]
        less(n, width, at(a, 3*size), at(a, 4*size), at(a, 5*size + odd*size))
    cleared(size, at(a, 4*size))
    less(n, width, a, at(a, 6*size), at(a, 4*size))
    for k in range(0, size, LANES):
        a[k:] = a[5*size + k:] + a[4*size + k:]
        a[size + k:] = a[4*size + k:] - a[5*size + k:]
    sign = eliminated(n, width, a, width, at(a, size))
    if good and sign != 0 and regular(n, width, 1, a, 1):
        substituted(n, width, 1, 1, 0, a, width, at(a, size))
        substituted(n, width, 1, -1, 1, a, width, at(a, size))
        for turn in range(0, halvings):
            cleared(size, a)
            less(n, width, at(a, size), at(a, size), a)
            for k in range(0, size, LANES):
                a[size + k:] = a[k:]
        for i in range(0, n):
            for j in range(0, n):
                x[i*n + j] = 0.0 - a[size + i*width + j]
    else:
        undefined(n*n, x)
"""
"""A matrix has its element i, j at i*row + j*step, so that a transposed one needs no copy; a and c are places for a matrix in
rows of whole registers, and f for the factor of one, which other operations of the matrix read: with `kept` of 1 it is made
there, with 2 it is there. x[k:] is a register of LANES numbers from x[k] on."""

TINY = """
def eliminate():    # the matrix in registers u, under its diagonal the ratios; the sign of the permutation, and its rows in p
    good = True
    sign = 1
    for i in unrolled(0, n):
        for j in unrolled(0, n):
            u[i*n + j] = m[i*row + j*step]
            good = good and u[i*n + j] - u[i*n + j] == 0.0
    for k in unrolled(0, n):
        best = k
        most = fabs(u[k*n + k])
        for i in unrolled(k + 1, n):
            size = fabs(u[i*n + k])
            best = i if size > most else best
            most = size if size > most else most
        p[k] = best
        sign = sign if best == k else 0 - sign
        for i in unrolled(k + 1, n):
            for j in unrolled(0, n):
                y = u[k*n + j]
                u[k*n + j] = u[i*n + j] if best == i else y
                u[i*n + j] = y if best == i else u[i*n + j]
        sign = 0 if u[k*n + k] == 0.0 else sign
        for i in unrolled(k + 1, n):
            u[i*n + k] = u[i*n + k]/u[k*n + k]
            for j in unrolled(k + 1, n):
                u[i*n + j] = u[i*n + j] - u[i*n + k]*u[k*n + j]

def substitute():    # the column v
    for k in unrolled(0, n):
        for i in unrolled(k + 1, n):
            y = v[k]
            v[k] = v[i] if p[k] == i else y
            v[i] = y if p[k] == i else v[i]
    for k in unrolled(0, n):
        for i in unrolled(k + 1, n):
            v[i] = v[i] - u[i*n + k]*v[k]
    for turned in unrolled(0, n):
        k = n - 1 - turned
        v[k] = v[k]/u[k*n + k]
        for i in unrolled(0, k):
            v[i] = v[i] - u[i*n + k]*v[k]

def definite():
    good = good and sign != 0
    for k in unrolled(0, n):
        for j in unrolled(k, n):
            good = good and u[k*n + j] - u[k*n + j] == 0.0

def solve(n, columns, row, step, m, b, x, a, c, f, kept):
    eliminate()
    definite()
    for j in range(0, columns):
        for i in unrolled(0, n):
            v[i] = b[i*columns + j]
        substitute()
        for i in unrolled(0, n):
            x[i*columns + j] = v[i] if good else NAN

def det(n, row, step, m, a, c, f, kept):
    eliminate()
    product = 1.0 if sign > 0 else 0.0 - 1.0
    for i in unrolled(0, n):
        product = product*u[i*n + i]
    product = 0.0 if sign == 0 else product
    return product if good else NAN

def logdet(n, row, step, m, a, c, f, kept):
    eliminate()
    singular = sign == 0
    total = 0.0
    for i in unrolled(0, n):
        sign = 0 - sign if u[i*n + i] < 0.0 else sign
        total = total + log(fabs(u[i*n + i]))
    value = total if sign > 0 else NAN
    value = BELOW_ALL if singular else value
    return value if good else NAN

def cholesky(n, row, step, m, x, a, c):
    good = True
    for i in unrolled(0, n):
        for j in unrolled(i, n):
            u[i*n + j] = 0.5*m[i*row + j*step] + 0.5*m[j*row + i*step]
            good = good and u[i*n + j] - u[i*n + j] == 0.0
    for k in unrolled(0, n):
        good = good and u[k*n + k] > 0.0
        u[k*n + k] = sqrt(u[k*n + k])
        for j in unrolled(k + 1, n):
            u[k*n + j] = u[k*n + j]/u[k*n + k]
        for i in unrolled(k + 1, n):
            for j in unrolled(i, n):
                u[i*n + j] = u[i*n + j] - u[k*n + i]*u[k*n + j]
    for i in unrolled(0, n):
        for j in unrolled(0, n):
            y = 0.0 if j > i else u[j*n + i]
            x[i*n + j] = y if good else NAN
"""
"""The same of a few rows, whose number is known when the text is written: the matrix is in registers, nothing branches."""
