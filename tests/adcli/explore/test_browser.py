"""The page in a browser: its numbers are Python's, everything on it can be reached by keyboard, and nothing is complained of."""
from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import adcli, succeeds
from engines import package, program
from places import ROOT
from sample_files import SAMPLES, SCALARS

pytestmark = pytest.mark.engine

POINTS = {"projectile": ["--at", "a=45"], "matrix_vector": ["--at", "A=[[1,2],[3,4],[5,6]],B=[7,8]"],
          "softmax_regression": ["--at", "W=[[1,0,0,-1],[0,1,0,0],[0,0,1,0]],b=[0,0,0]", "--at", "x=[1,2,3,4]", "--at", "c=1"]}
"""Points of samples whose first command has none that is one point."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all tests; it keeps what it complains of."""
    package("selenium")
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "chromium-browser", "google-chrome")
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1440,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(program("chromedriver")))
    yield started
    started.quit()


class Page:
    """An open page, as a reader has it."""

    def __init__(self, browser: Any, path: Path, hash: str = "") -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get(f"{path.as_uri()}{hash}")
        self.wait("document.querySelector('#where')?.innerText")

    def run(self, script: str, *args: Any) -> Any:
        return self.browser.execute_script(script, *args)

    def wait(self, condition: str) -> None:
        """Until it holds, for 20 seconds at most."""
        from selenium.webdriver.support.wait import WebDriverWait
        WebDriverWait(self.browser, 20, 0.02).until(lambda _: self.run(f"return {condition}"))

    def text(self, selector: str) -> str:
        return next(iter(self.texts(selector)), "")

    def texts(self, selector: str) -> list[str]:
        found = self.run("""const read = e => !e.querySelector?.('math') ? e.innerText ?? e.textContent
                : [...e.childNodes].map(c => c.getAttribute?.('alttext') ?? (c.hidden ? '' : read(c))).join('');
            return [...document.querySelectorAll(arguments[0])].map(read)""", selector)
        return [text.strip() for text in found]

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys
        for key in keys:
            ActionChains(self.browser).send_keys(getattr(Keys, key, key)).perform()

    def type(self, selector: str, text: str) -> None:
        """Put a text into a field, as if it were typed."""
        self.run("const e = document.querySelector(arguments[0]); e.focus(); e.value = arguments[1];"
                 " e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true}))",
                 selector, text)

    def click(self, selector: str) -> None:
        self.run("document.querySelector(arguments[0]).click()", selector)

    @property
    def results(self) -> dict[str, str]:
        """The numbers of the results, without the sign of what is not finite."""
        rows = "[...document.querySelectorAll('.results tr')].map(row => [...row.children].map(cell => cell.textContent))"
        return dict(self.run(f"return {rows}"))

    @property
    def tensors(self) -> dict[str, list[str]]:
        """The elements of the tensors that are shown, by their names."""
        return dict(self.run("""return [...document.querySelectorAll('.tensor')].map(figure => [
            figure.querySelector('figcaption').firstChild.textContent,
            [...figure.querySelectorAll('td')].map(td => td.querySelector('input')?.value ?? td.innerText.replace('⚠', ''))])"""))

    @property
    def lit(self) -> set[str]:
        """The panes in which the current operation is marked."""
        return set(self.run("return [...document.querySelectorAll('.pane:has([data-now])')].map(p => p.dataset.pane)"))

    def quiet(self) -> None:
        """Nothing was complained of, no policy was violated, and nothing sticks out of the page."""
        assert [entry["message"] for entry in self.browser.get_log("browser")] == []
        assert self.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def point(path: Path) -> list[str]:
    """The point of the first command of a sample."""
    if path.stem in POINTS:
        return POINTS[path.stem]
    commands = [line[8:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# Try:  ")]
    return [word for option, value in pairwise(shlex.split(commands[0])) if option == "--at" for word in ("--at", value)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def page(browser: Any, folder: Path, *args: object, hash: str = "") -> Page:
    path = folder / "page.html"
    assert adcli("explore", *args, "-o", path).code == 0
    return Page(browser, path, hash)


def agree(made: Page, path: Path, verb: str, option: str, seed: str) -> None:
    """Every output and every derivative of a sweep, numbers and elements of tensors, is what the verb prints."""
    (record,) = succeeds(verb, path, *point(path), option, seed, "--format", "json").records
    derived = {f"d_d{x}" if verb == "vjp" else f"d{x}": number for x, number in record[verb].items()}
    want = record["value"] | derived
    derivative = {"jvp": ("^(?:∂(.*)/∂.*|tangent of (.*))$", r"d\1\2"), "vjp": ("^(?:∂.*/∂(.*)|adjoint of (.*))$", r"d_d\1\2")}
    names = {name: re.sub(*derivative[verb], name) for name in made.results}
    shown = {names[name]: [text] for name, text in made.results.items()} | made.tensors
    for name, numbers in want.items():
        given = np.ravel(numbers).astype(float).tolist()
        assert [float(text) for text in shown[name]] == pytest.approx(given, rel=5.1e-6, nan_ok=True), name


def table(*args: object) -> dict[str, str]:
    """The numbers of a run of adcli to 6 digits, by their names."""
    ended = adcli(*args, "--fmt", "%.6g", "-q")
    return {name: float(x) for name, x in re.findall(r"^(\w+) = ([-+.\w]+)$", ended.out, re.M)}


REFUSED = {"kepler": "loops over steps", "recurrent": "loops over steps", "gaussian_process": "cholesky()"}
"""Samples with what a page does not show."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_page_does_not_show_is_said(name):
    ended = adcli("explore", ROOT / "samples" / f"{name}.ad")
    assert ended.code == 3 and f"a page shows no {REFUSED[name]}" in ended.err


@pytest.mark.parametrize("path", [p for p in SAMPLES if p.stem not in REFUSED], ids=lambda p: p.stem)
def test_a_sample(path, browser, folder):
    """Every pane opens and folds, each step lights up its operation, and the results are those of vjp and jvp."""
    made = page(browser, folder, path, *point(path), hash="#notation=plain")
    panes = made.run("""return [...document.querySelectorAll('.pane')].map(
        p => [p.dataset.pane, p.querySelector('.box').innerText.length + p.querySelectorAll('svg text').length])""")
    assert {name for name, _ in panes} == {"table", "graph", "program", "forward", "reverse", "simplified"} | (
        set() if path in SCALARS else {"tensors"})
    assert all(length for _, length in panes)
    folded = made.run("""return [...document.querySelectorAll('.pane')].map(p => [0, 1].map(() => {
        p.querySelector('h2 button').click();
        return p.querySelector('.box').hidden;
    }))""")
    assert folded == [[True, False]] * len(panes)
    assert not [text for text in made.texts("td.derived.formula, .equation") + made.run(
        "return [...document.querySelectorAll('svg .name')].map(e => e.textContent)") if re.match(r"(\S+) = \1 ", text)]
    made.press("END")
    assert {"table", "graph", "reverse"} <= made.lit
    outputs = [name for name in made.results if not re.search("/∂| of ", name)]
    agree(made, path, "vjp", "--cotangent", f"{outputs[-1]}=1")
    made.click("input[value=forward]")
    made.press("END")
    assert {"table", "graph", "forward"} <= made.lit
    agree(made, path, "jvp", "--tangent", f"{made.text('#seed option')}=1")
    made.quiet()


def test_sliders_and_fields_move_everything(browser, folder):
    made = page(browser, folder, ROOT / "samples" / "worked.ad", "--at", "x=2,y=5", hash="#style=nested")
    assert made.results == {"v": "3920.6", "∂v/∂x": "5880", "∂v/∂y": "-0.12"}
    made.type("#input-0", "3")
    made.type(".input:nth-child(2) input[type=range]", "4")
    want = table("grad", ROOT / "samples" / "worked.ad", "--at", "x=3,y=4")
    assert [float(x) for x in made.results.values()] == list(want.values())
    assert made.texts("[data-pane=simplified] .seen")[-1] == "13230"
    made.type("#input-0", "3,5")
    assert made.run("return document.querySelector('#input-0').getAttribute('aria-invalid')") == "true"
    assert "Write a number" in made.text("#fault-0")
    assert [float(x) for x in made.results.values()] == list(want.values())
    made.quiet()


def test_elements_of_tensors_are_fields_and_seeds(browser, folder):
    """A number that is changed changes what depends on it; one element as a seed gives derivatives by it."""
    model = "-e", "input A(M, N), b(N)", "-e", "y(i) +=! A(i, j)*b(j)"
    made = page(browser, folder, *model, "--at", "A=[[1,2],[3,4]],b=[10,20]")
    assert made.results == {"y": "[50, 110]", "adjoint of A": "[10, 20, 10, 20]", "adjoint of b": "[4, 6]"}
    made.type(".tensor[data-kind=primal] input", "7")
    made.type("#element", "0")
    assert made.results == {"y": "[110, 110]", "∂y(0)/∂A": "[10, 20, 0, 0]", "∂y(0)/∂b": "[7, 2]"}
    made.click("input[value=forward]")
    made.type("#element", "0, 1")
    assert made.results == {"y": "[110, 110]", "∂y/∂A(0, 1)": "[20, 0]"}
    made.type("#element", "0, 2")
    assert made.run("return document.querySelector('#element').getAttribute('aria-invalid')") == "true"
    assert made.results == {"y": "[110, 110]", "tangent of y": "[30, 30]"}
    made.quiet()
    made = page(browser, folder, *model, "--at", "A=[[1,2],[3,4]],b=[10,20]", hash="#at=b=1;-2,A=1;2&forward=A&element=1,0")
    assert made.results == {"y": "[-3, -5]", "∂y/∂A(1, 0)": "[0, 1]"}
    made.wait("location.hash.startsWith('#at=b=1;-2&forward=A')")


def test_whole_numbers_stay_whole_and_subscripts_inside(browser, folder):
    """What cannot be computed is refused with the reason, and the number before it holds."""
    model = "-e", "input A(N), int32 k, int32 n, int32 I(B)", "-e", "v = A(k)\ns +=! A(i) where i in 0:n\nw(b) = A(I(b))"
    at = "--at", "A=[3,5,7],k=1,n=2,I=[0,2]"
    made = page(browser, folder, *model, *at)
    before = made.results
    assert before["v"] == "5" and "n = 2" in made.text("#fixed")
    for text in ("1.5", "3", "-1", "nan", "1e300"):
        made.type("#input-1", text)
        assert made.text("#fault-1") and made.results == before
    made.type("#input-1", "2")
    assert made.text("#fault-1") == "" and made.results["v"] == "7"
    made.type("[aria-label='I(1)']", "3")
    assert made.text(".tensor .fault:not([hidden])") == "3 is out of range: subscripts go from 0 to 2."
    assert made.results["w"] == "[3, 7]"
    made.run("document.activeElement.blur()")
    assert made.text(".tensor .fault:not([hidden])") == "" and made.tensors["I"] == ["0", "2"]
    made.type("[aria-label='I(1)']", "1")
    assert made.results["w"] == "[3, 5]"
    made.quiet()
    assert page(browser, folder, *model, *at, hash="#at=k=9,n=3").results == before


def test_a_field_is_left_with_every_digit_of_its_number(browser, folder):
    made = page(browser, folder, "-e", "v = x - 12345678", "--at", "x=12345678.25")
    made.run("document.querySelector('#input-0').focus(); document.activeElement.blur()")
    assert made.results["v"] == "0.25" and made.run("return document.querySelector('#input-0').value") == "12345678.25"


def test_a_slider_reaches_what_is_typed_where_no_range_is_declared(browser, folder):
    made = page(browser, folder, "-e", "input x, y in [0, 10], z in [3, inf]; v = x*y*z", "--at", "x=1,y=5,z=4")

    def slider(k: int) -> list[float]:
        each = "return ['min', 'max', 'value'].map(name => Number(document.querySelectorAll('input[type=range]')[%d][name]))"
        return made.run(each % k)
    assert slider(0) == [-2, 2, 1]
    for k, text in enumerate(("100", "12", "5000")):
        made.type(f"#input-{k}", text)
    assert slider(0) == [-200, 200, 100] and made.texts(".input:nth-child(1) .ends span")[::2] == ["-200", "200"]
    assert slider(1)[:2] == [0, 10]   # the declared range stays
    low, high, at = slider(2)
    assert low == 3 and high > 5000 and at == pytest.approx(5000, rel=0.01)
    made.type("#input-0", "inf")
    assert slider(0)[:2] == [-200, 200]
    made.quiet()


def test_formulas_are_set_and_say_where_another_case_is_taken(browser, folder):
    made = page(browser, folder, "-e", "v = log(x)/y", "--at", "x=2,y=-5", hash="#step=8")
    tall, low = made.run("return ['mfrac', 'mi'].map(tag => document.querySelector(`.equation ${tag}`).offsetHeight"
                         " || document.querySelector(`.equation ${tag}`).getBoundingClientRect().height)")
    assert tall > 1.5 * low and made.text(".equation").startswith("x̄ = w̄₁ / x = -0.2 / 2 = ")
    assert made.text("#because") == "" and "†" not in "".join(made.texts("td.derived.formula"))
    made.type("#input-0", "-2")
    assert made.text("#because").startswith("At this point the evaluation takes another case of the rule")
    assert made.texts("td.derived.formula")[0] == "x̄ = w̄₁ / x †"
    made.quiet()


def test_every_row_says_where_its_derivative_comes_from(browser, folder):
    """That of a copy is another one's, that of an output the seed; a step that copies says its number once."""
    made = page(browser, folder, "-e", "a = 2*x; b = a + y; c = b - 1; v = sin(c) + 3", "--at", "x=1,y=2")
    names, origins = made.texts("[data-pane=table] tbody th"), made.texts("[data-pane=table] td.derived.formula")
    assert dict(zip(names, origins, strict=True)) == {
        "x": "x̄ = 2 × ā", "y": "ȳ = c̄", "a": "ā = c̄", "b": "b̄ = c̄", "c": "c̄ = v̄ × cos c", "w₁": "w̄₁ = v̄", "v": "v̄, the seed"}
    steps = int(re.search(r"(\d+) steps", made.text("#where"))[1])
    for _ in range(steps):
        made.press("ARROW_RIGHT")
        parts = made.text(".equation").split(" = ")
        assert len(parts) == len(set(parts)), parts
    made.click("input[value=forward]")
    assert made.texts("[data-pane=table] td.derived.formula")[:2] == ["ẋ, the seed", "ẏ, the seed"]
    made = page(browser, folder, "-e", "v = x > 0 ? x*y : 0", "--at", "x=1,y=2")
    origins = made.texts("[data-pane=table] td.derived.formula")
    assert origins == ["x̄ = w₁ ? x̄₂ : 0", "ȳ = x × v̄", "", "w̄₂ = w₁ ? v̄ : 0", "v̄, the seed"]
    made.quiet()


def test_numbers_stay_inside_of_their_nodes(browser, folder):
    made = page(browser, folder, "-e", "v = x*y*z", "--at", "x=-1.23456e-305,y=-0.000123456789,z=-1.23456e11")
    wide = made.run("""return [...document.querySelectorAll('.graph .node')].map(node => {
        const box = node.querySelector('.shape').getBBox();
        return [...node.querySelectorAll('text')].filter(t => t.getBBox().x < box.x + 3
            || t.getBBox().x + t.getBBox().width > box.x + box.width - 3).map(t => t.textContent)}).flat()""")
    assert "-1.23456e-305" in made.texts("[data-pane=table] td.value") and wide == []


def test_a_page_is_printed_as_a_handout_of_two_columns(browser, folder):
    """The table across, then the graph and the programs apart, on A4, without what is for a pointer, and nothing cut off."""
    path = ROOT / "samples" / "peng_robinson.ad"
    made = page(browser, folder, path, *point(path))
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 718, "height": 1000, "deviceScaleFactor": 1,
                                                                   "mobile": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        columns, *places = made.run("""return [getComputedStyle(document.querySelector('.panes')).columnCount,
            ...[...document.querySelectorAll('.pane')].map(pane => {
            const {left, right, top, bottom} = pane.getBoundingClientRect(), box = pane.querySelector('.box');
            return [pane.dataset.pane, left, right, top, bottom, box.scrollWidth - box.clientWidth]})]""")
        assert made.run("return ['.tools', '.moves', '.track'].every(e => document.querySelector(e).offsetHeight === 0)")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    (table, *across, below, _), (graph, *at, _) = places[:2]
    assert (columns, table, graph) == ("2", "table", "graph") and len(places) >= 5
    assert across[1] - across[0] > 1.9 * (at[1] - at[0]) and all(top >= below - 1 for _, _, _, top, _, _ in places[1:])
    assert all(over <= 1 for *_, over in places), places


def test_steps_by_keyboard_go_forwards_and_then_backwards(browser, folder):
    """The values that the steps show are those of the evaluation table of trace."""
    made = page(browser, folder, ROOT / "samples" / "worked.ad", "--at", "x=2,y=5")
    (traced,) = succeeds("trace", ROOT / "samples" / "worked.ad", "--at", "x=2,y=5", "--cotangent", "v=1",
                         "--format", "json").records
    steps = int(re.search(r"(\d+) steps", made.text("#where"))[1])
    shown, kinds = [], []
    for _ in range(steps):
        made.press("ARROW_RIGHT")
        shown.append(float(made.text("#value")))
        kinds.append(made.run("return document.body.dataset.way"))
        assert made.lit >= {"table", "graph", "reverse"}
        assert made.text("#said")
    assert kinds == sorted(kinds, reverse=True)
    assert shown[:8] == [float(f"{line['value']:.6g}") for line in traced["lines"]]
    assert {float(f"{x['adjoint']:.6g}") for x in (*traced["lines"], *traced["inputs"])} <= {*shown[8:], 1.0}
    made.press("ARROW_RIGHT")
    assert made.text("#where").startswith(f"Step {steps} of {steps}")
    made.press("HOME")
    assert made.text("#where").startswith("Start")
    made.press("END", "ARROW_LEFT")
    assert made.text("#where").startswith(f"Step {steps - 1} of")
    made.quiet()


def test_what_the_pointer_is_on_is_marked_in_every_pane(browser, folder):
    """And a click goes to the step of the operation; the switch of the theme switches."""
    made = page(browser, folder, ROOT / "samples" / "worked.ad", "--at", "x=2,y=5")
    row = "[data-pane=table] tr[data-op='3'] th"
    made.run("document.querySelector(arguments[0]).dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", row)
    marked = "return [...document.querySelectorAll('.pane')].map(p => p.querySelectorAll('[data-hover]').length)"
    assert all(made.run(marked))
    texts = made.texts("[data-hover] .text")
    assert "q = p * x * 5" in texts and any(text.startswith("dq = ") for text in texts) and any("d_di1" in text for text in texts)
    made.click(row)
    assert made.text("#where").startswith("Step 4 of") and made.text("#value") == "140"
    before = made.run("return document.documentElement.dataset.theme")
    made.click("#theme")
    assert {before, made.run("return document.documentElement.dataset.theme")} == {"light", "dark"}
    made.quiet()


def test_predict_then_reveal(browser, folder):
    """What is to be predicted stands nowhere on the page before."""
    made = page(browser, folder, "-e", "a = 3*x", "-e", "v = a*y", "--at", "x=7,y=11", hash="#step=2&predict=hidden")
    assert made.text("#where").startswith("Step 2 of")
    everything = made.run("return document.body.innerText") + " ".join(made.run(
        "return [...document.querySelectorAll('svg text')].map(text => text.textContent)"))
    assert "231" not in everything and "21" in everything
    made.press("HOME")
    assert made.texts("[data-pane=table] td.value:not(.derived)") == ["7", "11", "···", "···"]   # what is given is known
    made.press("ARROW_RIGHT")
    made.type("#guess", "25")
    made.click("form.guess button[type=submit]")
    assert "Not within 1 %" in made.text("#verdict") and made.text("#value") == ""
    made.type("#guess", "21.1")
    made.click("form.guess button[type=submit]")
    assert "Right" in made.text("#verdict") and made.text("#value") == "21"
    made.press("ARROW_RIGHT")
    assert made.text("#value") == ""
    made.click("#reveal")
    assert made.text("#value") == "231"
    made.quiet()


def test_a_long_program(browser, folder):
    """A part of each pane is on the page, that of the current step; the graph is what is around it."""
    source = folder / "long.ad"
    source.write_text("t0 = x\n" + "".join(f"t{k} = sin(t{k - 1}) + {k}\n" for k in range(1, 701)), encoding="utf-8")
    made = page(browser, folder, source, "--at", "x=0.5")
    count = "return [...document.querySelectorAll('.box')].map(b => b.querySelectorAll('li, tr, .node').length)"
    assert max(made.run(count)) <= 302
    value = 0.5
    for k in range(1, 701):
        value = math.sin(value) + k
    assert made.results["t700"] == f"{value:.6g}"
    for key in ("END", "HOME", "ARROW_RIGHT"):
        made.press(key)
        assert max(made.run(count)) <= 302
        assert key == "HOME" or {"table", "graph", "program", "forward", "reverse"} <= made.lit
    made.press("END")
    assert "t1 = sin(t0) + 1" in made.texts("[data-pane=program] .text")
    before = made.text("[data-pane=reverse] .more")
    made.click("[data-pane=reverse] .more")
    assert "more above" in before and made.text("[data-pane=reverse] .more") != before
    made.quiet()


def test_panes_fold_and_those_of_long_derivatives_begin_so(browser, folder):
    source = folder / "folds.ad"
    source.write_text("t0 = x\n" + "".join(f"t{k} = sin(t{k - 1}) + {k}\n" for k in range(1, 201)), encoding="utf-8")
    made = page(browser, folder, source, "--at", "x=0.5", hash="#step=150")
    folded = "return [...document.querySelectorAll('.pane [aria-expanded=false]')].map(e => e.closest('.pane').dataset.pane)"
    first = made.run(folded)
    assert {"forward", "reverse"} <= {*first} and not {"table", "graph", "program"} & {*first}
    made.click("[data-pane=reverse] h2 button")
    assert made.run(folded) == [key for key in first if key != "reverse"]
    inside = """const box = document.querySelector('#box-reverse').getBoundingClientRect(),
        line = document.querySelector('#box-reverse [data-now]').getBoundingClientRect();
        return line.top >= box.top && line.bottom <= box.bottom"""
    assert made.run(inside)
    made.wait("location.hash.includes('folded=')")
    assert Page(browser, folder / "page.html", made.run("return location.hash")).run(folded) == made.run(folded)
    made.quiet()


def test_a_quiz_asks_for_every_value_and_counts(browser, folder):
    made = page(browser, folder, "-e", "a = 3*x", "-e", "v = a*y", "--at", "x=7,y=11", "--quiz")
    made.press("END")
    assert made.text("#where").startswith("Step 1 of") and made.results["v"] == "···"
    made.press("ARROW_RIGHT")
    assert made.text("#where").startswith("Step 1 of") and made.text("#value") == ""
    for guess in ("20", "21"):
        made.type("#guess", guess)
        made.click("form.guess button[type=submit]")
    made.press("ARROW_RIGHT")
    made.click("#reveal")
    assert made.text("#value") == "231" and re.match("Quiz: 2 of [0-9]+ answered: 1 right later, 1 shown$", made.text("#score"))
    made.wait("location.hash.includes('answers=ls')")
    made.press("ARROW_RIGHT")
    again = Page(browser, folder / "page.html", made.run("return location.hash"))
    assert again.text("#score").startswith("Quiz: 2 of") and again.text("#where").startswith("Step 2 of")
    made.type("#input-0", "2")
    assert made.text("#where").startswith("Start") and made.text("#score").startswith("Quiz: 0 of")
    assert made.run("return document.querySelector('#predict').closest('label').hidden")
    made.quiet()


def test_a_state_is_in_the_address(browser, folder):
    path = ROOT / "samples" / "kinks.ad"
    made = page(browser, folder, path, hash="#at=x=0.5&forward=x&step=3&style=prefix&notation=plain")
    assert made.text("#where").startswith("Step 3 of") and made.run("return document.querySelector('#input-0').value") == "0.5"
    assert made.run("return document.querySelector('[name=mode]:checked').value") == "forward"
    assert "abs(" in made.text("[data-pane=forward]")
    made.press("ARROW_RIGHT")
    made.wait("location.hash.startsWith('#at=x=0.5&forward=x&step=4')")
    made.run("location.hash = '#at=x=2&reverse=root&step=1'")
    made.wait("document.querySelector('#where').innerText.startsWith('Step 1 of')")
    assert made.results["root"] == "1.41421" and made.results["∂root/∂x"] == "0.353553"
    page(browser, folder, path, hash="#at=%E0%A4%A,x=zzz&step=99999999&reverse=<b>&style=none&predict").quiet()


def test_what_is_not_finite_is_marked_and_explained(browser, folder):
    """By a sign and in the words of why, not by colour alone."""
    path = ROOT / "samples" / "kinks.ad"
    made = page(browser, folder, path, "--at", "x=0", hash="#at=x=0&reverse=root&step=9999")
    assert made.results["∂root/∂x"] == "inf"
    assert made.texts("[data-pane=table] .trouble") and "⚠" in made.run(
        "return getComputedStyle(document.querySelector('.trouble'), '::before').content")
    (reason,) = re.findall(r"droot_dx is inf\n\S+ (.*)\n", succeeds("why", path, "--at", "x=0", "--of", "root").out)
    assert reason.replace("0.0", "0") in made.text("#because")
    made.quiet()


def test_hostile_names_and_comments_are_text(browser, folder):
    source = folder / "<img src=x onerror=alert(1)>.ad"
    source.write_text("# <script>document.title = 'had'</script> of J. Doe. More.\n"
                      "__proto__ = 2*x  # <b onclick=alert(1)>\nv = __proto__*x\n", encoding="utf-8")
    made = page(browser, folder, source, "--at", "x=3")
    made.press("END")
    assert browser.title == source.name and made.text("h1") == source.name
    assert made.text("#about") == "<script>document.title = 'had'</script> of J. Doe."
    assert made.results == {"v": "18", "∂v/∂x": "12"}
    assert made.run("return document.querySelectorAll('img, b[onclick], h1 *').length") == 0
    made.quiet()


def test_everything_has_a_name_for_who_does_not_see_it(browser, folder):
    """Fields have labels, buttons texts, tables headers; the way through the page begins with a link past the head."""
    made = page(browser, folder, ROOT / "samples" / "max_pooling.ad", *point(ROOT / "samples" / "max_pooling.ad"))
    nameless = made.run("""
        return [...document.querySelectorAll('input, select, button')].filter(e => !(e.getAttribute('aria-label')
            || e.labels?.length || e.innerText.trim() || e.closest('[hidden]'))).map(e => e.outerHTML)""")
    assert nameless == []
    assert made.run("return document.querySelectorAll('table.table th[scope]').length") > 4
    assert made.run("return document.querySelectorAll('[aria-live], [role=status]').length") >= 1
    made.press("TAB")
    assert made.run("return document.activeElement.id") == "skip"
    made.press("ENTER")
    assert made.run("return document.activeElement.id") == "step"
    made.quiet()


@pytest.mark.parametrize("width", [390, 900, 1440])
@pytest.mark.parametrize("scheme, sample", [("light", "feed_forward"), ("dark", "kinks")])
def test_contrast_and_widths(width, scheme, sample, browser, folder):
    """Text against its ground: 4.5 to 1 at least (WCAG 2.1, 1.4.3); nothing makes the page wider than the window."""
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1,
                                                                   "mobile": False})
    path = ROOT / "samples" / f"{sample}.ad"
    made = page(browser, folder, path, *point(path), hash="#at=x=0&reverse=root&step=9999")
    low = made.run(CONTRAST)
    assert made.run("return [...document.querySelectorAll('h1, .results th')].filter(e => e.offsetHeight > 60).length") == 0
    made.quiet()
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert low == []


CONTRAST = """
const light = (text) => {
    const linear = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(c => linear(text.startsWith("color(srgb") ? Number(c) : c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (e) => {
    for (; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (!/, 0\\)$|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
};
const found = [];
for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("svg, script, noscript, [hidden], .unseen, :disabled") || !e.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${e.className} ${e.textContent.slice(0, 20)} ${contrast.toFixed(2)}`);
}
return found;
"""
