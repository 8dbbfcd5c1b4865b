"""The kinds of breakpoints, one line per kind; a module is imported when one of its kinds is set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Self

from vcdebug.amount_text import join_names
from vcdebug.debugger.expression import Value
from vcdebug.errors import VcdebugError, closest_name_hint
from vcdebug.framework.hooks import HOOKS
from vcdebug.framework.record import Event, HookEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.model.names import Seq
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording

_NAMES: Final = (
    "action", "data", "enqueue", "function", "invariant", "overused", "predicate", "quirk", "score", "search",
    "starving", "statement", "tie", "victim", "vote",
)  # fmt: skip
BREAKPOINT_KINDS: dict[str, str] = {
    name: f"{__name__}.{'function_kind' if name == 'function' else 'kinds'}:{name.capitalize()}Breakpoint"
    for name in _NAMES
}
"""The class of each kind, as `module:name`."""


def find_kind(name: str) -> type[BreakpointKind]:
    """The kind of this name, imported on use."""
    kind: type[BreakpointKind] = resolve_reference(BREAKPOINT_KINDS[name])
    return kind


# The base of all kinds: which events are candidates, and which candidates match.

MAX_WORDS: Final = 14
"""Words of a kind that an error lists."""
HOOK_NAMES: Final = tuple(hook.upstream for hook in HOOKS)


class BreakpointError(VcdebugError):
    """A breakpoint that cannot be set."""


class BreakpointKind:
    """One kind of breakpoint, with the words that narrow it; a pure function of the event, so it works backward too."""

    KIND: ClassVar[str]
    HELP: ClassVar[str]
    WORDS: ClassVar[tuple[str, ...]] = ()
    """Words that may follow the kind; empty if it takes none."""
    FIELDS: ClassVar[tuple[str, ...]] = ()
    """Fields of conditions and log texts of this kind, in addition to those of every event."""
    WATCHES: ClassVar[tuple[type[Event], ...]]
    """Event types of its candidates."""
    POINTS: ClassVar[tuple[str, ...]] = ()
    """Hooks whose calls are candidates unless words name others; empty for all hooks."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = tuple(words)
        self.has_condition = False
        """Whether the breakpoint also has a condition, which is evaluated there and not by the kind."""

    @classmethod
    def parse_words(cls, words: Sequence[str]) -> Self:
        """Make the kind from the words after its name; raises BreakpointError for an unknown word."""
        for word in words:
            if word not in cls.WORDS:
                usage = f"it takes {join_names(cls.WORDS, MAX_WORDS)}; " if cls.WORDS else ""
                hint = closest_name_hint(word, cls.WORDS, f"{usage}a condition begins with if")
                raise BreakpointError(f"break {cls.KIND} does not know {word!r}", hint)
        return cls(words)

    def candidate_seqs(self, recording: Recording) -> Seqs:
        """Candidate events, ascending; a superset of the matches."""
        index, points = recording.index, [word for word in self.words if word in HOOK_NAMES] or self.POINTS
        types = [kind for kind in self.WATCHES if kind is not HookEvent or not points]
        return merge_seqs([*map(index.seqs_of_type, types), *map(index.seqs_at_point, points)])

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        """Whether a candidate matches."""
        return True

    @property
    def matches_every_candidate(self) -> bool:
        """Whether every candidate matches and is its own group, so that no candidate has to be read."""
        kind = type(self)
        # A kind that overrides neither needs no look at its events, so its hits come straight from the index.
        return kind.is_match is BreakpointKind.is_match and kind.first_of_group is BreakpointKind.first_of_group

    def first_of_group(self, recording: Recording, seq: Seq) -> Seq:
        """The first event of the group of `seq`; only the first match of a group stops."""
        return seq

    def check_names(self, recording: Recording) -> Self:
        """Return self; raise BreakpointError if the words name something that the recording lacks."""
        return self

    def describe_meaning(self, recording: Recording) -> str:
        """The meaning of its words in the recording, for the reply to `break`; empty if the words are clear."""
        return ""

    def field_value(self, recording: Recording, seq: Seq, name: str) -> Value:
        """The value of one of FIELDS at an event, for conditions."""
        return None

    def field_text(self, recording: Recording, seq: Seq, name: str) -> str:
        """The value of one of FIELDS at an event, for log texts."""
        return str(self.field_value(recording, seq, name))

    def change_text(self, recording: Recording, seq: Seq) -> str:
        """`old → new` of the followed figure, which lists show as the outcome; empty for a kind that follows none."""
        return ""

    def stop_detail(self, recording: Recording, seq: Seq) -> str:
        """A detail of a stop, shown after the kind; empty if there is none."""
        return ""

    def __str__(self) -> str:
        return " ".join((self.KIND, *self.words))


def merge_seqs(parts: Sequence[Seqs]) -> Seqs:
    """Merges ascending lists into one ascending list."""
    # Timsort merges runs that are already ascending in linear time.
    return parts[0] if len(parts) == 1 else sorted(seq for part in parts for seq in part)
