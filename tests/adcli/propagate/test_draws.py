"""How inputs are drawn together, what their values in files say, and what is refused."""
from __future__ import annotations

import math

import numpy as np
import pytest
from adcli.lang.ir.errors import AdError
from command import adcli, numbers, succeeds
from scipy import stats

from adcli.input.distributions import NORMAL, Spread, T
from adcli.propagate.draws import draws

COUNT = 60_000


def block(uncertain: dict[str, Spread], pairs=()) -> dict[str, np.ndarray]:
    return draws(uncertain, pairs).block(np.random.default_rng(7), COUNT)


def test_correlated_normal_inputs():
    got = block({"x": Spread(1.0, 2.0), "y": Spread(3.0, 0.5), "z": Spread(0.0, 1.0)}, [("x", "y", 0.7), ("y", "z", -0.5)])
    r = np.corrcoef([got["x"], got["y"], got["z"]])
    assert (r[0, 1], r[1, 2], r[0, 2]) == pytest.approx((0.7, -0.5, 0), abs=0.015)
    assert got["x"].std() == pytest.approx(2, rel=0.02)


def test_correlated_t_inputs_have_one_multivariate_t_distribution():
    """Each is t-distributed, their differences too, and where one is far out the others are: the correlation of squares
    of a multivariate t with ν degrees of freedom and no correlation is 1/(ν − 1) (from its moments of fourth order)."""
    given = {x: Spread(0.0, 1.0, T, 12.0) for x in "xyz"}
    got = block(given, [("x", "y", 0.6), ("y", "z", 1e-9)])
    for x in "xyz":
        assert stats.kstest(got[x], stats.t(12).cdf).pvalue > 1e-4
    assert stats.kstest((got["x"] - got["y"]) / math.sqrt(0.8), stats.t(12).cdf).pvalue > 1e-4
    assert np.corrcoef(got["y"] ** 2, got["z"] ** 2)[0, 1] == pytest.approx(1 / 11, abs=0.04)
    alone = block(given)
    assert np.corrcoef(alone["y"] ** 2, alone["z"] ** 2)[0, 1] == pytest.approx(0, abs=0.02)


def test_degrees_of_freedom_that_differ_are_refused():
    with pytest.raises(AdError, match="their degrees of freedom differ"):
        draws({"x": Spread(0.0, 1.0, T, 3.0), "y": Spread(0.0, 1.0, NORMAL)}, [("x", "y", 0.5)])


# ---------------------------------------------------------------- values of files

OBSERVED = "V,I,phi\n5.007,19.663,1.0456\n4.994,19.639,1.0438\n5.005,19.640,1.0468\n4.990,19.685,1.0428\n4.999,19.678,1.0433\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "z.csv").write_text(OBSERVED, encoding="utf-8")


def test_repeated_observations(file):
    """JCGM 100, example H.2, from its observations (table H.2): the results of table H.3, with 4 degrees of freedom."""
    got = numbers(succeeds("propagate", "-e", "R = 1000*V/I*cos(phi)", "-e", "X = 1000*V/I*sin(phi)", "-e", "Z = 1000*V/I",
                           "--at", "V=@z.csv~t,I=@z.csv~t,phi=@z.csv:phi~t", "--coverage", "95%").out)
    assert [f"{got[v]:.3f}" for v in "RXZ"] == ["127.732", "219.847", "254.260"]
    assert [got[f"u_{v}"] for v in "RXZ"] == pytest.approx([0.071, 0.295, 0.236], abs=1e-3)
    assert [f"{got[n]:.3f}" for n in ("corr_R_X", "corr_R_Z", "corr_X_Z")] == ["-0.588", "-0.485", "0.993"]
    assert [got[f"dof_{v}"] for v in "RXZ"] == pytest.approx([4, 4, 4])
    assert got["k_R"] == pytest.approx(stats.t.ppf(0.975, 4))


def test_values_are_drawn_by_rows(file):
    """The samples of a program are its values at the rows, and the linear model has the correlations of the columns."""
    columns = np.loadtxt("z.csv", delimiter=",", skiprows=1).T
    got = numbers(adcli("propagate", "-e", "v = V + I - phi", "--at", "V=@z.csv,I=@z.csv,phi=@z.csv", "--monte-carlo", "5e4").out)
    values = columns[0] + columns[1] - columns[2]
    assert got["u_v"] == pytest.approx(values.std(ddof=1))
    assert got["mc_u_v"] == pytest.approx(values.std(), rel=0.02)
    assert min(values) <= got["mc_low_v"] + 1e-12 <= got["mc_high_v"] <= max(values) + 1e-12


def test_files_of_all_kinds(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a b": [1.5, 2.5, 4.0], "x": [1.0, 2.0, 4.0]})
    frame.write_csv(tmp_path / "v.csv")
    frame.write_csv(tmp_path / "v.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "v.ndjson")
    frame.write_parquet(tmp_path / "v.parquet")
    for kind in ("csv", "tsv", "ndjson", "parquet"):
        for column, mean in (("a b", 8 / 3), ("x", 7 / 3)):
            at = f"x=@{tmp_path}/v.{kind}:{column}"
            assert numbers(succeeds("propagate", "-e", "v = x", "--at", at).out)["v"] == pytest.approx(mean), at


@pytest.mark.parametrize("text, options", [
    (b"x;y\n1,5;2\n2,5;4\n", "--delimiter ; --decimal ,"), (b"1.5,2\n2.5,4\n", "--no-header --columns x,y"),
    (b"my x,y\n1.5,2\n2.5,4\n", "--rename my&x=x"), (b"x\ty\n1.5\t2\n2.5\t4\n", "--input-format tsv")])
def test_values_are_read_as_rows_are(text, options):
    """The options of tables, and standard input, which several inputs share."""
    words = [word.replace("&", " ") for word in options.split()]
    got = numbers(succeeds("propagate", "-e", "v = x*y", "--at", "x=@-,y=@-", *words, stdin=text).out)
    assert got["v"] == 6.0
    assert got["u_v"] == pytest.approx((3 + 2 * 2) * 2**-0.5)   # the columns vary together: y = 2x − 1

