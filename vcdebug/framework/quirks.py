"""Upstream behaviours that its maintainers would call bugs or traps: replayed as they are, and named where they act.

Upstream: all of it; docs/fidelity.md shows this table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vcdebug.releases.change import Change
from vcdebug.releases.nodes import RESERVE_FAILURE_CONTINUES
from vcdebug.releases.scheduling import TOPOLOGY_PREEMPT_ABSENT


class Quirk(NamedTuple):
    """What happens, which decision it can change, and the releases that do it."""

    code: str
    what: str
    decides: str
    absent_with: Change | None = None
    """The older form under which nothing of the kind happens."""

    def happens_under(self, older: Callable[[Change], bool]) -> bool:
        """Whether a release does it that has these older forms."""
        return self.absent_with is None or not older(self.absent_with)


VIEW_LOST_POD = "view-lost-pod"
FILTER_STAYS_SKIPPED = "filter-stays-skipped"
ANTI_AFFINITY_MISSED = "anti-affinity-missed"
CLAIMS_UNDECIDED = "claims-undecided"
PROMISE_WITHOUT_NODE = "promise-without-node"
TIER_VETO_UNDONE = "tier-veto-undone"
INTERSECTION_RESTARTED = "intersection-restarted"
TASK_LOST_TO_QUEUE = "task-lost-to-queue"
PREEMPTION_IGNORES_QUEUE = "preemption-ignores-queue"
SWITCH_MISSPELT = "switch-misspelt"
SEARCH_SAMPLED = "search-sampled"
SCORES_DROPPED = "scores-dropped"
OVERUSED_KEPT_FALSE = "overused-kept-false"
STATEMENT_LEFT_OPEN = "statement-left-open"
BOUND_BECOMES_RUNNING = "bound-becomes-running"
PLUGIN_TWICE = "plugin-twice"
QUEUE_TREE_BROKEN = "queue-tree-broken"
QUEUE_CYCLE = "queue-cycle"
ANCESTORS_OVERWRITTEN = "ancestors-overwritten"
UNLABELLED_SPARED = "unlabelled-spared"
VICTIM_LEAVES_TWICE = "victim-leaves-twice"
DEVICE_STAYS_CHARGED = "device-stays-charged"
DEVICE_NOT_REPLAYED = "device-not-replayed"
EXTENDER_UNKNOWN = "extender-unknown"
BOOKS_CLAMPED = "books-clamped"
BOUND_ALREADY = "bound-already"
BOUND_ELSEWHERE = "bound-elsewhere"

_QUIRK_TABLE = (
    Quirk(
        VIEW_LOST_POD,
        "After a discarded eviction the predicates plugin's view of the node has lost the pod: Reserve refuses its "
        "return, and the session ignores that.",
        "host ports, pod affinity, spread and pod count of later tasks on that node",
        absent_with=RESERVE_FAILURE_CONTINUES,
    ),
    Quirk(
        FILTER_STAYS_SKIPPED,
        "A filter that PreFilter skipped once for a task stays skipped for the whole session.",
        "whether a node that no longer fits is refused",
    ),
    Quirk(
        ANTI_AFFINITY_MISSED,
        "Required anti-affinity of a pod placed in this session is not seen on nodes that held no such pod when it "
        "opened.",
        "where later pods may go",
    ),
    Quirk(
        CLAIMS_UNDECIDED,
        "It is not known which devices the pod's resource claims would get: the note says why. Every node passes.",
        "feasible nodes of that pod",
    ),
    Quirk(
        PROMISE_WITHOUT_NODE,
        "Pipelining does not write the node into the pod, where Reserve looks for it: a pod whose resource claims are "
        "to be allocated is refused, and taken back.",
        "whether such a pod can preempt or reclaim at all",
    ),
    Quirk(
        TIER_VETO_UNDONE,
        "A plugin that offers nobody only ends its own tier: a later tier was asked from scratch and offered victims.",
        "who is evicted",
    ),
    Quirk(
        INTERSECTION_RESTARTED,
        "Two plugins of one tier offered disjoint victims, and the next plugin of the tier started over with its own.",
        "who is evicted",
    ),
    Quirk(
        TASK_LOST_TO_QUEUE,
        "A task that its queue may not allocate is dropped for the visit without any fit error.",
        "the pod's message; nodes are not even looked at",
    ),
    Quirk(
        PREEMPTION_IGNORES_QUEUE,
        "Topology-aware preemption evicts its potential victims although the queue may not allocate the task even "
        "then.",
        "who is evicted, for nothing",
    ),
    Quirk(
        SWITCH_MISSPELT,
        "A plugin switch that does not exist is ignored, and the default applies.",
        "whether the plugin is asked",
    ),
    Quirk(
        SEARCH_SAMPLED,
        "With many nodes the search ends early: which nodes are looked at depends on where earlier searches ended, "
        "also in earlier cycles.",
        "feasible nodes, hence the best one",
    ),
    Quirk(
        SCORES_DROPPED,
        "One batch scoring function failed, and with it the scores of all plugins are lost: no node is chosen "
        "although some fit.",
        "the task is not placed; in backfill the scheduler panics",
    ),
    Quirk(
        OVERUSED_KEPT_FALSE,
        "A queue beyond its deserved cpu and memory does not count as overused while another dimension, usually "
        "pods, is not used up.",
        "whether the queue is skipped",
    ),
    Quirk(
        STATEMENT_LEFT_OPEN,
        "The job is pipelined but not ready: allocate neither commits nor discards its statement, and the room stays "
        "taken until the session closes.",
        "what later jobs of this cycle find free",
    ),
    Quirk(
        BOUND_BECOMES_RUNNING,
        "A Bound victim of a discarded statement is Running for the rest of the session.",
        "reclaim's candidates, the PodGroup's phase",
    ),
    Quirk(
        PLUGIN_TWICE,
        "A plugin listed twice is opened twice: both instances get the events, only the second one is asked, at both "
        "places.",
        "scores count twice, enqueued resources count twice",
    ),
    Quirk(
        DEVICE_STAYS_CHARGED,
        "A placement that is taken back leaves its cards charged until the session ends (virtual GPUs, but not in "
        "v1.15; Ascend NPUs before v1.16): they are looked up on the pod object, which does not name them yet.",
        "which later tasks of the session find room on those cards",
    ),
    Quirk(
        DEVICE_NOT_REPLAYED,
        "MindCluster's Ascend devices are not replayed; the node passes without a look at its cards.",
        "feasible nodes and scores of that pod",
    ),
    Quirk(
        EXTENDER_UNKNOWN,
        "The extender's webhook would have been asked, and the snapshot holds no answer: the replay goes on without "
        "one.",
        "whatever the extender answers there",
    ),
    Quirk(
        BOOKS_CLAMPED,
        "With task state persistence, a plugin was to give back more than it holds; it stops at 0.",
        "the share of that job or queue",
    ),
    Quirk(
        BOUND_ALREADY,
        "With task state persistence, somebody else bound the pod to the chosen node meanwhile: the bind counts as a "
        "success.",
        "nothing: the pod is where it was to go",
    ),
    Quirk(
        BOUND_ELSEWHERE,
        "With task state persistence, somebody else bound the pod to another node meanwhile: the bind is an error, and "
        "the pod's annotations are struck out.",
        "the pod's place, and whether its gang is ready",
    ),
    Quirk(
        QUEUE_TREE_BROKEN,
        "One job in a queue with children, or a queue whose parent does not exist, and capacity gives up on the whole "
        "tree.",
        "everything: nothing is admitted or placed, and an eviction may end the process",
    ),
    Quirk(
        QUEUE_CYCLE,
        "Queues that are each other's parents are not noticed; the first copy of the tree overflows the stack.",
        "the scheduler's process ends",
        TOPOLOGY_PREEMPT_ABSENT,
    ),
    Quirk(
        ANCESTORS_OVERWRITTEN,
        "From the seventh level on, queues overwrite each other's lists of ancestors.",
        "which queues are checked, charged and compared",
    ),
    Quirk(
        VICTIM_LEAVES_TWICE,
        "tdm offers shuffle the nodes' own task objects: a victim is Releasing before its node takes it off, and the "
        "node subtracts it from what is being released.",
        "what is being released on the node, hence its future idle; where that is too little the scheduler's process "
        "ends",
    ),
    Quirk(
        UNLABELLED_SPARED,
        "The pdb plugin never offers a pod without labels, although no budget covers it.",
        "who is evicted",
    ),
)
QUIRKS = {quirk.code: quirk for quirk in _QUIRK_TABLE}
