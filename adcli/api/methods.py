"""Methods of a Function beyond derivatives and calls: texts, pictures, tables and verdicts; solutions and fits; batches.

The methods take the options of the verbs by the same names, and a point as a call takes it: by name, or in a dictionary where an
input has the name of an option. Nothing is imported before a method is called.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adcli.api.words import Inspected, OneOrMore, names, need_arrow, one_of, plain, says_python, together, truth, word
from adcli.lang.ir.errors import AdError
from adcli.lang.printing.printer import STYLES, print_program
from adcli.task.verbs import MatrixKind

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    from adcli.api.batch_sums import BatchSums
    from adcli.api.batches import ArrayFunction, BatchFunction
    from adcli.api.densities import LogDensity
    from adcli.api.scientific import Solver
    from adcli.api.view import PictureView, View
    from adcli.codegen.machine.kernel import Kernel
    from adcli.lang.ir import Program
    from adcli.solvers.tensor_functions import SparseMatrix

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

    def _inspected(self, point: Mapping[str, Any], of: OneOrMore = None, wrt: OneOrMore = None) -> Inspected:
        return Inspected(plain(self._program), point, names(of), names(wrt), self._precision)

    def trace(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None,
              tangent: str | Mapping[str, Any] | None = None, cotangent: str | Mapping[str, Any] | None = None,
              names: str = "textbook", element: str | None = None, **values: Any) -> View:
        """The evaluation table of the textbooks at a point, as `adcli trace` has it: every line with its value, with its tangent
        along a direction such as {"x": 1}, and with the adjoints for weights of the outputs; `names` is textbook or program. Of a
        program with tensors every statement is a line, or with an `element` such as "h(:, 0)" every operation behind it."""
        from adcli.api.verbs import traced
        return traced(self._inspected(together(at, values), of, wrt), tangent, cotangent, names, element)

    def check(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None,
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
        from adcli.api.verbs import Claim, checked
        return checked(self._inspected(together(at, values), of, wrt), samples, seed, digits,
                       Claim(against, symbol, returns, time_limit), truth("plot", plot), truth("all", all))

    def why(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None, mode: str = "reverse",
            order: int = 1, limit: bool = False, **values: Any) -> View:
        """Cause of a NaN, an infinity or an exact zero in the values and derivatives at a point, and what would help, as
        `adcli why` says it; `limit` looks for limits of these numbers along each input."""
        from adcli.api.verbs import explained
        return explained(self._inspected(together(at, values), of, wrt), mode, order, limit)

    def propagate(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None,
                  correlation: str | Mapping[tuple[str, str], float] | None = None,
                  covariance: str | Mapping[str, Any] | None = None, second_order: bool = False,
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
        from adcli.api.verbs import MonteCarlo, propagated
        return propagated(self._inspected(together(at, values), of), correlation, covariance, second_order,
                          MonteCarlo(monte_carlo, seed, truth("shortest", shortest), jobs), coverage, truth("plot", plot))

    def draw(self, at: Mapping[str, Any] | None = None, /, *, stage: str = "ssa", of: OneOrMore = None, wrt: OneOrMore = None,
             tangent: str | Mapping[str, Any] | None = None, cotangent: str | Mapping[str, Any] | None = None,
             fold: OneOrMore = "auto", **values: Any) -> PictureView:
        """The program as a graph, as `adcli draw` has it, at a stage: ssa, dup, forward, reverse or simplified. At a point every
        node has its value and its adjoint; `fold` says whose calls are one node: auto, all, none, or names of functions.

        A notebook shows it through Graphviz where that is installed, else in characters; `save("g.svg")` writes it.
        """
        from adcli.api.verbs import drawn
        return drawn(self._inspected(together(at, values), of, wrt), stage, tangent, cotangent, fold)

    def plot(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, derivatives: int = 1,
             points: int | None = None, **values: Any) -> PictureView:
        """Outputs and derivatives against an input that is given a range, x=(-3, 3), or contours over two, as `adcli plot` draws
        them: with kinks, jumps and poles as they are. "rows" are the numbers; `save("f.svg")` writes the picture."""
        from adcli.api.verbs import plotted
        return plotted(self._inspected(together(at, values), of), derivatives, points)

    def text(self, style: str = "nested") -> str:
        """The program as .ad text that reads back to an equal program; style nested, anf or prefix."""
        return print_program(self._program, one_of("style", style, STYLES))

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

    def sparse(self, at: Mapping[str, Any] | None = None, /, **values: Any) -> Any:
        """The matrix of a Jacobian or Hessian at one point, as a scipy.sparse array (the extra `scipy`) of float64, or of
        float32 where the precision is single. For tensors its rows and columns are the elements of the outputs and inputs, one
        tensor after another, in the order of memory."""
        if self._matrix is None:
            raise AdError("only a Jacobian or a Hessian is a matrix", help="write f.jacobian().sparse(…)")
        if self._tensors and self._origin is not None:
            from adcli.api.scientific import whole_point
            return self._matrix_at(*self._matrix, self._origin).at(whole_point(self._program, together(at, values)))
        from adcli.solvers.functions import sparse
        return sparse(self._program, *self._matrix, list(self(at, **values).values()), self._precision)

    def _matrix_at(self, kind: MatrixKind, wrt: Sequence[str], origin: Origin) -> SparseMatrix:
        """The sweeps that the matrix of a program with tensors is read from."""
        if "matrix" not in self._solvers:
            from adcli.solvers.tensor_functions import SparseMatrix
            self._solvers["matrix"] = SparseMatrix(origin.primal, kind, wrt, self._precision, self._fast)
        found: SparseMatrix = self._solvers["matrix"]
        return found

    def scipy(self, order: OneOrMore = None, of: OneOrMore = None, start: Mapping[str, Any] | None = None,
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

    def logdensity(self, of: OneOrMore = None, start: Mapping[str, Any] | None = None, **data: Any) -> LogDensity:
        """The output as the logarithm of a density of the inputs that are neither given here nor `param`, for samplers.

        `d = f.logdensity(y=y)` is a function of one vector u without bounds: `d(u)` is the value and the gradient, `d.value(u)`
        the value alone. An input with a declared range is a function of its component, exp or a logistic function, whose log
        derivative is in the value. `names`, `dim` and `start` are of the vector; `unpack(u)` has the inputs of one vector or of
        arrays of draws, `pack` a vector of inputs. Tensors have their shapes from the data, or from `start`.
        """
        from adcli.api.densities import log_density
        return log_density(type(self), self._program, names(of), start, data)

    def minimize(self, at: Mapping[str, Any] | None = None, /, *, wrt: OneOrMore = None, of: OneOrMore = None,
                 subject_to: str | Sequence[str] = (), maximize: bool = False, solver: str = "auto", **values: Any) -> Any:
        """Minimize an output from this point: the inputs in `wrt` (default: all but params) are moved within their
        declared ranges, under conditions such as 'g <= 0' or '0 <= x + y <= 2'.

        A scipy.optimize.OptimizeResult, in which success says whether the point was shown to be a minimum by exact derivatives
        (or with more than 1000 inputs to be stationary), and message what was found; `at` is the point by name, `multipliers`
        belong to the `conditions`, `held` has the inputs at bounds with theirs, and `why` what would explain a failure.
        """
        from adcli.api.scientific import minimized, texts
        word("solver", solver)
        return minimized(self._program, together(at, values), names(wrt), names(of), texts(subject_to),
                         truth("maximize", maximize), solver)

    def solve(self, at: Mapping[str, Any] | None = None, /, *, wrt: OneOrMore = None, of: OneOrMore = None,
              equations: str | Sequence[str] = (), **values: Any) -> Any:
        """Solve equations such as 'g == 1', or the outputs in `of` (default: all) equal to zero, from this point: the unknowns
        are the inputs in `wrt` (default: all but params). More equations than unknowns are solved by least squares.

        A scipy.optimize.OptimizeResult: x, fun and jac are the unknowns, the residuals and the Jacobian there, `at` is the point
        by name, `sensitivity` has dx_da for each unknown and each other input, by the implicit function theorem, `condition` is
        the condition number, and success says whether there is a solution (or a least sum of squares) at which the Jacobian is
        regular; `why` is what would explain a failure.
        """
        from adcli.api.scientific import solved, texts
        return solved(self._program, together(at, values), names(wrt), names(of), texts(equations))

    def fit(self, data: Any = None, y: Any = "y", sigma: Any = None, params: Any = None, *, of: OneOrMore = None,
            at: Mapping[str, Any] | None = None, weights: Any = None, absolute_sigma: bool | None = None, loss: str = "linear",
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

    def arrow(self, fixed: Mapping[str, Any] | None = None, /, *, only: bool = False, on_error: str = "stop",
              missing: str = "error", status: bool = False, jobs: int | None = 1, **values: Any) -> BatchFunction:
        """Function from a pyarrow.RecordBatch (or Table, or reader) to a RecordBatch, for engines of large tables; with the extra
        `arrow`.

        Inputs are columns by name, of any type of numbers, or of lists where they are tensors; or they are fixed here, as
        `f.arrow(k=3.0)`. The result has the columns of the batch (without them where `only`) and a column for each output, a list
        for a tensor. `on_error` says what a bad row does: stop, skip it, give null, or mark it (null, with the reason in the
        column of the status). Null is bad, unless `missing` is nan instead of error. `status` appends the status.
        """
        need_arrow("arrow()")
        from adcli.api.batches import BatchOptions, batch_function
        options = BatchOptions(truth("only", only), on_error, missing, truth("status", status), jobs)
        return batch_function(self, self._with_levels, together(fixed, values), options)

    def arrow_sum(self, fixed: Mapping[str, Any] | None = None, /, *, group_by: OneOrMore = None, weights: str | None = None,
                  gauss_newton: bool = False, on_error: str = "stop", missing: str = "error", status: bool = False,
                  **values: Any) -> BatchSums:
        """Sums of the results over batches of Arrow, exact and rounded once, so that no order matters.

        `batch(b)` makes of a batch a state, `merge(s, t, …)` one of several, and `finish(s)` the sums as a RecordBatch, which has
        a row for each group of the columns `group_by`. `weights` names a column whose numbers the results are multiplied by;
        `gauss_newton` adds ΣJᵀJ and ΣJᵀr of the outputs r; `status` adds the number of rows of each status.
        """
        need_arrow("arrow_sum()")
        from adcli.api.batch_sums import batch_sums
        from adcli.api.batches import BatchOptions, batch_function
        options = BatchOptions(only=True, on_error=on_error, missing=missing)
        results = batch_function(self._with_levels(), self._with_levels, together(fixed, values), options)
        return batch_sums(results, names(group_by), weights, truth("gauss_newton", gauss_newton), truth("status", status))
