"""The manual as pages of HTML in a folder: a file a chapter, an index, a search, light and dark, nothing from the network."""
from __future__ import annotations

import html
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from adcli.manual import FOLDER, GUIDES, REFERENCE, TOPICS, chapter, heading, samples
from adcli.manual.markdown import BREAK, Block, Bullet, CellTable, Code, Heading, Paragraph, spans
from adcli.manual.search import sections
from adcli.output.version import __version__

ASSETS = "manual.css", "manual.js"
GROUPS = ("Guides", GUIDES), ("Reference", REFERENCE)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · adcli</title>
<link rel="stylesheet" href="manual.css">
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="home" href="index.html">adcli {version}</a>
<form role="search" onsubmit="return false"><label for="search">Search</label>
<input id="search" type="search" autocomplete="off" aria-controls="found" placeholder="a word, such as bounds"></form>
</header>
<ul id="found" aria-live="polite" hidden></ul>
<div class="columns">
<nav aria-label="Chapters">{chapters}</nav>
<main id="text">
{text}
</main>
</div>
<script src="index.js"></script>
<script src="manual.js"></script>
</body>
</html>
"""


def write_pages(folder: Path, verbs: Mapping[str, str], run: Callable[[list[str]], object]) -> int:
    """Write all pages into a folder, which is made if it is not there; the number of pages. `verbs` are their help texts, `run`
    runs a command, for the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for topic in TOPICS:
        for block in chapter(topic):
            if isinstance(block, Code) and block.language == "picture":
                for _, args in pictures(" ".join(block.lines), folder):
                    run(args)
    texts = {topic: "\n".join(written(chapter(topic))) for topic in TOPICS}
    texts |= {f"verb-{verb}": f'<h1 class="name">adcli {verb}</h1>\n<pre class="help">{html.escape(text)}</pre>'
              for verb, text in verbs.items()}
    texts["index"] = contents(verbs)
    for name, text in texts.items():
        title = name if name in TOPICS else f"adcli {name.removeprefix('verb-')}" if name != "index" else "the manual"
        put(folder / f"{name}.html", PAGE.format(title=title, version=__version__, chapters=chapters(name, verbs), text=text))
    entries = [(topic, title, anchor(title) if i else "", plain(body))
               for topic in TOPICS for i, (title, body) in enumerate(sections(topic))]
    entries += [(f"verb-{verb}", f"adcli {verb}", "", plain(text)) for verb, text in verbs.items()]
    put(folder / "index.js", f"const SECTIONS = {json.dumps(entries, ensure_ascii=False)};\n")
    for name in ASSETS:
        put(folder / name, (FOLDER / name).read_text(encoding="utf-8"))
    return len(texts)


def pictures(command: str, folder: Path) -> list[tuple[str, list[str]]]:
    """The files that a command which ends in the name of a picture makes, and its arguments, the second for a dark page; graphs
    of `draw` are for both. Samples are those of the package."""
    *words, name = shlex.split(command)[1:]
    words = [str(samples()[0].parent.parent / word) if word.startswith("samples/") else word for word in words]
    dark = name.replace(".", "-dark.")
    made = [(name, [*words, str(folder / name)])]
    return made if words[0] == "draw" else [*made, (dark, [*words, str(folder / dark), "--theme", "dark"])]


def plain(text: str) -> str:
    """The text of a section as the search shows it."""
    return re.sub(r"\s+", " ", re.sub(r"[`|]|---+|\*\*", " ", text)).strip()


def put(path: Path, text: str) -> None:
    """Write a file, which is replaced when all is written."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def chapters(current: str, verbs: Iterable[str]) -> str:
    """The list of all pages, in which the current one is marked."""
    groups = [*((title, [(t, t) for t in topics]) for title, topics in GROUPS),
              ("Options", [(f"verb-{v}", v) for v in verbs])]
    return "\n".join(f'<details{" open" if any(name == current for name, _ in pages) or current == "index" else ""}>'
                     f"<summary>{title}</summary><ul>{''.join(link(name, text, current) for name, text in pages)}</ul></details>"
                     for title, pages in groups)


def link(name: str, text: str, current: str = "") -> str:
    mark = ' aria-current="page"' if name == current else ""
    return f'<li><a href="{name}.html"{mark}>{text}</a></li>'


def contents(verbs: Iterable[str]) -> str:
    """The first page: every chapter with its subject."""
    parts = [f'<h1 class="name">adcli {__version__}: the manual</h1>']
    for title, topics in GROUPS:
        rows = (f'<dt><a href="{t}.html">{t}</a></dt><dd>{inline(heading(t))}</dd>' for t in topics)
        parts.append(f"<h2>{title}</h2>\n<dl>{''.join(rows)}</dl>")
    links = "".join(link(f"verb-{v}", v) for v in verbs)
    return "\n".join([*parts, f"<h2>Options of verbs</h2>\n<ul class=\"row\">{links}</ul>"])


def written(blocks: Iterable[Block]) -> Iterator[str]:
    """HTML of blocks; points that follow each other are one list."""
    for bullets, group in groupby(blocks, lambda block: isinstance(block, Bullet)):
        items = "\n".join(element(block) for block in group)
        yield f"<ul>\n{items}\n</ul>" if bullets else items


def element(block: Block) -> str:
    match block:
        case Heading(1, text):
            return f"<h1>{inline(text.partition(': ')[2])}</h1>"
        case Heading(level, text):
            return f'<h{level} id="{anchor(text)}">{inline(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{inline(text)}</p>"
        case Bullet(text):
            return f"<li>{inline(text)}</li>"
        case Code("picture", lines):
            (name, _), *dark = pictures(" ".join(lines), Path())
            sources = "".join(f'<source srcset="{of}" media="(prefers-color-scheme: dark)">' for of, _ in dark)
            return (f'<figure><picture>{sources}<img src="{name}" alt="The picture that the command below draws" loading="lazy">'
                    f"</picture>\n{element(Code('', tuple(f'$ {line}' for line in lines)))}</figure>")
        case Code(_, lines):
            return f'<pre tabindex="0"><code>{chr(10).join(map(code_line, lines))}</code></pre>'
        case CellTable((first, *rows)):
            head = "".join(f"<th>{inline(cell)}</th>" for cell in first)
            body = "\n".join(f"<tr>{''.join(f'<td>{inline(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f'<div class="table" tabindex="0"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'
    raise AssertionError(block)


def code_line(line: str) -> str:
    """A line of an example; a command is told from what it prints."""
    text = html.escape(line, quote=False)
    return f"<b>{text}</b>" if line.startswith(("$ ", ">>> ", "... ")) else text


def inline(text: str) -> str:
    """The text of a paragraph or a cell; `adcli help TOPIC` leads to that chapter."""
    lines = (spans(part, code_span, lambda t: f"<strong>{html.escape(t)}</strong>", html.escape) for part in text.split(BREAK))
    return re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r'<a href="\2">\1</a>', BREAK.join(lines))


def code_span(text: str) -> str:
    shown = f"<code>{html.escape(text)}</code>"
    topic = text.removeprefix("adcli help ").replace(" ", "-")
    return f'<a href="{topic}.html">{shown}</a>' if text.startswith("adcli help ") and topic in TOPICS else shown


def anchor(title: str) -> str:
    """The fragment of a section."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")
