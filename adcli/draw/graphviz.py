"""Graphs laid out and painted by Graphviz: by its program `dot`, or by the one that the package pygraphviz brings."""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

from adcli.codegen.documents.dot import DARK
from adcli.lang.ir.errors import AdError
from adcli.lang.ir.extras import install
from adcli.output.streams import ENDINGS

SECONDS = 120
"""How long `dot` may take."""
INSTALL = {"apt-get": "sudo apt-get install graphviz", "dnf": "sudo dnf install graphviz", "pacman": "sudo pacman -S graphviz",
           "apk": "sudo apk add graphviz", "brew": "brew install graphviz", "winget": "winget install graphviz",
           "conda": "conda install graphviz"}
"""What installs Graphviz, by the program that does."""
BUNDLED = """import sys, pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""
"""The same with pygraphviz, in a process of its own, which can be ended."""
COMMENT = re.compile(r"<!--.*?-->\n?", re.S)


def painted(dot: str, form: str) -> bytes:
    """A graph as svg, pdf or png. AdError where Graphviz is not there, or does not manage."""
    done = run(command(form), dot.encode())
    return adapted(done.decode()).encode() if form == "svg" else done


def command(form: str) -> list[str]:
    """What paints a graph that it reads, and writes it. AdError where there is nothing."""
    program = shutil.which("dot")
    if program is not None:
        return [program, f"-T{form}"]
    if find_spec("pygraphviz") is not None:
        return [sys.executable, "-P", "-c", BUNDLED, form]
    manager = next((m for m in INSTALL if shutil.which(m)), "brew" if sys.platform == "darwin" else "apt-get")
    raise AdError(f"{form} needs the program 'dot' of Graphviz, which is not installed",
                  help=f"{INSTALL[manager]}; or {install('pygraphviz')}; or write DOT for another program: -o g.dot")


def run(command: list[str], given: bytes) -> bytes:
    """What a program writes. It ends with us."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        ENDINGS.add(process.kill)
        try:
            out, said = process.communicate(given, SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AdError(f"dot has not laid out this graph in {SECONDS} seconds",
                          help="draw one output with ⟦--of⟧, fold functions with ⟦--fold all⟧, or write DOT: -o g.dot") from None
        finally:
            ENDINGS.discard(process.kill)
    if process.returncode or not out:
        lines = said.decode(errors="replace").strip().splitlines() or [f"exit {process.returncode}"]
        raise AdError(f"dot has failed: {lines[0]}", help="write DOT: -o g.dot")
    return out


def adapted(svg: str) -> str:
    """An SVG that can stand in a page, with colours for dark screens, and without Graphviz's comments, which tell its version."""
    _, tag, rest = COMMENT.sub("", svg).partition("<svg ")
    opening, close, body = rest.partition(">")
    return f"{tag}{opening}{close}\n<style>{DARK}</style>{body}"
