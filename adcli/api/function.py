"""A Program that can be called: from Python with numbers and arrays, and differentiated into further Functions.

A Function is immutable. Native code is made at the first call and belongs to the object; a pickled Function is compiled again
where it arrives.
"""
from __future__ import annotations

import contextlib
import copyreg
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adcli.api.methods import Batching, Inspection, MatrixColumns, Origin, Solving
from adcli.api.words import OneOrMore, in_order, names, one_of, says_python, together, truth, word
from adcli.codegen.machine.kernel import COMPILING, Kernel, run
from adcli.input.points import complete
from adcli.lang.ir import LEVELS, Atom, Lit, Primitive, Program, Values, has_tensors, substitute
from adcli.lang.ir.errors import AdError, Source, missing
from adcli.lang.ir.primitives import TABLE
from adcli.lang.operations.precision import PRECISIONS
from adcli.task.derive import DerivedProgram, ShortProgram, chosen, derived
from adcli.task.derive import short as short_program
from adcli.task.native import compiled, with_steps
from adcli.task.request import NO_TEXT, Request
from adcli.task.verbs import VERBS

if TYPE_CHECKING:
    import numpy as np

    from adcli.codegen.builtins.direct import Quick

Short = Callable[[], ShortProgram | None]
"""The program with the steps that are taken of its loops, worked out when it is asked for."""
LOOP = 10
"""Calls after which a Function is made quick to call: it may take as long as a thousand calls, the first time in a process."""


CALLED = tuple(name for name, row in VERBS.items() if row.module is None)
"""The verbs that make a Function of a Function."""


def load(path: str | os.PathLike[str], *, exact_order: bool = False, precision: str = "double",
         checkpoint: bool = False, fast_math: bool = False) -> Function:
    """The Function of a program file, or of a function in a file of another language, `model.py:f`. AdError if it is no program,
    OSError if it cannot be read. With `exact_order` sums of products of tensors are taken as they are written, whatever they
    cost. `precision` is double or single: that of its code, of its derivatives and of the arrays that they give. With
    `checkpoint` loops keep few of their steps and compute the others again, in less memory and to the same bits. With
    `fast_math` code may fuse products with sums and multiply by reciprocals, and subnormal numbers count as 0 in it."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise AdError(f"the name of a file is a text, not {type(path).__name__}", help="write adcli.load('samples/worked.ad')")
    from adcli.readers.front import decoder, foreign, read
    asked = foreign(os.fsdecode(path), None)
    try:
        with open(path if asked is None else asked.path, "rb") as file:
            data = file.read()
    except ValueError as error:   # a byte 0, half a character
        raise AdError(f"no file can have this name: {error}") from None
    source = decoder(asked)(data, os.fsdecode(path) if asked is None else asked.path)
    return of_source(source if asked is None else read(source, asked), exact_order, precision, checkpoint, fast_math)


def of_source(source: Source, exact_order: bool, precision: str, checkpoint: bool, fast_math: bool) -> Function:
    """The Function of a text, with the options of `load`."""
    from adcli.lang.lower.frontend import parse_source
    program = parse_source(replace(source, exact_order=bool(exact_order), checkpoint=bool(checkpoint)))
    return Function(without_fixed(program) if source.origin else program,
                    precision=one_of("precision", precision, [*PRECISIONS]), fast_math=bool(fast_math))


def without_fixed(program: Program) -> Program:
    """The program with inputs that can have one value only, as a number of steps, as constants."""
    known: dict[Atom, Atom] = {p.var: Lit(p.low) for p in program.params
                              if p.low is not None and p.low == p.high and not p.var.shape}
    return replace(substitute(program, known), params=tuple([p for p in program.params if p.var not in known]))


def compile(program: Any, name: str = "<text>", *, exact_order: bool = False,
            precision: str = "double", checkpoint: bool = False, fast_math: bool = False) -> Function:
    """The Function of a program given as text, or as a Python function of numbers such as `lambda x, y: x*numpy.sin(y)`, whose
    outputs are called f, f2, … or by the keys of a dictionary, or as an expression of SymPy;
    `name` stands for the file in messages, `exact_order`, `precision`, `checkpoint` and `fast_math` are as for `load`."""
    from adcli.lang.syntax.scan import is_file_name, normal
    if type(program).__module__.partition(".")[0] == "sympy":
        from sympy import srepr

        from adcli.from_sympy.module import read
        source = read(Source(name, srepr(program)), None, {}, {})
        return of_source(source, exact_order, precision, checkpoint, fast_math)
    if callable(program):
        from adcli.api.recorded import written
        program = written(program)
    if not isinstance(program, str):
        load = f"adcli.load({os.fspath(program)!r})" if isinstance(program, os.PathLike) else None
        raise AdError(f"a program is a text or a function, not {type(program).__name__}",
                      help=f"write {load or 'adcli.compile(' + repr('v = x*sin(y)') + ')'}")
    if is_file_name(program):
        raise AdError(f"a program is a text, and {program!r} is the name of a file", help=f"write adcli.load({program!r})")
    return of_source(normal(program, name), exact_order, precision, checkpoint, fast_math)


def to_sympy(f: Function) -> Any:
    """The output of a Function of numbers as an expression of SymPy, or a dictionary of its outputs, as `--emit sympy` writes
    them. Decimal numbers are the rational ones that are written."""
    from adcli.codegen.scripts.symbolic import module
    try:
        import sympy  # noqa: F401
    except ImportError:
        raise missing("to_sympy", "sympy") from None
    built: dict[str, Any] = {}
    exec(module(f.program, "found"), built)
    found = built["found"]
    return found if len(found) > 1 else next(iter(found.values()))


@says_python
class Function(Inspection, Solving, Batching):
    """Outputs of a program as a function of its inputs, in native code.

    Where the program has tensors, they are arrays or nested lists of the declared shapes, and scalars are numbers.
    `f(x=2.0, y=5.0)` gives a dictionary with a float for each output; with arrays (anything NumPy broadcasts) it gives float64
    arrays of the common shape, or float32 arrays where its precision is single. `f(2.0, 5.0)`, in the order of `inputs`, and
    `f({"x": 2.0, "y": 5.0})` are the same; a data frame gives its columns of these names. Inputs with a default may be
    left out. `out=` takes an earlier result and computes into its arrays; `jobs=` is the number of threads (default: one for
    each processor where the work is worth it), on which no bit of a result depends.
    """

    __slots__ = ("__weakref__", "_arrays", "_calls", "_fast", "_inputs", "_kernel", "_matrix", "_numbers",
                 "_origin", "_outputs", "_precision", "_program", "_short", "_solvers", "_status", "_tensors")

    def __init__(self, program: Program, matrix: MatrixColumns | None = None, origin: Origin | None = None,
                 precision: str = "double", fast_math: bool = False,
                 short: Short | None = None) -> None:
        self._program = program
        self._short = short and functools.cache(short)   # of a derivative, or a status
        self._fast = fast_math
        self._precision = sys.intern(precision)   # once in a pickle, also of a Function that comes out of one
        self._matrix = matrix
        self._origin = origin
        self._status: Function | None = None
        self._inputs = tuple([sys.intern(p.name) for p in program.params])   # builtins look names up by where they are
        self._outputs = tuple(r.name for r in program.results)
        self._kernel: Any = None
        self._calls = 0
        self._numbers: Quick | None = None
        self._arrays: Quick | None = None
        self._solvers: dict[Any, Any] = {}   # of solvers: Jacobians by outputs and parameters, the sweeps of its matrix
        self._tensors = has_tensors(program)

    @property
    def program(self) -> Program:
        return self._program

    @property
    def precision(self) -> str:
        """double or single."""
        return self._precision

    @property
    def fast_math(self) -> bool:
        """True if its code may fuse and reciprocate, and flushes subnormal numbers to 0."""
        return self._fast

    @property
    def matrix(self) -> MatrixColumns | None:
        """For a Jacobian or a Hessian its name and columns."""
        return self._matrix

    @property
    def inputs(self) -> tuple[str, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        return self._outputs

    def __repr__(self) -> str:
        if not self._tensors:
            return f"<adcli.Function ({_some(self.inputs)}) -> ({_some(self.outputs)})>"
        from adcli.task.shapes import result_shape, shaped
        inputs = [shaped(p.name, p.var) for p in self._program.params]
        return f"<adcli.Function ({_some(inputs)}) -> ({_some([result_shape(r.name, r.atom) for r in self._program.results])})>"

    # -- derivatives

    def grad(self, wrt: OneOrMore = None, of: OneOrMore = None, mode: str = "auto", order: int = 1) -> Function:
        """The outputs and their partial derivatives, named dv_dx (d2v_dx_dy, … up to `order`).

        `wrt` names inputs (default: all that are not `param`), `of` outputs (default: all) or single partial derivatives, as
        'v:x,x,y'; `mode` is auto, forward or reverse.
        """
        return self.derive("grad", wrt, of, mode=word("mode", mode), order=order)

    def jacobian(self, wrt: OneOrMore = None, of: OneOrMore = None, mode: str = "auto", zeros: bool | None = None) -> Function:
        """The outputs and the Jacobian, every entry an output of its own, named dv_dx; `sparse` gives the matrix. For tensors
        the dimensions of the output come first, then those of the input.

        `zeros` says whether entries that are zero by construction are outputs too (default: unless they are half of more
        than 100); without them the entries of tensors are three vectors: value, row and column.
        """
        return self.derive("jacobian", wrt, of, mode=word("mode", mode), zeros=zeros if zeros is None else truth("zeros", zeros))

    def hessian(self, wrt: OneOrMore = None, of: OneOrMore = None, mode: str = "auto", zeros: bool | None = None) -> Function:
        """One output, its gradient and its Hessian: d2v_dx_dy, entries on and above the diagonal; `sparse` gives the matrix.
        For tensors the dimensions of x come first, then those of y, and all elements are there unless `zeros` is False: then
        entries are three vectors, as those of a Jacobian."""
        return self.derive("hessian", wrt, of, mode=word("mode", mode), zeros=zeros if zeros is None else truth("zeros", zeros))

    def hvp(self, wrt: OneOrMore = None, of: OneOrMore = None) -> Function:
        """One output and the product hvp_x of its Hessian with a direction: a further input dx for every x in `wrt`."""
        return self.derive("hvp", wrt, of)

    def taylor(self, order: int, wrt: OneOrMore = None, of: OneOrMore = None, scaled: bool = False) -> Function:
        """The Taylor coefficients v_0, v_1, … of the outputs along a direction, with a further input dx for every x in `wrt`;
        `scaled` makes them derivatives."""
        return self.derive("taylor", wrt, of, order=order, scaled=truth("scaled", scaled))

    def jvp(self, wrt: OneOrMore = None, of: OneOrMore = None) -> Function:
        """The outputs in `of` and their tangents dv, with a further input dx for every x in `wrt`: forward mode."""
        return self.derive("jvp", wrt, of)

    def vjp(self, wrt: OneOrMore = None, of: OneOrMore = None) -> Function:
        """The outputs in `of` and the adjoints d_dx of the inputs in `wrt`, with a further input d_dv for every output v:
        reverse mode."""
        return self.derive("vjp", wrt, of)

    def only(self, of: OneOrMore) -> Function:
        """Function with the outputs in `of` alone, derivatives too: f.grad().only("dv_dx")."""
        from adcli.lang.simplify.simplify import prune
        return self._changed(lambda made: prune(chosen(made.program, names(of))), self._origin, self._short)

    def derive(self, verb: str, wrt: OneOrMore = None, of: OneOrMore = None, **options: Any) -> Function:
        """Apply a verb of the table of verbs to the program, with the options of a request; also called by its name."""
        row = VERBS[one_of("verb", verb, CALLED)]
        listed = options.get("zeros") is False
        request = Request(verb, NO_TEXT, names(of), names(wrt), listed=listed, **options)
        made = derived(request, self._program)
        matrix = row.matrix and (row.matrix, tuple(made.wrt))

        def short() -> ShortProgram | None:
            before = self._short() if self._short else short_program(made.primal)
            return before and before.derived(request)

        return Function(made.program, matrix, Origin(made.primal, made.wrt), self._precision, self._fast, short)

    def __getattr__(self, name: str) -> Any:
        """A verb that was added to the table."""
        if name in CALLED:
            return functools.partial(self.derive, name)
        raise AttributeError(f"'Function' object has no attribute '{name}'", name=name, obj=self)

    def _with_levels(self) -> Function:
        """Function with the number of its status as one more result."""
        return self._changed(lambda made: _with_levels(made.program, Origin(made.primal, made.wrt)), None,
                             self._short or (lambda: short_program(self._program)))

    def _changed(self, change: Callable[[DerivedProgram], Program], origin: Origin | None, before: Short | None) -> Function:
        """Function of what a change makes of its program, and of the one `before` with the steps that are taken."""
        primal, wrt = self._origin or (self._program, [])
        made = change(DerivedProgram(primal, self._program, wrt))

        def short() -> ShortProgram | None:
            found = before() if before else None
            return found and replace(found, worked=replace(found.worked, program=change(found.worked)))

        return Function(made, None, origin, self._precision, self._fast, before and short)

    # -- values

    def __call__(self, at: Any = None, /, *more: Any, out: Mapping[str, np.ndarray] | None = None,
                 jobs: int | None = None, **values: Any) -> dict[str, Any]:
        if at is None and not more:
            given: Values = values
        elif type(at) is dict and not (more or values):
            given = at
        elif type(at) is float and not values and len(more) < len(self._inputs):
            given = dict(zip(self._inputs, (at, *more))) if more else {self._inputs[0]: at}   # noqa: B905  # three times as fast
        else:
            given = together(in_order(self._program.params, (at, *more), values), values)
        if (quick := self._numbers) is not None and out is None and (jobs is None or (type(jobs) is int and jobs > 0)) \
                and (found := quick(given)) is not None:
            return found
        if (quick := self._arrays) is not None and (found := quick(given, out, jobs)) is not None:
            return found
        return self._called(given, out, jobs)

    def _called(self, given: Values, out: Mapping[str, np.ndarray] | None, jobs: int | None) -> dict[str, Any]:
        """General call, which also prepares the fast one."""
        if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
            raise AdError(f"jobs must be a whole number from 1, not {jobs!r}",
                          help="for an input called jobs, write f({'jobs': 2.0})")
        if out is not None:
            from adcli.answers.array_calls import refuse_unnamed
            refuse_unnamed(out)
        columns = self._columns(given)
        self._calls += 1
        if self._tensors:
            from adcli.answers.array_calls import on_tensors
            from adcli.codegen.modules.direct_tensors import direct_tensors
            tensors = on_tensors(self._made(), self._program, columns, out, jobs)
            if self._calls >= LOOP:   # of the shapes that came now
                self._calls = 0
                self._numbers, self._arrays = direct_tensors(self._made(), self._program, columns)
            return tensors
        if out is None and all(type(c) in (float, int) for c in columns):
            numbers = [[self._number(p.name, c)] for p, c in zip(self._program.params, columns, strict=True)]
            results = run(self.kernel(), numbers, rows=1)
            if self._calls >= LOOP and self._numbers is None:
                self._numbers, _ = self._direct()
            return {name: r[0] for name, r in zip(self.outputs, results, strict=True)}
        from adcli.answers.array_calls import direct_arrays, on_arrays
        found = on_arrays(self.kernel(), self.inputs, self.outputs, columns, out, jobs)
        single = all(type(x) is float for x in found.values())   # of NumPy's numbers
        if self._calls >= LOOP and (self._arrays is None or (single and self._numbers is None)):
            of_numbers, of_columns = self._direct()
            self._arrays = direct_arrays(of_columns, self.inputs, self.outputs, self._defaults(), self.kernel().entry.code)
            if single:
                self._numbers = of_numbers
        return found

    def _number(self, name: str, value: float) -> float:
        """A number as a float. AdError where it is too large for the precision."""
        with contextlib.suppress(OverflowError):
            if PRECISIONS[self._precision].holds(found := float(value)):
                return found
        raise AdError(f"input '{name}' is too large for {self._precision} precision")

    def _direct(self) -> tuple[Quick, Quick]:
        """The kernel as builtin functions of numbers and of arrays by name."""
        from adcli.codegen.builtins.direct import by_name
        return by_name(self.kernel(), self.inputs, self.outputs, self._defaults(), len(self._program.equations))

    def _defaults(self) -> dict[str, float]:
        return {p.name: p.default for p in self._program.params if p.default is not None}

    def status(self, at: Values | None = None, /, **values: Any) -> Any:
        """Status of the results at a point: smooth, kink, jump, singular, pole, domain or indeterminate, as --status shows it;
        for arrays an array of these words."""
        if self._status is None:
            whole = self._with_levels()
            self._status = whole.only(whole.outputs[-1])
        (level,) = self._status(together(at, values)).values()
        if isinstance(level, float):
            return LEVELS[int(level)]
        import numpy as np
        return np.array(LEVELS)[level.astype(np.intp)]

    def _columns(self, given: Values) -> list[Any]:
        """The value of every input in order."""
        if len(given) == len(self.inputs):
            try:
                return [given[name] for name in self.inputs]
            except KeyError:
                pass
        return list(complete(self._program.params, given).values())

    def kernel(self) -> Kernel:
        """The native code of a program of scalars, compiled at the first call."""
        if self._tensors:
            from adcli.lang.operations.elementwise import needs_scalars
            raise needs_scalars(self._program, "kernel()", "call the Function itself: it takes and gives arrays")
        kernel: Kernel = self._made()
        return kernel

    def _made(self) -> Any:
        """The native code of the program: a Kernel, or a TensorKernel where it has tensors."""
        if self._kernel is None:
            with COMPILING:   # what is imported meanwhile is imported as a whole, too, when this process forks
                if self._kernel is None:
                    self._kernel = self._code()
        return self._kernel

    def _code(self) -> Any:
        """The code of the program, with the steps that are taken of loops that end early where that has a use."""
        code = functools.partial(compiled, precision=self._precision, fast=self._fast)
        short = (self._short or (lambda: short_program(self._program)))()
        if short is None or not (self._short or short.counted.matrices):
            return code(self._program)
        return with_steps(short.counted, self._program, short.worked.program, code)

    # -- travel

    def __copy__(self, memo: object = None) -> Function:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self._program, self._matrix, self._origin, self._precision, self._fast)


def _row(name: str) -> Primitive:
    return TABLE[name]


copyreg.pickle(Primitive, lambda row: (_row, (row.name,)))   # what is derived from a row is pickled whole


def _with_levels(program: Program, origin: Origin) -> Program:
    """A program with the status of its results, as a number, for one more."""
    from adcli.lang.passes.status import with_status
    from adcli.lang.simplify.simplify import simplify
    return simplify(with_status(program, *origin))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:5])}, … {len(names)} in all"
