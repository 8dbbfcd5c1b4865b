"""One question to the plugins: the answers, the plugins not asked and why, the outcome; victims tier by tier."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from vcdebug.amount_text import join_names
from vcdebug.explain.equation import Equation
from vcdebug.framework.combine import NO_DECIDER, Answer, Answers, Call, PluginCall, RecordedAnswer, Tiers
from vcdebug.framework.hooks import HOOKS, PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE, AnyHook
from vcdebug.framework.record import EVICT_OP, HookEvent, Level, OpEvent
from vcdebug.framework.subject import CANDIDATES, TASK, VOTE, CallResult, CallSubject, candidates_in, name_in
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording
from vcdebug.releases.change import Change

SeatState = Literal["answered", "abstained", "not asked", "switched off"]

HOOK_AT: Final[dict[str, AnyHook]] = {hook.upstream: hook for hook in HOOKS}
"""The hook of a point's name in a trace."""


@dataclass(frozen=True, slots=True)
class PluginAnswer:
    """A plugin that has this hook, at its place in the configuration."""

    tier: int
    """From 1."""
    plugin: str
    state: SeatState
    seq: Seq | None
    """The event with its answer."""
    result: CallResult
    why: str
    """Why it was not asked."""
    later: Change | None = None
    """The change with which upstream gave it this hook, where the replayed release is older."""


@dataclass(frozen=True, slots=True)
class HookCallGroup:
    """All calls that one question led to."""

    point: str
    subject: CallSubject
    first: Seq
    last: Seq
    seats: tuple[PluginAnswer, ...]
    outcome: Answer
    """The combined answer as the action got it, tasks as names; None also where a panic cut the question short."""
    deciding_tier: int | None
    """The tier whose answer ended the question; None if the outcome is the default of an unanswered hook."""
    deciding_plugin: str | None
    """The plugin whose answer ended the question; None if no single answer did."""

    @property
    def task(self) -> TaskKey:
        """The task that the question is about; empty if it is about none."""
        return name_in(self.subject, TASK)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """The tasks among which the plugins may choose."""
        return candidates_in(self.subject)

    @property
    def answered(self) -> list[PluginAnswer]:
        """The seats whose answer counted."""
        return [seat for seat in self.seats if seat.state == "answered"]

    def tier(self, number: int) -> tuple[PluginAnswer, ...]:
        """The seats of one tier."""
        return tuple(seat for seat in self.seats if seat.tier == number)

    @property
    def tiers(self) -> tuple[int, ...]:
        """Numbers of the tiers that have a seat."""
        return tuple(dict.fromkeys(seat.tier for seat in self.seats))


class NamedTask:
    """A task of which a recording has only the name; its name serves as the UID that combining rules compare."""

    __slots__ = ("uid",)

    def __init__(self, uid: TaskKey) -> None:
        self.uid = uid


class _CutShortError(Exception):
    """The recording ends inside the question."""


def _asked_about(event: HookEvent) -> CallSubject:
    """What is asked about: without the plugin's own vote."""
    return tuple(pair for pair in event.subject if pair[0] != VOTE)


def hook_calls_at(recording: Recording, seq: Seq) -> HookCallGroup | None:
    """The question that a hook event belongs to; None for other events."""
    event = recording.event_at(seq)
    if not isinstance(event, HookEvent) or event.point not in HOOK_AT:
        return None
    for asked in _iter_questions(recording, _run_start(recording, seq)):
        if asked.last >= seq:
            return asked
    return None


def _run_start(recording: Recording, seq: Seq) -> Seq:
    """The first event of the uninterrupted run of calls of one hook about one subject."""
    event = recording.event_at(seq)
    while seq > 1 and _is_same_question(recording.event_at(seq - 1), event):
        seq -= 1
    return seq


def _is_same_question(one: object, other: object) -> bool:
    return (
        isinstance(one, HookEvent)
        and isinstance(other, HookEvent)
        and one.point == other.point
        and _asked_about(one) == _asked_about(other)
    )


def _iter_questions(recording: Recording, seq: Seq) -> Iterator[HookCallGroup]:
    """Each question of a run of calls: the action may ask the same one several times in a row."""
    start = recording.event_at(seq)
    while seq <= len(recording) and _is_same_question(recording.event_at(seq), start):
        replayed = _Replay(recording, seq)
        asked = replayed.replay_question()
        yield asked
        seq = asked.last + 1


class _Replay:
    """Asks again with the recorded answers, by the very rule that combined them."""

    def __init__(self, recording: Recording, first: Seq) -> None:
        event = recording.event_at(first)
        assert isinstance(event, HookEvent)
        self.recording = recording
        self.event = event
        self.hook = HOOK_AT[event.point]
        # The scheduler's own rule is run over the recorded answers: a second copy of its early exits would drift.
        self.rule = self.hook.recorded_rule
        self.first = first
        self.next = first
        self.calls: list[RecordedAnswer] = []
        self.tasks: dict[TaskKey, NamedTask] = {}

    def replay_question(self) -> HookCallGroup:
        """Replay the combining rule over the recorded answers and name the seats that counted."""
        finished, outcome = True, None
        try:
            outcome = self.rule.combine(self.replay_tiers(), ())
        except _CutShortError:
            finished = False
        # The recorded event is part of the group even if the rule called no plugin.
        if not self.calls:
            self.next_call(0, 0, self.event.plugin)
        tier, plugin = self.rule.find_decider(self.calls, outcome) if finished else NO_DECIDER
        seats = tuple(_list_plugin_answers(self.recording, self.hook, self.calls))
        subject = _asked_about(self.event)
        return HookCallGroup(
            self.event.point, subject, self.first, self.next - 1, seats, _name_tasks(outcome), tier, plugin
        )

    def replay_tiers(self) -> Tiers:
        plugin_calls = self.recording.session.plugin_calls.get(self.hook.method, Tiers())
        tiers = (
            [
                PluginCall(plugin_call.plugin, self.recorded_asker(tier, place, plugin_call.plugin))
                for place, plugin_call in enumerate(seats)
            ]
            for tier, seats in enumerate(plugin_calls, start=1)
        )
        return Tiers(tiers, restarts=plugin_calls.restarts)

    def recorded_asker(self, tier: int, place: int, plugin: str) -> Call:
        return lambda *_: self.next_call(tier, place, plugin)

    def next_call(self, tier: int, place: int, plugin: str) -> Answer:
        event = self.recording.event_at(self.next) if self.next <= len(self.recording) else None
        if not isinstance(event, HookEvent) or event.plugin != plugin or not _is_same_question(event, self.event):
            raise _CutShortError
        self.calls.append(RecordedAnswer(tier, place, plugin, self.next, event.result, event.vote))
        self.next += 1
        return self.rule.restore_answer(event.result, event.vote, self.named_task)

    def named_task(self, key: TaskKey) -> NamedTask:
        return self.tasks.setdefault(key, NamedTask(key))


def _name_tasks(outcome: Answer) -> Answer:
    if isinstance(outcome, list) and all(isinstance(task, NamedTask) for task in outcome):
        return tuple(task.uid for task in outcome)
    return outcome


def _list_plugin_answers(recording: Recording, hook: AnyHook, calls: Answers) -> Iterator[PluginAnswer]:
    """Every plugin that has this hook, in configuration order; victims' plugins also where only later releases ask."""
    functions, rule = recording.session.functions, hook.recorded_rule
    for tier, options in enumerate(recording.conf.tiers, start=1):
        place = 0
        for option in options:
            if (hook.method, option.name) not in functions:
                if hook.upstream in VICTIM_POINTS:
                    yield from _absent_answer(recording, hook, tier, option.name)
                continue
            if not option.is_enabled(hook.switches):
                off = " and ".join(hook.switches)
                yield PluginAnswer(tier, option.name, "switched off", None, None, f"{off} is false")
                continue
            call = next((c for c in calls if (c.tier, c.place) == (tier, place)), None)
            # Only enabled plugins count, as in the calls that were recorded.
            place += 1
            if call is None:
                yield PluginAnswer(tier, option.name, "not asked", None, None, rule.explain_not_asked(tier, calls))
            else:
                state: SeatState = "abstained" if rule.is_abstention(call) else "answered"
                yield PluginAnswer(tier, option.name, state, call.seq, call.result, "")


def _absent_answer(recording: Recording, hook: AnyHook, tier: int, plugin: str) -> Iterator[PluginAnswer]:
    """The seat of a plugin that has the hook in later releases only."""
    opened, release = recording.session.plugins.get(plugin), recording.snapshot.release
    later = opened.later_methods.get(hook.method) if opened is not None else None
    if later is not None and release.has_older_form(later):
        since = f"later releases do: {later.pull}, {join_names(later.fixed_in)}"
        why = f"{release.display_name()} does not ask it about {hook.upstream} ({since})"
        yield PluginAnswer(tier, plugin, "switched off", None, None, why, later)


VICTIM_POINTS = (PREEMPTABLE.upstream, RECLAIMABLE.upstream, UNIFIED_EVICTABLE.upstream)


@dataclass(frozen=True, slots=True)
class PluginOffer:
    """One plugin's answer and what its tier was left with."""

    seat: PluginAnswer
    offered: tuple[TaskKey, ...]
    left: tuple[TaskKey, ...]
    """The tier's victims after this answer."""


@dataclass(frozen=True, slots=True)
class VictimTier:
    """The candidates that each plugin of a tier allows, and the tier's result."""

    number: int
    offers: tuple[PluginOffer, ...]
    """In configuration order; a plugin that was not asked allows none."""
    victims: tuple[TaskKey, ...]
    decides: bool


@dataclass(frozen=True, slots=True)
class VictimObjection:
    """A plugin protects a candidate."""

    tier: int
    plugin: str
    why: str
    seq: Seq


@dataclass(frozen=True, slots=True)
class CandidateFate:
    """What became of one candidate."""

    task: TaskKey
    is_victim: bool
    objections: tuple[VictimObjection, ...]
    """From all tiers that were asked, in order."""

    @property
    def saved_by(self) -> VictimObjection | None:
        """The first objection, where the candidate is no victim."""
        return None if self.is_victim or not self.objections else self.objections[0]


@dataclass(frozen=True, slots=True)
class VictimDecision:
    """A question for victims from the candidates to the result."""

    question: HookCallGroup
    preemptor: TaskKey | None
    node: NodeName | None
    candidates: tuple[TaskKey, ...]
    tiers: tuple[VictimTier, ...]
    victims: tuple[TaskKey, ...]
    """As the action received them; a candidate can be listed twice."""
    deciding_tier: int | None
    fates: tuple[CandidateFate, ...]
    """One per candidate, in the order asked."""
    room: Equation | None
    """Whether the node would hold the preemptor with all victims gone."""


def victim_choice(recording: Recording, seq: Seq) -> VictimDecision | None:
    """The question for victims that an event belongs to; None for other events."""
    asked = _victim_question(recording, seq)
    return None if asked is None else _build_choice(recording, seq, asked)


def victim_choice_before(recording: Recording, seq: Seq) -> VictimDecision | None:
    """The victim question that contains an event, else the latest one before it for the same task, tier by tier."""
    found = _find_question_before(recording, seq)
    return None if found is None else _build_choice(recording, *found)


def victim_question_before(recording: Recording, seq: Seq) -> HookCallGroup | None:
    """The same question without the answers per tier, which cost more to compute."""
    found = _find_question_before(recording, seq)
    return None if found is None else found[1]


def _victim_question(recording: Recording, seq: Seq) -> HookCallGroup | None:
    asked = hook_calls_at(recording, seq)
    return None if asked is None or asked.point not in VICTIM_POINTS else asked


def _find_question_before(recording: Recording, seq: Seq) -> tuple[Seq, HookCallGroup] | None:
    """A question, and the event by which it was found."""
    here = _victim_question(recording, seq)
    if here is not None:
        return seq, here
    span = recording.span_tree.span_around(seq, Level.NODE) or recording.span_tree.span_around(seq, Level.TASK)
    first = 1 if span is None else span.first
    earlier = (at for at, event in recording.events_before(HookEvent, seq, first) if event.point in VICTIM_POINTS)
    found = next(((at, _victim_question(recording, at)) for at in earlier), (0, None))
    return None if found[1] is None else (found[0], found[1])


def _build_choice(recording: Recording, seq: Seq, asked: HookCallGroup) -> VictimDecision:
    from vcdebug.explain.decisions.equations import room_equation

    preemptor = asked.task or None
    victims = tuple(asked.outcome or ())
    tiers = tuple(_build_tier(asked, number) for number in asked.tiers)
    span = recording.span_tree.span_around(seq, Level.NODE)
    node = None if span is None else span.name
    fates = tuple(_iter_fates(recording, asked, victims))
    room = None
    if preemptor is not None and node is not None:
        room = room_equation(recording, asked.first, preemptor, node, victims)
    decided = asked.deciding_tier
    return VictimDecision(asked, preemptor, node, asked.candidates, tiers, victims, decided, fates, room)


def _build_tier(asked: HookCallGroup, number: int) -> VictimTier:
    offers = tuple(_iter_offers(asked.tier(number)))
    left = offers[-1].left if offers else ()
    return VictimTier(number, offers, left, number == asked.deciding_tier)


def _iter_offers(seats: Sequence[PluginAnswer]) -> Iterator[PluginOffer]:
    """The running intersection of the answers of a tier."""
    left: tuple[TaskKey, ...] = ()
    for seat in seats:
        if seat.state != "answered":
            yield PluginOffer(seat, (), left)
            continue
        offered: tuple[TaskKey, ...] = seat.result
        left = offered if not left else tuple(task for task in left for other in offered if task == other)
        yield PluginOffer(seat, offered, left)


def _iter_fates(recording: Recording, asked: HookCallGroup, victims: tuple[TaskKey, ...]) -> Iterator[CandidateFate]:
    answered = [(seat, _refusal_notes(recording, seat.seq), seat.seq) for seat in asked.answered if seat.seq]
    for task in asked.candidates:
        objections = tuple(
            VictimObjection(seat.tier, seat.plugin, notes.get(task, ""), seq)
            for seat, notes, seq in answered
            if task not in seat.result
        )
        yield CandidateFate(task, task in victims, objections)


def _refusal_notes(recording: Recording, seq: Seq) -> dict[TaskKey, str]:
    """Candidate → why the plugin protects it, from the equation of its answer."""
    from vcdebug.explain.decisions.equations import equation_at

    found = equation_at(recording, seq)
    return {} if found is None else {term.name: term.note for term in found.terms if not term.holds}


def _notes_if_asked(recording: Recording, seq: Seq, plugin: str, candidates: tuple[TaskKey, ...]) -> dict[TaskKey, str]:
    """The same for a plugin that was not asked, had it been asked about these candidates before an event."""
    from vcdebug.explain.plugins import explainer_for

    event = recording.event_at(seq)
    assert isinstance(event, HookEvent)
    compute = explainer_for(plugin).equations.get(event.point)
    if compute is None:
        return {}
    subject = tuple((name, candidates if name == CANDIDATES else value) for name, value in event.subject)
    found = compute(recording, seq, event._replace(plugin=plugin, subject=subject))
    return {term.name: term.note for term in found.terms if term.holds is False}


def passed_on_facts(empty: Sequence[PluginAnswer], tier: int) -> tuple[str, ...]:
    """`Tier 1 (gang) allows no victim, so tier 2 decided.`; none if no earlier tier answered."""
    if not empty:
        return ()
    tiers = join_names(dict.fromkeys(str(seat.tier) for seat in empty))
    plugins = join_names(dict.fromkeys(seat.plugin for seat in empty))
    return (f"Tier {tiers} ({plugins}) allows no victim, so tier {tier} decided.",)


class UnaskedPlugin(NamedTuple):
    """A plugin that had no part in a decision about victims."""

    question: HookCallGroup
    seat: PluginAnswer
    note: str
    """Why it would have protected the victim, in words."""
    protects: bool

    @property
    def text(self) -> str:
        """What it would have said, and why it was not asked."""
        part = "was not consulted" if self.seat.state == "not asked" else "did not take part"
        would = f" would protect it{f' ({self.note})' if self.note else ''}, but" if self.protects else ""
        return f"{self.seat.plugin} (tier {self.seat.tier}){would} {part}: {self.seat.why}."


def unasked_plugins(recording: Recording, asked: HookCallGroup, evicted: Seq) -> Iterator[UnaskedPlugin]:
    """The plugins that were not asked about the victim of an eviction, and what they would have answered in that state
    about the pods that this question led to evict, the victim as the last of them.
    """
    events = (recording.event_at(seq) for seq in range(asked.last + 1, evicted + 1))
    victims = tuple(event.task for event in events if isinstance(event, OpEvent) and event.op == EVICT_OP)
    for seat in asked.seats:
        if seat.state in ("not asked", "switched off"):
            notes = _notes_if_asked(recording, asked.first, seat.plugin, victims)
            yield UnaskedPlugin(asked, seat, notes.get(victims[-1], ""), victims[-1] in notes)
