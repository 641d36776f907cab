"""What a page needs to say why a number is NaN or infinite: the rules of the operations as tapes, and the words of `why`.

A rule is {name, operation, partials, kinds, periodic, maps, status, many?}. `operation` is it on u, v, …, `partials` its
partial derivatives in writing, `kinds` what its arguments are, "r" or "t". `maps` has for each argument {reads, tape} or null;
the tape is of the seed, the result, and the arguments that `reads` names, −1 being what `many` arguments have in common. It
gives the contribution, and where that exists under a condition only, whether it does.
"""
from __future__ import annotations

from collections.abc import Sequence

from adcli.answers import cause_texts
from adcli.answers.diagnose import described, letter
from adcli.codegen.scripts.tape import Json, tape
from adcli.lang.analyse.numeric_rules import rule_of
from adcli.lang.ir import Equation, Param, Program, Result, Var, has_tensors
from adcli.lang.ir.build import Builder, many
from adcli.lang.ir.primitives import select
from adcli.lang.ir.rule_programs import Rule, shared_rule, statics, status_rule, told

WORDS = {"sentences": cause_texts.SENTENCES, "how": cause_texts.HOW, "forms": list(cause_texts.FORMS),
         "partials": cause_texts.PARTIALS, "products": cause_texts.PRODUCTS, "terms": cause_texts.TERMS}


class Rules:
    """The rules of a program, each once; `made` fills as they are asked for."""

    def __init__(self, program: Program) -> None:
        self.none = has_tensors(program)
        self.places: dict[object, int] = {}
        self.made: list[Json] = []

    def place(self, e: Equation) -> int | None:
        """Where the rule of an operation is found; None in a program with tensors."""
        if self.none:
            return None
        key = (e.op, told(e), len(e.args))
        if key not in self.places:
            self.places[key] = len(self.made)
            self.made.append(rule(e))
        return self.places[key]


def rule(e: Equation) -> Json:
    count, several = len(e.args), many(e.op, len(e.args))
    shared = shared_rule(e.op, count) if several else None
    one = count - len(e.op.static) == 1
    return {
        "name": e.op.name, "operation": described(e, ""), "periodic": e.op.periodic,
        "partials": [described(e, "'") if one else f"∂({described(e, '')})/∂{letter(i)}" for i in range(count)],
        "kinds": "".join(e.op.kind(i) for i in range(count)),
        "maps": [taped(r, [i] if several else range(count)) if (r := rule_of(e, i)) else None for i in range(count)],
        "status": [{"level": s.level, **taped(status_rule(e.op, k, statics(e), count), range(count))}
                   for k, s in enumerate(e.op.status)],
        **({"many": taped(shared, range(count))} if shared else {}),
    }


def taped(r: Rule, places: Sequence[int]) -> Json:
    """A rule as a tape of the seed, the result, and those of its arguments that are no constants."""
    given = [*zip(r.args, places, strict=False), *[(a, -1) for a in r.args[len(places):]]]
    reads = [(a, i) for a, i in given if isinstance(a, Var)]
    b = Builder()
    b.equations.extend(r.equations)
    ends = [r.value, *([] if r.condition is None else [r.condition])]
    numbers = [select(b.expr(x), 1, 0).atom if isinstance(x, Var) and x.truth else x for x in ends]
    names = [r.t, r.z, *[a for a, _ in reads]]
    whole = Program(tuple([Param(v, f"x{k}") for k, v in enumerate(names)]), tuple(b.equations),
                    tuple([Result(f"y{k}", x) for k, x in enumerate(numbers)]))
    return {"reads": [i for _, i in reads], "tape": tape(whole, {})}

