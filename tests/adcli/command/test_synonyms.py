"""What is proposed for the names that other tools have: it exists, and pasted it runs."""
from __future__ import annotations

import re
import shlex

import click
import pytest
from command import adcli
from session_seed import half

from adcli.command.synonyms import OF_VERBS, OPTIONS, VERB_SYNONYMS
from adcli.command.usage import fits, meant_option, options_of
from adcli.main import VERBS as KNOWN
from adcli.main import cli

POINT = "--at x=1,y=2"
PASTED = [   # a command line, the option that it does not have there, and what is proposed
    ("grad {}", "--expr x*y", "-e x*y", POINT), ("grad {}", "--eval x*y", "-e x*y", POINT),
    ("eval -e x*y {}", "--point x=1,y=2", "--at x=1,y=2", ""), ("grad -e x*y {}", "--points x=1,y=2", "--at x=1,y=2", ""),
    ("eval -e x {}", "--x 5", "--at x=2", ""), ("why -e x**3 {}", "--x=5", "--at x=2", ""),
    ("grad -e x*y {}", "--input rows.csv", "--data rows.csv", ""), ("grad -e x*y {}", "--file rows.csv", "--data rows.csv", ""),
    ("propagate -e x*y {}", "--table spread.csv", "--data spread.csv", ""),
    ("grad -e x*y {}", "--csv", "--format csv", POINT), ("grad -e x*y {}", "--json", "--format json", POINT),
    ("check -e x*y {}", "--json", "--format json", POINT), ("trace -e x*y {}", "--latex", "--format latex", POINT),
    ("trace -e x*y {}", "--md", "--format markdown", POINT), ("jacobian -e x*y {}", "--mtx", "--format mtx", POINT),
    ("functions sin {}", "--json", "--format json", ""), ("grad -e x*y {}", "-f json", "--format json", POINT),
    ("grad -e x*y {}", "--out r", "-o r", POINT), ("show -e x*y {}", "--outfile r", "-o r", ""),
    ("eval -e x*y {}", "--prec 6", "--fmt %.6g", POINT), ("trace -e x*y {}", "--decimals 6", "--fmt %.6g", POINT),
    ("grad -e x*y {}", "--reverse", "--mode reverse", POINT), ("grad -e x*y {}", "--forward", "--mode forward", POINT),
    ("show -e x*y {}", "--reverse", "--stage reverse", ""), ("why -e x*y {}", "--forward", "--mode forward", POINT),
    ("grad -e x*y {}", "--wtr=x", "--wrt=x", POINT), ("grad -e x*y {}", "--wrtt x", "--wrt x", POINT),
    ("grad -e x*y {}", "--by x", "--wrt x", POINT), ("grad -e x*y {}", "--outputs f", "--of f", POINT),
    ("grad -e x*y {}", "--threads 2", "--jobs 2", "--data rows.csv"), ("grad -e x*y {}", "-j 2", "--jobs 2", "--data rows.csv"),
    ("grad -e x*y {}", "--verbose", "--explain", POINT), ("taylor -e x {}", "--verbose", "--status", "--at x=1"),
    ("grad -e x*y {}", "--silent", "--quiet", POINT), ("eval {}", "-V", "--version", ""),
    ("check -e x*y {}", "--tol 1e-6", "--digits 19", POINT), ("grad -e x*y {}", "--tol", "--digits", POINT),
    ("jvp -e x*y {}", "--direction x=1", "--tangent x=1", POINT), ("vjp -e x*y {}", "--weight f=1", "--cotangent f=1", POINT),
    ("eval -e x*y {}", "--average", "--mean", "--data rows.csv"), ("grad -e x*y {}", "--total", "--sum", "--data rows.csv"),
    ("grad -e x*y --sum {}", "--groupby y", "--group-by y", "--data rows.csv"),
    ("grad -e x*y --emit c {}", "--name f", "--symbol f", ""),
    ("grad -e x*y {}", "--degree 2", "--order 2", POINT), ("grad -e x*y {}", "--lang llvm", "--emit llvm", ""),
    ("grad -e x*y {}", "--latex", "--emit latex", ""), ("grad -e x*y {}", "--javascript", "--emit js", ""),
    ("grad -e x*y {}", "--llvm", "--emit llvm", ""), ("grad -e x*y {}", "--asm", "--emit asm", ""),
    ("grad -e x*y {}", "--anf", "--style anf", "--emit text"), ("show -e x*y {}", "--anf", "--stage anf", ""),
    ("grad -e x*y {}", "--simd 8", "--lanes 4", "--emit llvm"),
    ("grad -e x*y {}", "--skip", "--on-error skip", "--data rows.csv"),
    ("grad -e x*y {}", "--nan", "--missing nan", "--data rows.csv"), ("jacobian -e x*y {}", "--dense", "--zeros", POINT),
    ("jacobian -e x*y {}", "--sparse", "--no-zeros", POINT), ("hessian -e x*y {}", "--spy", "--pattern", ""),
    ("grad -e x*y {}", "--nocache", "--no-cache", POINT), ("grad -e x*y {}", "--bounds", "--enclose", POINT),
    ("propagate -e x*y {}", "--mc 100", "--monte-carlo 100", "--at x=1±0.1,y=2"),
    ("propagate -e x*y {}", "--confidence 95", "--coverage 0.95", "--at x=1±0.1,y=2"),
    ("minimize -e x**2 {}", "--start x=1", "--at x=1", ""), ("minimize -e x**2 {}", "--x0 x=1", "--at x=1", ""),
    ("minimize -e x**2 {}", "--bounds x=1:2", "--subject-to '0 <= x <= 2'", "--at x=1"),
    ("minimize -e x**2 {}", "--constraint x>=1", "--subject-to x>=1", "--at x=1"),
    ("minimize -e x**2 {}", "--method BFGS", "--solver BFGS", "--at x=1"),
    ("solve -e x**2-2 {}", "--start x=1", "--at x=1", ""),
    ("fit -e v=a*x --y y --data rows.csv {}", "--start a=1", "--params a=1", ""),
    ("fit -e v=x*y --y y --data rows.csv {}", "--bounds x=0:2", "--params 'x=1 in [0, 2]'", ""),
    ("plot -e x**2 --at x=0:1 -o a.svg {}", "--figsize 8,6", "--size 16x10cm", ""),
    ("plot -e x**2 --at x=0:1 -o a.svg {}", "--dark", "--theme dark", ""),
    ("plot -e x**2 {}", "--x 0:1", "--at x=-3:3", "--format csv"), ("eval -e x {}", "-x 5", "--at x=2", ""),
    ("bench -e x*y --rows 8 {}", "--duration 0.001", "--seconds 0.001", ""), ("fmt -e 'f = x' {}", "--dry-run", "--check", ""),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    (tmp_path / "spread.csv").write_text("x,u_x,y,u_y\n1,0.1,2,0.1\n")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line, wrong, right, rest", half(PASTED), ids=lambda text: text[:20])
def test_what_is_proposed_for_an_option_runs_when_it_is_pasted(folder, line, wrong, right, rest):
    """A proposal with a value replaces the option and its value, one without only the name."""
    ended = adcli(*shlex.split(f"{line.format(wrong)} {rest}"))
    name, proposed = wrong.split("=")[0].split()[0], right.split("=")[0].split()[0]
    kept = right == wrong.replace(name, proposed, 1)
    help = f"did you mean '{proposed}'?" if kept else f"write {right}"
    assert ended.err == f"adcli: error: no option '{name}'\nhelp: {help}\n"
    assert ended.code == 2
    pasted = adcli(*shlex.split(f"{line.format(right)} {rest}"))
    assert pasted.code == 0, pasted.err


@pytest.mark.parametrize("word", sorted(VERB_SYNONYMS))
def test_what_is_proposed_for_a_verb_exists(word):
    meant = VERB_SYNONYMS[word]
    help = f"did you mean '{meant}'?" if meant in KNOWN else f"write {meant}"
    assert meant in KNOWN or adcli(*meant.split()[1:], *(("-e", "-x**2", "--at", "x=1") if "minimize" in meant else ())).code == 0
    assert word not in KNOWN
    assert adcli(word, "-e", "x").err == f"adcli: error: no verb '{word}'\nhelp: {help}\n"


def commands() -> dict[str, dict[str, click.Option]]:
    """The options of every verb."""
    with cli.make_context("adcli", ["help"], resilient_parsing=True) as context:
        return {name: options_of(click.Context(command, context, name)) for name in KNOWN
                if (command := cli.get_command(context, name))}


def test_what_is_proposed_for_an_option_is_taken_by_the_verb():
    """Of every verb and every name: the option is there, with that value; and every answer is one somewhere."""
    given = set()
    for known in commands().values():
        for word in OPTIONS:
            name = f"-{word}" if len(word) == 1 else f"--{word}"
            if name not in known and (meant := meant_option(name, known)):
                assert fits(meant, known)
                given.add(meant)
    assert given >= {answer for answers in OPTIONS.values() for answer in answers}


SENTENCES = [(verb, word) for verb, words in OF_VERBS.items() for word, (answer,) in words.items() if not answer.startswith("-")]


@pytest.mark.parametrize(("verb", "word"), SENTENCES)
def test_where_no_option_does_the_same_alone_it_is_said(verb, word):
    name = f"-{word}" if len(word) == 1 else f"--{word}"
    ended = adcli(verb, "-e", "x", name, "2")
    assert (ended.code, ended.err) == (2, f"adcli: error: no option '{name}'\nhelp: {OF_VERBS[verb][word][0]}\n")
    known = commands()[verb]
    assert all(option in known for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", OF_VERBS[verb][word][0]))


def test_every_option_of_a_sentence_or_an_answer_is_one_of_the_verb():
    for verb, words in OF_VERBS.items():
        known = commands()[verb]
        assert all(fits(answer, known) for (answer,) in words.values() if answer.startswith("-"))
        assert not [word for word in words if f"--{word}" in known]

