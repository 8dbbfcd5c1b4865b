"""`vcdebug capture`: read a cluster, write one file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output
from vcdebug.errors import CaptureError

if TYPE_CHECKING:
    from vcdebug.snapshot.snapshot import Snapshot

SUFFIXES = (".tar.gz", ".tgz", ".zip")


class Capture(Command):
    """Reads a live cluster; sends nothing but reads."""

    NAME = "capture"
    HELP = "read a cluster through its API, changing nothing, and write one snapshot file"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: CONTEXT-TIME.tar.gz)")
        parser.add_argument("--context", default="", help="kubeconfig context (default: the current one)")
        parser.add_argument("--kubeconfig", default="", metavar="FILE", help="kubeconfig file")
        parser.add_argument(
            "--redact", action="store_true", help="remove what a replay does not need: environment, commands, addresses"
        )
        parser.add_argument(
            "--scheduler-configmap",
            default="",
            metavar="NAMESPACE/NAME",
            help="the scheduler's ConfigMap (default: look for it)",
        )

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.capture import CaptureOptions, capture
        from vcdebug.cli.progress import capture_progress
        from vcdebug.snapshot.save import save

        target = Path(args.output) if args.output else None
        if target is not None:
            _check_target(target)
        options = CaptureOptions(
            context=args.context,
            kubeconfig=args.kubeconfig,
            scheduler_configmap=args.scheduler_configmap,
            redact=args.redact,
        )
        with capture_progress(output) as progress:
            snapshot = capture(options, progress)
        target = target or Path(_file_name(snapshot.name, snapshot.now))
        save(snapshot, target)
        _report(snapshot, target, output)
        return Outcome.DONE


def _check_target(target: Path) -> None:
    """Before the cluster is read, not after."""
    if target.is_dir():
        raise CaptureError("is a folder", f"name a file, such as {target / 'snapshot.tar.gz'}", str(target))
    if not target.name.endswith(SUFFIXES):
        raise CaptureError("unknown kind of archive", "the name must end in .tar.gz", str(target))
    if not target.absolute().parent.is_dir():
        raise CaptureError("no such folder", where=str(target.parent))


def _file_name(context: str, now: datetime) -> str:
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in context) or "cluster"
    return f"{name}-{now:%Y%m%d-%H%M%S}.tar.gz"


def _report(snapshot: Snapshot, target: Path, output: Output) -> None:
    for problem in snapshot.problems:
        output.narrate(problem.line())
    total = sum(len(manifests) for manifests in snapshot.objects.values())
    output.text(str(target))
    output.narrate(f"{total} objects in {target}; look at them with: vcdebug open {target}")
