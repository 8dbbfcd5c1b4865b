"""The commands: one line each, in the order in which --help shows them."""

from vcdebug.cli.commands.ask import Ask
from vcdebug.cli.commands.base import Command
from vcdebug.cli.commands.capture import Capture
from vcdebug.cli.commands.check import Check
from vcdebug.cli.commands.completion import Completion
from vcdebug.cli.commands.diff import Diff
from vcdebug.cli.commands.expect import Expect
from vcdebug.cli.commands.explain import Explain
from vcdebug.cli.commands.inspect import Inspect
from vcdebug.cli.commands.odds import Odds
from vcdebug.cli.commands.open import Open
from vcdebug.cli.commands.redact import Redact
from vcdebug.cli.commands.report import Report
from vcdebug.cli.commands.run import Run
from vcdebug.cli.commands.script import Script
from vcdebug.cli.commands.serve import Serve
from vcdebug.cli.commands.submit import Submit
from vcdebug.cli.commands.verify import Verify

COMMANDS: tuple[type[Command], ...] = (
    Open,
    Serve,
    Run,
    Explain,
    Diff,
    Submit,
    Ask,
    Expect,
    Odds,
    Inspect,
    Check,
    Script,
    Report,
    Capture,
    Redact,
    Verify,
    Completion,
)
