"""What adcli says when something is wrong: exact texts and exit codes."""
from __future__ import annotations

import os

import click
import pytest
from command import adcli
from session_seed import fixed, half

from adcli.command.options import TARGETS
from adcli.command.usage import WholeNumber
from adcli.main import VERBS

PROGRAM = "v = x * sin(y)\n"
WRONG = """wrong.ad:1:5: error: unknown function 'tahn'
    v = tahn(x)
        ^^^^
help: did you mean 'tanh'?
wrong.ad:2:6: error: an operator is missing before 'x'
    w = 2x
         ^
help: write 2*x
"""
"""Two faults of one file, one of them in its grammar."""

FAULTS = [
    # the command line
    ("gra f.ad", 2, "adcli: error: no verb 'gra'\nhelp: did you mean 'grad'?\n"),
    ("diff f.ad", 2, "adcli: error: no verb 'diff'\nhelp: did you mean 'grad'?\n"),
    ("version", 2, "adcli: error: no verb 'version'\nhelp: write adcli --version\n"),
    ("-V", 2, "adcli: error: no option '-V' before the verb\nhelp: did you mean '--version'?\n"),
    ("-v", 2, "adcli: error: no option '-v' before the verb\nhelp: did you mean '--version'?\n"),
    ("frobnicate", 2, "adcli: error: no verb 'frobnicate'\nhelp: the verbs are VERBS\n"),
    ("f.ad --at x=1,y=2", 2, "adcli: error: no verb 'f.ad'\nhelp: the verb comes first: adcli grad f.ad\n"),
    ("-e x*y", 2, "adcli: error: no option '-e' before the verb\nhelp: the verb comes first: adcli grad f.ad --at x=2,y=5\n"),
    ("grad", 2, "adcli: error: no PROGRAM\nhelp: give a file, - for standard input, or -e 'v = x*sin(y)'\n"),
    ("grad x*y", 2, "adcli: error: x*y: No such file or directory\nhelp: for a formula write -e 'x*y'\n"),
    ("grad x/y", 2, "adcli: error: x/y: No such file or directory\nhelp: for a formula write -e x/y\n"),
    ("grad f", 2, "adcli: error: f: No such file or directory\nhelp: did you mean 'f.ad'?\n"),
    ("grad -e x*y d.csv", 2, "adcli: error: give a PROGRAM file or -e, not both (rows go to --data)\nhelp: write --data d.csv\n"),
    ("grad -e v=x w=y", 2, "adcli: error: give a PROGRAM file or -e, not both (rows go to --data)\nhelp: write -e w=y\n"),
    ("x*y", 2, "adcli: error: no verb 'x*y'\nhelp: the verb comes first: adcli grad -e 'x*y'\n"),
    ("grad f.ad --data a.csv b.csv c.csv", 2, "adcli: error: unexpected argument 'b.csv' (for a table of rows: --data b.csv)\n"
     "help: quote a pattern, so that the shell leaves it: --data '*.csv'\n"),
    ("grad f.ad g.ad", 2, "adcli: error: unexpected argument 'g.ad' (for a table of rows: --data g.ad)\n"),
    ("grad f.ad -- --strict", 2, "adcli: error: unexpected argument '--strict'\n"),
    ("grad f.ad -e x", 2, "adcli: error: give a PROGRAM file or -e, not both (rows go to --data)\n"),
    ("grad f.ad --att x=1", 2, "adcli: error: no option '--att'\nhelp: did you mean '--at'?\n"),
    ("grad f.ad -at x=1", 2, "adcli: error: no option '-at'\nhelp: did you mean '--at'?\n"),
    ("grad f.ad -at=x=1", 2, "adcli: error: no option '-at'\nhelp: did you mean '--at'?\n"),
    ("grad -e f.ad --at x=1", 2, "adcli: error: -e takes the text of a program, and 'f.ad' is the name of a file\n"
     "help: write f.ad without -e\n"),
    ("grad p.json", 2, "adcli: error: p.json: values, not a program\nhelp: write -e 'v = x*y' --at @p.json\n"),
    ("grad f.ad --at x=1,y=2 --fmt {:.3f}", 2,
     "adcli: error: --fmt '{:.3f}' is not a number format; use %e, %f or %g\nhelp: write --fmt %.3f\n"),
    ("grad f.ad --zzz", 2, "adcli: error: no option '--zzz'\nhelp: adcli grad --help lists the options\n"),
    ("grad f.ad --at", 2, "adcli: error: --at needs a value\n"),
    ("grad f.ad --quiet=1", 2, "adcli: error: --quiet takes no value\n"),
    ("grad f.ad --of v --of v", 2, "adcli: error: --of is given twice\n"),
    ("grad f.ad --format jsn --at x=1,y=2", 2, "adcli: error: no format 'jsn'\nhelp: did you mean 'json'?\n"),
    ("grad f.ad --mode revers --at x=1,y=2", 2, "adcli: error: no mode 'revers'\nhelp: did you mean 'reverse'?\n"),
    ("grad f.ad --order 0 --at x=1,y=2", 2, "adcli: error: --order needs a whole number from 1 to 32\n"),
    ("grad f.ad --order two --at x=1,y=2", 2, "adcli: error: --order needs a whole number from 1 to 32\n"),
    ("grad f.ad --at x=1±0.1,y=2", 2, "adcli: error: 'x=1±0.1' has a spread, which this verb does not take\n"
     "help: spreads are for propagate and --enclose\n"),
    ("grad f.ad --emit txt", 2, "adcli: error: no target 'txt'\nhelp: did you mean 'text'?\n"),
    ("grad f.ad --emit javascript", 2, "adcli: error: no target 'javascript'\nhelp: did you mean 'js'?\n"),
    ("grad f.ad --emit wasm", 2, "adcli: error: no target 'wasm'\nhelp: write --emit object --target wasm32\n"),
    ("eval f.ad --emit casadi", 2, "adcli: error: no target 'casadi'\nhelp: write --emit library --abi casadi\n"),
    ("grad f.ad --emit json", 2, "adcli: error: no target 'json'\nhelp: write --format json\n"),
    ("grad f.ad --emit cobol", 2, f"adcli: error: no target 'cobol'\nhelp: the targets are {', '.join(TARGETS)}\n"),
    ("grad f.ad --on-error ignored", 2, "adcli: error: no policy 'ignored'\nhelp: the policies are stop, skip, mark\n"),
    ("grad f.ad --emit llvm --lanes 3", 2,
     "adcli: error: no lane count '3'\nhelp: the lane counts are 1, 2, 4, 8\n"),
    ("show f.ad --stage revers", 2, "adcli: error: no stage 'revers'\nhelp: did you mean 'reverse'?\n"),
    # options that would do nothing
    ("grad f.ad --emit text --format json", 2, "adcli: error: --format cannot be used with --emit, which writes a program\n"),
    ("grad f.ad --emit text --lanes 4", 2, "adcli: error: --lanes has no effect on --emit text\n"),
    ("grad f.ad --emit llvm --style anf", 2, "adcli: error: --style has no effect on --emit llvm\n"),
    ("grad f.ad --at x=1,y=2 --lanes 4", 2, "adcli: error: --lanes needs --emit TARGET\n"),
    ("show f.ad --wrt x", 2, "adcli: error: --wrt needs --stage forward or reverse\n"),
    ("show f.ad --stage parsed --style anf", 2, "adcli: error: stage parsed has no style anf\nhelp: that is --stage anf\n"),
    ("fmt f.ad --check -o g.ad", 2, "adcli: error: -o cannot be used with --check, which writes nothing\n"),
    # names
    ("grad f.ad --wrt xx --at x=1,y=2", 2, "adcli: error: no input 'xx'\nhelp: did you mean 'x'?\n"),
    ("grad f.ad --wrt , --at x=1,y=2", 2, "adcli: error: --wrt names nothing\nhelp: write --wrt x,y\n"),
    ("grad f.ad --of w --at x=1,y=2", 2, "adcli: error: no output 'w'\nhelp: the outputs are v\n"),
    ("grad -e A=[[1,2],[3,4]] -e C(i,j)=2*A(i,j) --of C[0,1]", 2,
     "adcli: error: no output 'C[0, 1]'\nhelp: give the element a name: e = C(0, 1), and choose e\n"),
    ("grad -e A=[1,2] -e C(i)=2*A(i) --of C[0:1]", 2,
     "adcli: error: no output 'C[0:1]'\nhelp: give the elements a name: e(i) = C(i) where i in 0:1, and choose e\n"),
    ("grad -e A=[1,2] -e C(i)=2*A(i) --of C[0:1]:A", 2,
     "adcli: error: no output 'C[0:1]'\nhelp: give the elements a name: e(i) = C(i) where i in 0:1, and choose e\n"),
    ("jvp f.ad --at x=1,y=2", 2, "adcli: error: no --tangent\nhelp: write --tangent x=1,y=1\n"),
    ("jvp f.ad --at x=1,y=2 --tangent z=1", 2, "adcli: error: no input 'z'\nhelp: the inputs are x, y\n"),
    ("jvp f.ad --at x=1,y=2 --tangent x=1,x=2", 2, "adcli: error: --tangent: 'x' is given twice\n"),
    ("jvp f.ad --at x=1,y=2 --tangent x", 2, "adcli: error: --tangent: 'x' is not name=value\n"),
    ("vjp f.ad --at x=1,y=2 --cotangent w=1", 2, "adcli: error: no output 'w'\nhelp: the outputs are v\n"),
    # points
    ("grad f.ad", 2, "adcli: error: no values for x, y\n"
     "help: give a point: --at x=1,y=1; rows: --data FILE, or a pipe; or --emit text for the program itself\n"),
    ("grad f.ad --at x=1", 2, "adcli: error: no value for y\n"),
    ("grad f.ad --at=", 2, "adcli: error: no value for x, y\n"),
    ("grad f.ad --at ,", 2, "adcli: error: ',' is not a point\nhelp: write --at x=2,y=5\n"),
    ("grad f.ad --at xx=1,y=2", 2, "adcli: error: no input 'xx'\nhelp: did you mean 'x'?\n"),
    ("grad f.ad --at x=1,y=2,x=3", 2, "adcli: error: 'x' is given twice in 'x=1,y=2,x=3'\n"),
    ("grad f.ad --at 5", 2, "adcli: error: '5' is not name=value\nhelp: write --at x=2,y=5\n"),
    ("grad f.ad --at x=,y=2", 2, "adcli: error: x= has no value\nhelp: write x=2\n"),
    ("grad f.ad --at x=1,y=2y", 2, "adcli: error: y=2y: an operator is missing before 'y'\nhelp: write 2*y\n"),
    ("grad f.ad --at x=1,y=x", 2, "adcli: error: y=x: not a constant\nhelp: numbers, pi, inf and + - * / ** of them\n"),
    ("grad f.ad --at x=1;y=2", 2, "adcli: error: x=1;y=2: expected one number and nothing more\nhelp: write x=1,y=2\n"),
    ("grad f.ad --at x=1e999,y=2", 2, "adcli: error: x=1e999: this number is too large for a double\n"
     "help: the largest is 1.7976931348623157e308; write inf for infinity\n"),
    ("grad f.ad --at x=0x1p+2000,y=2", 2, "adcli: error: x=0x1p+2000: this number is too large for a double\n"
     "help: the largest is 1.7976931348623157e308; write inf for infinity\n"),
    ("grad f.ad --at x=0:1,y=2", 2,
     "adcli: error: x=0:1: a range is first:last:count\nhelp: write x=0:1:11 for 11 points\n"),
    ("grad f.ad --at x=0:1:2.5,y=2", 2, "adcli: error: x=0:1:2.5: the count must be a whole number, 1 or more\n"),
    ("grad f.ad --at x=0:1:0,y=2", 2, "adcli: error: x=0:1:0: the count must be a whole number, 1 or more\n"),
    ("grad f.ad --at x=0:1:nan,y=2", 2, "adcli: error: x=0:1:nan: the count must be a whole number, 1 or more\n"),
    ("grad f.ad --at x=0:inf:3,y=2", 2, "adcli: error: x=0:inf:3: the ends of a range must be finite\n"),
    ("grad f.ad --at x=0:1:1,y=2", 2,
     "adcli: error: x=0:1:1: one point cannot reach from 0.0 to 1.0\nhelp: give a count of 2 or more\n"),
    ("grad rows.csv", 2, "adcli: error: rows.csv: a table of rows, not a program\nhelp: write -e 'v = x*y' --data rows.csv\n"),
    ("grad f.ad y=2", 2, "adcli: error: unexpected argument 'y=2' (for a point: --at y=2)\n"),
    ("grad -e x*y y=2", 2, "adcli: error: give a PROGRAM file or -e, not both (rows go to --data)\nhelp: write --at y=2\n"),
    ("grad -e x*y --digits 30", 2, "adcli: error: unexpected argument '30'\nhelp: -e gives the program, and an option that is a "
     "switch takes no value\n"),
    ("grad f.ad --at x=3 --at x=1,y=2", 2, "adcli: error: no value for y in --at x=3\n"
     "help: each --at is a point of its own: give it all values, --at x=2,y=5\n"),
    # files of points
    ("grad f.ad --at @", 2, "adcli: error: '@' needs a file name\nhelp: write --at @points.json\n"),
    ("grad f.ad --at @none.json", 2, "adcli: error: none.json: No such file or directory\n"),
    ("grad f.ad --at @binary", 2, "adcli: error: binary: not UTF-8: a stray byte at byte offset 2\n"),
    ("grad f.ad --at @broken.json", 2, "adcli: error: broken.json:2:7: not JSON: Expecting value\n"
     "help: write {\"x\": 2, \"y\": 5}\n"),
    ("grad f.ad --at @lines.json", 2, "adcli: error: lines.json:3:5: not JSON: Expecting ':' delimiter\n"
     "help: write {\"x\": 2, \"y\": 5}\n"),
    ("grad f.ad --at @twice.json", 2, "adcli: error: twice.json: 'x' is given twice in one object\n"),
    ("grad f.ad --at @text.json", 2, "adcli: error: text.json: item 2: 'y' is not a number\n"),
    ("grad f.ad --at @large.json", 2, "adcli: error: large.json: item 1: 'x' is too large for a double\n"
     'help: infinity is written "Infinity"\n'),
    ("grad f.ad --at @list.json", 2, "adcli: error: list.json: item 1 is not an object\nhelp: write {\"x\": 2, \"y\": 5}\n"),
    ("grad f.ad --at @deep.json", 2, "adcli: error: deep.json: JSON nested too deeply\n"),
    # numbers
    ("grad f.ad --at x=1,y=2 --fmt %d", 2,
     "adcli: error: --fmt '%d' is not a number format; use %e, %f or %g\nhelp: write --fmt %.6g\n"),
    ("grad f.ad --at x=1,y=2 --fmt 1%f", 2,
     "adcli: error: --fmt '1%f' is not a number format; use %e, %f or %g\nhelp: write --fmt %.6g\n"),
    ("grad f.ad --at x=1,y=2 --fmt %g --hex", 2, "adcli: error: --fmt and --hex cannot be used together\n"),
    # files
    ("grad none.ad", 2, "adcli: error: none.ad: No such file or directory\n"),
    ("grad .", 2, "adcli: error: .: Is a directory\n"),
    ("grad f.ad --at x=1,y=2 -o none/g", 2, "adcli: error: none/g: No such file or directory\n"),
    ("grad f.ad --at x=1,y=2 -o .", 2, "adcli: error: .: Is a directory\n"),
    # programs
    ("grad empty", 3, "empty: error: the program is empty\n"
     "help: a program is a list of assignments, for example: v = x*y\n"),
    ("grad binary", 3, "binary: error: a NUL byte at byte offset 0\nhelp: a program is plain text\n"),
    ("grad utf16", 3, "utf16: error: not UTF-8: the file looks like UTF-16\nhelp: save it as UTF-8\n"),
    ("grad latin1", 3, "latin1: error: not UTF-8: byte 0xe9 at byte offset 0\nhelp: save it as UTF-8\n"),
    ("grad wrong.ad", 3, WRONG),
    ("show wrong.ad", 3, WRONG),
    ("fmt wrong.ad", 3, WRONG),
    # negative answers
    ("fmt --check f.ad", 0, ""),
    ("fmt --check untidy.ad", 1, "untidy.ad: not in canonical form\n"),
    ("grad -e log(x) --at x=0 --strict -q", 4, ""),
    ("grad -e exp(x) --at x=1000 --strict", 4, "note: f = inf is not finite\n"),
    ("grad -e exp(x) --at x=1000", 0, ""),
    # notes, which are no faults
    ("grad -e log(x) --at x=0", 0, "-e:1:5: note: log'(u) at u = 0.0: singular\n"),
    ("eval -e log(x) --at x=-1", 0, "-e:1:5: note: log(u) at u = -1.0 is nan: domain\n"),
    ("eval -e log(x) --at x=nan", 0, "-e: note: x is nan: domain\n"),
    ("grad -e x/y --at x=1,y=0", 0, "-e:1:5: note: (u / v)' at u = 1.0, v = 0.0: pole\n"),
    ("grad -e sqrt(x)**2 --at x=0", 0, "-e:1:5: note: sqrt'(u) at u = 0.0: indeterminate (0·inf)\n"),
    ("grad -e 1/(1+exp(x)) --at x=1000", 0,
     "-e:1:5: note: the derivative has u / v at u = inf, v = inf: indeterminate (0·inf)\n"),
    ("grad -e abs(x) --at x=0 --format csv", 0, "-e:1:5: note: abs'(u) at u = 0.0: kink\n"),
    ("grad -e abs(x) --at x=0 --format json", 0, ""),
    ("grad -e abs(x) --at x=0 -q", 0, ""),
    ("eval range.ad --at x=-1:3:5", 0, "range.ad: note: x = -1.0 is outside its range [0.0, 1.0]\n"),
    ("eval range.ad --at x=0:1:5", 0, ""),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    files = {
        "f.ad": PROGRAM, "untidy.ad": "v=x", "empty": "", "binary": b"\x00\x01\xff", "utf16": "v = x".encode("utf-16"),
        "latin1": b"\xe9 = x", "wrong.ad": "v = tahn(x)\nw = 2x\n", "range.ad": "input x in [0, 1]\nv = x*x\n",
        "broken.json": '[\n{"x": }]', "lines.json": '{"x": 1, "y": 2}\n\n{"x"; 1}\n', "twice.json": '{"x": 1, "x": 2}',
        "text.json": '[{"x": 1, "y": 2}, {"x": 1, "y": "two"}]', "large.json": '{"x": 1e999, "y": 1}', "list.json": "[1, 2]",
        "deep.json": "[" * 200_000,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line, code, text", FAULTS, ids=[line for line, _, _ in FAULTS])
def test_faults(folder, line, code, text):
    """Every row of the table: one text on standard error, for a fault nothing on standard output, and no file left."""
    before = sorted(os.listdir())
    ended = adcli(*line.split(" "))
    assert (ended.code, ended.err) == (code, text.replace("VERBS", ", ".join(VERBS)))
    assert (ended.out == "") == (code in (2, 3) or line.startswith("fmt --check"))
    assert sorted(os.listdir()) == before


def test_no_arguments_show_the_help():
    ended = adcli()
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("Usage: adcli [OPTIONS] COMMAND")


def test_many_notes_are_counted():
    ended = adcli("grad", "-e", "abs(x)", "--at", "x=0:0:30")
    lines = ended.err.splitlines()
    assert ended.code == 0
    assert len(lines) == 21
    assert lines[-1] == "note: 10 more results are not smooth"


def test_notes_about_the_program():
    assert adcli("eval", "-e", "v = x; v = y", "--at", "x=1,y=2").err.splitlines()[0].endswith(
        "note: the value assigned to 'v' here is never used")


def test_an_expression_that_is_not_utf8():
    assert adcli("eval", "-e", os.fsdecode(b"x\xff")) == (
        3, "", "-e: error: not UTF-8: byte 0xff at byte offset 1\nhelp: save it as UTF-8\n", b"")


def test_a_defect_is_told_from_a_fault(monkeypatch):
    def broken(*args: object) -> None:
        raise AssertionError("two and two")
    monkeypatch.setattr("adcli.answers.results.checked", broken)
    ended = adcli("eval", "-e", "x", "--at", "x=1")
    assert ended.code == 70
    assert ended.err.startswith("adcli 0.1.0: internal error: AssertionError: two and two\nhelp: this is a defect of adcli")
    monkeypatch.setenv("ADCLI_TRACEBACK", "1")
    assert "Traceback" in adcli("eval", "-e", "x", "--at", "x=1").err


def test_memory_is_a_clean_fault(monkeypatch):
    def large(*args: object) -> None:
        raise MemoryError
    monkeypatch.setattr("adcli.answers.results.checked", large)
    assert adcli("eval", "-e", "x", "--at", "x=1")[:3] == (2, "", "adcli: error: not enough memory for this program\n")


def test_an_unwritable_file_is_kept(folder, monkeypatch):
    (folder / "kept").write_text("old")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    ended = adcli("eval", "f.ad", "--at", "x=1,y=2", "-o", "kept")
    assert ended[:3] == (2, "", "adcli: error: kept: Permission denied\n")
    assert (folder / "kept").read_text() == "old"


def test_a_failure_halfway_keeps_the_old_file(folder, monkeypatch):
    (folder / "kept").write_text("old")

    def half(layout, rows, number, headed):
        yield "half\n"
        raise OSError(28, "No space left on device")
    monkeypatch.setattr("adcli.answers.results.text", half)
    ended = adcli("eval", "f.ad", "--at", "x=1,y=2", "-o", "kept")
    assert ended[:3] == (2, "", "adcli: error: No space left on device\n")
    assert (folder / "kept").read_text() == "old"
    assert not [name for name in os.listdir() if name.endswith(".part")]


PROGRAMS = [
    "f.ad", "-e x*y", "-e v=sqrt(x) -e w=x/y", "-e log(x", "-e #", "-e ;", "-e 1", "-", "none.ad", "f.ad f.ad",
    "-e x>0?x:y", "-e v=g(x)", "wrong.ad", "binary",
]
PARTS = [
    "x=1", "y=2", "x=0:1:3", "y=", "x", "==", "x=1e400", "y=nan", "x=-inf", "@text.json", "@f.ad", "@", "x=1/0",
    "x=pi", "y=2**1000", "x=0:0:0", "x=1:2:3:4", "x=a:b:c", "é=1", "x=0x1p3", "x=0x", "x=++1", "x=1;", "x=1#",
    "x=[1]", "x=sin(1)", "x=1<2", "x=1?2:3", "x={1}", "x=dup(1)", "x=input", "x=inf:nan:2",
]
OPTIONS = [
    "--format json", "--format csv", "--fmt %.3e", "--fmt %99999f", "--fmt %999.9f", "--hex", "--status",
    "--strict", "-q", "-o r", "-o none/r", "--emit text", "--emit llvm", "--emit asm", "--emit object",
    "--style anf", "--lanes 4", "--wrt x", "--wrt ,", "--of f", "--of v,w", "--mode forward", "--order 2",
    "--order x", "--tangent x=1", "--tangent x=nan", "--tangent x=1:2:3", "--cotangent f=1", "--stage dup",
    "--check", "--no-cache", "--help", "--", "-z", "",
]


@pytest.mark.parametrize("seed", half(range(4)))
def test_no_command_line_is_a_defect(folder, seed):
    """Whatever stands on the command line, it is done or refused, and never with a traceback."""
    r, codes = fixed("test_no_command_line_is_a_defect", seed), set()
    for _ in range(250):
        words = [r.choice(["eval", "grad", "jvp", "vjp", "show", "fmt"]), *r.choice(PROGRAMS).split(" ")]
        words += ["--at", ",".join(r.choices(PARTS, k=2)) if r.random() < 0.5 else "x=1,y=2"]
        words += " ".join(r.choices(OPTIONS, k=2)).split(" ")
        ended = adcli(*words, stdin=b"v = x*y")
        codes.add(ended.code)
        assert ended.code in (0, 2, 3, 4), (words, ended)
        assert "Traceback" not in ended.err
    assert {0, 2, 3} <= codes


@pytest.mark.parametrize("text, number", [
    ("1e6", 10**6), ("1.5e2", 150), ("2.50e1", 25), ("100", 100), ("1_000", 1000), ("1E+2", 100), ("auto", "auto"),
    ("1.25e1", None),
    ("1e-2", None), ("1e99", None), ("1", None), ("2.5", None), ("many", None), ("", None)])
def test_a_whole_number_may_have_an_exponent(text, number):
    kind = WholeNumber(2, 10**7, ("auto",))
    if number is not None:
        assert kind.convert(text, None, None) == number
        return
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


def test_a_wrong_whole_number_is_told():
    ended = adcli("propagate", "-e", "x", "--at", "x=1±1", "--monte-carlo", "1e99")
    assert ended.err == "adcli: error: --monte-carlo needs a whole number from 2 to 10000000000, or auto\n"
    assert "--samples needs a whole number from 1 to" in adcli("check", "-e", "x", "--samples", "1e-1").err
    assert adcli("check", "-e", "x", "--samples", "2e0").code == 0
