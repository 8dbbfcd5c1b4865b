"""Arguments that several commands share, and the objects made from them: cache, source, bounds."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from vcdebug.cli.output import Output
from vcdebug.errors import ConfigError, SnapshotError, VcdebugError
from vcdebug.snapshot.sources import Source, find_only_snapshot, resolve_snapshot_path

if TYPE_CHECKING:
    from vcdebug.files.recording_files import RecordingCache
    from vcdebug.framework.replay_options import AskExtender, SizeBound
    from vcdebug.recording.recording import Recording
    from vcdebug.whatif.next_cycle import BetweenCycles


# The cache of recordings.

CACHE_VARIABLE: Final = "VCDEBUG_CACHE"
SOURCE_VARIABLE: Final = "VCDEBUG_SOURCE"
OFF_WORDS: Final = ("off", "no", "0")


class CachedRecordings:
    """Finds recordings in the cache before a replay, and stores new ones after the answer is written."""

    def __init__(self, cache: RecordingCache, later: Callable[[Callable[[], object]], object]) -> None:
        self._cache = cache
        self._open_cache = later

    def find_recording(self, source: Source, **options: object) -> tuple[str | None, Recording | None]:
        """The cache key of a source under these options, and its cached recording; each may be None."""
        from vcdebug.files.recording_files import cache_key

        key = cache_key(source, options)
        return key, None if key is None else self._cache.find_recording(key)

    def store_later(self, key: str, recording: Recording) -> None:
        """Store the recording when the answer is written."""
        self._open_cache(lambda: self._cache.cache_recording(key, recording))


def cached_recordings(args: Namespace, output: Output) -> CachedRecordings | None:
    """The cache that the arguments choose; None if it is off, or if bounds may cut recordings off."""
    bounded = getattr(args, "max_events", None) or getattr(args, "max_memory", None)
    cache = None if bounded else open_cache(args)
    return None if cache is None else CachedRecordings(cache, output.exit_callbacks.append)


def open_cache(args: Namespace | None = None) -> RecordingCache | None:
    """The cache of recordings; None where it is off. Raises ConfigError for a size that is no number."""
    from vcdebug.files.recording_files import DEFAULT_MEGABYTES, RecordingCache

    size_text = os.environ.get(CACHE_VARIABLE, "").strip()
    if size_text.lower() in OFF_WORDS or getattr(args, "no_cache", False):
        return None
    if size_text and not size_text.isdecimal():
        raise ConfigError(f"{size_text!r} is not a size in MB", "give a number, or off", CACHE_VARIABLE)
    return RecordingCache(cache_folder() / "recordings", int(size_text or DEFAULT_MEGABYTES))


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/vcdebug`, or where the platform has such folders."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "vcdebug"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vcdebug"
    local = os.environ.get("LOCALAPPDATA", "")
    return Path(local) / "vcdebug" if local else Path.home() / ".cache" / "vcdebug"


# Snapshots by their names.

STDIN = "-"


def snapshot_source(word: str) -> str | Path:
    """The path or bundled snapshot that the word names, or `-`; raises SnapshotError for none."""
    if word == STDIN:
        return STDIN
    if not word:
        raise SnapshotError("the name of the snapshot is empty")
    return resolve_snapshot_path(word)


def single_snapshot_source(word: str) -> str | Path:
    """Like `snapshot_source`, but raises SnapshotError for a folder of several snapshots."""
    source = snapshot_source(word)
    return find_only_snapshot(source) if isinstance(source, Path) and source.is_dir() else source


SNAPSHOT_HELP: Final = (
    "folder, .tar.gz, .zip or manifest file; - for standard input; name of a bundled snapshot; or "
    "recording of run --save"
)
DEFAULT_BUDGET_SECONDS: Final = 10
"""Seconds after the start of the command at which --prove stops."""


def positive_number(text: str) -> int:
    """Parses a whole number from 1 on; raises ArgumentTypeError for other texts."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def parse_duration(text: str) -> timedelta:
    """Parse a duration in Go's form or a number of seconds; raises ArgumentTypeError for other texts."""
    from vcdebug.whatif.next_cycle import parse_interval

    interval = parse_interval(text)
    if interval is None:
        raise ArgumentTypeError(f"{text!r} is not a duration, for example 90s or 1m30s")
    return interval


def parse_seconds(text: str) -> float:
    """The seconds of a duration; raises ArgumentTypeError."""
    return parse_duration(text).total_seconds()


# Options as `--help` lists them.

_OPTION_ROW: Final = re.compile(r"(?m)^(\S.*?)(?:  +|\n +)(\S.*(?:\n +\S.*)*)")
OptionExtras = Mapping[str, Mapping[str, Any]]  # Any: what argparse takes
"""An option, or the word of a positional argument → what argparse takes besides: type, default, dest."""


class TakesArguments(Protocol):
    """A parser, or a group of its options."""

    def add_argument(self, *names: str, **how: Any) -> object:  # Any: what argparse takes
        """Add one argument."""


def add_options(parser: TakesArguments, rows: str, extras: OptionExtras = MappingProxyType({})) -> None:
    """Add options that are written as a help lists them, one per line: `-o, --output FILE  file to write`.

    An option without a word for its value is a switch, a word alone a positional argument. Indented lines go on.
    """
    for words, text in read_options(rows):
        _add_option(parser, words, text, extras)


def read_options(rows: str) -> Iterator[tuple[str, str]]:
    """(`-o, --output FILE`, its help) of each row."""
    return ((match[1], " ".join(match[2].split())) for match in _OPTION_ROW.finditer(dedent(rows)))


def _add_option(parser: TakesArguments, words: str, text: str, extras: OptionExtras) -> None:
    names = words.replace(",", "").split()
    value = "" if names[-1].startswith("-") else names.pop()
    settings = extras.get(names[-1] if names else value, {})
    if value:
        parser.add_argument(*(names or [value.lower()]), metavar=value, help=text, **settings)
    else:
        parser.add_argument(*names, action="store_true", help=text, **settings)


SHARED_OPTIONS: Final = f"""
SNAPSHOT             {SNAPSHOT_HELP}
--release VERSION    Volcano release to replay, for example v1.14.4; v1.99,nearest picks the nearest supported one
                     (default: the release recorded in the snapshot, else master)
-n, --namespace N    namespace of a job or pod that is named without one
--complete           complete hand-written manifests with server defaults: uid, phase, namespace (default: automatic)
--set EDIT           change the input before the replay: KIND/[NAMESPACE/]NAME:PATH=VALUE, conf:PATH=VALUE,
                     flag:NAME=VALUE, chance:NAME=VALUE, replay:NAME=VALUE or answer:EVENT=VALUE; PATH- removes a
                     field, :- an object; @FILE reads edits from a file; repeatable
--extender-url URL   call this extender webhook for answers that extender.json lacks (default: such answers are
                     unknown)
--max-events N       stop after N events (default: 5 million)
--max-memory MB      stop when the recording reaches about MB megabytes (default: 8000)
--no-cache           neither read nor write the cache of recordings (as {CACHE_VARIABLE}=off)
--source DIR         checkout of Volcano for panel Source and command `source` (default: {SOURCE_VARIABLE})
--json               print JSON
--prove              try fixes on copies of the snapshot and list those that work, least harmful first
-v, --verbose        show every step through the cycle, and lists in full
--budget SECONDS     with --prove: time budget in seconds (default: {DEFAULT_BUDGET_SECONDS})
"""
"""Options of several commands."""
SHARED_EXTRAS: Final[OptionExtras] = {
    # None leaves it to the snapshot's own setting.
    "--complete": {"default": None},
    "--namespace": {"default": ""},
    "--set": {"dest": "edits", "action": "append", "default": []},
    "--max-events": {"type": positive_number},
    "--max-memory": {"type": positive_number},
    "--budget": {"type": positive_number, "default": DEFAULT_BUDGET_SECONDS},
}


def add_shared_options(parser: TakesArguments, *names: str, scope: str = "") -> None:
    """Add rows of SHARED_OPTIONS by name; the scope is put before each help text."""
    rows = dict(read_options(SHARED_OPTIONS))
    for name in names:
        words = next(words for words in rows if name in re.split(r"[ ,]+", words))
        _add_option(parser, words, f"{scope}{rows[words]}", SHARED_EXTRAS)


def add_workers(parser: ArgumentParser, scope: str = "") -> None:
    """Add --workers and --dask, which choose the processes or cluster for many runs."""
    group = parser.add_mutually_exclusive_group()
    add_options(
        group,
        f"""
        -j, --workers N      {scope}number of worker processes (default: one per CPU)
        --dask ADDRESS       {scope}address of a Dask scheduler, for example tcp://host:8786; needs the extra dask
        """,
        {"--workers": {"type": positive_number}},
    )


def snapshot_options(args: Namespace) -> Iterator[str]:
    """The options with which the snapshot was read and edited, as words of a command line."""
    if args.complete:
        yield "--complete"
    if args.release:
        yield from ("--release", args.release)
    for edit in args.edits:
        yield from ("--set", edit)
    if getattr(args, "extender_url", None):
        yield from ("--extender-url", args.extender_url)


def source_reader(args: Namespace) -> Callable[[str], Sequence[str]] | None:
    """A function that reads files of upstream's checkout (--source or VCDEBUG_SOURCE); None without a checkout."""
    folder = getattr(args, "source", None) or os.environ.get(SOURCE_VARIABLE, "").strip()
    if not folder:
        return None
    from vcdebug.files.text_files import open_source

    return open_source(folder)


def extender_client(url: str | None) -> AskExtender | None:
    """The client of the webhook at a URL; None without one."""
    if url is None:
        return None
    from vcdebug.cli.extender_client import ExtenderClient  # urllib.request takes 50 ms

    return ExtenderClient(url)


def recording_limits(args: Namespace) -> tuple[int, int]:
    """The events and megabytes at which a recording stops."""
    from vcdebug.framework.replay_options import MAX_EVENTS, MAX_MEGABYTES

    events, megabytes = getattr(args, "max_events", None), getattr(args, "max_memory", None)
    return events or MAX_EVENTS, megabytes or MAX_MEGABYTES


def recording_bound(args: Namespace) -> SizeBound:
    """`recording_limits` as a SizeBound."""
    from vcdebug.framework.replay_options import SizeBound

    return SizeBound(*recording_limits(args))


# The arguments of commands that run several cycles.

FINISH_RULES: Final = ("none", "thirds")


def add_cycle_arguments(parser: ArgumentParser, suffix: str = "", interval: str = "1s") -> None:
    """Add --cycles and what happens between two cycles; `interval` is the default of --every in words."""
    add_options(
        parser,
        f"""
        --cycles N       run N consecutive cycles of one scheduler process{suffix} (default: 1)
        --every TIME     interval between cycles, for example 31s or 1m30s (default: {interval})
        --recreate       recreate pods that terminate between cycles
        --finish RULE    running pods that complete between cycles: none, or thirds (every third pod by name, rotating)
                         (default: none)
        --arrivals FILE  objects to add between cycles, as JSON: {{"2": [manifest, ...]}} adds before cycle 2
        """,
        {
            "--cycles": {"type": positive_number, "default": 1},
            "--every": {"type": parse_duration},
            "--finish": {"choices": FINISH_RULES},
        },
    )


def check_cycle_arguments(args: Namespace) -> None:
    """Raise VcdebugError for options about the time between cycles if only one cycle runs."""
    between = ("every", "recreate", "finish", "arrivals")
    options = [f"--{name}" for name in between if getattr(args, name) not in (None, False)]
    if args.cycles == 1 and options:
        raise VcdebugError(f"{options[0]} needs several cycles", "give --cycles N")


def between_cycles(args: Namespace) -> BetweenCycles:
    """The changes between cycles that the arguments ask for."""
    from vcdebug.snapshot.gathered_objects import read_arrivals
    from vcdebug.whatif.next_cycle import ONE_SECOND, BetweenCycles

    return BetweenCycles(
        interval=args.every or ONE_SECOND,
        recreate=args.recreate,
        finish_rule=args.finish or "none",
        arrivals={} if args.arrivals is None else read_arrivals(Path(args.arrivals)),
    )
