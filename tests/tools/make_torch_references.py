#!/usr/bin/env python3
"""Numbers of PyTorch for the samples that have tensors, in tests/data/tensors/networks.json: see tests/data/README.md.

    python tests/tools/make_torch_references.py tests/data/tensors/networks.json

A command, not run by the tests. It needs torch 2.13.0 and nothing of this project: every program is written here again with
the operations of PyTorch. Points of the two networks are those of the notebook they come from and random ones; all others are
random, with few decimals, so that a file holds them exactly. At the point of the notebook the recurrent network has one input
of relu that is exactly 0. There torch.relu, and relu of this project, have the derivative 0; torch.clamp, which the notebook
takes for relu, has 1, and so has clamp of this project: "recurrent" is here with both. `zeros` counts such inputs.
"""
from __future__ import annotations

import json
import math
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

torch.set_default_dtype(torch.float64)
Values = dict[str, Tensor]
ZEROS: list[int] = []
"""How many inputs of relu are 0, at every call."""


# ---------------------------------------------------------------- programs

def relu(z: Tensor) -> Tensor:
    ZEROS.append(int((z.detach() == 0).sum()))
    return torch.relu(z)


def feed_forward(x: Tensor, y: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor) -> Values:
    hidden = relu(torch.sigmoid(x @ w1 + b1) @ w2 + b2)
    return {"L": ((hidden @ w3 + b3 - y) ** 2).sum()}


def recurrent(x: Tensor, y: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor,
              rectified: Callable[[Tensor], Tensor] = relu) -> Values:
    state = torch.zeros((x.shape[0], b1.shape[0]))
    for time in range(x.shape[1]):
        state = rectified(torch.cat((x[:, time], state), dim=1) @ w1 + b1)
    return {"L": ((state @ w2 + b2 - y) ** 2).sum()}


def mixture(alpha: Tensor, mean: Tensor, q: Tensor, l: Tensor, x: Tensor, gamma: Tensor, m: Tensor) -> Values:  # noqa: E741
    d = q.shape[1]
    factors = torch.diag_embed(torch.exp(q)) + torch.tril(l, -1)
    y = torch.einsum("kij,nkj->nki", factors, x[:, None, :] - mean)
    main = alpha + q.sum(1) - 0.5 * (y ** 2).sum(2)
    like = (torch.logsumexp(main, 1) - torch.logsumexp(alpha, 0) - d / 2 * math.log(2 * math.pi)).sum()
    df = d + m + 1
    constant = df * d * (torch.log(gamma) - math.log(2) / 2) - torch.special.multigammaln(df / 2, d)
    return {"err": like + (gamma ** 2 / 2 * (factors ** 2).sum((1, 2)) - m * q.sum(1) - constant).sum()}


PROGRAMS: dict[str, Callable[..., Values]] = {
    "feed_forward": feed_forward, "recurrent": recurrent, "mixture": mixture,
    "recurrent with clamp": lambda **at: recurrent(**at, rectified=lambda z: torch.clamp(z, min=0)),
    "matrix_vector": lambda A, B: {"C": A @ B},
    "matrix_product": lambda a, b, A, B: {"C": b + a * A @ B},
    "row_maximum": lambda A: {"B": torch.amax(A, 1)},
    "max_pooling": lambda IN: {"OUT": torch.nn.functional.max_pool2d(IN, 2)},
    "convolution": lambda I, K, b: {"O": torch.nn.functional.conv2d(I, K, b)},  # noqa: E741
    "cross_entropy": lambda z, **other: {"loss": torch.nn.functional.cross_entropy(z, other["class"])},
    "subtraction": lambda x, y: {"z": x - y},
    "softmax_regression": lambda W, b, x, c: {"loss": torch.nn.functional.cross_entropy(W @ x + b, c)},
}
INTEGERS = ("class", "c")
"""Inputs that are whole numbers."""


# ---------------------------------------------------------------- points

def random(seed: int, **shapes: tuple[int, ...]) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    return {name: rounded(torch.randn(shape, generator=generator)) for name, shape in shapes.items()}


def rounded(x: Tensor) -> Any:
    """Lists of numbers with three decimals."""
    return round(x.item(), 3) if not x.shape else [rounded(row) for row in x]


NOTEBOOK = {"x": [[[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[-1, 1, -2], [2, -3, 3], [-2, 3, -4]]], "y": [[1, 0], [0, 1]],
            "w1": [[1, 1], [-1, 1], [-2, 2], [.5, -.5], [2, -2]], "b1": [0, 1],
            "w2": [[.2, .5], [.5, -.5]], "b2": [-1, .5]}
POINTS: list[tuple[str, dict[str, Any]]] = [
    ("feed_forward", {"x": [[1, 2, 3], [4, 5, 6]], "y": [[1, 0], [0, 1]],
                      "w1": [[1, 1], [-1, 1], [-2, 2]], "b1": [0, 1],
                      "w2": [[.2, .5], [.5, -.5]], "b2": [-1, .5],
                      "w3": [[.7, -.5], [-.2, .3]], "b3": [.3, -.2]}),
    ("feed_forward", random(1, x=(5, 4), y=(5, 2), w1=(4, 6), b1=(6,), w2=(6, 3), b2=(3,), w3=(3, 2), b3=(2,))),
    ("recurrent", NOTEBOOK),
    ("recurrent with clamp", NOTEBOOK),
    ("recurrent", random(2, x=(4, 3, 2), y=(4, 3), w1=(7, 5), b1=(5,), w2=(5, 3), b2=(3,))),
    ("mixture", random(3, alpha=(4,), mean=(4, 3), q=(4, 3), l=(4, 3, 3), x=(6, 3)) | {"gamma": 1.25, "m": 2.0}),
    ("matrix_vector", random(4, A=(3, 5), B=(5,))),
    ("matrix_product", random(5, a=(), b=(), A=(3, 4), B=(4, 2))),
    ("row_maximum", random(6, A=(4, 5))),
    ("row_maximum", {"A": [[1.0, 5.0, 2.0], [4.0, 4.0, 3.0], [7.0, 7.0, 7.0]]}),
    ("max_pooling", random(7, IN=(2, 3, 5, 7))),
    ("convolution", random(8, I=(2, 3, 6, 5), K=(4, 3, 3, 3), b=(4,))),
    ("cross_entropy", random(9, z=(5, 4)) | {"class": [3, 0, 0, 2, 1]}),
    ("subtraction", random(10, x=(3, 4), y=(4,))),
    ("softmax_regression", random(11, W=(3, 4), b=(3,), x=(4,)) | {"c": 1}),
]


# ---------------------------------------------------------------- derivatives

def case(seed: int, name: str, at: dict[str, Any]) -> dict[str, Any]:
    """A point with values, adjoints for a random cotangent (of a scalar 1), tangents along a random direction, and along it
    those of the adjoints."""
    given = {k: torch.tensor(v, dtype=torch.int64 if k in INTEGERS else None) for k, v in at.items()}
    given = {k: v if k in INTEGERS else v.double().requires_grad_() for k, v in given.items()}
    active = [k for k in given if k not in INTEGERS]
    ZEROS.clear()
    values = PROGRAMS[name](**given)
    zeros = sum(ZEROS)
    weights = random(100 + seed, **{k: tuple(v.shape) for k, v in values.items()})
    weights = {k: w if values[k].shape else 1.0 for k, w in weights.items()}
    along = random(200 + seed, **{k: tuple(given[k].shape) for k in active})

    def pulled(*points: Tensor) -> tuple[Tensor, ...]:
        out = PROGRAMS[name](**{**given, **dict(zip(active, points, strict=True))})
        total = sum((out[k] * torch.tensor(w)).sum() for k, w in weights.items())
        return torch.autograd.grad(total, points, create_graph=True)

    points = tuple(given[k] for k in active)
    directions = tuple(torch.tensor(along[k]) for k in active)
    forward = torch.autograd.functional.jvp(
        lambda *p: tuple(PROGRAMS[name](**{**given, **dict(zip(active, p, strict=True))}).values()), points, directions)[1]
    second = torch.autograd.functional.jvp(pulled, points, directions)[1]
    return {"program": name, "zeros": zeros, "at": at, "cotangent": weights, "tangent": along,
            "value": {k: v.tolist() for k, v in values.items()},
            "vjp": {k: g.tolist() for k, g in zip(active, pulled(*points), strict=True)},
            "jvp": {k: v.tolist() for k, v in zip(values, forward, strict=True)},
            "jvp of vjp": {k: v.tolist() for k, v in zip(active, second, strict=True)}}


def main() -> None:
    cases = [case(i, name, at) for i, (name, at) in enumerate(POINTS)]
    lines = ",\n".join(json.dumps(c) for c in cases)
    made = f"tests/tools/make_torch_references.py, PyTorch {torch.__version__}, double precision"
    pathlib.Path(sys.argv[1]).write_text(f'{{"made": {json.dumps(made)}, "references": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
