"""Builtins for Python as LLVM IR: four functions that speak its C interface around any kernel.

    numbers(values)                       numbers by name for numbers by name
    columns(values, targets, new)         arrays by name computed into arrays by name, which may be known to be new
    tensors(values, targets, new, frame, share)  the same of nests for one set of shapes, with the addresses of what they work in
                                          and of what this thread is to a team, or 0
    vector(into, x, …)                    vectors one after another, results written to their places in an array

Each gives None for anything that it does not know, and for anything wrong: then the way in Python does it, or says what is wrong.
Only what is no Exception, such as an interrupt while a key is compared, is raised at once.
Such a builtin is bound to a plan, bytes whose words `call_writer` names. All addresses are among them, those of Python's own
functions too, so the code is the same for every program and every process, and can be kept. For each precision there is one.

Memory for a call comes from the heap, so no call knows of another. Objects are held as long as they are used, and where there is
much to compute, Python's lock is given back meanwhile.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from adcli.codegen.builtins.call_writer import (
    COUNT,
    DATA,
    DIMENSIONS,
    DTYPE,
    ENTRIES,
    FLAGS,
    NAME,
    READABLE,
    REAL,
    REALS,
    RUN,
    SHAPE,
    WHOLES,
    WRITABLE,
    CallWriter,
)
from adcli.codegen.machine.kernel import CACHE_LINE
from adcli.codegen.rows.llvm import head
from adcli.lang.operations.precision import DOUBLE, Precision

MOST_PAIRS = 4096
"""Pairs of columns up to which it is looked whether they overlap."""


def text(precision: Precision = DOUBLE) -> str:
    """The module. Its function looks like a kernel, and writes the addresses of ENTRIES where its first argument points to."""
    w = CallWriter(precision)
    for function in (_block, _rows, _actions, _steps, _is_array, _same_shape, _numbers, _columns, _tensors, _vector):
        function(w)
    w.lines.append(f"define {head(NAME)} {{")
    for k, name in enumerate(ENTRIES):
        w.put("ptr", "%in", k, f"@{name}")
    return "\n".join([*w.lines, "  ret void", "}", ""])


# ---------------------------------------------------------------- the kernel on rows

def _block(w: CallWriter) -> None:
    """All rows of columns: whole blocks where they lie, the last rows through a copy that repeats the last of them."""
    with w.function("void @block(ptr %plan, ptr %in, ptr %out, i64 %rows, ptr %memory)"):
        kernel, lanes, n, m = w.table("kernel"), w.word("lanes"), w.word("inputs"), w.word("outputs")
        work = w.value("ptrtoint ptr %memory to i64")
        work = w.value(f"and i64 {w.value(f'add i64 {work}, {CACHE_LINE - 1}')}, {-CACHE_LINE}")
        w.do(f"%work = inttoptr i64 {work} to ptr")
        rest = w.value(f"urem i64 %rows, {lanes}")
        whole = w.value(f"sub i64 %rows, {rest}")
        w.do(f"call void {kernel}(ptr %in, ptr %out, i64 0, i64 {whole}, ptr %work)")
        w.require(w.compared("ne", "i64", rest, 0), "done")
        ends_in = w.at("i8", "%work", w.word("work"))
        ends_out = w.at("ptr", ends_in, n)
        first = w.at("ptr", ends_out, m)
        size = w.value(f"shl i64 {lanes}, {w.shift}")
        last = w.value(f"sub i64 {rest}, 1")
        with w.each(n) as i:
            column = w.at(w.scalar, w.get("ptr", "%in", i), whole)
            end = w.at("i8", first, w.value(f"mul i64 {i}, {size}"))
            w.put("ptr", ends_in, i, end)
            with w.each(lanes) as lane:
                row = w.value(f"select i1 {w.compared('slt', 'i64', lane, rest)}, i64 {lane}, i64 {last}")
                w.put(w.scalar, end, lane, w.get(w.scalar, column, row))
        first = w.at("i8", first, w.value(f"mul i64 {n}, {size}"))
        with w.each(m) as j:
            w.put("ptr", ends_out, j, w.at("i8", first, w.value(f"mul i64 {j}, {size}")))
        w.do(f"call void {kernel}(ptr {ends_in}, ptr {ends_out}, i64 0, i64 {lanes}, ptr %work)")
        with w.each(m) as j:
            column = w.at(w.scalar, w.get("ptr", "%out", j), whole)
            with w.each(rest) as lane:
                w.put(w.scalar, column, lane, w.get(w.scalar, w.get("ptr", ends_out, j), lane))
        w.go("done")
        w.label("done")
        w.do("ret void")


def _rows(w: CallWriter) -> None:
    """All rows, without Python's lock where it takes long."""
    with w.function("void @rows(ptr %plan, ptr %api, ptr %in, ptr %out, i64 %rows, ptr %memory)"):
        _patiently(w, "%rows", "call void @block(ptr %plan, ptr %in, ptr %out, i64 %rows, ptr %memory)")


def _actions(w: CallWriter) -> None:
    """Steps of nests, with words of the frame set before some of them."""
    with w.function("void @actions(ptr %plan, ptr %frame, ptr %share)"):
        kernel, table = w.table("kernel"), w.table("actions")
        with w.each(w.word("acts")) as k:
            row = w.at("i64", table, w.value(f"mul i64 {k}, 3"))
            word, first, last = (w.get("i64", row, n) for n in range(3))
            runs, sets, done = map(w.fresh, ("runs", "sets", "done"))
            w.branch(w.compared("eq", "i64", word, RUN), runs, sets)
            w.label(runs)
            w.do(f"call void {kernel}(ptr %frame, ptr %share, i64 {first}, i64 {last}, ptr null)")
            w.go(done)
            w.label(sets)
            w.put("i64", "%frame", word, first)
            w.go(done)
            w.label(done)
        w.do("ret void")


def _steps(w: CallWriter) -> None:
    """The steps of nests, in a frame that has all addresses; likewise."""
    with w.function("void @steps(ptr %plan, ptr %api, ptr %frame, ptr %share)"):
        _patiently(w, "1", "call void @actions(ptr %plan, ptr %frame, ptr %share)")


def _patiently(w: CallWriter, rows: str, call: str) -> None:
    """The rest of a function that calls code, without Python's lock for more rows than `patience`."""
    w.branch(w.compared("sgt", "i64", rows, w.word("patience")), "long", "short")
    w.label("short")
    w.do(call, "ret void")
    w.label("long")
    state = w.api("PyEval_SaveThread")
    w.do(call)
    w.api("PyEval_RestoreThread", state)
    w.do("ret void")


def _compute(w: CallWriter, rows: object) -> None:
    w.do(f"call void @rows(ptr %plan, ptr %api, ptr %in, ptr %out, i64 {rows}, ptr %rest)")


def _one_row(w: CallWriter) -> None:
    """Columns of one row, in the call's own memory, computed."""
    with w.each("%both") as k:
        w.put("ptr", "%in", k, w.at("i64", "%own", k))
    _compute(w, 1)


# ---------------------------------------------------------------- arrays

def _is_array(w: CallWriter) -> None:
    """True if an object is exactly a NumPy array of this dtype with these flags."""
    with w.function("i1 @is_array(ptr %api, ptr %x, ptr %dtype, i32 %flags)"):
        w.require(w.is_a("%x", "ndarray"))
        w.require(w.compared("eq", "ptr", w.field("ptr", "%x", DTYPE), "%dtype"))
        found = w.value(f"and i32 {w.field('i32', '%x', FLAGS)}, %flags")
        w.do(f"ret i1 {w.compared('eq', 'i32', found, '%flags')}")
        w.label("other")
        w.do("ret i1 0")


def _same_shape(w: CallWriter) -> None:
    """True if two arrays have one shape."""
    with w.function("i1 @same_shape(ptr %x, ptr %y)"):
        rank = w.field("i32", "%x", DIMENSIONS)
        w.require(w.compared("eq", "i32", rank, w.field("i32", "%y", DIMENSIONS)))
        x, y = w.field("ptr", "%x", SHAPE), w.field("ptr", "%y", SHAPE)
        with w.each(w.value(f"sext i32 {rank} to i64")) as k:
            w.require(w.compared("eq", "i64", w.get("i64", x, k), w.get("i64", y, k)))
        w.do("ret i1 1")
        w.label("other")
        w.do("ret i1 0")


def _require_array(w: CallWriter, x: str, flags: int, dtype: str = "dtype") -> None:
    w.require(w.value(f"call i1 @is_array(ptr %api, ptr {x}, ptr {w.known(dtype)}, i32 {flags})"))


def _require_apart(w: CallWriter, looked: str, places: str, size: Callable[[str], str]) -> None:
    """That so many results share no bytes with anything else, where the places of all are in a table, the inputs' first."""
    with w.each(looked) as j:
        own = w.value(f"add i64 %n, {j}")
        end = w.value(f"add i64 {w.get('i64', places, own)}, {size(own)}")
        with w.each("%both") as k:
            behind = w.compared("ule", "i64", end, w.get("i64", places, k))
            other = w.value(f"add i64 {w.get('i64', places, k)}, {size(k)}")
            ahead = w.compared("ule", "i64", other, w.get("i64", places, own))
            w.require(w.value(f"or i1 {w.compared('eq', 'i64', own, k)}, {w.value(f'or i1 {behind}, {ahead}')}"))


def _elements(w: CallWriter, array: str) -> str:
    """How many numbers an array has."""
    total = w.value("alloca i64")
    w.do(f"store i64 1, ptr {total}")
    extents = w.field("ptr", array, SHAPE)
    with w.each(w.value(f"sext i32 {w.field('i32', array, DIMENSIONS)} to i64")) as k:
        product = w.value(f"mul i64 {w.get('i64', total, 0)}, {w.get('i64', extents, k)}")
        w.put("i64", total, 0, product)
    return w.get("i64", total, 0)


# ---------------------------------------------------------------- what Python calls

def _real(w: CallWriter, x: str, whole: Callable[[CallWriter, str], str]) -> str:
    """A float, one of NumPy's, or an int as a double."""
    float_, int_, found, known = (w.fresh(each) for each in ("float", "int", "found", "known"))
    w.branch(w.value(f"or i1 {w.is_a(x, 'float')}, {w.is_a(x, 'float64')}"), float_, int_)
    w.label(float_)
    double = w.api("PyFloat_AsDouble", x)
    w.go(known)
    w.label(int_)
    rounded = whole(w, x)
    w.go(found)
    w.label(found)
    w.go(known)
    w.label(known)
    return w.value(f"phi double [ {double}, %{float_} ], [ {rounded}, %{found} ]")


def _rounded(w: CallWriter, x: str) -> str:
    """An int as a double."""
    return _sure(w, x, "PyLong_AsDouble", "fcmp oeq double", "-1.0")


def _whole(w: CallWriter, x: str) -> str:
    """An int of 64 bits."""
    return _sure(w, x, "PyLong_AsLongLong", "icmp eq i64", "-1")


def _sure(w: CallWriter, x: str, function: str, compared: str, perhaps_wrong: str) -> str:
    """An int by a function that gives this number for any fault, too."""
    w.require(w.is_a(x, "int"))
    found = w.api(function, x)
    perhaps, sure = w.fresh("perhaps"), w.fresh("sure")
    w.branch(w.value(f"{compared} {found}, {perhaps_wrong}"), perhaps, sure)
    w.label(perhaps)
    w.require(w.compared("eq", "ptr", w.api("PyErr_Occurred"), "null"))
    w.go(sure)
    w.label(sure)
    return found


def _named(w: CallWriter, given: str, count: str, names: str, required: str = "") -> None:
    """Hold the objects of a dictionary by name, all that it has; null for those that the table `required` lets be missing."""
    known = w.value("alloca i64")
    w.do(f"store i64 0, ptr {known}")
    w.require(w.is_a(given, "dict"))
    size = w.api("PyDict_Size", given)   # before a key can change it
    with w.each(count) as k:
        there, absent, held = (w.fresh(each) for each in ("there", "absent", "held"))
        x = w.api("PyDict_GetItemWithError", given, w.get("ptr", w.table(names), k))
        w.branch(w.compared("eq", "ptr", x, "null"), absent, there)
        w.label(absent)
        w.require(w.compared("eq", "i64", w.get("i64", w.table(required), k), 0) if required else "false")
        w.require(w.compared("eq", "ptr", w.api("PyErr_Occurred"), "null"))
        w.go(held)
        w.label(there)
        w.put("i64", known, 0, w.value(f"add i64 {w.get('i64', known, 0)}, 1"))
        w.go(held)
        w.label(held)
        w.hold(x)
    w.require(w.compared("eq", "i64", size, w.get("i64", known, 0)))


def _numbers(w: CallWriter) -> None:
    """Floats and ints by name; a default where a name is missing, and None where there is a name too many."""
    with w.builtin("numbers"):
        w.require(w.compared("eq", "i64", "%count", 1))
        values = w.get("ptr", "%arguments", 0)
        w.require(w.is_a(values, "dict"))
        w.do("%known = alloca i64", "store i64 0, ptr %known")
        with w.each("%n") as i:
            w.keep(w.at("i64", "%own", i), 0, _number_or_default(w, values, i))
        w.require(w.compared("eq", "i64", w.api("PyDict_Size", values), w.get("i64", "%known", 0)))
        _one_row(w)
        found = w.api("PyDict_New")
        w.require(w.compared("ne", "ptr", found, "null"))
        with w.each("%m") as j:
            x = w.api("PyFloat_FromDouble", w.number(w.get("ptr", "%out", j), 0))
            w.require(w.compared("ne", "ptr", x, "null"), "incomplete")
            failed = w.api("PyDict_SetItem", found, w.get("ptr", w.table("output_names"), j), x)
            w.api("Py_DecRef", x)
            w.require(w.compared("eq", "i32", failed, 0), "incomplete")
        w.answer(found)
        w.go("other")
        w.label("incomplete")
        w.api("Py_DecRef", found)


def _number_or_default(w: CallWriter, values: str, i: str) -> str:
    """Number of input i by its name, counted in `known`; its default where there is none."""
    x = w.api("PyDict_GetItemWithError", values, w.get("ptr", w.table("input_names"), i))
    w.branch(w.compared("eq", "ptr", x, "null"), "missing", "given")
    w.label("missing")
    w.require(w.compared("eq", "i64", w.get("i64", w.table("required"), i), 0))
    w.go("default")
    w.label("default")
    default = w.get("double", w.table("defaults"), i)
    w.go("filled")
    w.label("given")
    known = w.get("i64", "%known", 0)
    w.put("i64", "%known", 0, w.value(f"add i64 {known}, 1"))
    double = _real(w, x, _rounded)
    filled = w.fresh("given")
    w.go(filled)
    w.label(filled)
    w.go("filled")
    w.label("filled")
    return w.value(f"phi double [ {default}, %default ], [ {double}, %{filled} ]")


def _columns(w: CallWriter) -> None:
    """Arrays of one shape by name, into others that share no memory with them nor with each other."""
    with w.builtin("columns"):
        w.require(w.compared("eq", "i64", "%count", 3))
        w.require(w.compared("sgt", "i64", "%both", 0))
        fresh = w.compared("eq", "ptr", w.get("ptr", "%arguments", 2), w.known("True"))
        looked = w.value(f"select i1 {fresh}, i64 0, i64 %m")
        w.require(w.compared("sle", "i64", w.value(f"mul i64 %both, {looked}"), MOST_PAIRS))
        values, targets = (w.get("ptr", "%arguments", k) for k in (0, 1))
        for given, count, names in (values, "%n", "input_names"), (targets, "%m", "output_names"):
            _named(w, given, count, names)
        # a key may run Python when it is compared, so what is looked at begins behind the last of them
        for count, before, column, flags in ("%n", "0", "%in", READABLE), ("%m", "%n", "%out", WRITABLE):
            with w.each(count) as k:
                x = w.get("ptr", "%own", w.value(f"add i64 {before}, {k}"))
                _require_array(w, x, flags)
                w.require(w.value(f"call i1 @same_shape(ptr {w.get('ptr', '%own', 0)}, ptr {x})"))
                w.put("ptr", column, k, w.field("ptr", x, DATA))
        rows = _elements(w, w.get("ptr", "%own", 0))
        w.require(w.compared("sgt", "i64", rows, 0))
        size = w.value(f"shl i64 {rows}, {w.shift}")
        _require_apart(w, looked, "%in", lambda k: size)
        _compute(w, rows)
        w.api("Py_IncRef", targets)
        w.answer(targets)


def _tensors(w: CallWriter) -> None:
    """Arrays and numbers of planned shapes by name, into arrays and in place of whatever else stands for results, in a frame."""
    with w.builtin("tensors"):
        w.require(w.compared("eq", "i64", "%count", 5))
        values, targets = (w.get("ptr", "%arguments", k) for k in (0, 1))
        fresh = w.compared("eq", "ptr", w.get("ptr", "%arguments", 2), w.known("True"))
        looked = w.value(f"select i1 {fresh}, i64 0, i64 %m")
        w.require(w.compared("sle", "i64", w.value(f"mul i64 %both, {looked}"), MOST_PAIRS))
        numbers = [w.api("PyLong_AsLongLong", w.get("ptr", "%arguments", k)) for k in (3, 4)]
        frame, share = (w.value(f"inttoptr i64 {number} to ptr") for number in numbers)
        _named(w, values, "%n", "input_names", "required")
        _named(w, targets, "%m", "output_names")
        w.do("%shapes = alloca ptr")
        w.do(f"store ptr {w.table('shapes')}, ptr %shapes")
        for count, before, flags in ("%n", "0", READABLE), ("%m", "%n", WRITABLE):
            with w.each(count) as i:
                k = w.value(f"add i64 {before}, {i}")
                w.put("ptr", frame, k, _column(w, k, flags))
        _require_apart(w, looked, frame, lambda k: w.get("i64", w.table("bytes"), k))
        w.do(f"call void @steps(ptr %plan, ptr %api, ptr {frame}, ptr {share})")
        w.require(w.compared("eq", "i64", w.get("i64", frame, w.word("flag")), 0))
        with w.each("%m") as j:
            k, done, number = w.value(f"add i64 %n, {j}"), w.fresh("done"), w.fresh("number")
            w.branch(w.compared("eq", "i64", w.get("i64", w.table("kinds"), k), REAL), number, done)
            w.label(number)
            x = w.api("PyFloat_FromDouble", w.number(w.get("ptr", frame, k), 0))
            w.require(w.compared("ne", "ptr", x, "null"))
            failed = w.api("PyDict_SetItem", targets, w.get("ptr", w.table("output_names"), j), x)
            w.api("Py_DecRef", x)
            w.require(w.compared("eq", "i32", failed, 0))
            w.go(done)
            w.label(done)
        w.api("Py_IncRef", targets)
        w.answer(targets)


def _column(w: CallWriter, k: str, flags: int) -> str:
    """Where the values of input or result k lie: those of a number in the call's own memory."""
    x, cell = w.get("ptr", "%own", k), w.at("i64", "%rest", k)
    kind = w.get("i64", w.table("kinds"), k)
    shape = w.value("load ptr, ptr %shapes")
    names = {name: w.fresh(name) for name in ("array", "reals", "wholes", "shaped", "scalar", "real", "default", "float",
                                              "integer", "count", "number", "end")}
    w.branch(w.compared("sle", "i64", kind, WHOLES), names["array"], names["scalar"])
    w.label(names["array"])
    w.branch(w.compared("eq", "i64", kind, REALS), names["reals"], names["wholes"])
    for each, dtype in ("reals", "dtype"), ("wholes", "int64"):
        w.label(names[each])
        _require_array(w, x, flags, dtype)
        w.go(names["shaped"])
    w.label(names["shaped"])
    data = _shaped(w, x, shape)
    ended = w.fresh("ended")
    w.go(ended)
    w.label(ended)
    w.go(names["end"])
    w.label(names["scalar"])
    if flags == READABLE:
        _scalar(w, k, kind, names)
    w.go(names["number"])
    w.label(names["number"])
    w.go(names["end"])
    w.label(names["end"])
    return w.value(f"phi ptr [ {data}, %{ended} ], [ {cell}, %{names['number']} ]")


def _shaped(w: CallWriter, x: str, shape: str) -> str:
    """Data of an array that has the planned rank and extents."""
    rank = w.get("i64", shape, 0)
    w.require(w.compared("eq", "i64", w.value(f"sext i32 {w.field('i32', x, DIMENSIONS)} to i64"), rank))
    found = w.field("ptr", x, SHAPE)
    with w.each(rank) as d:
        w.require(w.compared("eq", "i64", w.get("i64", found, d), w.get("i64", w.at("i64", shape, 1), d)))
    data = w.field("ptr", x, DATA)
    w.do(f"store ptr {w.at('i64', w.at('i64', shape, 1), rank)}, ptr %shapes")
    return data


def _scalar(w: CallWriter, k: str, kind: str, names: Mapping[str, str]) -> None:
    """Put input k, a number, into the call's own memory; it goes on at the label of a `number`."""
    x, cell, shape = w.get("ptr", "%own", k), w.at("i64", "%rest", k), w.value("load ptr, ptr %shapes")
    w.branch(w.compared("eq", "i64", kind, REAL), names["real"], names["integer"])
    w.label(names["real"])
    w.branch(w.compared("eq", "ptr", x, "null"), names["default"], names["float"])
    w.label(names["default"])
    w.keep(cell, 0, w.get("double", w.table("defaults"), k))
    w.go(names["number"])
    w.label(names["float"])
    w.keep(cell, 0, _real(w, x, lambda w, x: w.value(f"sitofp i64 {_whole(w, x)} to double")))
    w.go(names["number"])
    w.label(names["integer"])
    whole = _whole(w, x)
    w.put("i64", cell, 0, whole)
    w.branch(w.compared("eq", "i64", kind, COUNT), names["count"], names["number"])
    w.label(names["count"])
    w.require(w.compared("eq", "i64", w.get("i64", shape, 0), whole))
    w.do(f"store ptr {w.at('i64', shape, 1)}, ptr %shapes")


def _vector(w: CallWriter) -> None:
    """Vectors in, of which one follows the other, and results to their places in an array."""
    with w.builtin("vector"):
        w.require(w.compared("sge", "i64", "%count", 1))
        into = w.get("ptr", "%arguments", 0)
        _require_array(w, into, WRITABLE)
        w.require(w.compared("eq", "i64", _elements(w, into), w.word("size")))
        components = w.word("components")
        joined = w.at("double", w.at("i8", "%memory", w.word("memory")), w.value(f"sub i64 0, {components}"))
        w.do("%known = alloca i64", "store i64 0, ptr %known")
        with w.each(w.value("sub i64 %count, 1")) as k:
            x = w.get("ptr", w.at("ptr", "%arguments", 1), k)
            _require_array(w, x, READABLE)
            w.require(w.compared("eq", "i32", w.field("i32", x, DIMENSIONS), 1))
            length, known = w.get("i64", w.field("ptr", x, SHAPE), 0), w.get("i64", "%known", 0)
            after, data = w.value(f"add i64 {known}, {length}"), w.field("ptr", x, DATA)
            w.require(w.compared("sle", "i64", after, components))
            with w.each(length) as i:
                w.put("double", w.at("double", joined, known), i, w.number(data, i))
            w.put("i64", "%known", 0, after)
        w.require(w.compared("eq", "i64", w.get("i64", "%known", 0), components))
        with w.each("%n") as i:
            origin = w.get("i64", w.table("origins"), i)
            fixed = w.compared("slt", "i64", origin, 0)
            base = w.value(f"select i1 {fixed}, ptr {w.table('defaults')}, ptr {joined}")
            place = w.value(f"select i1 {fixed}, i64 {i}, i64 {origin}")
            w.keep(w.at("i64", "%own", i), 0, w.get("double", base, place))
        _one_row(w)
        target = w.field("ptr", into, DATA)
        with w.each(w.word("entries")) as k:
            source = w.get("ptr", "%out", w.get("i64", w.table("sources"), k))
            w.put(w.scalar, target, w.get("i64", w.table("places"), k), w.get(w.scalar, source, 0))
        w.api("Py_IncRef", into)
        w.answer(into)
