"""A folder of captures of one cluster: one file each, named by the moment, the oldest going when there are too many."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from vcdebug.snapshot.snapshot import Snapshot

MAX_CAPTURES: Final = 100
CAPTURE_SUFFIX: Final = ".tar.gz"
CAPTURE_NAME: Final = re.compile(r"(.+)-(\d{8}-\d{6})(?:-(\d+))?\.tar\.gz")


def capture_file_name(context: str, now: datetime) -> str:
    """What a capture is called where nobody says it."""
    name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in context) or "cluster"
    return f"{name}-{now:%Y%m%d-%H%M%S}{CAPTURE_SUFFIX}"


class CaptureHistory:
    """Writes captures into a folder, readable for its owner alone."""

    def __init__(self, folder: Path, most: int = MAX_CAPTURES) -> None:
        self.folder = folder
        self._most = most

    def add_capture(self, snapshot: Snapshot) -> Path:
        """Write one more, and let the oldest go."""
        from vcdebug.snapshot.saved_files import PRIVATE_MODE, save_snapshot

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = self.folder / self._free_name(capture_file_name(snapshot.name, snapshot.now))
        save_snapshot(snapshot, target, PRIVATE_MODE)
        for old in self.list_captures()[: -self._most]:
            old.unlink(missing_ok=True)
        return target

    def _free_name(self, name: str) -> str:
        """The name, with a number where the clock has not moved on since the last capture."""
        stem = name.removesuffix(CAPTURE_SUFFIX)
        matches = [CAPTURE_NAME.fullmatch(file.name) for file in self.folder.glob(f"{stem}*{CAPTURE_SUFFIX}")]
        twins = [int(match[3] or 1) for match in matches if match is not None]
        return f"{stem}-{max(twins) + 1}{CAPTURE_SUFFIX}" if twins else name

    def list_captures(self) -> list[Path]:
        """From the oldest to the newest."""
        return order_captures(sorted(self.folder.glob(f"*{CAPTURE_SUFFIX}")))


def order_captures(files: list[Path]) -> list[Path]:
    """Captures in the order of their moments; none where the files are of several clusters, or no captures."""
    named = [(match, file) for file in files if (match := CAPTURE_NAME.fullmatch(file.name)) is not None]
    if len(named) != len(files) or len({match[1] for match, _ in named}) > 1:
        return []
    return [file for _, file in sorted(named, key=lambda one: (one[0][2], int(one[0][3] or 1)))]
