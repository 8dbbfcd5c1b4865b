"""The commands: one line each, in the order in which --help shows them."""

from vcdebug.cli.commands.base import Command
from vcdebug.framework.registry import resolve

COMMANDS: tuple[type[Command], ...] = tuple(
    resolve(f"vcdebug.cli.commands.{reference}")
    for reference in (
        "open:Open",
        "serve:Serve",
        "run:Run",
        "explain:Explain",
        "diff:Diff",
        "submit:Submit",
        "ask:Ask",
        "expect:Expect",
        "odds:Odds",
        "inspect:Inspect",
        "check:Check",
        "script:Script",
        "report:Report",
        "capture:Capture",
        "redact:Redact",
        "verify:Verify",
        "cache:Cache",
        "completion:Completion",
    )
)
