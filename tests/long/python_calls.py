"""The Python interface with arguments of every kind: a result or an AdError comes out, and nothing else."""
from __future__ import annotations

import random
import time
import traceback
import warnings
from collections import Counter

from harness import Finding, Tell, announce

ABOUT = "calls of the Python interface with arguments of every kind"


def run(r: random.Random, until: float, tell: Tell) -> Counter[str]:
    tried: Counter[str] = Counter()
    while time.monotonic() < until:
        command = (str(r.randrange(2**40)),)
        announce("", command, tried)
        tried["calls"] += 1
        what = replay(b"", command)
        if what is not None:
            tell(Finding("python_calls", 0, what, "", command))
    return tried


def replay(data: bytes, command: tuple[str, ...]) -> str | None:
    """What gets out of the call that a seed draws and must not, if anything."""
    from api_attempts import attempts, misbehaved  # it compiles functions; whoever lists the parts needs none

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")   # of NumPy, for what it converts
        error = misbehaved(next(attempts(random.Random(int(command[0])))))
    if error is None:
        return None
    place = traceback.extract_tb(error.__traceback__)[-1:]
    said = (str(error).splitlines() or [""])[-1][:80]
    return f"{''.join(traceback.format_exception(error))[-3000:]}\n{type(error).__name__} in {place and place[0].name}: {said}"
