"""Which program runs: its version, and a digest of the sources that decide how a cycle goes and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import vcdebug
from vcdebug.stored.names import ROOMS as NAMED

ROOMS: Final = (*NAMED, "stored")
"""Rooms that make a recording and the answers in it: what the others show of it is made anew each time."""


@cache
def program() -> str:
    """The same for the same sources, wherever they lie; a change of one line makes another program."""
    import hashlib

    package = Path(vcdebug.__file__).parent
    digest = hashlib.sha256()
    for name in sorted(_sources(package)):
        text = (package / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return f"{vcdebug.__version__} ({digest.hexdigest()[:16]})"


def _sources(package: Path) -> Iterator[str]:
    """Python's own `rglob` takes three times as long, which is felt at each opening."""
    yield from (path.name for path in package.glob("*.py"))
    for room in ROOMS:
        for folder, _, names in os.walk(package / room):
            below = folder[len(str(package)) + 1 :].replace(os.sep, "/")
            yield from (f"{below}/{name}" for name in names if name.endswith(".py"))
