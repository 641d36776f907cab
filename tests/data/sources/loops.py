"""Loops over arrays, as people write them before they know NumPy, and over time."""
import math

import numpy as np


def sum_of_squares(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 2
    return total


def recurrent(x, a):
    """A network with one cell."""
    h = 0.0
    for u in x:
        h = np.tanh(a * h + u)
    return h


def central_differences(x):
    n = len(x)
    y = np.zeros(n)
    for i in range(1, n - 1):
        y[i] = x[i + 1] - x[i - 1]
    return y


def low_pass(x, a):
    n = len(x)
    y = np.zeros(n)
    y[0] = x[0]
    for i in range(1, n):
        y[i] = a * y[i - 1] + x[i]
    return y


def matmul(A: "Float[Array, 'n m']", B: "Float[Array, 'm k']"):
    n, m = A.shape
    k = B.shape[1]
    C = np.zeros((n, k))
    for i in range(n):
        for j in range(k):
            for l in range(m):
                C[i, j] += A[i, l] * B[l, j]
    return C


def paired(x, y):
    s = 1.0
    for i, (u, v) in enumerate(zip(x, y)):
        if u > v:
            s += u * v
        else:
            s += i * v
    return s


def all_pairs(x: "Float[Array, 'n']"):
    return sum(x[i] * sum(math.exp(-abs(x[i] - x[j])) for j in range(len(x))) for i in range(len(x)))


def linear_steps(A: "Float[Array, 't n n']", x0):
    x = x0
    for t in range(A.shape[0]):
        x = A[t] @ x
    return x


def oscillator(force: "Float[Array, 'n']", dt):
    n = len(force)
    v = np.empty(n)
    p = np.empty(n)
    v[0], p[0] = 0.0, 1.0
    for i in range(n - 1):
        v[i + 1] = v[i] + dt * (force[i] - p[i])
        p[i + 1] = p[i] + dt * v[i + 1]
    return p[-1], v


def largest(x, w):
    best = x[0]
    for i in range(1, len(x)):
        best = max(best, x[i] * w)
    return best


def rows(A: "Float[Array, 'n m']"):
    total = 0.0
    for row in A:
        r = 0.0
        for a in row:
            r = r * 0.5 + a
        total += r * r
    return total


def collected(x):
    out = []
    for v in x:
        out.append(v * math.sin(v))
    return sum(out)


def many_steps(x0, n=200):
    x = x0
    for _ in range(n):
        x = x - 0.05 * (x ** 3 - 2)
    return x


def kernel_quadratic(x, y):
    n = len(x)
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            d = x[i] - x[j]
            K[i, j] = np.exp(-d * d) if i != j else 1.1
    return y @ np.linalg.solve(K, y)


def kalman(z, q=0.1, r=0.5):
    """Filter of one state, and the likelihood of what was measured."""
    mean, var = 0.0, 1.0
    loglik = 0.0
    for obs in z:
        var = var + q
        s = var + r
        gain = var / s
        innovation = obs - mean
        loglik += -0.5 * (np.log(2 * np.pi * s) + innovation ** 2 / s)
        mean = mean + gain * innovation
        var = (1 - gain) * var
    return loglik, mean


def polynomial(coefficients, x):
    y = 0
    for c in coefficients:
        y = y * x + c
    return y


def trapezoid(y, dx):
    area = 0
    for i in range(1, len(y)):
        area = area + 0.5 * (y[i] + y[i - 1]) * dx
    return area


def dynamic_cost(x, goal):
    """Cost of a path: its steps, each with a penalty that depends on the place."""
    cost = 0.0
    for a, b in zip(x[:-1], x[1:]):
        step = b - a
        near = abs(a - goal) < 1
        cost += step ** 2 * (0.5 if near else 2.0)
    return cost + (x[-1] - goal) ** 2


def every_second(x: "Float[Array, 'n']"):
    s = 0.0
    for i in range(0, len(x), 2):
        s += x[i]
    return s


def prefix_sums(x: "Float[Array, 'n']"):
    c = np.zeros(len(x) + 1)
    for i in range(len(x)):
        c[i + 1] = c[i] + x[i]
    return c


def fibonacci_like(x: "Float[Array, 'n']"):
    a, b = 0.0, 1.0
    for v in x:
        a, b = b, a + v * b
    return a, b


def fourier(x, n=100):
    total = 0.0
    for k in range(1, n + 1):
        total += math.sin(k * x) / k
    return total


def triangle(x: "Float[Array, 'n']"):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += x[i] * x[j] ** 2
    return total


def row_differences(x: "Float[Array, 'n m']"):
    n, m = x.shape
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(1, m):
            out[i, j] = x[i, j] - x[i, j - 1]
    return out
