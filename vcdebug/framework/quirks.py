"""Upstream behaviours that its maintainers would call bugs: the replay reproduces them and notes where they act.

Upstream: all of it; docs/fidelity.md shows this table.
"""

from msgspec import Struct

from vcdebug.releases.change import Change, read_labelled
from vcdebug.releases.nodes import RESERVE_FAILURE_CONTINUES
from vcdebug.releases.queues import CAPACITY_TREE_ABSENT
from vcdebug.releases.scheduling import TOPOLOGY_PREEMPT_ABSENT, VICTIMS_NOT_RESTARTED


class Quirk(Struct, frozen=True):
    """A quirk: what happens, which decisions it can change, and in which releases."""

    code: str
    description: str
    affected_decision: str
    absent_with: Change | None = None
    """The change in whose older form the quirk does not occur."""


QUIRKS: dict[str, Quirk] = {}
"""All quirks by code, in the order below."""


def _add_quirk(text: str, absent_with: Change | None = None) -> str:
    """Add a quirk to the table; returns its code, by which the replay notes it."""
    code, description, fields = read_labelled(text)
    QUIRKS[code] = Quirk(code, description, fields["decides"], absent_with)
    return code


VIEW_LOST_POD = _add_quirk(
    """view-lost-pod
    After a rolled-back eviction, plugin predicates no longer sees the pod on its node: Reserve fails when the pod
    is restored, and the error is ignored.
    decides: host ports, pod affinity, spread and pod count of later tasks on that node""",
    RESERVE_FAILURE_CONTINUES,
)
FILTER_STAYS_SKIPPED = _add_quirk("""filter-stays-skipped
    A filter skipped by PreFilter stays skipped for the task for the whole session.
    decides: whether a node that no longer fits is rejected""")
ANTI_AFFINITY_MISSED = _add_quirk("""anti-affinity-missed
    Required podAntiAffinity of a pod placed in this session is ignored on nodes that had no such pod at session
    open.
    decides: nodes of later pods""")
CLAIMS_UNDECIDED = _add_quirk("""claims-undecided
    Device allocation of the pod's resource claims is unknown (see note); every node passes.
    decides: feasible nodes of that pod""")
PROMISE_WITHOUT_NODE = _add_quirk("""promise-without-node
    Pipelining does not set the pod's node, which Reserve reads: a pod with unallocated resource claims is rejected
    and rolled back.
    decides: whether such a pod can preempt or reclaim""")
TIER_VETO_UNDONE = _add_quirk("""tier-veto-undone
    A plugin that allows no victim ends only its own tier; a later tier started over and allowed victims.
    decides: which pods are evicted""")
INTERSECTION_RESTARTED = _add_quirk(
    """intersection-restarted
    Two plugins of one tier allowed disjoint victims, and the next plugin started over with its own.
    decides: which pods are evicted""",
    VICTIMS_NOT_RESTARTED,
)
TASK_LOST_TO_QUEUE = _add_quirk("""task-lost-to-queue
    A task over its queue's quota is skipped without a fit error.
    decides: the pod's message; no node is checked""")
PREEMPTION_IGNORES_QUEUE = _add_quirk("""preemption-ignores-queue
    Topology-aware preemption evicts victims although the queue still has no quota for the task.
    decides: unnecessary evictions""")
SWITCH_MISSPELT = _add_quirk("""switch-misspelt
    A plugin switch that does not exist is ignored, and the default applies.
    decides: whether the plugin is consulted""")
SEARCH_SAMPLED = _add_quirk("""search-sampled
    With many nodes, the search checks a sample; its start depends on earlier searches and cycles.
    decides: feasible nodes and the best one""")
SCORES_DROPPED = _add_quirk("""scores-dropped
    One batch scorer failed, which discards the scores of all plugins; no node is chosen although some fit.
    decides: the task is not placed; in backfill the scheduler panics""")
OVERUSED_KEPT_FALSE = _add_quirk("""overused-kept-false
    A queue above its deserved cpu and memory is not overused while another resource, usually pods, is below
    deserved.
    decides: whether the queue is skipped""")
STATEMENT_LEFT_OPEN = _add_quirk("""statement-left-open
    The job is pipelined but not ready: allocate neither commits nor discards its statement, so the resources stay
    allocated until the session closes.
    decides: free resources of later jobs in this cycle""")
BOUND_BECOMES_RUNNING = _add_quirk("""bound-becomes-running
    A Bound victim of a discarded statement is Running for the rest of the session.
    decides: reclaim's candidates, the PodGroup's phase""")
PLUGIN_TWICE = _add_quirk("""plugin-twice
    A plugin listed twice has two instances: both receive events, but only the second answers, at both positions.
    decides: scores count twice, enqueued resources count twice""")
DEVICE_STAYS_CHARGED = _add_quirk("""device-stays-charged
    A rolled-back placement keeps its cards allocated until the session ends (virtual GPUs, but not in v1.15; Ascend
    NPUs before v1.16): they are looked up on the pod object, which does not name them yet.
    decides: card availability for later tasks of the session""")
DEVICE_NOT_REPLAYED = _add_quirk("""device-not-replayed
    MindCluster's Ascend devices are not replayed; the node passes without a check of its cards.
    decides: feasible nodes and scores of that pod""")
EXTENDER_UNKNOWN = _add_quirk("""extender-unknown
    The snapshot has no answer of the extender's webhook to this call; the replay continues without one.
    decides: everything that the extender's answer affects""")
BOOKS_CLAMPED = _add_quirk("""books-clamped
    With task state persistence, a plugin was to release more than is allocated; the amount stops at 0.
    decides: the share of that job or queue""")
BOUND_ALREADY = _add_quirk("""bound-already
    With task state persistence, another client bound the pod to the chosen node; the bind counts as a success.
    decides: nothing: the pod is on the chosen node""")
BOUND_ELSEWHERE = _add_quirk("""bound-elsewhere
    With task state persistence, another client bound the pod to another node; the bind fails and the pod's
    annotations are removed.
    decides: the pod's node, and whether its gang is ready""")
QUEUE_TREE_BROKEN = _add_quirk(
    """queue-tree-broken
    If a job is in a queue with children, or a queue's parent is missing, capacity stops working for all queues.
    decides: everything: nothing is admitted or placed, and an eviction can cause a scheduler panic""",
    CAPACITY_TREE_ABSENT,
)
QUEUE_CYCLE = _add_quirk(
    """queue-cycle
    A cycle in the queue tree is not detected; copying the tree overflows the stack.
    decides: scheduler panic""",
    TOPOLOGY_PREEMPT_ABSENT,
)
ANCESTORS_OVERWRITTEN = _add_quirk(
    """ancestors-overwritten
    From the seventh level on, queues overwrite each other's lists of ancestors.
    decides: which queues are checked, charged and compared""",
    CAPACITY_TREE_ABSENT,
)
VICTIM_LEAVES_TWICE = _add_quirk("""victim-leaves-twice
    tdm gives shuffle the nodes' own task objects: a victim is Releasing before its node removes it, and the node
    subtracts it from its releasing amount.
    decides: the releasing amount of the node, hence its future idle; scheduler panic if that is too small""")
UNLABELLED_PROTECTED = _add_quirk("""unlabelled-spared
    Plugin pdb never allows evicting a pod without labels, although no PodDisruptionBudget covers it.
    decides: which pods are evicted""")
