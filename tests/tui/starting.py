"""Caches what each start of the application computes: stylesheet rules and bundled snapshots."""

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


@contextmanager
def quick_start() -> Iterator[None]:
    """Patch Textual and the loader with these caches."""
    with patch.object(Stylesheet, "_parse_rules", parsed), patch("vcdebug.snapshot.loader.load_snapshot", loaded):
        yield
