"""The dry runs of topology-aware preemption: whom each node's simulation takes away and spares, and which node wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vcdebug.actions import PREEMPT
from vcdebug.actions.preempt.topology import TIE_RULES, Candidate, TopologyAwarePreemption, rank
from vcdebug.explain.asked import Asked, is_simulation
from vcdebug.explain.equations import room_on
from vcdebug.framework.hooks import SIMULATE_ADD_TASK, SIMULATE_ALLOCATABLE, SIMULATE_PREDICATE, SIMULATE_REMOVE_TASK
from vcdebug.framework.record import EVICT_OP, HookEvent, Level, Line, OpEvent, PopEvent, Span
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.trace.memo import per_recording
from vcdebug.trace.moment import session_at
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import tasks_of

TAKE, PUT_BACK = "take away", "put back"
ALONE: Final = "the only candidate"
CANDIDATE: Final = "candidate"
BY_NAME: Final = "the first name"
DRAWN: Final = "the scheduler found it first"


@dataclass(frozen=True, slots=True)
class Trial:
    """One task leaves or comes back, and whether the preemptor fits then."""

    verb: str
    task: TaskKey
    seq: Seq
    fits: bool
    away: tuple[TaskKey, ...]
    """Who is gone while the test runs."""
    why: str
    """What refuses the preemptor; empty where it fits."""
    left: Seq = 0
    """The event with which a task that may not stay leaves again."""

    @property
    def verdict(self) -> str:
        """What becomes of the task."""
        if self.verb == TAKE:
            return "it fits now" if self.fits else "not enough yet"
        return "spared: it still fits" if self.fits else "a victim: it would not fit"


@dataclass(frozen=True, slots=True)
class DryRun:
    """One node's simulation."""

    node: NodeName
    first: Seq
    last: Seq
    candidates: tuple[TaskKey, ...]
    offered: tuple[TaskKey, ...]
    """What the plugins let go, where the node would then have room."""
    trials: tuple[Trial, ...]
    victims: tuple[TaskKey, ...]
    """Who would go; empty where the node is no candidate."""

    @property
    def words(self) -> str:
        """How it ended."""
        if self.victims:
            return f"{CANDIDATE}, {len(self.victims)} to go"
        if not self.candidates:
            return "none in reach"
        if not self.offered:
            return "the victims are too few, or there are none"
        refused = next((trial.why for trial in reversed(self.trials) if not trial.fits), "")
        return f"no candidate: {refused}" if refused else "no candidate"

    def away(self, seq: Seq) -> tuple[TaskKey, ...]:
        """Who is gone in the simulation at an event."""
        trial = next((trial for trial in reversed(self.trials) if trial.seq <= seq), None)
        if trial is None:
            return ()
        return (*trial.away, trial.task) if trial.left and seq >= trial.left else trial.away


@dataclass(frozen=True, slots=True)
class DryRuns:
    """One task's search: a dry run per node until there are enough candidates."""

    task: TaskKey
    nodes: int
    wanted: int
    """How many candidates end the search."""
    runs: tuple[DryRun, ...]
    winner: NodeName
    """Empty where there is no candidate."""
    rule: str
    """The rule after which only the winner was left."""


def dry_runs_at(recording: Recording, seq: Seq) -> DryRuns | None:
    """The search that an event belongs to; None where nothing is simulated."""
    task, action = (recording.tree.around(seq, level) for level in (Level.TASK, Level.ACTION))
    if task is None or action is None or action.name != PREEMPT:
        return None
    return _dry_runs(recording, task.index)


def dry_run_at(recording: Recording, seq: Seq) -> DryRun | None:
    """The simulation that an event belongs to."""
    found = dry_runs_at(recording, seq)
    runs = found.runs if found is not None else ()
    return next((run for run in runs if run.first <= seq <= run.last), None)


def simulated_at(recording: Recording, seq: Seq) -> Asked | None:
    """The node of the dry run that a plugin's answer belongs to, as the dry run has it by then."""
    event, run = recording.event(seq), dry_run_at(recording, seq)
    if not is_simulation(event) or run is None:
        return None
    session = session_at(recording, seq)
    simulated = None if session is None else session.simulated
    if session is None or simulated is None or simulated.task.key != event.task:
        return None
    row = session.node_table.row_of[run.node]
    return Asked(session, simulated.task, session.node_table.single(row), row, simulated, run.away(seq))


@per_recording(most=256)
def _dry_runs(recording: Recording, index: int) -> DryRuns | None:
    span = recording.spans[index]
    lines = [line for line in recording.record.lines if span.first - 1 <= line.seq <= span.last]
    counted = next((line for line in lines if line.key == "count"), None)
    if counted is None:
        return None
    nodes = [inner for inner in recording.tree.children(span) if inner.level is Level.NODE]
    groups = list(_groups(lines[lines.index(counted) + 1 :]))
    runs = tuple(_run(recording, span.name, node, group) for node, group in zip(nodes, groups, strict=False))
    mode = TopologyAwarePreemption(recording.conf.arguments_of(PREEMPT))
    wanted = mode.wanted(counted.values[0])
    winner, rule = _winner(recording, span, runs)
    return DryRuns(span.name, counted.values[0], wanted, runs, winner, rule)


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines of one node's simulation after the other."""
    group: list[Line] = []
    for line in lines:
        if line.key in ("candidates", "victim"):
            if group:
                yield group
            group = []
        if line.key == "victim":
            return
        group.append(line)
    if group:
        yield group


def _run(recording: Recording, task: TaskKey, span: Span, lines: Sequence[Line]) -> DryRun:
    said = {line.key: line.values for line in lines}
    taken = list(_taken(recording, task, span, "enough" in said))
    gone = tuple(trial.task for trial in taken)
    order = said["potential"][0] if "potential" in said else ()
    verdicts = [line for line in lines if line.key == "reprieve"]
    victims = tuple(said["chosen"][0]) if "chosen" in said else ()
    offered = tuple(said["victims"][0]) if "victims" in said else ()
    trials = (*taken, *_put_back(recording, task, span, gone, order, verdicts))
    return DryRun(span.name, span.first, span.last, tuple(said["candidates"][0]), offered, trials, victims)


def _taken(recording: Recording, task: TaskKey, span: Span, enough: bool) -> Iterator[Trial]:
    """Each pop takes one more away; the last one ends it where the preemptor fits."""
    pops = [(seq, event.name) for seq, event in recording.of_kind(PopEvent, span.seqs)]
    back = _exchanges(recording, span.seqs, SIMULATE_ADD_TASK.upstream)
    ends = [*(seq for seq, _ in pops[1:]), next((seq for seq, _ in back), span.last + 1)]
    away: tuple[TaskKey, ...] = ()
    for place, ((seq, victim), end) in enumerate(zip(pops, ends, strict=False)):
        away = (*away, victim)
        fits = enough and place == len(pops) - 1
        why = "" if fits else _refusal(recording, range(seq, end), task, span.name, away)
        yield Trial(TAKE, victim, seq, fits, away, why)


def _put_back(
    recording: Recording,
    task: TaskKey,
    span: Span,
    gone: tuple[TaskKey, ...],
    order: Sequence[TaskKey],
    verdicts: Sequence[Line],
) -> Iterator[Trial]:
    """Each that may come back, and those who went again before."""
    away, first = gone, span.first
    for line in verdicts:
        name, fits = line.values
        victim = next(key for key in order if key.endswith(f"/{name}"))
        seqs = range(first, line.seq + 1)
        entering = (seq for seq, other in _exchanges(recording, seqs, SIMULATE_ADD_TASK.upstream) if other == victim)
        start = next(entering, line.seq)
        without = tuple(each for each in away if each != victim)
        why = "" if fits else _refusal(recording, range(start, line.seq + 1), task, span.name, without)
        leaving = _exchanges(recording, range(start + 1, line.seq + 1), SIMULATE_REMOVE_TASK.upstream)
        left = next((seq for seq, other in leaving if other == victim), 0)
        yield Trial(PUT_BACK, victim, start, bool(fits), without, why, left)
        away = without if fits else away
        first = line.seq + 1


def _refusal(recording: Recording, seqs: range, task: TaskKey, node: NodeName, away: Sequence[TaskKey]) -> str:
    """Queue, room and predicates are asked in this order; the first no is the answer."""
    for _, event in recording.of_kind(HookEvent, seqs):
        if event.point == SIMULATE_ALLOCATABLE.upstream and not event.result:
            return f"{event.plugin}: beyond what the queue may have"
    room = room_on(recording, seqs.start, task, node, away)
    if not room.verdict:
        return f"{room.deciding} is short"
    for _, event in recording.of_kind(HookEvent, seqs):
        if event.point == SIMULATE_PREDICATE.upstream and event.result is not None:
            return f"{event.plugin}: its simulated predicate refuses"
    return ""


def _winner(recording: Recording, span: Span, runs: Sequence[DryRun]) -> tuple[NodeName, str]:
    """Where the victims went, and why there."""
    name = next((event.node for _, event in recording.of_kind(OpEvent, span.seqs) if event.op == EVICT_OP), "")
    found = {
        run.node: rank(Candidate(recording.session.nodes[run.node], tasks_of(recording, run.victims)))
        for run in runs
        if run.victims
    }
    if name not in found:
        return "", ""
    mine = found.pop(name)
    if not found:
        return name, ALONE
    best, first = min((other, node) for node, other in found.items())
    if (best, first) < (mine, name):
        return name, DRAWN
    return name, next((words for words, one, other in zip(TIE_RULES, mine, best, strict=True) if one != other), BY_NAME)


def _exchanges(recording: Recording, seqs: range, point: str) -> Iterator[tuple[Seq, TaskKey]]:
    """Who is put back, or taken away, in the books of plugins."""
    return ((seq, event.other) for seq, event in recording.of_kind(HookEvent, seqs) if event.point == point)
