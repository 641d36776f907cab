"""Pictures: what is drawn fits its frame, axes have round numbers, level lines lie on their level, files repeat."""
from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from adcli.lang.ir.errors import AdError
from command import adcli
from session_seed import drawn

from adcli import compile
from adcli.pictures.destinations import table_text
from adcli.pictures.picture import Contour, Curve, Mark, Panel, Picture, PictureTable
from adcli.pictures.scales import Scale, labels, round_numbers, scale_of, vertical
from adcli.pictures.terminal import level_lines, stepped

X = tuple(k / 50 for k in range(-100, 101))
PICTURE = Picture("y = 2", "x", (
    Panel("v", (Curve("v", X, tuple(x * x for x in X)), Curve("w", X, tuple(math.nan if x == 0 else 1 / x for x in X), number=1)),
          (Mark("kink", 0.0, 0.0),), upright=(0.0,), low=-5.0, high=5.0),
    Panel("points", (Curve("p", X[::20], X[::20], "points"),), flat=(0.0,)),
    Panel("steps", (Curve("s", (0.0, 1.0, 2.0), (0.25, 0.75), "steps"),))), notes=("◆ kink at x = 0",))


def grid(f, n=41):
    xs = tuple(-2 + 4 * k / (n - 1) for k in range(n))
    return Contour("v", xs, xs, tuple(tuple(f(x, y) for x in xs) for y in xs), (1.0,))


def test_round_numbers_are_few_and_on_the_axis():
    r = drawn("ticks")
    for _ in range(300):
        size = 10.0 ** r.uniform(-300, 300)
        low = r.uniform(-1, 1) * size
        high, most = low + r.random() * size * 10.0 ** r.uniform(-6, 0), r.randint(2, 12)
        found = round_numbers(low, high, most)
        assert len(found) <= most + 1 and all(low - 1e-6 * (high - low) <= t <= high + 1e-6 * (high - low) for t in found)
        words = labels(found)
        assert len(set(words)) == len(words)


@pytest.mark.parametrize("low, high, ticks", [(-3, 3, [-2, 0, 2]), (0, 100, [0, 50, 100]), (0.1, 0.25, [0.1, 0.15, 0.2, 0.25])])
def test_ticks_by_hand(low, high, ticks):
    assert round_numbers(low, high, 4) == pytest.approx(ticks)


@pytest.mark.parametrize("ticks, words", [
    ([0.0, 50.0], ["0", "50"]), ([0.0001, 1e-8], ["0.0001", "1e-8"]), ([-0.0, 1e20], ["0", "1e20"]),
    ([1000000.0, 1000001.0], ["1000000", "1000001"])])
def test_labels(ticks, words):
    assert labels(ticks) == words


@pytest.mark.parametrize("values", [[], [math.nan], [1.0], [0.0], [-1e308, 1e308], [5e-324, 0.0], [math.inf, 1.0]])
def test_every_set_of_numbers_has_an_axis(values):
    scale = scale_of(values)
    assert scale.low < scale.high and all(0 <= scale.place(x) <= 1 for x in values if math.isfinite(x))


def test_a_logarithmic_axis():
    scale = scale_of([1e-8, 1.0], log=True)
    assert scale == Scale(1e-8, 1.0, True) and scale.place(1e-4) == pytest.approx(0.5) and scale.place(-1.0) != scale.place(-1.0)


# ---------------------------------------------------------------- level lines

def lines_at_one(f):
    """The lines where f is 1, as points."""
    axis = Scale(-2.0, 2.0)
    (lines,) = level_lines(grid(f), axis, axis)
    return [[(4 * x - 2, 4 * y - 2) for x, y in line.tolist()] for line in lines]


def test_level_lines_of_a_circle_lie_on_it_and_close():
    (line,) = lines_at_one(lambda x, y: x * x + y * y)
    assert line[0] == line[-1] and all(abs(math.hypot(*p) - 1) < 0.003 for p in line)


def test_level_lines_end_where_there_is_no_value():
    lines = lines_at_one(lambda x, y: math.nan if abs(y) < 0.3 else x)
    assert len(lines) == 2 and all(abs(y) >= 0.3 - 1e-9 and x == pytest.approx(1.0) for line in lines for x, y in line)


# ---------------------------------------------------------------- characters

def test_a_picture_is_as_wide_as_it_is_told_and_has_no_colour_unless_asked():
    from adcli.pictures.terminal import text
    for width in (30, 47, 80, 160, 500):
        lines = text(PICTURE, width).splitlines()
        assert max(len(line) for line in lines if "│" in line) == min(width, 160)
        assert "\x1b" not in "".join(lines) and lines[-1] == " ◆ kink at x = 0"
    plain, coloured = text(PICTURE), text(PICTURE, colour=True)
    assert "\x1b[38;5;" in coloured and coloured.count("│") == plain.count("│")
    with pytest.raises(AdError, match="too narrow"):
        text(PICTURE, 20)


def test_a_terminal_is_filled(monkeypatch):
    from adcli.pictures.destinations import encoded
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback: os.terminal_size((101, 33)))
    coloured, plain = (encoded(PICTURE, "text", True, colour, repr).decode() for colour in (True, False))
    assert "\x1b[" in coloured and "\x1b" not in plain
    lines = plain.splitlines()
    assert len(lines) <= 33 and max(map(len, lines)) == 101


def test_a_curve_covers_no_point():
    from adcli.pictures.terminal import text
    x = X[::20]
    found = Picture("", "x", (Panel("v", (Curve("data", x, x, "points"), Curve("fit", x, x, number=1)), share=1.0),))
    assert sum(line.count("•") for line in text(found).splitlines()[1:]) == len(x)


def test_no_character_of_a_curve_lies_in_the_column_of_its_pole():
    from adcli.pictures.terminal import text
    one = Picture("", "x", (Panel("w", (PICTURE.panels[0].curves[1],), upright=(0.0,), low=-5.0, high=5.0),))
    rows = [line for line in text(one).splitlines() if "│" in line or "┤" in line]
    column = rows[5].index("┊")
    assert all(row[column] == "┊" for row in rows)


def test_threads_draw_their_own_pictures():
    from concurrent.futures import ThreadPoolExecutor

    from adcli.pictures.terminal import text
    pictures = [Picture("", f"x{k}", (Panel("v", (Curve("v", X, tuple(k * x for x in X)),)),)) for k in range(6)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(text, pictures)) == [text(p) for p in pictures]


@pytest.mark.parametrize("formula, at, code", [
    ("1e9 + x", "x=1±1e-6", 0), ("1e308*x", "x=1±1", 2), ("x", "x=1±1e300", 0), ("x", "x=1±0", 0)])
def test_distributions_at_the_ends_of_what_a_double_is(formula, at, code, tmp_path):
    ended = adcli("propagate", "-e", f"v = {formula}", "--at", at, "--plot", tmp_path / "a.csv", "-q")
    assert ended.code == code and "Warning" not in ended.err and "defect" not in ended.err


def test_the_table():
    table = PictureTable(("x", "v", "status"), ((0.1, math.nan, "kink"), (1.0, 2.0, "a,b")))
    assert table_text(Picture("", "x", table=table)) == 'x,v,status\n0.1,nan,kink\n1.0,2.0,"a,b"\n'


@pytest.mark.parametrize("verb, args", [
    ("propagate", ["-e", "v = x**2", "--at", "x=1±0.5"]), ("check", ["-e", "v = x**2", "--at", "x=1"]),
])
def test_a_picture_beside_results(verb, args, tmp_path):
    alone, both = (adcli(verb, *args, *more) for more in ([], ["--plot"]))
    assert both.code == 0 and both.out.startswith(alone.out) and "┌──" in both.out[len(alone.out):]
    there = tmp_path / "numbers.csv"
    assert adcli(verb, *args, "--plot", there).out == alone.out and there.read_text().count("\n") > 10
    assert len(adcli(verb, *args, "--plot", "--size", "50x20").out.splitlines()[-5]) <= 51
    for wrong in ("--plot model.ad", "--plot --format json", "--size 50x20", "--plot --theme dark", "--plot --size 9x9cm"):
        ended = adcli(verb, *args, *wrong.split())
        assert ended.code == 2 and not ended.out and re.search("--plot|--size", ended.err)


@pytest.mark.parametrize("package, args", [
    ("plotext", ["plot", "-e", "v = x", "--at", "x=0:1"]), ("plotext", ["check", "-e", "v = x", "--at", "x=1", "--plot"]),
    ("matplotlib", ["plot", "-e", "v = x", "--at", "x=0:1", "-o", "a.svg"]),
    ("matplotlib", ["propagate", "-e", "v = x", "--at", "x=1±1", "--plot", "a.png"])])
def test_what_is_not_installed_is_asked_for_before_the_work(package, args, monkeypatch):
    monkeypatch.setattr("adcli.pictures.picture.find_spec", lambda name: None)
    ended = adcli(*args)
    assert ended.code == 2 and not ended.out and f"needs {package}, which is not installed\nhelp: " in ended.err


def test_the_sampled_density_adds_up_and_the_linear_one_is_normal(tmp_path):
    there = tmp_path / "numbers.csv"
    adcli("propagate", "-e", "v = 2*x + 1", "--at", "x=3±0.5", "--plot", there)
    rows = [[float(x) for x in line.split(",")] for line in there.read_text().splitlines()[1:]]
    assert sum((high - low) * density for low, high, density, _ in rows) == pytest.approx(1, abs=2e-3)
    for low, high, density, linear in rows:
        middle = (low + high) / 2
        assert linear == pytest.approx(math.exp(-0.5 * (middle - 7) ** 2) / math.sqrt(math.tau), rel=1e-12)
        assert density == pytest.approx(linear, abs=0.03)


def test_remainders_fall_with_their_orders(tmp_path):
    there = tmp_path / "numbers.csv"
    adcli("check", "-e", "v = sin(x)", "--at", "x=0.5", "--plot", there)
    rows = [[float(x) for x in line.split(",")] for line in there.read_text().splitlines()[1:7]]
    for order in range(3):
        slope = math.log10(rows[-1][order + 1] / rows[0][order + 1]) / math.log10(rows[-1][0] / rows[0][0])
        assert slope == pytest.approx(order + 1, abs=1e-3)


def test_the_picture_of_a_fit_has_the_data_the_curve_and_the_residuals(tmp_path):
    data, there = tmp_path / "d.csv", tmp_path / "fit.csv"
    data.write_text("x,y\n" + "".join(f"{k},{2 * k + 1 + (-1) ** k}\n" for k in range(8)))
    args = ["fit", "-e", "v = a*x + b", "--params", "a=1,b=1", "--data", data, "--y", "y"]
    assert "┌──" in adcli(*args, "--plot").out
    adcli(*args, "--plot", there)
    header, *rows = there.read_text().splitlines()
    assert header == "x,v,v_fit,v_residual"
    found = [[float(x) for x in row.split(",")] for row in rows]
    assert all(r == pytest.approx(v - fit) for _, v, fit, r in found) and abs(sum(r for *_, r in found)) < 1e-9


@pytest.mark.parametrize("sigma, scale", [("absolute", 1.0), ("relative", None)])
def test_the_picture_of_a_fit_has_error_bars_and_a_curve_over_the_data(sigma, scale, tmp_path):
    text = "x,v,s\n" + "".join(f"{k},{2 * k + 1 + (-1) ** k},{0.5 + 0.25 * k}\n" for k in range(1, 9))
    (tmp_path / "d.csv").write_text(text)
    args = ["fit", "-e", "v = a*log(x) + b", "--params", "a=1,b=1", "--data", tmp_path / "d.csv", "--y", "v:s", "--sigma", sigma]
    told = adcli(*args, "--format", "json", "--plot", tmp_path / "fit.csv").records[0]
    header, *rows = (tmp_path / "fit.csv").read_text().splitlines()
    assert header == "x,v,v_sigma,v_fit,v_residual"
    scale = scale or told["residual_sd"]
    assert [float(row.split(",")[2]) for row in rows] == pytest.approx([scale * (0.5 + 0.25 * k) for k in range(1, 9)])
    assert "• data ± σ" in adcli(*args, "--plot").out


def test_axes_hold_error_bars_and_the_curve_of_a_fit_ends_with_the_data(monkeypatch):
    from adcli.fit import figure
    seen = []
    made = figure.picture
    monkeypatch.setattr(figure, "picture", lambda *given: seen.append(made(*given)) or seen[0])
    columns = {"x": [1.0, 2.0, 4.0], "v": [1.0, 2.0, 2.5]}
    compile("v = a*log(x) + b").fit(columns, sigma=[0.1, 0.2, 3.0], params={"a": 1.0, "b": 1.0}, plot=True)
    upper, lower = seen[0].panels
    data, curve, band = upper.curves   # and none of new observations, whose scatter differs from row to row
    u = compile("v = a*log(x) + b").fit(columns, sigma=[0.1, 0.2, 3.0], params={"a": 1.0, "b": 1.0}).uncertainties["b"]
    assert [band.y[-101] - curve.y[0], curve.y[0] - band.y[0]] == pytest.approx([1.959964 * u] * 2)
    assert data.error == lower.curves[0].error == (0.1, 0.2, 3.0) and data.bars[2] == (4.0, -0.5, 5.5)
    assert (min(curve.x), max(curve.x)) == (1.0, 4.0)
    assert vertical(upper).low < -0.5 and vertical(upper).high > 5.5


# ---------------------------------------------------------------- files

@pytest.mark.engine
@pytest.mark.parametrize("args", [["-e", "v = abs(sin(x))/x", "--at", "x=-3:3"], ["-e", "v = x*y", "--at", "x=-3:3,y=-2:2"]],
                         ids=["curves", "contours"])
def test_files_are_the_same_each_time_and_well_formed(args, tmp_path):
    pytest.importorskip("matplotlib")
    for form, begins in (("svg", b"<?xml"), ("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")):
        first, second = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
        for path in (first, second):
            assert adcli("plot", *args, "-o", path).code == 0
        data = first.read_bytes()
        assert data == second.read_bytes() and data.startswith(begins)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    tree = ElementTree.fromstring(text)
    links = [v for e in tree.iter() for k, v in e.attrib.items() if k.rpartition("}")[2] in ("href", "src")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search("<text|font-family|<style.*font", text)   # letters are outlines: no reader's font is asked for
    (says,) = [e.text for e in tree.iter() if e.tag.endswith("description")]
    assert re.match(r"v\b.* against x", says)
    kinds = {*re.findall(rb"/Subtype /(Type\w+|TrueType|CIDFont\w+)", (tmp_path / "a.pdf").read_bytes())}
    assert kinds == {b"Type3"}   # whose letters are in the file


@pytest.mark.engine
def test_names_are_text_whatever_they_look_like(tmp_path):
    pytest.importorskip("matplotlib")
    there = tmp_path / "a.svg"
    assert adcli("plot", "-e", "αβ_1 = x < 0 ? 1 : 2", "--at", "x=-1:1", "-o", there).code == 0
    words = [e.text for e in ElementTree.fromstring(there.read_text(encoding="utf-8")).iter() if e.text]
    assert "αβ_1, dαβ_1/dx against x; ○ jump at x = 0: x < 0" in words


@pytest.mark.engine
def test_the_size_and_the_theme_of_a_file(tmp_path):
    image, there = pytest.importorskip("matplotlib.image"), tmp_path / "a.png"
    for size, shape, theme, ground in (("800x600", (600, 800), "light", 1.0), ("3x2in", (320, 480), "dark", 21 / 255)):
        made = ["--derivatives", 0, "--size", size, "--theme", theme, "-o", there]
        assert adcli("plot", "-e", "v = x", "--at", "x=0:1", *made).code == 0
        pixels = image.imread(there)
        assert pixels.shape[:2] == shape and pixels[0, 0, 0] == pytest.approx(ground, abs=1e-3)
    ended = adcli("plot", "-e", "v = x", "--at", "x=0:1", "--derivatives", 4, "--size", "3x3cm", "-o", there)
    assert ended.code == 2 and "does not fit its size" in ended.err and "help: make it larger" in ended.err


@pytest.mark.engine
@pytest.mark.parametrize("name, args", [
    ("long numbers", ["1e-5*sin(x) + 1000000", "x=100000:100001"]), ("a wide range", ["x", "x=-1e308:1e308"]),
    ("a narrow range", ["x", "x=0:5e-324"]), ("large values", ["1e308*sin(x)", "x=-3:3"]),
    ("long levels", ["1e-9*x*y + 100000", "x=-1e308:1e308,y=1000000:1000001"]), ("tiny levels", ["1e-320*x*y", "x=0:1,y=0:1"]),
    ("long notes", ["+".join(f"abs(x - a_rather_long_name*{k}/{k})" for k in range(1, 9)), "x=-3:3,a_rather_long_name=0.123456"]),
    ("a long title", ["x" + "".join(f" + quite_long_name_{k}" for k in range(6)),
                      "x=-3:3" + "".join(f",quite_long_name_{k}=0.12345{k}" for k in range(6))])])
def test_nothing_of_a_picture_is_cut_off(name, args, tmp_path):
    """All that is drawn lies inside of the picture: its outermost pixels are those of the ground."""
    image = pytest.importorskip("matplotlib.image")
    there = tmp_path / "a.png"
    ended = adcli("plot", "-e", args[0], "--at", args[1], "-o", there)
    assert ended.code == 0 and not ended.err
    pixels = image.imread(there)
    assert all((edge == 1).all() for edge in (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]))


def test_the_outline_of_a_histogram_encloses_the_area_of_its_columns():
    x, y = (0.0, 1.0, 2.0, 5.0), (0.25, 0.75, 0.5)
    across, up = stepped(Curve("s", x, y, "steps"))
    twice = sum(a * d - b * c for (a, c), (b, d) in pairwise([*zip(across, up, strict=True), (across[0], up[0])]))
    assert -twice / 2 == sum((high - low) * h for (low, high), h in zip(pairwise(x), y, strict=True))
    assert (up[0], up[-1]) == (0, 0)
