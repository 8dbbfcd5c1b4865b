"""With task state persistence: somebody else bound the pod to another node while the cycle ran."""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.explain.advice import owner
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.framework.quirks import BOUND_ELSEWHERE
from vcdebug.framework.record import Note
from vcdebug.model.names import TaskKey
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

CAUSE = "bound-elsewhere"


def bound_elsewhere(view: JobView) -> Finding | None:
    """None unless a bind of the job, or of the pod that was asked about, failed because of it."""
    tasks = {task.key: task for task in view.tasks.values() if view.pod in (None, task.key)}
    for key, note in _notes(view.recording).items():
        task = tasks.get(key)
        if task is not None:
            node = view.recording.snapshot.bound[task.key]
            sentence = (
                f"{task.name} is not bound by this cycle: somebody else bound it to {node} while the cycle ran, so the "
                "bind is an error, and the pod loses what an earlier cycle had written on it."
            )
            return Finding(
                CAUSE,
                sentence,
                {},
                (Evidence(note.seq, note.text),),
                (owner(f"wait for the next cycle: it finds the pod on {node}"),),
            )
    return None


@per_recording()
def _notes(recording: Recording) -> Mapping[TaskKey, Note]:
    """Which binds failed because of it: the first note of each pod, in order."""
    notes = (note for note in recording.notes if note.code == BOUND_ELSEWHERE)
    found: dict[TaskKey, Note] = {}
    for note in notes:
        found.setdefault(note.text.split(" ", 1)[0], note)
    return found
