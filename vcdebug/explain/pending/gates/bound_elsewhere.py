"""With task state persistence: somebody else bound the pod to another node while the cycle ran."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain.answer import Finding, owner_advice, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.framework.quirks import BOUND_ELSEWHERE
from vcdebug.framework.record import Note
from vcdebug.model.names import TaskKey
from vcdebug.recording.recording import Recording, per_recording

CAUSE = "bound-elsewhere"


def bound_elsewhere(view: JobView) -> Finding | None:
    """None unless a bind of the job, or of the pod that was asked about, failed because of it."""
    tasks = {task.key: task for task in view.tasks.values() if view.pod in (None, task.key)}
    found = next(((tasks[key], note) for key, note in _bound_elsewhere_notes(view.recording) if key in tasks), None)
    if found is None:
        return None
    task, note = found
    node = view.recording.snapshot.bound[task.key]
    sentence = (
        f"{task.name} is not bound by this cycle: somebody else bound it to {node} while the cycle ran, so the bind is "
        "an error, and the pod loses what an earlier cycle had written on it."
    )
    advice = (owner_advice(f"wait for the next cycle: it finds the pod on {node}"),)
    return Finding(CAUSE, sentence, {}, proof_of(note.seq, note.text), advice)


@per_recording()
def _bound_elsewhere_notes(recording: Recording) -> Sequence[tuple[TaskKey, Note]]:
    """Which binds failed because of it, with their pods."""
    notes = (note for note in recording.notes if note.code == BOUND_ELSEWHERE)
    return [(TaskKey(note.text.split(" ", 1)[0]), note) for note in notes]
