"""The table of verbs: whole rows, and everything that is made from them agrees with them."""
from __future__ import annotations

import click
import pytest
from adcli.lang.ir.errors import Source
from command import adcli, succeeds

from adcli.main import VERBS as LISTED
from adcli.main import cli
from adcli.output.layout import nested
from adcli.task.request import Request
from adcli.task.tasks import made
from adcli.task.verbs import MATRIX_FORMATS, VERBS, Verb

ONE, THREE = "v = x*sin(y)\n", "u = x*y\nv = x + sin(y)\nw = 3\n"
CASES = [(verb, text) for verb in VERBS.values() for text in (ONE, THREE) if text == ONE or verb.name not in ("hessian", "hvp")]
by_row = pytest.mark.parametrize("verb", VERBS.values(), ids=lambda v: v.name)


def task(verb: Verb, text: str, **asked):
    return made(Request(verb.name, Source("f.ad", text), **asked), None)


@pytest.mark.parametrize("column", Verb._fields)
def test_a_row_that_lacks_a_column_is_no_row(column):
    assert Verb._field_defaults == {}
    row = VERBS["grad"]._asdict()
    del row[column]
    with pytest.raises(TypeError, match=f"missing 1 required positional argument: '{column}'"):
        Verb(**row)


@by_row
def test_the_columns_of_a_row_agree(verb):
    assert verb.short.endswith(".") and verb.header.startswith("the ") and len(verb.examples) == 2
    assert (verb.matrix is not None) == set(MATRIX_FORMATS).issubset(verb.formats)
    assert verb.wrt != "--tangent" or verb.seed == "tangent"
    assert verb.differentiates or (verb.seed, verb.mode) == (None, "")


@pytest.mark.parametrize("verb, text", CASES)
@pytest.mark.parametrize("order", [1, 2])
def test_every_derived_result_has_a_place_of_its_own(verb, text, order):
    worked = task(verb, text, order=order)
    signature = worked.signature
    places = verb.places(signature)
    assert len(places) == len(set(places)) == len(signature.derived)
    tree = nested(places, range(len(places)))
    assert leaves(tree) == len(places)
    assert [c.name for c in signature.derived] == [r.name for r in worked.program.results][len(signature.results) - len(places):]


def leaves(tree: object) -> int:
    if isinstance(tree, dict | list):
        return sum(map(leaves, tree.values() if isinstance(tree, dict) else tree))
    return 1


@by_row
def test_the_seeds_of_a_program_are_those_of_the_row(verb):
    s = task(verb, ONE).signature
    of = {"tangent": s.wrt, "cotangent": s.outputs, None: ()}[verb.seed]
    assert [p.seed for p in s.seeds] == list(of)


@by_row
def test_the_command_has_the_options_of_the_row(verb):
    command = cli.get_command(click.Context(cli), verb.name)
    assert command is not None
    names = {o for p in command.params if isinstance(p, click.Option) for o in p.opts}
    formats = next(p.type.words for p in command.params if p.name == "form")
    assert tuple(formats) == verb.formats
    assert (command.short_help, command.help, command.examples) == (verb.short, verb.help, verb.examples)
    assert verb.wrt is None or verb.wrt in names
    if verb.module is None:
        assert {f"--{verb.seed}"} & names == ({f"--{verb.seed}"} if verb.seed else set())
        assert ("--pattern" in names) == (verb.matrix is not None)


@by_row
def test_header_and_json_say_what_the_row_says(verb):
    first = succeeds(verb.name, "-e", "v = x*sin(y)", "--emit", "text").out.splitlines()[0]
    assert f": {verb.header} of -e" in first and (not verb.mode or first.endswith(f", {verb.mode} mode"))
    if verb.module is None:
        line = [verb.name, "-e", "v = x*sin(y)", "--at", "x=2,y=0.5", "--format", "json"]
        if verb.seed:
            line += [f"--{verb.seed}", "v=1" if verb.seed == "cotangent" else "x=1,y=2"]
        record = succeeds(*line).records[0]
        assert (verb.name in record) == verb.differentiates
        assert (verb.seed in record) if verb.seed else not {"tangent", "cotangent"} & set(record)


def test_lists_and_completion_have_every_row(monkeypatch):
    assert set(VERBS) <= set(LISTED) and len(set(LISTED)) == len(LISTED)
    shown = succeeds("--help").out
    assert all(f"  {v.name:9}  {v.short}\n" in shown for v in VERBS.values())
    monkeypatch.setenv("_ADCLI_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_LINE", "adcli ")
    assert {line.partition(",")[2] for line in adcli("ignored").out.splitlines()} >= set(VERBS)
