"""Coverage factors and degrees of freedom, against SciPy and the examples of JCGM 100, annexes G and H."""
from __future__ import annotations

import math

import pytest
from adcli.lang.ir.errors import AdError
from command import numbers, succeeds
from scipy import stats

from adcli.propagate.coverage import FAR, coverage_factor, effective_dof, probability, t_reach


@pytest.mark.parametrize("dof", [1, 2, 3, 4, 5, 16, 17, 50, 999, int(FAR) - 1, int(FAR), 10**6])
def test_the_t_distribution(dof):
    for p in (0.01, 0.5, 0.6827, 0.95, 0.9545, 0.99, 0.9973, 0.9999):
        assert t_reach(p, dof) == pytest.approx(stats.t.ppf((1 + p) / 2, dof), rel=1e-10)


def test_the_table_of_the_guide():
    """JCGM 100, table G.2."""
    table = {(1, 0.6827): 1.84, (1, 0.99): 63.66, (2, 0.95): 4.30, (5, 0.9545): 2.65, (10, 0.9973): 3.96, (16, 0.99): 2.92,
             (50, 0.95): 2.01, (100, 0.9973): 3.077}
    for (dof, p), k in table.items():
        assert coverage_factor(p, dof) == pytest.approx(k, abs=0.006)
    assert coverage_factor(0.95, math.inf) == pytest.approx(1.959963984540054)


def test_degrees_of_freedom_are_cut_down_to_a_whole_number():
    assert coverage_factor(0.99, 16.7) == t_reach(0.99, 16)   # as in H.1.6
    assert coverage_factor(0.99, 17.999999999999996) == t_reach(0.99, 18)
    assert math.isnan(coverage_factor(0.99, 0.5))


def test_degrees_of_freedom_without_end():
    for dof in (1e31, 1e300, 1.7e308, math.inf):
        assert coverage_factor(0.95, dof) == pytest.approx(1.959963984540054, rel=1e-15)


def test_welch_and_satterthwaite():
    """JCGM 100, G.4.1, note: a product of three quantities, 0.25, 0.57 and 0.82 % of relative uncertainty, n = 10, 5, 15."""
    parts = {x: u * u for x, u in zip("abc", (0.25, 0.57, 0.82), strict=True)}
    dofs = dict(zip("abc", (9.0, 4.0, 14.0), strict=True))
    assert effective_dof(parts, dofs, ["a", "b", "c"]) == pytest.approx(19.0, abs=0.05)
    got = numbers(succeeds("propagate", "-e", "y = a*b*c", "--at", "a=2±0.25%~t(9),b=3±0.57%~t(4),c=5±0.82%~t(14)", "--coverage",
                           "95%").out)
    assert got["dof_y"] == pytest.approx(19.0, abs=0.05)
    assert (got["u_y"] / got["y"], got["U_y"] / got["y"]) == (pytest.approx(0.0103, abs=5e-5), pytest.approx(0.022, abs=5e-4))


def test_exact_standard_uncertainties_have_no_degrees_of_freedom_to_tell():
    assert effective_dof({"a": 1.0}, {"a": math.inf}, ["a"]) == math.inf
    assert effective_dof({"a": 0.0}, {"a": 3.0}, ["a"]) is None
    assert effective_dof({"a": math.nan}, {"a": 3.0}, ["a"]) is None
    assert "dof" not in succeeds("propagate", "-e", "2*x", "--at", "x=1±1~rect", "--coverage", "0.9").out


def test_correlated_inputs_count_as_one_evaluation():
    """Two inputs of one t-distribution: their sum has its degrees of freedom."""
    got = numbers(succeeds("propagate", "-e", "y = a + b", "--at", "a=1±1~t(7),b=2±2~t(7)", "--correlation", "a:b=0.5",
                           "--coverage", "0.95").out)
    assert got["dof_y"] == pytest.approx(7)
    assert got["k_y"] == pytest.approx(stats.t.ppf(0.975, 7))
    independent = numbers(succeeds("propagate", "-e", "y = a + b", "--at", "a=1±1~t(7),b=2±2~t(7)").out)
    assert independent["dof_y"] == pytest.approx(25 * 7 / 17)


@pytest.mark.parametrize(("text", "k"), [("k=2", 2), ("k = 3", 3), ("k=1.96", 1.96), ("2", 2), ("2.576", 2.576), ("k2", 2)])
def test_a_coverage_factor_is_told_as_its_probability(text: str, k: float) -> None:
    with pytest.raises(AdError, match=r"write --coverage [\d.]+") as fault:
        probability(text)
    written = (fault.value.help or "").rpartition(" ")[2]
    assert coverage_factor(probability(written), math.inf) == pytest.approx(k, rel=1e-8)


def test_a_percentage_without_its_sign_is_told_with_it() -> None:
    with pytest.raises(AdError, match="write --coverage 95%"):
        probability("95")

