"""Where the manual has a word: its sections in the order of how much they say about it."""
from __future__ import annotations

import re
from collections.abc import Iterator

from adcli.manual import TOPICS, heading, source

MOST = 12
"""Sections that are listed."""
SNIPPET = 90
"""Characters that are shown of a sentence."""
ALSO = {
    "constraint": "subject to", "bound": "range", "confidence": "coverage", "covariance": "uncertaint", "optimi": "minimi",
    "regress": "fit", "error bar": "uncertaint", "gpu": "engine", "multithread": "thread", "loop": "for ",
    "matrix": "matri", "excel": "csv",
}
"""By what a word begins with, another word under which its subject stands."""


def about(words: str, text: str) -> bool:
    """Test for a text that has every word, whatever their endings."""
    return re.search(r"\w\w", words) is not None and all(count(word, text) for word in words.split())


def other(words: str) -> str:
    """Words under which the same subject stands, or none."""
    return next((also for begin, also in ALSO.items() if words.lower().startswith(begin)), "")


def count(word: str, text: str) -> int:
    """Times that a text has a word, whatever its ending."""
    stem = re.sub(r"(?<=\w{4})(ies|y|ing|ed|es|s|e)$", "", word.lower())
    ending = r"s?(?![a-z])" if len(stem) < 5 else ""
    return len(re.findall(rf"(?<![a-z]){re.escape(stem)}{ending}", text.lower()))


def places(words: str) -> list[tuple[str, str]]:
    """The sections about the words: the command that shows each, and its heading with a sentence that has them."""
    found = ranked(words)
    if also := other(words):
        found += [entry for entry in ranked(also) if entry[2] not in [at for _, _, at in found]]
    return [(f"`adcli help {topic}`", text) for _, text, (topic, _) in found[:MOST]]


def ranked(words: str) -> list[tuple[int, str, tuple[str, str]]]:
    """Score, description and place of every section that has the words, the best one first."""
    found = []
    for topic in TOPICS:
        for title, body in sections(topic):
            if about(words, f"{title}\n{body}"):
                score = sum(20 * bool(count(word, title)) + min(count(word, body), 9) for word in words.split())
                found.append((score, f"{title}: {sentence(words, body)}".rstrip(": "), (topic, title)))
    return sorted(found, key=lambda entry: -entry[0])


def sections(topic: str) -> Iterator[tuple[str, str]]:
    """Headings of a chapter with the text below each, the subject of the chapter first; examples are left out."""
    text = re.sub(r"^```.*?^```$|^    .*$|<!--.*?-->", "", source(topic), flags=re.M | re.S)
    first, *others = re.split(r"^##+ ", text.partition("\n")[2], flags=re.M)
    yield heading(topic), first
    for part in others:
        title, _, body = part.partition("\n")
        yield title.strip(), body


def sentence(words: str, body: str) -> str:
    """The first sentence that has the words, or one of them, as far as it fits a line."""
    plain = re.sub(r"\s+", " ", re.sub(r"^\| ?| ?\|$|^\|[-| ]+$", "", body, flags=re.M).replace("**", ""))
    parts = re.split(r"(?<=[.:;]) (?=[A-Z`])| \| ", plain)
    best = max(parts, key=lambda part: sum(bool(count(word, part)) for word in words.split()), default="").strip()
    short = best if len(best) <= SNIPPET else f"{best[:SNIPPET].rpartition(' ')[0]} …"
    return short if short.count("`") % 2 == 0 else short.replace("`", "")
