"""All recordings that lie open side by side: the original's cycles, and those of the branch that edits make of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from vcdebug.errors import VcdebugError
from vcdebug.snapshot.edit import Edit
from vcdebug.trace.recording import Recording

if TYPE_CHECKING:
    from vcdebug.compare.cycles import CycleComparison

RecordingSide = Literal["original", "branch"]
ORIGINAL: Final[RecordingSide] = "original"
BRANCH: Final[RecordingSide] = "branch"


class NoRecordingError(VcdebugError):
    """A cycle or branch that does not exist."""


@dataclass(frozen=True, slots=True)
class OpenRecordings:
    """What lies open, and which recording of it is shown. Cycles count from 1; the original always stays."""

    original: tuple[Recording, ...]
    branch: tuple[Recording, ...] = ()
    """Empty without edits; the first one is the edited cycle `start`, each further one follows from it."""
    start: int = 1
    """The cycle that the edits are about."""
    edits: tuple[Edit, ...] = ()
    """The edits in force, in order."""
    undone: tuple[Edit, ...] = ()
    """Edits that redo would bring back, the next one last."""
    side: RecordingSide = ORIGINAL
    cycle: int = 1
    found: CycleComparison | None = None
    """What the edits changed in the shown cycle, once it has been looked for."""

    @property
    def shown_recording(self) -> Recording:
        """The recording that one looks at."""
        return self.cycles_of(self.side)[self.cycle - 1]

    @property
    def cycle_count(self) -> int:
        """How many cycles the shown side has."""
        return len(self.cycles_of(self.side))

    @property
    def other_side(self) -> RecordingSide:
        """The side that is not shown."""
        return ORIGINAL if self.side == BRANCH else BRANCH

    @property
    def edit_texts(self) -> tuple[str, ...]:
        """The edits in force as they are written."""
        return tuple(edit.text for edit in self.edits)

    def cycles_of(self, side: RecordingSide) -> tuple[Recording, ...]:
        """All cycles of one side; what comes before the edited cycle is the original's."""
        return self.original if side == ORIGINAL else (*self.original[: self.start - 1], *self.branch)

    def both_sides(self) -> tuple[Recording, Recording]:
        """The shown cycle of the original and of the branch; raises where one of them is missing."""
        if not self.branch:
            raise NoRecordingError("there are no edits to compare with", "set EDIT makes one")
        lines = self.original, self.cycles_of(BRANCH)
        for side, line in zip((ORIGINAL, BRANCH), lines, strict=True):
            if len(line) < self.cycle:
                raise NoRecordingError(f"the {side} has no cycle {self.cycle}", f"{side}, then advance")
        return lines[0][self.cycle - 1], lines[1][self.cycle - 1]

    def show_cycle(self, side: RecordingSide, cycle: int) -> OpenRecordings:
        """Another recording shown."""
        if side == BRANCH and not self.branch:
            raise NoRecordingError("there is no branch yet", "set EDIT makes one")
        last = len(self.cycles_of(side))
        if not 1 <= cycle <= last:
            there = "there is only cycle 1" if last == 1 else f"there are cycles 1 to {last}"
            raise NoRecordingError(f"there is no cycle {cycle}", f"{there}; advance runs the next one")
        return replace(self, side=side, cycle=cycle, found=self.found if cycle == self.cycle else None)
