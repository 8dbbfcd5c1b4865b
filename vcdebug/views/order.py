"""The panel Order: pops of a priority queue, and the comparison that decided between neighbours."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from vcdebug.amount_text import format_numbers_apart
from vcdebug.explain import orders
from vcdebug.explain.decisions.equations import format_asker
from vcdebug.explain.decisions.votes import victim_choice_before
from vcdebug.framework.combine import Tiers
from vcdebug.framework.record import PopEvent, Span
from vcdebug.model.names import Seq, TaskKey
from vcdebug.recording.event_index import seq_after
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.pieces import HERE, Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, empty_table, table_columns

ORDER_COLUMNS = table_columns("turn#", "", "name@", "goes before the next because~24", "decided by~16")
ROWS_AROUND = 50
_TIE_RULES = {
    "job": "older PodGroup, then smaller id",
    "queue": "older queue, then smaller name",
    "task": "index in the pod's name, then older pod, then smaller UID",
    "subjob": "match index, then smaller id",
    "victim": "queue, then reverse order of jobs, then reverse order of tasks",
}
_SAME_DAY = len("2026-10-31T")


def pops_table(recording: Recording, seq: Seq, event: PopEvent) -> Table:
    """The pops around this one from the same priority queue, each with its comparison with the next pop."""
    pops, kind = orders.sibling_pops(recording, seq), orders.pop_kind(recording, seq) or event.kind
    rows = list(_iter_pop_rows(recording, pops, seq))
    words = f"{event.left} left in the queue" if event.left else "the queue is empty now"
    head = (
        make_line("pop ", Piece(bare_name(event.name), "strong"), f"  {words}"),
        make_line(muted_piece(_comparator_words(recording, kind))),
    )
    return Table(f"Order: {kind}s", ORDER_COLUMNS, rows, header=head, current=f"event {seq}")


def orders_table(recording: Recording, seq: Seq) -> Table:
    """All priority queues in use at an event: queues, jobs, tasks and victims, in the order of their pops."""
    rows: list[Row] = []
    current = ""
    for span, kind, pops in orders.heaps_around(recording, seq):
        rows.append(_section_row(span, kind, len(pops)))
        index = bisect_right(pops, seq) - 1
        rows += _iter_pop_rows(recording, pops, pops[max(index, 0)])
        current = f"event {pops[index]}" if index >= 0 else current
    if not rows:
        following = seq_after(recording.index.seqs_of_type(PopEvent), seq)
        return empty_table("Order", "nothing leaves a queue here", "pop", following)
    return Table("Order", ORDER_COLUMNS, rows, current=current)


COMPARISON_COLUMNS = table_columns("#", "goes first@", "before@", "because~24", "decided by~16")
MAX_COMPARISONS = 200


def comparisons_table(recording: Recording, seq: Seq, event: PopEvent, title: str, inside: int) -> Table:
    """Every comparison that led to a pop, with the figures up to the first difference."""
    comparisons = orders.comparisons_at(recording, seq)
    first = max(inside - MAX_COMPARISONS, 0)
    numbered = enumerate(comparisons[first : first + MAX_COMPARISONS], start=first + 1)
    rows = [_comparison_row(number, order, event.name) for number, order in numbered]
    words = "in the order of the calls: as elements came into the queue, and as the pop before took the first one"
    leave_words = ("f leaves them",) if inside else ()
    cut = (f"{MAX_COMPARISONS} of {len(comparisons)}; the log has all",) if len(comparisons) > MAX_COMPARISONS else ()
    none = () if comparisons else ("nothing is compared: the queue has one element",)
    foot = tuple(
        make_line(muted_piece(text)) for text in (*cut, *none, *leave_words, *((words,) if comparisons else ()))
    )
    title, current = f"{title} of the pop of {bare_name(event.name)}", f"comparison {inside}" if inside else ""
    return Table(title, COMPARISON_COLUMNS, rows, footer=foot, current=current)


def _comparison_row(number: int, order: orders.OrderComparison, popped: str) -> Row:
    decided = order.deciding_step
    equal = (f"{step.difference.label} equal" for step in order.steps if not step.order_sign and step.plugin)
    reasons = ", ".join((*((step_words(decided),) if decided is not None else ()), *equal))
    kind = order.kind if order.kind in ("job", "queue", "task") else "task" if order.kind == "victim" else ""
    cells = (
        muted_piece(str(number)),
        Piece(order.left, "strong" if order.left == popped else ""),
        Piece(order.right),
        Piece(reasons),
        muted_piece("" if decided is None else _decider_words(order, decided)),
    )
    return Row(f"comparison {number}", cells, subject=(kind, order.left if kind else ""))


def _section_row(span: Span, kind: str, size: int) -> Row:
    place = f"{span.level.name.lower()} {bare_name(span.name)}"
    title, count = Piece(f"{kind}s of {place}", "title"), muted_piece(f"{size} popped")
    cells = (muted_piece(""), Piece(""), title, count, muted_piece(""))
    return Row(f"span {span.index} {kind}", cells, span.first)


def _iter_pop_rows(recording: Recording, pops: Sequence[Seq], current: Seq) -> Iterator[Row]:
    """Rows for the pops around the current one, then for victims that were never popped."""
    place = bisect_left(pops, current)
    first = max(place - ROWS_AROUND, 0)
    for index, seq in enumerate(pops[first : place + ROWS_AROUND + 1], start=first):
        yield _pop_row(recording, seq, index - place)
    if place + ROWS_AROUND >= len(pops):
        for task in _unpopped_victims(recording, pops[-1]):
            yield _staying_row(recording, pops[-1], task)


def _unpopped_victims(recording: Recording, seq: Seq) -> tuple[TaskKey, ...]:
    """Victims that were never popped, since there was enough room without evicting them."""
    choice = victim_choice_before(recording, seq) if orders.pop_kind(recording, seq) == "victim" else None
    if choice is None:
        return ()
    pops = (recording.event_at(pop_seq) for pop_seq in orders.sibling_pops(recording, seq))
    popped = [event.name for event in pops if isinstance(event, PopEvent)]
    return tuple(task for task in dict.fromkeys(choice.victims) if task not in popped)


def _pop_row(recording: Recording, seq: Seq, turn: int) -> Row:
    event = recording.event_at(seq)
    assert isinstance(event, PopEvent)
    decision, decider = _decision_cells(recording, seq)
    cells = (
        muted_piece(f"{abs(turn)} {'later' if turn > 0 else 'earlier'}" if turn else "now"),
        Piece(HERE if not turn else "", "here"),
        Piece(event.name, "strong" if not turn else ""),
        decision,
        muted_piece(decider),
    )
    kind = event.kind if event.kind in ("job", "queue", "task") else ""
    return Row(f"event {seq}", cells, seq, (kind, event.name if kind else ""))


def _staying_row(recording: Recording, seq: Seq, task: TaskKey) -> Row:
    order = orders.order_at(recording, seq, task)
    decided = order.deciding_step if order is not None else None
    words = f": {step_words(decided)}" if decided is not None else ""
    asker = format_asker(decided) if decided else ""
    cells = (muted_piece("–"), Piece(""), muted_piece(task), muted_piece(f"stays{words}"), muted_piece(asker))
    return Row(f"stays {task}", cells, subject=("task", task))


def _decision_cells(recording: Recording, seq: Seq) -> tuple[Piece, str]:
    """(the deciding comparison in words, the plugin that made it)."""
    event, other = recording.event_at(seq), orders.next_rival(recording, seq)
    assert isinstance(event, PopEvent)
    if other is None:
        return muted_piece(f"no next one; {event.left} never taken" if event.left else "no next one"), ""
    order = orders.order_at(recording, seq, other.name)
    decided = order.deciding_step if order is not None else None
    if order is None or decided is None:
        return muted_piece("–"), ""
    words = f"{step_words(decided)}  {bare_name(other.name)}"
    # The next element sorts before this one, so it was pushed after this pop.
    if order.order_sign > 0:
        return muted_piece(f"would be second, but the other came later: {words}"), format_asker(decided)
    return Piece(words), _decider_words(order, decided)


def _decider_words(order: orders.OrderComparison, decided: orders.OrderStep) -> str:
    unknown = [step.plugin for step in order.steps if not step.difference.is_recorded]
    return f"{format_asker(decided)}, unless {', '.join(unknown)}" if unknown else format_asker(decided)


def step_words(step: orders.OrderStep) -> str:
    """`priority 100 > 10`, `drf share 0.31 < 0.5`, `created 10:02:00 before 10:05:00`."""
    figure_name, left, right = step.difference.label, step.difference.left, step.difference.right
    # bool before int: True is an int in Python.
    if isinstance(left, bool) or isinstance(right, bool):
        return f"{figure_name}: {'yes' if left else 'no'} before {'yes' if right else 'no'}"
    if isinstance(left, float | int) and isinstance(right, float | int):
        return f"{figure_name} {_number_words(left, right)}"
    before, after = str(left), str(right)
    if figure_name == "created" and before[:_SAME_DAY] == after[:_SAME_DAY]:
        before, after = before[_SAME_DAY:].rstrip("Z"), after[_SAME_DAY:].rstrip("Z")
    return f"{figure_name} {before} before {after}"


def _number_words(left: float, right: float) -> str:
    """`left < right` with as many digits as make the two differ."""
    sign = "<" if left < right else ">" if left > right else "="
    return f" {sign} ".join(format_numbers_apart(left, right))


def _comparator_words(recording: Recording, kind: str) -> str:
    order = orders.ORDERS.get("task" if kind == "victim" else kind)
    tiers = recording.session.plugin_calls.get(order.method, Tiers()) if order is not None else Tiers()
    names = [plugin_call.plugin for tier in tiers for plugin_call in tier]
    compare_words = f"{', '.join(names)} compare; then " if names else "no plugin compares; "
    return f"{compare_words}{_TIE_RULES.get(kind, '')}"
