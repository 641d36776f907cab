"""Actions of the rules of the grammar: nodes of the source tree, built at once, so no parse tree exists.

An LALR parser over the kept tables, which lark has made (`adcli.lang.syntax.grammar`), folds each rule as soon as it is complete,
and nothing recurses.
"""
from __future__ import annotations

from typing import Any

from adcli.lang.ir.errors import AdError, Fix, Source
from adcli.lang.syntax.chain import BINARY, OPEN, OUTER, PREFIX, Chain, Chained, finished, open_chain, operand, two
from adcli.lang.syntax.scan import scan
from adcli.lang.syntax.tables import END, RULES, STATES
from adcli.lang.tree.nodes import (
    ELEMENTS,
    INTEGERS,
    LIST,
    Assign,
    Call,
    Clause,
    Declare,
    DeclareOutputs,
    Def,
    For,
    Item,
    Node,
    Objective,
    Parens,
    Relation,
    Statement,
    SubjectTo,
    TensorAssign,
    Token,
    TupleAssign,
    Typed,
)
from adcli.lang.tree.notation import NOT, OR, POWER, TERNARY

Parts = list[Any]
Element = tuple[Token, list[Node] | None]
"""A tensor that a statement writes, with its subscripts."""


class Actions:
    """The callbacks, named as the rules of the grammar are; each receives the parts of its rule in order."""

    def start(self, p: Parts) -> list[Statement]:
        return p[0]

    def first(self, p: Parts) -> Any:
        return p[0]

    def second(self, p: Parts) -> Any:
        return p[1]

    def no_lines(self, p: Parts) -> list[Statement]:
        return []

    none = no_lines

    def one(self, p: Parts) -> Parts:
        return [p[0]]

    def append(self, p: Parts) -> Parts:
        p[0].append(p[2])
        return p[0]

    def prepend(self, p: Parts) -> Parts:
        return [p[0], *p[2]]

    # Statements.

    def assign(self, p: Parts) -> list[Statement]:
        value = finished(p[3])
        p[0].append(Assign([p[1]], [value], p[1].start, value.end))
        return p[0]

    def line(self, p: Parts) -> list[Statement]:
        p[0].append(p[1])
        return p[0]

    def assign_results(self, p: Parts) -> Assign | TupleAssign:
        value = finished(p[2])
        return several(p[0], [value], p[3], value.end)

    def assign_each(self, p: Parts) -> Assign | TupleAssign:
        return several(p[0], [finished(p[3]), *p[5]], p[7], p[6].end)

    def assign_dup(self, p: Parts) -> Assign | TupleAssign:
        name, argument = p[2], p[3]
        if name.text != "dup":
            raise AdError(f"an operator is missing between '{name.text}' and '{argument.text}'",
                          argument.span, f"write {name.text}*{argument.text}")
        return several(p[0], [Call("dup", [argument], name.start, argument.end)], [], argument.end)

    def whole(self, p: Parts) -> Element:
        return p[0], None

    def declare(self, p: Parts) -> Declare:
        last = p[1][-1]
        end = max(n.end for n in (last.name, last.default, last.low, last.high) if n is not None)
        if type(last.name) is Typed:
            end = max(end, last.name.close)
        return Declare(p[0].text, p[1], p[0].start, end)

    def output(self, p: Parts) -> DeclareOutputs:
        return DeclareOutputs(p[1], p[0].start, p[1][-1].end)

    def def_line(self, p: Parts) -> Def:
        value = finished(p[4])
        return Def(p[1], p[2], [], [], value, value.start, p[0].start, value.end)

    def def_block(self, p: Parts) -> Def:
        for inner in p[6]:
            if not isinstance(inner, Assign | TensorAssign | TupleAssign | For):
                raise AdError("a function contains only assignments and loops", inner.span,
                              "move it out of the braces")
        return Def(p[1], p[2], p[4], p[6], None, p[5].start, p[0].start, p[7].end)

    # Problems.

    def objective(self, p: Parts) -> Objective:
        value = finished(p[1])
        return Objective(p[0], value, p[0].start, value.end)

    def condition(self, p: Parts) -> Relation:
        return Relation([finished(p[0])], [])

    def compared(self, p: Parts) -> Relation:
        p[0].parts.append(finished(p[2]))
        p[0].signs.append(p[1])
        return p[0]

    def subject_to(self, p: Parts) -> SubjectTo:
        for relation in p[2]:
            check_relation(relation)
        return SubjectTo(p[2], p[3], p[0].start, p[3][-1].end if p[3] else p[2][-1].parts[-1].end)

    # Loops.

    def header_word(self, p: Parts) -> Parts:
        return [*p[0], (p[1], None)]

    def header_until(self, p: Parts) -> Parts:
        return [*p[0], (p[1], finished(p[2]))]

    def loop(self, p: Parts) -> For:
        step, words = p[1], {word.text: node for word, node in p[4]}
        low, high = two(p[3], ":")
        if high is None:
            raise AdError(f"the step '{step.text}' needs a range", low.span,
                          f"write {step.text} in 0:N (0 to N - 1)", fix=Fix(low.start, low.start, "0:"))
        for place, (word, _) in enumerate(p[4]):
            if word.text in [w.text for w, _ in p[4][:place]]:
                raise AdError(f"'{word.text}' is written twice", word.span, "remove one of them")
        if not p[6]:
            raise AdError("a loop without statements", (p[0].start, p[7].end), f"assign elements: h({step.text} + 1) = ...")
        for inner in p[6]:
            if not isinstance(inner, Assign | TensorAssign | TupleAssign | For):
                raise AdError("a loop contains only assignments and loops", inner.span, "move it above the loop")
        return For(step, low, high, "down" in words, words.get("until"), "checkpoint" in words, p[6], p[5].start, p[0].start,
                   p[7].end)

    # Tensor comprehensions.

    def element(self, p: Parts) -> Element:
        return p[0], p[2]

    def element_empty(self, p: Parts) -> Element:
        return p[0], []

    def compute(self, p: Parts) -> TensorAssign:
        target, subscripts = p[0]
        return computed(target, subscripts, p[1], p[2], p[3])

    def compute_let(self, p: Parts) -> TensorAssign:
        return computed(p[0], None, p[1], p[2], p[4])

    def compute_typed(self, p: Parts) -> TensorAssign:
        target, subscripts = p[1]
        return computed(Typed(target, p[0], None, target.end), subscripts, p[2], p[3], p[4])

    def range_clause(self, p: Parts) -> Clause:
        low, high = two(p[2], ":")
        if high is None:
            raise AdError(f"'{p[0].text}' needs a range", low.span, f"write {p[0].text} in 0:N (0 to N - 1)")
        return Clause("range", p[0], [low, high], p[0].start, high.end)

    def let_clause(self, p: Parts) -> Clause:
        value = finished(p[2])
        return Clause("let", p[0], [value], p[0].start, value.end)

    def guard_clause(self, p: Parts) -> Clause:
        value = finished(p[0])
        return Clause("guard", None, [value], value.start, value.end)

    def exists_clause(self, p: Parts) -> Clause:
        value = finished(p[1])
        return Clause("exists", None, [value], p[0].start, value.end)

    def shape_clause(self, p: Parts) -> Clause:
        name = Typed(p[4], known(p[0]), p[2], p[4].end)
        return Clause("shape", name, [], p[0].start, name.end)

    # Declarations of inputs.

    def item(self, p: Parts) -> Item:
        return Item(p[0])

    def item_default(self, p: Parts) -> Item:
        return item(p[0], p[2])

    def item_range(self, p: Parts) -> Item:
        return item(p[0], None, *p[2])

    def item_default_range(self, p: Parts) -> Item:
        return item(p[0], p[2], *p[4])

    def item_range_default(self, p: Parts) -> Item:
        return item(p[0], p[4], *p[2])

    def sized(self, p: Parts) -> Typed:
        return Typed(p[0], None, p[2], p[3].end)

    def typed(self, p: Parts) -> Typed:
        return Typed(p[1], known(p[0]), None, p[1].end)

    def typed_input(self, p: Parts) -> Typed:
        if p[0].text not in (*ELEMENTS, *INTEGERS):
            raise AdError(f"a ',' is missing between '{p[0].text}' and '{p[1].text}'", p[1].span,
                          f"write {p[0].text}, {p[1].text}")
        return self.typed(p)

    def typed_sized(self, p: Parts) -> Typed:
        return Typed(p[1], known(p[0]), p[3], p[4].end)

    def typed_tensor(self, p: Parts) -> Typed:
        return Typed(p[4], known(p[0]), p[2], p[4].end)

    def range(self, p: Parts) -> tuple[Node, Node]:
        return finished(p[1]), finished(p[3])

    def constraint(self, p: Parts) -> tuple[None, None, Token]:
        return None, None, p[0]

    # Operands.

    def arg(self, p: Parts) -> list[Node]:
        return [finished(p[0])]

    def more_args(self, p: Parts) -> list[Node]:
        p[0].append(finished(p[2]))
        return p[0]

    def group(self, p: Parts) -> Parens:
        return Parens(finished(p[1]), p[0].start, p[2].end)

    def call(self, p: Parts) -> Call:
        return Call(p[0].text, p[2], p[0].start, p[3].end)

    def call_empty(self, p: Parts) -> Call:
        return Call(p[0].text, [], p[0].start, p[2].end)

    def list(self, p: Parts) -> Call:
        return Call(LIST, p[1], p[0].start, p[2].end)

    def operand(self, p: Parts) -> Chain:
        p[0].nodes.append(p[1])
        return p[0]

    def operand_group(self, p: Parts) -> Chain:
        return operand(p[0], Parens(finished(p[2]), p[1].start, p[3].end))

    def operand_call(self, p: Parts) -> Chain:
        return operand(p[0], Call(p[1].text, p[3], p[1].start, p[4].end))

    def operand_call_empty(self, p: Parts) -> Chain:
        return operand(p[0], Call(p[1].text, [], p[1].start, p[3].end))

    # Operators.

    def operator(self, p: Parts) -> Chain:
        chain, token = open_chain(p[0]), p[1]
        if token.text == "<=>":
            chain.down_to(OPEN)
            chain.ops.append((OUTER, "<=>", token))
            return chain
        name, level = BINARY[token.text]
        chain.down_to(level + (level == POWER))
        chain.ops.append((level, name, token))
        return chain

    def query(self, p: Parts) -> Chain:
        chain = open_chain(p[0])
        chain.down_to(OR)
        chain.ops.append((OPEN, "?", p[1]))
        return chain

    def colon(self, p: Parts) -> Chain:
        chain, token = open_chain(p[0]), p[1]
        chain.down_to(TERNARY)
        if not chain.ops or chain.ops[-1][0] != OPEN:
            chain.ops.append((OUTER, ":", token))
            return chain
        chain.ops[-1] = (TERNARY, "select", token)
        return chain

    def prefix(self, p: Parts) -> Chain:
        return self.prefix_again([Chain([]), p[0]])

    def prefix_again(self, p: Parts) -> Chain:
        chain, token = p
        name, level = PREFIX[token.text]
        if level == NOT and chain.ops and chain.ops[-1][0] > NOT:
            raise AdError(f"'{token.text}' binds less tightly than the operator before it", token.span,
                          "put parentheses around it: (not a)")
        chain.ops.append((level, name, token))
        return chain


def several(targets: list[Element], values: list[Node], clauses: list[Clause], end: int) -> Assign | TupleAssign:
    """A statement with several targets."""
    tokens, start = [token for token, _ in targets], targets[0][0].start
    if any(subscripts is not None for _, subscripts in targets):
        return TupleAssign(tokens, [n for _, n in targets], values, clauses, start, clauses[-1].end if clauses else end)
    if clauses:
        raise AdError("a where belongs to elements", (clauses[0].start, clauses[-1].end),
                      f"write elements on the left: {tokens[0].text}(i)")
    return Assign(tokens, values, start, end)


def computed(target: Token, subscripts: list[Node] | None, symbol: Token, chain: Any, clauses: list[Clause]) -> TensorAssign:
    if symbol.text in ("**=", "^=", "-=", "/=", "-=!", "/=!"):
        tensor = subscripts is not None or symbol.text.endswith("!")
        raise AdError(f"there is no '{symbol.text}'", symbol.span,
                      "make a tensor with =, +=!, *=!, min=!, max=! or lse=!, and change it with +=, *=, min=, max= or lse="
                      if tensor else f"write {target.text} = {target.text} {symbol.text[:-1]} ...")
    value, same = two(chain, "<=>")
    end = clauses[-1].end if clauses else (same or value).end
    start = target.element.start if type(target) is Typed and target.element else target.start
    return TensorAssign(target, subscripts, symbol.text, value, same, clauses, start, end)


CONDITION = "a condition is g <= 0, g == 1 or 0 <= g <= 2"


def check_relation(r: Relation) -> None:
    """AdError for what is no condition."""
    span, signs = (r.parts[0].start, r.parts[-1].end), {sign.text[0] for sign in r.signs}
    if not signs:
        raise AdError("a condition compares", span, CONDITION)
    if assigns := next((sign for sign in r.signs if sign.text == "="), None):
        raise AdError("'=' assigns", assigns.span, "write == for an equation",
                      fix=Fix(assigns.start, assigns.end, "=="))
    if len(signs) > 1 or len(r.signs) > (1 if signs == {"="} else 2):
        raise AdError("more than one condition", span, "write each by itself, with a comma between them: a <= b, c == d")


def item(name: Token, default: Any, low: Node | None = None, high: Node | None = None, constraint: Token | None = None) -> Item:
    """An input with its default and its range."""
    value = None if default is None else finished(default)
    if value is not None and type(name) is Typed and (name.extents is not None or name.element.text in INTEGERS):  # type: ignore[union-attr]
        raise AdError(f"the {'tensor' if name.extents is not None else 'integer'} '{name.text}' cannot have a default",
                      value.span, "only scalars have defaults")
    return Item(name, value, low, high, constraint)


def known(element: Token) -> Token:
    """A type of elements that the language has."""
    if element.text not in (*ELEMENTS, *INTEGERS):
        raise AdError(f"'{element.text}' is not an element type", element.span,
                      "write float or double for doubles, int32 for whole numbers")
    return element


# ---------------------------------------------------------------- LALR(1) tables

NOWHERE = -1 - len(RULES)
ACTIONS = Actions()
RULE_CALLBACKS = [(symbol, length, getattr(ACTIONS, callback)) for symbol, length, callback in RULES]
"""The rules of the grammar with what they do."""


class Unexpected(Exception):
    """The token at `index` cannot follow the ones before it."""

    def __init__(self, index: int) -> None:
        self.index = index


def read_tokens(tokens: list[Token], source: Source) -> list[Statement]:
    """Statements of the tokens of a source. Raises Unexpected where they are no statements, AdError where a callback objects."""
    try:
        return statements(tokens)
    except AdError as fault:
        fault.source = source
        if isinstance(fault, Chained):
            fault.quote(source.text)
        raise


def statements(tokens: list[Token]) -> list[Statement]:
    """Statements that the grammar's tables make of tokens."""
    states: list[int] = [0]
    values: list[Any] = []
    for index, token in enumerate((*tokens, Token("$END", "", 0, 0))):
        kind = token.type
        while (what := STATES[states[-1]].get(kind, NOWHERE)) < 0:
            if what == NOWHERE:
                raise Unexpected(max(0, min(index, len(tokens) - 1)))
            symbol, length, callback = RULE_CALLBACKS[~what]
            cut = len(values) - length
            parts = values[cut:]
            del values[cut:], states[cut + 1:]
            values.append(callback(parts))
            states.append(STATES[states[-1]][symbol])
            if states[-1] == END:
                return values[0]
        values.append(token)
        states.append(what)
    raise AssertionError("the tables accept no end")


def read_line(text: str, start: int) -> Assign:
    """The assignment that starts there, which a KnownLine is."""
    made = statements(scan(text, start=start, one=True)[0])[0]
    assert type(made) is Assign
    return made
