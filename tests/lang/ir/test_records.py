"""Records: which are equal, how they are shown, and that they can be copied and sent."""
import pickle
from copy import deepcopy
from dataclasses import field, replace

from adcli.lang.ir.records import named_record, record, value_record


@record
class Same:
    x: float
    hidden: float = field(default=1.0, repr=False)


@named_record
class Named(Same):
    y: tuple[float, ...] = ()


@value_record
class Equal:
    x: float
    apart: float = field(default=0.0, compare=False)


def test_records_are_the_same_and_values_are_equal():
    assert Same(1.0) != Same(1.0)
    assert Equal(1.0, apart=2.0) == Equal(1.0) != Equal(2.0)
    assert {Equal(1.0, apart=2.0), Equal(1.0)} == {Equal(1.0)}


def test_a_record_is_shown_with_its_fields():
    assert repr([Named(x=1.0, y=(2.0,)), Equal(3.0)]) == "[Named(x=1.0, y=(2.0,)), Equal(x=3.0, apart=0.0)]"


def test_records_can_be_copied_and_sent():
    for made in (Equal(1.0, 2.0), replace(Equal(1.0), apart=2.0)):
        assert repr(pickle.loads(pickle.dumps(made))) == repr(deepcopy(made)) == repr(made)
