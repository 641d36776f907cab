"""Falling with drag that grows with the speed: a sample of a function that is read as a program."""
from math import exp, log

G = 9.81  # m/s²


def speed(t: float, k: float = 0.3) -> float:
    """Speed of a body that begins to fall at t = 0."""
    limit = G / k  # at the end
    if t < 0:
        return 0.0
    return limit * (1 - exp(-k * t))


def half_time(k: float = 0.3) -> float:
    """The time until half of the last speed."""
    return log(2) / k
