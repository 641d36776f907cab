"""Texts that highlighters are compared on: all programs of the samples, the tests and the corpora, and awkward ones."""
from __future__ import annotations

import json

from places import DATA, ROOT

FILES = [path.read_text(encoding="utf-8") for folder in ("samples", "tests/programs")
         for path in sorted((ROOT / folder).glob("*.ad"))]

AWKWARD = [
    "C(i) max=! A(i) where i in 0:N, exists j in 0:3\nmax=3\nwhere(i) = 2\nwhere = 3\nmin = 2; max=max==3 ? 1 : 2\n",
    "v = (x > 0)\nw=(a\n and (b) or not (c)) # comment # more\n  where k in 1:2\n# where\nu = and(a, b) && or (c, d) || !e\n",
    "π = 3 + inf; α = x\u200by $ 2x + 0x1.8p-2 + 1_000.5e-3 + .5 + 1. + 0x\nμ→ε 'x' \"y\" …\u2028\n",
    "(a, b) = dup x; (a,b)=dup where\nwhere = 2\n(c, where) = dup where where = 3\n",
    "def f(float(N) A, int32 n, float x) -> (B) {\n    B(i) += A(i)**-2 <=> 1 where i in 0:N\n}\ndef where(x)=x\n",
    "float = 2; double(i) = float * 2\nint32 class(N)\nsin = sin(sin) + sin (2); pi(i)=pi\ninput exists, in in [0, 1]\n",
    "y min= 3\r\nz *=! 2 where q = 3, exists, exists k in 0:2 and (b)\r\nx min=! 2\r\r\n\fa\v=\tb\r\n",
    "for t in 0:T down until h(t) > 2 checkpoint { # down\n    h(t) = h(t+1)*down\n}\nfor = 2; down = for; until = down\n",
    "for down in 0:down down {\n    until(down) = 1 }\n  for k in 1:f(x) checkpoint { a(k) = k }\n",
    "", "\n\n", "#!/usr/bin/env adcli\n#", "𝑥 = 𝛼 + 2\n", "x = )) ]] }} where i in (\nwhere and (\n", "min=",
    "minimize (x-1)^2 + y\nsubject to x <= y, 0<=x(i) where i in 0:2; maximize -x\n minimize v # c\nsubject = 3; minimize=3\n"
    "to = 2\nmaximize (i) = subject; minimize(i) +=! to(i); subject to = 3\n",
    "a max=\n", "a max=!", "s lse=! z(k)\nlse=3; lse = lse==3 ? 1 : lse\n",
]


def corpus() -> list[str]:
    """The programs of the corpora that are no longer than a page."""
    corpora = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))]
    return [text for found in corpora for case in found.get("cases", [])
            if isinstance(text := case.get("program"), str) and len(text) < 4000]
