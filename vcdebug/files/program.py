"""Which program runs: its version, and a digest of the sources that decide how a cycle goes and why."""

from __future__ import annotations

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
    for path in sorted([*package.glob("*.py"), *(path for room in ROOMS for path in (package / room).rglob("*.py"))]):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(package).as_posix()} {len(text)}\n".encode() + text)
    return f"{vcdebug.__version__} ({digest.hexdigest()[:16]})"
