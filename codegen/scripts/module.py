"""A module of a scripting language: names, the functions that it calls, and programs in terms of these.

An operation that the language lacks is a short composition, which stands in the expression, or a function of the module: a long
composition (digamma), or a text of the language. A module holds those that it calls and no others.
"""
from __future__ import annotations

from dataclasses import replace

from adcli.codegen.c.language import Helpers, Statements
from adcli.codegen.rows.expand import expand
from adcli.lang.ir import Equation, Lit, Primitive, Program
from adcli.lang.ir.build import composed
from adcli.lang.ir.names import name_table
from adcli.lang.ir.primitives import TABLE
from adcli.lang.ir.rule_programs import Statics, statics
from adcli.lang.passes.pipeline import run
from adcli.lang.passes.simplify import simplify
from adcli.lang.passes.zero_seeds import drop_zero_seeds

LONGEST_COMPOSITION = 12
"""Operations up to which a composition stands where it is used; a power of up to 64 has as many."""


class ScriptHelpers(Helpers):
    """The names and functions of a module."""

    def prepared(self, program: Program) -> Program:
        """The program in terms of what the module can call."""
        return run(program, [drop_zero_seeds, lambda p: expand(p, self.language.definitions, is_function), simplify])

    def composed(self, own: str, name: str, static: Statics) -> list[str]:
        if name not in TABLE or TABLE[name].value is None or self.language.function is None:
            return super().composed(own, name, static)
        program = self.prepared(composition(TABLE[name], static))
        inside = Helpers(self.language, [*self.known.values(), own])
        writer = Statements(self, program, {v: inside.named(text) for v, text in name_table(program).items()})
        writer.results = set()   # the value may stand in what is returned
        lines, (result,) = list(writer.computed()), program.results
        return self.language.function(own, [writer.names[p.var] for p in program.params], lines, writer.piece(result.atom)[0])

    def statements(self, program: Program) -> Statements:
        """The writer of a program of scalars."""
        program = self.prepared(program)
        return Statements(self, program, {v: self.named(text) for v, text in name_table(program).items()})


def is_function(e: Equation) -> bool:
    """True for a composition that becomes a function of the module."""
    if e.op.value is None or e.op.llvm or e.op.libm:
        return False
    return len(composition(e.op, statics(e)).equations) > LONGEST_COMPOSITION


def composition(op: Primitive, static: Statics) -> Program:
    """The definition of an operation by others, its inputs called as the table calls its arguments."""
    program = composed(op, {i: Lit(x) for i, x in static})
    words = [w for i, w in enumerate(op.args.split(", ")) if i not in dict(static)]
    return replace(program, params=tuple(replace(p, name=w) for p, w in zip(program.params, words, strict=True)))
