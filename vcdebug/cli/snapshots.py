"""Reads snapshots and replays them for the commands without a screen."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from vcdebug.amount_text import TimeEstimate
from vcdebug.cli.arguments import CachedRecordings, extender_client, open_cache, single_snapshot_source
from vcdebug.cli.output import Output, StatusCallback, ignore_progress, status_line
from vcdebug.errors import ConfigError, VcdebugError
from vcdebug.files.recording_files import is_recording_file, open_recording
from vcdebug.framework.replay_options import SizeBound
from vcdebug.recording.recording import Recording, require_complete
from vcdebug.recording.replay import ProgressBound, parse_conf, replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import Source

if TYPE_CHECKING:
    from vcdebug.debugger.driver import Driver


class ReplayedSnapshot(NamedTuple):
    """A recording and the seconds of each stage."""

    recording: Recording
    seconds: dict[str, float]


def read_snapshot(word: str, complete: bool | None = None, release: str | None = None) -> Snapshot:
    """Read a snapshot by its name on the command line; raises SnapshotError when nothing in it can be replayed."""
    return _load_source(single_snapshot_source(word), complete, release)


def _load_source(
    source: Source, complete: bool | None, release: str | None, show_status: StatusCallback = ignore_progress
) -> Snapshot:
    stated_release = release
    if release:
        from vcdebug.releases.release_names import NEAREST, require_release  # only --release needs its patterns

        if release.strip() == NEAREST:
            stated_release = None
        else:
            require_release(release)
    if is_recording_file(source):
        snapshot = _open_recording(source, complete, release).snapshot
        # A recording's manifests are read-only sequences; callers may edit those of a snapshot.
        snapshot.objects = {kind: list(manifests) for kind, manifests in snapshot.objects.items()}
        return snapshot

    estimate = TimeEstimate(time.monotonic)

    def report_progress(done: int, total: int, name: str) -> bool:
        of = f" {done * 100 // total} %" if total else ""
        show_status(f"reading {Path(name).name}{of}{estimate.time_left(name, done, total)}")
        return True

    return load_snapshot(
        source, complete=complete, release=stated_release, notice=Output().write_notice, progress=report_progress
    )


def _open_recording(source: Source, complete: bool | None, release: str | None) -> Recording:
    """The recording in a file; raises VcdebugError for options that only apply to a snapshot."""
    if complete is not None or release is not None:
        option = "--release" if complete is None else "--complete"
        where = "" if isinstance(source, BytesIO) else str(source)
        raise VcdebugError(f"{option} needs a snapshot; this is a recording", "open the snapshot", where)
    return open_recording(source if isinstance(source, BytesIO) else Path(str(source)))


def with_edits(snapshot: Snapshot, edits: Sequence[str]) -> Snapshot:
    """A copy of the snapshot with the edits, those of `@FILE` included; the snapshot itself without edits."""
    if not edits:
        return snapshot
    from vcdebug.snapshot.edit import expand_edits, parse_edit
    from vcdebug.whatif.branch import edited_snapshot

    return edited_snapshot(snapshot, [parse_edit(text) for text in expand_edits(edits)])


def with_configuration(snapshot: Snapshot, path: str) -> Snapshot:
    """A copy with the scheduler configuration of a file; raises ConfigError for one that Volcano rejects."""
    text = read_file(path).decode(errors="replace")
    conf = parse_conf(text, snapshot.release)
    if conf.built_in:
        raise ConfigError(conf.problems[0].what, "the real scheduler would use its built-in configuration", path)
    return replace(snapshot, scheduler_conf=text)


def replay_arguments(
    args: Namespace, *, bound: SizeBound | None = None, keeping: CachedRecordings | None = None
) -> ReplayedSnapshot:
    """Replay with the options of the parsed arguments; `keeping` finds and stores recordings in the cache."""
    # A command has only those of these options that it adds.
    names = ("complete", "release", "seed", "edits", "extender_url")
    options = {name: value for name, value in vars(args).items() if name in names}
    return replay_snapshot(args.snapshot, bound=bound, keeping=keeping, **options)


def replay_snapshot(
    origin: Source,
    *,
    complete: bool | None = None,
    release: str | None = None,
    seed: int | None = None,
    edits: Sequence[str] = (),
    extender_url: str | None = None,
    bound: SizeBound | None = None,
    keeping: CachedRecordings | None = None,
) -> ReplayedSnapshot:
    """Read a snapshot, edit it and replay its cycle; a str is a name as on the command line.

    The seed draws what upstream leaves to chance. Without a bound a recording that reaches the limit raises
    CutOffError, else it ends there. The recording in a file is returned unless an option changes it.
    """
    source = single_snapshot_source(origin) if isinstance(origin, str) else origin
    if is_recording_file(source) and seed is None and not edits and extender_url is None:
        start = time.perf_counter()
        recording = _open_recording(source, complete, release)
        return ReplayedSnapshot(recording, {"load": time.perf_counter() - start, **recording.seconds})
    start = time.perf_counter()
    key = None
    # The answers of a webhook may differ each time, so such a recording is not cached.
    if keeping is not None and extender_url is None:
        key, cached = keeping.find_recording(
            source, complete=complete, release=release, seed=seed, edits=_expand_edits(edits)
        )
        if cached is not None:
            return ReplayedSnapshot(cached, {"load": time.perf_counter() - start, **cached.seconds})
    ask_extender = extender_client(extender_url)
    with status_line(Output(), "Ctrl-C stops") as show_status:
        start = time.perf_counter()
        snapshot = _load_source(source, complete, release, show_status)
        seconds = time.perf_counter() - start
        if seed is not None:
            snapshot.chance = ChanceSettings.from_seed(seed)
        snapshot = with_edits(snapshot, edits)
        estimate = TimeEstimate(time.monotonic)
        paced = bound or ProgressBound(partial(_announce, show_status, estimate, snapshot.name))
        recording = replay_cycle(snapshot, clock=time.perf_counter, ask_extender=ask_extender, bound=paced)
    # `run` passes a bound, because it reports a recording that was cut off.
    if bound is None:
        require_complete(recording)
    if keeping is not None and key is not None:
        keeping.store_later(key, recording)
    return ReplayedSnapshot(recording, {"load": seconds, **recording.seconds})


def open_driver(options: Mapping[str, object]) -> Driver:
    """A driver of the named snapshot, with `release`, `complete` and `set` as the commands take them."""
    from vcdebug.debugger.driver import Driver

    name, release, complete = options.get("snapshot"), options.get("release"), options.get("complete")
    edits = options.get("set") or ()
    if not isinstance(name, str):
        raise VcdebugError("no snapshot is named", 'such as "snapshot": "preempt-blocked-by-gang"')
    if not isinstance(edits, list | tuple):
        raise VcdebugError("set is a list of edits")
    cache = open_cache()
    # Stored at once, since a client may end the process at any time.
    keeping = None if cache is None else CachedRecordings(cache, lambda store: store())
    typed = None if release is None else str(release), None if complete is None else bool(complete)
    replayed = replay_snapshot(name, release=typed[0], complete=typed[1], edits=tuple(map(str, edits)), keeping=keeping)
    return Driver(replayed.recording)


def _expand_edits(edits: Sequence[str]) -> list[str]:
    """The edits, with `@FILE` replaced by its lines."""
    if not edits:
        return []
    from vcdebug.snapshot.edit import expand_edits

    return list(expand_edits(edits))


def _announce(show: StatusCallback, estimate: TimeEstimate, name: str, words: str, done: int, total: int) -> None:
    show(f"replaying {name}: {estimate.with_time_left(words, done, total)}")
