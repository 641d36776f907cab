"""What a message proposes for a name that the language does not have is right when it is pasted."""
import re

import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError, nearest, plural
from adcli.lang.ir.notation import TENSOR_CALLS
from adcli.lang.lower.frontend import parse
from adcli.lang.suggest.counterparts import DERIVATIVES, STATEMENTS


def help_of(text: str) -> str:
    with pytest.raises(AdError) as fault:
        parse(text)
    assert fault.value.help is not None, text
    return fault.value.help


def pasted(text: str) -> str:
    """A text whose last line is `v = ` and a call that the language does not have, with what the message says to write."""
    before, _, last = text.rpartition("\n")
    said = help_of(text)
    if said.startswith("did you mean"):
        name = last.removeprefix("v = ").partition("(")[0]
        return f"{before}\n{last.replace(name, said.split(chr(39))[1], 1)}"
    written = said.removeprefix("write ")
    return f"{before}\n{written if re.search('^input|=!| = ', written) else f'v = {written}'}"


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_function_of_tensors(name):
    forms = STATEMENTS[name]
    args = "x, y" if " y(" in forms[0] else "x"
    if name not in DERIVATIVES:
        parse(pasted(f"v = {name}({args})"))
    for form in forms:
        subscripts = {letter: form.partition(f"{letter}(")[2].partition(")")[0] for letter in args.split(", ")}
        sizes = {letter: re.sub("[0ijk]", lambda m: {"i": "M", "k": "K"}.get(m[0], "N"), s) for letter, s in subscripts.items()}
        called = f"np.{name}" if name in TENSOR_CALLS else name
        parse(pasted(f"input {', '.join(f'{a}({s})' for a, s in sizes.items())}\nv = {called}({args})"))


@pytest.mark.parametrize("text, help, value", [
    ("x // y", "write floor(x / y)", -4.0),
    ("-x*2 // y", "write floor(-x*2 / y)", 7.0),
    ("x // -y", "write floor(x / -y)", 3.0),
    ("-x // y**2 + 1", "write floor(-x / y**2)", 2.0),
])
def test_a_quotient_rounded_down(text, help, value):
    assert help_of(f"v = {text}") == help
    quotient = text.removesuffix(" + 1")
    program = parse("v = " + text.replace(quotient, help.removeprefix("write ")))
    assert evaluate(program, {"x": -7.0, "y": 2.0}, FLOAT)["v"] == value


def test_the_nearest_word():
    verbs = ["grad", "eval", "hessian", "--tolerance"]
    assert nearest("diff", verbs, {"diff": "grad"}) == "did you mean 'grad'?"
    assert nearest("--tol", verbs) == "did you mean '--tolerance'?"
    assert nearest("GRAD", verbs) == "did you mean 'grad'?"
    assert nearest("gard", verbs) == "did you mean 'grad'?"
    assert nearest("hesian", verbs) == "did you mean 'hessian'?"
    assert nearest("plot", verbs, {"plot": "adcli eval"}) == "write adcli eval"
    assert nearest("plot", verbs) is None


def test_counts_agree_in_number():
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]

