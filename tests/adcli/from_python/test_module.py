"""Python functions as programs: a corpus in the styles people use, against Python itself and against JAX."""
from __future__ import annotations

import ast
import contextlib
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats
from adcli.lang.ir.errors import AdError, Source
from adcli.lang.lower.frontend import parse_source
from adcli.lang.printing.format import format_tree
from adcli.lang.syntax.parse import parse_tree
from command import adcli, succeeds
from sources import FOLDER, POINTS, arrays, differences, evaluated, of_jax, original, parts, program

from adcli.api.function import Function, load
from adcli.from_python.module import read
from adcli.input.programs import read_source
from adcli.readers.names import NAMED, definition_of, renamed, row_of
from adcli.readers.origin import TextOrigin


@pytest.mark.parametrize("case", POINTS)
def test_the_values_and_derivatives_are_those_of_the_function(case: str) -> None:
    point = POINTS[case]
    read, f = program(case, point), original(case)
    found = evaluated(read.jacobian(wrt=",".join(point)).program, point)
    for name, expected in zip(read.outputs, parts(f(**arrays(point))), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-14)
    for name, expected_of in differences(f, point):
        for output, expected in zip(read.outputs, expected_of, strict=True):
            scale = max(1e-3, float(np.abs(expected).max()))
            np.testing.assert_allclose(found[f"d{output}_d{name}"], expected, rtol=1e-6, atol=1e-7 * scale)


# ---------------------------------------------------------------- the table of functions

POSITIVE = {**dict.fromkeys(("iv", "ive", "jv", "jn", "yv"), (1,)), **dict.fromkeys(("voigt_profile", "zeta"), (0, 1))}
"""The arguments of functions for which ours have no values where these are negative."""
SAMPLES = {1: [(0.3,), (-0.4,), (0.75,), (1.6,), (-2.5,), (3.2,)], 2: [(0.3, 0.6), (1.6, 0.4), (-0.7, 2.5), (2.0, -1.5)],
           3: [(0.3, 0.1, 0.8), (1.6, 0.2, 0.9), (-0.7, -0.2, 0.5)]}


def calls(library: str) -> Iterator[tuple[str, int]]:
    """The functions of a library with the numbers of arguments for which they are read."""
    for name in sorted(NAMED[library]):
        for count in SAMPLES:
            called = renamed(library, name)
            if name not in ("where", "ldexp", "polygamma") and (row_of(called, count) or definition_of(library, called, count)):
                yield name, count


@pytest.mark.parametrize("library", ["math", "numpy", "scipy.special", "scipy.stats.norm"])
def test_the_functions_of_a_library_are_those_that_it_has(library: str, tmp_path: Path) -> None:
    module = scipy.stats.norm if library == "scipy.stats.norm" else importlib.import_module(library)
    head = "from scipy.stats import norm as m" if library == "scipy.stats.norm" else f"import {library} as m"
    there = [(name, count) for name, count in calls(library) if hasattr(module, name)]
    assert len(there) > 5
    for count in SAMPLES:
        names = [name for name, n in there if n == count]
        args = ", ".join("xyz"[:count])
        body = ", ".join(f"'{name}': 1.0*m.{name}({args})" for name in names)
        (file := tmp_path / f"m{count}.py").write_text(f"{head}\ndef f({args}):\n    return {{{body}}}\n")
        if not names:
            continue
        read = Function(parse_source(read_source(str(file), ())))
        for point in SAMPLES[count]:
            found = read(*point)
            for name in names:
                with np.errstate(all="ignore"), contextlib.suppress(ValueError, TypeError):   # of math, where it has no value
                    expected = getattr(module, name)(*point)
                    if count > 1 and any(point[k] < 0 for k in POSITIVE.get(name, ())):
                        assert np.isnan(found[name])
                    elif not np.isinf(expected):
                        np.testing.assert_allclose(found[name], expected, rtol=1e-13, atol=1e-15, err_msg=f"{name}{point}")


# ---------------------------------------------------------------- places, and what is refused

X = 'x: "Float[Array, \'n\']"'
MENDED = [
    "f(x):\n    for i in range(20):\n        x = x if x <= 1e-6 else x / 2\n    return x",
    "f(x, n=3):\n    return sum(x for i in range(n))",
    f"f({X}):\n    return sum(x[i] if x[i] > 0 else 0 for i in range(len(x)))", f"f({X}, y: float):\n    return np.sum(x * y)",
    "f(x):\n    y = 1 if x > 0 else 2\n    return y * x", "f(x):\n    return 1.0 if x > 2 else 0.0",
    f"f({X}):\n    z = np.zeros(len(x))\n    for i in range(len(x)):\n        z[i] = x[i]\n    return z",
    f"f({X}):\n    return np.sum(np.abs(x)) + np.max(np.abs(x))",
    f"f({X}):\n    y = x\n    y = y.copy()\n    y[0] = 5.0\n    return y",
    'f(A: "Float[Array, \'m n\']"):\n    return np.sqrt(np.max(np.linalg.eigvalsh(A.T @ A)))',
    'f(A: "Float[Array, \'3 2\']"):\n    return np.concatenate([A[0:2].T, A[0:2].T]).T',
    f"f({X}):\n    r = 0.0\n    for i in range(len(x)):\n        r = x[i] if x[i] > 1 else r\n    return r",
    f"f({X}):\n    y = np.zeros(len(x))\n    for i in range(len(x)):\n        y[i] = x[i] if x[i] > 0 else 0\n    return y",
    f"f({X}):\n    y = np.zeros(len(x))\n    for i in range(1, len(y)):\n        y[i] = y[i - 1] + x[i]\n    return y",
    f"f({X}):\n    y = x.copy()\n    for i in range(len(x)):\n        z = 2 * y[i]\n        y[i] = z + z**2\n    return y",
    f"f({X}):\n    return sum([3 * u for u in x])"]
"""What the helps of refusals say, done."""


@pytest.mark.parametrize("text", MENDED)
def test_what_would_fit_is_read(text: str) -> None:
    parse_source(read(Source("f.py", f"import numpy as np\ndef {text}\n"), "f", {}, {}))


def test_what_is_refused_has_its_place_and_what_would_fit(request: pytest.FixtureRequest,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    names = re.findall(r"^def (\w+)", Path("refused.py").read_text(), re.M)
    said = []
    for name in (*names, "no_such_function", "with_fil"):
        if name != "tanh":
            with pytest.raises(AdError) as fault:
                parse_source(read_source(f"refused.py:{name}", ()))
            said.append(f"{fault.value}\n")
    golden = Path("refused.txt")
    if request.config.getoption("--rewrite-programs"):
        golden.write_text("\n".join(said))
    assert "\n".join(said) == golden.read_text()


PLACES = [("finance:black_scholes", "log(S / K)", "log(S / K)"), ("finance:black_scholes", "phi(d2)", "phi(d2)"),
          ("finance:black_scholes", "sigma**2", "sigma ** 2"), ("finance:bond_price", "1 + rate", "1 + rate"),
          ("physics:drag_force", "re < 1000.0", "re < 1000.0"),
          ("statistics:mixture_loglik", "x(i) - mu(j)", "x[:, None] - mu[None, :]"),
          ("numerics:rosenbrock_n", "x(i + 1) - x(i)**2", "x[1:] - x[:-1] ** 2"), ("robotics:rot_z", "cos(q)", "np.cos(q)")]


@pytest.mark.parametrize(("case", "part", "there"), PLACES)
def test_a_part_of_a_program_has_its_place_in_the_file(case: str, part: str, there: str) -> None:
    source = program(case, POINTS[case]).program.source
    assert source is not None and isinstance(source.origin, TextOrigin)
    start = source.text.index(part)
    assert source.quoted((start, start + len(part))) == there


@pytest.mark.parametrize("case", [*POINTS][::2])
def test_the_text_and_the_places_have_one_tree(case: str) -> None:
    source = program(case, POINTS[case]).program.source
    assert source is not None and isinstance(source.origin, TextOrigin)
    assert source.origin.pairs(source.text)   # zip raises where the numbers of parts differ
    assert format_tree(parse_tree(source)) == source.text


# ---------------------------------------------------------------- JAX

def stores_elements(case: str) -> bool:
    """True if a function assigns to elements of arrays, as JAX does not."""
    file, _, function = case.partition(":")
    found = next(d for d in ast.parse((FOLDER / f"{file}.py").read_text()).body
                 if isinstance(d, ast.FunctionDef) and d.name == function)
    return any(isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store) for x in ast.walk(found))


@pytest.mark.engine
@pytest.mark.parametrize("case", [case for case in POINTS if not stores_elements(case)][::3])
def test_the_derivatives_are_those_of_jax(case: str) -> None:
    jax = pytest.importorskip("jax")
    point = POINTS[case]
    read, f = program(case, point), original(case, of_jax())
    rng = np.random.default_rng(5)
    near = {name: x if isinstance(x, int) else np.asarray(x) * (1 + 0.01 * rng.random(np.shape(x))) for name, x in point.items()}
    names = [name for name, x in near.items() if not isinstance(x, int)]
    found = read.jacobian(wrt=",".join(names))(**near)

    def results(*args: Any) -> list[Any]:
        made = f(**{**near, **dict(zip(names, args, strict=True))})
        return list(made.values()) if isinstance(made, dict) else list(made) if isinstance(made, tuple) else [made]
    given = [jax.numpy.asarray(near[name], float) for name in names]
    for output, value, rows in zip(read.outputs, results(*given), jax.jacfwd(results, range(len(names)))(*given), strict=True):
        np.testing.assert_allclose(found[output], value, rtol=1e-12, atol=1e-13)
        for name, expected in zip(names, rows, strict=True):
            np.testing.assert_allclose(found[f"d{output}_d{name}"], expected, rtol=1e-10, atol=1e-12)


def test_a_number_of_steps_is_no_other_one_than_the_program_is_written_for(tmp_path: Path) -> None:
    """No value of fewer steps for a row, or a call, that asks for more."""
    file = tmp_path / "m.py"
    file.write_text("def f(x, n=3):\n    for i in range(n):\n        x = x*x\n    return x\n")
    ended = adcli("eval", f"{file}:f", stdin=b"x,n\n2,3\n2,4\n")
    assert ended.code == 2 and "n = 4.0, but the program is written for n = 3.0" in ended.err
    assert succeeds("eval", f"{file}:f", "--at", "x=2,n=4").out == "f = 65536.0\n"
    f = load(f"{file}:f")
    assert f.inputs == ("x",) and f(x=2.0) == {"f": 256.0}


@pytest.mark.parametrize("chain", ["T = T @ link(q[i])", "T = T @ (link(q[i]) @ link(q[i]))", "T = T * T + link(q[i])"])
def test_a_chain_of_arrays_that_are_written_out_grows_by_its_links(chain: str, tmp_path: Path) -> None:
    texts = []
    for links in (4, 8):
        source = tmp_path / f"arm{links}.py"
        source.write_text("import numpy as np\ndef link(a):\n"
                          "    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])\n"
                          f"def arm(q):\n    T = np.eye(2)\n    for i in range({links}):\n        {chain}\n    return T[0, 1]\n")
        texts.append(succeeds("show", f"{source}:arm"))
    assert len(texts[1]) < 2.6 * len(texts[0])
    space: dict[str, Any] = {}
    exec(source.read_text(), space)
    q = np.linspace(0.1, 0.4, 8)
    np.testing.assert_allclose(load(f"{source}:arm")(q=q)["arm"], space["arm"](q), rtol=1e-13)


WHOLE = ["h = np.zeros(3)\n    for i in range(len(x)):\n        h[k[i]] += x[i] ** 2\n    return h",
         "h = 2 * x\n    for i in range(len(x)):\n        h[k[i]] -= x[i] ** 2\n    return h",
         "h = np.zeros(3)\n    for i in range(len(x)):\n        h[k[i]] = x[i] ** 2 + h[k[i]]\n    return h",
         "return sum([x[k[i]] ** 2 * x[(i - 1) % len(x)] + i % 2 * x[i] for i in range(len(x))])",
         "return x[len(x) % 2] * (len(x) % 4) + x[k[0]] if len(x) % 2 == 1 else x[0]"]
"""Subscripts that are elements of an array, of which nobody says that they are whole numbers, and remainders."""


@pytest.mark.parametrize("body", WHOLE)
def test_elements_and_remainders_are_subscripts(body: str) -> None:
    text = f"import numpy as np\ndef f(x: list[float], k):\n    {body}\n"
    space: dict[str, Any] = {}
    exec(text, space)
    x, k = np.array([0.5, 1.5, -0.7]), np.array([2, 0, 2])
    read_as = Function(parse_source(read(Source("f.py", text), "f", {}, {}))).jacobian(wrt="x")
    found = evaluated(read_as.program, {"x": x, "k": k})
    slopes = [(space["f"](x + h, k) - space["f"](x - h, k)) / 2e-4 for h in np.eye(3) * 1e-4]
    name, = (n for n in found if not n.startswith("d"))
    np.testing.assert_allclose(found[name], space["f"](x, k), rtol=1e-13)
    np.testing.assert_allclose(found[f"d{name}_dx"], np.transpose(slopes), rtol=1e-6, atol=1e-9)


def test_the_text_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Histories in the order of the source, and not in that of a set."""
    file = tmp_path / "m.py"
    names = "abcdef"
    turns = "".join(f"        {x} = {y} + {x} * z[i]\n" for x, y in zip(names, names[1:] + names[0], strict=True))
    file.write_text(f"def m(z: list[float]):\n    {' = '.join(names)} = 1.0\n    for i in range(len(z)):\n{turns}    return a\n")
    text = read_source(f"{file}:m", ()).text
    assert [text.index(f"{x}2(0)") for x in names] == sorted(text.index(f"{x}2(0)") for x in names)
