"""What is remembered about recordings is let go when a recording is gone."""

from __future__ import annotations

import sys
from typing import Final

ROOMS: Final = ("vcdebug.explain.", "vcdebug.debugger.", "vcdebug.views.")
"""Where answers about a recording are kept for a second look."""


def forget() -> None:
    """Empty every such cache: what is still looked at is put together once more."""
    for name, module in list(sys.modules.items()):
        if name.startswith(ROOMS):
            for value in list(vars(module).values()):
                clear = getattr(value, "cache_clear", None)
                if clear is not None:
                    clear()
