"""capacity gave up on its tree of queues: every job and task of the cycle is refused, whatever it asks for."""

from __future__ import annotations

from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.framework.quirks import QUEUE_TREE_SPOILT
from vcdebug.model.names import Seq

ADVICE = (
    "move the job to a leaf queue, or give the queue an existing parent: one fault stops every queue",
    "see vcdebug inspect for what is missing",
)


def spoilt_tree(case: Case, seq: Seq, plugin: str) -> Finding | None:
    """None where the tree is in force; `seq` is the refusal."""
    notes = [note for note in case.recording.notes if note.code == QUEUE_TREE_SPOILT]
    if not notes:
        return None
    sentence = f"{case.job.uid} is refused like every other: {notes[0].text}."
    evidence = (Evidence(seq, f"{plugin} refuses without looking at amounts"),)
    return Finding(QUEUE_TREE_SPOILT, sentence, {}, evidence, ADVICE)
