"""Shell completion: verbs, options and their words as click knows them, names of the program at hand, and files.

All shells are asked and answered in one way. The script of a shell passes the command line up to the cursor and what follows
it; each line of the answer is a kind and a value: `plain`, `part` (of a word that goes on, so that no space follows) or `file`
(the shell completes files itself). What a parameter is completed by, its metavar says. Nothing is ever printed beside the
answer, which would land in the middle of what is being typed.
"""
from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import click
from click.shell_completion import CompletionItem, ShellComplete

from adcli.input.points import parts
from adcli.input.programs import read_source
from adcli.lang.ir.errors import AdError
from adcli.readers.front import foreign, functions

LONGEST = 1 << 16
"""Bytes of a program that is read for its names: more would not be parsed while somebody waits for a word."""
CURSOR = "\x7f"
"""Stands for the cursor where a line is cut into words."""
SPECIAL, BACKSLASHED = re.compile(r"[^\w@%+=:,./-]"), r"\\\g<0>"
"""Characters that mean something to a shell, and what keeps them from it."""
Items: TypeAlias = "list[CompletionItem[str]]"   # a text: before click 8.4.2 it is not generic


class Line(NamedTuple):
    """The words behind the verb, before and after the cursor, and by metavar what parameters are completed by."""

    words: list[str]
    by_metavar: Mapping[str, Callable[[click.Context, str], Items]]


def answer(cli: click.Command) -> int:
    """Answer to the variable _ADCLI_COMPLETE: the script of a shell, or the completions of a command line."""
    shell, _, what = os.environ["_ADCLI_COMPLETE"].partition("_")
    if what == "source" and shell in SHELLS:
        sys.stdout.write(SHELLS[shell].source_template)
    elif what == "complete" and shell in SHELLS:
        with contextlib.suppress(Exception):   # a program that is not one yet has no names, and nobody wants to read why
            sys.stdout.write(SHELLS[shell](cli, {}, "adcli", "_ADCLI_COMPLETE").complete())
    else:
        raise AdError(f"_ADCLI_COMPLETE={os.environ['_ADCLI_COMPLETE']} asks for nothing that there is",
                      help=f"the scripts are {', '.join(f'{name}_source' for name in SHELLS)}")
    return 0


# ---------------------------------------------------------------- by what a parameter is completed

def files(context: click.Context, text: str) -> Items:
    """Whatever files the shell finds."""
    return [CompletionItem(text, type="file")]


def program(context: click.Context, text: str) -> Items:
    """A file, or behind its colon a function in it, unless -e gives the program already."""
    if context.params.get("expressions"):
        return []
    path, colon, begun = text.rpartition(":")
    named = functions(os.path.expanduser(path), context.params.get("language")) if colon else []
    return [CompletionItem(f"{path}:{name}") for name in named if name.startswith(begun)] or files(context, text)


def inputs(context: click.Context, text: str) -> Items:
    """x,y: names of inputs."""
    return listed(interface(context)[0], text)


def outputs(context: click.Context, text: str) -> Items:
    """Names of outputs, and after `v:` the inputs of a partial derivative, of which one can come again."""
    head, separator, last = text.rpartition(";")
    names, results = interface(context)
    output, colon, along = last.partition(":")
    if not colon:
        return listed(results, last, head + separator)
    before, comma, word = along.rpartition(",")
    return [CompletionItem(f"{head}{separator}{output}:{before}{comma}{x}", type="part") for x in names if x.startswith(word)]


def point(context: click.Context, text: str) -> Items:
    """x=2,A=@file: inputs that have no value yet, and files."""
    return assigned(interface(context)[0], text)


def weights(context: click.Context, text: str) -> Items:
    """v=1: the same of outputs."""
    return assigned(interface(context)[1], text)


def pairs(context: click.Context, text: str) -> Items:
    """x:y=, two names and a number."""
    head, comma, last = text.rpartition(",")
    x, colon, y = last.partition(":")
    if "=" in last:
        return []
    before, sign = (f"{head}{comma}{x}:", "=") if colon else (head + comma, ":")
    return [CompletionItem(before + name + sign, type="part") for name in interface(context)[0]
            if name.startswith(y if colon else x) and not (colon and name == x)]


COMPLETED = {
    "PROGRAM": program, "FILE": files, "ROWS": files, "x,…": inputs, "v,…": outputs, "v": outputs,
    "POINT": point, "x=1,…": point, "x=@C.npy": point, "v=1,…": weights, "x:y=0.5,…": pairs,
}
"""By the metavar of a parameter, what it is completed by."""


def listed(names: Sequence[str], text: str, before: str = "") -> Items:
    """The last name of a list with commas in between; a space follows only where no further name is left."""
    head, comma, last = text.rpartition(",")
    given = {name.strip() for name in head.split(",")}
    left = [name for name in names if name not in given]
    kind = "part" if len(left) > 1 else "plain"
    return [CompletionItem(before + head + comma + name, type=kind) for name in left if name.startswith(last)]


def assigned(names: Sequence[str], text: str) -> Items:
    """The last name of a list like x=2,y=5, or the file of A=@matrix.npy."""
    *given, last = parts(text)
    head = text.removesuffix(last)
    name, equals, value = last.rpartition("=")
    if value.startswith("@"):
        return paths(f"{head}{name}{equals}@", value[1:])
    taken = {part.partition("=")[0].strip() for part in given}
    return [] if equals else [CompletionItem(f"{head}{name}=", type="part") for name in names
                              if name.startswith(last) and name not in taken]


def paths(head: str, text: str) -> Items:
    """Files and folders, where the shell does not see that there is one."""
    folder, start = os.path.split(text)
    found = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(os.path.expanduser(folder) or "."))
    return [CompletionItem(head + os.path.join(folder, name), type="part" if name.endswith("/") else "plain")
            for name in found if name.startswith(start) and (start or not name.startswith("."))]


def interface(context: click.Context) -> tuple[list[str], list[str]]:
    """The inputs and the outputs of the program that the whole command line names, wherever it stands there."""
    from adcli.lang.lower.frontend import parse_source
    said = context.command.make_context(context.info_name, list(context.obj.words), resilient_parsing=True).params
    program = said.get("program")
    path = None if program is None else os.path.expanduser(os.path.expandvars(program))
    file = path and (((asked := foreign(path, said.get("language"))) and asked.path) or path)
    if file is not None and not (os.path.isfile(file) and os.path.getsize(file) <= LONGEST):
        return [], []   # a pipe would be read here and be empty then
    found = parse_source(read_source(path, said.get("expressions") or (), said.get("language"), said.get("at") or ()))
    return [p.name for p in found.params], [r.name for r in found.results]


# ---------------------------------------------------------------- shells

class Shell(ShellComplete):
    """Answers to the script of a shell."""

    def complete(self) -> str:
        before, current, after = words(os.environ["COMP_LINE"], os.environ.get("COMP_REST", ""))
        self.ctx_args = {"obj": Line([*before[1:], current, *after], COMPLETED)}
        option = re.match("-[^=]*=", current)
        head = option[0] if option else ""
        found = self.get_completions(before, current)
        return "".join(f"{self.line(item, current, head + str(item.value))}\n" for item in found)

    def line(self, item: CompletionItem[str], current: str, word: str) -> str:
        """A completion for the script: the whole word with what is known of it."""
        return f"{item.type},{word}\t{item.help or ''}"


class Bash(Shell):
    """bash cuts words at = and : and replaces what follows: it is told only what is to be appended."""

    name = "bash"
    source_template = r"""_adcli_completion() {
    local kind rest adcli="${1:-adcli}" word="${2-${COMP_WORDS[COMP_CWORD]}}" cursor="${COMP_POINT:-${#COMP_LINE}}"
    COMPREPLY=()
    while IFS=, read -r kind rest; do
        case "$kind" in
            file) compopt -o default ;;
            part) compopt -o nospace; COMPREPLY+=("$word$rest") ;;
            plain) COMPREPLY+=("$word$rest") ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:cursor}" COMP_REST="${COMP_LINE:cursor}" \
        _ADCLI_COMPLETE=bash_complete "${adcli/#\~\//$HOME/}")
} 2>/dev/null

complete -o nosort -F _adcli_completion adcli
"""

    def line(self, item: CompletionItem[str], current: str, word: str) -> str:
        rest = word[len(current):]
        return f"{item.type},{rest if quoted(os.environ['COMP_LINE']) else SPECIAL.sub(BACKSLASHED, rest)}"


class Zsh(Shell):
    """zsh shows what is known of a word beside it."""

    name = "zsh"
    source_template = r"""#compdef adcli

_adcli_completion() {
    local kind value help
    local -a plain shown part
    while IFS=$'\t' read -r value help; do
        kind="${value%%,*}" value="${value#*,}"
        case "$kind" in
            file) compset -P '-*='; _files ;;
            part) part+=("$value") ;;
            plain) plain+=("$value"); shown+=("$value${help:+  -- $help}") ;;
        esac
    done < <(COMP_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" COMP_REST="$SUFFIX$QISUFFIX ${(j: :)words[CURRENT+1,-1]}" \
        _ADCLI_COMPLETE=zsh_complete ${~words[1]} 2>/dev/null)
    (( $#part )) && compadd -U -S '' -V part -a part
    (( $#plain )) && compadd -U -V plain -l -d shown -a plain
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _adcli_completion "$@"
else
    compdef _adcli_completion adcli
fi
"""


class Fish(Shell):
    """fish puts no space behind a word that ends in = or /; for a comma the user goes back by one."""

    name = "fish"
    source_template = r"""function _adcli_completion
    set -l line (commandline -p | string collect)
    set -l before (commandline -cp | string collect)
    set -l adcli (string replace -r '^~/' "$HOME/" (commandline -opc)[1])
    set -lx COMP_LINE $before
    set -lx COMP_REST (string sub -s (math (string length -- $before) + 1) -- $line)
    for item in (_ADCLI_COMPLETE=fish_complete $adcli 2>/dev/null)
        set -l found (string split -m 1 , -- $item)
        if test $found[1] = file
            set -l option (string match -r '^-[^=]*=' -- (commandline -ct))
            for path in (__fish_complete_path (string replace -- "$option" '' (commandline -ct)))
                echo "$option$path"
            end
        else
            echo $found[2]
        end
    end
end

complete --no-files --command adcli --arguments '(_adcli_completion)'
"""


SHELLS: dict[str, type[Shell]] = {shell.name: shell for shell in (Bash, Zsh, Fish)}


def words(before: str, after: str) -> tuple[list[str], str, list[str]]:
    """The words of a command before the cursor, without the command itself; what there is of the word at the cursor; and the
    words behind it."""
    _, *complete, current = split(before + CURSOR)
    return complete, current.removesuffix(CURSOR), split(CURSOR + after)[1:]


def split(line: str) -> list[str]:
    """The words of a line as a shell cuts them; a quote may still be open."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    found: list[str] = []
    with contextlib.suppress(ValueError):
        found.extend(iter(lexer.get_token, None))
        return found
    return [*found, lexer.token]


def quoted(line: str) -> bool:
    """Test for an open quote at the end of a line."""
    try:
        shlex.split(line + CURSOR)
    except ValueError:
        return True
    return False
