"""The commands: one line each, in the order in which --help shows them; imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vcdebug.cli.commands.base import Command
from vcdebug.framework.registry import resolve

COMMANDS: Final = {
    "open": "vcdebug.cli.commands.open:Open",
    "serve": "vcdebug.cli.commands.serve:Serve",
    "run": "vcdebug.cli.commands.run:Run",
    "explain": "vcdebug.cli.commands.explain:Explain",
    "diff": "vcdebug.cli.commands.diff:Diff",
    "submit": "vcdebug.cli.commands.submit:Submit",
    "ask": "vcdebug.cli.commands.ask:Ask",
    "expect": "vcdebug.cli.commands.expect:Expect",
    "odds": "vcdebug.cli.commands.odds:Odds",
    "inspect": "vcdebug.cli.commands.inspect:Inspect",
    "check": "vcdebug.cli.commands.check:Check",
    "script": "vcdebug.cli.commands.script:Script",
    "report": "vcdebug.cli.commands.report:Report",
    "capture": "vcdebug.cli.commands.capture:Capture",
    "redact": "vcdebug.cli.commands.redact:Redact",
    "verify": "vcdebug.cli.commands.verify:Verify",
    "cache": "vcdebug.cli.commands.cache:Cache",
    "completion": "vcdebug.cli.commands.completion:Completion",
}


def every_command() -> dict[str, Command]:
    """All of them by name."""
    return {name: _command(name) for name in COMMANDS}


def commands_for(words: Sequence[str]) -> dict[str, Command]:
    """The one that a command line begins with; all of them where it begins with none."""
    name = next(iter(words), "")
    return {name: _command(name)} if name in COMMANDS else every_command()


def _command(name: str) -> Command:
    command: Command = resolve(COMMANDS[name])()
    return command
