"""The lexer that Pygments finds by the alias `adcli` or by the ending .ad: the scanner of the language itself."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Text, Whitespace, string_to_tokentype

from adcli.editors.kinds import tokens


class AdcliLexer(Lexer):
    """Programs of adcli."""

    name = "adcli"
    aliases: ClassVar[list[str]] = ["adcli"]
    filenames: ClassVar[list[str]] = ["*.ad"]
    mimetypes: ClassVar[list[str]] = ["text/x-adcli"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Offset, type and text of every token, and of what lies between them."""
        done = 0
        for start, end, kind in tokens(text):
            if done < start:
                yield done, Whitespace, text[done:start]
            yield start, string_to_tokentype(kind.pygments), text[start:end]
            done = end
        if done < len(text):
            yield done, Whitespace if text[done:].isspace() else Text, text[done:]
