"""A pop: what left the priority queue, and who left it before and after."""

from __future__ import annotations

from bisect import bisect_left

from vcdebug.framework.combine import Tiers
from vcdebug.framework.record import PopEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import HERE, Column, Piece, Row, Table, line, muted
from vcdebug.views.names import bare

COLUMNS = (
    Column("turn", right=True),
    Column(""),
    Column("name"),
    Column("left", right=True),
    Column("known", flexible=True),
)
AROUND = 50
LOOKED_AT = 2_000
NOBODY = Tiers()
_HOOKS = {"job": "job_order", "queue": "queue_order", "task": "task_order", "subjob": "sub_job_order"}
_TIES = {
    "job": "older PodGroup, then smaller id",
    "queue": "older queue, then smaller name",
    "task": "index in the pod's name, then older pod, then smaller UID",
    "subjob": "match index, then smaller id",
}


def order(recording: Recording, seq: Seq, event: PopEvent) -> Table:
    """Neighbouring pops of the same kind in the enclosing span, with what the comparison looks at."""
    earlier, later = _neighbours(recording, seq, event.kind, step=-1), _neighbours(recording, seq, event.kind, step=1)
    shown = [*reversed(earlier), seq, *later]
    rows = [_row(recording, s, number - len(earlier), s == seq) for number, s in enumerate(shown)]
    words = f"{event.left} left in the queue" if event.left else "the queue is empty now"
    head = (
        line("pop ", Piece(bare(event.name), "strong"), f"  {words}"),
        line(muted(_comparators(recording, event.kind))),
    )
    return Table(f"Order: {event.kind}s", COLUMNS, rows, head=head, current=f"event {seq}")


def _neighbours(recording: Recording, seq: Seq, kind: str, *, step: int) -> list[Seq]:
    """Pops of the same kind directly in the same span, the nearest first."""
    span, pops = recording.tree.owner(seq), recording.index.of_type(PopEvent)
    first, last = (span.first, span.last) if span is not None else (1, len(recording))
    found: list[Seq] = []
    position = bisect_left(pops, seq) + step
    for _ in range(LOOKED_AT):
        if not 0 <= position < len(pops) or not first <= pops[position] <= last or len(found) == AROUND:
            break
        event = recording.event(pops[position])
        if isinstance(event, PopEvent) and event.kind == kind and recording.tree.owner(pops[position]) is span:
            found.append(pops[position])
        position += step
    return found


def _row(recording: Recording, seq: Seq, turn: int, here: bool) -> Row:
    event = recording.event(seq)
    assert isinstance(event, PopEvent)
    cells = (
        muted(f"{turn:+}" if turn else "now"),
        Piece(HERE if here else "", "here"),
        Piece(event.name, "strong" if here else ""),
        Piece(str(event.left)),
        muted(_known(recording, event)),
    )
    kind = event.kind if event.kind in ("job", "queue", "task") else ""
    return Row(f"event {seq}", cells, seq, (kind, event.name if kind else ""))


def _known(recording: Recording, event: PopEvent) -> str:
    """What comparisons look at."""
    session = recording.session
    if event.kind == "job" and event.name in session.jobs:
        job = session.jobs[event.name]
        return f"priority {job.priority}, minAvailable {job.min_available}, created {job.creation_timestamp}"
    if event.kind == "queue" and event.name in session.queues:
        queue = session.queues[event.name]
        return f"weight {queue.weight}, created {queue.creation_timestamp}"
    if event.kind == "task" and event.name in recording.timeline.tasks:
        task = recording.timeline.tasks[event.name]
        return f"priority {task.priority}, created {task.pod.creation_timestamp}"
    return ""


def _comparators(recording: Recording, kind: str) -> str:
    tiers = recording.session.ballots.get(_HOOKS.get(kind, ""), Tiers())
    names = [ballot.plugin for tier in tiers for ballot in tier]
    asked = f"{', '.join(names)} compare; then " if names else "no plugin compares; "
    return f"{asked}{_TIES.get(kind, '')}"
