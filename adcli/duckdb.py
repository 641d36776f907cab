"""adcli in DuckDB: the derivatives of a program as functions of SQL.

    adcli.duckdb.register(con, "model.ad")                 # or register(con, "v = x*y", name="model")
    con.sql("SELECT model_grad(x, y).dv_dx FROM t")

A function takes the inputs in order and gives a STRUCT of the results. Inputs with a default come last; they may be left out, or
given by name: `model_grad(x, y, k := 3)`. Null gives null.
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from adcli.lang.ir.errors import missing as missing_package

try:
    import duckdb
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise missing_package("adcli.duckdb", error.name or "duckdb") from None

from adcli.api.engines import Given, file_of, function_of
from adcli.api.function import CALLED
from adcli.batches.batch_function import BatchFunction
from adcli.input.values import listed
from adcli.lang.ir import shape_of
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.names import repeated

__all__ = ["register"]

NUMBERS = count(1)
"""Behind each function of SQL is one of columns, with a number of its own in its name: all connections to a database share these
names, and one that is removed is freed, also where a transaction that is rolled back brings it back."""


def register(con: duckdb.DuckDBPyConnection, program: Given, name: str | None = None, verbs: str | Sequence[str] | None = None,
             at: Mapping[str, Any] | None = None, on_error: str = "null", missing: str = "error",
             status: bool = False) -> list[str]:
    """Make NAME_eval, NAME_grad and so on functions of a connection, and give their names. The default name is that of the file,
    and the `verbs` all that the program has. `at` fixes inputs; the rest is as `f.arrow()` has it. Another connection to the same
    database, such as `con.cursor()`, has functions of its own."""
    if not isinstance(con, duckdb.DuckDBPyConnection):
        raise AdError(f"a connection of DuckDB is expected, not {type(con).__name__}", help="give what duckdb.connect() gives")
    verbs = listed(verbs) if isinstance(verbs, str) else verbs
    path, f = file_of(program), function_of(program)
    name = name or (path.stem if path else "")
    if not re.fullmatch(r"[^\W\d]\w*", name):
        raise AdError("the functions need a name of letters, digits and _", help="register(con, program, name='model')")
    if all(p.name in (at or {}) for p in f.program.params):
        raise AdError("no input of the program is left for SQL to give")
    if on_error == "skip":
        raise AdError("a function of SQL leaves no row out", help="filter the rows, or take on_error='null'")
    made = []
    for verb in verbs or CALLED[:-1]:
        try:
            m = function_of(f, verb).arrow(at, only=True, on_error=on_error, missing=missing, status=status)
        except AdError:
            if verbs or verb == "eval":   # else the program has none, as no Hessian of several outputs
                raise
            continue
        made.append(f"{name}_{verb}")
        create(con, made[-1], m)
    return made


def create(con: duckdb.DuckDBPyConnection, name: str, m: BatchFunction) -> None:
    """One function, in place of one of this name: a macro, which can have defaults, of a function, which cannot."""
    for names in (m.inputs, m.outputs):
        if (twice := repeated(n.lower() for n in names)) is not None:
            raise AdError(f"SQL takes {' and '.join(repr(n) for n in names if n.lower() == twice)} for the same name",
                          help="give them names that differ in more than case")
    inputs = sorted(m.free, key=lambda p: p.default is not None)
    call: Any = partial(results, m, [p.name for p in inputs])
    call.__signature__ = inspect.Signature(   # DuckDB asks how many columns it takes
        [inspect.Parameter(f"x{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(len(inputs))])
    types = ["DOUBLE" + "[]" * len(shape_of(p.var)) for p in inputs]
    struct = f"STRUCT({', '.join(f'{quoted(f.name)} {sql_type(f.type)}' for f in m.result_schema)})"
    native = f"{name}__{next(NUMBERS)}"
    make: Any = con.create_function   # its types know no names of kinds
    make(native, call, types, struct, type="arrow", null_handling="special")
    given = [quoted(p.name) + ("" if p.default is None else f" := '{p.default!r}'::DOUBLE") for p in inputs]
    arguments = ", ".join(quoted(p.name) for p in inputs)
    con.execute(f"CREATE OR REPLACE TEMP MACRO {quoted(name)}({', '.join(given)}) AS {quoted(native)}({arguments})")


def results(m: BatchFunction, names: Sequence[str], *columns: pa.ChunkedArray) -> pa.ChunkedArray:
    """The results for columns of these names, as structs."""
    return m.table(pa.table(list(columns), names=names), "batch").to_struct_array()


def sql_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    return "VARCHAR" if pa.types.is_string(kind) else "DOUBLE"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
