"""The verbs that evaluate a derivative: one row each.

The row says how the derivative program is made, what its header calls it, where its results stand in JSON, which seeds it has,
which options its command takes, and what its help says. Whoever makes a program, a header, a layout or a command line reads
the row; none of them knows a verb by name. A column has no default, so a row that lacks one is no row.

What makes a program is imported when it is called: a warm run from the cache calls none of it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from adcli.output.layout import Path

if TYPE_CHECKING:
    from adcli.lang.derive.derivatives import DerivationStep
    from adcli.lang.ir import Program
    from adcli.task.request import Request, Signature

MatrixKind = Literal["jacobian", "hessian"]
TEXT_FORMATS = ("text", "json", "csv", "tsv", "parquet")
MATRIX_FORMATS = ("coo", "mtx")
"""Formats that write the entries of a matrix, those that are not zero by construction."""
TABLE_FORMATS = ("markdown", "latex")
"""Formats that write an uncertainty budget as a table for a report."""


class Asked(NamedTuple):
    """Arguments of the maker of a derivative: the program with the outputs asked for, and the inputs. `along` names the seeds
    that are known not to be zero, by the input or output that they belong to; None where nothing is known of them. The
    plans of sweeps that were chosen are left in `steps`."""

    request: Request
    primal: Program
    wrt: list[str]
    along: list[str] | None
    steps: list[DerivationStep]

    @property
    def moving(self) -> list[str]:
        """The inputs that have a tangent."""
        return self.wrt if self.along is None else self.along

    @property
    def of_tensors(self) -> bool:
        from adcli.lang.ir import has_tensors
        return has_tensors(self.primal)


class Verb(NamedTuple):
    """A row.

    `wrt` is the option that says by which inputs it differentiates: with --tangent those that the direction moves; None where
    it differentiates by none. `mode` is the mode of differentiation in words where the verb fixes it; elsewhere the plans say
    it. `seed` is what its seed inputs are. `places` gives for each derived result where it stands in the JSON object of its
    point, and `matrix` says what matrix the derived results are the entries of. `help` is the text of the command; `options` are
    the groups that it takes (`adcli.command.options`) beside PROGRAM, the options of results and their `formats`; `module` is
    where the command stands if it is not made from the row. With `partials` --of can choose single partial derivatives.
    """

    name: str
    short: str
    help: str
    examples: tuple[str, str]
    header: str
    wrt: Literal["--wrt", "--tangent"] | None
    mode: str | None
    seed: Literal["tangent", "cotangent"] | None
    derive: Callable[[Asked], Program]
    places: Callable[[Signature], Sequence[Path]]
    matrix: MatrixKind | None
    options: tuple[str, ...]
    formats: tuple[str, ...]
    module: str | None
    partials: bool

    @property
    def differentiates(self) -> bool:
        """True if its program is a derivative."""
        return self.wrt is not None


# ---------------------------------------------------------------- how programs are made

def _eval(asked: Asked) -> Program:
    from adcli.lang.simplify.simplify import simplify
    return simplify(asked.primal)


def _grad(asked: Asked) -> Program:
    from adcli.lang.derive.derivatives import gradient
    request = asked.request
    return gradient(asked.primal, asked.wrt, request.of, request.mode, request.order, asked.steps)


def _matrix(kind: MatrixKind) -> Callable[[Asked], Program]:
    def derive(asked: Asked) -> Program:
        from adcli.lang.derive import derivatives
        if asked.request.listed and asked.of_tensors:
            from adcli.lang.derive.entries import listed
            if kind == "hessian":
                derivatives.one_output(asked.primal, None)
            return listed(asked.primal, asked.wrt, kind)
        of_kind = derivatives.jacobian if kind == "jacobian" else derivatives.hessian
        return of_kind(asked.primal, asked.wrt, None, asked.request.mode, asked.request.zeros, asked.steps)
    return derive


def _jvp(asked: Asked) -> Program:
    from adcli.lang.passes.pipeline import tangent_program
    return tangent_program(asked.primal, asked.moving)


def _vjp(asked: Asked) -> Program:
    from adcli.lang.passes.pipeline import adjoint_program
    return adjoint_program(asked.primal, asked.wrt, asked.along)


def _hvp(asked: Asked) -> Program:
    from adcli.lang.derive.derivatives import hvp
    return hvp(asked.primal, asked.wrt, None, asked.along)


def _taylor(asked: Asked) -> Program:
    from adcli.lang.derive.taylor import taylor
    return taylor(asked.primal, asked.moving, None, asked.request.order, asked.request.scaled)


def _propagate(asked: Asked) -> Program:
    from adcli.lang.derive.uncertainty import propagation
    if asked.of_tensors:   # written out at a point first
        return asked.primal
    request = asked.request
    return propagation(asked.primal, asked.moving, request.order, request.correlations, request.moments, request.dof)


# ---------------------------------------------------------------- where results stand in JSON

def _by_input(verb: str) -> Callable[[Signature], list[Path]]:
    """One result for each input, in the order of the program."""
    return lambda s: [(verb, p.name) for p in s.own if p.name in s.wrt]


def _coefficients(s: Signature) -> list[Path]:
    orders = len(s.derived) // max(1, len(s.outputs))
    return [("taylor", name, k) for name in s.outputs for k in range(orders)]


VERBS = {verb.name: verb for verb in (
    Verb(
        name="eval", short="The outputs of a program.", help="The outputs of a program.",
        examples=("adcli eval -e 'v = x*sin(y)' --at x=2,y=0.5", "adcli eval -e 'x**2' --at x=0:1:5 --format csv"),
        header="the outputs",
        wrt=None, mode="", seed=None, derive=_eval,
        places=lambda s: [], matrix=None,
        options=("shown outputs", "sums"),
        formats=TEXT_FORMATS, module=None, partials=False),
    Verb(
        name="grad", short="The outputs and their partial derivatives.",
        help="""The outputs and every first partial derivative; with --order N, the higher ones too.

        --of 'v:x,x,y' chooses one partial derivative, here the third of v, twice along x and once along y. Separate several
        with semicolons.""",
        examples=("adcli grad -e 'v = x*sin(y)' --at x=2,y=0.5", "adcli grad -e 'v = x*sin(y)' --emit text"),
        header="the outputs and their partial derivatives",
        wrt="--wrt", mode=None, seed=None, derive=_grad,
        places=lambda s: [("grad", c.of or "", ",".join(c.wrt)) for c in s.derived], matrix=None,
        options=("derivatives", "mode", "order", "sums", "gauss-newton"),
        formats=TEXT_FORMATS, module=None, partials=True),
    Verb(
        name="jacobian", short="The outputs and their Jacobian, dense or sparse.",
        help="The outputs and their Jacobian. If many entries are zero by construction, these are left out.",
        examples=("adcli jacobian -e 'u = x*y' -e 'v = sin(z)' --at x=2,y=3,z=0",
                  "adcli jacobian -e 'u = x*y' -e 'v = sin(z)' --pattern"),
        header="the outputs and their Jacobian",
        wrt="--wrt", mode=None, seed=None, derive=_matrix("jacobian"),
        places=lambda s: [("jacobian", c.of or "", *c.wrt) for c in s.derived], matrix="jacobian",
        options=("derivatives", "mode", "sums", "gauss-newton", "matrix"),
        formats=TEXT_FORMATS + MATRIX_FORMATS, module=None, partials=False),
    Verb(
        name="hessian", short="One output, its gradient and its Hessian, dense or sparse.",
        help="""One output, its gradient and its Hessian, entries on and above the diagonal.

        If many entries are zero by construction, these are left out.""",
        examples=("adcli hessian -e 'v = x**2 * sin(y)' --at x=2,y=0.5",
                  "adcli hessian -e 'v = x**2 * sin(y)' --at x=2,y=0.5 --format mtx"),
        header="the output, its gradient and its Hessian",
        wrt="--wrt", mode=None, seed=None, derive=_matrix("hessian"),
        places=lambda s: [("grad" if len(c.wrt) == 1 else "hessian", c.of or "", *c.wrt) for c in s.derived], matrix="hessian",
        options=("one output", "mode", "sums", "matrix"),
        formats=TEXT_FORMATS + MATRIX_FORMATS, module=None, partials=False),
    Verb(
        name="jvp", short="The outputs and their tangents: forward mode.",
        help="The outputs and their tangents along a direction: forward mode.",
        examples=("adcli jvp -e 'v = x*sin(y)' --at x=2,y=0.5 --tangent x=1", "adcli jvp -e 'v = x*sin(y)' --emit text"),
        header="the outputs and their tangents",
        wrt="--wrt", mode="forward", seed="tangent", derive=_jvp,
        places=lambda s: [("jvp", name) for name in s.outputs], matrix=None,
        options=("derivatives", "tangent", "sums"),
        formats=TEXT_FORMATS, module=None, partials=False),
    Verb(
        name="vjp", short="The outputs and the adjoints of the inputs: reverse mode.",
        help="The outputs and the adjoints of the inputs, for given weights of the outputs: reverse mode.",
        examples=("adcli vjp -e 'v = x*sin(y)' --at x=2,y=0.5 --cotangent v=1", "adcli vjp -e 'v = x*sin(y)' --emit text"),
        header="the outputs and the adjoints of the inputs",
        wrt="--wrt", mode="reverse", seed="cotangent", derive=_vjp,
        places=_by_input("vjp"), matrix=None,
        options=("derivatives", "cotangent", "sums"),
        formats=TEXT_FORMATS, module=None, partials=False),
    Verb(
        name="hvp", short="One output and its Hessian times a direction.",
        help="One output and the product of its Hessian with a direction: forward mode over reverse mode.",
        examples=("adcli hvp -e 'v = x**2 * sin(y)' --at x=2,y=0.5 --tangent x=1",
                  "adcli hvp -e 'input x(N)' -e 's *=! x(i)' --at 'x=[2,3,5]' --tangent 'x=[1,0,0]'"),
        header="the output and the product of its Hessian with a direction",
        wrt="--wrt", mode="forward over reverse", seed="tangent", derive=_hvp,
        places=_by_input("hvp"), matrix=None,
        options=("one output", "tangent", "sums"),
        formats=TEXT_FORMATS, module=None, partials=False),
    Verb(
        name="taylor", short="Taylor coefficients along a direction.",
        help="Taylor coefficients v_0, v_1, … of the outputs along a direction: v(x + s·dx) in powers of s.",
        examples=("adcli taylor -e 'v = x*sin(y)' --at x=2,y=0.5 --tangent y=1 --order 4",
                  "adcli taylor -e 'exp(x)' --at x=0 --scaled"),
        header="the Taylor coefficients of the outputs along a direction",
        wrt="--tangent", mode="forward", seed="tangent", derive=_taylor,
        places=_coefficients, matrix=None,
        options=("expanded outputs", "taylor"),
        formats=TEXT_FORMATS, module=None, partials=False),
    Verb(
        name="propagate", short="Uncertainties of the outputs from those of the inputs.",
        help="""The outputs with their standard uncertainties, and the share of every input in them (percent of the variance).

        Uncertainties are standard uncertainties (one standard deviation); inputs without one are exact. A distribution may
        follow ±, as in x=2±0.1~rect: 'adcli help uncertainty' has them all. A table has standard uncertainties in columns u_x
        beside x, and with --coverage degrees of freedom in columns dof_x. Results: v, u_v, share_v_x, corr_v_w; mean_v and u2_v
        with --second-order; dof_v, k_v, U_v, low_v and high_v with --coverage.""",
        examples=("adcli propagate -e 'v = x*sin(y)' --at x=2±0.1,y=0.5±2%",
                  "adcli propagate -e 'v = x*sin(y)' --at 'x=2±0.1~rect,y=0.50(1)' --monte-carlo 1e6 --format markdown"),
        header="the outputs and their standard uncertainties",
        wrt="--wrt", mode="", seed="tangent", derive=_propagate,
        places=lambda s: [("propagate", c.name) for c in s.derived], matrix=None,
        options=(),
        formats=TEXT_FORMATS + TABLE_FORMATS, module="propagate.command", partials=False),
)}
