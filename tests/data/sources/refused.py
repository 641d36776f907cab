"""Functions that are not read, each for its own reason."""
import math

import numpy as np


class Model:
    pass


def with_file(x):
    with open("f") as g:
        return x


def tried(x):
    try:
        return x
    except ValueError:
        return 0


def unknown_method(x):
    return x.foo()


def unknown_function(x):
    return tanhh(x) + math.pow(x, 2)


def tanh(x):
    return math.tanh(x)


def misspelled(x):
    return np.arctn(x)


def transform(x):
    return np.fft.fft(x)


def open_while(x, tol=1e-6):
    while x > tol:
        x = x / 2
    return x


def one_arm(x):
    if x > 0:
        y = 1.0
    return y


def falls_off(x):
    if x > 0:
        return x


def steps_not_known(x, n):
    s = 0.0
    for i in range(n):
        s += x ** i
    return s


def selected(x):
    return x[x > 0]


def two_ranks(x: "Float[Array, '3']"):
    return np.sum(x) + x[0, 1]


def which_arrays(x, y):
    return np.sum(x * y)


def which_matrix(A, x):
    return A @ x


def place_of_largest(x):
    return np.argmax(x)


def starred(*args):
    return args[0]


def attribute(x):
    x.y = 3
    return x


def formatted(x):
    return f"{x}"


def slice_assigned(x):
    z = np.zeros(3)
    z[0:2] = x
    return z


def text_in_sine(x):
    return math.sin("x")


def imaginary(x):
    return 1j * x


def endless(x):
    return endless(x - 1)


def truth(x):
    return x > 2


def sometimes_none(x):
    y = x if x > 0 else None
    return y


def shifted(x):
    return x << 2


def outside(x: "Float[Array, '3']"):
    return x[5]


def unequal(x: "Float[Array, '3']", y: "Float[Array, '2']"):
    return x + y


def nothing(x):
    pass


def made(x):
    return lambda t: x + t


def discarded(x):
    math.sin(x)
    return x


def instance(x):
    return Model(x)


def other_norm(x):
    return np.linalg.norm(x, 1)


def no_value(x):
    return 1 / 0 + x


RATE = 1.0
RATE = 2.0


def twice_assigned(x):
    return RATE * x


def spectral_norm(A: "Float[Array, 'n n']"):
    return np.linalg.norm(A, 2)


def side_by_side(A: "Float[Array, 'n n']"):
    return np.concatenate([A[0:2], A[0:2]], axis=1)


def elsewhere(x):
    return helper.scale * x


def alias(x: "Float[Array, 'n']"):
    y = x
    y[0] = 5.0
    return y + x


def view(x: "Float[Array, 'n m']"):
    first = x[0]
    first[0] = 5.0
    return x


def rows_changed(x: "Float[Array, 'n m']"):
    for row in x:
        row[0] = 5.0
    return x


def skipped(x: "Float[Array, 'n']"):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            break
        s += x[i]
    return s


def assigned_twice(x: "Float[Array, 'n']"):
    y = x.copy()
    for i in range(len(x)):
        y[i] = 2 * y[i]
        y[i] = y[i] + y[i] ** 2
    return y


def under_condition(x: "Float[Array, 'n']"):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = x[i]
    return y


def not_all(x: "Float[Array, 'n']"):
    y = np.zeros(len(x))
    for i in range(1, len(x), 2):
        y[i] = y[i - 1] + x[i]
    return y


def list_of_two(x: "Float[Array, 'n']"):
    out = []
    for v in x:
        out.append(v)
        out.append(2 * v)
    return sum(out)


def real_numbers_as_subscripts(x: "Float[Array, 'n']"):
    return x[x[0]]


def mean_of_some(x: "Float[Array, 'n']"):
    return np.mean(x, where=x > 0)
