"""A folder of captures of one cluster: one file each, named by the moment, the oldest going when there are too many."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from vcdebug.snapshot.snapshot import Snapshot

MOST_KEPT: Final = 100
SUFFIX: Final = ".tar.gz"
NAME: Final = re.compile(r"(.+)-(\d{8}-\d{6})(?:-(\d+))?\.tar\.gz")


def file_name(context: str, now: datetime) -> str:
    """What a capture is called where nobody says it."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in context) or "cluster"
    return f"{name}-{now:%Y%m%d-%H%M%S}{SUFFIX}"


class History:
    """Writes captures into a folder, readable for its owner alone."""

    def __init__(self, folder: Path, most: int = MOST_KEPT) -> None:
        self.folder = folder
        self._most = most

    def keep(self, snapshot: Snapshot) -> Path:
        """Write one more, and let the oldest go."""
        from vcdebug.snapshot.save import PRIVATE, save

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self.folder / self._free(file_name(snapshot.name, snapshot.now))
        save(snapshot, target, PRIVATE)
        for old in self.files()[: -self._most]:
            old.unlink(missing_ok=True)
        return target

    def _free(self, name: str) -> str:
        """The name, with a number where the clock has not moved on since the last capture."""
        stem = name.removesuffix(SUFFIX)
        matches = [NAME.fullmatch(file.name) for file in self.folder.glob(f"{stem}*{SUFFIX}")]
        twins = [int(match[3] or 1) for match in matches if match is not None]
        return f"{stem}-{max(twins) + 1}{SUFFIX}" if twins else name

    def files(self) -> list[Path]:
        """From the oldest to the newest."""
        return timeline_of(sorted(self.folder.glob(f"*{SUFFIX}")))


def timeline_of(files: list[Path]) -> list[Path]:
    """Captures in the order of their moments; none where the files are of several clusters, or no captures."""
    named = [(match, file) for file in files if (match := NAME.fullmatch(file.name)) is not None]
    if len(named) != len(files) or len({match[1] for match, _ in named}) > 1:
        return []
    return [file for _, file in sorted(named, key=lambda one: (one[0][2], int(one[0][3] or 1)))]
