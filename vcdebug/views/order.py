"""A pop: what left the priority queue, who left it before and after, and what decided between neighbours."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from vcdebug.amount_text import numbers_apart
from vcdebug.explain.equations import asked_by
from vcdebug.explain.orders import Compared, Order, heaps_around, kind_of, order_at, rival, siblings
from vcdebug.explain.victims import next_choice
from vcdebug.framework.combine import Tiers
from vcdebug.framework.hooks import JOB_ORDER, QUEUE_ORDER, SUB_JOB_ORDER, TASK_ORDER
from vcdebug.framework.record import PopEvent, Span
from vcdebug.model.names import Seq, TaskKey
from vcdebug.trace.recording import Recording
from vcdebug.views.base import HERE, Column, Piece, Row, Table, line, muted
from vcdebug.views.names import bare

COLUMNS = (
    Column("turn", right=True),
    Column(""),
    Column("name", name=True),
    Column("goes before the next because", flexible=True, least=24),
    Column("decided by", flexible=True, least=16),
)
AROUND = 50
_HOOKS = {
    "job": JOB_ORDER.method,
    "queue": QUEUE_ORDER.method,
    "task": TASK_ORDER.method,
    "subjob": SUB_JOB_ORDER.method,
    "victim": TASK_ORDER.method,
}
_TIES = {
    "job": "older PodGroup, then smaller id",
    "queue": "older queue, then smaller name",
    "task": "index in the pod's name, then older pod, then smaller UID",
    "subjob": "match index, then smaller id",
    "victim": "queue, then reverse order of jobs, then reverse order of tasks",
}
_SAME_DAY = len("2026-10-31T")


def order(recording: Recording, seq: Seq, event: PopEvent) -> Table:
    """Neighbouring pops of the same queue, each with the comparison that put it before the next."""
    pops, kind = siblings(recording, seq), kind_of(recording, seq) or event.kind
    rows = list(_pop_rows(recording, pops, seq))
    words = f"{event.left} left in the queue" if event.left else "the queue is empty now"
    head = (
        line("pop ", Piece(bare(event.name), "strong"), f"  {words}"),
        line(muted(_comparators(recording, kind))),
    )
    return Table(f"Order: {kind}s", COLUMNS, rows, head=head, current=f"event {seq}")


def orders(recording: Recording, seq: Seq) -> Table:
    """Every queue of elements that is open around an event: queues, jobs, tasks and victims, as they left it."""
    rows: list[Row] = []
    current = ""
    for span, kind, pops in heaps_around(recording, seq):
        rows.append(_section(span, kind, len(pops)))
        here = bisect_right(pops, seq) - 1
        rows += _pop_rows(recording, pops, pops[max(here, 0)])
        current = f"event {pops[here]}" if here >= 0 else current
    foot = () if rows else (line(muted("nothing leaves a queue here: orders are those inside an action")),)
    return Table("Order", COLUMNS, rows, foot=foot, current=current)


def _section(span: Span, kind: str, size: int) -> Row:
    where = f"{span.level.name.lower()} {bare(span.name)}"
    cells = (muted(""), Piece(""), Piece(f"{kind}s of {where}", "title"), muted(f"{size} left it"), muted(""))
    return Row(f"span {span.index} {kind}", cells, span.first)


def _pop_rows(recording: Recording, pops: Sequence[Seq], here: Seq) -> Iterator[Row]:
    """The pops around one of them, then the victims that stayed."""
    place = bisect_left(pops, here)
    first = max(place - AROUND, 0)
    for index, each in enumerate(pops[first : place + AROUND + 1], start=first):
        yield _row(recording, each, index - place)
    if place + AROUND >= len(pops):
        for task in _left_behind(recording, pops[-1]):
            yield _stays(recording, pops[-1], task)


def _left_behind(recording: Recording, seq: Seq) -> tuple[TaskKey, ...]:
    """Victims that were never taken out of the queue that a pop left: there was room without them."""
    choice = next_choice(recording, seq) if kind_of(recording, seq) == "victim" else None
    if choice is None:
        return ()
    gone = [event.name for each in siblings(recording, seq) if isinstance(event := recording.event(each), PopEvent)]
    return tuple(task for task in dict.fromkeys(choice.victims) if task not in gone)


def _row(recording: Recording, seq: Seq, turn: int) -> Row:
    event = recording.event(seq)
    assert isinstance(event, PopEvent)
    why, by = _decided(recording, seq)
    cells = (
        muted(f"{turn:+}" if turn else "now"),
        Piece(HERE if not turn else "", "here"),
        Piece(event.name, "strong" if not turn else ""),
        why,
        muted(by),
    )
    kind = event.kind if event.kind in ("job", "queue", "task") else ""
    return Row(f"event {seq}", cells, seq, (kind, event.name if kind else ""))


def _stays(recording: Recording, seq: Seq, task: TaskKey) -> Row:
    found = order_at(recording, seq, task)
    decided = found.deciding if found is not None else None
    words = f": {step_words(decided)}" if decided is not None else ""
    cells = (muted("–"), Piece(""), muted(task), muted(f"stays{words}"), muted(asked_by(decided) if decided else ""))
    return Row(f"stays {task}", cells, subject=("task", task))


def _decided(recording: Recording, seq: Seq) -> tuple[Piece, str]:
    """The deciding comparison in words, and whose it was."""
    event, other = recording.event(seq), rival(recording, seq)
    assert isinstance(event, PopEvent)
    if other is None:
        return muted(f"the last one; {event.left} never taken" if event.left else "the last one"), ""
    found = order_at(recording, seq, other.name)
    decided = found.deciding if found is not None else None
    if found is None or decided is None:
        return muted("–"), ""
    words = f"{step_words(decided)}  {bare(other.name)}"
    if found.sign > 0:
        return muted(f"would be second, but the other came later: {words}"), asked_by(decided)
    return Piece(words), _by(found, decided)


def _by(found: Order, decided: Compared) -> str:
    unknown = [step.plugin for step in found.steps if not step.difference.known]
    return f"{asked_by(decided)}, unless {', '.join(unknown)}" if unknown else asked_by(decided)


def step_words(step: Compared) -> str:
    """`priority 100 > 10`, `drf share 0.31 < 0.5`, `created 10:02:00 before 10:05:00`."""
    what, left, right = step.difference.what, step.difference.left, step.difference.right
    if isinstance(left, bool) or isinstance(right, bool):
        return f"{what}: {'yes' if left else 'no'} before {'yes' if right else 'no'}"
    if isinstance(left, float | int) and isinstance(right, float | int):
        return f"{what} {_numbers(left, right)}"
    one, two = str(left), str(right)
    if what == "created" and one[:_SAME_DAY] == two[:_SAME_DAY]:
        one, two = one[_SAME_DAY:].rstrip("Z"), two[_SAME_DAY:].rstrip("Z")
    return f"{what} {one} before {two}"


def _numbers(left: float, right: float) -> str:
    """Few digits, but as many as tell the two apart."""
    sign = "<" if left < right else ">" if left > right else "="
    one, two = numbers_apart(left, right)
    return f"{one} {sign} {two}"


def _comparators(recording: Recording, kind: str) -> str:
    tiers = recording.session.plugin_calls.get(_HOOKS.get(kind, ""), Tiers())
    names = [plugin_call.plugin for tier in tiers for plugin_call in tier]
    asked = f"{', '.join(names)} compare; then " if names else "no plugin compares; "
    return f"{asked}{_TIES.get(kind, '')}"
