"""Builtins for Python as LLVM IR: five functions that speak its C interface around any kernel.

    numbers(values)                       numbers by name for numbers by name
    columns(values, targets, new)         arrays by name computed into arrays by name, which may be known to be new
    tensors(values, targets, new, frame, share)  the same of nests for one set of shapes, with the addresses of what they work in
                                          and of what this thread is to a team, or 0
    results(values)                       the same into new arrays, by one thread in memory that is kept for it
    results(values, x)                    the same with x for the one value that is missing, as a tuple in the order of results
    vector(into, x, …)                    vectors one after another, results written to their places in an array

Each gives None for anything that it does not know, and for anything wrong: then the way in Python does it, or says what is wrong.
Only what is no Exception, such as an interrupt while a key is compared, is raised at once.
Such a builtin is bound to a plan, bytes whose words `layout` names. All addresses are among them, those of Python's own
functions too, so the code is the same for every program and every process, and can be kept. For each precision there is one.

Memory for a call comes from the heap, so no call knows of another. Objects are held as long as they are used, and where there is
much to compute, Python's lock is given back meanwhile.
"""
from __future__ import annotations

import ast

from adcli.codegen.builtins import plan_words
from adcli.codegen.builtins.plan_words import API, ENTRIES, NAME, OBJECTS, PLAN
from adcli.codegen.llvm_ir.translator import Translator, Typed, functions
from adcli.codegen.machine.kernel import CACHE_LINE
from adcli.codegen.rows.instructions import bits
from adcli.codegen.rows.llvm import head
from adcli.lang.operations.precision import DOUBLE, FIRST_TOO_LARGE, Precision

MOST_PAIRS = 4096
"""Pairs of columns up to which it is looked whether they overlap."""

TEXT = """
# ---------------------------------------------------------------- the kernel

def block(plan, ins, outs, rows: i64, memory):    # whole blocks of rows where columns lie, the last rows in copies of the last
    lanes = plan.lanes
    work = pointer(integer(memory) + CACHE_LINE - 1 & 0 - CACHE_LINE)
    rest = rows % lanes
    whole = rows - rest
    plan.kernel(ins, outs, 0, whole, work)
    if rest != 0:
        ends = at(work.i8, plan.work)
        first = at(ends.ptr, plan.inputs + plan.outputs)
        for k in range(plan.inputs + plan.outputs):
            ends.ptr[k] = at(first.real, k*lanes)
        for i in range(plan.inputs):
            column = at(ins.ptr[i].real, whole)
            for lane in range(lanes):
                ends.ptr[i].real[lane] = column.real[lane if lane < rest else rest - 1]
        plan.kernel(ends, at(ends.ptr, plan.inputs), 0, lanes, work)
        for j in range(plan.outputs):
            column = at(outs.ptr[j].real, whole)
            for lane in range(rest):
                column.real[lane] = ends.ptr[plan.inputs + j].real[lane]

def computed(plan, ins, rows: i64, memory):    # all rows, without Python's lock where it takes long
    outs = at(ins.ptr, plan.inputs)
    if rows > plan.patience:
        state = PyEval_SaveThread()
        block(plan, ins, outs, rows, memory)
        PyEval_RestoreThread(state)
    else:
        block(plan, ins, outs, rows, memory)

def one_row(plan, own, ins, memory):    # columns of one row, in the call's own memory
    for k in range(plan.inputs + plan.outputs):
        ins.ptr[k] = at(own.i64, k)
    computed(plan, ins, 1, memory)

def actions(plan, frame, share):    # steps of nests, with words of the frame set before some of them
    for k in range(plan.acts):
        word = plan.actions.i64[3*k]
        first = plan.actions.i64[3*k + 1]
        if word == RUN:
            plan.kernel(frame, share, first, plan.actions.i64[3*k + 2], null)
        else:
            frame.i64[word] = first

def steps(plan, frame, share):    # those in a frame that has all addresses; likewise
    if plan.patience < 1:
        state = PyEval_SaveThread()
        actions(plan, frame, share)
        PyEval_RestoreThread(state)
    else:
        actions(plan, frame, share)

# ---------------------------------------------------------------- arrays

def is_array(plan, x, dtype, flags: i64) -> i1:    # exactly a NumPy array
    require(x.type == objects.ndarray)
    require(x.dtype == dtype)
    return wide(x.flags) & flags == flags

def same_shape(x, y) -> i1:
    require(x.dimensions == y.dimensions)
    for k in range(wide(x.dimensions)):
        require(x.shape.i64[k] == y.shape.i64[k])
    return True

def elements(x) -> i64:
    total = 1
    for k in range(wide(x.dimensions)):
        total = total*x.shape.i64[k]
    return total

def apart(plan, looked: i64, places, sizes, step: i64) -> i1:    # so many results share no bytes with anything else
    for j in range(looked):
        own = plan.inputs + j
        begin = places.i64[own]
        end = begin + sizes.i64[own*step]
        for k in range(plan.inputs + plan.outputs):
            require(own == k or end <= places.i64[k] or places.i64[k] + sizes.i64[k*step] <= begin)
    return True

# ---------------------------------------------------------------- numbers and names

def integer_of(plan, x, cell) -> i1:    # an int of 64 bits
    require(x.type == objects.int)
    found = PyLong_AsLongLong(x)
    if found == -1:
        require(PyErr_Occurred() == null)
    cell.i64[0] = found
    return True

def number_of(plan, x, short: i1, cell) -> i1:    # a float, one of NumPy's, or an int, which may have to be `short`
    if x.type == objects.float or x.type == objects.float64:
        cell.double[0] = PyFloat_AsDouble(x)
    else:
        if short:
            require(integer_of(plan, x, cell))
            cell.double[0] = double(cell.i64[0])
        else:
            require(x.type == objects.int)
            found = PyLong_AsDouble(x)
            if found == -1.0:
                require(PyErr_Occurred() == null)
            cell.double[0] = found
    if SINGLE:
        require(rounded(cell))
    return True

def rounded(cell) -> i1:    # a double as a single; one that is too large for that, or infinite, is left to Python
    x = cell.double[0]
    require(not (x >= TOO_LARGE or x <= 0.0 - TOO_LARGE))
    cell.real[0] = narrow(x)
    return True

def named(plan, given, count: i64, names, required, more, own, held) -> i1:
    # hold the objects of a dictionary by name, all that it has, and `more` for the first that is missing, if it is not null; null
    # for those that the table `required` lets be missing
    require(given.type == objects.dict)
    size = PyDict_Size(given)    # before a key can change it
    known = 0
    for k in range(count):
        x = PyDict_GetItemWithError(given, names.ptr[k])
        if x == null:
            require(PyErr_Occurred() == null)
            if more != null:
                x = more
                more = null
            else:
                require(required != null)
                require(required.i64[k] == 0)
        else:
            known = known + 1
        for each in range(HOLDS):
            Py_IncRef(x)
        own.ptr[held.i64[0]] = x
        held.i64[0] = held.i64[0] + 1
    return size == known and more == null

def kept(plan, into, j: i64, x) -> i1:    # a result under its name, or in its place in a tuple, which has the reference then
    require(x != null)
    failed = 0
    if into.type == objects.dict:
        failed = wide(PyDict_SetItem(into, plan.output_names.ptr[j], x))
        Py_DecRef(x)
    else:
        failed = wide(PyTuple_SetItem(into, plan.places.i64[j], x))
    return failed == 0

def entered(plan, into, j: i64, column) -> i1:
    return kept(plan, into, j, PyFloat_FromDouble(wide(column.real[0])))

# ---------------------------------------------------------------- what Python calls

def numbers_in(plan, arguments, count: i64, held, own, ins, rest) -> ptr:
    # floats and ints by name; a default where a name is missing, and None where there is a name too many
    require(count == 1)
    values = arguments.ptr[0]
    require(values.type == objects.dict)
    known = 0
    for i in range(plan.inputs):
        x = PyDict_GetItemWithError(values, plan.input_names.ptr[i])
        cell = at(own.i64, i)
        if x == null:
            require(plan.required.i64[i] == 0)
            cell.double[0] = plan.defaults.double[i]
            if SINGLE:
                require(rounded(cell))
        else:
            known = known + 1
            require(number_of(plan, x, False, cell))
    require(PyDict_Size(values) == known)
    one_row(plan, own, ins, rest)
    found = PyDict_New()
    good = found != null
    for j in range(plan.outputs):
        if good:
            good = entered(plan, found, j, ins.ptr[plan.inputs + j])
    if not good:
        Py_DecRef(found)
        found = null
    return found

def columns_in(plan, arguments, count: i64, held, own, ins, rest) -> ptr:
    # arrays of one shape by name, into others that share no memory with them nor with each other
    require(count == 3)
    both = plan.inputs + plan.outputs
    looked = 0 if arguments.ptr[2] == objects.true else plan.outputs
    require(both > 0 and both*looked <= MOST_PAIRS)
    targets = arguments.ptr[1]
    require(named(plan, arguments.ptr[0], plan.inputs, plan.input_names, null, null, own, held))
    require(named(plan, targets, plan.outputs, plan.output_names, null, null, own, held))
    for k in range(both):    # a key may run Python when it is compared, so what is looked at begins behind the last of them
        x = own.ptr[k]
        require(is_array(plan, x, objects.dtype, READABLE if k < plan.inputs else WRITABLE))
        require(same_shape(own.ptr[0], x))
        ins.ptr[k] = x.data
    rows = elements(own.ptr[0])
    require(rows > 0)
    rest.i64[0] = rows*SIZE
    require(apart(plan, looked, ins, rest, 0))
    computed(plan, ins, rows, rest)
    Py_IncRef(targets)
    return targets

def tensors_in(plan, arguments, count: i64, held, own, ins, rest) -> ptr:
    # arrays and numbers of planned shapes by name, into arrays and in place of whatever else stands for results, in a frame
    require(count == 5)
    both = plan.inputs + plan.outputs
    looked = 0 if arguments.ptr[2] == objects.true else plan.outputs
    require(both*looked <= MOST_PAIRS)
    targets = arguments.ptr[1]
    frame = pointer(PyLong_AsLongLong(arguments.ptr[3]))
    share = pointer(PyLong_AsLongLong(arguments.ptr[4]))
    require(named(plan, arguments.ptr[0], plan.inputs, plan.input_names, plan.required, null, own, held))
    require(named(plan, targets, plan.outputs, plan.output_names, null, null, own, held))
    require(placed(plan, own, rest, frame))
    require(apart(plan, looked, frame, plan.bytes, 1))
    steps(plan, frame, share)
    require(written(plan, targets, frame))
    Py_IncRef(targets)
    return targets

def placed(plan, own, rest, frame) -> i1:    # where inputs and results lie, of planned shapes
    shape = plan.shapes
    for k in range(plan.inputs + plan.outputs):
        x = own.ptr[k]
        kind = plan.kinds.i64[k]
        place = at(rest.i64, k)    # of a number, in the call's own memory
        if kind <= WHOLES:
            dtype = objects.dtype if kind == REALS else objects.int64
            require(is_array(plan, x, dtype, READABLE if k < plan.inputs else WRITABLE))
            require(wide(x.dimensions) == shape.i64[0])
            for d in range(shape.i64[0]):
                require(x.shape.i64[d] == shape.i64[d + 1])
            place = x.data
            shape = at(shape.i64, shape.i64[0] + 1)
        else:
            if k < plan.inputs:
                if kind == REAL:
                    if x == null:
                        place.double[0] = plan.defaults.double[k]
                        if SINGLE:
                            require(rounded(place))
                    else:
                        require(number_of(plan, x, True, place))
                else:
                    require(integer_of(plan, x, place))
                    if kind == COUNT:
                        require(shape.i64[0] == place.i64[0])
                        shape = at(shape.i64, 1)
        frame.ptr[k] = place
    return True

def written(plan, targets, frame) -> i1:    # numbers under their names, unless there was a fault
    require(frame.i64[plan.flag] == 0)
    for j in range(plan.outputs):
        if plan.kinds.i64[plan.inputs + j] == REAL:
            require(entered(plan, targets, j, frame.ptr[plan.inputs + j]))
    return True

def made(plan, targets, own, held) -> i1:    # new arrays
    for j in range(plan.outputs):
        x = null
        if plan.kinds.i64[plan.inputs + j] == REALS:
            x = PyObject_CallObject(objects.empty, plan.blanks.ptr[j])
            require(x != null)
            for each in range(HOLDS):
                Py_IncRef(x)
        own.ptr[held.i64[0]] = x
        held.i64[0] = held.i64[0] + 1
        if x != null:
            require(kept(plan, targets, j, x))
    return True

def results_in(plan, arguments, count: i64, held, own, ins, rest) -> ptr:
    # arrays and numbers of planned shapes by name, for new ones by name, in the frame that no other call is in
    require(count == 1 or count == 2)
    more = null
    targets = null
    if count == 2:
        more = arguments.ptr[1]
    require(named(plan, arguments.ptr[0], plan.inputs, plan.input_names, plan.required, more, own, held))
    if count == 2:
        targets = PyTuple_New(plan.outputs)
    else:
        targets = PyDict_Copy(plan.order)
    good = targets != null
    if good:
        good = made(plan, targets, own, held)
    if good:
        good = plan.busy.i64[0] == 0
        if good:    # from here on no other code of Python runs, but where its lock is given back
            plan.busy.i64[0] = 1
            plan.frame.i64[plan.flag] = 0
            good = placed(plan, own, rest, plan.frame)
            if good:
                steps(plan, plan.frame, null)
                good = written(plan, targets, plan.frame)
            plan.busy.i64[0] = 0
    if not good:
        Py_DecRef(targets)
        targets = null
    return targets

def vector_in(plan, arguments, count: i64, held, own, ins, rest) -> ptr:
    # vectors in, of which one follows the other, and results to their places in an array
    require(count >= 1)
    into = arguments.ptr[0]
    require(is_array(plan, into, objects.dtype, WRITABLE))
    require(elements(into) == plan.size)
    joined = at(held.i8, plan.memory - 8*plan.components)
    known = 0
    for k in range(1, count):
        x = arguments.ptr[k]
        require(is_array(plan, x, objects.dtype, READABLE))
        require(x.dimensions == 1)
        length = x.shape.i64[0]
        require(known + length <= plan.components)
        for i in range(length):
            joined.double[known + i] = wide(x.data.real[i])
        known = known + length
    require(known == plan.components)
    for i in range(plan.inputs):
        origin = plan.origins.i64[i]
        base = plan.defaults if origin < 0 else joined
        cell = at(own.i64, i)
        cell.double[0] = base.double[i if origin < 0 else origin]
        if SINGLE:
            if SINGLE:
                require(rounded(cell))
    one_row(plan, own, ins, rest)
    for k in range(plan.entries):
        into.data.real[plan.places.i64[k]] = ins.ptr[plan.inputs + plan.sources.i64[k]].real[0]
    Py_IncRef(into)
    return into

def nothing(plan) -> ptr:    # None, or null for what is no Exception and has been raised
    found = objects.none
    if PyErr_Occurred() != null:
        if PyErr_ExceptionMatches(objects.exception) != 0:
            PyErr_Clear()
        else:
            found = null
    Py_IncRef(found)
    return found
"""
BUILTIN = """
def {name}(self, arguments, count: i64) -> ptr:
    plan = at(self.i8, CONTENT)
    held = PyMem_RawMalloc(plan.memory)
    answer = null
    if held != null:
        held.i64[0] = 0
        own = at(held.i64, MEMORY_WORDS)
        ins = at(own.i64, plan.inputs + plan.outputs)
        answer = {name}_in(plan, arguments, count, held, own, ins, at(ins.i64, plan.inputs + plan.outputs))
        for k in range(held.i64[0]):
            for each in range(HOLDS):
                Py_DecRef(own.ptr[k])
        PyMem_RawFree(held)
    if answer == null:
        answer = nothing(plan)
    return answer
"""
HOLDS = 2
"""References by which an array is held: with one, NumPy lets another thread resize it that has taken it out of its dictionary."""
FUNCTIONS = functions(TEXT + "".join(BUILTIN.format(name=name) for name in ENTRIES))
SIZES = {"i8": 1, "i32": 4, "float": 4}
"""Bytes of what lies in memory, where that are not 8."""
NUMBERS = {name: (str(getattr(plan_words, name)), "i64") for name in (
    "CONTENT", "MEMORY_WORDS", "READABLE", "WRITABLE", "RUN", "REALS", "WHOLES", "REAL", "COUNT")}
WORDS = {"lanes", "work", "memory", "patience", "inputs", "outputs", "components", "entries", "size", "acts", "flag"}
"""Words of a plan that are no addresses."""
FIELDS = {"type": ("ptr", plan_words.TYPE), "data": ("ptr", plan_words.DATA), "dimensions": ("i32", plan_words.DIMENSIONS),
          "shape": ("ptr", plan_words.SHAPE), "dtype": ("ptr", plan_words.DTYPE), "flags": ("i32", plan_words.FLAGS)}
KERNEL = ("ptr", "ptr", "i64", "i64", "ptr")


def text(precision: Precision = DOUBLE) -> str:
    """The module. Its function looks like a kernel, and writes the addresses of ENTRIES where its first argument points to."""
    lines = [line for f in FUNCTIONS.values() for line in CallWriter(f, precision).written()]
    for k, name in enumerate(ENTRIES):
        lines[:0] = [f"  %at.{k} = getelementptr ptr, ptr %in, i64 {k}", f"  store ptr @{name}, ptr %at.{k}"]
    return "\n".join([f"define {head(NAME)} {{", *lines[:2 * len(ENTRIES)], "  ret void", "}", "", *lines[2 * len(ENTRIES):]])


def kinds(f: ast.FunctionDef) -> list[str]:
    """The types of the parameters."""
    return [ast.unparse(a.annotation) if a.annotation else "ptr" for a in f.args.args]


class CallWriter(Translator):
    """Writes a function of TEXT. What lies behind an address is read as `address.type[number]`, what an object has by the name of
    the field, and a word of the plan by its name; `require` leaves the function, with nothing, where a test fails."""

    def __init__(self, f: ast.FunctionDef, precision: Precision) -> None:
        self.f, self.precision = f, precision
        self.types = {"real": precision.type}
        self.leaves = False
        super().__init__({
            **NUMBERS, "null": ("null", "ptr"), "SINGLE": (str(precision is not DOUBLE).lower(), "i1"),
            "TOO_LARGE": self.real(FIRST_TOO_LARGE), **{name: (f"{n}", "i64") for name, n in (
                ("SIZE", precision.bytes), ("HOLDS", HOLDS), ("MOST_PAIRS", MOST_PAIRS), ("CACHE_LINE", CACHE_LINE))},
            **{a.arg: (f"%{a.arg}", kind) for a, kind in zip(f.args.args, kinds(f), strict=True)}})

    def written(self) -> list[str]:
        result = ast.unparse(self.f.returns) if self.f.returns else "void"
        self.run(self.f.body)
        self.say(self.ended)
        if self.leaves:
            self.block("other")
            self.say(f"ret {result} {'null' if result == 'ptr' else 'false'}")
        given = ", ".join(f"{kind} %{a.arg}" for a, kind in zip(self.f.args.args, kinds(self.f), strict=True))
        return [f"define internal {result} @{self.f.name}({given}) {{", *self.text(), "}", ""]

    def real(self, x: float) -> Typed:
        return bits(x), "double"

    # ------------------------------------------------------------ memory

    def element(self, base: ast.expr, index: str) -> tuple[str, str]:
        """The address of an element, and its type."""
        assert isinstance(base, ast.Attribute)
        kind = self.types.get(base.attr, base.attr)
        return self.put(f"getelementptr {kind}, ptr {self.value(base.value)[0]}, i64 {index}"), kind

    def load(self, x: ast.Subscript | ast.Attribute) -> Typed:
        if isinstance(x, ast.Subscript):
            return self.read(*self.element(x.value, self.value(x.slice)[0]))
        match x.value:
            case ast.Name("plan"):
                return self.word(self.known["plan"][0], x.attr)
            case ast.Name("objects"):
                return self.address(len(API) + OBJECTS.index(x.attr)), "ptr"
        kind, offset = FIELDS[x.attr]
        return self.read(self.put(f"getelementptr i8, ptr {self.value(x.value)[0]}, i64 {offset}"), kind)

    def read(self, at: str, kind: str) -> Typed:
        return self.put(f"load {kind}, ptr {at}, align {SIZES.get(kind, 8)}"), kind

    def word(self, plan: str, name: str) -> Typed:
        kind = "i64" if name in WORDS else "ptr"
        if plan != "%plan":
            return self.read(self.put(f"getelementptr i64, ptr {plan}, i64 {PLAN.index(name)}"), kind)
        at = self.place(0, f"getelementptr i64, ptr {plan}, i64 {PLAN.index(name)}")
        return self.place(0, f"load {kind}, ptr {at}, align 8", name), kind

    def address(self, k: int) -> str:
        """An address of the table of Python's functions and objects."""
        table = self.word(self.known["plan"][0], "api")[0]
        return self.read(self.put(f"getelementptr ptr, ptr {table}, i64 {k}"), "ptr")[0]

    def store(self, place: ast.expr, value: ast.expr) -> None:
        assert isinstance(place, ast.Subscript)
        text = self.value(value)[0]
        at, kind = self.element(place.value, self.value(place.slice)[0])
        self.say(f"store {kind} {text}, ptr {at}, align {SIZES.get(kind, 8)}")

    # ------------------------------------------------------------ calls

    def call(self, x: ast.Call) -> Typed:
        name = x.func.id if isinstance(x.func, ast.Name) else "kernel"
        if name == "at":
            base, index = x.args
            return self.element(base, self.value(index)[0])[0], "ptr"
        given = [self.value(a) for a in x.args]
        match name:
            case "require":
                self.require(given[0][0])
                return "", "void"
            case "kernel":
                return self.called("void", KERNEL, given, self.word(self.known["plan"][0], "kernel")[0])
            case _ if name in API:
                result, listed = API[name].rstrip(")").split(" (")
                return self.called(result, listed.split(", ") if listed else (), given, self.address(list(API).index(name)))
            case _ if name in FUNCTIONS:
                f = FUNCTIONS[name]
                return self.called(ast.unparse(f.returns) if f.returns else "void", kinds(f), given, f"@{name}")
        return self.converted(name, *given[0])

    def called(self, result: str, kinds: tuple[str, ...] | list[str], given: list[Typed], function: str) -> Typed:
        call = f"call {result} {function}({', '.join(f'{kind} {x}' for kind, (x, _) in zip(kinds, given, strict=True))})"
        if result != "void":
            return self.put(call), result
        self.say(call)
        return "", result

    def converted(self, name: str, x: str, kind: str) -> Typed:
        match name, kind:
            case "pointer", _:
                return self.put(f"inttoptr i64 {x} to ptr"), "ptr"
            case "integer", _:
                return self.put(f"ptrtoint ptr {x} to i64"), "i64"
            case "double", _:
                return self.put(f"sitofp i64 {x} to double"), "double"
            case "wide", "i32":
                return self.put(f"sext i32 {x} to i64"), "i64"
            case "wide", "float":
                return self.put(f"fpext float {x} to double"), "double"
            case "narrow", _ if self.precision is not DOUBLE:
                return self.put(f"fptrunc double {x} to {self.precision.type}"), self.precision.type
        return x, kind

    def require(self, holds: str) -> None:
        self.leaves = True
        self.count += 1
        self.say(f"br i1 {holds}, label %on.{self.count}, label %other")
        self.block(f"on.{self.count}")
