"""Expressions of the language in a fit: objectives of one's own, a loss of each row and priors, with exact second derivatives,
and parameters that are functions of others, `--params 'a=1, b=2*a'`.

The cost is Σ w·loss(row) − Σ log prior. Where its gradient is g and its Hessian H, the rows of J̃ = Λ^½Vᵀ, H = VΛVᵀ, and
r̃ = Λ^-½Vᵀg are residuals whose steps of Gauss and Newton are Newton's, |Λ| being taken where the cost is curved downwards; so the
solvers, the verdicts and the uncertainties of least squares serve here too, with (J̃ᵀJ̃)⁻¹ = H⁻¹ as the covariance (Laplace).
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcli.answers.evaluation import unfit_where_refused
from adcli.codegen.machine.arrays import run_arrays
from adcli.fit.data import Begin, Observations, parameters
from adcli.input.points import parts, unknown_name
from adcli.lang.derive import derivatives
from adcli.lang.ir import Atom, Lit, Param, Program, Result, Values, Var, has_tensors, substitute
from adcli.lang.ir.build import Builder, Expr
from adcli.lang.ir.errors import AdError, Source, nearest
from adcli.lang.ir.names import Names, composed
from adcli.lang.lower.frontend import parse
from adcli.lang.operations.activity import with_outputs
from adcli.numerics.least_squares import Residuals, Start
from adcli.numerics.linear import LocalModel, Vector
from adcli.numerics.losses import LOSSES, Loss, Matrix
from adcli.task.derive import DerivedProgram, chosen
from adcli.task.request import Request
from adcli.task.tasks import Task

if TYPE_CHECKING:
    from adcli.numerics.least_squares import End

PREDICTED, OBSERVED, RESIDUAL = WORDS = ("predicted", "observed", "residual")
"""What a loss may name beside inputs, parameters and columns: the output, what it is compared with, and the difference of the
two, divided by the standard uncertainty where it is known."""
SQUARES = "residual**2/2"
FLAT = 1e-12
"""Eigenvalues of a Hessian with a unit diagonal that are rounding of zero."""
STEEP = 1e-9
"""A slope along such a direction, relative to the cost, that is none of rounding."""
DOWN = 1e-8
"""An eigenvalue below minus this is one of a saddle."""
ASIDE = 0.1
"""How far from a saddle the search goes on, in curvatures."""


WORD = re.compile(r"[^\W\d]\w*")


# ---------------------------------------------------------------- programs in all rows

class RowProgram:
    """The results of a task in so many `rows`, the last of them the status: `columns` has an array or a number for each input but
    the parameters `names`."""

    def __init__(self, task: Task, columns: Values, rows: int, jobs: int | None, names: Sequence[str] = ()) -> None:
        self.rows, self.jobs, self.kernel = rows, jobs, task.kernel
        self.results = 1 + len(task.signature.outputs) + len(task.signature.derived)
        self.whole = -(-rows // self.kernel.lanes) * self.kernel.lanes   # the last row again, to fill a block
        self.columns = {name: np.pad(np.broadcast_to(x, rows).astype(np.float64), (0, self.whole - rows), "edge")
                        for name, x in columns.items()}
        self.parameters = {name: np.empty(self.whole) for name in names}
        self.inputs = [(self.columns | self.parameters)[p.name] for p in task.signature.inputs]

    def __call__(self, values: Sequence[Any] = ()) -> Vector:
        """A row for each result; a parameter is a number, or one for each row."""
        for column, x in zip(self.parameters.values(), values, strict=True):
            column[:self.rows] = x
            column[self.rows:] = column[self.rows - 1]
        found = np.empty((self.results, self.whole))
        run_arrays(self.kernel, self.inputs, self.whole, [*found], self.jobs)
        return found[:, :self.rows]


def task_of(program: Program, verb: str, wrt: Sequence[str] = ()) -> Task:
    """The values of a program, its `jacobian` or its `hessian`, which no command line asked for."""
    match verb:
        case "jacobian":
            made = derivatives.jacobian(program, wrt, zeros=True)
        case "hessian":
            made = derivatives.hessian(program, wrt)
        case _:
            made = program
    derived = DerivedProgram(program, made, list(wrt))
    request = Request(verb, program.source or Source("<text>", ""), wrt=list(wrt), zeros=True)
    return Task(request, derived.signature, worked=derived)


# ---------------------------------------------------------------- expressions

def expression(text: str, option: str, name: str = "adcli_value") -> Program:
    """The expression of an option, whose inputs are the names in it, as an output. AdError where it is none."""
    with unfit_where_refused():
        program = parse(f"{name} = {text}", option)
    if [r.name for r in program.results] != [name] or has_tensors(program):
        raise AdError(f"⟦{option}⟧ '{text}' is not an expression of numbers")
    return program


def is_expression(text: str | None) -> bool:
    """True for a text that is no name of a column and no file."""
    return text is not None and not text.startswith("@") and re.search(r"[-+*/^(]", text) is not None


def computed(text: str, option: str, columns: Values, rows: int) -> Vector:
    """An expression of columns, in every row."""
    found: Vector = RowProgram(task_of(expression(text, option), "eval"), columns, rows, None)()[0]
    return found


def named_densities() -> dict[str, str]:
    """The log densities that say all of what is observed and what is predicted, by their names as losses."""
    from adcli.lang.lower.library import prelude
    return {name.rpartition("_")[0]: name for name in prelude() if name.endswith(("_lpdf", "_lpmf"))
            and len(prelude()[name].params) == 2}


def loss_text(loss: str) -> str:
    """The expression of a loss: the name of a log density of what is observed, given what is predicted, is one."""
    if not loss.isidentifier() or loss == PREDICTED:
        return loss
    if loss not in (known := named_densities()):
        words = [*LOSSES, *known]
        help = nearest(loss, words) or f"the losses are {', '.join(words)}"
        raise AdError(f"no loss '{loss}'", help=f"{help}; or write an expression:"
                      f" ⟦--loss '-binomial_lpmf({OBSERVED}, n, {PREDICTED})'⟧")
    return f"-{known[loss]}({OBSERVED}, {PREDICTED})"


def cost_of(loss: str, priors: Sequence[str]) -> RowLoss:
    """The objective."""
    if loss in LOSSES and not priors:
        return RowLoss()
    if loss in LOSSES and loss != "linear":
        raise AdError(f"⟦--prior⟧ goes with squares or a log density, not with ⟦--loss {loss}⟧",
                      help="write ⟦--loss '-cauchy_lpdf(residual, 0, 1)'⟧, for example")
    return RowLoss(SQUARES if loss == "linear" else loss_text(loss), " + ".join(f"({p})" for p in priors) or None)


def require_scatter(cost: RowLoss, known: bool) -> None:
    """AdError for squares with priors where observations have no standard uncertainties."""
    if cost.prior and cost.loss == SQUARES and not known:
        raise AdError("⟦--prior⟧ needs to know how far observations scatter",
                      help="give standard uncertainties, or a log density with a start of s among the parameters:"
                           " ⟦--loss '-normal_lpdf(observed, predicted, s)'⟧")


class RowLoss(NamedTuple):
    """An objective: the expression of a loss, empty for the squares and losses of least squares, that of log priors, and the
    program with the outputs that the loss names."""

    loss: str = ""
    prior: str | None = None
    outputs: Program | None = None

    @property
    def named(self) -> list[str]:
        """The outputs of the program that the loss names."""
        return [r.name for r in self.outputs.results] if self.outputs else []

    @property
    def names(self) -> list[str]:
        """The names in the loss that are neither its words nor outputs."""
        inputs = expression(self.loss, "--loss").params if self.loss else ()
        return [p.name for p in inputs if p.name not in (*WORDS, *self.named)]

    def of_model(self, program: Program, links: Mapping[str, str], of: Sequence[str] | None,
                 columns: Callable[[], Collection[str]]) -> tuple[Program, RowLoss]:
        """The program without parameters that are functions of others, with the outputs in `of`, by default those that the loss
        does not name, if there are any; the loss with those that it names. A name that is a column, too, is that."""
        program = linked(program, links)
        named = [r.name for r in program.results if r.name in self.names]
        named = [name for name in named if name not in columns()]
        if not named:
            return chosen(program, of), self
        rest = [r.name for r in program.results if r.name not in named]
        return chosen(program, rest if of is None and rest else of), self._replace(outputs=with_outputs(program, named))

    @property
    def certain(self) -> list[str]:
        """The names in the priors."""
        return [p.name for p in expression(self.prior, "--prior").params] if self.prior else []

    def parameters(self, program: Program, given: Mapping[str, Begin | None] | None,
                   columns: Callable[[], Collection[str]] = tuple) -> dict[str, Begin]:
        """As `parameters` of a program, with those of the loss. AdError where a prior names what is no parameter."""
        found = parameters(with_inputs(program, [*self.names, *self.certain]), given, columns)
        for name in self.certain:
            if name not in found:
                raise unknown_name("parameter", name, list(found))
        return found


def with_inputs(program: Program, names: Iterable[str]) -> Program:
    """The program with further inputs of these names, which it does not use."""
    known = {p.name for p in program.params}
    more = tuple(Param(Var(n), n) for n in dict.fromkeys(names) if n not in known)
    return replace(program, params=(*program.params, *more)) if more else program


def loss_program(model: Program, cost: RowLoss) -> tuple[Program, list[tuple[str, str]]]:
    """The sum of the weighted losses of the outputs as a program, whose last input is the weight; for each output the names of
    the inputs for what it is compared with and for the factor of its residual."""
    names, b, params = Names.of(model), Builder(), list(model.params)
    b.equations.extend(model.equations)

    def added(hint: str) -> Expr:
        params.append(Param(Var(name := names.fresh(hint)), name))
        return b.expr(params[-1].var)

    known: dict[str, Atom] = {p.name: p.var for p in model.params}
    if cost.outputs:
        at: dict[Atom, Atom] = {p.var: known[p.name] for p in cost.outputs.params}
        made = {out for q in model.equations for out in q.outs}   # the model may be of the same program
        b.equations.extend(q.substituted(at) for q in cost.outputs.equations if made.isdisjoint(q.outs))
        known |= {r.name: at.get(r.atom, r.atom) for r in cost.outputs.results}
    total, pairs = b.expr(Lit(0.0)), []
    for r in model.results:
        y, factor = added(f"observed_{r.name}"), added(f"factor_{r.name}")
        pairs.append((params[-2].name, params[-1].name))
        of = dict(zip(WORDS, (r.atom, y.atom, ((b.expr(r.atom) - y) * factor).atom), strict=True)) | known
        e = expression(cost.loss, "--loss")
        env: dict[Atom, Atom] = {p.var: of[p.name] for p in e.params}
        b.equations.extend(q.substituted(env) for q in e.equations)
        total = total + b.expr(env.get(e.results[0].atom, e.results[0].atom))
    result = Result(names.fresh("loss"), (total * added("weight")).atom)
    return Program(tuple(params), tuple(b.equations), (result,), model.source), pairs


# ---------------------------------------------------------------- parameters that are functions of others

def apart(text: str | None) -> tuple[str | None, dict[str, str]]:
    """--params without the parameters that are functions of others, and these with their expressions."""
    pieces = [[s.strip() for s in piece.partition("=")] for piece in parts(text or "")]
    names = {name for name, _, _ in pieces}
    links = {composed(name): given for name, equals, given in pieces if equals and is_function(given, names)}
    starts = [f"{name}{equals}{given}" for name, equals, given in pieces if composed(name) not in links]
    return (text if not links else ",".join(starts)), links


def is_function(text: str, names: Collection[str]) -> bool:
    """True for an expression of these names."""
    if text[:1] in ("@", "[", "") or not {*WORD.findall(text)} & {*names}:
        return False
    try:
        used = [p.name for p in expression(text, "--params").params]
    except AdError:   # which `starts` says
        return False
    return bool(used) and {*used} <= {*names}


def linked(program: Program, links: Mapping[str, str]) -> Program:
    """The program without these inputs, which are computed from others. AdError where one is no input, or a tensor."""
    for name, text in links.items():
        known = {p.name: p for p in program.params}
        if name not in known:
            raise unknown_name("input", name, list(known))
        if known[name].var.shape or known[name].var.integer:
            raise AdError(f"'{name}' is no number, and cannot be ⟦--params {name}={text}⟧")
        e = expression(text, "--params", name)
        if name in (used := [p.name for p in e.params]):
            raise AdError(f"⟦--params {name}={text}⟧: '{name}' is a function of itself")
        program = with_inputs(program, used)
        at: dict[Atom, Atom] = {p.var: program.param(p.name).var for p in e.params}
        made = [q.substituted(at) for q in e.equations]
        value = at.get(e.results[0].atom, e.results[0].atom)
        program = substitute(program, {known[name].var: value})
        params = tuple(p for p in program.params if p.name != name)
        program = replace(program, equations=(*made, *program.equations), params=params)
    return program


# ---------------------------------------------------------------- the cost with its derivatives

class RowCost:
    """A sum over rows with its gradient and Hessian by the parameters `names`."""

    def __init__(self, program: Program, places: Values, columns: Values, rows: int,
                 jobs: int | None) -> None:
        own = [n for n in places if any(p.name == n for p in program.params)]
        task = task_of(program, "hessian", own)
        self.program, self.own = RowProgram(task, columns, rows, jobs, own), [places[n] for n in own]
        self.places = [tuple(places[x] for x in c.wrt) for c in task.signature.derived]

    def at(self, b: Vector) -> Vector:
        """The results in every row."""
        return self.program([b[i] for i in self.own])[:-1]

    def __call__(self, b: Vector) -> tuple[float, Vector, Matrix]:
        results, n = self.at(b), len(b)
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        for place, x in zip(self.places, results[1:], strict=True):
            if not any(map(np.ndim, place)):
                x = x.sum()   # pairwise, where all rows have one place
            if len(place) == 1:
                np.add.at(gradient, place, x)
            else:
                np.add.at(hessian, place, x)
                if not np.array_equal(*place):
                    np.add.at(hessian, place[::-1], x)
        return float(results[0].sum()), gradient, hessian


class NewtonResiduals(Residuals):
    """The sum of parts, as residuals with the steps of Newton."""

    def __init__(self, parts: Sequence[RowCost]) -> None:
        super().__init__(self.newton, 0.0)
        self.parts, self.value = parts, math.inf

    def derivatives(self, b: Vector) -> tuple[float, Vector, Matrix]:
        """The cost, its gradient and its Hessian."""
        with np.errstate(all="ignore"):
            values, gradients, hessians = zip(*(part(b) for part in self.parts), strict=True)
            return math.fsum(values), sum(gradients), sum(hessians)

    def fixed(self, j: int, x: float) -> NewtonResiduals:
        others, found = NewtonResiduals(self.parts), self.derivatives

        def derivatives(b: Vector) -> tuple[float, Vector, Matrix]:
            value, g, h = found(np.insert(b, j, x))
            return value, np.delete(g, j), np.delete(np.delete(h, j, 0), j, 1)
        others.derivatives = derivatives  # type: ignore[method-assign]
        return others

    def newton(self, b: Vector) -> tuple[Vector, Matrix]:
        """r̃ and J̃; NaN where something is not finite."""
        self.value, g, h = self.derivatives(b)
        if not (math.isfinite(self.value) and np.isfinite(g).all() and np.isfinite(h).all()):
            self.value = math.inf
            return np.full(len(b), math.nan), np.full((len(b), len(b)), math.nan)
        size = np.sqrt(np.abs(h.diagonal()))
        size[size == 0] = 1.0
        curved, v = np.linalg.eigh(h / size / size[:, None])
        kept = np.abs(curved) > FLAT * np.abs(curved).max(initial=0.0)
        self.curved, self.along = curved, v / size[:, None]
        slope = self.along.T @ g
        steep = ~kept & (np.abs(slope) > STEEP * abs(self.value))   # straight downhill: no minimum, and no freedom
        root, kept = np.sqrt(np.where(steep, np.abs(slope), np.abs(curved))), kept | steep
        r = np.divide(slope, root, out=np.zeros(len(b)), where=kept)
        return r, np.where(kept, root, 0.0)[:, None] * (v.T * size)

    def bad_row(self, b: Vector) -> int:
        """The first row of which the loss, or a derivative of it, is not finite; −1 where it is a prior."""
        bad = np.flatnonzero(~np.isfinite(self.parts[0].at(b)).all(axis=0))
        return int(bad[0]) if len(bad) else -1

    def triangular(self, b: Vector) -> tuple[Vector, Matrix]:
        return self(b)

    def cost(self, b: Vector, loss: Loss) -> float:
        self(b)
        return 2 * self.value

    def local(self, b: Vector, loss: Loss) -> LocalModel:
        from scipy.sparse import csr_array
        r, j = self(b)
        return LocalModel(self.cost(b, loss), np.nan_to_num(r), csr_array(np.nan_to_num(j)))

    def scatter(self, length: float, rows: int, free: int) -> float:
        return 1.0

    def attempts(self, start: Start, loss: Loss) -> list[tuple[str, bool]]:
        return [("levenberg", False)]

    def downwards(self, start: Start, end: End, loss: Loss) -> Vector | None:
        free = np.flatnonzero(~end.held)
        self(end.at)
        if not len(free) or len(free) < len(end.at) or not self.curved[0] < -DOWN * self.curved[-1]:
            return None
        found: Vector = self.along[:, 0] * ASIDE / math.sqrt(-self.curved[0])
        return found


def objective(model: Program, cost: RowLoss, places: Values, o: Observations, jobs: int | None) -> NewtonResiduals:
    """The objective of a fit."""
    if o.places is None or has_tensors(model):
        raise AdError("a loss of one's own, and priors, are for programs of numbers")
    rows, (program, pairs) = len(o.places.rows), loss_program(with_inputs(model, cost.names), cost)
    columns = {**o.inputs, program.params[-1].name: 1.0 if o.weights is None else o.weights}
    for (y, factor), observed, sigma in zip(pairs, o.observed, o.sigmas, strict=True):
        columns |= {y: observed, factor: 1.0 if sigma is None else 1 / sigma}
    parts = [RowCost(program, places, columns, rows, jobs)]
    if cost.prior is not None:
        if any(np.ndim(places[name]) for name in cost.certain):
            raise AdError("a prior is of parameters that all rows share")
        parts.append(RowCost(expression(f"-({cost.prior})", "--prior"), places, {}, 1, None))
    return NewtonResiduals(parts)
