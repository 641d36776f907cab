"""C functions as programs: against what a compiler makes of them, against JAX, and the C of our samples read back."""
from __future__ import annotations

import ctypes
import functools
import pickle
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from adcli.codegen.c.source import source as c_source
from adcli.codegen.rows.expand import for_machine
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse_source
from c_programs import CC
from command import adcli
from pycparser.c_parser import CParser
from sample_files import SCALARS
from session_seed import half
from sources import FOLDER, POINTS, evaluated, of_jax, original, program

from adcli.api.function import Function, load
from adcli.from_c.module import opened, read
from adcli.input.programs import read_source
from adcli.readers.front import functions
from adcli.readers.origin import TextOrigin

RNG = np.random.default_rng(8)
GMM = {"d": 2, "k": 3, "n": 2, "alphas": RNG.normal(size=3), "means": RNG.normal(size=6), "icf": RNG.normal(size=9) / 2,
       "x": RNG.normal(size=4), "gamma": 0.7, "m": 1}
BA = {"cam": RNG.normal(size=11) / 2, "X": RNG.normal(size=3) + np.array([0, 0, 3]), "w": 0.7, "feat": RNG.normal(size=2)}
LSTM = {"l": 2, "c": 3, "b": 2, "main_params": RNG.normal(size=32), "extra_params": RNG.normal(size=6),
        "state": RNG.normal(size=8), "sequence": RNG.normal(size=6)}
HAND = {"theta": RNG.normal(size=10), "base_relatives": RNG.normal(size=(6, 4, 4)) / 2,
        "inverse_base_absolutes": RNG.normal(size=(6, 4, 4)) / 2, "base_positions": RNG.normal(size=(4, 4)),
        "weights": RNG.random((4, 6)), "is_mirrored": 1, "points": RNG.normal(size=(2, 3))}
OF_C: dict[str, dict[str, Any]] = {
    "adbench:hand_objective": HAND, "adbench:hand_objective_complicated": {**HAND, "us": RNG.random(4), "is_mirrored": 0},
    "adbench:gmm_objective": GMM, "adbench:ba_reproj_error": BA, "adbench:ba_weight_error": {"w": 0.7},
    "adbench:lstm_objective": LSTM, **{f"corners:{name}": {"x": 0.7} for name in (
        "whole_division", "left_early", "behind_the_loop", "single", "shadowed", "rounded")},
    "corners:by_pointers": {"x": [0.5, 1.5, -0.7, 2.0]}, "corners:moving_index": {"x": [0.5, 1.5, -0.7, 2.0]},
    "corners:checked": {"in": [0.5, 1.5]},
    "corners:sorted": {"x": [0.5, 1.5, -0.7]}, "corners:power": {"x": 1.3, "n": 11}, "corners:in_part": {"x": 1.3, "n": 2},
    "corners:recursive": {"x": 1.3, "n": 3}}
EVERYDAY: dict[str, dict[str, Any]] = {
    "potential": {"p_x": 1.0, "p_y": 0.5, "p_z": -1.0, "q_x": 0.3, "q_y": -0.2, "q_z": 2.0, "m1": 2e5, "m2": 3e5},
    "kinetic": {"bodies_mass": RNG.random(3), "bodies_pos": RNG.normal(size=(3, 3)), "bodies_vel": RNG.normal(size=(3, 3))},
    "kernel": {"kind": 1, "r": 0.7}, "coefficient": {"x": 1.3, "order": 3}, "horner": {"x": 0.6}, "cube_root": {"a": 3.0},
    "rk4_step": {"y": [0.4, -0.3], "h": 0.1, "g": 9.8, "l": 1.2}, "end_effector": {"q": [0.3, -0.7, 1.1]},
    "bs_call": {"S": 1.0, "K": 1.1, "T": 0.7, "r": 0.03, "sigma": 0.3},
    "trapz": {"x": [0.1, 0.5, 1.2], "y": [2.0, 1.0, 0.5], "n": 3},
    "thomas": {"n": 3, "a": [0.1, 1, 1], "b": [4.0, 5, 4], "c": [1, 1, 0.2], "d": [1.0, 2, 3]},
    "american_put": {"s": 1.0, "k": 1.1, "r": 0.05, "sigma": 0.3, "t": 1.0},
    "quat_angle": {"w": 0.4, "x": 0.5, "y": -0.6, "z": 0.2},
    "cut_off_pairs": {"n": 4, "pos": RNG.normal(size=12), "eps": 0.5, "sigma": 0.8, "rc": 2.2},
    "dot_product": {"a": [1.0, 2, 3], "b": [0.5, -1, 2], "n": 3}, "clamp_step": {"x": 0.4, "lo": 0.1, "hi": 0.9},
    "spring_step": {"p_k": 2.0, "p_c": 0.3, "p_m": 1.5, "s_x": 0.2, "s_v": 0.7, "dt": 0.05},
    "solve_quadratic": {"a": 1.0, "b": -3.2, "c": 1.0}, "smoothness": {"img": RNG.normal(size=(3, 4))},
    "kepler": {"M": 0.8, "e": 0.3},
    "packed": {"n": 3, "L": RNG.normal(size=6), "x": [0.5, 1.5, -1]}, "interpolated": {"t": 1.3, "c": [1.0, 3, 2, 5]},
    "gathered": {"n": 3, "d": 2, "A": RNG.normal(size=6), "row": [2, 0, 2], "x": [0.5, 1.5]},
    "histogram": {"n": 3, "m": 2, "row": [1, 0, 1], "x": [0.5, 1.5, -1], "h": [0.25, 2]}, "ring": {"n": 3, "x": [0.5, 1.5, -1]},
    "relaxed": {"n": 3, "x": [0.5, 1.5, -1], "h": 0.1}, "advanced": {"s_x": 0.2, "s_v": 0.7, "dt": 0.05, "x": [0.5, 1.5]}}
OF_C |= {f"everyday:{name}": point for name, point in EVERYDAY.items()}
SINGLE = ("single", "bs_call")
SIZES = {"gravity_energy": {"n": 3}, "recurrent": {"n": 3}, "low_pass": {"n": 4}, "matmul": {"n": 3, "m": 2, "k": 2},
         "linear_steps": {"t": 2, "n": 2}, "mixture_loglik": {"n": 4, "k": 2}, "rosenbrock_n": {"n": 4}}
OF_PYTHON = [case for case in POINTS if (FOLDER / f"{case.partition(':')[0]}.c").exists() and re.search(
    rf"^(?!static)[a-z].*\b{case.partition(':')[2]}\(", (FOLDER / f"{case.partition(':')[0]}.c").read_text(), re.M)]
"""Functions of the corpus that are written in C, too."""


def point_of(case: str) -> dict[str, Any]:
    """A point as C has it: matrices row by row where it is pointers that are declared."""
    if case in OF_C:
        return {name: np.array(x, int if name == "row" else float) if isinstance(x, list) else x
                for name, x in OF_C[case].items()}
    flat = case == "loops:matmul"
    given = {name: np.array(x, float) if isinstance(x, list) else x for name, x in POINTS[case].items()}
    return {**SIZES.get(case.partition(":")[2], {}), **{n: np.ravel(x) if flat and np.ndim(x) else x for n, x in given.items()}}


def read_of(case: str) -> Function:
    """The program that a function is read as; what is a size of its arrays is no input of it."""
    return program(case, {n: x.tolist() if isinstance(x, np.ndarray) else x for n, x in point_of(case).items()}, ".c")


@pytest.fixture(autouse=True, scope="module")
def _each_file_is_parsed_once() -> Iterator[None]:
    """The parser takes half of the time; what it makes is kept as bytes, so that each reader has nodes of its own."""
    parse = functools.cache(lambda text, name: pickle.dumps(CParser().parse(text, name)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adcli.from_c.tree.CParser", lambda: SimpleNamespace(parse=lambda *given: pickle.loads(parse(*given))))
        yield


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The files as libraries."""
    folder = tmp_path_factory.mktemp("c")
    files = ("physics", "finance", "loops", "robotics", "statistics", "numerics", "adbench", "corners", "everyday")
    subprocess.run([str(CC), "-O0", "-ffp-contract=off", "-shared", "-fPIC", *(FOLDER / f"{file}.c" for file in files),
                    "-o", folder / "all.so", "-lm"], check=True)
    code = ctypes.CDLL(str(folder / "all.so"))
    return {file: (code, opened(Source(str(FOLDER / f"{file}.c"), (FOLDER / f"{file}.c").read_text()))) for file in files}


def in_memory(name: str, kind: Any, point: Mapping[str, Any], lengths: Mapping[str, int]) -> np.ndarray:
    """A parameter as C has it: the elements of an array, or the fields of one struct after another."""
    if kind.fields:
        each = [in_memory(f"{name}_{f}", k, point, lengths) for f, k in kind.fields.items()]
        rows = 3 if name == "bodies" else 1
        return np.concatenate([x.reshape(rows, -1) for x in each], axis=1).ravel()
    if name not in point:
        return np.zeros(lengths.get(name, 1))
    return np.array(point[name], np.int32 if kind.whole else float).reshape(-1)


def called(library: Any, name: str, point: Mapping[str, Any], lengths: Mapping[str, int]) -> np.ndarray:
    """All results of a function, as the compiled code has them."""
    code, file = library
    s = file.signature(name)
    real = ctypes.c_float if name in SINGLE else ctypes.c_double
    args: list[Any] = []
    outs = []
    for p, kind in s.params.items():
        held = in_memory(p, kind, point, lengths)
        if p in s.outs:
            outs.append(held)
        if kind.fields and not kind.dims:
            made = type("Struct", (ctypes.Structure,), {"_fields_": [(f, ctypes.c_double) for f in kind.fields]})
            args.append(made(*held))
        else:
            args.append(held.ctypes.data_as(ctypes.c_void_p) if kind.dims else (ctypes.c_int if kind.whole else real)(held[0]))
    f = code[name]
    f.restype = None if s.returns is None or s.status else real
    value = f(*args)
    return np.concatenate([[] if f.restype is None else [value], *outs])


@pytest.mark.parametrize("case", [*OF_PYTHON, *OF_C])
def test_the_values_and_derivatives_are_those_of_compiled_code(case: str, compiled: Any) -> None:
    file, _, name = case.partition(":")
    point, f = point_of(case), read_of(case)
    own = {n: point[n.rstrip("_")] for n in f.inputs}
    wrt = [n for n in f.inputs if np.asarray(own[n]).dtype.kind == "f" and file != "adbench"]   # JAX says those of adbench
    found = evaluated(f.jacobian(wrt=",".join(wrt)).program if wrt else f.program, own)
    lengths = {o: np.size(found[o]) for o in f.outputs}
    single = name in SINGLE
    expected = called(compiled[file], name, point, lengths)
    np.testing.assert_allclose(np.concatenate([np.ravel(found[o]) for o in f.outputs]), expected, rtol=1e-6 if single else 1e-13,
                               atol=1e-14)
    for n in wrt if not single else ():
        x = np.array(own[n], float)
        got = np.concatenate([np.reshape(found[f"d{o}_d{n}"], (-1, x.size)) for o in f.outputs])
        for k, at in enumerate(np.ndindex(x.shape)):
            def moved(by: float, at: Any = at, x: np.ndarray = x, n: str = n) -> np.ndarray:
                y = x.copy()
                y[at] += by
                return called(compiled[file], name, {**point, n.rstrip("_"): y if y.shape else float(y)}, lengths)
            h = 1e-3 * max(abs(x[at]), 0.05)
            slope = (moved(-2 * h) - 8 * moved(-h) + 8 * moved(h) - moved(2 * h)) / (12 * h)
            np.testing.assert_allclose(got[:, k], slope, rtol=1e-6, atol=2e-7 * max(1e-2, float(np.abs(slope).max())))


# ---------------------------------------------------------------- JAX

def jax_adbench() -> dict[str, Any]:
    """ADBench's functions from their formulas."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    def gmm(d: int, k: int, n: int, alphas: Any, means: Any, icf: Any, x: Any, gamma: float, m: int) -> Any:
        means, icf, x = means.reshape(k, d), icf.reshape(k, -1), x.reshape(n, d)
        rows, columns = np.triu_indices(d, 1)
        L = jnp.zeros((k, d, d)).at[:, columns, rows].set(icf[:, d:])
        q = jnp.exp(icf[:, :d])
        apart = x[:, None] - means
        z = q * apart + jnp.einsum("kij,nkj->nki", L, apart)
        terms = alphas + icf[:, :d].sum(1) - 0.5 * (z**2).sum(2)
        prior = 0.5 * gamma**2 * ((q**2).sum() + (icf[:, d:]**2).sum()) - m * icf[:, :d].sum()
        return [-n * d * 0.5 * np.log(2 * np.pi) + logsumexp(terms, axis=1).sum() - n * logsumexp(alphas) + prior]

    def ba(cam: Any, X: Any, w: Any, feat: Any) -> Any:
        r, x = cam[:3], X - cam[3:6]
        theta = jnp.sqrt(r @ r)
        axis = r / theta
        y = x * jnp.cos(theta) + jnp.cross(axis, x) * jnp.sin(theta) + axis * (axis @ x) * (1 - jnp.cos(theta))
        p = y[:2] / y[2]
        square = p @ p
        return [w * (p * (1 + cam[9] * square + cam[10] * square**2) * cam[6] + cam[7:9] - feat)]

    def lstm(l: int, c: int, b: int,  # noqa: E741
              main_params: Any, extra_params: Any, state: Any, sequence: Any) -> Any:
        main, extra = main_params.reshape(l, 2, 4, b), extra_params.reshape(3, b)
        s, x, total = [[*row] for row in state.reshape(l, 2, b)], sequence.reshape(c, b), 0.0
        sigmoid = lambda z: 1 / (1 + jnp.exp(-z))  # noqa: E731
        for t in range(c - 1):
            h = x[t] * extra[0]
            for k in range(l):
                w, bias = main[k]
                forget, ingate = sigmoid(h * w[0] + bias[0]), sigmoid(s[k][0] * w[1] + bias[1])
                outgate, change = sigmoid(h * w[2] + bias[2]), jnp.tanh(s[k][0] * w[3] + bias[3])
                s[k][1] = s[k][1] * forget + ingate * change
                h = s[k][0] = outgate * jnp.tanh(s[k][1])
            y = h * extra[1] + extra[2]
            total += x[t + 1] @ (y - jnp.log(jnp.exp(y).sum() + 2))
        return [-total / ((c - 1) * b)]

    def hand(theta: Any, base_relatives: Any, inverse_base_absolutes: Any, base_positions: Any, weights: Any, is_mirrored: int,
             points: Any, us: Any) -> Any:
        def turn(about_x: Any, about_z: Any) -> Any:
            (c, s), (cz, sz) = ((jnp.cos(x), jnp.sin(x)) for x in (about_x, about_z))
            return jnp.array([[cz, -sz * c, sz * s, 0], [sz, cz * c, -cz * s, 0], [0, s, c, 0], [0, 0, 0, 1]])
        angles, placed, absolute = [(0, 0), (0, 0), theta[6:8], (theta[8], 0), (theta[9], 0), (0, 0)], 0.0, []
        for k, parent in enumerate((-1, 0, 1, 2, 3, 0)):
            own = base_relatives[k] @ turn(*angles[k])
            absolute.append(own if parent < 0 else absolute[parent] @ own)
            placed += weights[:, k, None] * (base_positions @ (absolute[k] @ inverse_base_absolutes[k]).T)[:, :3]
        placed = placed * jnp.array([1 - 2 * is_mirrored, 1, 1])
        x, y, z = theta[:3]
        moved = placed @ jax.scipy.linalg.expm(jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])).T + theta[3:6]
        corners, u = moved[jnp.array([[1, 3, 2], [0, 1, 2]])], us.reshape(2, 2)
        return [(points - jnp.einsum("pc,pci->pi", jnp.column_stack([u, 1 - u.sum(1)]), corners)).ravel()]
    return {"gmm_objective": gmm, "ba_reproj_error": ba, "lstm_objective": lstm, "hand_objective_complicated": hand}


@pytest.mark.engine
@pytest.mark.parametrize("case", ["physics:orbit_speed", "finance:black_scholes", "loops:recurrent", "loops:linear_steps",
                                  "adbench:gmm_objective", "adbench:ba_reproj_error", "adbench:lstm_objective",
                                  "adbench:hand_objective_complicated"])
def test_the_derivatives_are_those_of_jax(case: str) -> None:
    jax = pytest.importorskip("jax")
    modules = of_jax()
    f, name = read_of(case), case.partition(":")[2]
    function = jax_adbench()[name] if case in OF_C else original(case, modules)
    point = point_of(case) if case in OF_C else POINTS[case]
    rng = np.random.default_rng(9)
    if name == "gmm_objective":
        f = program(case, {}, ".c")   # for all sizes
    near = {n: x if isinstance(x, int) else np.asarray(x, float) * (1 + 0.01 * rng.random(np.shape(x))) for n, x in point.items()}
    names = [n for n, x in near.items() if not isinstance(x, int) and ("hand" not in case or n in ("theta", "us"))]

    def results(*args: Any) -> list[Any]:
        made = function(**{**near, **dict(zip(names, args, strict=True))})
        return list(made) if isinstance(made, tuple | list) else [made]
    given = [jax.numpy.asarray(near[n]) for n in names]
    found = evaluated(f.jacobian(wrt=",".join(names)).program, {**SIZES.get(name, {}), **near})
    made, slopes = jax.jit(lambda *args: (results(*args), jax.jacfwd(results, range(len(names)))(*args)))(*given)
    for output, value, rows in zip(f.outputs, made, slopes, strict=True):
        np.testing.assert_allclose(found[output], value, rtol=1e-12, atol=1e-13)
        for n, expected in zip(names, rows, strict=True):
            np.testing.assert_allclose(found[f"d{output}_d{n}"], expected, rtol=1e-10, atol=1e-12)


# ---------------------------------------------------------------- our own C read back

@pytest.mark.parametrize("path", half(SCALARS), ids=lambda p: p.stem)
def test_the_c_of_a_sample_is_read_back(path: Path) -> None:
    f = load(path)
    said = re.search(r"^# Try:.*--at (\S+)", path.read_text(), re.M)
    given = dict(x.split("=") for x in said[1].split(",")) if said else {}
    point = {p.name: float(str(given.get(p.name, p.default)).partition(":")[0]) * (1 + 0.003 * k)
             for k, p in enumerate(f.program.params, 1)}
    text = c_source(for_machine(f.program), "f").text
    back = Function(parse_source(read(Source("f.c", text), "f", {}, {})))
    found = evaluated(back.jacobian().program, {"in_": [*point.values()]})
    expected = evaluated(f.jacobian(wrt=",".join(point)).program, point)
    np.testing.assert_allclose(found["out"], [expected[o] for o in f.outputs], rtol=1e-13, atol=1e-15)
    slopes = [[expected[f"d{o}_d{i}"] for i in point] for o in f.outputs]
    np.testing.assert_allclose(found["dout_din_"], slopes, rtol=1e-11, atol=1e-12)


TENSORS = {"cross_entropy": 2, "radon": 2, "feed_forward": 2, "matrix_product": 2, "matrix_vector": 2, "row_maximum": 2,
           "subtraction": 3, "eight_schools": 3, "recurrent": 2}
NOT_BACK = {"optimal_power_flow": "this element cannot be assigned", "gaussian_process": "this condition depends on a value"}
"""Elements that data choose, of an array that is written out, or a factorisation that ends early, are no program of ours."""


def emitted(name: str) -> tuple[str, str, list[str], list[str]]:
    """The C of a sample, its function, and the names of sizes and of inputs there."""
    text = adcli("eval", f"samples/{name}.ad", "--emit", "c").out
    found = re.search(r"call: int (\w+)\((.*)\)", text)
    assert found
    each = [(w, w.split()[-1].lstrip("*")) for w in found[2].split(", ")]
    return text, found[1], [n for w, n in each if "size_t" in w], [n for w, n in each if "const" in w or w.startswith("double ")]


@pytest.mark.engine
@pytest.mark.parametrize("name", TENSORS)
def test_the_c_of_a_sample_with_tensors_is_read_back(name: str) -> None:
    text, function, sizes, inputs = emitted(name)
    f = load(f"samples/{name}.ad")
    from adcli.lang.ir.affine import value
    known = dict.fromkeys(sizes, TENSORS[name])
    rng = np.random.default_rng(2)
    point = {p.name: np.arange(2) % 2 if p.var.integer else rng.uniform(0.3, 0.9, [value(x, known) for x in p.var.shape])
             for p in f.program.params}
    given = {f"{n}_given": float(k) for n, k in known.items()}
    back = Function(parse_source(read(Source("f.c", text), function, given, {})))
    flat = {n: np.ravel(x) if np.ndim(x) else x for n, x in zip(inputs, point.values(), strict=False)}
    wrt = ",".join(n for n in inputs if n in back.inputs and flat[n].dtype.kind == "f")
    found = evaluated(back.jacobian(of=f.outputs[0], wrt=wrt).program, {**given, **flat})
    expected = evaluated(f.jacobian(of=f.outputs[0]).program, point)
    output = f.outputs[0]
    np.testing.assert_allclose(np.ravel(found[output]), np.ravel(expected[output]), rtol=1e-12)
    for n, i in zip(inputs, point, strict=False):
        if n in wrt.split(","):
            np.testing.assert_allclose(np.ravel(found[f"d{output}_d{n}"]), np.ravel(expected[f"d{output}_d{i}"]), 1e-10, 1e-12)


@pytest.mark.parametrize("name", NOT_BACK)
def test_the_c_of_a_sample_is_not_read_back_for_a_reason(name: str) -> None:
    text, function, sizes, _ = emitted(name)
    with pytest.raises(AdError, match=NOT_BACK[name]):
        read(Source("f.c", text), function, {f"{n}_given": 2.0 for n in sizes}, {})


# ---------------------------------------------------------------- places, words, and what is refused

def test_what_is_refused_has_its_place_and_what_would_fit(request: pytest.FixtureRequest,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    said = []
    names = re.findall(r"^(?!static|typedef|struct)\w.*?(\w+)\(", Path("refused.c").read_text(), re.M)
    for name in (*names, "no_such_function", "undeclare"):
        with pytest.raises(AdError) as fault:
            parse_source(read_source(f"refused.c:{name}", ()))
        said.append(f"{fault.value}\n")
    golden = Path("refused_c.txt")
    if request.config.getoption("--rewrite-programs"):
        golden.write_text("\n".join(said))
    assert "\n".join(said) == golden.read_text()


MENDED = {
    "double f(double x) { double y; if (x > 0) y = 1; else y = 0; return y * x; }": {},
    "double f(double x) { for (int i = 0; i < 20; i++) x = x > 1e-6 ? x / 2 : x; return x; }": {},
    "double f(int n, double x) { double s = 0; for (int i = 0; i < n; i++) s += x; return s; }": {"n": 3.0},
    "double f(int n, double x) { while (n > 1) { n--; x *= 2; } return x; }": {"n": 3.0},
    "double f(const double *x, const double *y) { double s = *x; const double *p = y; return s + *p; }": {},
    "double f(int n, int m, double A[n][m]) { return A[0][0]; }": {},
    "double f(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) { int k = 2 * i; s += x[k]; } return s; }": {},
    "double f(int n, const double x[n]) { double r = 0; for (int i = 0; i < n; i++) r = x[i] > 1 ? x[i] : r; return r; }": {},
    "void f(int n, const double x[n], double y[n]) { for (int i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0; }": {},
    "double f(double x) { int k = 0; k++; return x > 0 ? x * k : 0; }": {}, "void f(double x, double *y) { *y = x; }": {},
    "double f(int k, double x) { if (k == 1) { if (x <= 0) x = 2; } return x; }": {},
    "struct circle { double x, y; };\ndouble f(struct circle c) { return c.x; }": {}}
"""What the helps of refusals say, done, with the point where they ask for it."""


@pytest.mark.parametrize("text", MENDED)
def test_what_would_fit_is_read(text: str) -> None:
    parse_source(read(Source("f.c", text), "f", MENDED[text], {}))


PLACES = [("physics:drag_force", "re**0.687", "pow(re, 0.687)"), ("physics:orbit_speed", "2 / r", "2 / r"),
          ("numerics:rosenbrock_n", "(1 - x(i)) * (1 - x(i))", "SQR(1 - x[i])"), ("finance:black_scholes", "phi(d2)", "phi(d2)"),
          ("loops:recurrent", "x(i)", "x[i]")]


@pytest.mark.parametrize(("case", "part", "there"), PLACES)
def test_a_part_of_a_program_has_its_place_in_the_file(case: str, part: str, there: str) -> None:
    source = read_of(case).program.source
    assert source is not None and isinstance(source.origin, TextOrigin)
    start = source.text.index(part)
    assert source.quoted((start, start + len(part))) == there


def test_the_functions_of_a_file_are_listed_without_its_headers() -> None:
    listed = functions(str(FOLDER / "corners.c"), None)
    assert {"checked", "sorted", "in_part"} < set(listed) and not {"status", "swap", "halved", "if"} & set(listed)
