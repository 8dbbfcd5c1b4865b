"""With task state persistence: somebody else bound the pod to another node while the cycle ran."""

from __future__ import annotations

from vcdebug.explain.advice import owner
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.framework.quirks import BOUND_ELSEWHERE

CAUSE = "bound-elsewhere"


def bound_elsewhere(view: JobView) -> Finding | None:
    """None unless a bind of the job, or of the pod that was asked about, failed because of it."""
    tasks = {f"{task.key} ": task for task in view.tasks.values() if view.pod in (None, task.key)}
    for note in view.recording.notes:
        task = next((task for start, task in tasks.items() if note.text.startswith(start)), None)
        if note.code == BOUND_ELSEWHERE and task is not None:
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
