"""Methods that inspect a Function: pictures, tables and verdicts, as the shell has them, and how notebooks show it.

The methods take the options of the verbs by the same names, and a point as a call takes it: by name, or in a dictionary where an
input has the name of an option. Nothing is imported before a method is called.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adcli.api.words import OneOrMore, says_python, truth

if TYPE_CHECKING:
    from adcli.api.view import PictureView, View
    from adcli.lang.ir import Program


@says_python
class Inspection:
    """The methods of a Function that say something of it."""

    __slots__ = ()
    if TYPE_CHECKING:
        _program: Program

        @property
        def precision(self) -> str: ...

    def trace(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None,
              tangent: str | Mapping[str, Any] | None = None, cotangent: str | Mapping[str, Any] | None = None,
              names: str = "textbook", element: str | None = None, **values: Any) -> View:
        """The evaluation table of the textbooks at a point, as `adcli trace` has it: every line with its value, with its tangent
        along a direction such as {"x": 1}, and with the adjoints for weights of the outputs; `names` is textbook or program. Of a
        program with tensors every statement is a line, or with an `element` such as "h(:, 0)" every operation behind it."""
        from adcli.api.verbs import traced
        return traced(self._program, at, values, of, wrt, tangent, cotangent, names, element,
                      self.precision)

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
        from adcli.api.verbs import checked
        return checked(self._program, at, values, of, wrt, samples, seed, digits, against, symbol, returns, time_limit,
                       truth("plot", plot), truth("all", all), self.precision)

    def why(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, wrt: OneOrMore = None, mode: str = "reverse",
            order: int = 1, limit: bool = False, **values: Any) -> View:
        """Cause of a NaN, an infinity or an exact zero in the values and derivatives at a point, and what would help, as
        `adcli why` says it; `limit` looks for limits of these numbers along each input."""
        from adcli.api.verbs import explained
        return explained(self._program, at, values, of, wrt, mode, order, limit, self.precision)

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
        from adcli.api.verbs import propagated
        return propagated(self._program, at, values, of, correlation, covariance, second_order, monte_carlo, seed,
                          coverage, shortest, jobs, truth("plot", plot))

    def draw(self, at: Mapping[str, Any] | None = None, /, *, stage: str = "ssa", of: OneOrMore = None, wrt: OneOrMore = None,
             tangent: str | Mapping[str, Any] | None = None, cotangent: str | Mapping[str, Any] | None = None,
             fold: OneOrMore = "auto", **values: Any) -> PictureView:
        """The program as a graph, as `adcli draw` has it, at a stage: ssa, dup, forward, reverse or simplified. At a point every
        node has its value and its adjoint; `fold` says whose calls are one node: auto, all, none, or names of functions.

        A notebook shows it through Graphviz where that is installed, else in characters; `save("g.svg")` writes it.
        """
        from adcli.api.verbs import drawn
        return drawn(self._program, at, values, stage, of, wrt, tangent, cotangent, fold)

    def plot(self, at: Mapping[str, Any] | None = None, /, *, of: OneOrMore = None, derivatives: int = 1,
             points: int | None = None, **values: Any) -> PictureView:
        """Outputs and derivatives against an input that is given a range, x=(-3, 3), or contours over two, as `adcli plot` draws
        them: with kinks, jumps and poles as they are. "rows" are the numbers; `save("f.svg")` writes the picture."""
        from adcli.api.verbs import plotted
        return plotted(self._program, at, values, of, derivatives, points)

    def _repr_html_(self) -> str:
        from adcli.api.view import function_html
        return function_html(self._program)

    def _repr_latex_(self) -> str | None:
        from adcli.api.view import function_latex
        return function_latex(self._program)
