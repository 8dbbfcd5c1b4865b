"""`vcdebug open`: starts the terminal debugger."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.capture import add_cluster_arguments, announce_capture, cluster_options
from vcdebug.cli.output import Output, capture_progress
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.manifest import JsonDict

if TYPE_CHECKING:
    from vcdebug.capture import CaptureOptions
    from vcdebug.debugger.captures import CaptureSeries, NewCapture
    from vcdebug.snapshot.saved_files import CaptureHistory


CYCLE_SECONDS = 1.0
"""Seconds between two cycles of a scheduler."""


class OpenCommand(Command):
    """Opens a snapshot, the chooser, or a capture of a live cluster."""

    HELP = "Open the debugger on a snapshot, or on a live cluster with --context; without either, show a chooser"
    EXAMPLES = (
        "open preempt-blocked-by-gang",
        "open incident.tar.gz --job team/train --break 'victim if plugin == \"gang\"'",
        "open --context prod --follow",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("snapshot", metavar="SNAPSHOT", nargs="?", help=arguments.SNAPSHOT_HELP)
        arguments.add_shared_options(parser, "--complete", "--release")
        add_cluster_arguments(parser)
        arguments.add_options(
            parser,
            """
            --follow TIME     capture the cluster again every TIME (default: 1s)
            --history FOLDER  folder for captures of the cluster (default: in the folder of saved sessions)
            --goto N          start at event N
            --job JOB         start at the first event about JOB
            --break WORDS     set a breakpoint, for example 'victim if plugin == "gang"'; repeatable
            --panel NAME      start with panel NAME focused, for example jobs; key P lists the names
            --filter TEXT     filter the rows of --panel (default: of the panel Jobs)
            --list            print the bundled snapshots and exit
            --fresh           ignore the saved session
            --theme NAME      dark, light, ansi or ansi-light (16 colours) (default: that of the settings), or another
                              one of Textual, such as nord
            --no-mouse        disable mouse support
            --config FILE     file of settings (default: the one named in docs/keys.md)
            --print-config    print the default settings and exit
            """,
            {
                "--follow": {"nargs": "?", "const": CYCLE_SECONDS, "type": arguments.parse_seconds},
                "--goto": {"type": int},
                "--break": {"dest": "breaks", "action": "append", "default": []},
            },
        )
        arguments.add_shared_options(parser, "--source", "--max-events", "--max-memory", "--extender-url", "--no-cache")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:

        # getattr: `vcdebug` without a command runs this one with arguments that were never added.
        if getattr(args, "print_config", False):
            from vcdebug.tui.config import example_config

            output.write_text(example_config())
            return CommandOutcome.DONE
        if getattr(args, "list", False):
            from vcdebug.cli.render import write_blocks
            from vcdebug.snapshot.sources import list_bundled
            from vcdebug.views.document import make_listing

            write_blocks(
                [make_listing(("snapshot", "subject"), [(one.name, one.title) for one in list_bundled()])], output
            )
            return CommandOutcome.DONE
        live = is_live_capture(args)
        word = arguments.snapshot_source(args.snapshot) if getattr(args, "snapshot", None) else None
        if not is_in_browser() and not (output.is_terminal and output.err.isatty()):
            raise VcdebugError("the debugger needs a terminal", "without one, use run, explain or inspect")
        ask_extender = arguments.extender_client(getattr(args, "extender_url", None))
        from vcdebug.tui.app import EXIT_INTERRUPTED, run_tui  # Textual is imported after all checks
        from vcdebug.tui.config import read_settings, require_theme
        from vcdebug.tui.session_state import state_folder
        from vcdebug.tui.worker import Start

        theme = getattr(args, "theme", None)
        settings = read_settings(Path(args.config) if getattr(args, "config", None) else None).with_flags(
            theme=theme and require_theme(theme), mouse=False if getattr(args, "no_mouse", False) else None
        )
        names = ("goto", "job", "breaks", "complete", "release", "panel", "filter", "fresh", "follow")
        options: JsonDict = {name: value for name in names if (value := getattr(args, name, None)) is not None}
        if live:
            word, options["captures"] = first_capture(args, cluster_options(args), state_folder(), output)
        options.update(ask_extender=ask_extender, limits=arguments.recording_limits(args))
        start = None if word is None else replace(Start.from_word(str(word)), **options)
        code = run_tui(start, settings, arguments.open_cache(args), arguments.source_reader(args))
        return CommandOutcome.INTERRUPTED if code == EXIT_INTERRUPTED else CommandOutcome.DONE


def is_live_capture(args: Namespace) -> bool:
    """Whether the arguments name a cluster to capture; raises VcdebugError if they also name a snapshot."""
    is_live = any(getattr(args, name, None) for name in ("context", "kubeconfig", "follow"))
    if is_live and getattr(args, "snapshot", None):
        raise VcdebugError(
            "SNAPSHOT cannot be combined with --context, --kubeconfig or --follow",
            "name either a snapshot or a cluster",
        )
    return is_live


def is_in_browser() -> bool:
    """Whether `vcdebug serve` started this process, so that its screen is a browser."""
    return bool(os.environ.get("TEXTUAL_DRIVER"))


# Captures of a live cluster.

CAPTURES_FOLDER = "captures"


def first_capture(args: Namespace, options: CaptureOptions, state: Path, output: Output) -> tuple[Path, CaptureSeries]:
    """The file of the first capture, and the series that takes further ones."""
    from vcdebug.capture import capture_cluster
    from vcdebug.debugger.captures import CaptureSeries
    from vcdebug.snapshot.loader import load_snapshot
    from vcdebug.snapshot.saved_files import CaptureHistory

    with capture_progress(output) as progress:
        first = capture_cluster(options, progress, announce=partial(announce_capture, output))
    history = CaptureHistory(_history_folder(args, first.name, state))
    file = history.add_capture(first)
    return file, CaptureSeries(partial(_capture_again, options, history), [], [partial(load_snapshot, file)])


def _capture_again(options: CaptureOptions, history: CaptureHistory) -> NewCapture:
    """Capture the cluster once more and store the file in the history."""
    from vcdebug.capture import capture_cluster
    from vcdebug.debugger.captures import NewCapture
    from vcdebug.snapshot.loader import load_snapshot

    snapshot = capture_cluster(options)
    return NewCapture(snapshot, partial(load_snapshot, history.add_capture(snapshot)))


def _history_folder(args: Namespace, name: str, state: Path) -> Path:
    """The folder of --history, else one per cluster below the state folder."""
    if getattr(args, "history", None):
        return Path(args.history)
    # The name of a context may be a URL or a path.
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
    return state / CAPTURES_FOLDER / (safe or "cluster")
