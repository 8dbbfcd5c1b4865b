"""One hook call to all plugins: their answers, why others were not asked, the outcome, and victims tier by tier."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from vcdebug.amount_text import join_names
from vcdebug.explain.equation import Equation
from vcdebug.framework.combine import NO_DECIDER, Answer, Answers, PluginCall, RecordedAnswer, Tiers
from vcdebug.framework.hooks import HOOKS, AnyHook
from vcdebug.framework.record import EVICT_OP, HookEvent, Level, OpEvent
from vcdebug.framework.subject import CANDIDATES, TASK, VOTE, CallResult, CallSubject, candidates_in, name_in
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.visits import VICTIM_POINTS
from vcdebug.releases.change import Change

SeatState = Literal["answered", "abstained", "not asked", "switched off"]

HOOK_AT: Final[dict[str, AnyHook]] = {hook.upstream: hook for hook in HOOKS}
"""The hook of a point's name in a trace."""


class PluginAnswer(Struct, frozen=True):
    """One plugin that has the hook, with its tier and its answer, or why it was not asked."""

    tier: int
    """The number of the tier, from 1."""
    plugin: str
    state: SeatState
    seq: Seq | None
    """The event with the plugin's answer; None if the plugin was not asked."""
    result: CallResult
    silence_reason: str
    """Why the plugin was not asked; empty if it answered."""
    added_by: Change | None = None
    """The upstream change that added this hook to the plugin, if the replayed release is older."""

    @property
    def allowed_victims(self) -> tuple[TaskKey, ...]:
        """The victims that the plugin allows; none if it gave no answer that counts."""
        allowed: tuple[TaskKey, ...] = self.result if self.state == "answered" else ()
        return allowed


class HookCallGroup(Struct, frozen=True):
    """All plugin calls of one hook about one subject, and the combined answer."""

    point: str
    subject: CallSubject
    first_seq: Seq
    last_seq: Seq
    votes: tuple[PluginAnswer, ...]
    outcome: Answer
    """The combined answer that the action received, tasks by name; None also if a panic ended the call."""
    deciding_tier: int | None
    """The tier whose answer ended the question; None if the outcome is the default of an unanswered hook."""
    deciding_plugin: str | None
    """The plugin whose answer ended the question; None if no single answer did."""

    @property
    def task(self) -> TaskKey:
        """The task that the hook call is about; empty for none."""
        return name_in(self.subject, TASK)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """The tasks among which the plugins may choose."""
        return candidates_in(self.subject)

    @property
    def answered(self) -> list[PluginAnswer]:
        """The votes whose answer counted."""
        return [vote for vote in self.votes if vote.state == "answered"]

    def tier(self, number: int) -> tuple[PluginAnswer, ...]:
        return tuple(vote for vote in self.votes if vote.tier == number)

    def tier_victims(self, number: int) -> tuple[TaskKey, ...]:
        """The victims that all plugins of a tier allow."""
        return remaining_victims(self.tier(number))

    @property
    def tiers(self) -> tuple[int, ...]:
        """Numbers of the tiers that have a vote."""
        return tuple(dict.fromkeys(vote.tier for vote in self.votes))


class NamedTask(Struct, eq=False):
    """A task known only by name; the name serves as the UID that combining rules compare."""

    uid: TaskKey


class _CutShortError(Exception):
    """Raised if the recording ends before all plugins have answered."""


def _question_of(event: object) -> tuple[str, CallSubject] | None:
    """(point, subject without the plugin's own vote) of a hook call; None for other events."""
    if not isinstance(event, HookEvent):
        return None
    return event.point, tuple([pair for pair in event.subject if pair[0] != VOTE])


def hook_calls_at(recording: Recording, seq: Seq) -> HookCallGroup | None:
    """All plugin calls that a hook event belongs to, with the combined answer; None for other events."""
    event = recording.event_at(seq)
    if not isinstance(event, HookEvent) or event.point not in HOOK_AT:
        return None
    first = _run_start(recording, seq)
    # An action may ask the same question several times in a row.
    while (group := _Replay(recording, first).replay_question()).last_seq < seq:
        first = group.last_seq + 1
    return group


def _run_start(recording: Recording, seq: Seq) -> Seq:
    """The first event of the uninterrupted run of calls of one hook about one subject."""
    question = _question_of(recording.event_at(seq))
    while seq > 1 and _question_of(recording.event_at(seq - 1)) == question:
        seq -= 1
    return seq


class _Replay:
    """Replays one hook call from its recorded answers with the scheduler's own combining rule."""

    def __init__(self, recording: Recording, first: Seq) -> None:
        event = recording.event_at(first)
        assert isinstance(event, HookEvent)
        self.recording = recording
        self.event = event
        self.question = _question_of(event)
        self.hook = HOOK_AT[event.point]
        # The scheduler's own combining rule runs over the recorded answers, since a copy of it could differ.
        self.rule = self.hook.recorded_rule
        self.first_seq = first
        self.next_seq = first
        self.calls: list[RecordedAnswer] = []
        self.tasks: dict[TaskKey, NamedTask] = {}

    def replay_question(self) -> HookCallGroup:
        """Run the hook's combining rule over the recorded answers, and find the tier and plugin that decided."""
        finished, outcome = True, None
        try:
            outcome = self.rule.combine(_recorded_tiers(self.recording, self.event.point), (self,))
        except _CutShortError:
            finished = False
        # The recorded event is part of the group even if the rule called no plugin.
        if not self.calls:
            self.next_call(0, 0, self.event.plugin)
        tier, plugin = self.rule.find_decider(self.calls, outcome) if finished else NO_DECIDER
        votes = tuple(_list_plugin_answers(self.recording, self.hook, self.calls))
        assert self.question is not None
        return HookCallGroup(
            *self.question, self.first_seq, self.next_seq - 1, votes, _name_tasks(outcome), tier, plugin
        )

    def next_call(self, tier: int, place: int, plugin: str) -> Answer:
        event = self.recording.event_at(self.next_seq) if self.next_seq <= len(self.recording) else None
        if not isinstance(event, HookEvent) or event.plugin != plugin or _question_of(event) != self.question:
            raise _CutShortError
        vote = event.vote
        self.calls.append(RecordedAnswer(tier, place, plugin, self.next_seq, event.result, vote))
        self.next_seq += 1
        return self.rule.restore_answer(event.result, vote, self.named_task)

    def named_task(self, key: TaskKey) -> NamedTask:
        return self.tasks.setdefault(key, NamedTask(key))


@per_recording()
def _recorded_tiers(recording: Recording, point: str) -> Tiers:
    """The plugins of a hook; each call takes the replay whose next recorded answer it returns."""
    plugin_calls = recording.session.plugin_calls.get(HOOK_AT[point].method, Tiers())
    tiers = (
        [
            PluginCall(each.plugin, partial(_Replay.next_call, tier=tier, place=place, plugin=each.plugin))
            for place, each in enumerate(calls)
        ]
        for tier, calls in enumerate(plugin_calls, start=1)
    )
    return Tiers(tiers, restarts=plugin_calls.restarts)


def _name_tasks(outcome: Answer) -> Answer:
    if isinstance(outcome, list) and all(isinstance(task, NamedTask) for task in outcome):
        return tuple(task.uid for task in outcome)
    return outcome


def _list_plugin_answers(recording: Recording, hook: AnyHook, calls: Answers) -> Iterator[PluginAnswer]:
    """Yields an entry per plugin with this hook in configuration order; for victims also plugins of later releases."""
    rule, call_at = hook.recorded_rule, {(call.tier, call.position): call for call in reversed(calls)}
    for place, unasked in _unasked_answers(recording, hook.upstream):
        tier, plugin = unasked.tier, unasked.plugin
        call = call_at.get((tier, place)) if place is not None else None
        if call is not None:
            state: SeatState = "abstained" if rule.is_abstention(call) else "answered"
            yield PluginAnswer(tier, plugin, state, call.seq, call.result, "")
        elif place is not None:
            yield PluginAnswer(tier, plugin, "not asked", None, None, rule.explain_not_asked(tier, calls))
        else:
            yield unasked


@per_recording()
def _unasked_answers(recording: Recording, point: str) -> Sequence[tuple[int | None, PluginAnswer]]:
    """(place in its tier's calls, None if it is never asked; its entry until it answers) of each plugin of a hook."""
    hook, answers = HOOK_AT[point], list[tuple[int | None, PluginAnswer]]()
    functions, switches = recording.session.functions.get(hook.method, {}), " and ".join(hook.switches)
    for tier, options in enumerate(recording.conf.tiers, start=1):
        # Only enabled plugins count, as in the calls that were recorded.
        places = count()
        for option in options:
            if option.name not in functions:
                later = _absent_answer(recording, hook, tier, option.name) if point in VICTIM_POINTS else ()
                answers += ((None, answer) for answer in later)
            elif option.is_enabled(hook.switches):
                answers.append((next(places), PluginAnswer(tier, option.name, "not asked", None, None, "")))
            else:
                off = PluginAnswer(tier, option.name, "switched off", None, None, f"{switches} is false")
                answers.append((None, off))
    return answers


def _absent_answer(recording: Recording, hook: AnyHook, tier: int, plugin: str) -> Iterator[PluginAnswer]:
    """Yields an entry for a plugin that has the hook in later releases only; nothing for other plugins."""
    opened_plugin, release = recording.session.plugins.get(plugin), recording.snapshot.release
    later = opened_plugin.later_methods.get(hook.method) if opened_plugin is not None else None
    if later is not None and release.has_older_form(later):
        later_words = f"later releases do: {later.pull}, {join_names(later.fixed_in)}"
        reason = f"{release.display_name()} does not ask it about {hook.upstream} ({later_words})"
        yield PluginAnswer(tier, plugin, "switched off", None, None, reason, later)


def remaining_victims(votes: Sequence[PluginAnswer]) -> tuple[TaskKey, ...]:
    """The victims that every answering plugin of a tier allows, as upstream intersects the answers."""
    victims: tuple[TaskKey, ...] = ()
    for vote in votes:
        if vote.state == "answered":
            allowed = vote.allowed_victims
            victims = tuple(task for task in victims for other in allowed if task == other) if victims else allowed
    return victims


class VictimObjection(NamedTuple):
    """A plugin protects a candidate."""

    vote: PluginAnswer
    reason: str


class CandidateOutcome(Struct, frozen=True):
    """The fate of one candidate: victim or not, and which plugins protected it."""

    task: TaskKey
    is_victim: bool
    objections: tuple[VictimObjection, ...]
    """From all tiers that were asked, in order."""

    @property
    def saved_by(self) -> VictimObjection | None:
        """The first plugin that protected the candidate; None if it is a victim."""
        return None if self.is_victim or not self.objections else self.objections[0]


class VictimDecision(Struct, frozen=True):
    """One decision about victims: the hook call, the victims, and the fate of the candidates."""

    question: HookCallGroup
    node: NodeName | None
    victims: tuple[TaskKey, ...]
    """The victims as the action received them; a candidate can occur twice."""
    outcomes: tuple[CandidateOutcome, ...]
    """The fate of each candidate, in call order."""
    room_equation: Equation | None
    """The equation whether the node has room for the preemptor without all victims; None without a node."""


def victim_choice(recording: Recording, seq: Seq) -> VictimDecision | None:
    """The decision about victims that a hook event belongs to; None for other events."""
    question = _victim_question(recording, seq)
    return None if question is None else _build_choice(recording, seq, question)


def victim_choice_before(recording: Recording, seq: Seq) -> VictimDecision | None:
    """The decision about victims at an event, else the latest one before it for the same task; None without one."""
    located = _find_question_before(recording, seq)
    return None if located is None else _build_choice(recording, *located)


def victim_question_before(recording: Recording, seq: Seq) -> HookCallGroup | None:
    """As `victim_choice_before`, but without the answers per tier, which take longer to compute."""
    located = _find_question_before(recording, seq)
    return None if located is None else located[1]


def _victim_question(recording: Recording, seq: Seq) -> HookCallGroup | None:
    group = hook_calls_at(recording, seq)
    return None if group is None or group.point not in VICTIM_POINTS else group


def _find_question_before(recording: Recording, seq: Seq) -> tuple[Seq, HookCallGroup] | None:
    """(event, hook call) of the victim question at `seq`, else of the latest one before it for the same task."""
    question = _victim_question(recording, seq)
    if question is not None:
        return seq, question
    node, task = (recording.span_tree.span_around(seq, level) for level in (Level.NODE, Level.TASK))
    span, event = node or task, recording.event_at(seq)
    found = _latest_question(recording, seq, 1 if span is None else span.first)
    if found is None and task is not None and isinstance(event, OpEvent):
        # A dry run asks about each node in turn, and the evictions follow behind the last of them.
        return _latest_question(recording, seq, task.first, event.task)
    return found


def _latest_question(
    recording: Recording, seq: Seq, first: Seq, candidate: TaskKey = ""
) -> tuple[Seq, HookCallGroup] | None:
    """(event, hook call) of the latest victim question from `first` on before `seq`, with this candidate if named."""
    for earlier, event in recording.events_before(HookEvent, seq, first):
        if event.point in VICTIM_POINTS and (not candidate or candidate in event.candidates):
            question = _victim_question(recording, earlier)
            if question is not None:
                return earlier, question
    return None


def _build_choice(recording: Recording, seq: Seq, question: HookCallGroup) -> VictimDecision:
    from vcdebug.explain.decisions.equations import room_equation

    victims, span = tuple(question.outcome or ()), recording.span_tree.span_around(seq, Level.NODE)
    fates, room = tuple(_iter_fates(recording, question, victims)), None
    if question.task and span is not None:
        room = room_equation(recording, question.first_seq, question.task, span.name, victims)
    return VictimDecision(question, None if span is None else span.name, victims, fates, room)


def _iter_fates(
    recording: Recording, question: HookCallGroup, victims: tuple[TaskKey, ...]
) -> Iterator[CandidateOutcome]:
    from vcdebug.explain.decisions.equations import equation_at

    answered = [(vote, equation_at(recording, vote.seq)) for vote in question.answered if vote.seq]
    terms = [(vote, () if found is None else found.terms) for vote, found in answered]
    notes = [(vote, {term.name: term.note for term in of_vote if not term.is_met}) for vote, of_vote in terms]
    for task in question.candidates:
        objections = (
            VictimObjection(vote, reasons.get(task, "")) for vote, reasons in notes if task not in vote.allowed_victims
        )
        yield CandidateOutcome(task, task in victims, tuple(objections))


def _notes_if_asked(recording: Recording, seq: Seq, plugin: str, candidates: tuple[TaskKey, ...]) -> dict[TaskKey, str]:
    """Candidate → why a plugin would protect it, if the plugin had been asked about these candidates at an event."""
    from vcdebug.explain.plugins import explainer_for

    event = recording.event_at(seq)
    assert isinstance(event, HookEvent)
    compute = explainer_for(plugin).equations.get(event.point)
    if compute is None:
        return {}
    subject = tuple((name, candidates if name == CANDIDATES else value) for name, value in event.subject)
    equation = compute(recording, seq, event._replace(plugin=plugin, subject=subject))
    return {term.name: term.note for term in equation.terms if term.is_met is False}


def earlier_tier_facts(
    recording: Recording, empty_votes: Sequence[PluginAnswer], tier: int, *, detailed: bool
) -> tuple[str, ...]:
    """`Tier 1 (gang) allows no victim, so tier 2 decided.`, if `detailed` with the reason that is the same for all
    candidates; none if no earlier tier answered.
    """
    if not empty_votes:
        return ()
    tiers = join_names(dict.fromkeys(str(vote.tier) for vote in empty_votes))
    notes = ((vote.plugin, _common_note(recording, vote) if detailed else "") for vote in empty_votes)
    plugins = join_names(dict.fromkeys(f"{plugin}{note}" for plugin, note in notes))
    return (f"Tier {tiers} ({plugins}) allows no victim, so tier {tier} decided.",)


def _common_note(recording: Recording, vote: PluginAnswer) -> str:
    """`: ` and the reason for which a plugin protects all candidates; empty if it has several or none."""
    from vcdebug.explain.decisions.equations import equation_at

    equation = equation_at(recording, vote.seq) if vote.seq else None
    notes = {term.note for term in (equation.terms if equation is not None else ()) if not term.is_met}
    return f": {notes.pop()}" if len(notes) == 1 and notes != {""} else ""


class UnaskedPlugin(Struct, frozen=True):
    """A plugin that was not asked about victims, and whether it would have protected the evicted one."""

    question: HookCallGroup
    vote: PluginAnswer
    note: str
    """Why the plugin would have protected the victim, in words."""
    protects: bool

    @property
    def text(self) -> str:
        """A sentence: whether the plugin would protect the victim, and why it was not asked."""
        part = "was not consulted" if self.vote.state == "not asked" else "did not take part"
        protection = f" would protect it{f' ({self.note})' if self.note else ''}, but" if self.protects else ""
        return f"{self.vote.plugin} (tier {self.vote.tier}){protection} {part}: {self.vote.silence_reason}."


def unasked_plugins(recording: Recording, question: HookCallGroup, eviction_seq: Seq) -> Iterator[UnaskedPlugin]:
    """Yields the plugins that were not asked about the victim of an eviction, and what they would have answered in
    that state about the pods evicted since the hook call `question`, the victim as the last of them.
    """
    events = (recording.event_at(seq) for seq in range(question.last_seq + 1, eviction_seq + 1))
    victims = tuple(event.task for event in events if isinstance(event, OpEvent) and event.op == EVICT_OP)
    for vote in question.votes:
        if vote.state in ("not asked", "switched off"):
            notes = _notes_if_asked(recording, question.first_seq, vote.plugin, victims)
            yield UnaskedPlugin(question, vote, notes.get(victims[-1], ""), victims[-1] in notes)
