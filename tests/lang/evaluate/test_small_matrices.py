"""Stacks of small matrices against LAPACK, one that has no value among them."""
import numpy as np
from adcli.lang.evaluate.small_matrices import SMALL, value
from row_tables import each_row

LAPACK = {"solve": np.linalg.solve, "solve_lower": lambda m, b: np.linalg.solve(np.tril(m), b),
          "solve_upper": lambda m, b: np.linalg.solve(np.triu(m), b), "inverse": lambda m, b: np.linalg.inv(m),
          "cholesky": lambda m, b: np.linalg.cholesky(m), "logdet": lambda m, b: np.linalg.slogdet(m)[1]}


@each_row("name", LAPACK)
@each_row("n", [1, 2, 7, SMALL])
def test_a_stack_has_the_values_of_lapack_but_where_there_is_none(name: str, n: int) -> None:
    draw = np.random.default_rng(n)
    a = draw.normal(size=(4, n, n))
    m, b = a @ np.swapaxes(a, 1, 2) / n + 2 * np.eye(n), draw.normal(size=(4, n, 3))
    m[2, :, 0] = 0
    given = b if name.startswith("solve") else None
    with np.errstate(all="ignore"):
        found = value(name, m, given)
    for k in (0, 1, 3):
        assert np.allclose(found[k], LAPACK[name](m[k], b[k]), rtol=1e-10, atol=1e-12)
    assert found[2] == -np.inf if name == "logdet" else np.isnan(found[2]).all()
