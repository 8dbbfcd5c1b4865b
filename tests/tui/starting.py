"""Caches what each start of the application computes: stylesheet rules, bundled snapshots and their recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from textual.css.stylesheet import Stylesheet

from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import list_bundled

PARSE: Callable[..., Any] = Stylesheet._parse_rules
BUNDLED = dict.fromkeys(one.path for one in list_bundled())
_RULES: dict[tuple[object, ...], Any] = {}
_SNAPSHOTS: dict[object, Snapshot] = {}
_RECORDINGS: dict[str, Recording] = {}
"""The recordings of cached snapshots, by name."""
USUAL = {"ask_extender", "bound"}
"""The options with which the application replays what it opens."""


def parsed(sheet: Stylesheet, *stated: Any, **named: Any) -> Any:
    """The parsed rules of a stylesheet, cached across applications."""
    key = (*stated, *named.items(), *sheet._variables.items())
    if key not in _RULES:
        _RULES[key] = PARSE(sheet, *stated, **named)
    return _RULES[key]


def loaded(source: Any, **options: Any) -> Snapshot:
    """Load a snapshot; bundled ones without options are cached, because no test changes them."""
    stated = [name for name in ("complete", "release") if options.get(name) is not None]
    if stated or source not in BUNDLED:
        return load_snapshot(source, **options)
    if source not in _SNAPSHOTS:
        _SNAPSHOTS[source] = load_snapshot(source, **options)
    return _SNAPSHOTS[source]


def replayed(snapshot: Snapshot, **options: Any) -> Recording:
    """Replay a snapshot; a cached one once, so that its recording remembers the answers to earlier tests."""
    is_cached = any(snapshot is one for one in _SNAPSHOTS.values())
    if not is_cached or options.keys() != USUAL or options["ask_extender"] is not None:
        return replay_cycle(snapshot, **options)
    if snapshot.name not in _RECORDINGS:
        _RECORDINGS[snapshot.name] = replay_cycle(snapshot, **options)
    return _RECORDINGS[snapshot.name]


@contextmanager
def quick_start(*, replayed_once: bool = False) -> Iterator[None]:
    """Patch Textual and the loader with these caches, and with `replayed_once` also the replay."""
    replay = patch("vcdebug.recording.replay.replay_cycle", replayed) if replayed_once else nullcontext()
    with (
        patch.object(Stylesheet, "_parse_rules", parsed),
        patch("vcdebug.snapshot.loader.load_snapshot", loaded),
        replay,
    ):
        yield
