"""The server: requests of the protocol, and which function answers each.

A text is read in one thread beside the loop that takes messages, so the loop always answers: a change waits a moment for the
next one before the text is read again, and a request that is cancelled while it waits is never begun. Whole texts are exchanged,
not changes of them: where a line ends is then said in one place (`positions`).
"""
from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from adcli.lang.ir.errors import AdError
from adcli.lsp import diagnostics, hover
from adcli.lsp.one_name import OpenText
from adcli.output.streams import say
from adcli.output.version import __version__

REQUEST_FAILED = -32803
"""The code of a request that is right and cannot be done (LSP 3.17, ErrorCodes.RequestFailed)."""
PAUSE = 0.15
"""Seconds without a change after which a text is read; as many more as reading it took."""

ANSWERS: dict[str, tuple[Callable[[OpenText, Any], Any], Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: (hover.hover, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (hover.completion, lsp.CompletionOptions(resolve_provider=True)),
    lsp.TEXT_DOCUMENT_DEFINITION: (hover.definition, None),
    lsp.TEXT_DOCUMENT_FORMATTING: (diagnostics.formatting, None),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (diagnostics.code_actions, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])),
}
"""Handler of each request about a text, and its options in the protocol."""


class Texts:
    """The open texts, each with its newest version, and the readings under way."""

    def __init__(self, server: LanguageServer) -> None:
        self.server = server
        self.open: dict[str, OpenText] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.took: dict[str, float] = {}
        self.worker = ThreadPoolExecutor(1, "adcli")
        self.exit_code = 0   # of a session that the client just leaves, or ends as it should
        self.shut_down = False

    def changed(self, uri: str, pause: bool) -> None:
        """A text is there, or has changed: read it when no further change comes."""
        document = self.server.workspace.get_text_document(uri)
        agreed = self.server.workspace.position_encoding   # a name, or one of an enumeration
        encoding = getattr(agreed, "value", agreed) or "utf-16"
        self.open[uri] = OpenText(uri, document.source, document.version, encoding)
        self.forget(uri)
        self.waiting[uri] = asyncio.ensure_future(self.report(uri, PAUSE + self.took.get(uri, 0.0) if pause else 0.0))

    def closed(self, uri: str) -> None:
        """A text is there no more: nor is what was said of it."""
        self.forget(uri)
        self.took.pop(uri, None)
        if self.open.pop(uri, None) is not None:
            self.publish(uri, [], None)

    def forget(self, uri: str) -> None:
        if (task := self.waiting.pop(uri, None)) is not None:
            task.cancel()

    async def report(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        text = self.open[uri]
        began = time.perf_counter()
        found = await self.done(diagnostics.diagnostics, text)
        self.took[uri] = time.perf_counter() - began
        if self.open.get(uri) is text:
            self.publish(uri, found, text.version)

    def publish(self, uri: str, found: list[lsp.Diagnostic], version: int | None) -> None:
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    async def done(self, work: Callable[..., Any], *given: Any) -> Any:
        """Result of a function that runs beside the loop. A fault becomes the answer that a request failed; a defect is
        reported, and the session goes on."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self.worker, work, *given)
        except AdError as fault:
            raise JsonRpcException(f"{fault.message}{f' ({fault.help})' if fault.help else ''}", REQUEST_FAILED) from None
        except Exception as defect:
            say("".join(traceback.format_exception(defect)) + "adcli: internal error in the language server; please report it")
            raise JsonRpcException(f"internal error: {type(defect).__name__}: {defect}") from None


def made() -> tuple[LanguageServer, Texts]:
    """A server that knows every request, and its texts."""
    server = LanguageServer("adcli", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    texts = Texts(server)
    for method, (answer, options) in ANSWERS.items():
        answered(texts, method, answer, options)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        texts.changed(params.text_document.uri, pause=False)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        texts.changed(params.text_document.uri, pause=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        texts.closed(params.text_document.uri)

    @server.feature(lsp.COMPLETION_ITEM_RESOLVE)
    async def resolve(item: lsp.CompletionItem) -> lsp.CompletionItem:
        resolved: lsp.CompletionItem = await texts.done(hover.resolved, item)
        return resolved

    @server.feature(lsp.SHUTDOWN)
    def shut_down(params: None) -> None:
        texts.shut_down = True

    @server.feature(lsp.EXIT)
    def exit(params: None) -> None:
        texts.exit_code = 0 if texts.shut_down else 1

    return server, texts


def answered(texts: Texts, method: str, answer: Callable[[OpenText, Any], Any], options: Any) -> None:
    """Let a function answer the requests of one kind, each about the newest version of its text."""
    @texts.server.feature(method, options)
    async def handle(params: Any) -> Any:
        text = texts.open.get(params.text_document.uri)
        return None if text is None else await texts.done(answer, text, params)


class ToClient(io.FileIO):
    """Messages to the client, as long as it reads them: one that is gone ends the session by ending standard input."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(BrokenPipeError):
            return super().write(data)
        return len(data)


def serve() -> int:
    """Talk to the client on standard input and output until it says that it is enough, or is gone. Nothing else can get into the
    messages: whatever writes to standard output while they go to and fro writes to standard error."""
    sys.stdout.flush()
    out = ToClient(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    logging.getLogger("pygls").setLevel(logging.CRITICAL)   # it has a traceback for every request that is refused
    server, texts = made()
    server.start_io(sys.stdin.buffer, out)
    return texts.exit_code
