"""The process `adcli`, from the console script and as `python -m adcli`. Until the command stands, Ctrl-C ends it at once.

Nothing is imported before that but this file: while Python imports, an interrupt would be a traceback. What Python imports
before the first line of any program (the module `site`, which is slower for an editable install), and what the script that pip
writes imports before this file (older ones: `re`), is beyond our reach.
"""
import _signal as signal  # what `signal` wraps in enumerations, which take a hundredth of a start
import os
import sys


def main() -> None:
    """Entry point of the console script."""
    try:
        begin()
    except MemoryError:   # so little that the message for it could not be made
        try:
            os.write(2, b"adcli: error: not enough memory\n")
        finally:
            os._exit(2)


def begin() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:   # else the process is to ignore it, as under nohup
        signal.signal(signal.SIGINT, interrupted)
    try:
        from adcli.main import main as command
    except Exception as error:   # a file that cannot be read, or is half of one; no memory
        if sys.stderr is not None:
            print(f"adcli: error: the installation cannot be read: {error or type(error).__name__}", file=sys.stderr)
        sys.exit(2)
    command()


def interrupted(number: int, frame: object) -> None:
    """End the process as it ends later: an exception would be a traceback out of an import."""
    os._exit(130)


if __name__ == "__main__":   # python -m: the folder one is in is not where modules come from, as pip has it
    if not sys.flags.safe_path:
        del sys.path[0]
    main()
