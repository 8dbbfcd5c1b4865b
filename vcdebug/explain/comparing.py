"""What two elements of a priority queue are compared by, one thing after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState

Figure = float | int | str | bool | None
Sorted = TypeVar("Sorted", float, str)
E_contra = TypeVar("E_contra", contravariant=True)


class Difference(NamedTuple):
    """One thing that two elements are compared by; -1 puts the left one first, 0 asks the next thing."""

    what: str
    left: Figure
    right: Figure
    sign: int
    known: bool = True
    """Whether a recording keeps what is compared."""


class Then(NamedTuple):
    """A moment at which is compared: the state after event `seq`."""

    recording: Recording
    seq: Seq
    state: ClusterState


Comparator = Callable[[Then, E_contra, E_contra], Iterator[Difference]]


def smaller_first(what: str, left: Sorted, right: Sorted) -> Difference:
    """The smaller figure, or the earlier text, goes first."""
    return Difference(what, left, right, (left > right) - (left < right))


Looked = tuple[str, Figure, Figure]
"""What was looked at, of the left one, of the right one."""


def decided(answer: int, looked: Iterable[Looked]) -> Iterator[Difference]:
    """What a plugin looks at one after the other: the first that differs carries the plugin's own answer."""
    sign = (answer > 0) - (answer < 0)
    for what, left, right in looked:
        yield Difference(what, left, right, sign if left != right else 0)
        if left != right:
            return
