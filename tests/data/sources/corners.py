"""Functions that once went wrong, or nearly."""
import math

import numpy as np
import scipy.linalg
import scipy.special


def names_of_functions(A: "Float[Array, 'n n']", x: "Float[Array, 'n']"):
    det = np.linalg.det(A)
    norm = np.linalg.norm(x)
    inv = np.linalg.inv(A)
    sort = np.sort(x)
    cumsum = np.cumsum(x)
    return det * norm + inv[0, 0] + sort[0] + cumsum[-1]


def swapped(x, y):
    if x > y: x, y = y, x
    a = b = x * y
    a += 1
    x = x * 2
    x = x + y
    y = x * y
    return {"lo value": x, "hi": y, "ab": a * b}


def slices(x: "Float[Array, 'n']"):
    return x[::-1] * x, x[::2], x[1:][:-1], x[-2:], x[None, :] * x[:, None]


def standardised(X: "Float[Array, 'n d']"):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z.T @ Z / len(X), X.max(axis=1), np.linalg.norm(X, axis=1)


def clipped(x):
    return np.clip(x, None, 3) + np.clip(x, a_min=0, a_max=1) + np.where(x > 1, x, 0) + np.maximum(x, 0)


def pieces(x):
    y = np.array([x, 2 * x, 3.0])
    y[0] = 5.0
    y[-1] += x
    return max(x, 0, 3 - x) + min([x, 2.0]) + sum((x, x)) + x // 0.3 + x % 0.7 + (-x) % 0.7 + abs(x) + y @ y


def turns(x):
    i = 0
    while True:
        i += 1
        x = x * 0.9
        if i == 2:
            continue
        if i >= 5:
            break
        x = x + math.sin(x)
    for k, c in enumerate([1, 2.5, 3]):
        if k == 1:
            continue
        x += c * x ** k
    return x


def first_above(x, level):
    """An end of a loop that depends on a value."""
    for k in range(6):
        if x > level:
            return x * k
        x = x * 1.5
    return -x


def closures(x, scale=2.0):
    table = {"a": 1.5, "b": scale}
    weights = [table[k] for k in ("a", "b")]

    def inner(u, n=2):
        return weights[0] * u ** n + weights[1]
    outer = lambda v: inner(v, 3) + inner(v)  # noqa: E731
    return outer(x) + inner(n=1, u=x)


def chained(x):
    return 1.0 if 0 < x <= 2 != 3 else abs(x) if not x >= -1 or x == 5 else 7.0 * x


def rows_summed(A: "Float[Array, 'n n']"):
    """The sum of Python is that of the rows, and the second argument of np.max is an axis."""
    return sum(A), np.max(A, 0), np.min(A, axis=1), max(A[0, 0], A[0, 1])


def defaults_of_scipy(A: "Float[Array, 'n n']"):
    S = (A + A.T) / 2
    return scipy.linalg.cholesky(S), scipy.special.softmax(A), scipy.special.logsumexp(A, 1)


def stacked(A: "Float[Array, 'n n']"):
    return np.stack([A, 2 * A], axis=-1), np.vstack([A[0], A[1]])
