"""Constrained problems of any size from the literature: texts for adcli, their data, and the expressions of CasADi.

COPS 3.0 (Dolan, Moré, Munson: Benchmarking optimization software with COPS, ANL/MCS-TM-273, 2004) with its discretisations, and
problems 1, 3 and 4 of Lukšan and Vlček, Sparse and partially separable test problems for unconstrained and equality constrained
optimization, report 767 (1999), as in the examples of IPOPT.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Model = Callable[[Any, Mapping[str, Any], Mapping[str, Any]], tuple[Any, Sequence[Any]]]
"""Objective and equations of CasADi, by its module, the unknowns and the data."""


class Problem(NamedTuple):
    """A text with the objective `f`, of which the other outputs are zero; `data` gives its inputs for a size, those in `unknowns`
    as a start, with `ranges` of them; `published` is the least value that is known, of the continuous problem."""

    title: str
    sizes: tuple[int, int, int]
    text: str
    unknowns: tuple[str, ...]
    equations: tuple[str, ...]
    data: Callable[[int], dict[str, Any]]
    ranges: Callable[[int], dict[str, tuple[Any, Any]]]
    model: Model
    published: str = ""


# ---------------------------------------------------------------- COPS

CHAIN = """\
# COPS: a chain of length 4, hung up at the heights 1 and 3; its height x and slope u at N + 1 places
input x(N), u(N)
param h
f +=! h/2*(x(i)*sqrt(1 + u(i)**2) + x(i + 1)*sqrt(1 + u(i + 1)**2))
length +=! h/2*(sqrt(1 + u(i)**2) + sqrt(1 + u(i + 1)**2))
step(i) = x(i + 1) - x(i) - h/2*(u(i) + u(i + 1))
too_long = length - 4
low_end = x(0) - 1
high_end = x(N - 1) - 3
output f, step, too_long, low_end, high_end
"""
BEARING = """\
# COPS: the pressure v in a journal bearing, elements of triangles on a grid
input v(N, M)
param e = 0.1, b = 10, hx, hy
wide(i) = (1 + e*cos(hx*i))**3 where i in 0:N
f +=! hx*hy/12*(2*wide(i) + wide(i + 1))*(((v(i + 1, j) - v(i, j))/hx)**2 + ((v(i, j + 1) - v(i, j))/hy)**2)
back +=! hx*hy/12*(2*wide(i + 1) + wide(i))*(((v(i, j + 1) - v(i + 1, j + 1))/hx)**2 + ((v(i + 1, j) - v(i + 1, j + 1))/hy)**2)
load +=! hx*hy*e*sin(hx*i)*v(i, j)
f = f + back - load
output f
"""
ROCKET = """\
# COPS: Goddard's rocket as high as can be; height h, velocity v, mass m and thrust T at N places, steps of time s
input h(N), v(N), m(N), T(N), s
drag(i) = 310*v(i)**2*exp(-500*(h(i) - 1))
push(i) = (T(i) - drag(i))/m(i) - 1/h(i)**2
f = -h(N - 1)
rise(i) = h(i + 1) - h(i) - s/2*(v(i) + v(i + 1))
speed(i) = v(i + 1) - v(i) - s/2*(push(i) + push(i + 1))
burnt(i) = m(i + 1) - m(i) + s*(T(i) + T(i + 1))
output f, rise, speed, burnt
"""


def chain_data(n: int) -> dict[str, Any]:
    t = np.linspace(0, 1, n + 1)
    return {"x": 8*t*(t/2 - 0.25) + 1, "u": 8*(t - 0.25), "h": 1/n}


def chain_model(ca: Any, v: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    x, u, h = v["x"], v["u"], data["h"]
    s = ca.sqrt(1 + u**2)
    return h/2*ca.sum1((x*s)[:-1] + (x*s)[1:]), [x[1:] - x[:-1] - h/2*(u[:-1] + u[1:]), h/2*ca.sum1(s[:-1] + s[1:]) - 4,
                                                 x[0] - 1, x[-1] - 3]


def bearing_data(n: int) -> dict[str, Any]:
    hx, hy = 2*np.pi/(n + 1), 20/(n + 1)
    start = np.repeat(np.maximum(np.sin(hx*np.arange(n + 2)), 0)[:, None], n + 2, axis=1)
    start[[0, -1], :] = start[:, [0, -1]] = 0
    return {"v": start, "hx": hx, "hy": hy}


def bearing_ranges(n: int) -> dict[str, tuple[Any, Any]]:
    high = np.zeros((n + 2, n + 2))
    high[1:-1, 1:-1] = np.inf
    return {"v": (np.zeros((n + 2, n + 2)), high)}


def bearing_model(ca: Any, x: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    n, hx, hy = len(data["v"]), data["hx"], data["hy"]
    v = ca.reshape(x["v"], n, n).T
    wide = (1 + 0.1*np.cos(hx*np.arange(n)))**3
    first, second = (np.repeat((2*a + b)[:, None], n - 1, axis=1) for a, b in ((wide[:-1], wide[1:]), (wide[1:], wide[:-1])))
    there = ((v[1:, :-1] - v[:-1, :-1])/hx)**2 + ((v[:-1, 1:] - v[:-1, :-1])/hy)**2
    back = ((v[:-1, 1:] - v[1:, 1:])/hx)**2 + ((v[1:, :-1] - v[1:, 1:])/hy)**2
    load = np.repeat((0.1*np.sin(hx*np.arange(n)))[:, None], n, axis=1)
    return hx*hy/12*ca.sum1(ca.sum2(first*there + second*back)) - hx*hy*ca.sum1(ca.sum2(load*v)), []


def rocket_data(n: int) -> dict[str, Any]:
    k = np.linspace(0, 1, n + 1)
    return {"h": np.ones(n + 1), "v": k*(1 - k), "m": 1 - 0.4*k, "T": np.full(n + 1, 1.75), "s": 1/n}


def rocket_ranges(n: int) -> dict[str, tuple[Any, Any]]:
    free = np.full(n, np.inf)
    return {"h": (np.ones(n + 1), np.r_[1, free]), "v": (np.zeros(n + 1), np.r_[0, free]),
            "m": (np.r_[1, np.full(n, 0.6)], np.r_[np.ones(n), 0.6]), "T": (np.zeros(n + 1), np.full(n + 1, 3.5)),
            "s": (0.0, np.inf)}


def rocket_model(ca: Any, x: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    h, v, m, thrust, s = (x[name] for name in ("h", "v", "m", "T", "s"))
    push = (thrust - 310*v**2*ca.exp(-500*(h - 1)))/m - 1/h**2
    return -h[-1], [h[1:] - h[:-1] - s/2*(v[1:] + v[:-1]), v[1:] - v[:-1] - s/2*(push[1:] + push[:-1]),
                    m[1:] - m[:-1] + s*(thrust[1:] + thrust[:-1])]


# ---------------------------------------------------------------- Lukšan and Vlček

ROSENBROCK = """\
# Lukšan and Vlček 1: chained Rosenbrock function, trigonometric-exponential constraints
input x(N)
f +=! 100*(x(i)**2 - x(i + 1))**2 + (x(i) - 1)**2 where i in 0:N-1
c(k) = 3*x(k+1)**3 + 2*x(k+2) - 5 + sin(x(k+1) - x(k+2))*sin(x(k+1) + x(k+2)) + 4*x(k+1) - x(k)*exp(x(k) - x(k+1)) - 3
output f, c
"""
POWELL = """\
# Lukšan and Vlček 3: chained singular function of Powell, simplified trigonometric-exponential constraints
input x(N)
f +=! (x(2*i) + 10*x(2*i+1))**2 + 5*(x(2*i+2) - x(2*i+3))**2 + (x(2*i+1) - 2*x(2*i+2))**4 + 10*(x(2*i) - x(2*i+3))**4
first = 3*x(0)**3 + 2*x(1) - 5 + sin(x(0) - x(1))*sin(x(0) + x(1))
last = 4*x(N-1) - x(N-2)*exp(x(N-2) - x(N-1)) - 3
output f, first, last
"""
CRAGG = """\
# Lukšan and Vlček 4: chained function of Cragg and Levy, tridiagonal constraints
input x(N)
f +=! (exp(x(2*i)) - x(2*i+1))**4 + 100*(x(2*i+1) - x(2*i+2))**6 + tan(x(2*i+2) - x(2*i+3))**4 + x(2*i)**8 + (x(2*i+3) - 1)**2
c(k) = 8*x(k+1)*(x(k+1)**2 - x(k)) - 2*(1 - x(k+1)) + 4*(x(k+1) - x(k+2)**2)
output f, c
"""


def repeating(*numbers: float) -> Callable[[int], dict[str, Any]]:
    """Data of a start that repeats itself."""
    return lambda n: {"x": np.resize(np.array(numbers), n)}


def rosenbrock_model(ca: Any, v: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    x = v["x"]
    a, b, c = x[:-2], x[1:-1], x[2:]
    return (ca.sum1(100*(x[:-1]**2 - x[1:])**2 + (x[:-1] - 1)**2),
            [3*b**3 + 2*c - 5 + ca.sin(b - c)*ca.sin(b + c) + 4*b - a*ca.exp(a - b) - 3])


def powell_model(ca: Any, v: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    x = v["x"]
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    return (ca.sum1((a + 10*b)**2 + 5*(c - d)**2 + (b - 2*c)**4 + 10*(a - d)**4),
            [3*x[0]**3 + 2*x[1] - 5 + ca.sin(x[0] - x[1])*ca.sin(x[0] + x[1]), 4*x[-1] - x[-2]*ca.exp(x[-2] - x[-1]) - 3])


def cragg_model(ca: Any, v: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[Any, Sequence[Any]]:
    x = v["x"]
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    e, f, g = x[:-2], x[1:-1], x[2:]
    return (ca.sum1((ca.exp(a) - b)**4 + 100*(b - c)**6 + ca.tan(c - d)**4 + a**8 + (d - 1)**2),
            [8*f*(f**2 - e) - 2*(1 - f) + 4*(f - g**2)])


def free(n: int) -> dict[str, tuple[Any, Any]]:
    """No ranges."""
    return {}


OF_LUKSAN = 1000, 10_000, 50_000
CASES = [
    Problem("COPS: hanging chain", (200, 2000, 10_000), CHAIN, ("x", "u"), ("step", "too_long", "low_end", "high_end"),
            chain_data, free, chain_model, "5.0685"),
    Problem("COPS: journal bearing", (30, 60, 120), BEARING, ("v",), (), bearing_data, bearing_ranges, bearing_model),
    Problem("COPS: Goddard's rocket", (100, 200, 400), ROCKET, ("h", "v", "m", "T", "s"), ("rise", "speed", "burnt"),
            rocket_data, rocket_ranges, rocket_model, "-1.01283"),
    Problem("Lukšan–Vlček 1", OF_LUKSAN, ROSENBROCK, ("x",), ("c",), repeating(-1.2, 1.0), free, rosenbrock_model),
    Problem("Lukšan–Vlček 3", OF_LUKSAN, POWELL, ("x",), ("first", "last"), repeating(3, -1, 0, 1), free, powell_model),
    Problem("Lukšan–Vlček 4", OF_LUKSAN, CRAGG, ("x",), ("c",), repeating(1, 2, 2, 2), free, cragg_model),
]


# ---------------------------------------------------------------- bundle adjustment

BUNDLE = """\
# Bundle adjustment with the camera model of ADBench: camera k turns by the vector turn(k, :), stands at centre(k, :), and has the
# focal length lens(k, 0), centre of the picture lens(k, 1:3) and radial distortion lens(k, 3:5); point seen(o) is at a(o), b(o)
param turn(N, 3), centre(N, 3), lens(N, 5), point(M, 3)
input int32 camera(P), int32 seen(P), a(P), b(P)
square(k) = turn(k, 0)**2 + turn(k, 1)**2 + turn(k, 2)**2
angle(k) = sqrt(square(k) == 0 ? 1 : square(k))
axis(k, c) = turn(k, c)/angle(k)
r(o, c) = axis(camera(o), c)
p(o, c) = point(seen(o), c) - centre(camera(o), c)
cosine(o) = cos(angle(camera(o)))
sine(o) = sin(angle(camera(o)))
along(o) = (r(o, 0)*p(o, 0) + r(o, 1)*p(o, 1) + r(o, 2)*p(o, 2))*(1 - cosine(o))
x(o) = p(o, 0)*cosine(o) + (r(o, 1)*p(o, 2) - r(o, 2)*p(o, 1))*sine(o) + r(o, 0)*along(o)
y(o) = p(o, 1)*cosine(o) + (r(o, 2)*p(o, 0) - r(o, 0)*p(o, 2))*sine(o) + r(o, 1)*along(o)
z(o) = p(o, 2)*cosine(o) + (r(o, 0)*p(o, 1) - r(o, 1)*p(o, 0))*sine(o) + r(o, 2)*along(o)
u(o) = x(o)/z(o)
v(o) = y(o)/z(o)
rr(o) = u(o)**2 + v(o)**2
scale(o) = lens(camera(o), 0)*(1 + lens(camera(o), 3)*rr(o) + lens(camera(o), 4)*rr(o)**2)
left(o) = u(o)*scale(o) + lens(camera(o), 1) - a(o)
down(o) = v(o)*scale(o) + lens(camera(o), 2) - b(o)
output left, down
"""
SCENES = ((5, 20, 4), (20, 500, 5), (49, 7776, 4))
"""Cameras, points, and pictures of each point; the last is the size of ADBench's first."""
CAMERA = ("turn", "centre", "lens")


def pictures(x: Mapping[str, Any], camera: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Where points are in pictures."""
    from scipy.spatial.transform import Rotation
    turn, centre, lens = (x[name][camera] for name in CAMERA)
    p = Rotation.from_rotvec(turn).apply(x["point"][seen] - centre)
    uv = p[:, :2]/p[:, 2:]
    rr = (uv**2).sum(axis=1)
    return uv*(lens[:, 0]*(1 + lens[:, 3]*rr + lens[:, 4]*rr**2))[:, None] + lens[:, 1:3]


def scene(n: int, m: int, each: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Cameras around points, known up to a start that is off by some percent, and pictures with errors of half a pixel."""
    from scipy.spatial.transform import Rotation
    r, t = np.random.default_rng(1), np.linspace(0, 2*np.pi, n, endpoint=False)
    centre = r.uniform(4, 7, n)[:, None]*np.stack([np.cos(t), np.sin(t), r.uniform(-0.5, 0.5, n)], axis=1)
    ahead = -centre/np.linalg.norm(centre, axis=1)[:, None]
    across = np.cross([0, 0, 1], ahead)
    across /= np.linalg.norm(across, axis=1)[:, None]
    turn = Rotation.from_matrix(np.stack([across, np.cross(ahead, across), ahead], axis=1)).as_rotvec()
    lens = np.stack([r.uniform(800, 1000, n), *r.uniform(-5, 5, (2, n)), np.full(n, -0.05), np.full(n, 0.02)], axis=1)
    true = {"turn": turn, "centre": centre, "lens": lens, "point": r.uniform(-2, 2, (m, 3))}
    camera = np.concatenate([r.choice(n, each, replace=False) for _ in range(m)])
    seen = np.repeat(np.arange(m), each)
    a, b = (pictures(true, camera, seen) + r.normal(0, 0.5, (len(seen), 2))).T
    start = {name: x*(1 + r.normal(0, 0.01, x.shape)) for name, x in true.items()}
    return start, {"camera": camera, "seen": seen, "a": a, "b": b}
