"""Servers on this machine: buckets as S3 and Google have them, and files by HTTP that are sent well or badly."""
from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator, Mapping, MutableMapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType
from unittest import mock
from urllib.parse import parse_qsl, unquote, urlsplit

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@contextlib.contextmanager
def buckets() -> Iterator[str]:
    """S3 as moto has it, found by the environment; the address."""
    from moto.server import ThreadedMotoServer
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    try:
        with mock.patch.dict("os.environ", {**CREDENTIALS, "AWS_ENDPOINT_URL": address}):
            yield address
    finally:
        server.stop()


class Files(BaseHTTPRequestHandler):
    """`files` by path. The first folder says how: plain, ranges (parts of files, too), cut (half of it, then nothing), packed
    (told to be gzip by a header), slow (nothing for long), nosize, moved, or with a status, such as 403."""

    files: Mapping[str, bytes] = MappingProxyType({})
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, body: bool) -> None:
        how, _, name = self.path.lstrip("/").partition("/")
        data = self.files.get(name.partition("?")[0])
        if how.isdecimal() or data is None:
            self.send_error(int(how) if how.isdecimal() else 404)
            return
        if how == "moved":
            self.send_response(302)
            self.send_header("Location", f"/plain/{name}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if how == "slow":
            time.sleep(3)
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")) if how == "ranges" else None
        start, end = (int(part[1]), min(int(part[2] or len(data)) + 1, len(data))) if part else (0, len(data))
        self.send_response(206 if part else 200)
        if part:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        if how == "ranges":
            self.send_header("Accept-Ranges", "bytes")
        if how == "packed":
            self.send_header("Content-Encoding", "gzip")
        if how == "nosize":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if body:
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data[start:end] if how != "cut" else data[:len(data) // 2])
        self.close_connection = how in ("cut", "nosize")


class Objects(BaseHTTPRequestHandler):
    """A bucket as Google Cloud Storage has them, as far as its JSON API is asked for: what there is, its bytes, one more."""

    files: MutableMapping[str, bytes]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def send(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def item(self, name: str) -> dict[str, str]:
        return {"name": name, "bucket": "data", "size": str(len(self.files[name])), "md5Hash": "x", "generation": "1",
                "updated": "2024-01-01T00:00:00.000Z", "timeCreated": "2024-01-01T00:00:00.000Z"}

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked, found = dict(parse_qsl(url.query)), re.fullmatch(r"(?:/download)?/storage/v1/b/data/o(?:/(.+))?", url.path)
        name = unquote(found[1] or "") if found else "none"
        if name in self.files and asked.get("alt") == "media":
            part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            self.send(206 if part else 200, self.files[name][int(part[1]):int(part[2]) + 1] if part else self.files[name])
        elif name in self.files:
            self.send(200, json.dumps(self.item(name)).encode())
        elif name:
            self.send(404, b'{"error": {"code": 404, "message": "Not Found"}}')
        else:
            items = [self.item(n) for n in sorted(self.files) if n.startswith(asked.get("prefix", ""))]
            self.send(200, json.dumps({"items": items}).encode())

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        boundary = self.headers["Content-Type"].partition("boundary=")[2].strip("'\"").encode()
        _, about, body, _ = data.split(b"--" + boundary)
        name = json.loads(about.partition(b"\n\n")[2])["name"]
        self.files[name] = body.partition(b"\n\n")[2].removesuffix(b"\n")
        self.send(200, json.dumps(self.item(name)).encode())


class Quiet(ThreadingHTTPServer):
    """Says nothing of those who leave."""

    def handle_error(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(files: dict[str, bytes], how: type[BaseHTTPRequestHandler] = Files) -> Iterator[str]:
    """Files by HTTP; the address."""
    server = Quiet(("127.0.0.1", 0), type("These", (how,), {"files": files}))
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
