"""Upstream behaviours that its maintainers would call bugs or traps: replayed as they are, and named where they act.

Upstream: all of it; docs/fidelity.md shows this table.
"""

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


QUIRKS: dict[str, Quirk] = {}
"""Every quirk by its code, in the order below."""


def _add_quirk(code: str, what: str, decides: str, absent_with: Change | None = None) -> str:
    """Enter a quirk; its code, by which replays note it."""
    QUIRKS[code] = Quirk(code, what, decides, absent_with)
    return code


VIEW_LOST_POD = _add_quirk(
    "view-lost-pod",
    "After a discarded eviction the predicates plugin's view of the node has lost the pod: Reserve refuses its "
    "return, and the session ignores that.",
    "host ports, pod affinity, spread and pod count of later tasks on that node",
    RESERVE_FAILURE_CONTINUES,
)
FILTER_STAYS_SKIPPED = _add_quirk(
    "filter-stays-skipped",
    "A filter that PreFilter skipped once for a task stays skipped for the whole session.",
    "whether a node that no longer fits is refused",
)
ANTI_AFFINITY_MISSED = _add_quirk(
    "anti-affinity-missed",
    "Required anti-affinity of a pod placed in this session is not seen on nodes that held no such pod when it opened.",
    "where later pods may go",
)
CLAIMS_UNDECIDED = _add_quirk(
    "claims-undecided",
    "It is not known which devices the pod's resource claims would get: the note says why. Every node passes.",
    "feasible nodes of that pod",
)
PROMISE_WITHOUT_NODE = _add_quirk(
    "promise-without-node",
    "Pipelining does not write the node into the pod, where Reserve looks for it: a pod whose resource claims are to "
    "be allocated is refused, and rolled back.",
    "whether such a pod can preempt or reclaim at all",
)
TIER_VETO_UNDONE = _add_quirk(
    "tier-veto-undone",
    "A plugin that allows no candidate only ends its own tier: a later tier was asked about all candidates and allowed "
    "victims.",
    "who is evicted",
)
INTERSECTION_RESTARTED = _add_quirk(
    "intersection-restarted",
    "Two plugins of one tier offered disjoint victims, and the next plugin of the tier started over with its own.",
    "who is evicted",
)
TASK_LOST_TO_QUEUE = _add_quirk(
    "task-lost-to-queue",
    "A task that its queue may not allocate is dropped for the visit without any fit error.",
    "the pod's message; nodes are not even looked at",
)
PREEMPTION_IGNORES_QUEUE = _add_quirk(
    "preemption-ignores-queue",
    "Topology-aware preemption evicts its potential victims although the queue may not allocate the task even then.",
    "who is evicted, for nothing",
)
SWITCH_MISSPELT = _add_quirk(
    "switch-misspelt",
    "A plugin switch that does not exist is ignored, and the default applies.",
    "whether the plugin is asked",
)
SEARCH_SAMPLED = _add_quirk(
    "search-sampled",
    "With many nodes the search ends early: which nodes are looked at depends on where earlier searches ended, also "
    "in earlier cycles.",
    "feasible nodes, hence the best one",
)
SCORES_DROPPED = _add_quirk(
    "scores-dropped",
    "One batch scoring function failed, and with it the scores of all plugins are lost: no node is chosen although "
    "some fit.",
    "the task is not placed; in backfill the scheduler panics",
)
OVERUSED_KEPT_FALSE = _add_quirk(
    "overused-kept-false",
    "A queue beyond its deserved cpu and memory does not count as overused while another dimension, usually pods, is "
    "not used up.",
    "whether the queue is skipped",
)
STATEMENT_LEFT_OPEN = _add_quirk(
    "statement-left-open",
    "The job is pipelined but not ready: allocate neither commits nor discards its statement, and the room stays "
    "taken until the session closes.",
    "what later jobs of this cycle find free",
)
BOUND_BECOMES_RUNNING = _add_quirk(
    "bound-becomes-running",
    "A Bound victim of a discarded statement is Running for the rest of the session.",
    "reclaim's candidates, the PodGroup's phase",
)
PLUGIN_TWICE = _add_quirk(
    "plugin-twice",
    "A plugin listed twice is opened twice: both instances get the events, only the second one is asked, at both "
    "places.",
    "scores count twice, enqueued resources count twice",
)
DEVICE_STAYS_CHARGED = _add_quirk(
    "device-stays-charged",
    "A placement that is rolled back leaves its cards charged until the session ends (virtual GPUs, but not in v1.15; "
    "Ascend NPUs before v1.16): they are looked up on the pod object, which does not name them yet.",
    "which later tasks of the session find room on those cards",
)
DEVICE_NOT_REPLAYED = _add_quirk(
    "device-not-replayed",
    "MindCluster's Ascend devices are not replayed; the node passes without a look at its cards.",
    "feasible nodes and scores of that pod",
)
EXTENDER_UNKNOWN = _add_quirk(
    "extender-unknown",
    "The extender's webhook would have been asked, and the snapshot holds no answer: the replay goes on without one.",
    "whatever the extender answers there",
)
BOOKS_CLAMPED = _add_quirk(
    "books-clamped",
    "With task state persistence, a plugin was to release more than it holds; it stops at 0.",
    "the share of that job or queue",
)
BOUND_ALREADY = _add_quirk(
    "bound-already",
    "With task state persistence, another client bound the pod to the chosen node meanwhile: the bind counts as a "
    "success.",
    "nothing: the pod is where it was to go",
)
BOUND_ELSEWHERE = _add_quirk(
    "bound-elsewhere",
    "With task state persistence, another client bound the pod to another node meanwhile: the bind is an error, and "
    "the pod's annotations are struck out.",
    "the pod's place, and whether its gang is ready",
)
QUEUE_TREE_BROKEN = _add_quirk(
    "queue-tree-broken",
    "One job in a queue with children, or a queue whose parent does not exist, and capacity ignores the whole tree.",
    "everything: nothing is admitted or placed, and an eviction may end the process",
)
QUEUE_CYCLE = _add_quirk(
    "queue-cycle",
    "Queues that are each other's parents are not noticed; the first copy of the tree overflows the stack.",
    "the scheduler's process ends",
    TOPOLOGY_PREEMPT_ABSENT,
)
ANCESTORS_OVERWRITTEN = _add_quirk(
    "ancestors-overwritten",
    "From the seventh level on, queues overwrite each other's lists of ancestors.",
    "which queues are checked, charged and compared",
)
VICTIM_LEAVES_TWICE = _add_quirk(
    "victim-leaves-twice",
    "tdm offers shuffle the nodes' own task objects: a victim is Releasing before its node takes it off, and the "
    "node subtracts it from what is being released.",
    "what is being released on the node, hence its future idle; where that is too little the scheduler's process ends",
)
UNLABELLED_SPARED = _add_quirk(
    "unlabelled-spared",
    "The pdb plugin never offers a pod without labels, although no budget covers it.",
    "who is evicted",
)
