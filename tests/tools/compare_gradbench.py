#!/usr/bin/env python3
"""adcli beside other tools on the evals of GradBench, each on one core; prints milliseconds, and asserts nothing.

    git clone https://github.com/gradbench/gradbench && make -C gradbench/cpp && make -C gradbench/tools/manual
    make -C gradbench/tools/tapenade && make -C gradbench/tools/finite bin/particle bin/saddle
    python -m venv peers && peers/bin/pip install pydantic dataclasses-json scipy jax torch
    python tests/tools/compare_gradbench.py gradbench peers/bin/python [EVAL …] [--seconds 0.5] [--rounds 2]

The evals' own processes make the inputs, of three sizes, and say whether the results of adcli are right; the same messages go to
the tools that have the eval: manual (C++ by hand), tapenade (C made by Tapenade), finite (C++, differences) for the two evals
that manual has not, jax and pytorch. The least time of all runs counts. What manual has for the gradient of ode is a formula of
the solution, with no steps in it. The ratio is that of the fastest tool to adcli, and above 1 where adcli is the faster.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

TOOL = pathlib.Path(__file__).resolve().parents[1] / "gradbench.py"
SIZES = {
    "hello": "", "lse": "-n 2500 40000 640000", "llsq": "-n 128 1024 8196", "kmeans": "-k 10 100 1000 -n 1000 -d 8",
    "gmm": "-d 2 10 20 -k 10", "ba": "--min 1 --max 3", "lstm": "-l 2 -c 256 1024 4096", "det": "-l 6 8 10",
    "ht": "--min 3 --max 5 --model small", "ode": "-n 1000 10000 100000 -s 10", "particle": "", "saddle": "",
}
"""The arguments of each eval."""
TOOLS = {
    "manual": {"hello", "gmm", "ba", "kmeans", "lstm", "llsq", "lse", "det", "ht", "ode"},
    "tapenade": {"gmm", "ba", "lstm", "ht"},
    "finite": {"particle", "saddle"}, "jax": {"hello", "gmm", "kmeans", "llsq", "lse", "ode"},
    "pytorch": {"hello", "gmm", "kmeans", "lse", "lstm"},
}
"""The evals that the others have and answer in time."""
COMPILED = ("manual", "tapenade", "finite")
ONE_CORE = ("taskset", "-c", "0")
SINGLE = {"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}
WAITING = """
import runpy, sys, jax
jit, path = jax.jit, sys.argv.pop(1)
jax.jit = lambda f, *a, **k: (lambda made: lambda *x, **n: jax.block_until_ready(made(*x, **n)))(jit(f, *a, **k))
sys.path.insert(0, path.rpartition("/")[0])
runpy.run_path(path, run_name="__main__")
"""
"""What runs a tool in Python so that a call of JAX is over when its results are there, which JAX's own tool does not wait for."""


class Talk:
    """A process that speaks the protocol."""

    def __init__(self, command: list[str], cwd: pathlib.Path, stack: ExitStack, env: Mapping[str, str]) -> None:
        process = subprocess.Popen(command, cwd=cwd, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env))
        stack.callback(process.communicate)
        assert process.stdin and process.stdout
        self.to, self.back = process.stdin, process.stdout
        self.ask({"id": 0, "kind": "start"})

    def ask(self, message: Any) -> Any:
        send(self.to, message)
        return json.loads(self.back.readline())


def send(pipe: IO[str], message: Any) -> None:
    print(json.dumps(message), file=pipe, flush=True)


def run_binary(checkout: pathlib.Path, tool: str, message: Any) -> Any:
    """What a program for one function says of one input."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(message["input"], file)
        file.flush()
        command = [*ONE_CORE, str(checkout / "tools" / tool / "bin" / message["module"]), file.name, message["function"]]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return {"timings": [json.loads(line) for line in lines[1:]]}


def least(answer: Any) -> float:
    """Milliseconds of the fastest run."""
    return min((t["nanoseconds"] for t in answer.get("timings", []) if t["name"] == "evaluate"), default=float("nan")) / 1e6


class Compared(NamedTuple):
    """One function at one input, the milliseconds of each tool, and whether adcli's result is valid."""

    what: str
    times: dict[str, float]
    valid: bool


def compared(name: str, checkout: pathlib.Path, python: str, seconds: float, rounds: int) -> Iterator[Compared]:
    env = os.environ | SINGLE | {"PYTHONPATH": str(checkout / "python" / "gradbench")}
    with ExitStack() as stack:
        ours = Talk([*ONE_CORE, sys.executable, str(TOOL)], checkout, stack, os.environ | SINGLE)
        start = {"jax": ["-c", WAITING]}
        talks = {tool: Talk([*ONE_CORE, python, *start.get(tool, []), f"python/gradbench/gradbench/tools/{tool}/run.py"],
                            checkout, stack, env)
                 for tool, evals in TOOLS.items() if name in evals and tool not in COMPILED}
        for talk in talks.values():
            talk.ask({"id": 0, "kind": "define", "module": name})
        command = [python, "-m", f"gradbench.evals.{name}.run", *SIZES[name].split()]
        command += [] if name == "hello" else ["--min-seconds", str(seconds)]
        driver = subprocess.Popen(command, cwd=checkout, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        stack.callback(driver.communicate)
        assert driver.stdin and driver.stdout
        what, times = "", dict[str, float]()
        for line in driver.stdout:
            message = json.loads(line)
            answer = ours.ask(message)
            if message["kind"] == "evaluate":
                what, times = f"{name} {message['function']} {message.get('description') or ''}", {}
                for k in range(rounds):
                    found = {"adcli": answer if k == 0 else ours.ask(message)}
                    found |= {tool: talk.ask(message) for tool, talk in talks.items()}
                    found |= {tool: run_binary(checkout, tool, message) for tool in COMPILED if name in TOOLS[tool]}
                    times = {tool: min(least(said), times.get(tool, float("inf"))) for tool, said in found.items()}
                if not answer["success"]:
                    yield Compared(f"{what} {answer['error']}", times, False)
            elif message["kind"] == "analysis":
                yield Compared(what, times, message["valid"])
            send(driver.stdin, answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, help="a checkout of GradBench with its tools built")
    parser.add_argument("python", help="a Python that has what the evals and the tools in Python need")
    parser.add_argument("evals", nargs="*", metavar="EVAL", help=f"default: {', '.join(SIZES)}")
    parser.add_argument("--seconds", type=float, default=0.5, help="at least so long for each function, tool and round")
    parser.add_argument("--rounds", type=int, default=2, help="how often all tools take turns")
    asked = parser.parse_intermixed_args()
    columns = ["adcli", *TOOLS]
    print(f"{'milliseconds':36}" + "".join(f"{tool:>11}" for tool in columns) + f"{'ratio':>8}")
    for name in asked.evals or SIZES:
        args = asked.checkout.resolve(), os.path.abspath(asked.python), asked.seconds, asked.rounds
        for what, times, valid in compared(name, *args):
            ratio = min(t for tool, t in times.items() if tool != "adcli") / times["adcli"]
            cells = "".join(f"{times[tool]:11.4f}" if tool in times else f"{'':11}" for tool in columns)
            print(f"{what:36}{cells}{ratio:8.2f}{'' if valid else '   NOT VALID'}", flush=True)


if __name__ == "__main__":
    main()
