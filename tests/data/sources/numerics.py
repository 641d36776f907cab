"""Small algorithms and test functions."""
import math

import numpy as np


def rosenbrock(x, y):
    return (1 - x) ** 2 + 100 * (y - x ** 2) ** 2


def rosenbrock_n(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def newton_root(a, steps=8):
    """Square root by Newton's method."""
    x = a
    k = 0
    while k < steps:
        x = 0.5 * (x + a / x)
        k += 1
    return x


def horner(x, c0, c1, c2, c3):
    total = 0
    for c in reversed([c0, c1, c2, c3]):
        total = total * x + c
    return total


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


def taylor_sin(x):
    return sum((-1) ** k * x ** (2 * k + 1) / factorial(2 * k + 1) for k in range(6))


def simpson(a, b):
    f = lambda t: math.exp(-t * t)  # noqa: E731
    h = (b - a) / 4
    return h / 3 * (f(a) + 4 * f(a + h) + 2 * f(a + 2 * h) + 4 * f(a + 3 * h) + f(b))


def rk4_decay(y, k, h=0.1):
    def rate(u):
        return -k * u / (1 + u)
    for _ in range(4):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def clamp_or_wrap(x, low=-1.0, high=1.0):
    if x < low:
        return low + 0.1 * (x - low)
    if x > high:
        return high + 0.1 * (x - high)
    return x


def ackley(x, y):
    a, b, c = 20.0, 0.2, 2 * math.pi
    root = math.sqrt(0.5 * (x * x + y * y))
    waves = 0.5 * (math.cos(c * x) + math.cos(c * y))
    return -a * math.exp(-b * root) - math.exp(waves) + a + math.e


def triangle_area(ax, ay, bx, by, cx, cy):
    m = np.array([[bx - ax, by - ay], [cx - ax, cy - ay]])
    return 0.5 * np.linalg.det(m)


def spectral(A: "Float[Array, 'n n']"):
    S = A + A.T + 4 * np.eye(len(A))
    L = np.linalg.cholesky(S)
    return np.sum(np.log(np.diag(L))) + np.trace(np.linalg.inv(S))


def chebyshev(x, n=5):
    previous, current = 1.0, x
    for _ in range(n - 1):
        previous, current = current, 2 * x * current - previous
    return current
