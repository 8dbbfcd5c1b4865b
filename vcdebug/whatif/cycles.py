"""Several cycles of one scheduler process, and cycles that repeat themselves."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.comparison.cycles import compare_cycles
from vcdebug.framework.record import OpEvent, PanicEvent
from vcdebug.framework.replay_options import SizeBound
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.manifest import owners_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import BRANCH, OpenRecordings
from vcdebug.whatif.next_cycle import NO_CHANGES, BetweenCycles, next_snapshot


class CycleRepeat(Struct, frozen=True):
    """The numbers of a cycle and of the earlier one that it repeats, counted from 1."""

    earlier_cycle: int
    later_cycle: int
    evicted: tuple[TaskKey, ...]
    """Pods that each repetition evicts."""
    discarded_evictions: tuple[TaskKey, ...]
    """Pods that each repetition evicts in a statement and discards again."""


def replay_next_cycle(
    recording: Recording, between: BetweenCycles | None = None, number: int = 2, *, bound: SizeBound | None = None
) -> Recording:
    """Replay cycle `number`, which starts from the state after this recording."""
    snapshot = next_snapshot(recording, between or NO_CHANGES, number)
    return replay_cycle(snapshot, ask_extender=recording.session.ask_extender, bound=bound, reuse_from=recording)


class CycleChain:
    """A chain of recordings, in which each cycle starts from the state after the one before."""

    def __init__(
        self, first: Recording, between: BetweenCycles | None = None, *, bound: SizeBound | None = None
    ) -> None:
        self._recordings = [first]
        self._between_cycles = between or NO_CHANGES
        self._bound_elsewhere = bound

    @property
    def recordings(self) -> Sequence[Recording]:
        """Every cycle so far, in order."""
        return tuple(self._recordings)

    @property
    def has_panicked(self) -> bool:
        """Whether the last cycle ended the process."""
        return isinstance(self._recordings[-1].last_event, PanicEvent)

    def run_next(self) -> Recording:
        """Run one more cycle."""
        number = len(self._recordings) + 1
        recording = replay_next_cycle(self._recordings[-1], self._between_cycles, number, bound=self._bound_elsewhere)
        self._recordings.append(recording)
        return recording

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
        # A truncated recording would look like a difference between the two processes.
        pair = tuple(require_complete(chain.recordings[-1]) for chain in chains)
        if (
            number == count
            or any(chain.has_panicked for chain in chains)
            or not compare_cycles(*pair).has_same_decisions
        ):
            break
        for chain in chains:
            chain.run_next()
    return number, pair[0], pair[1]


class _CycleOperations(Struct, frozen=True):
    """Evictions and placements of a cycle, in order."""

    evicted: tuple[TaskKey, ...]
    discarded_evictions: tuple[TaskKey, ...]
    placements: tuple[tuple[TaskKey, NodeName], ...]
    """Pods bound and pipelined, with their nodes."""


def find_repeat(recordings: Sequence[Recording]) -> CycleRepeat | None:
    """The first cycle that repeats an earlier one: with the same pods, or with pods of the same kind from the same
    state, whatever their names and times are.

    Cycles without a planned eviction are no repeats: an idle cluster looks the same every second.
    """
    # Both keys share the table: the exact one finds loops of the same pods, the nameless one loops of recreated pods.
    numbers_by_key: dict[object, int] = {}
    for number, recording in enumerate(recordings, start=1):
        operations = _collect_operations(recording)
        if not (operations.evicted or operations.discarded_evictions):
            continue
        for key in (operations, _nameless_key(recording, operations)):
            if key in numbers_by_key:
                return CycleRepeat(numbers_by_key[key], number, operations.evicted, operations.discarded_evictions)
            numbers_by_key.setdefault(key, number)
    return None


def _collect_operations(recording: Recording) -> _CycleOperations:
    done = cycle_effects(recording)
    given_back = {event.task for _, event in recording.events_of_type(OpEvent) if event.op == "unevict"}
    placed = sorted((effect.task, effect.node) for effect in (*done.bound, *done.pipelined))
    return _CycleOperations(tuple(sorted(one.task for one in done.evicted)), tuple(sorted(given_back)), tuple(placed))


def _nameless_key(recording: Recording, operations: _CycleOperations) -> object:
    """A key of the cycle's starting state, evictions and placements, with pods by kind instead of name."""
    kinds = {pod.key: pod_kind(pod) for pod in map(Pod, recording.snapshot.objects_of("Pod"))}
    return (
        # A frozenset, because only equality counts; nothing iterates over it.
        frozenset(state_counts(recording.snapshot).items()),
        tuple(sorted(kinds[task] for task in operations.evicted)),
        tuple(sorted(kinds[task] for task in operations.discarded_evictions)),
        tuple(sorted((kinds[task], node) for task, node in operations.placements)),
    )


def append_cycles(open_: OpenRecordings, count: int = 1, between: BetweenCycles | None = None) -> OpenRecordings:
    """Run `count` more cycles after the last one of the shown side, and show the last."""
    recordings = [*open_.cycles_of(open_.side)]
    for _ in range(count):
        recordings.append(replay_next_cycle(recordings[-1], between, len(recordings) + 1))
    extended = replace(open_, cycle=len(recordings), comparison=None)
    if open_.side == BRANCH:
        return replace(extended, branch=tuple(recordings[open_.start - 1 :]))
    return replace(extended, original=tuple(recordings))


# States of pods and PodGroups before a cycle, by which cycles are compared: no times, and in counts no names.

PodKind = tuple[str, ...]
"""The properties that pods of one template share."""


PodState = tuple[NodeName, str, bool, NodeName]
"""The compared properties of one pod: node, phase, whether it is being deleted, nominated node."""


def states_by_name(snapshot: Snapshot) -> dict[str, PodState | str]:
    """Every pod by name and UID, and the phase of every PodGroup."""
    states: dict[str, PodState | str] = {
        f"{pod.key} {pod.uid}": _pod_state(pod) for pod in map(Pod, snapshot.objects_of("Pod"))
    }
    for group in map(PodGroup, snapshot.objects_of("PodGroup")):
        states[f"PodGroup {group.namespace}/{group.name}"] = group.phase
    return states


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
    return pod.node_name, pod.phase, pod.deleting, pod.nominated_node_name
