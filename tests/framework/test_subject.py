"""The subject of a hook call has named fields, for every hook and every recording."""

import pytest

from tests.recorded import GOLDEN, golden
from vcdebug.framework.record import HookEvent

ACCESSORS = {
    "task": "task",
    "other": "other",
    "job": "job",
    "subjob": "sub_job",
    "queue": "queue",
    "node": "node",
    "hypernode": "hyper_node",
    "candidates": "candidates",
    "vote": "vote",
}
"""Field of the trace -> attribute of the event."""
WORDS = {"purpose"}
"""Fields without an attribute of their own."""


def calls(name: str) -> list[HookEvent]:
    return [event for event in golden(name).events if isinstance(event, HookEvent)]


@pytest.mark.parametrize("name", GOLDEN)
def test_each_field_of_a_call_is_read_by_its_name_and_the_others_are_empty(name: str) -> None:
    for event in calls(name):
        stated = {ACCESSORS[field]: value for field, value in event.subject if field not in WORDS}
        read = {accessor: getattr(event, accessor) for accessor in ACCESSORS.values()}
        assert stated == {accessor: value for accessor, value in read.items() if accessor in stated}
        assert not any(value for accessor, value in read.items() if accessor not in stated)
        assert ("candidates" in stated) == event.offers


def test_victims_are_the_answer_of_hooks_that_name_tasks() -> None:
    event = HookEvent("Preemptable", "gang", (("task", "a/b"), ("candidates", ("a/c", "a/d")), ("vote", 1)), ("a/d",))
    assert ("a/b", ("a/c", "a/d"), 1, ("a/d",)) == (event.task, event.candidates, event.vote, event.victims)
    assert () == HookEvent("JobReady", "gang", (("job", "a/b"),), True).victims
