"""Topology-aware preemption: a dry run on a copy of each node, then the best candidate's victims are evicted.

Upstream: actions/preempt (topology_aware).
"""

from msgspec import Struct

from vcdebug.errors import ProcessExit, SchedulerPanic
from vcdebug.framework import hooks
from vcdebug.framework.action import CandidateFilter, candidates_on, copy_tasks, validate_victims
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.chance_draws import put_first
from vcdebug.framework.order import build_victims_queue
from vcdebug.framework.quirks import PREEMPTION_IGNORES_QUEUE
from vcdebug.framework.record import Level, RandomEvent
from vcdebug.framework.session import DryRunState, Session
from vcdebug.framework.statement import Statement
from vcdebug.framework.subject import CandidateTasks
from vcdebug.gomath import int_div
from vcdebug.kube.node_view import CycleState
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import REPRIEVE_ORDER

TOPOLOGY_REASON = "preempt"
PRIORITY_OFFSET = 2147483648
TIE_RULES = ("the lowest top priority", "the lowest sum of priorities", "the fewest victims", "the latest start")
"""The criteria that `rank_candidate` compares, in this order; ties go to the smallest node name."""


class Candidate(Struct, frozen=True):
    """A node on which the task fits without these victims; the most important victim is first."""

    node: NodeInfo
    victims: list[TaskInfo]


class NodeSimulation:
    """The dry run of one node, on copies of the node and of the task's state."""

    __slots__ = ("node", "refused_by_queue", "ssn", "state", "task")

    def __init__(self, ssn: Session, state: CycleState, task: TaskInfo, node: NodeInfo) -> None:
        self.ssn = ssn
        self.state = state
        self.task = task
        self.node = node
        ssn.simulated = DryRunState(state, task, node)
        self.refused_by_queue = False
        """Whether the last test failed because of the queue's quota."""

    def task_fits(self) -> bool:
        """Whether the task fits: checks the queue, then resources, then simulated predicates."""
        queue = self.ssn.queues[self.ssn.jobs[self.task.job].queue]
        self.refused_by_queue = not self.ssn.ask_plugins(hooks.SIMULATE_ALLOCATABLE, self.state, queue, self.task)
        return (
            not self.refused_by_queue
            and self.node.fits_future_idle(self.task.init_resreq)
            and self.ssn.ask_plugins(hooks.SIMULATE_PREDICATE, self.state, self.task, self.node) is None
        )

    def remove_task(self, victim: TaskInfo) -> bool:
        """Remove a victim; False if a plugin returns an error. Upstream: actions/preempt.removeTask."""
        if self.ssn.ask_plugins(hooks.SIMULATE_REMOVE_TASK, self.state, self.task, victim, self.node) is not None:
            return False
        self.node.remove_task(victim)
        return True

    def add_task(self, victim: TaskInfo) -> bool:
        """Add a victim back; False if a plugin or the node returns an error. Upstream: actions/preempt.addTask."""
        if self.ssn.ask_plugins(hooks.SIMULATE_ADD_TASK, self.state, self.task, victim, self.node) is not None:
            return False
        return self.node.add_task(victim) is None


class TopologyAwarePreemption:
    """The mode of preempt that enableTopologyAwarePreemption switches on."""

    def __init__(self, arguments: Arguments) -> None:
        self.percentage = arguments.get_int("minCandidateNodesPercentage", 10)
        self.min_candidate_nodes = arguments.get_int("minCandidateNodesAbsolute", 1)
        self.max_candidate_nodes = arguments.get_int("maxCandidateNodesAbsolute", 100)

    def preempt_for_task(
        self,
        ssn: Session,
        statement: Statement,
        task: TaskInfo,
        nodes: NodeRows,
        skip_rule: CandidateFilter,
        *,
        shared: bool,
    ) -> bool:
        """Evict the best candidate's victims and pipeline the task there; with `shared` nothing is undone.
        Upstream: actions/preempt.topologyAwarePreempt, actions/preempt.prepareCandidate.
        """
        candidates = self._find_candidates(ssn, task, nodes, skip_rule)
        if not candidates:
            return False
        winner = pick_one_node(candidates, ssn.draws.known_winner(task.key))
        ssn.draws.count_dry_run(task.key)
        trial = statement if shared else Statement(ssn)
        with ssn.open_span(Level.NODE, winner.node.name):
            for victim in winner.victims:
                ssn.log("victim", victim.key, task.key)
                trial.evict(victim, TOPOLOGY_REASON)
            error = trial.pipeline(task, winner.node.name, eviction=True)
            if shared:
                return True
            if error is not None:
                trial.discard()
                return False
            statement.merge(trial)
        return True

    def calculate_num_candidates(self, nodes: int) -> int:
        """The number of candidates that ends the search. Upstream: actions/preempt.calculateNumCandidates."""
        return min(
            min(max(int_div(nodes * self.percentage, 100), self.min_candidate_nodes), self.max_candidate_nodes), nodes
        )

    def _find_candidates(
        self, ssn: Session, task: TaskInfo, nodes: NodeRows, skip_rule: CandidateFilter
    ) -> list[Candidate]:
        """Upstream: actions/preempt.findCandidates, actions/preempt.DryRunPreemption."""
        if not len(nodes):
            ssn.log("no-nodes", task.key)
            return []
        ssn.record.append(RandomEvent(len(nodes)))
        ssn.log("count", len(nodes))
        offset = ssn.draws.draw_below(len(nodes))
        winner = ssn.draws.known_winner(task.key)
        num_candidates = self.calculate_num_candidates(len(nodes))
        candidates: list[Candidate] = []
        # Upstream's workers race: if the winner is known, its node is tried first.
        for node in put_first(nodes.node_infos[offset:] + nodes.node_infos[:offset], winner):
            with ssn.open_span(Level.NODE, node.name):
                victims = self._check_node(ssn, task, node, skip_rule)
            if not victims:
                continue
            if num_candidates == 0:
                return []
            candidates.append(Candidate(node, victims))
            if len(candidates_in_time(candidates, winner)) >= num_candidates:
                break
        return counting_candidates(candidates, num_candidates, winner)

    def _check_node(self, ssn: Session, task: TaskInfo, node: NodeInfo, skip_rule: CandidateFilter) -> list[TaskInfo]:
        """The victims on a node; a panic in a worker ends the process. Upstream: actions/preempt.checkNode."""
        try:
            return self._select_victims_on_node(ssn, task, node, skip_rule)
        except SchedulerPanic as panic:
            raise ProcessExit(panic.message) from panic

    def _select_victims_on_node(
        self, ssn: Session, task: TaskInfo, node: NodeInfo, skip_rule: CandidateFilter
    ) -> list[TaskInfo]:
        """Evict until the task fits, then reprieve the important. Upstream: actions/preempt.SelectVictimsOnNode."""
        simulation = NodeSimulation(ssn, ssn.cycle_state(task).clone(), task, node.clone())
        candidates = CandidateTasks(copy_tasks(candidates_on(ssn, simulation.node, skip_rule)))
        ssn.log("candidates", task_keys_of(candidates))
        victims = ssn.ask_plugins(hooks.PREEMPTABLE, task, candidates) or []
        if not validate_victims(ssn, task, simulation.node, victims):
            return []
        ssn.log("victims", task_keys_of(victims))
        potential: list[TaskInfo] = []
        if ssn.release.has_older_form(REPRIEVE_ORDER):
            # The most important first: descending priority, then the earlier start.
            victims = sorted(victims, key=lambda t: (-(t.pod.priority or 0), t.pod.status.get("startTime") or ""))
        heap = build_victims_queue(ssn, victims, task)
        while heap:
            victim = heap.pop()
            potential.append(victim)
            if not simulation.remove_task(victim):
                return []
            if simulation.task_fits():
                ssn.log("enough", task.key, node.name, victim.key)
                break
        if (
            not potential
            or ssn.ask_plugins(hooks.SIMULATE_PREDICATE, simulation.state, task, simulation.node) is not None
        ):
            return []
        ssn.log("potential", task_keys_of(potential), node.name)
        if simulation.refused_by_queue:
            text = f"{task.key} evicts {len(potential)} on {node.name} although its queue may not allocate it then"
            ssn.note_quirk(PREEMPTION_IGNORES_QUEUE, text, at_last=True)
        if ssn.release.has_older_form(REPRIEVE_ORDER):
            return _reprieve_pods(simulation, potential)
        return _reprieve_pods(simulation, potential[::-1])


def _reprieve_pods(simulation: NodeSimulation, potential: list[TaskInfo]) -> list[TaskInfo]:
    """The victims that cannot stay, tried in order. Upstream: actions/preempt.reprievePod."""
    victims: list[TaskInfo] = []
    for candidate in potential:
        if not simulation.add_task(candidate):
            return []
        fits = simulation.task_fits()
        if not fits:
            if not simulation.remove_task(candidate):
                return []
            victims.append(candidate)
            simulation.ssn.log("kept", candidate.key, simulation.node.name)
        simulation.ssn.log("reprieve", candidate.name, fits)
    simulation.ssn.log("chosen", task_keys_of(victims))
    return victims


def task_keys_of(tasks: list[TaskInfo]) -> list[TaskKey]:
    """The tasks as `namespace/name`."""
    return [task.key for task in tasks]


def candidates_in_time(candidates: list[Candidate], winner: NodeName) -> list[Candidate]:
    """The candidates without those that were found after the search had ended, judging by the known winner."""
    # Workers try nodes in parallel, from a random node on. If a node is known to have won, a better candidate was not
    # among those with which the search ended.
    if not candidates or candidates[0].node.name != winner:
        return candidates
    return [candidate for candidate in candidates if rank_candidate(candidate) >= rank_candidate(candidates[0])]


def counting_candidates(candidates: list[Candidate], num_candidates: int, winner: NodeName) -> list[Candidate]:
    """The candidates in time if they are enough; otherwise, the search having tried every node, all of them."""
    counting = candidates_in_time(candidates, winner)
    return counting if len(counting) >= num_candidates else candidates


def pick_one_node(candidates: list[Candidate], winner: NodeName = "") -> Candidate:
    """The best candidate by TIE_RULES; ties go to the known winner, else to the smallest name.
    Upstream: actions/preempt.SelectCandidate, actions/preempt.pickOneNodeForPreemption.
    """
    ordered = sorted(candidates, key=lambda candidate: (candidate.node.name != winner, candidate.node.name))
    best = ordered[0]
    for candidate in ordered[1:]:
        if rank_candidate(candidate) < rank_candidate(best):
            best = candidate
    return best


def _pod_priority(task: TaskInfo) -> int:
    """Upstream: actions/preempt.PodPriority."""
    return task.pod.priority or 0


def rank_candidate(candidate: Candidate) -> tuple[int, int, int, tuple[int, ...]]:
    """The figures of TIE_RULES, smaller is better. Upstream: actions/preempt.OrderedScoreFuncs."""
    victims = candidate.victims
    total = 0
    for victim in victims:
        # The offset makes every term positive: more victims of negative priority must not have a lower sum.
        total += _pod_priority(victim) + PRIORITY_OFFSET
    start = _earliest_start(victims)
    # Timestamps of one format sort as text; negating the characters sorts the later start first.
    later_first = tuple(-ord(char) for char in start) if start else (-0x110000,)
    return _pod_priority(victims[0]), total, len(victims), later_first


def _earliest_start(victims: list[TaskInfo]) -> str:
    """The earliest start among victims of the highest priority; empty means now, the latest of all.
    Upstream: actions/preempt.GetEarliestPodStartTime.
    """
    best = victims[0]
    for victim in victims[1:]:
        tie = _pod_priority(victim) == _pod_priority(best) and _starts_before(victim, best)
        if tie or _pod_priority(victim) > _pod_priority(best):
            best = victim
    return str(best.pod.status.get("startTime") or "")


def _starts_before(left: TaskInfo, right: TaskInfo) -> bool:
    """Upstream: actions/preempt.GetPodStartTime."""
    left_start, right_start = left.pod.status.get("startTime") or "", right.pod.status.get("startTime") or ""
    return bool(left_start) and (not right_start or left_start < right_start)
