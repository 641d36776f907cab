#!/usr/bin/env python3
"""NIST's reference data sets for nonlinear regression as one file of JSON, tests/data/fits/observations.json: a data set a line.

    python tests/tools/make_fit_data.py FOLDER OUT    FOLDER has NIST's files, Misra1a.dat and 26 more

Numbers are taken as they are printed; a model is what NIST's file says under "Model", in the language of adcli. Nelson's response
is log(y), so its program has the residual, which is compared with 0.
"""
from __future__ import annotations

import json
import pathlib
import re
import sys
from typing import Any

GAUSS = "f = b1*exp(-b2*x) + b3*exp(-(x - b4)**2/b5**2) + b6*exp(-(x - b7)**2/b8**2)"
LANCZOS = "f = b1*exp(-b2*x) + b3*exp(-b4*x) + b5*exp(-b6*x)"
CUBIC = "f = (b1 + b2*x + b3*x**2 + b4*x**3)/(1 + b5*x + b6*x**2 + b7*x**3)"
CHWIRUT = "f = exp(-b1*x)/(b2 + b3*x)"
SATURATION = "f = b1*(1 - exp(-b2*x))"
ENSO = ("f = b1 + b2*cos(2*pi*x/12) + b3*sin(2*pi*x/12) + b5*cos(2*pi*x/b4) + b6*sin(2*pi*x/b4) + b8*cos(2*pi*x/b7)"
        " + b9*sin(2*pi*x/b7)")
MODELS = {
    "Bennett5": "f = b1*(b2 + x)**(-1/b3)", "BoxBOD": SATURATION, "Chwirut1": CHWIRUT, "Chwirut2": CHWIRUT,
    "DanWood": "f = b1*x**b2", "ENSO": ENSO, "Eckerle4": "f = b1/b2*exp(-0.5*((x - b3)/b2)**2)", "Gauss1": GAUSS, "Gauss2": GAUSS,
    "Gauss3": GAUSS, "Hahn1": CUBIC, "Kirby2": "f = (b1 + b2*x + b3*x**2)/(1 + b4*x + b5*x**2)", "Lanczos1": LANCZOS,
    "Lanczos2": LANCZOS, "Lanczos3": LANCZOS,
    "MGH09": "f = b1*(x**2 + x*b2)/(x**2 + x*b3 + b4)", "MGH10": "f = b1*exp(b2/(x + b3))",
    "MGH17": "f = b1 + b2*exp(-x*b4) + b3*exp(-x*b5)", "Misra1a": SATURATION, "Misra1b": "f = b1*(1 - (1 + b2*x/2)**(-2))",
    "Misra1c": "f = b1*(1 - (1 + 2*b2*x)**(-0.5))", "Misra1d": "f = b1*b2*x*(1 + b2*x)**(-1)",
    "Nelson": "f = b1 - b2*x1*exp(-b3*x2) - log(y)", "Rat42": "f = b1/(1 + exp(b2 - b3*x))",
    "Rat43": "f = b1/(1 + exp(b2 - b3*x))**(1/b4)", "Roszman1": "f = b1 - b2*x - atan(b3/(x - b4))/pi", "Thurber": CUBIC,
}
LEVEL = re.compile(r"(Lower|Average|Higher) Level of Difficulty")


def read(name: str, text: str) -> dict[str, Any]:
    """One data set."""
    lines = text.splitlines()
    params = [line.split("=")[1].split() for line in lines[40:58] if re.match(r"\s*b\d+ =", line)]
    figures = {key.strip(): value.strip() for key, colon, value in (line.partition(":") for line in lines[40:58]) if colon}
    rows = [line.split() for line in lines[60:] if line.strip()]
    names = ["y", *(["x"] if len(rows[0]) == 2 else ["x1", "x2"])]
    assert len(rows) == int(figures["Number of Observations"]) and len({len(r) for r in rows}) == 1, name
    (level,) = LEVEL.findall(text)
    return {
        "name": name, "level": level, "program": MODELS[name], "y": "0" if name == "Nelson" else "y",
        "params": [f"b{i + 1}" for i in range(len(params))],
        "start1": [float(p[0]) for p in params], "start2": [float(p[1]) for p in params],
        "certified": [p[2] for p in params], "deviations": [p[3] for p in params],
        "sum_of_squares": figures["Residual Sum of Squares"], "residual_sd": figures["Residual Standard Deviation"],
        "dof": int(figures["Degrees of Freedom"]),
        "columns": {n: [float(x) for x in column] for n, column in zip(names, zip(*rows, strict=True), strict=True)},
    }


def main() -> None:
    folder, out = map(pathlib.Path, sys.argv[1:])
    cases = [read(name, (folder / f"{name}.dat").read_text(encoding="ascii")) for name in MODELS]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    out.write_text(f'{{"family":"NIST StRD nonlinear regression","cases":[\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
