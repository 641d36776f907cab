"""Format and compression of a file by its name."""
from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from adcli.lang.ir.errors import AdError

FORMATS = {
    ".json": "json", ".ndjson": "json", ".jsonl": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet",
    ".pq": "parquet", ".npz": "npz", ".npy": "npy", ".mtx": "mtx", ".md": "markdown", ".markdown": "markdown", ".tex": "latex",
    ".svg": "svg", ".pdf": "pdf", ".png": "png", ".dot": "dot", ".gv": "dot",
}
"""The format that a suffix asks for."""
FOREIGN = frozenset((
    ".xlsx", ".xls", ".xlsm", ".ods", ".numbers", ".feather", ".arrow", ".ipc", ".orc", ".avro", ".h5", ".hdf5", ".hdf",
    ".mat", ".nc", ".rds", ".rdata", ".dta", ".sav", ".sas7bdat", ".pkl", ".pickle", ".msgpack", ".bson", ".sqlite",
    ".sqlite3", ".db", ".duckdb", ".yaml", ".yml", ".toml", ".xml", ".html", ".htm", ".docx",
    ".zip", ".tar", ".7z", ".rar", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".tif", ".tiff", ".eps", ".ps",
))
"""Suffixes of kinds of files that nothing here writes."""
ARRAYS = ("npz", "npy")
"""Formats of arrays. They are asked for by a suffix alone."""
PACKED = (".gz", ".bz2", ".xz", ".zst")


def split(path: str | None) -> tuple[str, str]:
    """The suffix of the format and that of the packing, in lower case; both empty for what is no regular file."""
    if not path or path == "-" or special(path):
        return "", ""
    stem, suffix = os.path.splitext(path.lower())
    if suffix in PACKED:
        return os.path.splitext(stem)[1], suffix
    return suffix, ""


def special(path: str) -> bool:
    """True if a path is a device, a pipe or a socket."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def form_of(path: str | None, formats: Sequence[str], verb: str, arrays: bool) -> str | None:
    """The format, one of `formats`, that the name of a file asks for; None where it asks for none. AdError where it asks for one
    that the verb does not write. With `arrays` it writes those too."""
    suffix, packing = split(path)
    packer(packing)
    form = "program" if suffix == ".ad" and "program" in formats else FORMATS.get(suffix)
    if form in formats or (arrays and form in ARRAYS) or (form is None and suffix not in FOREIGN):
        return form
    known = [s for s, f in FORMATS.items() if f in formats or (arrays and f in ARRAYS)]
    words = ", ".join(known[:-1]) + " or " * (len(known) > 1) + known[-1]
    raise AdError(f"-o {path}: {verb} does not write {suffix} files", help=f"use {words}, or say with --format what to write")


def packer(packing: str) -> Callable[[BinaryIO], Any] | None:
    """Compressor of a stream, from the standard library; the same bytes in give the same bytes out."""
    match packing:
        case ".gz":
            import gzip
            return lambda out: gzip.GzipFile("", "wb", 6, out, mtime=0)
        case ".bz2":
            import bz2
            return lambda out: bz2.BZ2File(out, "wb")
        case ".xz":
            import lzma
            return lambda out: lzma.LZMAFile(out, "wb")
        case ".zst":
            try:
                from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
            except ImportError:
                raise AdError("this Python cannot write .zst files (3.14 can)", help="use .gz") from None
            return lambda out: zstd.ZstdFile(out, "wb")
    return None
