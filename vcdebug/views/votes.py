"""Hook calls tier by tier: the answers of any hook, victims and candidates; and the panel Tiers."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from vcdebug.amount_text import count_noun
from vcdebug.explain.decisions.votes import (
    HOOK_AT,
    CandidateOutcome,
    HookCallGroup,
    PluginAnswer,
    VictimDecision,
    hook_calls_at,
    victim_choice,
)
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.framework.hooks import JOB_VALID, OVERUSED, PRE_PREDICATE, PREDICATE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.recording import session_steps
from vcdebug.recording.recording import Recording
from vcdebug.views.equation import task_objections
from vcdebug.views.headline import VICTIM_POINTS, answer_piece, bare_name, placing_words, task_list, task_list_or
from vcdebug.views.pieces import BEST, NO, SKIPPED, YES, Line, Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.table import Column, Row, Table, table_columns

VOTE_COLUMNS = table_columns("tier", "plugin", "answer~", "~")
VICTIM_COLUMNS = table_columns("tier", "plugin", "allows", "answer~")


def rule_words(point: str) -> str:
    """How the answers of a hook point combine, in words."""
    return HOOK_AT[point].recorded_rule.description


def subject_text(event: HookEvent) -> str:
    """The subject of a hook call in words: job, sub job, task and queue, then the other task and the node."""
    parts = [bare_name(name) for name in (event.job, event.sub_job, event.task, event.queue) if name]
    if event.other:
        parts.append(f"other {bare_name(event.other)}")
    if event.node:
        parts.append(f"on {event.node}")
    return " ".join(parts)


def votes_table(recording: Recording, seq: Seq, event: HookEvent) -> Table:
    """The answer of each plugin, why others were not asked, and the combined answer."""
    call = hook_calls_at(recording, seq)
    title = f"{event.point} for {subject_text(event)}" if subject_text(event) else event.point
    if call is None:
        answer = PluginAnswer(0, event.plugin, "answered", seq, event.result, "")
        return Table(title, VOTE_COLUMNS, [_vote_row(recording, answer)])
    rows = [_vote_row(recording, vote) for vote in call.votes]
    foot = (_outcome_line(call), make_line(muted_piece(f"rule: {rule_words(event.point)}")))
    return Table(title, VOTE_COLUMNS, rows, footer=foot, current=f"event {seq}")


def _vote_row(recording: Recording, vote: PluginAnswer) -> Row:
    event = recording.event_at(vote.seq) if vote.seq is not None else None
    if isinstance(event, HookEvent):
        cell, remark = answer_piece(event), _remark_piece(recording, vote.seq or 0, event)
        return Row(f"event {vote.seq}", (_tier_piece(vote), Piece(vote.plugin, "strong"), cell, remark), vote.seq or 0)
    cells = (_tier_piece(vote), Piece(vote.plugin), muted_piece(f"– {vote.state}"), muted_piece(vote.silence_reason))
    return Row(f"{vote.tier} {vote.plugin}", cells)


def _tier_piece(vote: PluginAnswer) -> Piece:
    return Piece(str(vote.tier) if vote.tier else "")


def _is_forced(recording: Recording, seq: Seq) -> bool:
    return any(note.code == FORCED_CODE for note in recording.notes_at(seq))


def _remark_piece(recording: Recording, seq: Seq, event: HookEvent) -> Piece:
    if _is_forced(recording, seq):
        return Piece("forced", "warn")
    if isinstance(event.result, dict):
        return muted_piece(str(event.result.get("message") or ""))
    return muted_piece("")


def _outcome_line(call: HookCallGroup) -> Line:
    passed, words = outcome_words(call)
    style: Style = "good" if passed else "bad"
    decider = _decider_words(call)
    return make_line(
        "→ ", Piece(f"{YES if passed else NO} {words}", style), muted_piece(f"  {decider}" if decider else "")
    )


def _decider_words(call: HookCallGroup) -> str:
    if call.deciding_plugin:
        return f"{call.deciding_plugin} decides"
    return f"tier {call.deciding_tier} decides" if call.deciding_tier else ""


def outcome_words(call: HookCallGroup) -> tuple[bool, str]:
    """(whether the action continues after the combined answer, the answer in words)."""
    value = call.outcome
    if call.point == OVERUSED.upstream:
        return not value, "overused" if value else "not overused"
    if isinstance(value, bool):
        return value, "yes" if value else "no"
    # For these hooks nil means that no plugin objects; for all others it means no result.
    objecting = (JOB_VALID.upstream, PRE_PREDICATE.upstream, PREDICATE.upstream)
    if call.point in objecting or call.point.startswith("Simulate"):
        return value is None, "no objection" if value is None else "objection"
    if value is None:
        return True, "done"
    return True, placing_words(value)


def victims_table(recording: Recording, seq: Seq, event: HookEvent) -> Table:
    """The victims that each plugin allows and protects, what each tier leaves, and the tier that decides."""
    call = hook_calls_at(recording, seq)
    title = f"Victims: {event.point} {_search_words(recording, seq, event)}"
    if call is None:
        return Table(title)
    rows = [row for tier in call.tiers for row in _iter_tier_rows(recording, call, tier)]
    rows = [row._replace(subject=(VICTIMS_SUBJECT, str(call.first_seq))) for row in rows]
    head = (
        make_line(muted_piece("candidates  "), task_list_or(call.candidates, "no pod passes the action's own filter")),
    )
    foot = (_victim_outcome(call), make_line(muted_piece(f"rule: {rule_words(event.point)}")))
    return Table(title, VICTIM_COLUMNS, rows, header=head, footer=foot, current=f"event {seq}")


def _search_words(recording: Recording, seq: Seq, event: HookEvent) -> str:
    path = recording.span_tree.path_to(seq)
    node = path[-1].name if path and path[-1].level.name == "NODE" else ""
    parts = (f"for {bare_name(event.task)}" if event.task else "", f"on {node}" if node else "")
    return " ".join(part for part in parts if part)


def _iter_tier_rows(recording: Recording, call: HookCallGroup, tier: int) -> Iterator[Row]:
    votes = call.tier(tier)
    for position, vote in enumerate(votes):
        yield _answer_row(recording, vote, call.candidates, first=position == 0)
    if any(vote.seq is not None for vote in votes):
        yield _intersection_row(call, tier)


def _answer_row(recording: Recording, vote: PluginAnswer, candidates: Sequence[TaskKey], *, first: bool) -> Row:
    tier = Piece(str(vote.tier)) if first else Piece("")
    if vote.seq is None:
        cells = (tier, Piece(vote.plugin), muted_piece("–"), muted_piece(f"{vote.state}: {vote.silence_reason}"))
        return Row(f"{vote.tier} {vote.plugin}", cells)
    key = f"event {vote.seq}"
    if vote.state == "abstained":
        cells = (tier, Piece(vote.plugin, "strong"), muted_piece("–"), muted_piece("– abstains"))
        return Row(key, cells, vote.seq)
    protected = [task for task in candidates if task not in vote.result]
    reason = _why_protected(recording, vote.seq, protected)
    protects = f"protects {task_list(protected)}{reason}" if protected else ""
    forced = "forced: " if _is_forced(recording, vote.seq) else ""
    if vote.result:
        words = f"{YES} {forced}allows {task_list(vote.result)}" + (f", {protects}" if protects else "")
    else:
        words = f"{NO} {forced}ends the tier" + (f": {protects}" if protects else "")
    cell = Piece(words, "good" if vote.result else "bad")
    allowed = Piece(f"{len(vote.result)} of {len(candidates)}", cell.style)
    return Row(key, (tier, Piece(vote.plugin, "strong"), allowed, cell), vote.seq)


def _why_protected(recording: Recording, seq: Seq, protected: Sequence[TaskKey]) -> str:
    """The first reason and the number of further reasons; empty for none."""
    objections = task_objections(recording, seq)
    reasons = list(dict.fromkeys(objections[task] for task in protected if task in objections))
    if not reasons:
        return ""
    more_words = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return f" ({reasons[0]}{more_words})"


def _intersection_row(call: HookCallGroup, tier: int) -> Row:
    decides = call.deciding_tier == tier
    victims = call.outcome if decides and call.outcome else ()
    if decides:
        verdict = Piece(f"{BEST} tier {tier} decides: {task_list_or(victims, 'none')}", "accent")
    elif not any(vote.seq is not None for vote in call.votes if vote.tier > tier):
        verdict = Piece(f"{NO} no pod remains", "bad")
    else:
        verdict = Piece("→ the next tier is asked", "warn")
    allowed = Piece(f"{len(victims)} of {len(call.candidates)}", "strong" if victims else "bad")
    return Row(f"{tier} ∩", (Piece(""), Piece("∩", "accent"), allowed, verdict))


def _victim_outcome(call: HookCallGroup) -> Line:
    if call.outcome:
        return make_line("→ ", Piece(f"{YES} victims: {task_list(call.outcome)}", "good"))
    return make_line("→ ", Piece(f"{NO} no victims: the action goes on to the next node", "bad"))


def is_victims(event: HookEvent) -> bool:
    """Whether a hook call asks for victims."""
    return event.point in VICTIM_POINTS


# Candidate victims.

VICTIMS_SUBJECT = "victims"
"""Subject kind of the rows that lead to candidates_table; the subject's name is the first event of the call."""
CANDIDATE_COLUMNS = table_columns("candidate@", "fate", "tier#", "by", "why~20", "event#")


def candidates_table(recording: Recording, first: Seq) -> Table | None:
    """A row per objection to a candidate, or one for a candidate without any; None at a call for no victims."""
    choice = victim_choice(recording, first)
    if choice is None:
        return None
    rows = [row for fate in choice.outcomes for row in _candidate_rows(choice, fate)]
    protected = len([fate for fate in choice.outcomes if not fate.is_victim])
    head = make_line(f"{count_noun(len(choice.outcomes), 'candidate')}", muted_piece(f", {protected} protected"))
    on = f" on {choice.node}" if choice.node else ""
    title = f"Candidates for {bare_name(choice.question.task or choice.question.point)}{on}"
    return Table(title, CANDIDATE_COLUMNS, rows, (head,))


def _candidate_rows(choice: VictimDecision, fate: CandidateOutcome) -> list[Row]:
    verdict = Piece(f"{YES} victim", "good") if fate.is_victim else Piece(f"{NO} protected", "bad")
    if not fate.objections:
        tier, reason = muted_piece(str(choice.question.deciding_tier or "")), muted_piece("every voter allows it")
        cells = (Piece(fate.task, "strong"), verdict, tier, Piece(""), reason, Piece(""))
        return [Row(fate.task, cells, choice.question.first_seq, ("task", fate.task))]
    return [
        Row(
            f"{fate.task} {objection.vote.seq}",
            (
                Piece(fate.task if not place else "", "strong"),
                verdict if not place else Piece(""),
                muted_piece(str(objection.vote.tier)),
                Piece(objection.vote.plugin),
                Piece(objection.reason or "does not allow it"),
                muted_piece(str(objection.vote.seq)),
            ),
            objection.vote.seq or 0,
            ("task", fate.task),
        )
        for place, objection in enumerate(fate.objections)
    ]


# Candidate victims against the plugins that judged them.

MAX_JUDGED: Final = 60


def victims_matrix(recording: Recording) -> Iterator[Table]:
    """Candidate victims against the plugins that judged them: the first MAX_JUDGED of the cycle."""
    judged = list(islice(_iter_judged(recording), MAX_JUDGED + 1))
    if not judged:
        return
    plugins = list(dict.fromkeys(vote.plugin for choice, _ in judged for vote in choice.question.votes))
    columns = (Column("candidate victim"), Column("node"), Column("for"), *map(Column, plugins), Column("outcome"))
    rows = [_judged_row(choice, place, plugins) for choice, place in judged[:MAX_JUDGED]]
    note = f"{YES} allows, {NO} protects, {SKIPPED} was not consulted or abstained"
    limit_words = f"; the first {MAX_JUDGED} of the cycle" if len(judged) > MAX_JUDGED else ""
    yield Table("Candidate victims", columns, rows, footer=muted_lines(note + limit_words))


def _iter_judged(recording: Recording) -> Iterator[tuple[VictimDecision, int]]:
    """Yields (decision about victims, index of a candidate) for every candidate of the cycle."""
    judged: Seq = 0
    for seq, event in recording.events_of_type(HookEvent):
        choice = victim_choice(recording, seq) if seq > judged and is_victims(event) else None
        if choice is not None:
            judged = choice.question.last_seq
            yield from ((choice, place) for place in range(len(choice.outcomes)))


def _judged_row(choice: VictimDecision, place: int, plugins: Sequence[str]) -> Row:
    fate = choice.outcomes[place]
    marks = {True: Piece(YES, "good"), False: Piece(NO, "bad")}
    answers = {vote.plugin: marks[fate.task in vote.allowed_victims] for vote in choice.question.answered}
    outcome = Piece("victim", "warn") if fate.is_victim else muted_piece("protected")
    cells = (Piece(fate.task), Piece(choice.node or ""), Piece(choice.question.task))
    judged = (answers.get(plugin, muted_piece(SKIPPED)) for plugin in plugins)
    return Row(f"{choice.question.first_seq} {place}", (*cells, *judged, outcome), choice.question.first_seq)


# The hooks that each plugin registered, and whether the configuration enables them.

TIERS_TITLE = "Tiers"
TIER_COLUMNS = table_columns("tier#", "plugin", "hook", "takes part", "switch~", "how answers combine~16")


def tiers_table(recording: Recording) -> Table:
    """A row per plugin and hook in the order in which they are called, then the event handlers."""
    registrations = list(session_steps.iter_registrations(recording))
    rows = [*map(_registration_row, registrations), *_iter_handler_rows(recording)]
    taking_part = [registration for registration in registrations if registration.takes_part]
    head = (make_line(f"{count_noun(len(registrations), 'hook')} registered, {len(taking_part)} take part"),)
    return Table(TIERS_TITLE, TIER_COLUMNS, rows, header=head, footer=tuple(_iter_unused_lines(recording)))


def _iter_unused_lines(recording: Recording) -> Iterator[Line]:
    """The hook points that no plugin registered."""
    unused = session_steps.unregistered_points(recording)
    if unused:
        yield make_line(muted_piece(f"registered by no plugin here: {', '.join(unused)}"))
    yield make_line(
        muted_piece(f"registered by no plugin of Volcano: {' and '.join(session_steps.NEVER_REGISTERED)}, for scores")
    )


def _registration_row(registration: session_steps.HookRegistration) -> Row:
    state = Piece(
        f"{YES if registration.takes_part else NO} {registration.state}", "good" if registration.takes_part else "bad"
    )
    misspelt = Piece(f"{registration.switch}  ! {registration.misspelt_switch} is not a switch", "warn")
    switch = misspelt if registration.misspelt_switch else muted_piece(registration.switch)
    cells = make_line(str(registration.tier), Piece(registration.plugin, "strong"), registration.hook, state, switch)
    return Row(
        f"{registration.tier} {registration.plugin} {registration.hook}",
        (*cells, muted_piece(rule_words(registration.hook))),
    )


def _iter_handler_rows(recording: Recording) -> Iterator[Row]:
    for plugin, events in session_steps.event_handlers(recording):
        cells = (Piece(""), Piece(plugin, "strong"), Piece("event handler"), Piece(f"{YES} always", "good"))
        yield Row(f"handler {plugin}", (*cells, muted_piece(""), muted_piece(events)))
