"""Rules of options: which goes with which verb, format and kind of program. The one table.

A way is one thing that a command line can come to: a program that is written, points, rows, sums, bounds, or a verb of its own.
Each has its rules, in the order in which they are looked at. An option that would do nothing is refused, and the reason follows
its name; a rule without options is a whole message. Nothing refuses an option but a row of this table.
"""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from adcli.codegen.targets import TARGETS
from adcli.input.settings import EMIT_OPTIONS, NUMBER_OPTIONS, PART_OPTIONS, ROW_OPTIONS, SUM_OPTIONS, TABLE_OPTIONS, Options
from adcli.lang.ir.errors import AdError
from adcli.output.suffixes import ARRAYS
from adcli.task.verbs import MATRIX_FORMATS, TABLE_FORMATS, VERBS

BINARY = ("parquet", *ARRAYS)
"""Formats that have numbers, not text."""
SAMPLES = ("input_format", "delimiter", "decimal", "no_header", "columns", "rename")
"""Options about the columns of a file of values."""
POINTS, ROWS, FILES = "needs points (⟦--at POINT⟧)", "needs rows (--data FILE)", "needs files (--data FILE)"
TEXTS, OF_TENSORS = "needs --format text, csv or json", "of tensors needs --format text or json"


class Refusal(NamedTuple):
    """Options that are refused where all that was said has these values, each one, one of several, or one that passes a test."""

    options: str | tuple[str, ...]
    reason: str
    where: Mapping[str, object] = MappingProxyType({})
    help: str | None = None


def but(options: tuple[str, ...], *others: str) -> tuple[str, ...]:
    return tuple(name for name in options if name not in others)


NO_TARGET = (
    Refusal("", "--target names a machine, and '{triple}' is none", {"triple": tuple(TARGETS)}, "write --emit {triple}"),
    Refusal(but(EMIT_OPTIONS, "precision"), "needs --emit TARGET"))
TAPE = Refusal("", "--tier tape is for programs of numbers", {"tensors": True, "tier": "tape"},
               "tensors and loops are compiled: leave it out")
CSV_ONLY = "delimiter", "is about CSV, and the table is {way}"
NAMED_ROWS = (Refusal("no_header columns", "is about CSV and TSV; a table of {way} has names"),
              Refusal("decimal", "is about CSV and TSV; numbers of {way} have a point"))
LOST = "against interval", "has no place beside what is written: add --format json"
LOOK = (Refusal("size", "needs --plot", {"plot": None}),
        Refusal("theme", "needs --plot FILE.svg, .png or .pdf", {"plot": (None, "-")}))
RULES: dict[str, tuple[Refusal, ...]] = {
    "emit": (
        Refusal(but(NUMBER_OPTIONS, "at"), "cannot be used with --emit, which writes a program"),
        Refusal("status", "has no derivative, which --abi casadi writes", {"abi": "casadi", "verb": "eval"}),
        Refusal("", "--abi casadi writes a function with its derivatives, so it goes with eval, not with {verb}",
                {"abi": "casadi", "verb": tuple(VERBS)[1:]}, "write adcli eval … --emit library --abi casadi"),
        *(Refusal(name, "has no effect on --emit {emit}", {"emit": tuple(t for t in TARGETS if name not in TARGETS[t].options)})
          for name in (*EMIT_OPTIONS, "fast_math"))),
    "nothing emitted": (*NO_TARGET, Refusal("precision", "needs --emit TARGET")),
    "pattern": (
        Refusal("at", "cannot be used with --pattern, which shows no numbers", {"tensors": False}),
        Refusal((*but(NUMBER_OPTIONS, "at"), "status"), "cannot be used with --pattern, which shows no numbers"),
        Refusal("explain emit", "and --pattern cannot be used together")),
    "numbers": (
        *NO_TARGET,
        Refusal("digits enclose", "is about doubles: leave out --precision single", {"precision": "single"}),
        Refusal(SUM_OPTIONS, "needs --sum or --mean", {"summed": False}),
        Refusal("digits enclose status", TEXTS, {"summed": False, "form": MATRIX_FORMATS}),
        Refusal("digits enclose", TEXTS, {"summed": False, "form": ("tsv", *BINARY)})),
    "enclose": (
        Refusal(("data", *ROW_OPTIONS), "cannot be used with --enclose, which takes points and boxes"),
        Refusal("digits", "and --enclose cannot be used together"),
        Refusal("fmt", "cannot be used with --enclose: rounded bounds guarantee nothing"),
        Refusal("status", "cannot be used with --enclose: wide bounds show what is not smooth"),
        Refusal("fast_math tier", "has no effect on --enclose"),
        Refusal("enclose", OF_TENSORS, {"tensors": True, "form": "csv"})),
    "points": (
        Refusal(TABLE_OPTIONS, ROWS),
        Refusal((*PART_OPTIONS, "jobs"), ROWS, {"tensors": False}),
        Refusal("fmt hexadecimal", "has no effect on {form}, which has numbers, not text", {"tensors": False, "form": BINARY}),
        Refusal("status", "needs --format text, json, csv, tsv or parquet", {"tensors": False, "form": ARRAYS}),
        TAPE,
        Refusal("digits", OF_TENSORS, {"tensors": True, "form": ("csv", "tsv")}),
        Refusal("status", OF_TENSORS, {"tensors": True, "form": ("csv", "tsv", *ARRAYS)}),
        Refusal("zeros", "has no effect: Jacobians of tensors are dense", {"tensors": True, "zeros": True}),
        Refusal("fmt hexadecimal", "has no effect on {output}, a file of arrays", {"tensors": True, "form": ARRAYS}),
        Refusal("", "--format parquet holds rows; a point with tensors is no row", {"tensors": True, "form": "parquet"},
                "write -o FILE.npz or --format json; rows with tensors come from --data FILE")),
    "matrix of elements": (Refusal("tier jobs", "has no effect on --format {form} of tensors"),),
    "rows": (
        Refusal("digits", "of tensors needs points (⟦--at POINT⟧)", {"tensors": True}),
        TAPE,
        Refusal("zeros", "has no effect: Jacobians of tensors are dense", {"tensors": True, "zeros": True}),
        Refusal("", "--format {form} writes a matrix at a point, not rows", {"summed": False, "form": MATRIX_FORMATS},
                "give a point with ⟦--at⟧, or --format csv"),
        Refusal("digits", POINTS),
        Refusal("", "-o {output}: an .npy file holds one tensor, not the columns of rows",
                {"summed": False, "form": "npy"}, "use .npz"),
        Refusal("only", "has no effect on --format text", {"form": "text", "form_known": True}),
        Refusal("fmt hexadecimal", "has no effect on Parquet, which has numbers, not text", {"form": "parquet"}),
        Refusal("fmt hexadecimal", "has no effect on a file of arrays, which has numbers, not text",
                {"summed": False, "form": "npz"})),
    "whole tables": (Refusal(PART_OPTIONS, FILES),),
    "this process": (Refusal("retries", "needs --engine"),),
    "sums": (
        Refusal("", "--sum and --mean cannot be used together", {"sum": True, "mean": True},
                "a mean is a sum divided by 'rows', or by 'weights'"),
        Refusal("only", "has no effect with {total}, which writes no rows"),
        Refusal("", "--on-error mark marks rows, and {total} writes none", {"on_error": "mark"},
                "write --on-error skip"),
        Refusal("digits enclose", "cannot be used with {total}"),
        Refusal("status", TEXTS, {"form": MATRIX_FORMATS}),
        Refusal("group_by", "has no place in --format {form}, which writes one matrix", {"form": MATRIX_FORMATS}),
        Refusal("gauss_newton", "has no place in --format {form}; JᵀJ is in text, CSV and JSON", {"form": MATRIX_FORMATS}),
        Refusal("gauss_newton", "adds up JᵀJ of numbers; residuals in a tensor are those of one row: sum r(i)**2 there",
                {"tensors": True})),
    "sums of points": (Refusal("weights group_by", ROWS),),
    "CSV and TSV": (
        Refusal("delimiter", "and --input-format tsv cannot be used together", {"input_format": "tsv"}),
        Refusal("columns", "names the columns of a table without a header: add --no-header", {"no_header": False})),
    "JSON": (*NAMED_ROWS, Refusal(*CSV_ONLY, {"form_known": False}), Refusal(*CSV_ONLY, {"form": "csv".__ne__})),
    "Parquet": (*NAMED_ROWS, Refusal(*CSV_ONLY, {"form_known": True, "form": "csv".__ne__})),
    "propagate at points": (
        *LOOK, Refusal("wrt", "is for rows and --emit; at points, inputs with a spread are uncertain"),
        *NO_TARGET, Refusal("precision", "needs --emit TARGET"),
        Refusal(but((*TABLE_OPTIONS, *PART_OPTIONS), *SAMPLES), ROWS)),
    "propagate": (
        Refusal("covariance monte_carlo seed shortest concise plot size theme", POINTS),
        Refusal("coverage", f"{POINTS} or rows", {"emit": tuple(TARGETS)}),
        Refusal("", "{asked} " + POINTS, {"form": TABLE_FORMATS})),
    "propagate in parts": (Refusal("coverage", "cannot be used with --engine, or with tables in parts"),),
    "propagate without values": (Refusal(SAMPLES, "needs a table: --data FILE, or values of an input, ⟦--at⟧ x=@FILE"),),
    "sampling": (Refusal("seed jobs shortest", "needs ⟦--monte-carlo⟧ N", {"monte_carlo": None}),),
    "solve": (
        *NO_TARGET, Refusal("precision", "needs --emit TARGET"),
        Refusal("sensitivities", "needs --emit TARGET: at points they are always there"),
        Refusal(TABLE_OPTIONS, ROWS, {"data": ()})),
    "fit": (
        *LOOK,
        Refusal("f_scale", "needs a robust loss: --loss huber", {"loss": "linear"}),
        Refusal("coverage", "is of bands and intervals: add --predict, --interval or --plot",
                {"predict": None, "plot": None, "interval": None}),
        Refusal(*LOST, {"form": "program"}), Refusal(*LOST, {"predict": bool, "form": ("text", "csv", "tsv")}),
        Refusal("predict", "has no place in a program: add --format json", {"form": "program"})),
    "log density": (Refusal("sigma f_scale", "has no effect with a log density: its scale is in the expression"),),
    "fit without a table": (Refusal(but(ROW_OPTIONS, "jobs"), ROWS),),
    "check": (*LOOK, Refusal("symbol returns time_limit", "says more of ⟦--against⟧, which is not given", {"against": None}),),
    "draw": (
        Refusal("wrt", "needs ⟦--at⟧, or ⟦--stage forward⟧ or reverse", {"at": (), "derived": False}),
        Refusal("tangent cotangent fmt", "needs ⟦--at⟧", {"at": ()}),
        Refusal("tangent", "is no seed of ⟦--stage⟧ {stage}", {"stage": "reverse"}),
        Refusal("cotangent", "is no seed of ⟦--stage⟧ {stage}", {"stage": "forward"})),
    "plot": (
        Refusal("fmt", "needs --format csv", {"form": ("text", "svg", "png", "pdf")}),
        Refusal("derivatives", "and --against cannot be used together", {"against": bool}),
        Refusal("theme", "needs a file: -o picture.svg, .png or .pdf", {"form": ("text", "csv")}),
        Refusal("data right title size", "has no effect on --format csv, the numbers of the curves", {"form": "csv"}),
        Refusal((*SAMPLES, "na", "missing"), "needs a table: --data FILE", {"data": ()})),
    "show": (Refusal("wrt of", "needs --stage forward or reverse", {"derived": False}),),
    "fmt": (
        Refusal("exact_order", "has no meaning for fmt, which changes no order"),
        Refusal("checkpoint", "has no meaning for fmt, which runs nothing: write for t in 0:T checkpoint {{ … }}"),
        Refusal("output", "cannot be used with --check, which writes nothing", {"check": True})),
}


def require_fit(options: Options, way: str, tensors: bool = False) -> None:
    """AdError for the first rule of a way that is broken."""
    said = {**vars(options), "way": way, "tensors": tensors, "summed": getattr(options, "summed", False),
            "derived": getattr(options, "stage", None) in ("forward", "reverse"),
            "total": "--sum" if getattr(options, "sum", False) else "--mean",
            "asked": f"--format {options.form}" if options.given("form") else f"-o {options.output}"}
    for refused, reason, where, help in RULES[way]:
        if not all(holds(value, said[name]) for name, value in where.items()):
            continue
        if not refused:
            raise AdError(reason.format_map(said), help=help and help.format_map(said))
        for name in refused.split() if isinstance(refused, str) else refused:
            if (given := next((t for t in options.typed if t.parameter == name), None)) is not None:
                raise AdError(f"{given.spelling} {reason.format_map(said)}")


def holds(wanted: object, value: object) -> bool:
    """Test of a value: it is the one wanted, one of those, or passes the test."""
    return bool(wanted(value)) if callable(wanted) else wanted == value or (isinstance(wanted, tuple) and value in wanted)
