"""What a message proposes for a name that the language does not have is right when it is pasted."""
import pytest
from adcli.lang.evaluate import FLOAT, evaluate
from adcli.lang.ir.errors import AdError, nearest, plural
from adcli.lang.lower.frontend import parse
from adcli.lang.tree.notation import TENSOR_CALLS
from row_tables import each_row


def help_of(text: str) -> str:
    with pytest.raises(AdError) as fault:
        parse(text)
    assert fault.value.help is not None, text
    return fault.value.help


@each_row("name", TENSOR_CALLS)
def test_a_tensor_that_is_not_declared_is(name: str) -> None:
    """Where one argument can be a vector or a square matrix, as the table of functions has it."""
    args = TENSOR_CALLS[name][0]
    if args in ("x", "A", "x, y") and name not in ("eigh", "qr", "svd"):   # which have several results
        with pytest.raises(AdError) as fault:
            parse(f"v = {name}({args})")
        assert fault.value.fix is not None, str(fault.value)
        parse(fault.value.fix.applied(f"v = {name}({args})"))


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

