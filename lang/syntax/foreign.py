"""Spellings of other languages and of paper for constructs of this one: a table of patterns, asked only after a fault of syntax.

A pattern is a regular expression in which a blank is any blanks, and a slot stands for a piece of the program:

    <n> a name    <v> names with commas    <k> a number    <a> an operand: x, 2.5, f(x), (e)    <p> one with sign and exponents
    <t> a tensor of the program    <m> a product    <s> one with its sign    <j> a power, with a number before it
    <e> an expression, with no comma    <l> anything that closes its brackets    <c> any

In what is to be written, {0} is what the first slot or group holds; {0:sum} puts parentheses around it where a sum needs them. A
row proposes; `mend` makes a proposal only where the statement reads with it, alone or together with others.
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, count
from typing import NamedTuple

from adcli.lang.ir.errors import AdError, Fix, Source, plural
from adcli.lang.ir.names import ACCESS, NAME, sliced
from adcli.lang.ir.notation import ATOM, OR, POWER, PRODUCT, SUM, TERNARY, UNARY, enclosed
from adcli.lang.ir.primitives import TABLE as PRIMITIVES
from adcli.lang.syntax.chain import level
from adcli.lang.syntax.characters import misplaced
from adcli.lang.syntax.lalr import Unexpected, read_tokens
from adcli.lang.syntax.scan import scan
from adcli.lang.tree.nodes import Assign


class Spelling(NamedTuple):
    """A pattern, what is written for it here, the word or sign that there is none of (default: what is found; with blanks, the
    whole message), and the help where `write` and what is written would not do."""

    pattern: str
    written: str
    none: str = ""
    help: str = ""


def nested(plain: str, depth: int = 5) -> str:
    """A character like `plain`, or brackets with anything inside that is closed again."""
    inner = r"[^()\[\]{}]"
    for _ in range(depth):
        inner = rf"(?:[^()\[\]{{}}]|[(\[{{]{inner}*[)\]}}])"
    return rf"(?:{plain}|[(\[{{]{inner}*[)\]}}])"


EXPRESSION = nested(r"(?:[<>=!]=|[^()\[\]{},;=])")
ANYTHING = nested(r"[^()\[\]{}]")
NUMBER = r"(?<![\w.])(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?(?!\w)"
OPERAND = rf"(?:{NAME}(?: ?\({ANYTHING}*\))?|{NUMBER}|(?<![\w.])\({ANYTHING}*\))"
POWERS = rf"{OPERAND}(?:\s*(?:\*\*|\^)\s*[-+]?{OPERAND})*"
PRODUCTS = rf"{POWERS}(?:\s*[*/]\s*{POWERS})*"
SLOTS = {
    "n": NAME, "t": NAME, "v": rf"{NAME}(?:\s*,\s*{NAME})*", "k": NUMBER, "a": OPERAND, "p": rf"[-+]?{POWERS}", "m": PRODUCTS,
    "j": rf"(?:\d+(?:\.\d+)?\s?)?\\?(?:(?<=[\d\\])[^\W\d]\w*|{OPERAND})(?:\s*(?:\*\*|\^)\s*[-+]?{OPERAND})*",
    "s": rf"(?:(?<![\w.)\]])(?<![\w.)\]] )-)?{PRODUCTS}",
    "e": rf"(?=\S){EXPRESSION}+?",
    "l": rf"(?=\S){ANYTHING}+?", "c": r"[^\n]*?",
}
LEVELS = {"or": OR, "sum": SUM, "product": PRODUCT, "unary": UNARY, "power": POWER, "atom": ATOM}
START, END, CLOSE = r"\A", r" \Z", r"(?= (?:[,;)\]}]|\Z))"
"""Where a statement starts and ends; where an expression ends."""
DECLARED = re.compile(rf"({NAME})\s*\(([^()]*)\)")
"""A tensor in a declaration, with its extents."""
MADE = re.compile(rf"(?:\A|(?<=[;\n{{])) *({NAME})\s*\([^()]*\)\s*[-+*/a-z]*=(?!=)")
"""A tensor that a statement makes."""
ASSIGNED = re.compile(rf"({OPERAND})\s*((?:[-+*/]|min|max|lse)?=!?(?!=))\s*")
"""Target of a statement, and its assignment operator."""

MODULES = ("math|cmath|Math|np|numpy|jnp|jax|torch|tf|tensorflow|std|scipy|sp|sympy|sym|mpmath|mp|casadi|ca|autograd|anp|special"
           "|linalg|lax|Mathf|base|stats|F|nn|fn|Special|tfp|optax|jsp")
OWNER = r"(?<![\w.])(?:\w+\.)*"
"""Modules before a name of one."""
TYPE = "(?:(?:let|var|const|constexpr|auto|val|local|my|real|double|float|f32|f64|int|long|mut|static|final)\\b )"
CONSTANTS = {"e": "exp(1)", "E": "exp(1)", "PI": "pi", "tau": "(2*pi)", "Inf": "inf", "infty": "inf", "INFINITY": "inf",
             "NaN": "nan", "NAN": "nan", "cdot": "*", "times": "*", "ast": "*", "div": "/", "le": "<=", "leq": "<=", "ge": ">=",
             "geq": ">=", "ne": "!=", "neq": "!=", "left": "", "right": "", "land": "and", "lor": "or", "lnot": "not",
             "LN2": "log(2)", "LN10": "log(10)", "LOG2E": "(1 / log(2))", "LOG10E": "(1 / log(10))", "SQRT2": "sqrt(2)",
             "SQRT1_2": "sqrt(0.5)"}
"""Names here of members of modules and LaTeX commands that are no functions."""
SUPERSCRIPTS = "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹ⁿⁱ"
ON_PAPER = frozenset(("ln", "lg", "arcsin", "arccos", "arctan", "tg", "cot", "sec", "csc", "coth", "sech", "csch", "sgn"))
"""Functions besides those of the table that paper writes without parentheses."""
FUNCTIONS = "|".join(sorted({*PRIMITIVES, *ON_PAPER}, key=len, reverse=True))
INVERTED = "|".join(name for name in PRIMITIVES if f"a{name}" in PRIMITIVES)
INVERSE = r" (?:⁻¹|(?:\*\*|\^) (?:-1\b|\( -1 \)|\{ -1 \}))"
"""Functions that have an inverse here, and how paper writes it, which is also a power."""
REDUCING = {**dict.fromkeys(("sum", "Sum", "Σ", "∑"), "+=!"), **dict.fromkeys(("prod", "Prod", "∏"), "*=!"),
            "max": "max=!", "maximum": "max=!", "min": "min=!", "minimum": "min=!"}
"""Assignment operators of reductions."""
KINDS = {"+=!": "sum", "*=!": "product", "max=!": "maximum", "min=!": "minimum"}
OVER = rf"(?<![\w.])({'|'.join(REDUCING)}) \("
QUOTES = "\"'`´“”„‘’‚«»"
ARROW = "->|=>|→|↦"
REMOVE = "remove this line: all functions are already there"
VERBS = "write {}; adcli grad{} differentiates the program"
NO_DERIVATIVES = "a program has no derivatives in it"
RANGE = "a range of an input is [smallest, largest]"
PARENTHESES = "elements and arguments stand in parentheses: {0}({1})"
FUNCTION = "a function is def f(x) = ..."
LOOP = "a loop is for t in 0:T { ... }"
NEXT = r"(?:(?P=n0) \+\+|\+\+ (?P=n0)|(?P=n0) \+= 1|(?P=n0) = (?P=n0) \+ 1)"

MINIMIZE, MAXIMIZE = (rf"{START}(?i:{word}i?mi?[sz]i?(?:e|ing)|(?:arg)?{word}(?:imum)?)\b :?" for word in ("min", "max"))
SUBJECT = rf"(?:(?i:sub\w+ to|subject|such that|constraints?|with|st)\b|s\.t\.?) :?(?: {NAME} :)?"
OWN_STATEMENTS = "objective and conditions are statements of their own"

TABLE = [Spelling(*row) for row in (
    # Problems.
    *((rf"{start} <n> =(?!=) <e>{END}", f"{{0}} = {{1}}; {word} {{0}}", "an objective is an expression")
      for word, start in (("minimize", MINIMIZE), ("maximize", MAXIMIZE))),
    *((rf"{start} <n> ((?:\+|max|min)=!?) <e>{END}", f"{{0}} {{1}} {{2}}; {word} {{0}}", "an objective is an expression")
      for word, start in (("minimize", MINIMIZE), ("maximize", MAXIMIZE))),
    *((rf"{start} <e> ,? {SUBJECT} (.*?){END}", f"{word} {{0}}; subject to {{1}}", OWN_STATEMENTS)
      for word, start in (("minimize", MINIMIZE), ("maximize", MAXIMIZE))),
    *((rf"{start} <e>{END}", f"{word} {{0}}", "an objective is 'minimize e' or 'maximize e'")
      for word, start in (("minimize", MINIMIZE), ("maximize", MAXIMIZE))),
    (rf"{START}subject to (.*?) (?:and|&&) (.*?){END}", "subject to {0}, {1}", "conditions have commas between them"),
    (rf"{START}subject to <e> in \[ <e> , <e> \](.*?){END}", "subject to {1} <= {0} <= {2}{3}", "a condition is 'lo <= g <= hi'"),
    (rf"{START}subject to (.*?) (=>) (.*?){END}", "subject to {0} >= {2}", "{1}"),
    (rf"{START}{SUBJECT} (.*?){END}", "subject to {0}", "a condition begins with 'subject to'"),
    # Statements.
    (rf"{START}(?:import|from|using|package|include|require)\b .*{END}", "", "", REMOVE),
    (rf"{START}(?:return|yield|print) <v>{END}", "output {0}"),
    (rf"{START}(?:return|yield) \(? <e> \)?{END}", "f = {0}"),
    (rf"{START}(?:print|println|printf|disp|echo|puts) \( <v> \){END}", "output {0}"),
    (rf"{START}(?:print|println|printf|disp|echo|puts) \( <e> \){END}", "f = {0}"),
    (rf"{START}{TYPE}*<n> = (?:\w+ \( )?input \([^()]*\) \)?{END}", "input {0}", "input()"),
    (rf"{START}{TYPE}*<n> = (lambda|λ) <v> : <e>{END}", "def {0}({2}) = {3}", "{1}"),
    (rf"{START}(lambda|λ) <v> : <e>{END}", "def f({1}) = {2}", "{0}"),
    (rf"{START}{TYPE}*<n> = \(? <v> \)? ({ARROW}) <e>{END}", "def {0}({1}) = {3}", "{2}"),
    (rf"{START}\(? <v> \)? ({ARROW}) <e>{END}", "def f({0}) = {2}", "{1}"),
    (rf"{START}(?:function|fn|func|fun|define|def|let|double|float) <n> \( <v> \)(?: -> \w+)? "
     rf"(?::=|[:=]|\{{) (?:return\b)? <e> ;? \}}?{END}", "def {0}({1}) = {2}", FUNCTION),
    (rf"{START}<n> \( <v> \) := <e>{END}", "def {0}({1}) = {2}", ":="),
    (rf"{START}{TYPE}+<n> (?:: \w+ )?:?= <l>{END}", "{0} = {1}"),
    (rf"{START}<n> <- <l>{END}", "{0} = {1}", "<-"),
    (rf"{START}<n> (\*\*|[-/^])= <l>{END}", "{0} = {0} {1} {2:atom}", "{1}="),
    (rf"{START}<n> == (?!.*\?)<e>{END}", "{0} = {1}", "'==' compares, and '=' assigns"),
    (rf"{START}(?:\+\+ <n>|<n> \+\+){END}", "{0} = {0} + 1", "++"), (rf"{START}(?:-- <n>|<n> --){END}", "{0} = {0} - 1", "--"),
    (rf"{START}if \(? <e> \)? \{{ <n> = <e> ;? \}} else \{{ (?P=n1) = <e> ;? \}}{END}", "{1} = {0:or} ? {2:or} : {3}", "if"),
    (rf"{START}if <e> : <n> = <e> else : (?P=n1) = <e>{END}", "{1} = {0:or} ? {2:or} : {3}", "if"),
    (r":=", "="),
    # Loops.
    (rf"{START}for \( {TYPE}*<n> = <e> ; (?P=n0) (?:<|!=) <e> ; {NEXT} \) (?=\{{)", "for {0} in {1}:{2} ", LOOP),
    (rf"{START}for \( {TYPE}*<n> = <e> ; (?P=n0) <= <e> ; {NEXT} \) (?=\{{)", "for {0} in {1}:{2:sum} + 1 ", LOOP),
    (rf"{START}for \( <n> (?:in|=) (<e> : <e>) \) (?=\{{)", "for {0} in {1:inclusive} ", LOOP),
    (rf"{START}for \( {TYPE}*<n> (?:in|=) <l> \) (?=\{{)", "for {0} in {1} ", LOOP),
    (rf"{START}for <n> = (<e> : <e>) (?=\{{)", "for {0} in {1:inclusive} ", LOOP),
    (rf"{START}for <n> (?:=|∈) <l> (?=\{{)", "for {0} in {1} ", LOOP),
    (rf"{START}for <n>\s+(?!in\b|=)<l> (?=\{{)", "for {0} in {1} ", LOOP),
    (rf"{START}(for <n> in) <e> (?:to|\.\.\.|\.\.=) <e> (?=\{{)", "{0} {2}:{3:sum} + 1 ", LOOP),
    (rf"{START}(for <n> in) <e> (?:until|\.\.<?) <e> (?=\{{)", "{0} {2}:{3} ", LOOP, "write {0} {2}:{3}, which ends before {3}"),
    (rf"{START}(for <n> in .*) (?:do|:) (?=\{{)", "{0} ", LOOP),
    # Choices and truth values.
    (rf"\bif <e> then <e> else <e>{CLOSE}", "{0:or} ? {1:or} : {2}", "if"),
    (rf"<e> if <e> else <e>{CLOSE}", "{1:or} ? {0:or} : {2}", "if"),
    (r"!==|<>|~=(?!=)|=/=", "!="), (r"===", "=="), (r"=<", "<="), (r"(?<!&)&(?!&)", "and"), (r"~", "not "),
    # Names with dots: where the module tells what is meant by a name, another name says it.
    (rf"{OWNER}norm\.(cdf|pdf|logpdf|logcdf|sf|ppf)(?= \()", "norm_{0}"),
    (r"NORM\.S\.DIST \( <e> [,;] (?:TRUE|1) \)", "norm_cdf({0})"), (r"(?<![\w.])Round \[ <e> \]", "rint({0})"),
    (r"NORM\.DIST \( <e> [,;] <e> [,;] <e> [,;] (?:TRUE|1) \)", "norm_cdf({0}, {1}, {2})"),
    (r"CDF \[ NormalDistribution \[ (?:0 , 1)? \] , <e> \]", "norm_cdf({0})"),
    (rf"{OWNER}(?:np|numpy|jnp|torch|tf|special|sympy|sym)\.(?:math\.)?(?:round|around|rint)(?= \( <e> \))", "rint"),
    (r"(?<![\w.])Math\.Round(?= \()", "rint"), (r"\bgelu \( <e> , approximate = ['\"]tanh['\"] \)", "gelu_tanh({0})"),
    (r"(, )(?:alpha|beta|negative_slope|base|a_min|a_max|lambd) =(?!=)", "{0} "),
    (r"(?<![\w.])Math\.round \( <e> \)", "floor({0:sum} + 0.5)"),
    (rf"{OWNER}(?:np|numpy|jnp|torch|tf|operator|op)\.(?:math\.)?(?:remainder|floormod)(?= \()", "mod"),
    (r"(?<![\w.])torch\.(std|var)(?= \()", "{0}_sample"), (r"(?<![\w.])jax\.nn\.gelu(?= \()", "gelu_tanh"),
    (r"(?<![\w.])(?:sympy|sym)\.sinc(?= \()", "Sinc"),
    (r"(?<![\w.])Log \[ <e> , <e> \]", "log({1}, {0})"), (r"(?<![\w.])ArcTan \[ <e> , <e> \]", "atan2({1}, {0})"),
    (rf"(?<![\w.])(?:{MODULES})(?:(?:\.|::)\w+)*(?:\.|::)(\w+)", "{0:constant}"), (r"<n>\.T\b", "transpose({0})"),
    (r"<n>\.(?:shape|size) [\[(] (\d+) [\])]", "shape({0}, {1})"), (r"shape \( <n> \) \[ (\d+) \]", "shape({0}, {1})"),
    (r"(?:dim|size) \( <n> \) [\[(] (\d+) [\])]", "size({0}, {1})"), (r"<n>\.(shape|length|len)\b(?! \()", "{1}({0})"),
    (r"<n>\.size\b(?! \()", "numel({0})"),
    (r"<n>\.([^\W\d]\w*) \( \)", "{1}({0})"), (r"<n>\.([^\W\d]\w*) \( <l> \)", "{1}({0}, {2})"),
    (r"<n>\.([^\W\d]\w*)", "{0}_{1}"),
    # Matrices.
    (r"(?<!\*)(?<!\*\x20)<t>' \* <a> \* <a>", "matmul(matmul(transpose({0}), {1}), {2})", "{0}'"),
    (r"(?<!\*)(?<!\*\x20)<t>' \* <a>", "matmul(transpose({0}), {1})", "{0}'"), (r"<t>'(?! \()", "transpose({0})"),
    (r"<t> \\ <n>", "solve({0}, {1})"), (r"norm \( <e> , (?:ord|p) = <e> \)", "norm({0}, {1})", "norm()"),
    (r"((?:zeros|ones|reshape) \((?:[^(),]+,)?) [(\[] <e> , <e> [)\]] \)", "{0} {1}, {2})"),
    # LaTeX.
    (rf"{START}\$+<l>\$+{END}", "{0}", "$"),
    (r"\\[dt]?frac \{<l>\} \{<l>\}", "({0:product} / {1:unary})"), (r"\\sqrt \{<l>\}", "sqrt({0})"),
    (r"\\sqrt \[ <k> \] \{<l>\}", "nthroot({1}, {0})"), (r"\\([^\W\d_]+) \{<l>\}", "{0}({1})"),
    (r"\\([^\W\d_]+)", "{0:constant}"),
    (r"(\*\*|\^) \{<l>\}", "{0}({1})"), (r"(\w+_)\{ (\w+) \}", "{0}{1}"),
    # Functions and operators.
    (r"(\w+_lp[dm]f) \( <e> \|", "{0}({1},"), (rf"{START}<n> = <e> \|> <n>{END}", "{0} = {2}({1})"), (r"\|<e>\|", "abs({0})"),
    (r"(?<!\|)\|(?!\|)", "or"), (r"⌊<e>⌋", "floor({0})"), (r"⌈<e>⌉", "ceil({0})"),
    (r"√ <a>", "sqrt({0})"), (r"∛ <a>", "cbrt({0})"), (r"<a>!(?![=!])", "gamma({0:sum} + 1)"),
    (rf"(?<![\w.])({FUNCTIONS})(?:(?:\*\*|\^) (\d+)|(²|³))\s*(?!\()<j>", "{0}({2})**{1:plain}",
     "a function needs parentheses around its argument"),
    (rf"\b({INVERTED}){INVERSE} (?!\()<j>", "a{0}({1})", "a function needs parentheses around its argument"),
    (rf"\b({INVERTED}){INVERSE} \( <l> \)", "a{0}({1})", "",
     "for the inverse function write a{0}({1}), for the reciprocal 1 / {0}({1})"),
    (rf"<n>{INVERSE} \( <l> \)", "(1 / {0}({1}))", "", "for the reciprocal write 1 / {0}({1})"),
    (rf"<n>([{SUPERSCRIPTS}]+) \( <l> \)", "{0}({2})**{1:plain}"),
    (rf"(?<![\w.])({FUNCTIONS})(?:\*\*|\^) (\d+) \( <l> \)", "{0}({2})**{1}"),
    (rf"([{SUPERSCRIPTS}]+)", "**{0:plain}"), (r"<a> @ <a>", "matmul({0}, {1})", "@"),
    (r"<a> %\*% <a>", "matmul({0}, {1})", "%*%"),
    (r"<s> (?:mod\b|%%|%(?!/)) <p>", "mod({0}, {1})", "a remainder is a function here"),
    (r"<m> (Mod|MOD|rem)\b <p>", "fmod({0}, {2})", "{1}"), (r"<s> (div|DIV)\b <p>", "trunc({0:product} / {2:unary})", "{1}"),
    (r"<s> %/% <p>", "floor({0:product} / {1:unary})", "%/%"), (r"<s> // <p>", "floor({0:product} / {1:unary})", "//"),
    (r"(?<=[\w)\]\s])\.(\*\*|[-+*/^])", "{0}"), (r"(?<![\w.])<n>\. \( <l> \)", "{0}({1})"),
    (rf"(?<![=!]=)(?<![=!]=\s)[{QUOTES}]<l>[{QUOTES}](?! [=!]=)", "{0}", "there are no strings in a program"),
    # Reductions of one dimension.
    (r"(?<![\w.])(\w+) \( <e> , (axis|dims?) = (-?\d+)(?: , keepdims? = \w+)? \)", "{0}_along({1}, {2}, {3})",
     "a dimension is named by its index"),
    # Ranges, elements and numbers.
    (r"\b(in) range \( <e> \)", "{0} 0:{1}", "range()"), (r"\b(in) range \( <e>, <e> \)", "{0} {1}:{2}", "range()"),
    (rf"({START}(?:input|param)\b .*?\bin) [(\[]? ([-+]?\w+(?:\.\w+)?) (?:\.\.\.?|[:;,]|\bto\b) ([-+]?\w+(?:\.\w+)?) [)\]]?",
     "{0} [{1}, {2}]", RANGE),
    (r"\b(in) [(\[]? (\w+) (?:\.\.|[,;]) (\w+) [)\]]?", "{0} {1}:{2}"),
    (r"(\((?:[^();]|\([^()]*\))*);", "{0},", ";", "write ,"),
    (r"<n>\[ <l> \] \[ <l> \]", "{0}({1}, {2})"),
    (r"<n>\[ <l> \]", "{0}({1})", "", PARENTHESES),
    (r"(?<![\w.,])(\d+),(?!\d{3}\b)(\d+)(?![\w.,])", "{0}.{1}", "a decimal point is a point"),
    # Derivatives.
    (r"[d∂] / [d∂](\w+) (?:\( <e> \)|\[ <e> \]|(?<=\s)(?=[\w(])<e>(?= (?:[,;]|\Z)))",
     "({1})", NO_DERIVATIVES, VERBS.format("{1}", " --wrt {0}")),
    (r"<n>'+ (\( <l> \))", "{0}{1}", NO_DERIVATIVES, VERBS.format("{0}{1}", "")),
    (r"∇ <a>", "{0}", NO_DERIVATIVES, VERBS.format("{0}", "")),
)]
"""Proposals, the more likely first."""
REDUCTIONS = [Spelling(*row) for row in (
    (rf"{OVER} <v> : <l> \)", "{2}"),
    (rf"{OVER} \[? <l> for <n> in range \( <e> \) \]? \)", "{1} where {2} in 0:{3}"),
    (rf"{OVER} \[? <l> for <n> in <l> \]? \)", "{1} where {2} in {3}"),
    (rf"{OVER} <e> , [({{] <n> , <l> [)}}] \)", "{1} where {2} in {3:inclusive}"),
    (rf"{OVER} <e> , <n> (?:=|in\b|∈) (<e> \.\. <e>) \)", "{1} where {2} in {3:inclusive}"),
    (rf"{OVER} <n> (?:=|in\b|∈) (<e> \.\. <e>) , <e> \)", "{5} where {1} in {2:inclusive}"),
    (rf"{OVER} <e> , <n> (?:=|in\b|∈) <l> \)", "{1} where {2} in {3}"),
    (rf"{OVER} <n> (?:=|in\b|∈) (<e> : <e>) , <e> \)", "{5} where {1} in {2}"),
    (rf"{OVER} \(? <n> \)? (?:{ARROW}) <e> , (<e> : <e>) \)", "{2} where {1} in {3:counted}"),
    (rf"{OVER} <l>\s(where)\s<l> \)", "{1} where {3}"),
    (r"(?<![\w.])(sum|prod|max|min|[Σ∑∏])_\{? [^\W\d]\w* \}? <m>", "{1}"), (r"([Σ∑∏]) <m>", "{1}"),
)]
"""Sums and other reductions over an index, whatever stands around them: what a statement of its own reduces."""
COMMENT = "a comment starts with #"
COMMENTS = [Spelling(*row) for row in (
    (rf"{START}(?://|%|--|/\*|\\\\|<!--|'(?!\w*')) <c> (?:\*/)?{END}", "# {0}", "", COMMENT),
    (rf" (//|/\*) <c> (?:\*/)?{END}", "  # {1}", "{0}", COMMENT),
    (rf" (%|--) (?=[^\W\d]\w*\s)<c>{END}", "  # {1}", "{0}", COMMENT),
)]
"""Proposals where nothing else helps: any text may follow."""


def patterns(rows: list[Spelling]) -> list[tuple[re.Pattern[str], Spelling]]:
    """The rows with their patterns compiled; the slots are groups, named by their kinds and numbers."""
    return [(compiled(row.pattern), row) for row in rows]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(with_slots(pattern), re.DOTALL)


def with_slots(pattern: str) -> str:
    """A pattern as a regular expression."""
    kinds = iter(range(len(pattern)))
    return re.sub(r"(?<!P)<([a-z])>", lambda m: f"(?P<{m[1]}{next(kinds)}>{SLOTS[m[1]]})", pattern.replace(" ", r"\s*"))


class Piece(str):
    """Content of a slot, formatted for the place it is written to."""

    def __format__(self, place: str) -> str:
        if place == "plain":
            return unicodedata.normalize("NFKC", self).replace("\N{MINUS SIGN}", "-")
        if place == "constant":
            return CONSTANTS.get(self, self)
        if place == "counted":   # from 1, to the last
            low, _, high = self.partition(":")
            return f"{int(low) - 1 if low.strip().isdecimal() else f'{low.strip()} - 1'}:{high.strip()}"
        if place == "inclusive":
            low, _, high = re.sub(r"\s*(?:\.\.|[,:])\s*", "\n", self, count=1).rpartition("\n")
            return inclusive(low or "0", high)
        return enclosed((str(self), self.level()), LEVELS.get(place, TERNARY))


    def level(self) -> int:
        """The level of its loosest operator; the loosest of all where it cannot be read."""
        try:
            statement = read_tokens(scan("f = " + self)[0], Source("", ""))[0]
        except (AdError, Unexpected):
            return ATOM if self.isalnum() else TERNARY
        return level(statement.values[0]) if isinstance(statement, Assign) else TERNARY


def rewritings(text: str, comments: bool, source: str = "") -> Iterator[AdError]:
    """Faults that the rows of a table find in the text of a statement, each with its fix."""
    if not comments:
        yield from reductions(text, source)
        yield from slices(text, source)
        yield from summed_products(text)
    tensors = {*shapes_in(source), *MADE.findall(source)}
    for pattern, row in patterns(COMMENTS if comments else TABLE):
        found = pattern.search(text)
        if found is None or any(slot[0] == "t" and found[slot] not in tensors for slot in found.groupdict()):
            continue
        pieces = [Piece(g.strip()) for g in found.groups() if g is not None]
        end = found.end()
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        written = row.written.format(*pieces)
        help = row.help.format(*pieces) or f"write {written.strip()}"
        word = re.match(r"[^\W\d]\w+(?=\s|\()", found[0]) if row.pattern.startswith(START) else None
        what = row.none if " " in row.none else none(row.none.format(*pieces) or (word or found)[0].strip())
        yield AdError(what, (start, end), help,
                      fix=Fix(start, end, fitted(written, text[:start], text[start:end], text[end:])))


def reductions(text: str, source: str) -> Iterator[AdError]:
    """Rewriting of a sum over an index: the statement, where it is all that is assigned, or one with a name before it."""
    for pattern, row in patterns(REDUCTIONS):
        found = pattern.search(text)
        if found is None:
            continue
        first, *pieces = [Piece(g.strip()) for g in found.groups() if g is not None]
        if "counted" in row.written and re.search(rf"(?<!\()\b{pieces[0]}\b|\b{pieces[0]}\b(?!\))", pieces[1]):
            continue   # an index that is a number too
        fix = statement_apart(text, found.start(), found.end(), f"{REDUCING[first]} {row.written.format(first, *pieces)}", source)
        yield AdError(f"a {KINDS[REDUCING[first]]} over an index is a statement of its own", (found.start(), found.end()),
                      f"write {fix.text}", fix=fix)


def summed_products(text: str) -> Iterator[AdError]:
    """Rewriting of `y = einsum('ij,j->i', A, x)`: the product of the elements, and the sum over the other indices."""
    found = compiled(rf"{START}({NAME})(?: \([^()]*\))? = (?:\w+\.)*einsum \( ['\"] ([a-zA-Z, ]+?)(-> [a-zA-Z]*)? ['\"] , "
                     rf"<v> \){END}").search(text)
    if found is None:
        return
    target, terms, to, names = found.groups()
    indices, tensors = [t.strip() for t in terms.split(",")], re.split(r"\s*,\s*", names)
    once = sorted(i for i in {*terms} - {*", "} if terms.count(i) == 1)
    kept = [*to.removeprefix("->").strip()] if to is not None else once
    said = "" if len(indices) == len(tensors) else \
        f", and this one has {plural(len(indices), 'term')} for {plural(len(tensors), 'tensor')}"
    left = f"{target}({', '.join(kept)})" if kept else target
    right = " * ".join(f"{tensor}({', '.join(i)})" if i else tensor for tensor, i in zip(tensors, indices, strict=False))
    written = f"{left} {'=' if {*kept} == {*terms} - {*', '} else '+=!'} {right}"
    yield AdError(f"there is no 'einsum'{said}", found.span(), f"write {written}", fix=Fix(0, len(text), written))


def slices(text: str, source: str) -> Iterator[AdError]:
    """Rewriting of `y = x[1:] - x[:-1]`, and of a reduction of a slice."""
    first = ACCESS.search(text)
    if first is None:
        return
    reduced = compiled(rf"{OVER} <l> \)").search(text)
    assigned = compiled(rf"{START}<n> = <l>{END}").search(text)
    value = reduced[2] if reduced and reduced.start() < first.start() < reduced.end() else assigned[2] if assigned else text
    found = sliced(value, shapes_in(source), set(re.findall(NAME, source)))
    if found is None:
        return
    if reduced and value == reduced[2]:
        fix = statement_apart(text, reduced.start(), reduced.end(), f"{REDUCING[reduced[1]]} {found.text}{found.ranges}", source)
    else:
        target = f"{assigned[1] if assigned else 'f'}({found.indices})"
        fix = Fix(0, len(text), f"{target} = {found.text}{found.ranges}")
    yield AdError(f"there is no '{first[0]}'", first.span(), f"write {fix.text}", fix=fix)


def shapes_in(source: str) -> dict[str, list[str]]:
    """The extents of the tensors that a source declares."""
    declared = DECLARED.findall(";".join(re.findall(r"\b(?:input|param)\b([^;\n]*)", source)))
    return {name: re.split(r"\s*,\s*", shape.strip()) for name, shape in declared}


def statement_apart(text: str, begin: int, end: int, reduced: str, source: str) -> Fix:
    """The statement in whose value a reduction stands from `begin` to `end`, which `reduced` says as it is assigned: the
    reduction as the statement, where that is all of it, or under a name in one before it."""
    start = max(text.rfind(mark, 0, begin) for mark in ";{\n") + 1
    start += len(text[start:]) - len(text[start:].lstrip())
    assigned = ASSIGNED.match(text[start:begin])
    target, sign = assigned.groups() if assigned else ("f", "=")
    before, behind = text[start + (assigned.end() if assigned else 0):begin], text[end:]
    if assigned and sign == "=" and not before and not behind.strip():
        return Fix(start, len(text), f"{target} {reduced}")
    name = element_for(target, behind, reduced, text + source)
    if stated := re.match(r"(?:minimize|maximize|subject to) ", text[start:begin]):
        return Fix(start, len(text), f"{name} {reduced}; {stated[0]}{text[start + stated.end():begin]}{name}{behind}")
    return Fix(start, len(text), f"{name} {reduced}; {target} {sign} {before}{name}{behind}")


def element_for(target: str, behind: str, reduced: str, text: str) -> str:
    """A name that a text does not have, with those indices of the statement that what it reduces depends on."""
    words = re.findall(NAME, reduced)
    indices = [*re.findall(NAME, target.partition("(")[2]), *re.findall(rf"({NAME}) in\b", behind)]
    subscripts = ", ".join(dict.fromkeys(i for i in indices if i in words))
    name = next(n for n in chain("srq", (f"s{i}" for i in count(1))) if not re.search(rf"\b{n}\b", text))
    return f"{name}({subscripts})" if subscripts else name


def inclusive(low: str, high: str) -> str:
    """A range whose end is behind the last value. What goes from 0 to a size N, which is no element, was meant to end before."""
    before = re.fullmatch(r"(.+?)\s*-\s*1", high)
    if before or (low == "0" and high.isidentifier()):
        return f"{low}:{before[1] if before else high}"
    return f"{low}:{int(high) + 1 if high.isdecimal() else f'{high} + 1'}"


def none(what: str) -> str:
    """There is no such thing."""
    if len(what) == 1 and not what.isascii():
        return misplaced(what)
    what = what if len(what) <= LONGEST_QUOTE and "\n" not in what else re.split(r"\s", what)[0][:LONGEST_QUOTE]
    return f"'{what}' is not a word of this language" if what.isidentifier() else f"there is no '{what}'"


LONGEST_QUOTE = 24


def fitted(written: str, before: str, found: str, after: str) -> str:
    """Replacement text, with the operator or blank that it needs beside its neighbours."""
    if before[-1:].isalnum() and (written[:1].isalnum() or written[:1] == "(" != found[:1]):
        written = f" {written}" if written.startswith(("and", "or", "not")) or found.startswith("\\") else f"*{written}"
    return f"{written} " if written[-1:].isalnum() and after[:1].isalnum() else written
