"""The tool for GradBench: a session of its protocol for every eval, against formulas in NumPy with derivatives by complex steps.

A complex step h*i gives the derivative of an analytic function as Im f(x + h*i) / h, to the last digits where h is tiny. The rule
for what is valid is that of GradBench's own evals, but a million times sharper.
"""
from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT

TOOL = [sys.executable, ROOT / "tests" / "gradbench.py"]
RNG = np.random.default_rng(14)
Array = np.ndarray


def by_complex_steps(f: Callable[[Array], Any], x: Array) -> Array:
    """The derivatives of all results of f, with the shape of the results and then that of x."""
    found = []
    for i in np.ndindex(x.shape):
        moved = x.astype(complex)
        moved[i] += 1e-100j
        found.append(np.imag(f(moved)) * 1e100)
    return np.moveaxis(np.array(found), 0, -1).reshape(np.shape(found[0]) + x.shape)


def wrong(expected: Any, found: Any, tolerance: float = 1e-10) -> str:
    """Where numbers differ by more than a part of max(1, |x| + |y|), or '' where none does; shapes and keys must be the same."""
    if isinstance(expected, dict):
        if set(expected) != set(found):
            return f"keys {sorted(found)}"
        return next((f"{key}: {said}" for key in expected if (said := wrong(expected[key], found[key], tolerance))), "")
    x, y = np.asarray(expected, dtype=float), np.asarray(found, dtype=float)
    if x.shape != y.shape:
        return f"shape {y.shape}, not {x.shape}"
    off = ~(np.abs(x - y) <= tolerance * np.maximum(1, np.abs(x) + np.abs(y)))
    return f"{y[off].flat[0]!r}, not {x[off].flat[0]!r}" if off.any() else ""


# ---------------------------------------------------------------- what is right, by eval: an input, and results by function

def hello() -> tuple[Any, dict[str, Any]]:
    return 3.5, {"square": 12.25, "double": 7.0}


def logsumexp(x: Array, axis: int | None = None) -> Array:
    return np.log(np.exp(x).sum(axis))


def lse() -> tuple[Any, dict[str, Any]]:
    x = RNG.normal(size=50)
    return {"x": x.tolist()}, {"primal": logsumexp(x), "gradient": np.exp(x - logsumexp(x))}


def llsq() -> tuple[Any, dict[str, Any]]:
    x, n = RNG.normal(size=7), 12
    t = np.linspace(-1, 1, n)

    def value(x: Array) -> Any:
        return ((np.sign(t) - np.polyval(x[::-1], t))**2).sum() / 2
    return {"x": x.tolist(), "n": n}, {"primal": value(x), "gradient": by_complex_steps(value, x)}


def kmeans() -> tuple[Any, dict[str, Any]]:
    points = RNG.random((40, 3))
    centroids = points[-4:]
    square = ((points[:, None] - centroids)**2).sum(2)
    nearest = square.argmin(1)
    means = np.array([points[nearest == j].mean(0) for j in range(4)])
    return {"points": points.tolist(), "centroids": centroids.tolist()}, {"cost": square.min(1).sum(), "dir": centroids - means}


def gmm() -> tuple[Any, dict[str, Any]]:
    d, k, n, m, gamma = 3, 2, 8, 2, 1.5
    x, below = RNG.normal(size=(n, d)), list(itertools.combinations(range(d), 2))
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, len(below))}
    parts = {name: RNG.normal(size=shape) for name, shape in shapes.items()}

    def value(alpha: Array, mu: Array, q: Array, l: Array) -> Any:  # noqa: E741
        factors = np.zeros((k, d, d), dtype=complex)
        for j, (column, row) in enumerate(below):
            factors[:, row, column] = l[:, j]
        factors[:, range(d), range(d)] = np.exp(q)
        square = (np.einsum("kij,nkj->nki", factors, x[:, None] - mu)**2).sum(2)
        like = logsumexp(alpha + q.sum(1) - square / 2, 1).sum() - n * (logsumexp(alpha) + d / 2 * np.log(2 * np.pi))
        df = d + m + 1
        gammas = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((df - j) / 2) for j in range(d))
        constant = df * d * (math.log(gamma) - math.log(2) / 2) - gammas
        return like - gamma**2 / 2 * (factors**2).sum() + m * q.sum() + k * constant

    slopes = {name: by_complex_steps(lambda x, name=name: value(**parts | {name: x}), part) for name, part in parts.items()}
    given = {"d": d, "k": k, "n": n, "m": m, "gamma": gamma, "x": x.tolist()} | {name: a.tolist() for name, a in parts.items()}
    return given, {"objective": np.real(value(**parts)), "jacobian": slopes}


def rotated(axis: Array, p: Array) -> Array:
    """A vector turned about an axis by the length of the axis."""
    angle = np.sqrt((axis**2).sum())
    n = axis / angle
    return p * np.cos(angle) + np.cross(n, p) * np.sin(angle) + n * (n * p).sum() * (1 - np.cos(angle))


def ba() -> tuple[Any, dict[str, Any]]:
    camera, point, w, seen = np.append(RNG.normal(size=9), [0.01, 0.02]), RNG.normal(size=3), 0.7, RNG.normal(size=2)
    n, m, p = 3, 5, 2100

    def errors(x: Array) -> Array:
        y = rotated(x[:3], x[11:14] - x[3:6])
        z = y[:2] / y[2]
        square = (z**2).sum()
        return np.append(x[14] * (z * (1 + x[9] * square + x[10] * square**2) * x[6] + x[7:9] - seen), 1 - x[14]**2)

    x = np.concatenate([camera, point, [w]])
    found, jacobian, last = errors(x), by_complex_steps(errors, x), p - 1
    row = [0, *range(1, 11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    given = {"n": n, "m": m, "p": p, "cam": camera.tolist(), "x": point.tolist(), "w": w, "feat": seen.tolist()}
    return given, {
        "objective": {"reproj_error": {"elements": found[:2], "repeated": p}, "w_err": {"element": found[2], "repeated": p}},
        "jacobian": {"rows": [15 * i for i in range(30)] + [31 * p], "cols": [*row, *row, 11 * n + 3 * m + last],
                     "vals": [*jacobian[0], *jacobian[1], jacobian[2, 14]]}}


def lstm() -> tuple[Any, dict[str, Any]]:
    layers, steps, b = 2, 4, 3
    main, extra, state = RNG.random((2 * layers, 4 * b)), RNG.random((3, b)), RNG.random((2 * layers, b))
    x = RNG.integers(0, 2, size=(steps, b)).astype(float)

    def sigmoid(z: Array) -> Array:
        return 1 / (1 + np.exp(-z))

    def value(parameters: Array) -> Any:
        weights, (into, out, bias) = parameters[:main.size].reshape(layers, 2, 4, b), parameters[main.size:].reshape(3, b)
        hidden, memory, total = list(state[::2]), list(state[1::2]), 0
        for t in range(steps - 1):
            signal = x[t] * into
            for i, (weight, shift) in enumerate(weights):
                inputs = np.stack([signal, hidden[i], signal, hidden[i]])
                z = inputs * weight + shift
                memory[i] = memory[i] * sigmoid(z[0]) + sigmoid(z[1]) * np.tanh(z[3])
                signal = hidden[i] = sigmoid(z[2]) * np.tanh(memory[i])
            y = signal * out + bias
            total = total + (x[t + 1] * (y - np.log(np.exp(y).sum() + 2))).sum()
        return -total / ((steps - 1) * b)

    at = np.concatenate([main.reshape(-1), extra.reshape(-1)])
    given = {"main_params": main.tolist(), "extra_params": extra.tolist(), "state": state.tolist(), "sequence": x.tolist()}
    return given, {"objective": value(at), "jacobian": by_complex_steps(value, at)}


def det() -> tuple[Any, dict[str, Any]]:
    a = RNG.random((4, 4))
    return {"A": a.reshape(-1).tolist(), "ell": 4}, {
        "primal": np.linalg.det(a), "gradient": (np.linalg.det(a) * np.linalg.inv(a).T).reshape(-1)}


def ht() -> tuple[Any, dict[str, Any]]:
    bones, vertices, points = 22, 6, 2
    theta, us = RNG.normal(size=26), RNG.random((points, 2))
    parents = [-1, *(0 if i % 4 == 1 else i - 1 for i in range(1, 21)), 0]
    base, inverse = RNG.normal(size=(2, bones, 4, 4)) / 2
    position, weight, seen = RNG.normal(size=(vertices, 4)), RNG.random((vertices, bones)), RNG.normal(size=(points, 3))
    triangles, which = [[0, 1, 2], [3, 4, 5]], [1, 0]

    def turn(about_x: Any, about_z: Any) -> Array:
        c, s, cz, sz = np.cos(about_x), np.sin(about_x), np.cos(about_z), np.sin(about_z)
        matrix = np.eye(4, dtype=complex)
        matrix[:3, :3] = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        return matrix

    def errors(x: Array) -> Array:
        angles, u = x[6:26].reshape(5, 4), x[26:].reshape(points, 2)
        absolute: list[Array] = []
        for i, parent in enumerate(parents):
            finger, joint = divmod(i - 1, 4)
            first, second, third, fourth = angles[finger % 5]
            about = [(0, 0), (first, second), (third, 0), (fourth, 0)]
            here = base[i] @ turn(*(about[joint] if 0 < i < 21 else (0, 0)))
            absolute.append(here if parent < 0 else absolute[parent] @ here)
        placed = sum(weight[:, i, None] * (position @ (absolute[i] @ inverse[i]).T)[:, :3] for i in range(bones))
        moved = np.array([rotated(x[:3], p) for p in placed]) + x[3:6]
        corners = moved[np.array(triangles)[which]]
        return (seen - np.einsum("pc,pci->pi", np.column_stack([u, 1 - u.sum(1)]), corners)).reshape(-1)

    model = {"bone_count": bones, "bone_names": [""] * bones, "parents": parents, "base_relatives": base.tolist(),
             "inverse_base_absolutes": inverse.tolist(), "base_positions": position.tolist(), "weights": weight.tolist(),
             "triangles": triangles, "is_mirrored": False}
    at = np.concatenate([theta, us.reshape(-1)])
    whole = by_complex_steps(errors, at)
    own = np.array([whole[3 * i:3 * i + 3, 26 + 2 * i:28 + 2 * i] for i in range(points)]).reshape(-1, 2)
    data = {"model": model, "correspondences": which, "points": seen.tolist()}
    wanted = {"objective": np.real(errors(at)), "jacobian": np.concatenate([own, whole[:, :26]], axis=1)}
    return {"theta": theta.tolist(), "us": us.tolist(), "data": data}, wanted


def ode() -> tuple[Any, dict[str, Any]]:
    x, s = RNG.random(5), 12

    def end(x: Array) -> Array:
        def slope(y: Array) -> Array:
            return x * np.append(1, y[:-1])
        y, h = 0 * x, 2 / s
        for _ in range(s):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
        return y
    return {"x": x.tolist(), "s": s}, {"primal": end(x), "gradient": by_complex_steps(end, x)[-1]}


def particle() -> tuple[Any, dict[str, Any]]:
    """GradBench's own answer, good to 1e-4 as the search stops there: a wrong derivative leads elsewhere."""
    return {"w": 0.0}, dict.fromkeys(("ff", "fr", "rf", "rr"), 0.2071918746486116)


def saddle() -> tuple[Any, dict[str, Any]]:
    return {"start": [1.0, 1.0]}, dict.fromkeys(("ff", "fr", "rf", "rr"), [8.246324826140356e-06] * 4)


QUICK, LONG = (hello, lse, llsq), (kmeans, gmm, ba, lstm, det, ht, ode, particle, saddle)
"""The evals whose programs are compiled in a moment, and the others."""
EVALS = [*(pytest.param(e, id=e.__name__) for e in QUICK),
         *(pytest.param(e, id=e.__name__, marks=pytest.mark.engine) for e in LONG)]


# ---------------------------------------------------------------- the tool

class Session:
    """The tool at the other end of two pipes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(TOOL, cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id = 0

    def send(self, **message: Any) -> dict[str, Any]:
        """The answer to a message, whose number is that of the message."""
        assert self.process.stdin and self.process.stdout
        self.id += 1
        print(json.dumps({"id": self.id} | message), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer.pop("id") == self.id
        return answer


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    made = Session(tmp_path_factory.mktemp("gradbench"))
    assert made.send(kind="start", eval="lse", config={"seed": 1}) == {"tool": "adcli"}
    yield made
    made.process.communicate()
    assert made.process.returncode == 0, "it ends with its input"


@pytest.mark.parametrize("right", EVALS)
def test_values_and_derivatives_of_an_eval_are_right(session: Session, right: Callable[[], tuple[Any, dict[str, Any]]]) -> None:
    name = right.__name__
    given, results = right()
    assert session.send(kind="define", module=name) == {"success": True}
    for function, expected in results.items():
        answer = session.send(kind="evaluate", module=name, function=function, input=given, description="small")
        assert answer["success"], answer
        sharp = 1e-4 if name in ("particle", "saddle") else 1e-10
        assert wrong(expected, answer["output"], sharp) == "", function
        assert wrong(expected, one_off(answer["output"]), sharp) != "", f"{function}: an error of 0.001 is seen"
        assert session.send(kind="analysis", of=session.id, valid=True) == {}
        assert [t["name"] for t in answer["timings"]] == ["prepare", "evaluate"]
        assert all(t["nanoseconds"] > 0 for t in answer["timings"])


def one_off(output: Any) -> Any:
    """The same with one number that is wrong in its third digit."""
    if isinstance(output, dict):
        last = list(output)[-1]
        return output | {last: one_off(output[last])}
    x = np.array(output, dtype=float)
    x.flat[np.abs(x).argmax()] += 1e-3 * max(1.0, np.abs(x).max())
    return x


def test_a_function_runs_as_often_and_as_long_as_is_asked_for(session: Session) -> None:
    def runs(**asked: Any) -> list[int]:
        answer = session.send(kind="evaluate", module="lse", function="gradient", input={"x": [1.0, 2.0]} | asked)
        return [t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate"]

    assert len(runs(min_runs=7, min_seconds=0)) == 7
    assert sum(runs(min_runs=1, min_seconds=0.05)) >= 5e7


def test_what_cannot_be_is_answered_and_the_session_goes_on(session: Session) -> None:
    assert "no eval chess" in session.send(kind="define", module="chess")["error"]
    for message, said in [
        ({"module": "lse", "function": "hessian", "input": {"x": [1.0]}}, "there is no function hessian of an eval lse"),
        ({"module": "lse", "function": "primal", "input": {}}, "KeyError: 'x'"),
        ({"module": "lse", "function": "primal", "input": {"x": ["one"]}}, "could not convert"),
        ({"module": "llsq", "function": "primal", "input": {"x": [1.0], "n": 1}}, "not JSON compliant"),
        ({"module": "ode", "function": "primal", "input": {"x": [1.0], "s": 0}}, "there must be at least one step"),
    ]:
        answer = session.send(kind="evaluate", **message)
        assert answer["success"] is False and said in answer["error"], answer
    assert session.send(kind="evaluate", module="hello", function="square", input=2.0)["output"] == 4.0


@pytest.mark.parametrize("line", ["hello", '{"kind": "start"}'])
def test_a_line_that_is_no_message_ends_the_session(line: str, tmp_path: Path) -> None:
    ended = subprocess.run(TOOL, cwd=tmp_path, text=True, input=line, capture_output=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"no message of the protocol, which has an id and a kind: {line}\n"
