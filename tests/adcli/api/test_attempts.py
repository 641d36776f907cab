"""What a call of the Python interface lets out, whatever it is given: a result or an AdError."""
from __future__ import annotations

import random
import warnings

import pytest
from api_attempts import attempts, misbehaved

import adcli


def test_only_an_ad_error_gets_out() -> None:
    r = random.Random(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")   # of NumPy, for what it converts
        for k, attempt in zip(range(400), attempts(r), strict=False):
            if (error := misbehaved(attempt)) is not None:
                raise AssertionError(f"attempt {k}: {type(error).__name__}: {error}") from error


F = adcli.compile("v = x*y")


@pytest.mark.parametrize(("call", "options"), [
    (F.arrow, "only status"), (F.arrow_sum, "gauss_newton status"), (F.jacobian, "zeros"), (F.hessian, "zeros"),
    (F.taylor, "scaled"), (F.why, "limit"), (F.check, "all plot"), (F.propagate, "second_order shortest plot"),
    (F.minimize, "maximize"), (F.fit, "plot")])
def test_an_option_that_is_true_or_false_is_called_by_its_name(call, options) -> None:
    for name in options.split():
        args = (2,) if call == F.taylor else ({"x": 1.0, "y": 2.0},) if call == F.why else ()
        with pytest.raises(adcli.AdError, match=f"^(error: )?{name} is True or False, not int"):
            call(*args, **{name: 2})


def test_names_may_come_from_a_generator() -> None:
    assert F.grad(wrt=(n for n in "y"), of=iter(["v"])).outputs == ("v", "dv_dy")


def test_what_a_recorded_function_raises_itself_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        adcli.compile(lambda x: 1/0)


def test_values_of_another_recording_are_refused() -> None:
    kept = []
    adcli.compile(lambda x: kept.append(x) or x)
    with pytest.raises(adcli.AdError, match="a value of another recorded function"):
        adcli.compile(lambda y: y*kept[0])
