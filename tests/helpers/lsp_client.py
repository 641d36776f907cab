"""A client of the language server, as an editor is one: a process, messages with headers, answers by their numbers.

It is written from the protocol and shares no line with the server, so that both cannot be wrong together.
"""
from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from typing import Any, Self

ADCLI = [sys.executable, "-m", "adcli", "lsp", "--stdio"]
PATIENCE = 60.0
"""Seconds that an answer may take on a busy machine."""


class RequestFailure(Exception):
    """The answer to a request is an error, which this has."""


class Client:
    """A session with `adcli lsp`. Every byte of its standard output must belong to a message."""

    def __init__(self, encodings: list[str] | None = None, command: list[str] = ADCLI) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.numbers = 0
        self.answers: dict[int, dict[str, Any]] = {}
        self.messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self.told: list[dict[str, Any]] = []
        threading.Thread(target=self._receive, daemon=True).start()
        general = {"positionEncodings": encodings} if encodings else {}
        self.capabilities = self.request("initialize", {"processId": None, "rootUri": None,
                                                        "capabilities": {"general": general}})["capabilities"]
        self.notify("initialized", {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, shutdown: bool = True) -> tuple[int, str]:
        """Shut down as the protocol says; the exit code, and what stood on standard error."""
        if self.process.poll() is None:
            if shutdown:
                self.request("shutdown", None)
            self.notify("exit", None)
        code = self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        return code, self.process.stderr.read().decode()

    # Messages.

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _receive(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = None
            while header not in (b"\r\n", b""):
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            self.messages.put(json.loads(stream.read(length)) if length is not None else {"broken": header})

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> int:
        """Send a request and do not wait; its number."""
        self.numbers += 1
        self.send({"id": self.numbers, "method": method, "params": params})
        return self.numbers

    def answer(self, number: int) -> Any:
        """The result of a request. RequestFailure where it failed."""
        while number not in self.answers:
            self.take()
        message = self.answers.pop(number)
        if "error" in message:
            raise RequestFailure(message["error"])
        return message["result"]

    def take(self) -> dict[str, Any]:
        """The next message."""
        message = self.messages.get(timeout=PATIENCE)
        if "id" in message and "method" not in message:
            self.answers[message["id"]] = message
        else:
            self.told.append(message)
        return message

    def request(self, method: str, params: Any) -> Any:
        return self.answer(self.ask(method, params))

    # Texts.

    def open(self, uri: str, text: str, version: int = 1) -> list[dict[str, Any]]:
        """Open a text; what is said of it."""
        self.versions(uri)
        self.notify("textDocument/didOpen",
                    {"textDocument": {"uri": uri, "languageId": "adcli", "version": version, "text": text}})
        return self.diagnostics(uri, version)

    def change(self, uri: str, text: str, version: int) -> None:
        document = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def close(self, uri: str) -> None:
        self.versions(uri)
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str, version: int | None) -> list[dict[str, Any]]:
        """What is said of a version of a text."""
        def wanted() -> list[dict[str, Any]]:
            return [m["params"]["diagnostics"] for m in self.told if m["method"] == "textDocument/publishDiagnostics"
                    and m["params"]["uri"] == uri and m["params"].get("version") == version]
        while not wanted():
            self.take()
        return wanted()[-1]

    def versions(self, uri: str) -> list[int | None]:
        """The versions of a text of which anything was said since this was asked last."""
        mine = [m for m in self.told if m["method"] == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri]
        self.told = [m for m in self.told if m not in mine]
        return [m["params"].get("version") for m in mine]

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """A request about a place, counted from 0."""
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri},
                                                       "position": {"line": line, "character": character}, **more})

    def about(self, method: str, uri: str, **more: Any) -> Any:
        """A request about a text."""
        return self.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})


def edited(text: str, edits: list[dict[str, Any]], encoding: str = "utf-16") -> str:
    """A text with edits made, by the rules of the protocol: all places are those of the text as it was."""
    def offset(place: dict[str, int]) -> int:
        lines, at = [], 0
        while at <= len(text):   # the protocol's line ends: LF, CRLF, CR
            ends = [e for e in (text.find("\n", at), text.find("\r", at)) if e >= 0]
            end = min(ends, default=len(text))
            lines.append((at, end))
            at = end + (2 if text[end:end + 2] == "\r\n" else 1)
        start, end = lines[place["line"]]
        units = 0
        for i in range(start, end):
            if units >= place["character"]:
                return i
            units += {"utf-16": 1 + (ord(text[i]) > 0xffff), "utf-32": 1, "utf-8": len(text[i].encode())}[encoding]
        return end
    places = sorted(((offset(e["range"]["start"]), offset(e["range"]["end"]), e["newText"]) for e in edits), reverse=True)
    for start, end, new in places:
        text = text[:start] + new + text[end:]
    return text
