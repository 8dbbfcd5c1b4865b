"""What a command is: a name, its arguments, and one method that answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar

from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from vcdebug.framework.bound import Bound
    from vcdebug.framework.webhook import AskExtender


class Outcome(Enum):
    """How a command ended; `cli/main.py` makes an exit code of it."""

    DONE = auto()
    UNSCHEDULED = auto()
    """The job that was asked about stays unscheduled."""
    DIFFERENT = auto()
    """Two runs decided differently."""
    PROBLEMS = auto()
    """The snapshot has problems."""
    FAILED = auto()
    """Some of several runs failed; the others are reported."""
    INTERRUPTED = auto()
    """Somebody had enough; what was done until then is reported."""


class Command(ABC):
    """One subcommand. Engine rooms are imported inside `execute`, so that help stays quick."""

    NAME: ClassVar[str]
    HELP: ClassVar[str]
    """One sentence, shown by --help."""
    EXITS: ClassVar[str] = "exit status: 0 done, 1 error"

    @abstractmethod
    def configure(self, parser: ArgumentParser) -> None:
        """Add the command's arguments."""

    @abstractmethod
    def execute(self, args: Namespace, output: Output) -> Outcome:
        """Do it."""


SNAPSHOT_HELP = (
    "a folder, .tar.gz, .zip or file of manifests, - for standard input, the name of a bundled snapshot, or a "
    "recording that run --save wrote"
)


def add_snapshot(parser: ArgumentParser) -> None:
    """The argument that most commands begin with."""
    parser.add_argument("snapshot", metavar="SNAPSHOT", help=SNAPSHOT_HELP)
    add_complete(parser)
    add_release(parser)


RELEASE_HELP = "replay the scheduler of this release, such as v1.14.4, instead of the one that the snapshot names"


def add_release(parser: ArgumentParser, scope: str = "") -> None:
    """Whose rules decide."""
    parser.add_argument("--release", metavar="VERSION", help=scope + RELEASE_HELP)


def add_complete(parser: ArgumentParser) -> None:
    """For manifests that were written by hand."""
    parser.add_argument(
        "--complete",
        action="store_true",
        default=None,
        help="fill in what a server would have filled in hand-written manifests: uid, phase, namespace, defaults",
    )


def add_edits(parser: ArgumentParser, scope: str = "") -> None:
    """What-if edits, made before the cycle runs."""
    parser.add_argument(
        "--set",
        metavar="EDIT",
        dest="edits",
        action="append",
        default=[],
        help=f"{scope}change something first: KIND/[NAMESPACE/]NAME:PATH=VALUE, conf:PATH=VALUE, flag:NAME=VALUE, "
        "chance:NAME=VALUE, replay:NAME=VALUE, answer:EVENT=VALUE, PATH- to remove a field, :- to remove an object, "
        "@FILE for a file of edits; may be repeated",
    )


def add_extender(parser: ArgumentParser) -> None:
    """Where the plugin extender's webhook may be asked."""
    parser.add_argument(
        "--extender-url",
        metavar="URL",
        help="ask the extender's webhook at this address what extender.json does not answer; otherwise unknown",
    )


def extender_client(url: str | None) -> AskExtender | None:
    """The webhook that add_extender's argument names, if any."""
    if url is None:
        return None
    from vcdebug.cli.extender_client import ExtenderClient

    return ExtenderClient(url)


def add_bound(parser: ArgumentParser) -> None:
    """How much one recording may hold."""
    parser.add_argument(
        "--max-events", metavar="N", type=positive, help="stop the replay after so many events; 5 million by default"
    )
    parser.add_argument(
        "--max-memory", metavar="MB", type=positive, help="or once the recording is about this large; 8000 by default"
    )


def limits_of(args: Namespace) -> tuple[int, int]:
    """Events and megabytes that add_bound's arguments ask for."""
    from vcdebug.framework.bound import MAX_EVENTS, MAX_MEGABYTES

    events, megabytes = getattr(args, "max_events", None), getattr(args, "max_memory", None)
    return events or MAX_EVENTS, megabytes or MAX_MEGABYTES


def bound_of(args: Namespace) -> Bound:
    """The bound that add_bound's arguments ask for."""
    from vcdebug.framework.bound import Bound

    return Bound(*limits_of(args))


def add_json(parser: ArgumentParser) -> None:
    """The switch for programs."""
    parser.add_argument("--json", action="store_true", help="write the answer as one JSON document")


def add_workers(parser: ArgumentParser, scope: str = "") -> None:
    """Who does the runs, where there are many."""
    who = parser.add_mutually_exclusive_group()
    who.add_argument("-j", "--workers", metavar="N", type=positive, help=f"{scope}worker processes; one per processor")
    who.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"{scope}a Dask scheduler, such as tcp://host:8786, whose workers do the runs; needs the extra dask",
    )


BUDGET = 20
"""Seconds after the command's start from which on no further remedies are tried."""


def add_proof(parser: ArgumentParser) -> None:
    """Remedies that are carried out."""
    parser.add_argument(
        "--prove",
        action="store_true",
        help="carry remedies out on the snapshot, replay them and list what works, the least harmful first",
    )
    parser.add_argument(
        "--budget",
        metavar="SECONDS",
        type=positive,
        default=BUDGET,
        help=f"for --prove: stop so long after the command began; {BUDGET} by default",
    )


def positive(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)
