"""Batches of Arrow: the values of the function itself to the last bit, what bad rows do, what schemas are refused, and travel."""
from __future__ import annotations

import multiprocessing
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from engines import package
from places import ROOT, WORKED
from session_seed import half

import adcli

pytestmark = pytest.mark.engine
LOSS = "input A(M, N), B(N), k = 2; C(i) +=! k * A(i, j) * B(j); L +=! C(i)**2; output L, C"


@pytest.fixture(scope="module")
def pa():
    return package("pyarrow")


@pytest.fixture(scope="module")
def worked():
    return adcli.load(WORKED)


@pytest.fixture(scope="module")
def kinky():
    return adcli.compile("input x, y, k = 2; v = abs(x)*k + y/x; w = max(x, y)")


def random_batch(pa, rows, nulls=0.0, kinds=("float64", "int16")):
    draw = np.random.default_rng(rows)
    columns = {}
    for name, kind in zip("yx", kinds, strict=True):
        values = draw.normal(size=rows) * 100
        mask = draw.random(rows) < nulls
        columns[name] = pa.array(values if kind == "float64" else values.astype(kind), mask=mask)
    return pa.record_batch({"id": pa.array(map(str, range(rows)), pa.string()), **columns})


def arrays(batch):
    return {name: batch[name].to_numpy(zero_copy_only=False) for name in ("x", "y")}


def alike(a, b):
    """The same columns with the same bits, of which a NaN is one and null is none."""
    return a.schema == b.schema and repr(a.to_pydict()) == repr(b.to_pydict())


def doubles(column):
    return column.to_numpy(zero_copy_only=False).tobytes()


# ---------------------------------------------------------------- values

VERBS = {"eval": lambda f: f, "grad": lambda f: f.grad(), "jacobian": lambda f: f.jacobian(),
         "hessian": lambda f: f.hessian(of="v"), "hvp": lambda f: f.hvp(of="v"),
         "jvp": lambda f: f.jvp(), "vjp": lambda f: f.vjp(), "taylor": lambda f: f.taylor(2)}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_the_bits_are_those_of_the_function(verb, rows, pa, kinky):
    f = VERBS[verb](kinky)
    batch = random_batch(pa, rows)
    fixed = {name: 0.5 for name in f.inputs if name not in ("x", "y", "k")}
    m = f.arrow(fixed, status=True)
    made = m(batch)
    made.validate(full=True)
    assert made.schema == m.schema(batch.schema)
    assert made.column_names == [*batch.column_names, *f.outputs, "status"]
    wanted = f({**arrays(batch), **fixed})
    assert all(doubles(made[name]) == np.asarray(wanted[name]).tobytes() for name in f.outputs)
    assert made["status"].to_pylist() == list(f.status({**arrays(batch), **fixed}))
    assert alike(f.arrow(fixed, only=True)(batch), made.select(list(f.outputs)))


@pytest.mark.parametrize("start, count", [(0, 3), (1, 5), (13, 40), (99, 1), (50, 0)])
def test_a_slice_is_its_rows(start, count, pa, kinky):
    m, batch = kinky.grad().arrow(on_error="null"), random_batch(pa, 100, nulls=0.3)
    assert alike(m(batch.slice(start, count)), m(batch).slice(start, count))


def test_a_table_a_reader_and_a_data_frame(pa, kinky):
    m = kinky.grad().arrow(on_error="null")
    batches = [random_batch(pa, n, nulls=0.2) for n in (3, 0, 5)]
    table = pa.Table.from_batches(batches)
    whole = pa.Table.from_batches(map(m, batches))
    assert alike(m(table), whole)
    assert alike(m(table.to_reader()).read_all(), whole)
    frame = package("polars").from_arrow(table)
    assert alike(m(frame), whole.cast(m(frame).schema))
    assert m(table.slice(0, 0)).schema == m.schema(table.schema)
    with pytest.raises(adcli.AdError, match=r"a table of Arrow is expected, not dict"):
        m({"x": [1.0]})


def test_results_lie_where_the_function_has_put_them(pa, worked):
    """Nothing is copied: columns of results are one another's neighbours in one block of memory."""
    made = worked.grad().arrow(only=True)(pa.record_batch({"x": np.arange(1000.0), "y": np.ones(1000)}))
    places = [made[name].buffers()[1].address for name in made.column_names]
    assert len({b - a for a, b in pairwise(places)}) == 1


def test_results_of_fixed_inputs_alone(pa):
    m = adcli.compile("v = x + 1; w = 3").arrow(x=1.0)
    assert m(pa.record_batch({"id": ["a", "b"]})).to_pydict() == {"id": ["a", "b"], "v": [2.0, 2.0], "w": [3.0, 3.0]}


def test_metadata_of_the_schema_is_kept(pa, worked):
    schema = pa.schema([pa.field("x", pa.float64(), metadata={"unit": "m"}), ("y", pa.float64())], metadata={"made": "here"})
    made = worked.arrow()(pa.record_batch([[1.0], [2.0]], schema=schema))
    assert made.schema.metadata == {b"made": b"here"}
    assert made.schema.field("x").metadata == {b"unit": b"m"}


# ---------------------------------------------------------------- bad rows

ROWS = {"id": ["a", "b", "c", "d"], "x": [1.0, None, 3.0, None], "y": [1.0, 2.0, None, None]}
NULL_X, NULL_Y = "column 'x' is null", "column 'y' is null"


@pytest.mark.parametrize("policy, ids, values, words", [
    ("skip", ["a"], [1.0], ["smooth"]),
    ("null", ["a", "b", "c", "d"], [1.0, None, None, None], ["smooth", None, None, None]),
    ("mark", ["a", "b", "c", "d"], [1.0, None, None, None], ["smooth", NULL_X, NULL_Y, NULL_X])])
def test_what_a_bad_row_does(policy, ids, values, words, pa):
    made = adcli.compile("v = x*y").arrow(on_error=policy, status=True)(pa.record_batch(ROWS))
    made.validate(full=True)
    assert made["id"].to_pylist() == ids
    assert made["v"].to_pylist() == values
    assert made["status"].to_pylist() == words


def test_columns_of_every_type_pass_through(pa):
    """Also those that Arrow itself cannot filter, such as the texts that data frames of polars have."""
    days = pa.array([1, 2, None, 4], pa.int64())
    columns = {
        "text": pa.array(["a", None, "ä", "日"]), "view": pa.array(["a", None, "ä", "日"], pa.string_view()),
        "bytes": pa.array([b"a", None, b"", b"x"], pa.binary_view()),
        "category": pa.array(["a", None, "b", "a"]).dictionary_encode(),
        "when": days.cast(pa.timestamp("ns", tz="Europe/Berlin")), "long": days.view(pa.duration("ms")),
        "inside": pa.array([{"a": "x"}, None, {"a": None}, {"a": "y"}], pa.struct([("a", pa.string_view())])),
        "lists": pa.array([["a"], None, [], ["b"]], pa.list_view(pa.string())), "nothing": pa.nulls(4),
        "map": pa.array([[("k", 1)], None, [], [("z", 2)]], pa.map_(pa.string(), pa.int64())),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["a", "b"]))}
    batch = pa.record_batch({**columns, "x": [1.0, None, 3.0, None]})
    for policy, rows in (("null", [0, 1, 2, 3]), ("skip", [0, 2])):
        made = adcli.compile("v = x").arrow(on_error=policy)(batch)
        made.validate(full=True)
        assert made.schema.names == [*columns, "x", "v"]
        for name, column in columns.items():
            assert made[name].type == column.type
            assert made[name].to_pylist() == [column.to_pylist()[i] for i in rows], name
    frame = package("polars").DataFrame({"x": [None, 1.0], "word": ["a", "b"]})
    assert adcli.compile("v = x").arrow(on_error="skip")(frame).to_pylist() == [{"x": 1.0, "word": "b", "v": 1.0}]


def test_a_bad_row_stops_by_its_number(pa):
    m, batch = adcli.compile("v = x*y").arrow(), pa.record_batch(ROWS)
    with pytest.raises(adcli.AdError, match=r"row 1 of the batch, counted from 0: column 'x' is null\nhelp: missing='nan' takes"):
        m(batch)
    with pytest.raises(adcli.AdError, match=r"row 5 of the table, counted from 0: column 'x' is null"):
        m(pa.Table.from_batches([batch.slice(0, 1)] * 4 + [batch]))


def test_null_taken_for_nan_is_a_value_and_nan_never_null(pa):
    made = adcli.compile("v = x + y; w = 2*y").arrow(missing="nan", only=True)(pa.record_batch(ROWS))
    assert [[None if x is None else str(x) for x in made[name].to_pylist()] for name in "vw"] == [
        ["2.0", "nan", "nan", "nan"], ["2.0", "4.0", "nan", "nan"]]
    assert str(adcli.compile("v = x").arrow()(pa.record_batch({"x": [float("nan")]}))["v"].to_pylist()) == "[nan]"


@pytest.mark.parametrize("columns, given, options, message", [
    ({"y": "float64"}, {}, {}, "no column 'x'"),
    ({"x": "string", "y": "float64"}, {}, {}, "column 'x' must be numbers, not string"),
    ({"x": "timestamp[s]", "y": "float64"}, {}, {}, "column 'x' must be numbers, not timestamp"),
    ({"x": "float64", "y": "float64", "v": "int8"}, {}, {}, "already has a column 'v'"),
    ({"x": "float64", "y": "float64", "status": "int8"}, {}, {"status": True}, "already has a column 'status'"),
    ({"x": "float64", "y": "float64"}, {"y": 1.0}, {}, r"column 'y', which arrow\(y=…\) fixes"),
    ({"X": "float64", "y": "float64"}, {}, {}, "help: did you mean 'X'")])
def test_a_schema_that_does_not_fit_is_refused_without_data(columns, given, options, message, pa):
    schema = pa.schema([(name, pa.type_for_alias(kind) if kind != "timestamp[s]" else pa.timestamp("s"))
                        for name, kind in columns.items()])
    m = adcli.compile("v = x*y").arrow(given, **options)
    with pytest.raises(adcli.AdError, match=message):
        m.schema(schema)
    with pytest.raises(adcli.AdError, match=message):
        m(schema.empty_table())


def test_a_column_that_is_there_twice(pa, worked):
    schema = pa.schema([("x", "float64"), ("x", "float64"), ("y", "float64")])
    with pytest.raises(adcli.AdError, match="column 'x' occurs 2 times"):
        worked.arrow().schema(schema)


@pytest.mark.parametrize("given, options, message", [
    ({"z": 1.0}, {}, "no input 'z'"), ({"x": "one"}, {}, "input 'x' must be real numbers"),
    ({"x": [1.0, 2.0]}, {}, "input 'x' must be one number"),
    ({}, {"on_error": "halt"}, "on_error must be one of stop, skip, null, mark"),
    ({}, {"missing": None}, "missing must be one of error, nan"), ({}, {"jobs": 0}, "jobs must be a whole number from 1"),
    ({}, {"only": "yes"}, "only is True or False")])
def test_options_that_are_none(given, options, message, pa, worked):
    with pytest.raises(adcli.AdError, match=message):
        worked.arrow(given, **options)


# ---------------------------------------------------------------- tensors

def test_rows_of_tensors_are_points(pa):
    f = adcli.compile(LOSS).grad(of="L")
    draw = random.Random(7)
    rows = []
    for _ in range(30):
        m, n = draw.randint(0, 3), draw.randint(1, 3)
        rows.append({"A": [[draw.random() for _ in range(n)] for _ in range(m)], "B": [draw.random() for _ in range(n)]})
    rows = [row for row in rows if row["A"]]
    batch = pa.RecordBatch.from_pylist(rows)
    made = f.arrow(only=True, status=True)(batch)
    made.validate(full=True)
    assert made.schema == f.arrow(only=True, status=True).schema(batch.schema)
    for row, found in zip(rows, made.to_pylist(), strict=True):
        wanted = f(row)
        assert found.pop("status") == f.status(row)
        assert found == {name: x if isinstance(x, float) else x.tolist() for name, x in wanted.items()}


def test_a_fixed_tensor_belongs_to_the_function(pa):
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    m = adcli.compile(LOSS).arrow(A=weights, k=1)
    weights[:] = 0
    batch = pa.record_batch({"B": pa.array([[1.0, 1.0], [1.0, 0.0]], pa.list_(pa.float32(), 2))})
    assert m(batch)["C"].to_pylist() == [[3.0, 7.0], [1.0, 3.0]]
    assert alike(pickle.loads(pickle.dumps(m))(batch), m(batch))


@pytest.mark.parametrize("a, b, reason", [
    ([[1, 2], [3]], [1, 2], "'A' is ragged"), (None, [1, 2], "column 'A' is null"),
    ([[1, None]], [1, 2], "column 'A' has null in its list"), ([[1, 2]], [1, 2, 3], "'B' has 3 elements along dimension 0"),
    ([None, [1, 2]], [1, 2], "column 'A' has null in its list"),
    ([[1, 2]], None, "column 'B' is null")])
def test_a_row_whose_tensors_do_not_fit_is_bad(a, b, reason, pa):
    f = adcli.compile(LOSS)
    batch = pa.RecordBatch.from_pylist([{"A": [[1, 2]], "B": [1, 2]}, {"A": a, "B": b}, {"A": [[1, 2]], "B": [3, 4]}],
                                       pa.schema([("A", pa.list_(pa.list_(pa.int64()))), ("B", pa.list_(pa.int64()))]))
    with pytest.raises(adcli.AdError, match=rf"row 1 of the batch, counted from 0: {reason}"):
        f.arrow()(batch)
    made = f.arrow(on_error="mark")(batch)
    assert made["status"].to_pylist()[::2] == ["smooth"] * 2
    assert made["status"].to_pylist()[1].startswith(reason)
    assert made["L"].to_pylist() == [100.0, None, 484.0]
    assert made["C"].to_pylist() == [[10.0], None, [22.0]]
    assert f.arrow(on_error="skip")(batch)["C"].to_pylist() == [[10.0], [22.0]]
    with pytest.raises(adcli.AdError, match="column 'B' must be lists of numbers, not double"):
        f.arrow().schema(pa.schema([("A", pa.list_(pa.list_(pa.int64()))), ("B", pa.float64())]))


# ---------------------------------------------------------------- travel

def elsewhere(packed, batch):
    return pickle.loads(packed)(batch)


def test_it_travels_to_other_processes(pa, kinky):
    m, batch = kinky.hessian(of="v").arrow(on_error="mark", k=3), random_batch(pa, 100, nulls=0.1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert alike(pool.apply(elsewhere, (pickle.dumps(m), batch)), m(batch))


@pytest.mark.parametrize("path", [ROOT / "samples/mixture.ad", *half(sorted((ROOT / "samples").glob("*.ad")))],
                         ids=lambda path: path.stem)
def test_with_its_status_every_program_travels(path, pa):
    f = adcli.load(path)
    for g in (f, f.jvp(), f.vjp()):
        m = g.arrow(status=True)
        there = pickle.loads(pickle.dumps(m))
        assert (there.outputs, there.function.text("anf")) == (m.outputs, m.function.text("anf"))


def test_it_is_compiled_once_in_a_process(pa, kinky):
    packed = pickle.dumps(kinky.grad().arrow(k=1))
    assert pickle.loads(packed).function is pickle.loads(packed).function
    assert pickle.loads(packed).function is pickle.loads(pickle.dumps(pickle.loads(packed))).function


def test_threads_share_it(pa):
    m = adcli.compile("v = sin(x)*y").grad().arrow()
    batches = [random_batch(pa, n) for n in range(50, 90)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(m, batches))
    assert all(alike(a, m(b)) for a, b in zip(found, batches, strict=True))


def test_it_cannot_be_changed(pa, worked):
    m = worked.arrow(x=1.0)
    with pytest.raises(AttributeError):
        m.only = True
    with pytest.raises(TypeError):
        m.fixed["x"] = 2.0
    assert repr(m) == "<adcli.BatchFunction (y) -> (v)>"


def test_without_pyarrow_it_says_what_to_install(monkeypatch, worked):
    import sys
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "adcli.batches.batch_function", raising=False)
    with pytest.raises(adcli.AdError, match=r"arrow\(\) needs pyarrow, which is not installed"):
        worked.arrow()


def test_rows_are_those_of_the_command_line(pa, tmp_path):
    """The same table as a file: the same numbers."""
    from command import adcli as command
    batch = random_batch(pa, 50, kinds=("float64", "float64"))
    path = tmp_path / "table.csv"
    path.write_text("id,y,x\n" + "".join(f"{r['id']},{r['y']!r},{r['x']!r}\n" for r in batch.to_pylist()))
    made = adcli.load(WORKED).grad().arrow()(batch)
    rows = command("grad", str(ROOT / WORKED), "--data", str(path)).out.splitlines()[1:]
    assert [row.split(",")[3:] for row in rows] == [[repr(r[n]) for n in ("v", "dv_dx", "dv_dy")] for r in made.to_pylist()]
