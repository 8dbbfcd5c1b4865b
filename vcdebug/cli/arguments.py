"""Arguments that several commands share: a row each, and what the parsed ones come to."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vcdebug.cli.output import Output
from vcdebug.errors import ConfigError, SnapshotError, VcdebugError
from vcdebug.snapshot.bundled import resolve_snapshot_path
from vcdebug.snapshot.snapshot_folders import find_only_snapshot

if TYPE_CHECKING:
    from vcdebug.files.recording_files import RecordingCache
    from vcdebug.framework.replay_options import AskExtender, SizeBound
    from vcdebug.recording.recording import Recording
    from vcdebug.snapshot.sources import Source
    from vcdebug.whatif.next_cycle import BetweenCycles


# Where the command line keeps recordings, and for which replays it does.

CACHE_VARIABLE: Final = "VCDEBUG_CACHE"
OFF_WORDS: Final = ("off", "no", "0")


class CachedRecordings:
    """Looks a recording up before its cycle is run, and keeps it once the answer is out."""

    def __init__(self, kept: RecordingCache, later: Callable[[Callable[[], object]], object]) -> None:
        self._kept = kept
        self._later = later

    def find_recording(self, source: Source, **options: object) -> tuple[str | None, Recording | None]:
        """What a recording of the source would be kept as, and the one that is."""
        from vcdebug.files.recording_files import cache_key

        key = cache_key(source, options)
        return key, None if key is None else self._kept.find_recording(key)

    def store_later(self, key: str, recording: Recording) -> None:
        """Keep it when everything else is done."""
        self._later(lambda: self._kept.cache_recording(key, recording))


def cached_recordings(args: Namespace, output: Output) -> CachedRecordings | None:
    """None where no recording is to be kept, or other bounds than the usual ones are asked for."""
    bounded = getattr(args, "max_events", None) or getattr(args, "max_memory", None)
    kept = None if bounded else open_cache(args)
    return None if kept is None else CachedRecordings(kept, output.afterwards.append)


def open_cache(args: Namespace | None = None) -> RecordingCache | None:
    """The folder of kept recordings; None where there is to be none."""
    from vcdebug.files.recording_files import DEFAULT_MEGABYTES, RecordingCache

    said = os.environ.get(CACHE_VARIABLE, "").strip()
    if said.lower() in OFF_WORDS or getattr(args, "no_cache", False):
        return None
    if said and not said.isdecimal():
        raise ConfigError(f"{said!r} is no number of megabytes", "off keeps none", CACHE_VARIABLE)
    return RecordingCache(cache_folder() / "recordings", int(said or DEFAULT_MEGABYTES))


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/vcdebug`, or where the platform has such folders."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "vcdebug"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vcdebug"
    local = os.environ.get("LOCALAPPDATA", "")
    return Path(local) / "vcdebug" if local else Path.home() / ".cache" / "vcdebug"


# From the word on the command line to the place where the snapshot lies.

STDIN = "-"


def snapshot_source(word: str) -> str | Path:
    """A path that exists, standard input, or the folder of a bundled snapshot."""
    if word == STDIN:
        return STDIN
    if not word:
        raise SnapshotError("the name of the snapshot is empty")
    return resolve_snapshot_path(word)


def one_snapshot_source(word: str) -> str | Path:
    """The same for whoever wants one snapshot: raises SnapshotError for a folder of several."""
    where = snapshot_source(word)
    return find_only_snapshot(where) if isinstance(where, Path) and where.is_dir() else where


SNAPSHOT_HELP: Final = (
    "a folder, .tar.gz, .zip or file of manifests, - for standard input, the name of a bundled snapshot, or a "
    "recording that run --save wrote"
)
DEFAULT_BUDGET_SECONDS: Final = 20
"""Seconds after the command's start from which on no further remedies are tried."""


def positive_number(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _argument_row(*flags: str, **how: Any) -> tuple[tuple[str, ...], Mapping[str, Any]]:  # Any: what argparse takes
    return flags, how


SHARED_ARGUMENTS: Final = {
    "snapshot": _argument_row("snapshot", metavar="SNAPSHOT", help=SNAPSHOT_HELP),
    "release": _argument_row(
        "--release",
        metavar="VERSION",
        help="replay the scheduler of this release, such as v1.14.4, instead of the one that the snapshot names",
    ),
    "complete": _argument_row(
        "--complete",
        action="store_true",
        default=None,
        help="fill in what a server would have filled in hand-written manifests: uid, phase, namespace, defaults",
    ),
    "edits": _argument_row(
        "--set",
        metavar="EDIT",
        dest="edits",
        action="append",
        default=[],
        help="change something first: KIND/[NAMESPACE/]NAME:PATH=VALUE, conf:PATH=VALUE, flag:NAME=VALUE, "
        "chance:NAME=VALUE, replay:NAME=VALUE, answer:EVENT=VALUE, PATH- to remove a field, :- to remove an object, "
        "@FILE for a file of edits; may be repeated",
    ),
    "extender": _argument_row(
        "--extender-url",
        metavar="URL",
        help="ask the extender's webhook at this address what extender.json does not answer; otherwise unknown",
    ),
    "max-events": _argument_row(
        "--max-events",
        metavar="N",
        type=positive_number,
        help="stop the replay after so many events; 5 million by default",
    ),
    "max-memory": _argument_row(
        "--max-memory",
        metavar="MB",
        type=positive_number,
        help="or once the recording is about this large; 8000 by default",
    ),
    "no-cache": _argument_row(
        "--no-cache",
        action="store_true",
        help=f"run the cycle even if its recording is kept, and keep none; {CACHE_VARIABLE}=off does the same for good",
    ),
    "json": _argument_row("--json", action="store_true", help="write the answer as one JSON document"),
    "prove": _argument_row(
        "--prove",
        action="store_true",
        help="carry remedies out on the snapshot, replay them and list what works, the least harmful first",
    ),
    "budget": _argument_row(
        "--budget",
        metavar="SECONDS",
        type=positive_number,
        default=DEFAULT_BUDGET_SECONDS,
        help=f"for --prove: stop so long after the command began; {DEFAULT_BUDGET_SECONDS} by default",
    ),
}


def add_shared_arguments(parser: ArgumentParser, *names: str, scope: str = "") -> None:
    """Rows of the table by name, in this order; the scope before their help says what they are for."""
    for name in names:
        flags, how = SHARED_ARGUMENTS[name]
        parser.add_argument(*flags, **{**how, "help": f"{scope}{how['help']}"})


def add_workers(parser: ArgumentParser, scope: str = "") -> None:
    """Who does the runs, where there are many."""
    who = parser.add_mutually_exclusive_group()
    who.add_argument(
        "-j", "--workers", metavar="N", type=positive_number, help=f"{scope}worker processes; one per processor"
    )
    who.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"{scope}a Dask scheduler, such as tcp://host:8786, whose workers do the runs; needs the extra dask",
    )


def snapshot_options(args: Namespace) -> Iterator[str]:
    """What the snapshot is read and changed with, to be typed once more."""
    if args.complete:
        yield "--complete"
    if args.release:
        yield from ("--release", args.release)
    for edit in args.edits:
        yield from ("--set", edit)
    if getattr(args, "extender_url", None):
        yield from ("--extender-url", args.extender_url)


def extender_client(url: str | None) -> AskExtender | None:
    """The webhook that is named, if any."""
    if url is None:
        return None
    from vcdebug.cli.extender_client import ExtenderClient

    return ExtenderClient(url)


def recording_limits(args: Namespace) -> tuple[int, int]:
    """Events and megabytes that one recording may hold."""
    from vcdebug.framework.replay_options import MAX_EVENTS, MAX_MEGABYTES

    events, megabytes = getattr(args, "max_events", None), getattr(args, "max_memory", None)
    return events or MAX_EVENTS, megabytes or MAX_MEGABYTES


def recording_bound(args: Namespace) -> SizeBound:
    """The same as a bound."""
    from vcdebug.framework.replay_options import SizeBound

    return SizeBound(*recording_limits(args))


# The arguments of commands that run several cycles.

FINISH_RULES: Final = ("none", "thirds")


def add_cycle_arguments(parser: ArgumentParser, more: str = "") -> None:
    """Further cycles, each from what the one before left."""
    parser.add_argument(
        "--cycles",
        metavar="N",
        type=positive_number,
        default=1,
        help=f"run so many cycles of one scheduler process, one after another{more}",
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=_parse_time_between,
        help="time between two cycles, such as 31s or 1m30s; 1s by default",
    )
    parser.add_argument(
        "--recreate", action="store_true", help="between cycles a controller makes a new pod for each that has left"
    )
    parser.add_argument(
        "--finish",
        metavar="RULE",
        choices=FINISH_RULES,
        help="which running pods succeed between cycles: none, the default, or thirds, every third by name in turn",
    )
    parser.add_argument(
        "--arrivals",
        metavar="FILE",
        help='objects that arrive between cycles: {"2": [manifest, ...]} before cycle 2, and so on',
    )


def _parse_time_between(text: str) -> timedelta:
    """Seconds, or a duration as Go writes it."""
    from vcdebug.whatif.between_cycles import parse_interval

    found = parse_interval(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no time that passes, such as 31s or 1m30s")
    return found


def check_cycle_arguments(args: Namespace) -> None:
    """What is said about the time between cycles needs more than one; raises VcdebugError."""
    between = ("every", "recreate", "finish", "arrivals")
    given = [f"--{name}" for name in between if getattr(args, name) not in (None, False)]
    if args.cycles == 1 and given:
        raise VcdebugError(f"{given[0]} is about what happens between cycles", "give --cycles N")


def between_cycles(args: Namespace) -> BetweenCycles:
    """What happens between cycles, as the arguments say."""
    from vcdebug.snapshot.gathered_objects import read_arrivals
    from vcdebug.whatif.next_cycle import ONE_SECOND, BetweenCycles

    return BetweenCycles(
        every=args.every or ONE_SECOND,
        recreate=args.recreate,
        finish=args.finish or "none",
        arrivals={} if args.arrivals is None else read_arrivals(Path(args.arrivals)),
    )
