"""HTML read back: the tables of a page with what a screen reader is told, and the text that one sees. What is not nested as it
should be is refused."""
from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

INERT = {"div", "p", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td", "strong", "img", "style"}
"""The elements that our pages have, and a data frame's; none of them runs or loads anything."""


@dataclass
class ReadTable:
    caption: str = ""
    headings: list[str] = field(default_factory=list)
    columns: int = 0
    scopes: set[str | None] = field(default_factory=set)
    rows: list[list[str]] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads a page: `found` are its tables, `seen` is its text, `described` what its pictures are in words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[ReadTable] = []
        self.seen = ""
        self.described: list[str | None] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"{self.open} are not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        assert tag in INERT and not {name for name in said if name.startswith("on") or name == "href"}
        assert (said.get("src") or "data:image/svg+xml;").startswith("data:image/svg+xml;")
        if tag == "img":
            self.described.append(said.get("alt"))
            return
        self.open.append(tag)
        if tag == "table":
            self.found.append(ReadTable())
        elif tag == "th":
            self.found[-1].scopes.add(said.get("scope"))
        if tag == "tr" and "tbody" in self.open:
            self.found[-1].rows.append([])
        elif tag in ("th", "td") and "tbody" in self.open:
            self.found[-1].rows[-1].append("")
        elif tag == "th":
            self.found[-1].headings.append("")
            self.found[-1].columns += int(said.get("colspan") or 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.seen += data
        if "caption" in self.open:
            self.found[-1].caption += data
        elif "tbody" in self.open and self.open[-1] in ("th", "td"):
            self.found[-1].rows[-1][-1] += data
        elif "thead" in self.open and self.open[-1] == "th":
            self.found[-1].headings[-1] += data


def tables(page: str) -> list[ReadTable]:
    return Reader(page).found


def visible(page: str) -> str:
    return Reader(page).seen
