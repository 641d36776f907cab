"""Tensor comprehensions to equations.

A statement becomes one comprehension: the accesses in it are collected, ranges inferred, and the expression, with every
read replaced by an input, becomes the body, a scalar program. `*=` and `lse=` onto a value that exists are a reduction of
their own and an elementwise combination. A choice by a condition on indices whose arms read outside of their tensors
elsewhere, as in `i - 1 >= 0 ? A(i - 1) : 0`, becomes one comprehension for each arm.
"""
from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from adcli.lang.expressions.assignments import check_name
from adcli.lang.expressions.reductions import combination, compacted, first_place, updated
from adcli.lang.expressions.scope import POISON, EquationScope
from adcli.lang.expressions.subscripts import check_elements, operands
from adcli.lang.ir import Atom, Equation, Program, Result, Shape, Var
from adcli.lang.ir.affine import Affine, Index, NewSubstitution, affine, greatest, never_negative, substituted, text, weight
from adcli.lang.ir.errors import AdError, Fix, Span, plural
from adcli.lang.operations.comprehension import (
    MOST_DIMENSIONS,
    NEUTRAL,
    Agreement,
    Comprehension,
    Read,
    Subscript,
    all_fixed,
    covers,
    identity_body,
    needed_guards,
    with_index_powers,
)
from adcli.lang.operations.matrix import Boxed
from adcli.lang.sizes.condition_dnf import EVERYWHERE, SPLITS
from adcli.lang.sizes.histories import Gappy, box_of, extent_over, goes_beyond, written_box, written_region
from adcli.lang.sizes.in_bounds import larger_shape
from adcli.lang.sizes.ranges import Access, Domain, Given, infer, outside
from adcli.lang.statements.comprehension_body import (
    LONGEST_EXTENT,
    NO_RECURRENCE,
    Computed,
    Elements,
    Poisoned,
    dimensions,
    extents,
    is_integer,
    is_whole,
    require_dimensions,
    shape_of,
    size_of,
)
from adcli.lang.statements.index_conditions import (
    Arm,
    IndexChoices,
    IndexTest,
    Piece,
    PlaceComparisons,
    conditions_in,
    limits,
    pieces_where,
)
from adcli.lang.tree.nodes import (
    Call,
    Clause,
    Def,
    For,
    Node,
    TensorAssign,
    Token,
    Typed,
    bare,
    names_in,
    postorder,
    targets_of,
    within,
)

REDUCTION_OF = {"=": "=", "+=!": "+", "+=": "+", "*=!": "*", "*=": "*", "min=!": "min", "min=": "min", "max=!": "max",
              "max=": "max", "lse=!": "lse", "lse=": "lse", "argmin=!": "min", "argmax=!": "max"}
ELSEWHERE = math.inf
"""How far an element is from one that is never the same."""


class TensorStatement:
    """One statement of tensors in a scope."""

    computed: dict[tuple[IndexTest, ...], Computed]
    """Subscripts that are computed, by the conditions of the arm that they stand in."""
    tests: tuple[IndexTest, ...]
    """The conditions of the arm that is looked at."""
    stated: Sequence[Piece]
    """The conditions in where."""
    arm: Arm | None = None
    """The arm that is gathered."""
    looking = False
    """Dry run: emit no statements for computed subscripts."""
    rest: tuple[Affine, ...] = ()
    """The extents of the dimensions after the subscripts of the target."""

    def __init__(self, scope: EquationScope, statement: TensorAssign) -> None:
        self.scope, self.tensors, self.s, self.context = scope, scope.tensors, statement, scope.context
        self.name, self.passed_over = statement.target.text, set[str]()
        self.computed, self.tests, self.stated = {}, (), ()
        self.before = self.existing()
        self.declared = self.declared_shape()
        self.whole = self.holds_whole_numbers()

    def existing(self) -> Atom | None:
        atom = self.onto() or self.scope.env.get(self.name)
        if atom is POISON:
            raise Poisoned
        if atom is not None and isinstance(atom, Var) and len(atom.shape) != len(self.s.subscripts or ()):
            raise self.context.fault(f"'{self.name}' has {dimensions(len(atom.shape))}, not "
                                     f"{len(self.s.subscripts or ())}", self.s.target)
        if atom is None and self.s.symbol in ("+=", "*=", "min=", "max=", "lse="):
            self.context.note(f"'{self.name}' has no value yet, so {self.s.symbol} acts as {self.s.symbol}!", self.s.target)
        return atom

    def holds_whole_numbers(self) -> bool:
        """Whether the target is declared to hold whole numbers, or goes on from a value that does."""
        token, before = self.s.target, self.before
        typed = [c.name for c in self.s.clauses if c.kind == "shape"]
        declared = any(is_integer(t) for t in (token, *typed) if t is not None) or self.name in self.tensors.whole
        if declared and isinstance(before, Var) and not before.whole and not self.s.symbol.endswith("!") and self.s.symbol != "=":
            raise self.context.fault(f"'{self.name}' holds numbers that need not be whole", token, f"write {self.s.symbol}!")
        return declared or (isinstance(before, Var) and before.whole) or self.s.symbol.startswith("arg")

    def declared_shape(self) -> Shape | None:
        for clause in self.s.clauses:
            if clause.kind == "shape" and type(clause.name) is Typed:
                if clause.name.text != self.name:
                    raise self.context.fault(f"this statement writes '{self.name}', not '{clause.name.text}'", clause.name)
                return extents(self.scope, clause.name)
        return self.tensors.declared.get(self.name)

    def run(self) -> Atom:
        """Emit the statement; the value that the target has then."""
        if self.s.same is not None:
            self.context.note("'<=>' is ignored: the comprehension is computed as written", self.s.target)
        self.check_new()
        arms = self.stated_arms()
        self.stated = [arm.tests for arm in arms]
        at = 0
        while at < len(arms):
            split = self.split(arms[at])
            if split is None:
                at += 1
                continue
            if len(arms) == SPLITS and len(split) > 1:
                raise self.context.fault(f"the choices in this statement make more than {SPLITS} comprehensions",
                                         self.s.target, "write them as statements of their own, with conditions in where")
            self.forget_subscripts(arms[at])
            arms[at:at + 1] = split
        made = [self.comprehension(p) for p in arms]
        symbol, result = self.s.symbol, self.before
        if symbol.startswith("arg"):
            made, symbol = self.places(made), "min=!"
        made = self.together(made)
        for op, args, last in [(*m, m is made[-1]) for m in made]:
            result = self.emitted(op, args, symbol, result, last)
            symbol = symbol.removesuffix("!")
        assert result is not None
        return result

    def together(self, made: list[tuple[Comprehension, list[Atom]]]) -> list[tuple[Comprehension, list[Atom]]]:
        """The comprehensions of the statement, each of which goes on from what the one before has made."""
        return made

    def places(self, made: list[tuple[Comprehension, list[Atom]]]) -> list[tuple[Comprehension, list[Atom]]]:
        """The comprehensions whose least value is the first place of the extremum of `made`, infinity where there is none."""
        if not all(e.op.llvm for op, _ in made for e in op.body.equations):   # the same bits twice
            made = [self.kept(op, args) for op, args in made]
        symbol, extremum = self.s.symbol.removeprefix("arg"), None
        for op, args in made:
            extremum = self.emitted(op, args, symbol, extremum, False, False)
            symbol = symbol.removesuffix("!")
        assert extremum is not None
        return [first_place(op, args, extremum, self.along(op)) for op, args in made]

    def along(self, op: Comprehension) -> Index:
        """The index along which a place is found."""
        reduced = [i for i in op.indices if not any(isinstance(w, Affine) and i in w.indices() for w in op.write)]
        if len(reduced) != 1:
            raise self.context.fault(f"{self.s.symbol} finds the place along one index, and this statement reduces over "
                                     f"{', '.join(repr(i.name) for i in reduced) or 'none'}", self.s.target,
                                     "write the others on the left, and reduce again")
        return reduced[0]

    def kept(self, op: Comprehension, args: list[Atom]) -> tuple[Comprehension, list[Atom]]:
        """The comprehension of values that are computed before, one for each point."""
        here = tuple(affine(r.index) - r.low for r in op.ranges)
        shape = tuple(r.high - r.low for r in op.ranges)
        value = self.equation(replace(op, reduction="=", write=here, shape=shape), args, False, False)
        return replace(op, sources=(Read(0, here),), body=identity_body(), agreements=()), [value]

    def subscript(self, node: Node, what: str) -> tuple[Var, tuple[tuple[str, Affine], ...]]:
        """A subscript that is computed, as a tensor of whole numbers over the indices that it has: a statement of its own, ahead
        of this one, or of the loop that this one stands in."""
        scope, somewhere = self.around(), list[Affine]()
        b = self.inner_elements()
        for token in b.unknown_names(node):   # names that are nothing else are indices
            b.extent_or_index(token)
        b.replaced(node)
        clauses = [c for c in self.s.clauses if c.kind == "range" and c.name is not None and c.name.text in b.indices]
        given = [replace(g, index=b.indices[g.index.name]) for g in self.ranges_around(b) if g.index.name in b.indices]
        given += [g for c in clauses for g in self.given(b, c)]
        if self.is_checked() and self.arm is not None and self.arm.domain is not None:
            own = {r.index.name: r for r in self.arm.domain.ranges}
            given = [Given(i, own[name].low, own[name].high) for name, i in b.indices.items() if name in own]
            somewhere = self.not_empty(b.indices, self.arm.domain)
        try:
            domain = infer(list(b.indices.values()), b.accesses, given, (), self.context.source)
        except AdError as fault:
            fault.span = fault.span or node.span
            given += self.ranges_elsewhere(b.indices, [g.index for g in given], fault)
            domain = infer(list(b.indices.values()), b.accesses, given, (), self.context.source)
        within = [t for t in self.tests if all(n.text in b.indices for side in (t.left, t.right) for n in b.unknown_names(side))]
        guards = [*limits(b.affine, within), *somewhere]
        b = self.inner_elements()
        b.indices = {r.index.name: r.index for r in domain.ranges}
        atom = b.value(b.folded(b.replaced(node)))
        b.require("r", atom, node)
        if not is_whole(atom, b.params, b.sources, b.equations, b.args):
            text = self.context.text(node)
            raise self.context.fault(f"{what} is not a whole number: {text}", node, f"write floor({text}) or round({text})")
        body = Program(tuple(b.params), tuple(b.equations), (Result("z", atom),))
        op = Comprehension(ranges=domain.ranges, write=tuple(affine(r.index) - r.low for r in domain.ranges),
                           shape=tuple(r.high - r.low for r in domain.ranges), reduction="=", sources=tuple(b.sources), body=body,
                           guards=needed_guards((*domain.guards, *guards), domain.ranges), agreements=domain.agreements)
        out = Var(None, True, False, op.shape, False, True)
        op, args = compacted(op, b.args)
        scope.equations.append(Equation((out,), op, tuple(args), node.span))
        return out, tuple((r.index.name, r.low) for r in domain.ranges)

    def not_empty(self, indices: Mapping[str, Index], domain: Domain) -> list[Affine]:
        """Guards that leave points of some indices only where the other ranges of a domain have any."""
        by: NewSubstitution = {r.index: affine(indices[r.index.name]) for r in domain.ranges if r.index.name in indices}
        lengths = [substituted(r.high - r.low, by) for r in domain.ranges if r.index.name not in indices]
        return [n - 1 for n in lengths if {*indices.values()}.issuperset(n.indices())]

    def is_checked(self) -> bool:
        return self.arm is not None and self.arm.checked

    def inner_elements(self) -> Elements:
        """What a computed subscript is read into; its conditions may read what other conditions keep inside."""
        b = Elements(self.around(), self.s)
        if self.is_checked():
            b.whole, b.compute = self.computed.setdefault(self.tests, {}), self.subscript
        return b

    def ranges_elsewhere(self, indices: Mapping[str, Index], stated: Collection[Index], fault: AdError) -> list[Given]:
        """The ranges that the rest of the statement gives to indices of a computed subscript. AdError, as the `fault`, where it
        gives none either."""
        if self.arm is None:
            raise fault
        self.looking = True
        try:
            b, _, write, _, given = self.gathered(self.arm)
            known = {r.index.name: r for r in (self.arm.domain or self.domain(b, write, given)).ranges}
        except (AdError, Poisoned):
            raise fault from None
        finally:
            self.looking = False
        if not all(name in known for name in indices):
            raise fault
        return [Given(i, known[name].low, known[name].high) for name, i in indices.items() if i not in stated]

    def around(self) -> EquationScope:
        """Where the statements stand that compute subscripts."""
        return self.scope

    def forget_subscripts(self, arm: Arm) -> None:
        """Take back the statements that compute the subscripts of an arm."""
        made = {atom for atom, _ in self.computed.pop(tuple(arm.tests), {}).values()}
        if made:
            equations = self.around().equations
            equations[:] = [e for e in equations if e.outs[0] not in made]

    # One comprehension.

    def gathered(self, arm: Arm) -> tuple[Elements, Node, tuple[Subscript, ...], list[Affine], list[Given]]:
        """Reads, subscripts of the target, guards and stated ranges; what subscripts need that are computed is emitted, unless
        they are only looked at."""
        self.arm = arm
        self.tests = tuple(arm.tests)
        b = self.elements()
        if arm.domain is not None:
            b.indices = {r.index.name: r.index for r in arm.domain.ranges}
        b.lets = arm.lets
        nodes = list(self.s.subscripts or ())
        write = tuple([b.subscript(n, f"dimension {d} of '{self.name}'")[1] for d, n in enumerate(nodes)])
        value = b.replaced(arm.value)
        b.lets = {name: b.replaced(node) for name, node in b.lets.items()}
        given, guards = self.ranges_around(b), []
        for c in self.s.clauses:
            if c.kind == "range" and c.name is not None:
                given += self.given(b, c)
            elif c.kind == "exists":
                count = len(b.sources)
                b.replaced(c.nodes[0])
                del b.sources[count:], b.params[count:]
        guards += limits(b.affine, arm.tests)
        if arm.domain is None and conditions_in(arm):
            under = PlaceComparisons(b).guarded(arm.roots())
            b.accesses = [replace(a, where=under[a.spans].where) if a.spans in under else a for a in b.accesses]
        self.check_own_reads(b, write, given, guards)
        return b, value, write, guards, given

    def elements(self) -> Elements:
        made = Elements(self.scope, self.s)
        if self.looking:
            made.compute = lambda node, what: (Var(None, True), tuple([(t.text, affine(0)) for t in made.unknown_names(node)]))
        else:
            made.whole, made.compute = self.computed.setdefault(self.tests, {}), self.subscript
        made.passed_over = self.passed_over
        return made

    def ranges_around(self, b: Elements) -> list[Given]:
        """The ranges of indices that what stands around the statement says."""
        return []

    def check_own_reads(self, b: Elements, write: tuple[Subscript, ...], given: list[Given], guards: Sequence[Affine]) -> None:
        """A statement reads the elements that were there before it. A fixed number of steps from the element that it writes that
        is hardly ever meant, so it is an error; elsewhere it is remarked, unless it is the very element that is written. Where
        all elements that are read are others than those that are written, no other can be meant."""
        for a in b.accesses:
            if a.tensor != self.name:
                continue
            lags = [lag(r, w) for r, w in zip(a.subscripts, write, strict=False)]
            if ELSEWHERE in lags or not any(steps != 0 for steps in lags) or self.is_apart(a, b, write, given, guards):
                continue
            for d, steps in enumerate(lags):
                if steps:
                    side = "behind" if steps < 0 else "ahead of"
                    said = (f"'{self.name}' is read {plural(int(abs(steps)), 'step')} {side} the element that is written: "
                            "the element from before this statement, not one that it makes")
                    raise self.meant_as_loop(said, a.span(d), f"; for the elements from before, write to another name than "
                                             f"'{self.name}'")
            if any(steps is None for steps in lags):
                self.context.note(f"this reads the elements that '{self.name}' had before this statement", a.span(0))

    def is_apart(self, a: Access, b: Elements, write: tuple[Subscript, ...], given: list[Given],
                 guards: Sequence[Affine]) -> bool:
        """Whether the elements of an access are surely others than those that the statement writes."""
        try:
            domain = self.arm.domain if self.arm and self.arm.domain else self.domain(b, write, given)
        except (AdError, Poisoned):
            return False
        for read, own in zip(a.subscripts, write, strict=False):
            box = None if read is None else box_of((read, own), domain.ranges, (*domain.guards, *guards))
            if box is not None and any(never_negative(low - high) for (_, high), (low, _) in (box, box[::-1])):
                return True
        return False

    def check_new(self) -> None:
        """A tensor that nothing made before has no elements to be read."""
        own = own_reads(self.s) if self.before is None and not self.scope.is_function(self.name) else []
        if own:
            said = f"'{self.name}' has no elements before this statement, which cannot read those that it makes"
            raise self.meant_as_loop(said, own[0].span)

    def meant_as_loop(self, said: str, span: Span | None, otherwise: str = "") -> AdError:
        """What is said of a statement that reads what it makes: the loop that it may be meant as."""
        self.passed_over = {self.name}
        try:
            b, _, write, _, given = self.gathered(self.stated_arms()[0])
            ends = {r.index.name: (text(r.low), text(r.high)) for r in self.domain(b, write, given).ranges}
        except (AdError, Poisoned):
            ends = {}
        from adcli.lang.expressions.suggest_statements import suggested_loop  # only after a fault
        offer = suggested_loop(self.context, self.s, own_reads(self.s), ends, self.before is not None)
        fault = AdError(said, span, NO_RECURRENCE + otherwise, self.context.source)
        if offer is not None and ends:
            loop, invented = offer
            fault.fix = Fix(self.s.start, self.s.end, loop)
            fault.help = f"write {loop}" + (", with the start that you mean" if invented else "") + otherwise
        return fault

    def check_elements(self, accesses: Sequence[Access], domain: Domain) -> None:
        """Every element that is read has been written."""
        for a in accesses if self.tensors.written else ():
            check_elements(self.context, self.tensors.written, self.scope.env.get(a.tensor), a, domain.ranges, domain.guards)

    def is_onto(self, clause: Clause) -> bool:
        """Whether `where C = D` names the tensor that the target starts from."""
        return clause.kind == "let" and clause.name is not None and clause.name.text == self.name

    def given(self, b: Elements, clause: Clause) -> list[Given]:
        """A stated range; one with `max` as its lower end or `min` as its upper end is the common part of several."""
        assert clause.name is not None
        lows, highs = ([self.bound(b, n, clause.name.text) for n in operands(node, name)]
                       for node, name in zip(clause.nodes, ("max", "min"), strict=True))
        index = b.extent_or_index(clause.name).index
        if index is None:
            raise self.context.fault(f"'{clause.name.text}' is a size and has no range", clause.name)
        return [Given(index, low, high, clause.span) for low in lows for high in highs]

    def bound(self, b: Elements, node: Node, name: str) -> Affine:
        b.bounds.refuse_sizes(node)
        for inner in postorder(node):
            value = inner.name if type(inner) is Call else inner.text if type(inner) is Token else ""
            known = type(inner) is Token and size_of(self.scope, value) is not None
            if value in self.scope.env and not known:
                raise self.context.fault(f"the range of index '{name}' depends on the value of '{value}'", inner,
                                         "a range is made of sizes, whole numbers and other indices" +
                                         (f"; if it is one, declare input int32 {value}" if self.is_number(inner) else ""))
        return b.bounds.read(node, f"the range of index '{name}'")

    def is_number(self, node: Node) -> bool:
        """Whether a name is that of an input that is one number."""
        atom = self.scope.env.get(node.text) if type(node) is Token else None
        return atom is not None and not shape_of(atom) and not any(atom in e.outs for e in self.around().equations)

    def stated_arms(self) -> list[Arm]:
        """The statement under its conditions in where: one arm, or several where these leave more than one piece of the box."""
        lets = {c.name.text: c.nodes[0] for c in self.s.clauses if c.kind == "let" and not self.is_onto(c) and c.name is not None}
        for c in self.s.clauses:
            if c.name is not None and c.name.text in lets:
                check_name(self.context, c.name)
        arms = [Arm(self.s.value, lets, [])]
        for clause in self.s.clauses:
            if clause.kind == "guard":
                node = clause.nodes[0]
                pieces = pieces_where(self.context, node, True)
                if len(arms) * len(pieces) > SPLITS:
                    raise self.context.fault(f"the conditions of this statement make more than {SPLITS} comprehensions", node)
                arms = [Arm(arm.value, lets, [*arm.tests, *piece]) for arm in arms for piece in pieces]
        return arms

    def comprehension(self, arm: Arm) -> tuple[Comprehension, list[Atom]]:
        b, value, write, guards, given = self.gathered(arm)
        require_dimensions(self.context, len(write), self.s.target)
        if len(b.indices) > MOST_DIMENSIONS:
            raise self.context.fault(f"this statement has {len(b.indices)} indices; the most is {MOST_DIMENSIONS}",
                                     self.s.target)
        domain = arm.domain or self.domain(b, write, given)
        domain = replace(domain, guards=needed_guards((*domain.guards, *guards), domain.ranges))
        self.check_inside(b, domain)
        shape = self.shape(write, domain)
        self.remark_gaps(write, shape, domain)
        for name, node in b.lets.items():
            b.env[name] = b.value(b.folded(node))
        atom = b.value(b.folded(value))
        b.require("r", atom, self.s.value)
        self.check_written(write, domain)
        if self.whole and not self.s.symbol.startswith("arg") and not is_whole(atom, b.params, b.sources, b.equations, b.args):
            text = self.context.text(self.s.value)
            raise self.context.fault(f"'{self.name}' holds whole numbers, and this need not be one", self.s.value,
                                     f"write floor({text}), round({text}) or trunc({text})")
        body = with_index_powers(Program(tuple(b.params), tuple(b.equations), (Result("z", atom),)), b.sources)
        agreements = (*self.tensors.pending, *domain.agreements, *self.same_shape(shape))
        self.tensors.pending.clear()
        op = Comprehension(ranges=domain.ranges, guards=domain.guards, write=write, shape=shape,
                           reduction=REDUCTION_OF[self.s.symbol], sources=tuple(b.sources), body=body, agreements=agreements)
        return compacted(op, b.args)

    def check_inside(self, b: Elements, domain: Domain) -> None:
        """Every element that is read has been written, and is there."""
        self.check_elements(b.accesses, domain)
        for access in b.accesses:
            fault = outside(access, domain, self.context.source)
            if fault:
                if access.where != EVERYWHERE:
                    fault.help = "a read under a condition bounds no index: " + (
                        "in a loop keep the subscript inside by max or min, as in x(max(t - 1, 0))" if self.assigned() else
                        "say the range in where, or keep the subscript inside")
                raise fault

    def domain(self, b: Elements, write: tuple[Subscript, ...], given: list[Given]) -> Domain:
        known = self.declared if self.declared is not None else None if self.before is None else shape_of(self.before)
        writes = [] if known is None else [self.write_access(write, known)]
        try:
            where = tuple([tuple(limits(b.affine, piece)) for piece in self.stated]) or EVERYWHERE
            domain = infer(list(b.indices.values()), b.accesses, given, writes, self.context.source, write, where)
        except AdError as fault:
            if fault.span is None:
                fault.span = self.s.span
            if self.is_like_function(b):
                text = self.context.text(Token("", "", self.s.start, self.s.end), 60)
                names = [n.text for n in self.s.subscripts or () if type(n) is Token]
                kind = {1: "vector", 2: "matrix"}.get(len(names), "tensor")
                fault.message = f"{self.name}({', '.join(names)}) = ... defines a {kind} {self.name} with " \
                                f"ind{'ex' if len(names) == 1 else 'ices'} {' and '.join(names)}"
                fault.help, fault.fix = f"for a function write def {text}", Fix(self.s.start, self.s.start, "def ")
                if {*names} <= {*"ijklmn"}:
                    size = next(iter(self.scope.tensors.sizes), "3")
                    ranges = ", ".join([f"{name} in 0:{size}" for name in names])
                    fault.help, fault.fix = f"give ranges to the indices: where {ranges}; {fault.help}", None
            raise
        if self.s.symbol == "=":
            self.check_not_reduced(b, write)
        return domain

    def is_like_function(self, b: Elements) -> bool:
        """Whether the statement reads no element, and its subscripts are names that it reads: `f(x) = x**2`."""
        names = names_in(*(n for n in self.s.subscripts or () if type(n) is Token))
        read = {n.text for n in postorder(self.s.value) if type(n) is Token}
        made = self.name.startswith("#")   # for a side of a condition
        made |= self.whole or self.before is not None or self.declared is not None
        plain = not made and self.s.symbol == "=" and not self.s.clauses
        return plain and not b.accesses and 0 < len(names) == len(self.s.subscripts or ()) and bool(read & {*names})

    def write_access(self, write: tuple[Subscript, ...], known: Shape) -> Access:
        if len(known) != (given := len(write) + len(self.rest)):
            raise self.context.fault(f"'{self.name}' has {dimensions(len(known))}, not {given}", self.s.target)
        spans = tuple(n.span for n in self.s.subscripts or ())
        return Access(self.name, known[:len(write)], tuple(w if isinstance(w, Affine) else None for w in write), spans)

    def check_not_reduced(self, b: Elements, write: tuple[Subscript, ...]) -> None:
        left = {i for w in write if isinstance(w, Affine) for i in w.indices()}
        for name, index in b.indices.items():
            if index not in left and all(isinstance(w, Affine) for w in write):
                first = next((t for a in b.accesses for d, x in enumerate(a.subscripts) if x is not None and x.coefficient(index)
                              for t in [a.span(d)] if t), None)
                from adcli.lang.expressions.suggest_statements import suggested_sum  # only after a fault
                said = suggested_sum(self.context.tree, self.s.value.start, self.scope.env, self.tensors.sizes)
                raise AdError(f"index '{name}' on the right is not on the left of '='", first or self.s.span,
                              said.help, self.context.source, fix=said.fix)

    def check_written(self, write: tuple[Subscript, ...], domain: Domain) -> None:
        subscripts = [w for w in write if isinstance(w, Affine)]
        if self.s.symbol == "=" and len(subscripts) == len(write) and not all_fixed(domain.ranges, subscripts):
            raise self.context.fault(f"two points write the same element of '{self.name}'", self.s.target,
                                     "write +=! to add them up, or give each point an element of its own")

    def shape(self, write: tuple[Subscript, ...], domain: Domain) -> Shape:
        """The extents of the result: declared, those of the value it starts from, or what the greatest subscripts ask for."""
        known = self.declared
        if known is None and self.before is not None and not self.s.symbol.endswith("!"):
            known = shape_of(self.before)
        if known is None and any(not isinstance(w, Affine) for w in write):
            raise self.context.fault(f"the shape of '{self.name}' is not known: its subscripts are read from a tensor",
                                     self.s.target, f"declare its shape: where float(N) {self.name}")
        shape = known if known is not None else (*self.extents(write, domain), *self.rest)
        for d, extent in enumerate(shape):
            if weight(extent) > LONGEST_EXTENT:
                raise self.context.fault(f"the extent of dimension {d} of '{self.name}' is too long an expression",
                                         self.s.target, "give the indices plain ranges: where i in 0:N")
        fault = outside(self.write_access(write, shape), domain, self.context.source, "written")
        if fault:
            if known is not None and not self.is_stated_shape(known):
                needed = [greatest(n, domain.last(w) + 1) if isinstance(w, Affine) else n
                          for n, w in zip(shape, write, strict=False)]
                fault.help = larger_shape(self.name, needed)
            raise fault
        return shape

    def is_stated_shape(self, known: Shape) -> bool:
        """Whether this statement says the shape of its target."""
        return known is self.declared

    def extents(self, write: tuple[Subscript, ...], domain: Domain) -> Shape:
        """The extents that the greatest subscripts ask for, those of other statements too where these are looked at ahead."""
        found = [domain.last(w) + 1 for w in write if isinstance(w, Affine)]
        history = self.tensors.histories.get(self.name)
        for d, intervals in enumerate(history.along[:len(write)] if history is not None else ()):
            own = found[d]
            single = bool(intervals) and is_single(write[d])   # its own element is one of theirs
            found[d] = extent_over(intervals) if single else \
                extent_over([each for each in intervals if goes_beyond(*each, own)], own)
        return tuple(found)

    def same_shape(self, shape: Shape) -> list[Agreement]:
        """A tensor that is made anew has the extents that it had."""
        before = () if self.before is None else shape_of(self.before)
        found = []
        for d, (old, new) in enumerate(zip(before, shape, strict=True) if before else ()):
            said = f"dimension {d} of '{self.name}' has %d elements here, and had %d before"
            if old.number is not None and new.number is not None and old.number != new.number:
                raise self.context.fault(said % (new.number, old.number), self.s.target)
            if old != new:
                found.append(Agreement(new, old, said, self.s.span))
        return found

    # What the target was before.

    def emitted(self, op: Boxed, args: list[Atom], symbol: str, before: Atom | None, last: bool,
                whole: bool | None = None) -> Atom:
        onto, whole = before, self.whole if whole is None else whole
        if symbol.endswith("!") or onto is None or not isinstance(op, Comprehension) or (symbol == "=" and covers(op)):
            return self.equation(op, args, last, whole)
        if op.reduction not in ("*", "lse"):
            return self.equation(replace(op, onto=len(args)), [*args, onto], last, whole)
        if all_fixed(op.ranges, op.write):
            return self.equation(*updated(op, args, onto), last, whole)
        fresh = self.equation(op, args, False, whole)
        return self.equation(*combination(op, onto, fresh), last, whole)

    def onto(self) -> Atom | None:
        """What `where C = D` says that C starts from."""
        clause = next((c for c in self.s.clauses if self.is_onto(c)), None)
        node = bare(clause.nodes[0]) if clause else None
        if clause is None:
            return None
        if type(node) is not Token or node.type != "NAME":
            raise self.context.fault(f"'{self.name}' starts from a tensor", clause.nodes[0], f"write where {self.name} = D")
        return self.scope.read(node)

    def equation(self, op: Boxed, args: Sequence[Atom], last: bool, whole: bool) -> Var:
        unnamed = self.name.startswith("#")
        out = Var(None if unnamed else self.name, unnamed or self.tensors.inlined or not last, False, op.shape, False, whole)
        self.keep_written(op, args, out)
        self.scope.equations.append(Equation((out,), op, tuple(args), self.s.span))
        return out

    def keep_written(self, op: Boxed, args: Sequence[Atom], out: Var) -> None:
        """Remember which elements of a tensor that a loop below goes on with are written; one whose shape is stated has all."""
        history = self.tensors.histories.get(self.name)
        if history is None or self.declared is not None:
            return
        before = None if op.onto is None else self.tensors.written.get(args[op.onto])
        box = written_box(op)
        if box is not None and history.place < len(op.write) and (op.onto is None or before is not None):
            self.tensors.written[out] = (before or Gappy(history.place)).also(box, regions=[written_region(op)])

    # Choices by conditions on indices.

    def split(self, arm: Arm) -> list[Arm] | None:
        """The arm as two, where an arm of a choice by an index reads outside of a tensor unless the condition holds."""
        choices = conditions_in(arm)
        if not choices:
            return None
        b, _, write, guards, given = self.gathered(arm)
        found = IndexChoices(arm, choices, b, arm.domain or self.domain(b, write, given), guards)
        pieces = found.split()
        if pieces is None and not arm.checked and (checked := found.checked(self.assigned())):
            pieces = [checked]
        return pieces

    def assigned(self) -> Collection[str]:
        """The names of which nothing can be computed ahead of this statement."""
        return ()

    def is_only_statement(self) -> bool:
        """Test for a tensor that the text assigns once."""
        targets = [t.text for top in self.context.tree.statements for s in within(top) if not isinstance(s, Def | For)
                   for t in targets_of(s)]
        return targets.count(self.name) == 1

    def remark_gaps(self, write: tuple[Subscript, ...], shape: Shape, domain: Domain) -> None:
        """A note on elements that are not written because what is read leaves them out of a range that is not stated."""
        if not write or (self.before is not None and not self.s.symbol.endswith("!")):
            return
        guards = [c.nodes[0] for c in self.s.clauses if c.kind == "guard"]
        told = {t.text for node in guards for t in postorder(node) if type(t) is Token}
        stated = {r.index for r in domain.ranges if r.why == "where" or r.index.name in told}
        for d, (w, extent) in enumerate(zip(write, shape, strict=True)):
            index = w.index if isinstance(w, Affine) else None
            if index is None or index in stated:
                continue
            r = next(r for r in domain.ranges if r.index is index)
            start = NEUTRAL[REDUCTION_OF[self.s.symbol]]
            for place, more in ((f"below {text(r.low)}", r.low), (f"from {text(r.high)} on", extent - r.high)):
                if (more.number or 0) > 0 and self.is_only_statement():
                    self.context.note(f"'{self.name}' stays {start:g} {place} in dimension {d}: index '{index.name}' runs over "
                                      f"{text(r.low)}:{text(r.high)}, {r.why}; state a range in where for other elements",
                                      self.s.target)


def own_reads(s: TensorAssign) -> list[Call]:
    """The reads of the tensor that a statement writes."""
    name, count = s.target.text, len(s.subscripts or ())
    return [n for n in postorder(s.value) if type(n) is Call and n.name == name and len(n.args) == count]


def lag(read: Affine | None, write: Subscript) -> float | None:
    """By how many steps a subscript that is read is beyond the one that is written; `ELSEWHERE` where no two points have it the
    same, as odd and even ones, None where it is no fixed number of steps."""
    if read is None or not isinstance(write, Affine):
        return None
    steps, stride = (read - write).number, math.gcd(*[c for a, c in write.terms if not isinstance(a, str)])
    return ELSEWHERE if steps and (not stride or steps % stride) else steps


def is_single(subscript: Subscript) -> bool:
    """Whether a subscript names one element."""
    return isinstance(subscript, Affine) and not subscript.indices()
