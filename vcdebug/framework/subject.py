"""What a hook call is about: (field, value) pairs in the order of the trace, and their values by field.

Upstream: none; the fields are those of the trace schema.
"""

from collections.abc import Sequence
from typing import Any, Final

from vcdebug.model.names import TaskKey
from vcdebug.model.task import TaskInfo

CallSubject = tuple[tuple[str, Any], ...]  # Any: the field decides which
"""Names, the candidate tasks, or a vote."""
CallResult = Any  # Any: each extension point has its own form
"""What was answered, as plain data."""
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
    """Tasks from which several plugins are to choose: named once for all of them. Not to be changed."""

    __slots__ = ("_field",)

    def __init__(self, tasks: Sequence[TaskInfo]) -> None:
        super().__init__(tasks)
        self._field: tuple[str, tuple[TaskKey, ...]] | None = None

    @property
    def trace_field(self) -> tuple[str, tuple[TaskKey, ...]]:
        """How a record names them, the same object each time."""
        field = self._field
        if field is None:
            field = self._field = (CANDIDATES, task_keys(self))
        return field


def task_keys(tasks: Sequence[TaskInfo] | None) -> tuple[TaskKey, ...]:
    """The tasks' names."""
    return tuple([task.key for task in tasks]) if tasks else ()


def name_in(subject: CallSubject, field: str) -> str:
    """The name in a field; empty where the call has no such field."""
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
    """The vote that came with the victims, 0 to abstain; None for other calls."""
    for name, value in subject:
        if name == VOTE and isinstance(value, int):
            return value
    return None
