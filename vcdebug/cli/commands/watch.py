"""`vcdebug watch`: follows a cluster for days, explains Pending jobs, and keeps the relevant captures."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import join_names
from vcdebug.cli.arguments import add_options, parse_seconds, positive_number
from vcdebug.cli.commands import Command, CommandOutcome, capture
from vcdebug.cli.output import Output
from vcdebug.errors import missing_extra

if TYPE_CHECKING:
    from vcdebug.conformance import ClusterReader
    from vcdebug.conformance.cluster_watch import ClusterWatch, WatchedCycle
    from vcdebug.snapshot.saved_files import CaptureHistory

CAPTURE, EXEC = "capture", "exec "
MAX_COMMAND_SECONDS = 60.0


class WatchCommand(Command):
    """Captures a cluster at intervals, with get and list requests only."""

    HELP = "Follow a cluster: print Pending workloads by cause, keep captures of changes, serve Prometheus metrics"
    EXAMPLES = ("watch --metrics :9100", "watch --on 'team/train is Pending' --do 'exec notify-send Pending'")
    EXITS = "Exit status: 0 stopped by Ctrl-C, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(
            parser,
            f"""
            -n, --namespace N  only workloads of namespace N (default: all)
            --metrics ADDRESS  serve Prometheus metrics at HOST:PORT; :PORT is this machine only
            --on EXPR          run --do when EXPR begins to hold; the syntax is that of capture --until
            --do WHAT          with --on: capture, or 'exec CMD' with VCDEBUG_CAPTURE and VCDEBUG_REASON in its
                               environment (default: capture)
            --keep DIR         folder for captures (default: captures)
            --most N           number of captures to keep (default: {capture.KEPT_CAPTURES})
            --every TIME       interval between captures (default: 10s)
            --release VERSION  Volcano release of the scheduler (default: from the tag of its image)
            """,
            {
                "--namespace": {"default": ""},
                "--do": {"type": _parse_watch_action, "default": CAPTURE},
                "--most": {"type": positive_number, "default": capture.KEPT_CAPTURES},
                "--every": {"type": parse_seconds, "default": capture.CAPTURE_SECONDS},
                "--release": {"default": ""},
            },
        )
        capture.add_cluster_arguments(parser)

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.conformance import ClusterReader

        with suppress(KeyboardInterrupt):
            watch_cluster(args, ClusterReader(capture.cluster_options(args)), output)
        return CommandOutcome.DONE


def watch_cluster(
    args: Namespace, reader: ClusterReader, output: Output, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Capture, explain and act in a loop that only an exception ends. `sleep` is replaced in tests."""
    from vcdebug.conformance.cluster_watch import ClusterWatch
    from vcdebug.debugger.expectations import parse_until
    from vcdebug.snapshot.saved_files import CaptureHistory

    watch = ClusterWatch(reader, args.namespace, parse_until(args.on) if args.on else None)
    history = CaptureHistory(capture.captures_folder(args.keep), args.most)
    release, written_lines = "", tuple[str, ...]()
    with _serving_metrics(args.metrics, watch, output) as note_reading:
        while True:
            snapshot = capture.capture_with_retries(reader.capture, args.every, output, sleep)
            note_reading()
            cycle = watch.judge_capture(snapshot)
            # The log, which may cover days, has only changes since the last reading.
            changed = [] if (trust := snapshot.release.describe_trust()) == release else [trust]
            for line in (*changed, *(cycle.lines if cycle.lines != written_lines else ())):
                output.write_text(f"{snapshot.now:%Y-%m-%dT%H:%M:%SZ} {line}")
            output.flush()
            release, written_lines = trust, cycle.lines
            _act_on(cycle, history, args.do, output)
            sleep(args.every)


@contextmanager
def _serving_metrics(address: str | None, watch: ClusterWatch, output: Output) -> Iterator[Callable[[], None]]:
    """Serve metrics if an address is given; yields a function to call after each reading."""
    if not address:
        yield lambda: None
        return
    try:
        from vcdebug.cli.metrics_server import serving_metrics
    except ImportError as error:
        raise missing_extra("watch", "--metrics") from error
    with serving_metrics(watch.figures, address) as (collector, port):
        output.write_notice(f"metrics at port {port}")
        yield collector.note_reading


def _act_on(cycle: WatchedCycle, history: CaptureHistory, action: str, output: Output) -> None:
    """Keep captures for which there is a reason, and run the user's command when the condition is first met."""
    files = [history.add_capture(snapshot) for snapshot in cycle.captures_to_keep]
    if not files:
        return
    reasons = "; ".join([*cycle.reasons, *([cycle.met_condition] if cycle.met_condition else [])])
    output.write_notice(f"kept {join_names([file.name for file in files])}: {reasons}")
    if cycle.met_condition and action != CAPTURE:
        _run_command(action.removeprefix(EXEC), files[-1], cycle.met_condition, output)


def _run_command(command: str, file: Path, reason: str, output: Output) -> None:
    """Run the user's command without a shell; a failure is printed, and watching goes on."""
    environment = {**os.environ, "VCDEBUG_CAPTURE": str(file.absolute()), "VCDEBUG_REASON": reason}
    try:
        process = subprocess.run(shlex.split(command), env=environment, timeout=MAX_COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        output.write_notice(f"{command}: {error}")
        return
    if process.returncode:
        output.write_notice(f"{command}: exit status {process.returncode}")


def _parse_watch_action(text: str) -> str:
    if text == CAPTURE or (text.startswith(EXEC) and _has_words(text.removeprefix(EXEC))):
        return text
    raise ArgumentTypeError(f"{text!r} is neither capture nor 'exec CMD'")


def _has_words(command: str) -> bool:
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False
