"""Several cycles of one scheduler process, and cycles that repeat themselves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from vcdebug.comparison.cycles import compare_cycles
from vcdebug.framework.record import OpEvent, PanicEvent
from vcdebug.framework.replay_options import SizeBound
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, require_whole
from vcdebug.recording.replay import Clock, replay_cycle
from vcdebug.snapshot.manifest import owners_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import BRANCH, OpenRecordings
from vcdebug.whatif.next_cycle import BetweenCycles, next_snapshot


class CycleRepeat(NamedTuple):
    """A cycle that does what an earlier one did; both count from 1."""

    earlier: int
    later: int
    evicted: tuple[TaskKey, ...]
    """Pods that each repetition evicts."""
    given_back: tuple[TaskKey, ...]
    """Pods that each repetition evicts in a statement and discards again."""


def replay_next_cycle(
    recording: Recording,
    between: BetweenCycles | None = None,
    number: int = 2,
    *,
    clock: Clock | None = None,
    bound: SizeBound | None = None,
) -> Recording:
    """Cycle `number`, which starts from what this one left."""
    snapshot = next_snapshot(recording, between or BetweenCycles(), number)
    return replay_cycle(
        snapshot, clock=clock, ask_extender=recording.session.ask_extender, bound=bound, reuse_from=recording
    )


class CycleChain:
    """A chain of recordings: each cycle starts from what the one before left."""

    def __init__(
        self,
        first: Recording,
        between: BetweenCycles | None = None,
        *,
        clock: Clock | None = None,
        bound: SizeBound | None = None,
    ) -> None:
        self._recordings = [first]
        self._between = between or BetweenCycles()
        self._clock = clock
        self._bound = bound

    @property
    def recordings(self) -> Sequence[Recording]:
        """Every cycle so far, in order."""
        return tuple(self._recordings)

    @property
    def has_panicked(self) -> bool:
        """Whether the last cycle ended the process."""
        last = self._recordings[-1]
        return len(last) > 0 and isinstance(last.event_at(len(last)), PanicEvent)

    def run_next(self) -> Recording:
        """Run one more cycle."""
        number = len(self._recordings) + 1
        more = replay_next_cycle(self._recordings[-1], self._between, number, clock=self._clock, bound=self._bound)
        self._recordings.append(more)
        return more

    def run_cycles(self, count: int) -> None:
        """Run until there are so many cycles, or until one is cut off or ends the process."""
        while len(self._recordings) < count and not self.has_panicked and self._recordings[-1].cut_event is None:
            self.run_next()


def first_different_cycle(
    before: Recording, after: Recording, between: BetweenCycles, count: int
) -> tuple[int, Recording, Recording]:
    """Run two processes side by side: the first cycle whose decisions differ, else the last one of both."""
    chains = CycleChain(before, between), CycleChain(after, between)
    for number in range(1, count + 1):
        # A recording that was cut off would look like a difference of the two processes.
        pair = tuple(require_whole(chain.recordings[-1]) for chain in chains)
        if (
            number == count
            or any(chain.has_panicked for chain in chains)
            or not compare_cycles(*pair).has_same_decisions
        ):
            break
        for chain in chains:
            chain.run_next()
    return number, pair[0], pair[1]


class _CycleDeeds(NamedTuple):
    """What a cycle did to pods, in order."""

    evicted: tuple[TaskKey, ...]
    given_back: tuple[TaskKey, ...]
    placed: tuple[tuple[TaskKey, NodeName], ...]
    """Pods bound and pipelined, with their nodes."""


def find_repeat(recordings: Sequence[Recording]) -> CycleRepeat | None:
    """The first cycle that does what an earlier one did: with the same pods, or with pods of the same kind from the
    same state, whatever they are called and however much time has passed.

    Cycles without a planned eviction are no repeats: an idle cluster looks the same every second.
    """
    # Both keys share the table: the exact one finds loops of the same pods, the nameless one loops of recreated pods.
    seen: dict[object, int] = {}
    for number, recording in enumerate(recordings, start=1):
        deeds = _collect_deeds(recording)
        if not (deeds.evicted or deeds.given_back):
            continue
        for key in (deeds, _nameless_key(recording, deeds)):
            if key in seen:
                return CycleRepeat(seen[key], number, deeds.evicted, deeds.given_back)
            seen.setdefault(key, number)
    return None


def _collect_deeds(recording: Recording) -> _CycleDeeds:
    done = cycle_effects(recording)
    events = (recording.event_at(seq) for seq in recording.index.seqs_of_type(OpEvent))
    given_back = {event.task for event in events if isinstance(event, OpEvent) and event.op == "unevict"}
    placed = sorted((effect.task, effect.node) for effect in (*done.bound, *done.pipelined))
    return _CycleDeeds(tuple(sorted(effect.task for effect in done.evicted)), tuple(sorted(given_back)), tuple(placed))


def _nameless_key(recording: Recording, deeds: _CycleDeeds) -> object:
    """The state from which the cycle starts and its deeds, without names of pods."""
    of = {pod.key: pod_kind(pod) for pod in map(Pod, recording.snapshot.objects_of("Pod"))}
    return (
        # A frozenset, because only equality counts; nothing iterates over it.
        frozenset(state_counts(recording.snapshot).items()),
        tuple(sorted(of[task] for task in deeds.evicted)),
        tuple(sorted(of[task] for task in deeds.given_back)),
        tuple(sorted((of[task], node) for task, node in deeds.placed)),
    )


def append_cycles(open_: OpenRecordings, count: int = 1, between: BetweenCycles | None = None) -> OpenRecordings:
    """The shown side with further cycles after its last one, which is then shown."""
    line = [*open_.cycles_of(open_.side)]
    for _ in range(count):
        line.append(replay_next_cycle(line[-1], between, len(line) + 1))
    longer = replace(open_, cycle=len(line), found=None)
    if open_.side == BRANCH:
        return replace(longer, branch=tuple(line[open_.start - 1 :]))
    return replace(longer, original=tuple(line))


# States of pods and PodGroups before a cycle, by which cycles are compared: no times, and in counts no names.

PodKind = tuple[str, ...]
"""What pods of one template have in common."""


class PodState(NamedTuple):
    """What is compared of one pod: its node, phase, deletion and nominated node."""

    node: NodeName
    phase: str
    leaving: bool
    promised: NodeName


def states_by_name(snapshot: Snapshot) -> dict[str, PodState | str]:
    """Every pod by name and UID, and the phase of every PodGroup."""
    found: dict[str, PodState | str] = {
        f"{pod.key} {pod.uid}": _pod_state(pod) for pod in map(Pod, snapshot.objects_of("Pod"))
    }
    for group in map(PodGroup, snapshot.objects_of("PodGroup")):
        found[f"PodGroup {group.namespace}/{group.name}"] = group.phase
    return found


def state_counts(snapshot: Snapshot) -> Counter[tuple[PodKind, PodState]]:
    """Number of pods by kind and state; equal for clusters that differ only in names and times."""
    return Counter((pod_kind(pod), _pod_state(pod)) for pod in map(Pod, snapshot.objects_of("Pod")))


def pod_kind(pod: Pod) -> PodKind:
    """Job, role, priority and requests, which pods of one template share."""
    owner = pod.job_id or _owner_name(pod) or pod.key
    return owner, pod.task_role, str(pod.priority), pod.resources_text


def _owner_name(pod: Pod) -> str:
    owners = owners_of(pod.manifest)
    return next((f"{pod.namespace}/{owner.get('kind')}/{owner.get('name')}" for owner in owners), "")


def _pod_state(pod: Pod) -> PodState:
    return PodState(pod.node_name, pod.phase, pod.deleting, pod.nominated_node_name)
