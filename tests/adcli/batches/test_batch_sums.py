"""Sums over batches: exact, against fractions of the function's own results, whatever the order, the cuts and the way of
merging."""
from __future__ import annotations

import pickle
import random
from collections import defaultdict
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from engines import package
from places import WORKED

import adcli

pytestmark = pytest.mark.engine
NET = "input W(M, N), b(M), x(N), t; h(i) +=! W(i, j) * x(j); g(i) = tanh(h(i) + b(i)); s +=! g(i); L = (s - t)**2; output L"


@pytest.fixture(scope="module")
def pa():
    return package("pyarrow")


@pytest.fixture(scope="module")
def batch(pa):
    """Numbers of all sizes, so that their sum is anything but what adding them gives."""
    draw = random.Random(3)
    rows = 500
    return pa.record_batch({
        "x": [draw.choice([1, -1]) * 10.0 ** draw.randint(-150, 90) * draw.random() for _ in range(rows)],
        "y": [draw.choice([1, -1]) * 10.0 ** draw.randint(-20, 100) * (draw.random() + .1) for _ in range(rows)],
        "w": [10.0 ** draw.randint(-9, 9) for _ in range(rows)],
        "g": [draw.choice(["a", "b", None, "null"]) for _ in range(rows)],
        "h": pa.array([draw.randint(1, 2) for _ in range(rows)], "int8")})


def exact(terms):
    return float(sum(map(Fraction, terms), Fraction(0)))


def cuts(batch, draw):
    """Pieces of a batch in some order, empty ones among them, merged in some way."""
    places = sorted(draw.choices(range(batch.num_rows + 1), k=draw.randint(0, 9)))
    pieces = [batch.slice(a, b - a) for a, b in zip([0, *places], [*places, batch.num_rows], strict=True)]
    draw.shuffle(pieces)
    return pieces


def merged(s, states, draw):
    while len(states) > 1:
        draw.shuffle(states)
        k = draw.randint(2, len(states))
        states = [s.merge(*states[:k]), *states[k:]]
    return states[0]


@pytest.mark.parametrize("options", [{}, {"weights": "w"}, {"group_by": "g"}, {"gauss_newton": True, "weights": "w"},
                                     {"group_by": ["g", "h"], "weights": "w", "status": True}])
def test_no_order_no_cut_and_no_way_of_merging_matters(options, batch):
    s = adcli.load(WORKED).grad().arrow_sum(**options)
    whole = s.batch(batch)
    draw = random.Random(str(options))
    for _ in range(4):
        permuted = batch.take(package("pyarrow").array(draw.sample(range(batch.num_rows), batch.num_rows)))
        state = merged(s, [s.batch(piece) for piece in cuts(permuted, draw)], draw)
        assert state.equals(whole)
        assert s.finish(state).equals(s.finish(whole))
    assert next(s.each(iter(cuts(batch, draw)))).equals(whole)
    assert s.batch(package("pyarrow").Table.from_batches(cuts(batch, draw))).equals(whole)


def test_a_sum_is_exact_and_rounded_once(batch):
    g = adcli.load(WORKED).grad()
    found = g(x=batch["x"].to_numpy(), y=batch["y"].to_numpy())
    assert all(np.isfinite(column).all() for column in found.values())
    s = g.arrow_sum()
    assert s.finish(s.batch(batch)).to_pylist() == [{"rows": 500, **{name: exact(x) for name, x in found.items()}}]
    assert exact(found["v"]) != sum(found["v"].tolist())
    (mean,) = s.finish(s.batch(batch), mean=True).to_pylist()
    assert mean["dv_dx"] == float(sum(map(Fraction, found["dv_dx"].tolist())) / 500)


def test_groups_and_weights_and_squares(batch):
    g = adcli.load(WORKED).grad()
    found = g(x=batch["x"].to_numpy(), y=batch["y"].to_numpy())
    s = g.arrow_sum(group_by="g,h", weights="w", gauss_newton=True)
    groups = defaultdict(list)
    for i, row in enumerate(batch.to_pylist()):
        groups[row["g"], row["h"]].append((Fraction(row["w"]), *(Fraction(float(column[i])) for column in found.values())))
    made = s.finish(s.batch(batch))
    assert made.schema == s.schema(batch.schema)
    assert [(row["g"], row["h"]) for row in made.to_pylist()] == sorted(groups, key=lambda key: (key[0] is None, key))
    for row in made.to_pylist():
        rows = groups[row["g"], row["h"]]
        assert row["rows"] == len(rows)
        assert row["weights"] == float(sum(w for w, *_ in rows))
        assert row["dv_dy"] == float(sum(w * dy for w, _, _, dy in rows))
        try:
            assert row["jtj_x_y"] == float(sum(w * dx * dy for w, _, dx, dy in rows))
        except OverflowError:
            assert np.isinf(row["jtj_x_y"])
    total = s.finish(s.batch(batch), mean=True).to_pylist()[0]
    rows = groups[total["g"], total["h"]]
    assert total["dv_dx"] == float(sum(w * dx for w, _, dx, _ in rows) / sum(w for w, *_ in rows))


def test_no_rows_are_zero(batch):
    s = adcli.load(WORKED).grad().arrow_sum()
    assert s.finish(s.batch(batch.slice(0, 0))).to_pylist() == [{"rows": 0, "v": 0.0, "dv_dx": 0.0, "dv_dy": 0.0}]
    grouped = adcli.load(WORKED).arrow_sum(group_by="g")
    assert grouped.finish(grouped.batch(batch.slice(0, 0))).num_rows == 0
    assert list(s.each([])) == []


def test_groups_keep_their_types(pa):
    columns = {"day": pa.array([date(2024, 2, 29), None, date(2024, 2, 29)]),
               "n": pa.array([2 ** 53 + 1, 5, 2 ** 53 + 1], "int64"),
               "price": pa.array([Decimal("1.10"), Decimal("2.00"), Decimal("1.10")]), "real": pa.array([0.1, 1e300, 0.1]),
               "flag": [True, False, True], "word": pa.array(["ä,\"", "b", "ä,\""]).dictionary_encode(),
               "time": pa.array([10 ** 15 + 1, 2, 10 ** 15 + 1], pa.timestamp("us"))}
    batch = pa.record_batch({"x": [1.0, 2.0, 4.0], **columns})
    for name in columns:
        s = adcli.compile("v = x").arrow_sum(group_by=name)
        found = {row[name]: row["v"] for row in s.finish(s.batch(batch)).to_pylist()}
        values = batch[name].to_pylist()
        assert found == {values[0]: 5.0, values[1]: 2.0}, name
    with pytest.raises(adcli.AdError, match=r"column 'l' of type .* cannot be grouped by"):
        adcli.compile("v = x").arrow_sum(group_by="l").schema(pa.schema([("x", "float64"), ("l", pa.struct([("a", pa.int8())]))]))


def test_groups_of_days_and_times_of_every_type_and_of_texts_in_categories(pa):
    """As data frames of polars have them, too: their texts are of a type for which Arrow has few functions."""
    zone = pa.timestamp("s", tz="Europe/Berlin")   # the first two are half past two, before and after the clock is put back
    kinds = {zone: [1729989000, 1729992600], pa.timestamp("ns"): [-1, 10 ** 18 + 1], pa.time32("s"): [1, 86399], pa.time64("ns"):
             [0, 1], pa.date32(): [-700000, 2900000], pa.date64(): [0, 86400000], pa.duration("ms"): [-5, 2 ** 40]}
    columns = {str(kind): pa.array([*xs, None, xs[0]], pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
               for kind, xs in kinds.items()}
    columns["view"] = pa.array(["b", "ä", None, "b"], pa.string_view())
    columns["bytes"] = pa.array([b"b", b"", None, b"b"], pa.binary_view())
    columns["category"] = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1]), pa.array(["ä", "b"], pa.string_view()))
    for name, column in columns.items():
        s = adcli.compile("v = x").arrow_sum(group_by="g", on_error="skip")
        batch = pa.record_batch({"x": [1.0, 2.0, 4.0, 8.0, None], "g": pa.concat_arrays([column, column.slice(0, 1)])})
        made = s.finish(s.batch(batch.slice(0, 2)), s.batch(batch.slice(2)))
        assert made.schema == s.schema(batch.schema)
        found = dict(zip(map(str, made["g"]), made["v"].to_pylist(), strict=True))
        assert found == {str(column[0]): 9.0, str(column[1]): 2.0, str(made["g"][2]): 4.0}, name
    for kind in (pa.uuid(), pa.struct([("a", pa.int8())]), pa.month_day_nano_interval(), pa.list_(pa.int8())):
        with pytest.raises(adcli.AdError, match="cannot be grouped by"):
            s.schema(pa.schema([("x", "float64"), ("g", kind)]))
    with pytest.raises(adcli.AdError, match="UTF8"):
        s.batch(pa.record_batch({"x": [1.0], "g": [b"\xff"]}))


def test_sums_are_those_of_the_command_line(pa, batch, tmp_path):
    """The same names and the same bits."""
    from command import adcli as command
    path = tmp_path / "table.csv"
    path.write_text("x,y,w,h\n" + "".join(f"{r['x']!r},{r['y']!r},{r['w']!r},{r['h']}\n" for r in batch.to_pylist()))
    options = ["--group-by", "h", "--weights", "w", "--gauss-newton", "--status", "--format", "csv"]
    header, *lines = command("grad", str(WORKED), "--data", str(path), "--sum", *options).out.splitlines()
    s = adcli.load(WORKED).grad().arrow_sum(group_by="h", weights="w", gauss_newton=True, status=True)
    made = s.finish(s.batch(batch))
    assert header.split(",") == made.column_names
    assert sorted(lines) == [",".join(map(str, row.values())) for row in made.to_pylist()]


# ---------------------------------------------------------------- bad rows and what is refused

def test_bad_rows_stop_or_are_left_out(pa):
    rows = pa.record_batch({"x": [1.0, None, 3.0, 5.0], "w": [1.0, 1.0, None, 2.0]})
    with pytest.raises(adcli.AdError, match=r"row 1 of the batch, counted from 0: column 'x' is null\nhelp: .*on_error='skip'"):
        adcli.compile("v = x").arrow_sum().batch(rows)
    table = pa.Table.from_batches([rows.slice(0, 1), rows.slice(0, 1), rows.slice(2)])
    with pytest.raises(adcli.AdError, match="row 2 of the table, counted from 0: the weight 'w' is not a finite number"):
        adcli.compile("v = x").arrow_sum(weights="w").batch(table)
    s = adcli.compile("v = x").arrow_sum(weights="w", on_error="skip")
    assert s.finish(s.batch(rows)).to_pylist() == [{"rows": 2, "weights": 3.0, "v": 11.0}]


@pytest.mark.parametrize("options, message", [
    ({"on_error": "mark"}, "on_error is stop or skip"), ({"group_by": "g,g"}, "names 'g' twice"),
    ({"weights": 3}, "weights is the name of a column, not int"),
    ({"gauss_newton": True}, "needs outputs and their first derivatives"), ({"z": 1.0}, "no input 'z'")])
def test_sums_that_are_none(options, message, pa):
    with pytest.raises(adcli.AdError, match=message):
        adcli.compile("v = x").arrow_sum(**options)


@pytest.mark.parametrize("options, message", [
    ({"group_by": "gg"}, "no column 'gg', which group_by names\nhelp: did you mean 'g'"), ({"weights": "k"}, "no column 'k'"),
    ({"weights": "g"}, "column 'g' must be numbers, not string"), ({"group_by": "v"}, "column 'v' is grouped by"),
    ({"x": 1.0}, "which arrow")])
def test_schemas_that_do_not_fit(options, message, pa):
    schema = pa.schema([("x", "float64"), ("g", "string"), ("v", "float64")])
    s = adcli.compile("v = x").arrow_sum(**options)
    for attempt in (s.schema, s.mapped_schema, lambda schema: s.batch(schema.empty_table())):
        with pytest.raises(adcli.AdError, match=message):
            attempt(schema)


def test_states_of_something_else(pa):
    s, t = adcli.compile("v = x").arrow_sum(group_by="g"), adcli.compile("w = x").arrow_sum()
    one = s.batch(pa.record_batch({"x": [1.0], "g": [1]}))
    for states, message in (
            ([b"no state"], "not the state"), ([b'{"groups": 1}'], "not the state"), ([3], "int is not the state"),
            ([], "no state"), (["a"], "str is not the state"), ([{"x": b""}], "dict is not the state"),
            ([pa.record_batch({"x": [1]})], "has a column 'state'"),
            ([t.batch(pa.record_batch({"x": [1.0]}))], "another program"),
            ([one, s.batch(pa.record_batch({"x": [1.0], "g": ["1"]}))], "of different types")):
        with pytest.raises(adcli.AdError, match=message):
            s.merge(*states)


@pytest.mark.parametrize("program, options, difference", [
    ("v = x + k", {"k": 1.0}, "another program"), ("v = x*k", {"k": 2.0}, "other values of fixed inputs"),
    ("v = x*k", {}, "other values of fixed inputs"), ("v = x*k", {"k": 1.0, "group_by": "h,g"}, "another group_by"),
    ("v = x*k", {"k": 1.0, "weights": "g"}, "other weights"), ("v = x*k", {"k": 1.0, "missing": "nan"}, "another missing"),
    ("input x(N), k; v(i) = x(i)*k", {"k": 1.0}, "another program")])
def test_states_of_different_sums_with_the_same_names_are_not_merged(program, options, difference, pa):
    s = adcli.compile("v = x*k").arrow_sum(k=1.0, group_by="g,h")
    t = adcli.compile(program).arrow_sum(**{"group_by": "g,h", **options})
    x = [[1.0]] if "(" in program else [1.0]
    one, other = (r.batch(pa.record_batch({"x": x if r is t else [1.0], "k": [1.0], "g": [1], "h": [1]}).drop_columns(
        ["k"] if r is s or options.get("k") else [])) for r in (s, t))
    for states in ((one, other), (other,), (one, t.batch(t_schema(pa, x, options).empty_table()))):
        with pytest.raises(adcli.AdError, match=f"the state of another sum, with {difference}"):
            s.finish(*states)
    same = adcli.compile("# as text\nv = x * k").arrow_sum(k=1, group_by=["g", "h"], on_error="skip", status=True)
    assert same.finish(one, one)["v"].to_pylist() == [2.0]


def t_schema(pa, x, options):
    kind = pa.array(x).type
    return pa.schema([("x", kind), *([] if "k" in options else [("k", pa.float64())]), ("g", pa.int64()), ("h", pa.int64())])


def test_the_types_of_groups_may_not_change_within_a_stream(pa):
    s = adcli.compile("v = x").arrow_sum(group_by="g")
    one, other = (pa.record_batch({"x": [1.0], "g": [g]}) for g in (1, "1"))
    assert s.finish(*s.each([one, one.select(["g", "x"])])).to_pylist() == [{"g": 1, "rows": 2, "v": 2.0}]
    with pytest.raises(adcli.AdError, match="columns grouped by are of different types"):
        list(s.each([one, other]))
    assert repr(s) == "<adcli.BatchSums (x) -> (g, rows, v)>"


def test_states_of_another_adcli_are_not_merged(pa, monkeypatch):
    s = adcli.compile("v = x").arrow_sum()
    state = s.batch(pa.record_batch({"x": [1.0]}))
    there = pickle.loads(pickle.dumps(s))
    assert there.batch(pa.record_batch({"x": [1.0]})).equals(state)
    monkeypatch.setattr("adcli.batches.batch_sums.own_content", lambda: "0" * 128)
    with pytest.raises(adcli.AdError, match="with another adcli\nhelp: the same adcli must be installed everywhere"):
        pickle.loads(pickle.dumps(s)).merge(state)


def test_a_state_is_carried_as_bytes_in_lists_and_tables(pa):
    s = adcli.compile("v = x").arrow_sum()
    states = [s.batch(pa.record_batch({"x": [float(i)]})) for i in range(4)]
    data = [state["state"][0].as_py() for state in states]
    table = pa.Table.from_batches(states)
    for given in (states, [data], [table], [bytearray(x) for x in data], [iter(states)], [table["state"]],
                  [np.array(data, object)], [package("polars").from_arrow(table)], table.to_pylist()):
        assert s.finish(*given).to_pylist() == [{"rows": 4, "v": 6.0}]
    assert pickle.loads(pickle.dumps(s)).finish(data).to_pylist() == [{"rows": 4, "v": 6.0}]


# ---------------------------------------------------------------- tensors

def test_the_gradient_of_a_network_over_a_table(pa):
    draw = np.random.default_rng(2)
    f = adcli.compile(NET)
    g = f.grad("W,b")
    fixed = {"W": draw.normal(size=(3, 4)), "b": draw.normal(size=3)}
    rows = [{"x": draw.normal(size=4).tolist(), "t": float(draw.normal()), "w": float(draw.random()), "g": i % 3}
            for i in range(40)]
    batch = pa.RecordBatch.from_pylist(rows)
    s = g.arrow_sum(fixed, weights="w", group_by="g")
    state = s.merge([s.batch(batch.slice(i, 7)) for i in range(35, -1, -7)])
    assert state.equals(s.batch(batch))
    made = s.finish(state)
    assert made.schema == s.schema(batch.schema)
    for row in made.to_pylist():
        mine = [(Fraction(r["w"]), g({**fixed, "x": r["x"], "t": r["t"]})) for r in rows if r["g"] == row["g"]]
        for i, j in np.ndindex(3, 4):
            assert row["dL_dW"][i][j] == float(sum(w * Fraction(float(found["dL_dW"][i, j])) for w, found in mine))
        assert row["L"] == float(sum(w * Fraction(found["L"]) for w, found in mine))
        assert row["rows"] == len(mine)


def test_tensors_of_different_shapes_have_no_sum(pa):
    s = adcli.compile(NET).grad("x").arrow_sum(t=0.0)
    one, other = (pa.RecordBatch.from_pylist([{"W": [[1.0] * n], "b": [1.0], "x": [2.0] * n}]) for n in (2, 3))
    with pytest.raises(adcli.AdError, match=r"'dL_dx' has shape \(2,\) in one row and \(3,\) in another"):
        s.merge(s.batch(one), s.batch(other))
    with pytest.raises(adcli.AdError, match=r"'dL_dx' has shape \(2,\)"):
        s.batch(pa.Table.from_batches([one, other]).combine_chunks())
