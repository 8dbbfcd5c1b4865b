"""Where the command line keeps recordings, and for which replays it does."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vcdebug.cli.output import Output
from vcdebug.errors import ConfigError

if TYPE_CHECKING:
    from vcdebug.files.kept import KeptRecordings
    from vcdebug.snapshot.sources import Source
    from vcdebug.trace.recording import Recording

VARIABLE: Final = "VCDEBUG_CACHE"
OFF: Final = ("off", "no", "0")


class Keeping:
    """Looks a recording up before its cycle is run, and keeps it once the answer is out."""

    def __init__(self, kept: KeptRecordings, later: Callable[[Callable[[], object]], object]) -> None:
        self._kept = kept
        self._later = later

    def find(self, source: Source, **options: object) -> tuple[str | None, Recording | None]:
        """What a recording of the source would be kept as, and the one that is."""
        from vcdebug.files.kept import key_of

        key = key_of(source, options)
        return key, None if key is None else self._kept.find(key)

    def keep(self, key: str, recording: Recording) -> None:
        """Keep it when everything else is done."""
        self._later(lambda: self._kept.keep(key, recording))


def keeping_of(args: Namespace, output: Output) -> Keeping | None:
    """None where no recording is to be kept, or other bounds than the usual ones are asked for."""
    bounded = getattr(args, "max_events", None) or getattr(args, "max_memory", None)
    kept = None if bounded else kept_recordings(args)
    return None if kept is None else Keeping(kept, output.afterwards.append)


def kept_recordings(args: Namespace | None = None) -> KeptRecordings | None:
    """The folder of kept recordings; None where there is to be none."""
    from vcdebug.files.kept import MEGABYTES, KeptRecordings

    said = os.environ.get(VARIABLE, "").strip()
    if said.lower() in OFF or getattr(args, "no_cache", False):
        return None
    if said and not said.isdecimal():
        raise ConfigError(f"{said!r} is no number of megabytes", "off keeps none", VARIABLE)
    return KeptRecordings(cache_folder() / "recordings", int(said or MEGABYTES))


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/vcdebug`, or where the platform has such folders."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if chosen.startswith("/"):
        return Path(chosen) / "vcdebug"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "vcdebug"
    local = os.environ.get("LOCALAPPDATA", "")
    return Path(local) / "vcdebug" if local else Path.home() / ".cache" / "vcdebug"
