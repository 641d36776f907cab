"""The adapter of DuckDB: functions of SQL with the values of the function itself."""
from __future__ import annotations

import numpy as np
import pytest
from engines import package
from places import ROOT, WORKED

import adcli

pytestmark = pytest.mark.engine


@pytest.fixture
def con():
    package("pyarrow")
    with package("duckdb").connect() as con:
        con.execute("CREATE TABLE t AS SELECT range AS id, CASE WHEN range % 7 <> 3 THEN range END AS x,"
                    " 1/(range + 1)::DOUBLE AS y FROM range(5000)")
        yield con


def test_derivatives_by_name(con):
    f = adcli.load(WORKED)
    assert adcli.duckdb.register(con, WORKED) == [f"worked_{verb}" for verb in (
        "eval", "grad", "jacobian", "hessian", "jvp", "vjp", "hvp")]
    x, y = zip(*con.sql("SELECT x, y FROM t WHERE x IS NOT NULL ORDER BY id").fetchall(), strict=True)
    at = {"x": np.array(x, float), "y": np.array(y)}
    for verb in ("grad", "hessian"):
        found = con.sql(f"SELECT worked_{verb}(x, y) FROM t WHERE x IS NOT NULL ORDER BY id").fetchall()
        wanted = {name: column.tolist() for name, column in getattr(f, verb)()(at).items()}
        assert {name: [r[0][name] for r in found] for name in found[0][0]} == wanted
    assert con.sql("SELECT worked_grad(x, y).dv_dx FROM t WHERE id = 2").fetchall() == [(5880.0,)]
    assert con.sql("SELECT worked_jvp(x, y, 1, 0).dv FROM t WHERE id = 2").fetchall() == [(5880.0,)]


def test_null_gives_null_or_nan_or_stops(con):
    query = "SELECT m_eval(x, y).v FROM t WHERE id BETWEEN 2 AND 3 ORDER BY id"
    adcli.duckdb.register(con, "v = x + 0*y", name="m")
    assert con.sql(query).fetchall() == [(2.0,), (None,)]
    adcli.duckdb.register(con, "v = x + 0*y", name="m", missing="nan")
    assert str(con.sql(query).fetchall()) == "[(2.0,), (nan,)]"
    adcli.duckdb.register(con, "v = x + 0*y", name="m", on_error="stop")
    with pytest.raises(package("duckdb").Error, match="counted from 0: column 'x' is null\nhelp: missing='nan'"):
        con.sql(query).fetchall()
    adcli.duckdb.register(con, "v = abs(x) + 0*y", name="m", on_error="mark")
    assert con.sql(query.replace(".v", ".status")).fetchall() == [("smooth",), ("column 'x' is null",)]


def test_defaults_come_last_and_by_name(con):
    adcli.duckdb.register(con, "input k = 2, x, y; v = k*x + y", name="m", verbs=["eval", "jvp"])
    assert con.sql("SELECT m_eval(3, 1).v, m_eval(3, 1, k := 5).v, m_eval(3, 1, 7).v").fetchall() == [(7.0, 16.0, 22.0)]
    assert con.sql("SELECT m_jvp(3, 1, dx := 1, dy := 0, dk := 0).dv").fetchall() == [(2.0,)]
    adcli.duckdb.register(con, "input x, y; v = x + y", name="m", at={"y": 10})
    assert con.sql("SELECT m_eval(x).v FROM t WHERE id = 2").fetchall() == [(12.0,)]


def test_lists_are_tensors_and_what_a_program_lacks_is_left_out(con):
    names = adcli.duckdb.register(con, ROOT / "samples/matrix_vector.ad")
    assert names == [f"matrix_vector_{v}" for v in ("eval", "jacobian", "jvp", "vjp")]
    assert con.sql("SELECT matrix_vector_eval([[x, 1], [2, y]], [1, 2]).C FROM t WHERE id IN (1, 3) ORDER BY id").fetchall() == [
        ([3.0, 3.0],), (None,)]


def test_tables_of_every_length(con):
    adcli.duckdb.register(con, "v = 2*x", name="m")
    for rows in (0, 1, 2048, 2049, 5000):
        assert con.sql(f"SELECT sum(m_eval(x).v) = 2*sum(x), count(*) FROM (FROM t LIMIT {rows})").fetchall() == [
            (True if rows else None, rows)]
    sums = "SELECT g, sum(m_grad(x).dv_dx) FROM (SELECT id % 2 AS g, id AS x FROM t) GROUP BY g ORDER BY g"
    assert con.sql(sums).fetchall() == [(0, 5000.0), (1, 5000.0)]


def test_exact_sums_of_a_query(con):
    s = adcli.load(WORKED).grad().arrow_sum(group_by="g", on_error="skip")
    state = s.batch(con.sql("SELECT id % 3 AS g, x, y FROM t"))
    assert s.batch(con.sql("SELECT id % 3 AS g, x, y FROM t ORDER BY id DESC")).equals(state)
    counted = con.sql("SELECT count(x) FROM t GROUP BY id % 3 ORDER BY id % 3").fetchall()
    assert s.finish(state).column("rows").to_pylist() == [n for n, in counted]


def test_every_connection_has_functions_of_its_own_and_a_transaction_takes_its_own_back(con):
    def value(c):
        return c.sql("SELECT m_eval(6, 3).v").fetchall()[0][0]
    assert adcli.duckdb.register(con, "v = x*y", name="m", verbs="eval, grad") == ["m_eval", "m_grad"]
    with con.cursor() as other:
        adcli.duckdb.register(other, "v = x + y", name="m")
        adcli.duckdb.register(con, "v = x - y", name="m")
        assert (value(con), value(other)) == (3.0, 9.0)
        for _ in range(2):
            con.execute("BEGIN")
            adcli.duckdb.register(con, "v = x/y", name="m")
            assert value(con) == 2.0
            con.execute("ROLLBACK")
            assert (value(con), value(other)) == (3.0, 9.0)
    adcli.duckdb.register(con, "v = x/y", name="m")
    assert value(con) == 2.0
    with pytest.raises(adcli.AdError, match=r"a connection of DuckDB is expected, not str\nhelp: give what duckdb.connect\(\)"):
        adcli.duckdb.register("a.duckdb", WORKED)


@pytest.mark.parametrize("given, message", [
    ({"program": "v = x"}, "need a name of letters"), ({"program": "v = x", "name": "a b"}, "need a name of letters"),
    ({"program": "v = x", "name": "m", "on_error": "skip"}, "leaves no row out"),
    ({"program": "v = x; w = x", "name": "m", "verbs": ["hessian"]}, "needs one output"),
    ({"program": "v = 2", "name": "m"}, "no input"), ({"program": "v = x", "name": "1m"}, "need a name of letters"),
    ({"program": "v = x*X", "name": "m"}, "SQL takes 'x' and 'X' for the same name"),
    ({"program": "v = tahn(x)", "name": "m"}, "tanh"),
    ({"program": "v = x", "name": "m", "verbs": ["gard"]}, "did you mean 'grad'")])
def test_what_cannot_be_registered(given, message, con):
    with pytest.raises(adcli.AdError, match=message):
        adcli.duckdb.register(con, **given)


def test_a_wrong_call_is_refused_by_the_database(con):
    adcli.duckdb.register(con, WORKED)
    with pytest.raises(package("duckdb").Error, match="worked_grad"):
        con.sql("SELECT worked_grad(x) FROM t")
    with pytest.raises(package("duckdb").Error, match=r"'B' has 1 element along"):
        adcli.duckdb.register(con, ROOT / "samples/matrix_vector.ad", on_error="stop")
        con.sql("SELECT matrix_vector_eval([[1, 2]], [1])").fetchall()
