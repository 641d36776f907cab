"""Files by URL: s3://, gs://, https:// and what else fsspec knows, opened to be read, listed, and written as a whole.

Every fault of the network is an AdError of one line. Connecting and waiting for an answer have an end; how long a transfer
takes has none.
"""
from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from adcli.lang.ir.errors import AdError, missing, one_line

CONNECT, ANSWER = 10, 30
"""Seconds until a connection stands, and until more of an answer comes; libraries try again, up to five times."""
BLOCK, PIECE = 8 << 20, 1 << 20
"""Bytes that are asked for at a time where a file is read from its start to its end, and where it is read here and there."""
PATTERN = re.compile(r"[*?\[]")
AMAZON = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket FSSPEC_S3_ANON=true"
GOOGLE = "set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login"


class Scheme(NamedTuple):
    """Scheme of URLs: the package that fsspec needs, whether a file that is written appears as a whole, how to say who one is,
    and what is told to fsspec beside what the user's environment tells it."""

    package: str
    whole: bool
    credentials: str | None
    settings: Callable[[], dict[str, Any]]


def s3_settings() -> dict[str, Any]:
    return {"config_kwargs": {"connect_timeout": CONNECT, "read_timeout": ANSWER // 2, "retries": {"total_max_attempts": 1}}}


def http_settings() -> dict[str, Any]:
    import aiohttp
    wait = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=ANSWER)
    return {"client_kwargs": {"timeout": wait, "trust_env": True}}


S3 = Scheme("s3fs", True, AMAZON, s3_settings)
GS = Scheme("gcsfs", True, GOOGLE, lambda: {"requests_timeout": ANSWER})
HTTP = Scheme("aiohttp", False, "is the address right?", http_settings)
OTHER = Scheme("another package", False, None, dict)
SCHEMES = {"s3": S3, "s3a": S3, "gs": GS, "gcs": GS, "http": HTTP, "https": HTTP}


LOUD = ("fsspec", "s3fs", "aiobotocore", "botocore", "gcsfs", "google", "aiohttp", "asyncio", "urllib3")
"""Libraries that write to standard error, tracebacks too, what is said here in a line."""


class Remote(NamedTuple):
    """A file: its URL, its size in bytes and what no other contents of it share, where these are known."""

    url: str
    size: int | None
    stamp: str | None


def is_url(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def scheme(url: str) -> Scheme:
    return SCHEMES.get(word(url), OTHER)


def word(url: str) -> str:
    return url.partition("://")[0].lower()


def shown(url: str) -> str:
    """A URL in messages: without what may let others in, a password or a signature."""
    bare = re.sub(r"(?<=://)[^/@]*@", "", url)
    return one_line(bare.partition("?")[0] if scheme(url) is HTTP else bare)


def listed(url: str) -> tuple[list[Remote], str]:
    """The files of a URL, and what that is: a file, a folder or a pattern, which http does not have."""
    system, path = filesystem(url)
    with faults(url):
        if scheme(url) is HTTP:
            info = system.info(path)
            return [Remote(url, info.get("size"), stamp(info))], "file"
        if PATTERN.search(path) and not system.exists(path):
            return [remote(url, info) for info in system.glob(path, detail=True).values() if info["type"] == "file"], "pattern"
        info = system.info(path)
        if info["type"] != "directory":
            return [remote(url, info)], "file"
        return [remote(url, info) for info in system.find(path, detail=True).values()], "folder"


def remote(url: str, info: dict[str, Any]) -> Remote:
    """One of the files of a URL."""
    return Remote(f"{url.partition('://')[0]}://{info['name']}", info.get("size"), stamp(info))


def stamp(info: dict[str, Any]) -> str | None:
    """Version of a file."""
    found = next((info[key] for key in ("ETag", "etag", "md5Hash", "LastModified", "mtime") if info.get(key)), None)
    return None if found is None else str(found).strip('"')


def put(local: str, url: str) -> None:
    """Write what a file of this machine holds to a URL, where it appears as a whole."""
    system, path = filesystem(url)
    with faults(url):
        system.put_file(local, path)


def require_whole(url: str) -> None:
    """AdError where a file cannot be written, or would be seen before it is whole."""
    if not scheme(url).whole:
        raise AdError(f"-o {shown(url)}: cannot write to {word(url)}://", help="write to a file, s3:// or gs://")
    if not re.fullmatch(r"[^/]+/.*[^/]", url.partition("://")[2]):
        raise AdError(f"-o {shown(url)}: no name of a file", help=f"write -o {word(url)}://bucket/results.csv")
    filesystem(url)


def filesystem(url: str) -> tuple[Any, str]:
    """fsspec's file system for a URL, and what that calls the file. AdError where a package is missing."""
    found = scheme(url)
    import logging
    for library in LOUD:
        logging.getLogger(library).addHandler(logging.NullHandler())
    try:
        import fsspec
        with faults(url):
            system, path = fsspec.core.url_to_fs(url, **found.settings())
    except ImportError as error:
        if found is OTHER:
            raise AdError(f"{shown(url)}: {error}") from None
        raise missing(f"{word(url)}://", f"fsspec {found.package}") from None
    return system, path


class RemoteFile(io.RawIOBase):
    """A file that is read over the network, `anywhere` in it or once from its start to its end."""

    def __init__(self, url: str, anywhere: bool) -> None:
        self.url, self.anywhere = url, anywhere
        system, path = filesystem(url)
        stream = scheme(url) is HTTP and not anywhere   # one answer, not one for each piece
        with faults(url):
            self.file = system.open(path, "rb", block_size=0 if stream else PIECE if anywhere else BLOCK)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.anywhere

    def read(self, size: int = -1) -> bytes:
        with faults(self.url):
            return bytes(self.file.read(size))

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self.file.seek(offset, whence))

    def tell(self) -> int:
        return int(self.file.tell())

    def close(self) -> None:
        if not self.closed:
            with contextlib.suppress(Exception):   # nothing that was read depends on it
                self.file.close()
        super().close()


# ---------------------------------------------------------------- faults

@contextlib.contextmanager
def faults(url: str) -> Iterator[None]:
    """Turn faults of a URL into an AdError: libraries for networks have their own errors, and wrap those of others."""
    try:
        yield
    except (AdError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise fault(url, error) from None


def fault(url: str, error: BaseException) -> AdError:
    """AdError of one line for an error, with advice."""
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and scheme(url) is HTTP and cause and not isinstance(cause, FileNotFoundError):
        return fault(url, cause)   # whatever fails first is called so by fsspec
    name, status = shown(url), getattr(error, "status", None)
    if named(error, "NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError", "TokenRetrievalError"):
        return AdError(f"{name}: no credentials", help=scheme(url).credentials)
    if isinstance(error, PermissionError) or status in (401, 403):
        return AdError(f"{name}: access denied", help=scheme(url).credentials)
    if isinstance(error, FileNotFoundError) or status == 404:
        bucket = "bucket" in str(error) or named(cause, "NoSuchBucket")
        return AdError(f"{name}: {'No such bucket' if bucket else 'No such file'}")
    if isinstance(error, TimeoutError) or named(error, "ReadTimeoutError", "ConnectTimeoutError", "FSTimeoutError"):
        return AdError(f"{name}: no answer in time", help="is the address right, and the network there? try again")
    if named(error, "EndpointConnectionError", "ClientConnectorError", "ConnectionError", "HTTPClientError"):
        return AdError(f"{name}: cannot connect", help="is the address right, and the network there?")
    if named(error, "ClientPayloadError", "IncompleteReadError", "ResponseStreamingError"):
        return AdError(f"{name}: the connection ended before the file did")
    if named(error, "InvalidURL"):
        return AdError(f"{name}: not an address")
    if status is not None:
        return AdError(f"{name}: the server answers {status} {getattr(error, 'message', '')}".rstrip())
    if "range requests" in str(error):
        import shlex
        return AdError(f"{name}: the server sends no parts of files", help=f"fetch it: curl -O {shlex.quote(url)}")
    reason = next(iter(str(error).splitlines()), "")
    return AdError(f"{name}: {reason or type(error).__name__}")


def named(error: BaseException | None, *names: str) -> bool:
    """Test of an error by the names of its classes, which need not be imported."""
    return any(kind.__name__ in names for kind in type(error).__mro__)
