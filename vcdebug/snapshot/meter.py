"""How far loading is, how long a large YAML file will take, and stopping on the way."""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.errors import VcdebugError
from vcdebug.snapshot.archive import SourceFile
from vcdebug.snapshot.documents import starts_like_json
from vcdebug.snapshot.json_documents import ReadSoFar
from vcdebug.snapshot.yaml_documents import DocumentError

Progress = Callable[[int, int, str], object]
"""Called with bytes read so far, bytes in all (0 if unknown), and the file at hand; False stops."""

SLOW_YAML_BYTES = 20 << 20
YAML_BYTES_PER_SECOND = 2_000_000
"""Measured with libyaml: manifests take some ten times as long as in JSON."""


class LoadStoppedError(VcdebugError):
    """Somebody did not want to wait any longer."""


class LoadMeter:
    """Turns what is read inside a file into what is read in all."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0
        self._total = 0
        self._name = ""

    def begin_file(self, done: int, total: int, name: str) -> None:
        """A file begins, after so many bytes of all files."""
        self._done, self._total, self._name = done, total, name
        self._report_progress(done, total, name)

    def reader_callback(self, file: SourceFile) -> ReadSoFar | None:
        """What a reader of the file calls; a member of an archive counts for itself."""
        if self._progress is None:
            return None
        whole = file.name == self._name and self._done + len(file.data) <= self._total
        before, total = (self._done, self._total) if whole else (0, len(file.data))
        return lambda read: self._report_progress(before + read, total, file.name)

    def _report_progress(self, done: int, total: int, name: str) -> None:
        if self._progress is not None and self._progress(done, total, name) is False:
            raise LoadStoppedError("loading was stopped", where=name)


def yaml_warning(file: SourceFile) -> str:
    """For a large YAML file: that it takes long, about how long, and what to do; empty for any other file."""
    size = len(file.data)
    try:
        if size < SLOW_YAML_BYTES or starts_like_json(file.data):
            return ""
    except DocumentError:  # the reader says so
        return ""
    seconds = size // YAML_BYTES_PER_SECOND
    return f"{file.name}: {size >> 20} MB of YAML take about {seconds} s to read; as JSON some seconds (-o json)"
