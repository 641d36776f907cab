"""The verb about the compile cache: cache info, cache clear."""
from __future__ import annotations

import click

from adcli.codegen.machine import cache
from adcli.command.usage import Command, OneOf
from adcli.lang.ir.errors import AdError, one_line


@click.command("cache", cls=Command, examples=("adcli cache info", "adcli cache clear"))
@click.argument("action", required=False, default="info", type=OneOf("action", ("info", "clear")))
def command(action: str) -> int:
    """The cache of compiled programs: what it holds (info), or empty it (clear).

    It is the folder adcli in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache), or $ADCLI_CACHE_DIR if that is an
    absolute path. Cached code gives the same results to the last bit. --no-cache neither reads nor writes the cache.
    """
    store = cache.Store(cache.location(), cache.to_stderr)
    if action == "clear":
        try:
            removed = store.clear()
        except cache.Distrust as fault:
            raise AdError(str(fault), help="remove it yourself if it is yours") from None
        click.echo(f"removed {removed} {'entry' if removed == 1 else 'entries'}")
        return 0
    info = store.info()
    click.echo(f"folder: {one_line(info.folder or 'none')}\nentries: {info.entries}\n"
               f"size: {info.size} of {cache.BYTES_KEPT} bytes")
    if info.reason:
        click.echo(f"not used: {one_line(info.reason)}")
    return 0
