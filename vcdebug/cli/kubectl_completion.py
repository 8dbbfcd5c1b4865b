"""The entry point `kubectl_complete-vcdebug`: kubectl asks it what may follow `kubectl vcdebug`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vcdebug.cli.commands import load_all_commands
from vcdebug.cli.commands.completion import list_candidates
from vcdebug.cli.output import Output

DIRECTIVE = ":0"
"""Files may stand there too."""


def main(argv: Sequence[str] | None = None) -> int:
    """One candidate a line, and then what the shell makes of them."""
    commands = load_all_commands()
    words = list(sys.argv[1:] if argv is None else argv)
    Output().write_text("\n".join([*list_candidates(words, commands), DIRECTIVE]))
    return 0
