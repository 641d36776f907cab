"""Where the manual has a word: its sections in the order of how much they say about it."""
from __future__ import annotations

import re
from collections.abc import Iterator

from adcli.manual import TOPICS, heading, source

MOST = 12
"""Sections that are listed."""
SNIPPET = 90
"""Characters that are shown of a sentence."""
CHAPTER, TITLE, FIRST, PHRASE, TEXT = 60, 25, 9, 15, 9
"""What a word is worth in the subject of a chapter and in a heading, more where a heading begins with it, and a phrase as it was
typed and words in a text at most."""
COMMON = re.compile(r"\b(?:an?|and|can|do|does|for|from|get|have|here|how|i|in|is|it|make|my|of|on|or|the|to|use|what|with)\b")
"""Words that say nothing of a subject."""
ALSO = {
    "constraint": "subject to", "confidence": "coverage", "covariance": "uncertaint", "optimi": "minimi", "regress": "fit",
    "error bar": "uncertaint", "gpu": "engine", "multithread": "thread", "loop": "for ", "matrix": "matri", "excel": "csv",
    "second derivative": "hessian", "root": "equations", "ode": "loops over time", "differential equation": "loops over time",
    "time series": "loops over time", "bayes": "posterior", "conditional": "arms", "if": "arms", "piecewise": "arms",
    "wasm": "other machines", "webassembly": "other machines", "arm": "other machines", "embedded": "microcontroller",
    "cmake": "microcontroller", "speed": "fast", "missing": "empty", "neural": "network", "save": "terminals",
    "define": "functions", "array": "tensors", "step size": "finite difference", "numeric": "finite difference",
    "plot": "picture", "draw": "picture", "graph": "picture", "chart": "picture", "profile": "bench",
    "enclosure": "guaranteed bounds", "interval arithmetic": "guaranteed bounds",
}
"""By what words begin with, other words under which their subject stands."""


def subject(words: str) -> str:
    """The words that say what is looked for, without those of a question; all of them where none is left."""
    return " ".join(COMMON.sub("", words.lower()).split()) or words


def about(words: str, text: str) -> bool:
    """Test for a text that has every word, whatever their endings."""
    return re.search(r"\w\w", words) is not None and all(count(word, text) for word in words.split())


def other(words: str) -> str:
    """Words under which the same subject stands, or none."""
    return next((also for begin, also in ALSO.items() if re.match(rf"{begin}\b" if len(begin) < 4 else begin, words)), "")


def count(word: str, text: str) -> int:
    """Times that a text has a word, whatever its ending."""
    ending = "(?:ies|y|ing|ed|es|s|e|ion|ions)?"
    stem = re.sub(rf"(?<=\w{{3}}){ending}$", "", word.lower(), count=1)
    spelled = re.sub(r"i[sz]$", "i[sz]", re.escape(stem))   # minimise, minimize
    rest = "" if len(stem) > 4 else f"{ending}(?![a-z])"
    return len(re.findall(rf"(?<![a-z]){spelled}{rest}", text.lower()))


def places(words: str) -> list[tuple[str, str]]:
    """The sections about the words: the command that shows each, and its heading with a sentence that has them."""
    found = ranked(words)
    if also := other(words):
        found = sorted([*found, *((score * 3 // 4, text, at) for score, text, at in ranked(also))], key=lambda entry: -entry[0])
    best = {at: (f"`adcli help {at[0]}`", text) for _, text, at in reversed(found)}
    return [*reversed(best.values())][:MOST]


def ranked(words: str) -> list[tuple[int, str, tuple[str, str]]]:
    """Score, description and place of every section that has the words, the best one first."""
    found = []
    for topic in TOPICS:
        chapter = f"{topic} {heading(topic)}".replace("-", " ")
        for i, (title, body) in enumerate(sections(topic)):
            if about(words, f"{chapter}\n{title}\n{body}") and (i == 0 or about(words, f"{title}\n{body}")):
                head, worth = (title, TITLE) if i else (chapter, CHAPTER)
                known = sum(bool(count(word, head)) for word in words.split())
                score = worth * known**3 // len(words.split())**2 + sum(min(count(word, body), TEXT) for word in words.split())
                score += FIRST * (i > 0 and title.lower().startswith(words.lower()))
                score += PHRASE * (" " in words and count(words, f"{title} {body}") > 0)
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
