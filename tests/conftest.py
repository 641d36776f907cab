"""Every pass is checked in every test."""
import pytest

from lang import check


@pytest.fixture(autouse=True, scope="session")
def _check_every_pass():
    check.ALWAYS = True
