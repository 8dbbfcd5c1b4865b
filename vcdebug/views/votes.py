"""Hook calls tier by tier: the answers of any hook, victims and candidates; and the panel Tiers."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.decisions import votes
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.framework.hooks import JOB_VALID, OVERUSED, PRE_PREDICATE, PREDICATE
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.recording import session_steps
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import VICTIM_POINTS
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.headline import answer_piece, placing_words, task_list
from vcdebug.views.pieces import HERE, NO, SKIPPED, YES, Line, Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.table import Column, Row, Table, table_columns

MAX_NAMED: Final = 3
"""Number of candidates that a sentence names."""
VOTE_COLUMNS = table_columns("tier", "plugin", "answer~", "~")


def rule_words(point: str) -> str:
    """How the answers of a hook point combine, in words."""
    return votes.HOOK_AT[point].recorded_rule.description


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
    call = votes.hook_calls_at(recording, seq)
    title = f"{event.point} for {subject_text(event)}" if subject_text(event) else event.point
    if call is None:
        answer = votes.PluginAnswer(0, event.plugin, "answered", seq, event.result, "")
        return Table(title, VOTE_COLUMNS, [_vote_row(recording, answer)])
    rows = [_vote_row(recording, vote) for vote in call.votes]
    foot = (_outcome_line(call), make_line(muted_piece(f"rule: {rule_words(event.point)}")))
    return Table(title, VOTE_COLUMNS, rows, footer=foot, current=f"event {seq}")


def _vote_row(recording: Recording, vote: votes.PluginAnswer) -> Row:
    event = recording.event_at(vote.seq) if vote.seq is not None else None
    if isinstance(event, HookEvent):
        cell, remark = answer_piece(event), _remark_piece(recording, vote.seq or 0, event)
        return Row(f"event {vote.seq}", (_tier_piece(vote), Piece(vote.plugin, "strong"), cell, remark), vote.seq or 0)
    cells = (_tier_piece(vote), Piece(vote.plugin), muted_piece(f"– {vote.state}"), muted_piece(vote.silence_reason))
    return Row(f"{vote.tier} {vote.plugin}", cells)


def _tier_piece(vote: votes.PluginAnswer) -> Piece:
    return Piece(str(vote.tier) if vote.tier else "")


def _is_forced(recording: Recording, seq: Seq) -> bool:
    return any(note.code == FORCED_CODE for note in recording.notes_at(seq))


def _remark_piece(recording: Recording, seq: Seq, event: HookEvent) -> Piece:
    if _is_forced(recording, seq):
        return Piece("forced", "warn")
    if isinstance(event.result, dict):
        return muted_piece(str(event.result.get("message") or ""))
    return muted_piece("")


def _outcome_line(call: votes.HookCallGroup) -> Line:
    passed, words = outcome_words(call)
    style: Style = "good" if passed else "bad"
    decider = _decider_words(call)
    return make_line(
        "→ ", Piece(f"{YES if passed else NO} {words}", style), muted_piece(f"  {decider}" if decider else "")
    )


def _decider_words(call: votes.HookCallGroup) -> str:
    if call.deciding_plugin:
        return f"{call.deciding_plugin} decides"
    return f"tier {call.deciding_tier} decides" if call.deciding_tier else ""


def outcome_words(call: votes.HookCallGroup) -> tuple[bool, str]:
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
    """The victims of a call, then each candidate against the plugins that were asked, and why others were not."""
    choice = votes.victim_choice(recording, seq)
    title = f"Victims: {event.point} {_search_words(recording, seq, event)}".rstrip()
    if choice is None:
        return Table(title)
    call = choice.question
    asked = [vote for vote in call.votes if vote.seq is not None]
    allowed = Row("allowed", _allowed_cells(choice, asked), call.first_seq)
    rows = [allowed, *(_candidate_row(choice, fate, asked) for fate in choice.outcomes)]
    columns = (*table_columns("candidate@"), *_plugin_columns(asked, seq), *table_columns("outcome~9"))
    foot = (*_iter_silence_lines(recording, call), make_line(muted_piece(f"rule: {rule_words(event.point)}")))
    return Table(title, columns, rows, header=(_victim_outcome(choice),), footer=foot, rest_below=True)


def _search_words(recording: Recording, seq: Seq, event: HookEvent) -> str:
    path = recording.span_tree.path_to(seq)
    node = path[-1].name if path and path[-1].level.name == "NODE" else ""
    parts = (f"for {bare_name(event.task)}" if event.task else "", f"on {node}" if node else "")
    return " ".join(part for part in parts if part)


def _plugin_columns(asked: Sequence[votes.PluginAnswer], seq: Seq) -> Iterator[Column]:
    """A column per plugin, that of the current event with a sign; of several tiers the first plugin names its tier."""
    for before, vote in zip((None, *asked), asked, strict=False):
        begins_tier = vote.tier != asked[-1].tier if before is None else vote.tier != before.tier
        words = f"tier {vote.tier}: {vote.plugin}" if begins_tier else vote.plugin
        yield Column(f"{HERE} {words}" if vote.seq == seq else words, right=True)


def _allowed_cells(choice: votes.VictimDecision, asked: Sequence[votes.PluginAnswer]) -> Line:
    """How many of the candidates each plugin allows, and how many are victims."""
    number, victims = len(choice.outcomes), len(choice.victims)
    cells = (
        muted_piece(SKIPPED)
        if vote.state == "abstained"
        else Piece(f"{len(vote.allowed_victims)} of {number}", "good" if vote.allowed_victims else "bad")
        for vote in asked
    )
    end = Piece(count_noun(victims, "victim"), "good") if victims else Piece(f"{NO} no pod remains", "bad")
    return (muted_piece("allowed"), *cells, end)


def _candidate_row(
    choice: votes.VictimDecision, fate: votes.CandidateOutcome, asked: Sequence[votes.PluginAnswer]
) -> Row:
    """The answer of each plugin about a candidate, and the reasons of those that protect it."""
    reasons = {each.vote.plugin: each.reason or "does not allow it" for each in fate.objections}
    # The column of the plugin shows which one it is.
    words = "; ".join(reasons.values() if len(reasons) == 1 else map(": ".join, reasons.items()))
    end = Piece("victim", "good") if fate.is_victim else Piece(words)
    first = next((each.vote.seq for each in fate.objections), None) or choice.question.first_seq
    cells = (Piece(bare_name(fate.task), "strong"), *(_verdict_piece(vote, fate.task) for vote in asked), end)
    return Row(fate.task, cells, first, ("task", fate.task))


def _verdict_piece(vote: votes.PluginAnswer, task: TaskKey) -> Piece:
    if vote.state != "answered":
        return muted_piece(SKIPPED)
    return Piece(YES, "good") if task in vote.allowed_victims else Piece(NO, "bad")


def _iter_silence_lines(recording: Recording, call: votes.HookCallGroup) -> Iterator[Line]:
    """The plugins whose answer does not count or was forced, and the tiers that leave no victim to the next one."""
    for vote in call.votes:
        if vote.state != "answered":
            words = f"is {vote.state}: {vote.silence_reason}" if vote.silence_reason else vote.state
            yield make_line(Piece(vote.plugin), muted_piece(f" {words}"))
        elif _is_forced(recording, vote.seq or 0):
            yield make_line(Piece(vote.plugin), Piece(" answers what was forced", "warn"))
    asked = list(dict.fromkeys(vote.tier for vote in call.votes if vote.seq is not None))
    for tier, following in pairwise(asked):
        yield make_line(muted_piece(f"tier {tier} leaves no victim, so tier {following} is asked"))


def _victim_outcome(choice: votes.VictimDecision) -> Line:
    """The victims and the tier that decided, or that there are none, then who protects the others, as a sentence."""
    call, protection = choice.question, _protection_words(choice)
    if call.outcome:
        decider = f"tier {call.deciding_tier} decides, " if call.deciding_tier else ""
        words = f"{YES} {decider}victims: {task_list(call.outcome)}"
        return make_line(Piece(words, "good"), f"; {protection}" if protection else "")
    unprotected = "no plugin allows any" if choice.outcomes else "no pod passes the action's own filter"
    return make_line(Piece(f"{NO} no victims: {protection or unprotected}", "bad"))


def _protection_words(choice: votes.VictimDecision) -> str:
    """`gang protects db-0 (db has 1 ready and needs 1)`: the candidates that are no victims, with the first reason."""
    protected = [fate for fate in choice.outcomes if not fate.is_victim and fate.objections]
    objections = [objection for fate in protected for objection in fate.objections]
    if not objections:
        return ""
    plugins = dict.fromkeys(objection.vote.plugin for objection in objections)
    names, number = [fate.task for fate in protected], len(choice.outcomes)
    which = task_list(names) if len(names) <= MAX_NAMED else f"{len(names)} candidates"
    if 1 < number == len(names):
        which = "both candidates" if number == 2 else f"all {number} candidates"
    reason = f" ({objections[0].reason})" if objections[0].reason else ""
    return f"{join_names(plugins)} {verb_for(len(plugins), 'protects')} {which}{reason}"


def is_victims(event: HookEvent) -> bool:
    """Whether a hook call asks for victims."""
    return event.point in VICTIM_POINTS


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


def _iter_judged(recording: Recording) -> Iterator[tuple[votes.VictimDecision, int]]:
    """Yields (decision about victims, index of a candidate) for every candidate of the cycle."""
    judged: Seq = 0
    for seq, event in recording.events_of_type(HookEvent):
        choice = votes.victim_choice(recording, seq) if seq > judged and is_victims(event) else None
        if choice is not None:
            judged = choice.question.last_seq
            yield from ((choice, place) for place in range(len(choice.outcomes)))


def _judged_row(choice: votes.VictimDecision, place: int, plugins: Sequence[str]) -> Row:
    fate = choice.outcomes[place]
    answers = {vote.plugin: _verdict_piece(vote, fate.task) for vote in choice.question.answered}
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
