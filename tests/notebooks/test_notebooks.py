"""Notebooks executed as Jupyter does it, in a kernel of their own: what comes out is what stands in the file.

`pytest tests/notebooks -m engine --rewrite-notebooks` writes what comes out today into the files; what it changed is for the
reader of the diff to judge.
"""
from __future__ import annotations

import re
from pathlib import Path

import pytest
from markup import Reader
from places import ROOT

pytestmark = pytest.mark.engine
NOTEBOOKS = sorted(Path(__file__).parent.glob("*.ipynb"))
FIGURES = re.compile(r"\d\.\de[+-]\d\d|\d+\.\d(?= right digits)")
"""Errors of rounding, which differ from one machine to another."""


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def executed(request):
    """A notebook as it is stored, and as it comes out."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    stored, fresh = (nbformat.read(request.param, 4) for _ in range(2))
    nbclient.NotebookClient(fresh, timeout=120, kernel_name="python3", resources={"metadata": {"path": ROOT}},
                            allow_errors=True, record_timing=False).execute()
    fresh.metadata.pop("language_info", None)
    if request.config.getoption("--rewrite-notebooks"):
        nbformat.write(fresh, request.param)
    return stored, fresh


def told(cell):
    """What a cell shows, without what a machine has of its own."""
    shown = []
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            shown.append((output.ename, "\n".join(output.traceback)))
        elif output.output_type == "stream":
            shown.append((output.name, output.text))
        else:
            forms = {kind: FIGURES.sub("#", text) for kind, text in output.data.items() if "<img" not in text}
            shown.append(tuple(sorted(forms.items())))
    return shown


def test_what_comes_out_is_what_stands_there(executed):
    stored, fresh = executed
    for before, after in zip(stored.cells, fresh.cells, strict=True):
        assert told(after) == told(before), after.source


def test_only_cells_that_say_so_fail(executed):
    _, fresh = executed
    failed = [cell for cell in fresh.cells if any(o.output_type == "error" for o in cell.get("outputs", ()))]
    assert failed == [cell for cell in fresh.cells if "raises-exception" in cell.metadata.get("tags", ())]
    errors = [o.traceback for cell in failed for o in cell.outputs if o.output_type == "error"]
    assert len(errors) == len(failed) and all(len(lines) < 8 and "Traceback" not in lines[0] for lines in errors)


def test_what_is_shown_does_nothing_and_can_be_listened_to(executed):
    """Each result that has HTML: tables have captions, pictures have texts, and nothing is run or loaded."""
    _, fresh = executed
    pages = [o.data["text/html"] for cell in fresh.cells for o in cell.get("outputs", ()) if "text/html" in o.get("data", ())]
    assert len(pages) >= 5
    for page in pages:
        read = Reader(page)
        assert all(table.caption for table in read.found if "dataframe" not in page) and all(read.described)
