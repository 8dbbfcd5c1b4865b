"""Problem: something wrong in the input that the replay can go on with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a snapshot, and what it means for the replay."""

    file: str
    """The file it is in; an archive's member has its path inside the archive."""
    object: str
    """The object, as `Pod default/web-0`."""
    field: str
    """The path inside the object, as `spec.containers[0].resources`."""
    what: str
    """What is wrong."""
    effect: str
    """What it means for the replay."""

    def format_line(self) -> str:
        """The problem in one line: `file: object: field: what; effect`."""
        text = ": ".join(part for part in (self.file, self.object, self.field, self.what) if part)
        return f"{text}; {self.effect}" if self.effect else text
