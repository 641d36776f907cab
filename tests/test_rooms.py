"""The plan of the house: folders say what they are for, are installed as they stand, and have their tests where one looks.

That a room imports only rooms below it is checked by import-linter, with the contracts in pyproject.toml.
"""
from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

from places import ROOT
from row_tables import each_row

TOP = ("lang", "codegen", "adcli")
FILES = sorted(path for top in TOP for path in (ROOT / top).rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})
MODULES = [path.relative_to(ROOT).with_suffix("").as_posix() for path in FILES if path.name != "__init__.py"]
SET_UP = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]

TESTED_AS = {
    # Errors are exact texts of the whole front end, whichever file notices them.
    "lang/test_diagnostics.py": (
        "lang/ir/errors", "lang/syntax/line_ends", "lang/syntax/recover", "lang/syntax/scan", ),
    # Parts of one thing, with no meaning by themselves.
    "lang/syntax/test_parse.py": (
        "lang/syntax/actions", "lang/syntax/chain", "lang/syntax/constants", "lang/tree/nodes"),
    "lang/syntax/test_grammar.py": ("lang/syntax/tables",),
    "lang/printing/test_printer.py": ("lang/tree/notation", "lang/printing/scalar_printer"),
    "lang/simplify/test_mathematics.py": (
        "lang/simplify/rule_cases", "lang/simplify/rule_cases_tensors"),
    "lang/suggest/test_fixes.py": ("lang/syntax/foreign", "lang/syntax/mend"),
    "codegen/documents/test_svg.py": ("codegen/documents/layered",),
    "lang/lower/test_function_calls.py": ("lang/lower/function_body", "lang/statements/slices"),
    "lang/lower/test_program.py": ("lang/expressions/inline", "lang/expressions/scope", "lang/expressions/assignments"),
    "lang/statements/test_comprehension.py": (
        "lang/statements/index_conditions", "lang/lower/tensor_scope"),
    "lang/expressions/test_stated_problem.py": ("lang/ir/problem", "lang/lower/condition_elements"),
    "lang/simplify/test_sum_order.py": ("lang/simplify/sum_parts",),
    "lang/loops/test_nested_loops.py": ("lang/loops/skewed_loops",),
    "test_derivative_texts.py": ("lang/printing/kept_functions",),
    "lang/lower/test_loops.py": (
        "lang/expressions/reductions", "lang/printing/read_back"),
    "lang/simplify/test_simplify.py": ("lang/simplify/simplify_tensors",),
    "lang/simplify/test_nonzero_domains.py": ("lang/simplify/simplify_tensors",),
    "lang/modes/test_comprehension_rules.py": ("lang/operations/comprehension", "lang/operations/elementwise"),
    "lang/passes/test_zero_seeds.py": ("lang/passes/zero_seeds_tensors",),
    "lang/passes/test_status.py": ("lang/passes/status_places", "lang/passes/status_tensors"),
    "lang/derive/test_derivatives.py": ("lang/derive/cost", "lang/derive/sweep_plans"),
    "lang/derive/test_entries.py": ("adcli/task/entries", "lang/derive/linear_statements"),
    "lang/derive/test_taylor.py": ("lang/derive/power_series",),
    "lang/analyse/test_explain.py": ("lang/analyse/findings", "lang/analyse/numeric_sweeps"),
    "lang/analyse/test_enclosure.py": (
        "lang/enclosures/interval_arithmetic", "lang/enclosures/intervals", "lang/enclosures/*_intervals"),
    "lang/sizes/test_in_bounds.py": ("lang/sizes/binding",),
    "lang/ir/test_primitives.py": (
        "lang/operations/rule_programs", "lang/ir/special_*", "lang/ir/table_sum", "lang/formulas/*"),
    "codegen/modules/test_runtime.py": (
        "codegen/nests/*", "codegen/schedules/*", "codegen/loops/*", "codegen/modules/*", "codegen/llvm_ir/frames"),
    "codegen/modules/test_matrices.py": ("codegen/matrices/*",),
    "codegen/c/test_array_functions.py": (
        "codegen/c/loop_nests", "codegen/c/matrix_functions", "codegen/c/plan", "codegen/library/standalone"),
    "codegen/library/test_code.py": ("codegen/library/standalone",),
    "codegen/test_targets.py": ("codegen/emission",),
    "codegen/rows/test_instructions.py": ("codegen/machine/veclib",),
    "codegen/scripts/test_nested_arrays.py": ("codegen/scripts/numpy_nests",),
    "codegen/scripts/test_languages.py": ("codegen/c/language", "codegen/scripts/javascript", "codegen/scripts/python",
                                                "codegen/scripts/rust", "codegen/scripts/matlab"),
    "codegen/rows/test_tiers.py": ("codegen/rows/tier_up",),
    "codegen/rows/test_interpreted.py": ("codegen/rows/compiled",),
    "codegen/builtins/test_direct.py": (
        "codegen/builtins/builtin_calls", "codegen/builtins/plan_words", "codegen/llvm_ir/translator"),
    # What only commands reach.
    "test_programs.py": ("lang/passes/pipeline",),
    "adcli/api/test_function.py": ("codegen/machine/workers",),
    "adcli/test_main.py": ("adcli/__main__",),
    # A room of the command line is one step of every verb, or one verb, and is tested as a whole.
    **{f"adcli/{room.name}/test_*.py": (f"adcli/{room.name}/*",) for room in FOLDERS if room.parent == ROOT / "adcli"},
}
"""Files whose test has another name: that test, with the files (or patterns of files)."""


@each_row("folder", FOLDERS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_folder_says_what_it_is_for(folder: Path) -> None:
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(re.findall(r"[.!?](?=\s|$)", said)) >= 2, "__init__.py says in two sentences what may be done here, and what not"


def installed(package: str) -> str:
    """The folder that a package is installed from: its own row of package-dir, or the folder below that of its parent."""
    parent, _, name = package.rpartition(".")
    return SET_UP["package-dir"].get(package) or f"{installed(parent)}/{name}"


def test_what_is_installed_is_what_there_is() -> None:
    there = [folder.relative_to(ROOT).as_posix() for folder in FOLDERS]
    assert sorted(map(installed, SET_UP["packages"])) == sorted([*there, "samples"])


def own_test(module: str) -> bool:
    folder, name = ROOT / "tests" / Path(module).parent, Path(module).name
    return any((folder / f"test_{stem}.py").exists() for stem in (name, name.removeprefix("tensor_")))


def test_every_file_has_its_test_where_one_looks() -> None:
    elsewhere = [pattern for patterns in TESTED_AS.values() for pattern in patterns]
    assert [m for m in MODULES if not own_test(m) and not any(fnmatch(m, p) for p in elsewhere)] == []


def test_no_exception_is_left_over() -> None:
    for test, patterns in TESTED_AS.items():
        assert list((ROOT / "tests").glob(test)), f"{test} is not there"
        for pattern in patterns:
            needed = [m for m in MODULES if fnmatch(m, pattern) and (pattern.endswith("*") or not own_test(m))]
            assert needed, f"{pattern} is no exception"


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_tests_hide_no_package() -> None:
    """Folders below tests have the names of rooms; with an __init__.py they could be imported for them."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []
