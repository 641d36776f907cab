"""Functions of physics, written as people write them."""
import math

import numpy as np

G = 6.674e-11          # m³/(kg s²)
EARTH = 5.972e24       # kg
MU = G * EARTH
C = 299_792_458.0


def orbit_speed(r, a):
    """Speed on an orbit by the vis-viva equation."""
    return math.sqrt(MU * (2 / r - 1 / a))


def pendulum_period(length, theta0, g=9.81):
    """Period of a pendulum, as a series in the amplitude."""
    small = 2 * np.pi * np.sqrt(length / g)
    s = np.sin(theta0 / 2) ** 2
    correction = 1.0
    coefficient = 1.0
    for n in range(1, 6):
        coefficient *= ((2 * n - 1) / (2 * n)) ** 2
        correction += coefficient * s ** n
    return small * correction


def drag_force(v: float, rho: float = 1.2, area: float = 0.5) -> float:
    # Reynolds number decides the coefficient
    re = rho * abs(v) * math.sqrt(area) / 1.8e-5
    if re < 1.0:
        cd = 24 / re
    elif re < 1000.0:
        cd = 24 / re * (1 + 0.15 * re ** 0.687)
    else:
        cd = 0.44
    return 0.5 * rho * cd * area * v * abs(v)


def lennard_jones(r, eps=1.0, sigma=1.0, cutoff=2.5):
    """Potential with a cutoff, shifted to zero there."""
    def raw(x):
        q = (sigma / x) ** 6
        return 4 * eps * (q * q - q)
    if r >= cutoff:
        return 0.0
    return raw(r) - raw(cutoff)


def planck(wavelength, temperature):
    h, k = 6.62607015e-34, 1.380649e-23
    lam = wavelength * 1e-6
    x = h * C / (lam * k * temperature)
    return 2 * h * C ** 2 / lam ** 5 / np.expm1(x) * 1e-12


def doppler(f, v, angle):
    beta = v / C
    gamma = 1 / math.sqrt(1 - beta ** 2)
    return f / (gamma * (1 - beta * math.cos(angle)))


def spring_energy(x, y, k=2.0, rest=1.0):
    length = math.hypot(x, y)
    stretch = length - rest
    return 0.5 * k * stretch ** 2 if stretch > 0 else 0.0


def projectile(v0, angle, wind):
    """Range of a shot by small steps with a quadratic drag."""
    x, y = 0.0, 0.0
    vx, vy = v0 * math.cos(angle), v0 * math.sin(angle)
    dt = 0.05
    for _ in range(20):
        speed = math.sqrt((vx - wind) ** 2 + vy ** 2)
        ax = -0.01 * speed * (vx - wind)
        ay = -9.81 - 0.01 * speed * vy
        x, y = x + vx * dt, y + vy * dt
        vx += ax * dt
        vy += ay * dt
    return x, y


def center_of_mass(m: "Float[Array, 'n']", x: "Float[Array, 'n d']"):
    """Mean position, weighted by the masses."""
    return np.sum(m[:, None] * x, axis=0) / np.sum(m)


def gravity_energy(m, x):
    """Energy of masses on a line."""
    apart = np.abs(x[:, None] - x[None, :]) + 0.1
    return -np.sum(m[:, None] * m[None, :] / apart)


def heat_residual(u, dx=0.1, alpha=0.5):
    """Second differences inside of a rod."""
    inner = (u[2:] - 2 * u[1:-1] + u[:-2]) / dx ** 2
    return alpha * inner
