"""The subject of a hook call: (field, value) pairs in the order of the trace, with functions that read them.

Upstream: none; the fields are those of the trace schema.
"""

from collections.abc import Sequence
from typing import Any, Final

from vcdebug.model.names import TaskKey
from vcdebug.model.task import TaskInfo

CallSubject = tuple[tuple[str, Any], ...]  # Any: the field decides which
"""(field, value) pairs; a value is a name, the candidate tasks, or a vote."""
CallResult = Any  # Any: each extension point has its own form
"""The answer of the call, as plain data."""
TracedCall = tuple[CallSubject, CallResult]

TASK: Final = "task"
OTHER: Final = "other"
JOB: Final = "job"
SUB_JOB: Final = "subjob"
QUEUE: Final = "queue"
NODE: Final = "node"
HYPER_NODE: Final = "hypernode"
CANDIDATES: Final = "candidates"
VOTE: Final = "vote"
PURPOSE: Final = "purpose"


class CandidateTasks(list[TaskInfo]):
    """Candidate tasks that several plugins are asked about; their names are computed once. Must not be changed."""

    __slots__ = ("_field",)

    def __init__(self, tasks: Sequence[TaskInfo]) -> None:
        super().__init__(tasks)
        self._field: tuple[str, tuple[TaskKey, ...]] | None = None

    @property
    def trace_field(self) -> tuple[str, tuple[TaskKey, ...]]:
        """The (field, names) pair in the record; cached, so that events share it."""
        field = self._field
        if field is None:
            field = self._field = (CANDIDATES, task_keys(self))
        return field


def task_keys(tasks: Sequence[TaskInfo] | None) -> tuple[TaskKey, ...]:
    """The keys of the tasks."""
    return tuple([task.key for task in tasks]) if tasks else ()


def name_in(subject: CallSubject, field: str) -> str:
    """The name in a field; empty if the call has no such field."""
    for name, value in subject:
        if name == field and isinstance(value, str):
            return value
    return ""


def candidates_in(subject: CallSubject) -> tuple[TaskKey, ...]:
    """The candidate tasks of the call; empty for calls without candidates."""
    for name, value in subject:
        if name == CANDIDATES and isinstance(value, tuple):
            return value
    return ()


def vote_in(subject: CallSubject) -> int | None:
    """The vote that came with the victims, 0 to abstain; None for calls without a vote."""
    for name, value in subject:
        if name == VOTE and isinstance(value, int):
            return value
    return None
