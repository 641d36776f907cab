"""How the numbers of an answer are written: the options that the verbs of this room share."""
from __future__ import annotations

from adcli.command.options import Decorator, option, together
from adcli.command.usage import WRITTEN

number_options: Decorator = together(
    option(WRITTEN, "--fmt", metavar="TEMPLATE", help="printf template for numbers, such as %.6g."),
    option(WRITTEN, "--hex", "hexadecimal", is_flag=True, help="Write numbers exactly, in hexadecimal."),
)
"""--fmt and --hex."""
