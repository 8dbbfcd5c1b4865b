"""What each start of the application would work out anew: the rules of its stylesheets, and a bundled snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from textual.css.stylesheet import Stylesheet

from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import list_bundled

PARSE: Callable[..., Any] = Stylesheet._parse_rules
BUNDLED = dict.fromkeys(one.path for one in list_bundled())
_RULES: dict[tuple[object, ...], Any] = {}
_SNAPSHOTS: dict[object, Snapshot] = {}


def parsed(sheet: Stylesheet, *stated: Any, **named: Any) -> Any:
    """The rules of a stylesheet, which one application shares among its screens and several may share too."""
    key = (*stated, *named.items(), *sheet._variables.items())
    if key not in _RULES:
        _RULES[key] = PARSE(sheet, *stated, **named)
    return _RULES[key]


def loaded(source: Any, **options: Any) -> Snapshot:
    """A snapshot: a bundled one that is loaded as it is stays the same whatever is done with it."""
    stated = [name for name in ("complete", "release") if options.get(name) is not None]
    if stated or source not in BUNDLED:
        return load_snapshot(source, **options)
    if source not in _SNAPSHOTS:
        _SNAPSHOTS[source] = load_snapshot(source, **options)
    return _SNAPSHOTS[source]


@contextmanager
def quick_start() -> Iterator[None]:
    """Both are worked out once in a process."""
    with patch.object(Stylesheet, "_parse_rules", parsed), patch("vcdebug.snapshot.loader.load_snapshot", loaded):
        yield
