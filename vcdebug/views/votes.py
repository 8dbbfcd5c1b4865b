"""One question to the plugins, tier by tier: votes of any hook, and victims with the tier that decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.explain.votes import HOOK_AT, Question, Seat, question
from vcdebug.framework.forced import FORCED
from vcdebug.framework.hooks import JOB_VALID, OVERUSED, PRE_PREDICATE, PREDICATE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.trace.recording import Recording
from vcdebug.views.base import BEST, NO, YES, Column, Line, Piece, Row, Style, Table, line, muted
from vcdebug.views.equation import objections
from vcdebug.views.fates import VICTIMS
from vcdebug.views.headline import VICTIM_POINTS, answer, placing_words
from vcdebug.views.names import bare, list_or, task_list

VOTE_COLUMNS = (Column("tier"), Column("plugin"), Column("answer", flexible=True), Column("", flexible=True))
VICTIM_COLUMNS = (
    Column("tier"),
    Column("plugin"),
    Column("offers", flexible=True),
    Column("answer", flexible=True),
)


def rule_words(point: str) -> str:
    """How answers of a hook combine, in words."""
    return HOOK_AT[point].recorded_rule.words


def asked_about(event: HookEvent) -> str:
    """The question's subject in words."""
    parts = [bare(name) for name in (event.job, event.sub_job, event.task, event.queue) if name]
    if event.other:
        parts.append(f"other {bare(event.other)}")
    if event.node:
        parts.append(f"on {event.node}")
    return " ".join(parts)


def votes(recording: Recording, seq: Seq, event: HookEvent) -> Table:
    """Who answered what, who was not asked and why, and the outcome."""
    asked = question(recording, seq)
    title = f"{event.point} for {asked_about(event)}" if asked_about(event) else event.point
    if asked is None:
        return Table(
            title, VOTE_COLUMNS, [_vote_row(recording, Seat(0, event.plugin, "answered", seq, event.result, ""))]
        )
    rows = [_vote_row(recording, seat) for seat in asked.seats]
    foot = (_outcome(asked), line(muted(rule_words(event.point))))
    return Table(title, VOTE_COLUMNS, rows, foot=foot, current=f"event {seq}")


def _vote_row(recording: Recording, seat: Seat) -> Row:
    event = recording.event(seat.seq) if seat.seq is not None else None
    if isinstance(event, HookEvent):
        said, remark = answer(event), _message(recording, seat.seq or 0, event)
        return Row(f"event {seat.seq}", (_tier(seat), Piece(seat.plugin, "strong"), said, remark), seat.seq or 0)
    cells = (_tier(seat), Piece(seat.plugin), muted(f"– {seat.state}"), muted(seat.why))
    return Row(f"{seat.tier} {seat.plugin}", cells)


def _tier(seat: Seat) -> Piece:
    return Piece(str(seat.tier) if seat.tier else "")


def _is_forced(recording: Recording, seq: Seq) -> bool:
    return any(note.code == FORCED for note in recording.notes_at(seq))


def _message(recording: Recording, seq: Seq, event: HookEvent) -> Piece:
    if _is_forced(recording, seq):
        return Piece("forced", "warn")
    if isinstance(event.result, dict):
        return muted(str(event.result.get("message") or ""))
    return muted("")


def _outcome(asked: Question) -> Line:
    passed, words = outcome_words(asked)
    style: Style = "good" if passed else "bad"
    by = _decider(asked)
    return line("→ ", Piece(f"{YES if passed else NO} {words}", style), muted(f"  {by}" if by else ""))


def _decider(asked: Question) -> str:
    if asked.deciding_plugin:
        return f"{asked.deciding_plugin} decides"
    return f"tier {asked.deciding_tier} decides" if asked.deciding_tier else ""


def outcome_words(asked: Question) -> tuple[bool, str]:
    """(whether it lets things go on, what the combined answer is)."""
    value = asked.outcome
    if asked.point == OVERUSED.upstream:
        return not value, "overused" if value else "not overused"
    if isinstance(value, bool):
        return value, "yes" if value else "no"
    if asked.point in (JOB_VALID.upstream, PRE_PREDICATE.upstream, PREDICATE.upstream) or asked.point.startswith(
        "Simulate"
    ):
        return value is None, "no objection" if value is None else "objection"
    if value is None:
        return True, "done"
    return True, placing_words(value)


def victims(recording: Recording, seq: Seq, event: HookEvent) -> Table:
    """Whom each plugin offers and spares, what is left of each tier, and the tier that decides."""
    asked = question(recording, seq)
    candidates = event.candidates
    title = f"Victims: {event.point} {_for_whom(recording, seq, event)}"
    if asked is None:
        return Table(title)
    rows = [row for tier in asked.tiers for row in _tier_rows(recording, asked, tier, candidates)]
    rows = [row._replace(subject=(VICTIMS, str(asked.first))) for row in rows]
    head = (line(muted("candidates  "), list_or(candidates, "nobody passes the action's own filter")),)
    foot = (_victim_outcome(asked), line(muted(rule_words(event.point))))
    return Table(title, VICTIM_COLUMNS, rows, head=head, foot=foot, current=f"event {seq}")


def _for_whom(recording: Recording, seq: Seq, event: HookEvent) -> str:
    path = recording.tree.path(seq)
    node = path[-1].name if path and path[-1].level.name == "NODE" else ""
    return " ".join(
        part for part in (f"for {bare(event.task)}" if event.task else "", f"on {node}" if node else "") if part
    )


def _tier_rows(recording: Recording, asked: Question, tier: int, candidates: Sequence[TaskKey]) -> Iterator[Row]:
    seats = asked.tier(tier)
    for position, seat in enumerate(seats):
        yield _seat_row(recording, seat, candidates, first=position == 0)
    if any(seat.seq is not None for seat in seats):
        yield _intersection(asked, tier)


def _seat_row(recording: Recording, seat: Seat, candidates: Sequence[TaskKey], *, first: bool) -> Row:
    tier = Piece(str(seat.tier)) if first else Piece("")
    if seat.seq is None:
        cells = (tier, Piece(seat.plugin), muted("–"), muted(f"{seat.state}: {seat.why}"))
        return Row(f"{seat.tier} {seat.plugin}", cells)
    key = f"event {seat.seq}"
    if seat.state == "abstained":
        cells = (tier, Piece(seat.plugin, "strong"), muted("–"), muted("– abstains"))
        return Row(key, cells, seat.seq)
    spared = [task for task in candidates if task not in seat.result]
    why = _why_spared(recording, seat.seq, spared)
    spares = f"spares {task_list(spared)}{why}" if spared else ""
    forced = "forced: " if _is_forced(recording, seat.seq) else ""
    if seat.result:
        said = Piece(f"{YES} {forced}offers {len(seat.result)}" + (f", {spares}" if spares else ""), "good")
    else:
        said = Piece(f"{NO} {forced}ends the tier" + (f": {spares}" if spares else ""), "bad")
    cells = (
        tier,
        Piece(seat.plugin, "strong"),
        Piece(task_list(seat.result), "good") if seat.result else muted("nobody"),
        said,
    )
    return Row(key, cells, seat.seq)


def _why_spared(recording: Recording, seq: Seq, spared: Sequence[TaskKey]) -> str:
    """The first reason, and that there are more."""
    reasons = objections(recording, seq)
    told = list(dict.fromkeys(reasons[task] for task in spared if task in reasons))
    if not told:
        return ""
    more = f"; and {len(told) - 1} more" if len(told) > 1 else ""
    return f" ({told[0]}{more})"


def _intersection(asked: Question, tier: int) -> Row:
    decides = asked.deciding_tier == tier
    left = asked.outcome if decides and asked.outcome else ()
    if decides:
        said = Piece(f"{BEST} tier {tier} decides", "accent")
    elif not any(seat.seq is not None for seat in asked.seats if seat.tier > tier):
        said = Piece(f"{NO} nobody is left", "bad")
    else:
        said = Piece("→ the next tier is asked", "warn")
    offers = Piece(task_list(left), "strong") if left else Piece("nobody", "bad")
    return Row(f"{tier} ∩", (Piece(""), Piece("∩", "accent"), offers, said))


def _victim_outcome(asked: Question) -> Line:
    if asked.outcome:
        return line("→ ", Piece(f"{YES} victims: {task_list(asked.outcome)}", "good"))
    return line("→ ", Piece(f"{NO} no victims: the action goes on to the next node", "bad"))


def is_victims(event: HookEvent) -> bool:
    """Whether the question is about victims."""
    return event.point in VICTIM_POINTS
