"""A terminal of a given width in this process: what a command shows there, standard output and standard error as one."""
from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import struct
import sys
import termios
import threading
from unittest import mock

from adcli.main import run

PLAIN = dict.fromkeys(("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS"), "")


def on_terminal(columns: int, *args: object, **environment: str) -> str:
    """Run one command with nothing on standard input; without colour unless the environment asks for it."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    attributes = termios.tcgetattr(child)
    attributes[1] &= ~termios.OPOST   # line ends as they are written
    termios.tcsetattr(child, termios.TCSANOW, attributes)
    parts: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):   # how Linux says that nobody writes any more
            while part := os.read(parent, 65536):
                parts.append(part)
    reader = threading.Thread(target=read)
    reader.start()
    given = {**PLAIN, "TERM": "xterm", "NO_COLOR": "1", **environment}
    with open(child, "w", encoding="utf-8", newline="") as terminal, mock.patch.dict(os.environ, given), \
            contextlib.redirect_stdout(terminal), contextlib.redirect_stderr(terminal), \
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(), "utf-8")):
        run([str(a) for a in args])
    reader.join()
    os.close(parent)
    return b"".join(parts).decode()
