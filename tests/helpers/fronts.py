"""Remarks of the shell in the words of Python, for tests that compare the two fronts."""
from __future__ import annotations

OPTIONS = {"--cotangent v=1,w=1": "cotangent='v=1,w=1'", "--of v": "of='v'", "--second-order": "second_order=True",
           "--monte-carlo 100000": "monte_carlo=100000", "--all": "all"}
"""The options that remarks name."""


def in_python(said: str) -> str:
    for option, argument in OPTIONS.items():
        said = said.replace(option, argument)
    return said
