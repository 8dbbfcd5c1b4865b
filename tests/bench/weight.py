"""The memory of a recording: per-node arrays, and everything else."""

import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from vcdebug.framework.record import CloseEvent, Event, StateEvent
from vcdebug.recording.recording import Recording


class Scale:
    """Adds up the sizes of objects, each once."""

    def __init__(self, known: Iterable[object]) -> None:
        self.seen = {id(one) for one in known}
        self.arrays = 0
        self.others = 0

    def weigh(self, root: object) -> None:
        """The bytes reachable from one object and not counted before."""
        waiting = [root]
        while waiting:
            one = waiting.pop()
            if id(one) in self.seen or one is None or isinstance(one, bool | type):
                continue
            self.seen.add(id(one))
            if isinstance(one, np.ndarray):
                self._weigh_array(one)
                continue
            self.others += sys.getsizeof(one)
            waiting.extend(_inside(one))

    def _weigh_array(self, one: np.ndarray[Any, Any]) -> None:
        base = one if one.base is None else one.base
        if base is one or id(base) not in self.seen:
            self.seen.add(id(base))
            self.arrays += base.nbytes if isinstance(base, np.ndarray) else one.nbytes


def _inside(one: object) -> Iterator[object]:
    if isinstance(one, dict):
        yield from one.keys()
        yield from one.values()
    elif isinstance(one, list | tuple):
        yield from one
    elif not isinstance(one, str | bytes | int | float | array):
        for kind in type(one).__mro__:
            for slot in getattr(kind, "__slots__", ()):
                yield getattr(one, slot, None)


def weights(recording: Recording) -> tuple[int, int]:
    """(bytes of per-node arrays, bytes of all else) that the recording adds to the session that it ran on.

    Whole states (one amount per node, one entry per job) count as per-node arrays.
    """
    session = recording.session
    scale = Scale(_names(recording))
    states = [event for event in recording.events if isinstance(event, StateEvent | CloseEvent)]
    for state in states:
        scale.weigh(state)
    for node in session.nodes.values():
        scale.weigh(node.last_amounts)
    whole, scale.others = scale.others, 0
    record = recording.record
    plain: list[Event] = [event for event in record.events if not isinstance(event, StateEvent | CloseEvent)]
    for part in (plain, record.figures, record.changes, record.spans, record.notes, record.pod_group_events):
        scale.weigh(part)
    return scale.arrays + whole, scale.others


def _names(recording: Recording) -> Iterator[object]:
    """Texts and requests that the session holds in any case."""
    session = recording.session
    yield from recording.node_names
    yield from session.queues
    for job in session.jobs.values():
        yield job.uid
        for task in job.tasks.values():
            yield task.key
            yield task.node_name
            yield task.uid
    for node in session.nodes.values():
        yield node.name
        yield from node.tasks
