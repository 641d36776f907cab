"""Rates, equilibria and mixtures."""
import math

import numpy as np

R = 8.314


def arrhenius(T, A=1e3, Ea=20e3):
    return A * math.exp(-Ea / (R * T))


def michaelis_menten(s, vmax, km, inhibitor=0.0, ki=1.0):
    apparent = km * (1 + inhibitor / ki)
    return vmax * s / (apparent + s)


def van_der_waals(V, T, n=1.0, a=0.36, b=4.3e-5):
    ideal = n * R * T / (V - n * b)
    return ideal - a * n ** 2 / V ** 2


def nernst(c_out, c_in, T=298.15, z=1):
    return R * T / (z * 96485.0) * np.log(c_out / c_in)


def antoine(T, coefficients=None):
    a, b, c = coefficients or (8.07, 1730.6, 233.4)
    return 10 ** (a - b / (c + T))


def debye_huckel(I, z=1, size=0.3):
    root = I ** 0.5
    log_gamma = -0.509 * z ** 2 * root / (1 + 3.3 * size * root)
    return 10 ** log_gamma


def hill(x, k, n):
    if x <= 0:
        return 0.0
    return 1 / (1 + (k / x) ** n)


def ph_of_buffer(acid, base, pka=4.76):
    assert acid > 0
    return pka + math.log10(base / acid)


def gibbs_of_mixing(x, omega=1.5):
    """Of a regular solution in units of RT; x is the mole fraction of one component."""
    from scipy.special import xlogy
    return xlogy(x, x) + xlogy(1 - x, 1 - x) + omega * x * (1 - x)


def brusselator(x, y, a=1.0, b=3.0):
    dx = a + x ** 2 * y - (b + 1) * x
    dy = b * x - x ** 2 * y
    return dx, dy


def mixture_density(fractions, densities):
    return 1 / np.sum(fractions / densities)
