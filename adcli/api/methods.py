"""Methods of a Function beyond derivatives and calls: texts, pictures, tables and verdicts; solutions and fits; batches.

The methods take the options of the verbs by the same names, and a point as a call takes it: by name, or in a dictionary where an
input has the name of an option. Nothing is imported before a method is called.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.api.words import OneOrMore, names, need_arrow, one_of, plain, says_python, together, truth, unused, whole, word
from adcli.lang.ir import Values
from adcli.lang.ir.errors import AdError, plural, worded
from adcli.lang.printing.printer import STYLES
from adcli.task.verbs import MatrixKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.optimize import OptimizeResult

    from adcli.api.densities import LogDensity
    from adcli.api.scientific import Solver
    from adcli.api.view import PictureView, View
    from adcli.batches.batch_function import ArrayFunction, BatchFunction
    from adcli.batches.batch_sums import BatchSums
    from adcli.codegen.machine.kernel import Kernel
    from adcli.lang.ir import Program
    from adcli.solvers.vector_function import SparseMatrix

MatrixColumns = tuple[MatrixKind, tuple[str, ...]]
"""Kind of the matrix that a Function computes, and the inputs that are its columns."""


class Origin(NamedTuple):
    """Of a derivative: the program that it is of, and the inputs that it was taken by."""

    primal: Program
    wrt: list[str]


@says_python
class Inspection:
    """The methods of a Function that say something of it."""

    __slots__ = ()
    if TYPE_CHECKING:
        _program: Program
        _precision: str
        _fast: bool

    def _looked(self, of: OneOrMore, wrt: OneOrMore = None) -> tuple[Program, list[str] | None, list[str] | None]:
        """The program as any other, and the names of outputs and inputs that are looked at."""
        return plain(self._program), names(of), names(wrt)

    def trace(self, at: Values | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None,
              tangent: str | Values | None = None, cotangent: str | Values | None = None,
              names: str = "program", element: str | None = None, **values: Any) -> View:
        """The evaluation table of the textbooks at a point, as `adcli trace` has it: every line with its value, with its tangent
        along a direction such as {"x": 1}, and with the adjoints for weights of the outputs; `names` is textbook or program. Of a
        program with tensors every statement is a line, or with an `element` such as "h(:, 0)" every operation behind it."""
        from adcli.api.verbs import direction, given_point, heard
        from adcli.api.view import View
        from adcli.task.request import NO_TEXT, Request
        from adcli.trace.at_points import Tables, TraceOptions, prepared
        from adcli.trace.tables import RENDERERS
        naming = one_of("names", names, ("textbook", "program"))
        if element is not None:
            word("element", element)
        program, outputs, inputs = self._looked(of, wrt)
        request = Request("eval", program.source or NO_TEXT, outputs, inputs, precision=self._precision)
        options = TraceOptions(verb="trace", tangent=None, cotangent=None, naming=naming, fmt=None, element=element,
                               precision=self._precision)
        said: list[str] = []
        tasks = prepared(request, direction("tangent", tangent), direction("cotangent", cotangent), program)
        tables = Tables(tasks, options, heard(said))
        for reporter in tables.reporters[:1]:
            reporter.begin()
        ((writer, point, level),) = tables.all([given_point(tables.primal, together(at, values), said)])
        text = "".join(tables.lines(writer, point, False, 0))
        markup = "".join(part for table in tables.tables(writer) for part in RENDERERS["html"](table))
        return View("trace", tables.record(writer, point, level), text, markup, tuple(said))

    def check(self, at: Values | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None,
              samples: int | None = None, seed: int = 0, digits: int = 19, against: str | None = None, symbol: str | None = None,
              returns: str | None = None, time_limit: int | None = None, plot: bool = False, all: bool = False,
              **values: Any) -> View:
        """The derivatives compared with methods that get them in other ways, as `adcli check` does: at a point, at several where
        arrays are given, or at drawn `samples` (10). "verdict" is ok, FAIL or nothing compared; "methods" has the figures.

        `against` names somebody's function or command, which is run: "model.py:grad", "./libmodel.so" or a command of the shell,
        within `time_limit` seconds (60). With `plot` there is also a picture of the remainders of Taylor's expansion. Where there
        are many entries, some are drawn; with `all` every one is looked at. Of a Function of single precision its code is
        looked at beside that in doubles, at points of such numbers.
        """
        from adcli.api.verbs import checked_points, heard
        from adcli.api.view import View, beside
        from adcli.check import points as checks
        from adcli.check.report import html_report, picture, record, text_report
        point, plotted, everything = together(at, values), truth("plot", plot), truth("all", all)
        for what, given in (("against", against), ("symbol", symbol), ("returns", returns)):
            if given is not None:
                word(what, given)
        if against is None:
            unused({"symbol": symbol, "returns": returns, "time_limit": time_limit}, "says more of against, which is not given")
        if returns is not None:
            one_of("returns", returns, checks.RETURNS)
        if point:
            unused({"samples": samples}, "and a point cannot be used together", "leave out one of the two")
        options = checks.CheckOptions(
            verb="check", samples=whole("samples", checks.SAMPLES if samples is None else samples, 1, checks.MOST_POINTS),
            seed=whole("seed", seed, 0, 1 << 53), digits=whole("digits", digits, 17, 100),
            time_limit=whole("time_limit", checks.TIME_LIMIT if time_limit is None else time_limit, 1, checks.MOST_SECONDS),
            against=against, symbol=symbol, returns=returns, everything=everything, precision=self._precision)
        primal, inputs = checks.differentiated(*self._looked(of, wrt))
        check, said = checks.check_of(primal, inputs, options), list[str]()
        places, summary = checks.usable_points(check, checked_points(primal, point, check.scalars, heard(said))) \
            if point else checks.drawn_points(check, options.samples, options.seed)
        checks.run(check, places, heard(said))
        told = View("check", record(check, summary, float), text_report(check, summary), html_report(check, summary), tuple(said))
        return beside(told, picture(check)) if plotted else told

    def why(self, at: Values | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None, mode: str = "reverse",
            order: int = 1, limit: bool = False, **values: Any) -> View:
        """Cause of a NaN, an infinity or an exact zero in the values and derivatives at a point, and what would help, as
        `adcli why` says it; `limit` looks for limits of these numbers along each input."""
        import numpy as np

        from adcli.answers.evaluation import rounded_point
        from adcli.api.verbs import given_point
        from adcli.api.view import View
        from adcli.lang.operations.precision import PRECISIONS
        from adcli.output import html
        from adcli.output.tensors import point_lists
        from adcli.task.derive import looked_at
        from adcli.why.command import SWEEPS, WhyAt, groups, nothing, paragraphs, record
        forward, real = one_of("mode", mode, SWEEPS) == "forward", PRECISIONS[self._precision]
        primal, inputs = looked_at(*self._looked(of, wrt))
        said = [str(note) for note in primal.notes]
        point = rounded_point(given_point(primal, together(at, values), said), real)
        question = WhyAt(primal, inputs, forward, whole("order", order, 1, 2), truth("limit", limit), real)
        found = groups(question, point)
        told, shown = (paragraphs(found), html.preformatted) if found else ([nothing(question)], html.paragraph)
        data = {"at": point_lists(point, lambda x: np.asarray(x).tolist()), "why": [record(g, float) for g in found]}
        return View("why", data, "\n\n".join(told), "".join(map(shown, told)), tuple(said))

    def propagate(self, at: Values | None = None, /, *, of: OneOrMore = None,
                  correlation: str | Mapping[tuple[str, str], float] | None = None,
                  covariance: str | Values | None = None, second_order: bool = False,
                  monte_carlo: int | str | None = None, seed: int | None = None,
                  coverage: float | str | None = None, shortest: bool = False, jobs: int | None = None,
                  plot: bool = False, **values: Any) -> View:
        """Standard uncertainties of inputs in, those of outputs out, as `adcli propagate` has them at a point.

        An input is a number, a pair of an estimate and its standard uncertainty, a text as the shell takes it ("2±0.1~rect",
        "2.0(1)", "5±2%", "@values.csv:x"), or an array of values that it takes, of which those of one length belong together row
        by row. A tensor is an array, a pair of it and its standard uncertainties, or a text ("[1,2]±0.1"); `covariance` has
        matrices of the elements of tensors: {"x": C}. "u" has the uncertainties, "share" those of the inputs in the variances.
        With `plot` there is also a picture of the sampled distribution and that of the linear model.
        """
        from adcli.api.verbs import covariance_texts, heard, pairs, sample_count, uncertain_point
        from adcli.api.view import View, beside
        from adcli.output.numbers import shortest as shortest_number
        from adcli.propagate.budget_tables import tables
        from adcli.propagate.budgets import record, rounded, text
        from adcli.propagate.prepare import PropagateOptions, coefficients, prepared_budgets
        from adcli.task.request import NO_TEXT
        program, outputs, _ = self._looked(of)
        given, narrow, plotted = together(at, values), truth("shortest", shortest), truth("plot", plot)
        options = PropagateOptions(
            verb="propagate", form="markdown", of=None if outputs is None else ",".join(outputs),
            second_order=truth("second_order", second_order),
            monte_carlo=sample_count(monte_carlo, {"shortest": narrow or None, "seed": seed, "jobs": jobs}),
            seed=whole("seed", 0 if seed is None else seed, 0, 2**63 - 1),
            coverage=None if coverage is None else str(coverage), shortest=narrow, covariance=covariance_texts(covariance),
            jobs=None if jobs is None else whole("jobs", jobs, 1, 256))
        point, said = uncertain_point(program, given, options), list[str]()
        writer = prepared_budgets(program.source or NO_TEXT, [point], coefficients(pairs(correlation)), options.sampling, options,
                                  program, heard(said))
        if plotted:
            from adcli.propagate.pictured import keep_samples, picture_of
            keep_samples(writer)
        budgets = writer.all()
        budget = next(budgets)
        if next(budgets, None) is not None:
            raise AdError("propagate is of one point", help="call it for each value of a range")
        markup = "".join(tables("html", [budget], None, rounded, False))
        told = View("propagate", record(budget, float), "".join(text([budget], shortest_number, False)), markup, tuple(said))
        return beside(told, picture_of(writer, budget)) if plotted else told

    def draw(self, at: Values | None = None, /, *, stage: str = "ssa", of: OneOrMore = None, wrt: OneOrMore = None,
             tangent: str | Values | None = None, cotangent: str | Values | None = None,
             fold: OneOrMore = "auto", **values: Any) -> PictureView:
        """The program as a graph, as `adcli draw` has it, at a stage: ssa, dup, forward, reverse or simplified. At a point every
        node has its value and its adjoint; `fold` says whose calls are one node: auto, all, none, or names of functions.

        A notebook shows the picture; `save("g.svg")` writes it.
        """
        from dataclasses import asdict

        from adcli.api.verbs import given_point, seeds
        from adcli.api.view import in_characters
        from adcli.draw.drawing import DERIVED, DrawnPoint, graph, without_adjoints
        word("stage", stage)
        program, outputs, inputs = self._looked(of, wrt)
        point, given, said = together(at, values), {"tangent": tangent, "cotangent": cotangent}, list[str]()
        if not point:
            unused(given, "needs a point")
            unused({"wrt": None if stage in DERIVED else inputs}, "needs a point, or stage forward or reverse")
        if stage in DERIVED:
            unused({kind: x for kind, x in given.items() if kind != DERIVED[stage]}, f"is no seed of stage {stage}")
        folded = names(fold) or ["auto"]
        located = DrawnPoint(given_point(program, point, said), seeds("tangent", tangent), seeds("cotangent", cotangent)) \
            if point else None
        drawing = graph(program, stage, located, of=outputs, wrt=inputs, fold=folded[0] if len(folded) == 1 else folded)
        if point and cotangent is None and (note := without_adjoints(program, stage, outputs)):
            said.append(worded(note))
        nodes, edges = drawing.graph.nodes, drawing.graph.edges
        data = {"stage": stage, "nodes": [asdict(node) for node in nodes], "edges": [asdict(edge) for edge in edges],
                "dot": drawing.dot}
        caption = f"graph at stage {stage}: {plural(len(nodes), 'node')}, {plural(len(edges), 'edge')}"
        return in_characters("draw", data, drawing.text, tuple(said), drawing.picture, caption)

    def plot(self, at: Values | None = None, /, *, of: OneOrMore = None, derivatives: int = 1,
             points: int | None = None, logx: bool = False, logy: bool = False, against: str | None = None,
             right: OneOrMore = None, data: Any = None, title: str | None = None, size: str | None = None, theme: str = "light",
             **values: Any) -> PictureView:
        """Outputs and derivatives against an input that is given a range, x=(-3, 3), or a map over two, as `adcli plot` draws
        them: with kinks, jumps and poles as they are; `logx` and `logy` make axes of curves logarithmic, `against` an output
        makes them parametric, outputs at the `right` have an axis of their own. `data` has columns, drawn as points. "rows" are
        the numbers; `save("f.svg")` writes the picture, of this `size` ("16x10cm") and `theme`."""
        from adcli.api.verbs import extent, heard, plot_data
        from adcli.api.view import picture_view
        from adcli.pictures.files import THEMES
        from adcli.pictures.picture import size_of
        from adcli.plot.plots import Wanted, picture
        from adcli.plot.setting import HIGHEST
        program, outputs, _ = self._looked(of)
        ranges, said = {name: extent(name, x) for name, x in together(at, values).items()}, [str(n) for n in program.notes]
        count = None if points is None else whole("points", points, 2, 100_000)
        asked = Wanted(outputs, whole("derivatives", derivatives, 0, HIGHEST), against, names(right) or ())
        found = picture(program, ranges, asked, count, heard(said), logx=truth("logx", logx), logy=truth("logy", logy),
                        read=None if data is None else plot_data(data))
        found = replace(found, size=None if size is None else size_of(size), theme=one_of("theme", theme, tuple(THEMES)),
                        title=found.title if title is None else title)
        return picture_view("plot", found, tuple(said))

    def text(self, style: str = "nested") -> str:
        """The program as .ad text that reads back to an equal program; style nested, anf or prefix. The style math is for
        reading: equal inside of the domain."""
        from adcli.codegen.emission import EmitOptions, text
        return text(self._program, (), EmitOptions(one_of("style", style, (*STYLES, "math"))))

    def llvm(self, lanes: int = 1) -> str:
        """The program as verified LLVM IR, `lanes` rows at a time: 1, 2, 4 or 8. A program with tensors is one function of
        arrays, with so many elements in a vector."""
        from adcli.codegen.emission import EmitOptions
        from adcli.codegen.library.code import ir
        from adcli.codegen.targets import LANES
        if type(lanes) is not int:
            raise AdError(f"lanes is a whole number, not {type(lanes).__name__}", help="lanes are 1, 2, 4 or 8")
        if lanes not in LANES:
            raise AdError(f"{lanes} lanes are not supported", help="lanes are 1, 2, 4 or 8")
        return ir(self._program, [], EmitOptions(lanes=lanes, fast=self._fast, precision=self._precision))

    def _repr_html_(self) -> str:
        from adcli.api.view import function_html
        return function_html(self._program)

    def _repr_latex_(self) -> str | None:
        from adcli.api.view import function_latex
        return function_latex(self._program)


@says_python
class Solving:
    """The methods of a Function that solve, minimize and fit, and its functions for SciPy."""

    __slots__ = ()
    if TYPE_CHECKING:
        _program: Program
        _precision: str
        _fast: bool
        _tensors: bool
        _matrix: MatrixColumns | None
        _origin: Origin | None
        _solvers: dict[Any, Any]

        def __call__(self, at: Any, /, **values: Any) -> dict[str, Any]: ...

    def sparse(self, at: Values | None = None, /, **values: Any) -> Any:
        """The matrix of a Jacobian or Hessian at one point, as a scipy.sparse array (the extra `scipy`) of float64, or of
        float32 where the precision is single. For tensors its rows and columns are the elements of the outputs and inputs, one
        tensor after another, in the order of memory."""
        if self._matrix is None:
            raise AdError("only a Jacobian or a Hessian is a matrix", help="write f.jacobian().sparse(…)")
        if self._tensors and self._origin is not None:
            from adcli.api.scientific import whole_point
            return self._matrix_at(*self._matrix, self._origin).at(whole_point(self._program, together(at, values)))
        from adcli.api.scientific import sparse
        return sparse(self._program, *self._matrix, list(self(at, **values).values()), self._precision)

    def _matrix_at(self, kind: MatrixKind, wrt: Sequence[str], origin: Origin) -> SparseMatrix:
        """The sweeps that the matrix of a program with tensors is read from."""
        if "matrix" not in self._solvers:
            from adcli.solvers.vector_function import SparseMatrix
            self._solvers["matrix"] = SparseMatrix(origin.primal, kind, wrt, self._precision, self._fast)
        found: SparseMatrix = self._solvers["matrix"]
        return found

    def _posed(self, verb: str, words: tuple[Any, ...], stated: Callable[..., Any], point: Values) -> Any:
        """A problem stated in these words, with the code of the one before if that was, too."""
        before, found = self._solvers.get(verb, (None, None))
        made = stated(self._program, *words, point, found if before == words else None)
        self._solvers[verb] = words, made
        return made

    def scipy(self, order: OneOrMore = None, of: OneOrMore = None, start: Values | None = None,
              **fixed: Any) -> Solver:
        """(fun, jac, hess) of one vector, as scipy.optimize wants them.

        The vector has the inputs in `order` (default: all that are not `param` and not `fixed`), tensors raveled; the others
        keep their defaults, or the values given here. For one output, fun is a float, jac a vector and hess a matrix. For
        several, fun is a vector and jac a matrix, and hess(x, v) is the sum of the outputs' Hessians with weights v. Matrices
        with many entries that are zero by construction are scipy.sparse arrays, which the methods trust-constr and Newton-CG
        take; for trust-exact, trust-ncg and the like write `hess=lambda x: hess(x).toarray()`. A full Hessian by more
        than 300 elements of tensors is a LinearOperator; `hessp(x, p)` is its product with p.

        `start` has values of the inputs in the vector, from which tensors have their shapes: x0 is their vector, `pack` makes
        one of other values, and `unpack` the values of a vector. What it has of other inputs fixes them.

        The functions compute in double precision, as SciPy's solvers do, also where the precision of this Function is single.
        """
        from adcli.api.scientific import solver
        return solver(self._program, names(order), names(of), start, fixed)

    def logdensity(self, of: OneOrMore = None, start: Values | None = None, **data: Any) -> LogDensity:
        """The output as the logarithm of a density of the inputs that are neither given here nor `param`, for samplers.

        `d = f.logdensity(y=y)` is a function of one vector u without bounds: `d(u)` is the value and the gradient, `d.value(u)`
        the value alone. An input with a declared range is a function of its component, exp or a logistic function, whose log
        derivative is in the value. `names`, `dim` and `start` are of the vector; `unpack(u)` has the inputs of one vector or of
        arrays of draws, `pack` a vector of inputs. Tensors have their shapes from the data, or from `start`.
        """
        from adcli.api.densities import log_density
        return log_density(type(self), self._program, names(of), start, data)

    def minimize(self, at: Values | None = None, /, *, wrt: OneOrMore = None, of: OneOrMore = None,
                 subject_to: str | Sequence[str] = (), maximize: bool = False, solver: str = "auto", **values: Any) -> Any:
        """Minimize an output from this point: the inputs in `wrt` (default: all but params) are moved within their
        declared ranges, under conditions such as 'g <= 0' or '0 <= x + y <= 2'.

        A scipy.optimize.OptimizeResult, in which success says whether the point was shown to be a minimum by exact derivatives
        (or with more than 1000 inputs to be stationary), and message what was found; `at` is the point by name, `multipliers`
        belong to the `conditions`, `held` has the inputs at bounds with theirs, and `why` what would explain a failure.
        """
        from adcli.api.scientific import conditions, whole_point
        from adcli.lang.ir.errors import unknown
        from adcli.solvers import minimize as solvers
        from adcli.solvers.minimize_report import Report
        if word("solver", solver) != "auto" and solver not in solvers.SOLVERS:
            raise unknown("solver", solver, ["auto", *solvers.SOLVERS])
        words = names(wrt), names(of), conditions(subject_to), truth("maximize", maximize)
        point = whole_point(self._program, together(at, values))
        problem = self._posed("minimize", words, solvers.stated, point)
        optimum = solvers.minimize(problem, solver)
        from scipy.optimize import OptimizeResult
        told, found, counts = Report(problem, optimum, [optimum]), optimum.found, optimum.evaluations
        return OptimizeResult(
            x=found.x, fun=found.f, jac=found.residual, success=told.shown, status=0 if told.shown else 1,
            message=told.sentence(), nit=optimum.iterations, nfev=counts.get("values", 0), njev=counts.get("gradients", 0),
            nhev=counts.get("hessians", 0), at=told.at, verdict=told.verdict, names=problem.function.components,
            maxcv=told.violation, multipliers=[m for *_, m in told.conditions()], conditions=list(problem.conditions),
            held=[(n, m) for n, _, m in told.held()], solver=optimum.solver, why=[str(line) for line in told.reasons()])

    def solve(self, at: Values | None = None, /, *, wrt: OneOrMore = None, of: OneOrMore = None,
              equations: str | Sequence[str] = (), **values: Any) -> Any:
        """Solve equations such as 'g == 1', or the outputs in `of` (default: all) equal to zero, from this point: the unknowns
        are the inputs in `wrt` (default: all but params). More equations than unknowns are solved by least squares.

        A scipy.optimize.OptimizeResult: x, fun and jac are the unknowns, the residuals and the Jacobian there, `at` is the point
        by name, `sensitivity` has dx_da for each unknown and each other input, by the implicit function theorem, `condition` is
        the condition number, and success says whether there is a solution (or a least sum of squares) at which the Jacobian is
        regular; `why` is what would explain a failure.
        """
        from adcli.api.scientific import conditions, whole_point
        from adcli.solvers import solve as solvers
        from adcli.solvers.solve_report import SolveReport
        point = whole_point(self._program, together(at, values))
        words = names(wrt), names(of), conditions(equations)
        found = solvers.solve(self._posed("solve", words, solvers.stated, point))
        told = SolveReport(found)
        from scipy.optimize import OptimizeResult
        return OptimizeResult(
            x=found.x, fun=found.residual, jac=found.jacobian, success=told.shown, status=0 if told.shown else 1,
            message=told.sentence(), nfev=found.evaluations, at=told.at, verdict=told.verdict,
            names=found.system.function.components, sensitivity=told.derived() or None, condition=found.condition,
            solver=found.solver, why=list(told.reasons()))

    def fit(self, data: Any = None, y: Any = "y", sigma: Any = None, params: Any = None, *, of: OneOrMore = None,
            at: Values | None = None, weights: Any = None, absolute_sigma: bool | None = None, loss: str = "linear",
            f_scale: float = 1.0, evaluations: int = 1000, jobs: int | None = None, plot: bool = False,
            uncertainties: OneOrMore = None, predict: Any = None, coverage: float = 0.95,
            prior: str | Sequence[str] = (), interval: str | None = None) -> OptimizeResult:
        """Parameters by nonlinear least squares, with the exact Jacobian (the extra `scipy`).

        `data` has columns by name: a mapping of arrays, or a frame of pandas or polars. `y` is what the output is compared
        with, a column, an array or a number, or a dictionary of these by output (default: the column y, or that of the output's
        name); `sigma` its standard uncertainty likewise.
        `params` are the parameters: {"b1": 500.0, "b2": (1e-4, 0, 1)} with starts and bounds, names, or a text such as
        "b1=500, b2=1e-4 in [0, 1]"; default: every `param` of the program. Other inputs are columns, or fixed by `at`; a column
        of tensors has one more dimension than its input, or is a list of arrays. `uncertainties` are the parameters that get
        standard uncertainties, "all" or names (default: all, where there are at most 1000 numbers). `predict` has the inputs of
        other rows, as `data` has them: the result has the outputs there as predicted, with standard errors and bands.
        `loss` may be an expression, `weights` too, and `prior` log densities of parameters, as `adcli help fits` has them.
        `interval`, "t" or "profile", gives intervals, by parameter.
        The result is SciPy's OptimizeResult with further members: params, uncertainties, covariance, correlation, chi2, dof,
        residual_sd, undetermined, held, reported (the parameters that covariance is of), and with `plot` the picture of data,
        curve and residuals as plot.
        """
        from adcli.api.fitting import FitRequest, fit
        request = FitRequest(data, y, sigma, params, names(of), together(at, {}), weights, absolute_sigma, loss, f_scale,
                             evaluations, jobs, truth("plot", plot), names(uncertainties), predict, coverage,
                             (prior,) if isinstance(prior, str) else tuple(prior), interval)
        return fit(self._program, self._solvers, request)


@says_python
class Batching:
    """The methods of a Function for batches of Arrow."""

    __slots__ = ()
    if TYPE_CHECKING:
        @property
        def program(self) -> Program: ...
        @property
        def outputs(self) -> tuple[str, ...]: ...
        def _with_levels(self) -> ArrayFunction: ...
        def kernel(self) -> Kernel: ...
        def __call__(self, at: Any, /, *, jobs: int | None) -> dict[str, Any]: ...

    def arrow(self, fixed: Values | None = None, /, *, only: bool = False, on_error: str = "stop",
              missing: str = "error", status: bool = False, jobs: int | None = 1, **values: Any) -> BatchFunction:
        """Function from a pyarrow.RecordBatch (or Table, or reader) to a RecordBatch, for engines of large tables; with the extra
        `arrow`.

        Inputs are columns by name, of any type of numbers, or of lists where they are tensors; or they are fixed here, as
        `f.arrow(k=3.0)`. The result has the columns of the batch (without them where `only`) and a column for each output, a list
        for a tensor. `on_error` says what a bad row does: stop, skip it, give null, or mark it (null, with the reason in the
        column of the status). Null is bad, unless `missing` is nan instead of error. `status` appends the status.
        """
        need_arrow("arrow()")
        from adcli.batches.batch_function import BatchOptions, batch_function
        options = BatchOptions(truth("only", only), on_error, missing, truth("status", status), jobs)
        return batch_function(self, self._with_levels, together(fixed, values), options)

    def arrow_sum(self, fixed: Values | None = None, /, *, group_by: OneOrMore = None, weights: str | None = None,
                  gauss_newton: bool = False, on_error: str = "stop", missing: str = "error", status: bool = False,
                  **values: Any) -> BatchSums:
        """Sums of the results over batches of Arrow, exact and rounded once, so that no order matters.

        `batch(b)` makes of a batch a state, `merge(s, t, …)` one of several, and `finish(s)` the sums as a RecordBatch, which has
        a row for each group of the columns `group_by`. `weights` names a column whose numbers the results are multiplied by;
        `gauss_newton` adds ΣJᵀJ and ΣJᵀr of the outputs r; `status` adds the number of rows of each status.
        """
        need_arrow("arrow_sum()")
        from adcli.batches.batch_function import BatchOptions, batch_function
        from adcli.batches.batch_sums import batch_sums
        options = BatchOptions(only=True, on_error=on_error, missing=missing)
        results = batch_function(self._with_levels(), self._with_levels, together(fixed, values), options)
        return batch_sums(results, names(group_by), weights, truth("gauss_newton", gauss_newton), truth("status", status))
