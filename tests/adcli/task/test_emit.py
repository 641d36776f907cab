"""Programs that adcli writes: headers, the same bytes every time, code that links with C and computes the same numbers."""
from __future__ import annotations

import io
import pathlib
import shlex
import shutil
import subprocess

import pytest
from adcli.lang.ir import LEVELS
from command import adcli, succeeds
from places import WORKED

from adcli.main import VERBS

MARKS = {"text": "#", "js": "//", "python": "#", "latex": "%", "dot": "//", "llvm": ";", "asm": "#"}
CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

MAIN = """
#include <stdint.h>
#include <stdio.h>
void f_grad(const double *const *in, double *const *out, int64_t begin, int64_t end, void *work);
int main(void) {
    double x[8] = {2, 1, -1, 0.5, 2, 2, 2, 2}, y[8] = {5, 2, 4, 8, 5, 5, 5, 5}, v[8], dx[8], dy[8];
    const double *in[] = {x, y};
    double *out[] = {v, dx, dy};
    f_grad(in, out, 0, 8, 0);
    for (int i = 0; i < 4; i++) printf("%.17g %.17g %.17g\\n", v[i], dx[i], dy[i]);
    return 0;
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "f.ad").write_text(WORKED.read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def header(target: str, data: bytes) -> list[str]:
    """The lines of the header, wherever the target keeps them."""
    if target == "object":
        start = data.index(b"adcli 0.1.0: ")
        return data[start:data.index(b"\0\0", start)].decode().split("\0")
    lines = data.decode().splitlines()
    if target == "c":
        return [line[3:] for line in data.decode().partition(" */\n")[0].splitlines()]
    mark = MARKS[target] + " "
    return [line.removeprefix(mark) for line in lines[:next(i for i, line in enumerate(lines) if not line.startswith(mark))]]


@pytest.mark.parametrize("target", ["text", "c", "js", "python", "latex", "dot", "llvm", "asm", "object"])
def test_header(target):
    lines = header(target, succeeds("grad", "f.ad", "--mode", "reverse", "--emit", target).data)
    assert lines[:4] == ["adcli 0.1.0: the outputs and their partial derivatives of f.ad, reverse mode",
                         "outputs: v, dv_dx, dv_dy", "inputs: x, y",
                         f"made by: adcli grad f.ad --mode reverse --emit {target}"]
    if target == "c":
        assert lines[4] == "call: int f_grad(const double *restrict in, double *restrict out); it returns 0"
    elif target in ("js", "python"):
        assert lines[4].startswith("call: f_grad(x, y) gives ")
    elif target in ("llvm", "asm", "object"):
        assert lines[4:8] == [
            "call: void f_grad(const double *const *in, double *const *out, int64_t begin, int64_t end, void *work);",
            "in[i][row] is input i, out[j][row] output j, counted from 0 in the order above, on arrays that do not overlap",
            "rows: begin to end - 1", "work: not used, may be null"]


@pytest.mark.parametrize(("args", "mode"), [
    (["jvp"], "forward"), (["vjp"], "reverse"), (["hvp"], "forward over reverse"), (["taylor", "--order", "2"], "forward"),
    (["grad", "--mode", "forward"], "forward")])
def test_the_mode_is_in_the_header(args, mode):
    text = succeeds(args[0], "-e", "v = x*x*y", *args[1:], "--emit", "text").out
    assert text.splitlines()[0].endswith(f" of -e, {mode} mode")


def test_header_of_a_long_program_says_how_much_work_space():
    program = "".join(f"a{i + 1} = sin(a{i} * x)\n" for i in range(3000))
    lines = header("llvm", succeeds("grad", "-", "--emit", "llvm", stdin=program.encode()).data)
    assert lines[7].startswith("work: ")
    assert int(lines[7].split()[1]) > 0


def test_lanes_are_told():
    lines = header("llvm", succeeds("grad", "f.ad", "--emit", "llvm", "--lanes", 4).data)
    assert lines[6] == "rows: begin to end - 1; their number is a multiple of 4"


@pytest.mark.parametrize("target", ["text", "c", "js", "python", "latex", "dot", "llvm", "asm", "object"])
def test_the_same_input_gives_the_same_bytes(target):
    line = ["grad", "f.ad", "--wrt", "x", "--emit", target]
    once = succeeds(*line).data
    assert succeeds("grad", "--emit", target, "--wrt", "x", "-q", "f.ad").data == once
    for name in ("one", "another"):
        succeeds(*line, "-o", name)
        assert pathlib.Path(name).read_bytes() == once


@pytest.mark.parametrize("verb", ["eval", "grad", "jvp", "vjp"])
def test_the_command_in_the_header_makes_the_same_file(verb):
    seeds = {"jvp": ["--tangent", "x=1"], "vjp": ["--cotangent", "v=2"]}.get(verb, [])
    for program in (["f.ad"], ["-e", "p = x*y\n\n# 'quoted' \\ \t", "-e", "p*é"], ["--", "-f.ad"]):
        pathlib.Path("-f.ad").write_text("v = x*y")
        if seeds and program[0] == "-e":
            seeds = [seeds[0], seeds[1].replace("v", "f")]
        elif seeds:
            seeds = [seeds[0], seeds[1].replace("f", "v")]
        text = succeeds(verb, *seeds, "--emit", "text", *program).data
        command = next(line for line in header("text", text) if line.startswith("made by: ")).removeprefix("made by: ")
        words = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True).stdout
        assert succeeds(*words.decode().split("\0")[1:-1]).data == text


@pytest.mark.parametrize("style", ["nested", "anf", "prefix"])
@pytest.mark.parametrize("verb, seeds", [("eval", ""), ("grad", ""), ("jvp", ",dx=1,dy=0.5"), ("vjp", ",d_dv=2")])
def test_emitted_text_computes_what_the_verb_does(verb, seeds, style):
    text = succeeds(verb, "f.ad", "--emit", "text", "--style", style).data
    given = {"jvp": ["--tangent", "x=1,y=0.5"], "vjp": ["--cotangent", "v=2"]}.get(verb, [])
    expected = succeeds(verb, "f.ad", "--at", "x=2,y=5", *given).out
    assert succeeds("eval", "-", "--at", f"x=2,y=5{seeds}", stdin=text).out == expected


@pytest.mark.parametrize("verb, formula, at, seeds", [
    ("eval", "v = sqrt(x)*abs(y)", "x=1,y=0", []), ("grad", "v = sqrt(x)*abs(y)", "x=0,y=1", []),
    ("grad", "v = sqrt(x)**2 + y", "x=0,y=1", []), ("hessian", "v = log(x)/y", "x=1,y=0", []),
    ("jvp", "v = sqrt(x)*floor(y)", "x=0,y=1", ["--tangent", "y=1"]), ("vjp", "v = x*y", "x=2,y=1", ["--cotangent", "v=2"]),
    ("grad", "status = log(x)", "x=-1", []), ("eval", "input x(N); y(i) = relu(x(i))", "x=[1,0]", []),
    ("grad", "input x(N); v +=! sqrt(x(i))", "x=[1,-1]", [])])
def test_the_status_is_an_output_where_it_is_asked_for(verb, formula, at, seeds):
    """In the emitted program the worst level as a number, which its comment explains."""
    text = succeeds(verb, "-e", formula, *seeds, "--emit", "text", "--status").data
    assert b": 0 smooth, 1 kink, 2 jump, 3 singular, 4 pole, 5 domain, 6 indeterminate\n" in text
    expected = succeeds(verb, "-e", formula, "--at", at, *seeds, "--status", "-q").out.splitlines()
    numbers = succeeds("eval", "-", "--at", at, "-q", stdin=text).out.splitlines()
    assert numbers[:-1] == expected[:-1]
    (name, word), (same, level) = expected[-1].split(" = "), numbers[-1].split(" = ")
    assert (name, word) == (same, LEVELS[int(float(level))])


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("target, lanes", [("object", 1), ("asm", 1), ("object", 4), ("asm", 8)])
def test_emitted_code_links_with_c(target, lanes):
    file = "grad.o" if target == "object" else "grad.s"
    succeeds("grad", "f.ad", "--emit", target, "--lanes", lanes, "-o", file)
    pathlib.Path("main.c").write_text(MAIN)
    subprocess.run(shlex.split(f"{CC} -Wall -Werror -o main main.c {file} -lm"), check=True)
    printed = subprocess.run(["./main"], capture_output=True, text=True, check=True).stdout
    points = ["x=2,y=5", "x=1,y=2", "x=-1,y=4", "x=0.5,y=8"]
    rows = succeeds("grad", "f.ad", "--format", "csv", *(a for p in points for a in ("--at", p))).out.splitlines()[1:]
    assert [list(map(float, line.split())) for line in printed.splitlines()] == [list(map(float, r.split(",")[2:])) for r in rows]


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_functions_of_several_files_link_into_one_program():
    """In C and as an object, of two verbs: names by file and verb, or as one says."""
    succeeds("grad", "f.ad", "--emit", "c", "-o", "grad.c")
    succeeds("eval", "f.ad", "--emit", "c", "-o", "eval.c")
    succeeds("eval", "f.ad", "--emit", "object", "--symbol", "rows", "-o", "rows.o")
    pathlib.Path("main.c").write_text("""
#include <stdint.h>
#include <stdio.h>
int f_grad(const double *in, double *out);
int f_eval(const double *in, double *out);
void rows(const double *const *in, double *const *out, int64_t begin, int64_t end, void *work);
int main(void) {
    double x[2] = {2, 5}, v[3], w, z, *to = &z;
    const double *in[] = {x, x + 1};
    int ended = f_grad(x, v) + f_eval(x, &w);
    rows(in, &to, 0, 1, 0);
    printf("%d %g %g %g %g %g\\n", ended, v[0], v[1], v[2], w, z);
    return 0;
}
""")
    subprocess.run(shlex.split(f"{CC} -std=c99 -Wall -Werror -o main main.c grad.c eval.c rows.o -lm"), check=True)
    assert subprocess.run(["./main"], capture_output=True, text=True, check=True).stdout == "0 3920.6 5880 -0.12 3920.6 3920.6\n"


@pytest.mark.parametrize("target, names", [("c", "sin_1 a_b v_1 int_1 e memcpy_1 int32_t_1"), ("js", "let_1 a_b gamma"),
                                           ("python", "lambda_1 np_1 gamma")])
def test_names_that_are_proposed_are_taken(target, names):
    """For those that no function can have: faults.txt."""
    for name in names.split():
        assert f" {name}(" in succeeds("grad", "f.ad", "--emit", target, "--symbol", name).out


def test_an_object_file_is_not_for_a_terminal(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True
    monkeypatch.setattr(io, "TextIOWrapper", Terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    ended = adcli("grad", "f.ad", "--emit", "object")
    assert ended[:3] == (2, "", "adcli: error: refusing to write an object file to a terminal; use -o FILE\n")


def test_every_verb_that_computes_can_emit():
    emitting = [verb for verb in VERBS if "--emit" in succeeds(verb, "--help").out]
    assert [v for v in ("eval", "grad", "jvp", "vjp") if v in emitting] == ["eval", "grad", "jvp", "vjp"]

