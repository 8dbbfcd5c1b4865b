"""Changes of quota, share and admission.

Upstream: plugins/proportion, plugins/capacity, plugins/resourcequota, plugins/gang, plugins/extender.
"""

from vcdebug.releases.change import Change

ENQUEUE_INQUEUE_AT_VOTE = Change(
    "enqueue-inqueue-at-vote",
    "A plugin that permits a job reserves its minimum at once, also where a later plugin of the vote refuses the job.",
    "which later jobs are admitted",
    "v1.16; #5339; H",
)
GANG_CLOSE_RELEASING = Change(
    "gang-close-releasing",
    "A job whose tasks are all terminating is marked Unschedulable like any other that is not ready.",
    "conditions, and the phase Unknown",
    "v1.16 v1.15.2 v1.14.5 v1.13.4; #5796; M",
)
EXTENDER_JOB_ENQUEUED = Change(
    "extender-job-enqueued",
    "The extender is not notified of admitted jobs.",
    "what the extender's webhook knows",
    "v1.16; #5339; M",
)
CAPACITY_ROOT_ALWAYS_CLUSTER = Change(
    "capacity-root-always-cluster",
    "The root of a tree of queues may use and deserves what the cluster has, whatever it states.",
    "quotas in a tree of queues whose root states limits",
    "v1.13.0; #4354; M",
)
CAPACITY_TREE_DESERVED_CLAMPED = Change(
    "capacity-tree-deserved-clamped",
    "What a queue in a tree deserves is kept within its limit and raised to its guarantee, before it is summed up.",
    "who may reclaim in a tree of queues, and whether the tree counts as broken",
    "v1.13.0; #4354; M",
)
CAPACITY_SCALARS_NOT_INHERITED = Change(
    "capacity-scalars-not-inherited",
    "A queue does not inherit its parent's limits of accelerators: a queue below that states one breaks the tree.",
    "everything in a tree of queues in which a limit of GPUs skips a level",
    "v1.13.0; #4504; H",
)
ZERO_DESERVED_DROPPED = Change(
    "zero-deserved-dropped",
    "A queue that deserves 0 of an accelerator counts as one that says nothing about it.",
    "who may place tasks and reclaim, where a queue deserves none of an accelerator",
    "v1.13.0 v1.12.3; f5544dc86; M",
)
ROOT_DESERVED_OVERWRITTEN = Change(
    "root-deserved-overwritten",
    "At the end of a cycle the root queue's deserved is written as what the cluster has.",
    "what the object of the root queue states",
    "v1.13.0; #4354; L",
    replayed=False,
    unshown="Recordings hold no changes of a queue's spec.",
)
EXTENDER_BASIC = Change(
    "extender-basic",
    "The extender is asked about every task, and is not notified of placements.",
    "what the extender's webhook is asked and may refuse",
    "v1.13.0; #4377; M",
)
QUOTA_EVENT_TEXT = Change(
    "quota-event-text",
    "The event about a job that is not admitted names no resource.",
    "texts of events",
    "v1.13.0; 50b760069; T",
    replayed=False,
    unshown="Recordings hold conditions, and no texts of Kubernetes events.",
)
CAPACITY_RECLAIM_LIST_ORDER = Change(
    "capacity-reclaim-list-order",
    "capacity takes candidates for reclaim as they stand on the node, not in the order of eviction.",
    "who is evicted",
    "v1.15.0; #5115; M",
)
CAPACITY_ANCESTOR_LEVEL = Change(
    "capacity-ancestor-level",
    "Only a queue itself may claim what it deserves: there is no ancestorReclaimLevel.",
    "whether a queue may reclaim through its parents",
    "v1.15.0; #5115; M",
)
CAPACITY_PREEMPTIVE_NO_CAP = Change(
    "capacity-preemptive-no-cap",
    "A queue at its limit in one dimension may still reclaim for one that it deserves more of.",
    "who is evicted",
    "v1.15.0; #5053; H",
)
INQUEUE_FULL_MINRESOURCES = Change(
    "inqueue-full-minresources",
    "An Inqueue job reserves its whole minimum, also the part that its tasks already hold.",
    "which jobs are admitted soon after a placement",
    "v1.15.0; #5100; H",
)
INQUEUE_SCALAR_UNITS = Change(
    "inqueue-scalar-units",
    "Jobs reserve next to nothing of accelerators: whole units are compared with thousandths.",
    "admission of jobs that ask for GPUs",
    "v1.15.1 v1.14.3; #5391; M",
)
DRA_QUOTA = Change(
    "dra-quota",
    "Devices of resource claims have no quota.",
    "admission, allocation and reclaim of jobs with claims",
    "v1.15.0; #5058; M",
)
DRA_COUNT_WRAPS = Change(
    "dra-count-wraps",
    "Sums of device counts wrap around at 2^63.",
    "quotas with absurd counts",
    "v1.15.1; #5621; L",
    since="v1.15.0",
)
DRA_CAPACITY_MUL = Change(
    "dra-capacity-mul",
    "A claim for no devices counts the capacity of one.",
    "quotas of claims with a count below 1",
    "v1.16; c7fb3fe74; L",
)
CAPACITY_TREE_VIOLATION_FATAL = Change(
    "capacity-tree-violation-fatal",
    "A queue with more capability, or whose children deserve or are guaranteed more than it, stops all of capacity.",
    "everything in a tree of queues: nothing is admitted or placed",
    "v1.14.0; #4864; H",
)
CAPACITY_TREE_DESERVED_RAW = Change(
    "capacity-tree-deserved-raw",
    "In a tree of queues a guarantee does not raise what a queue deserves.",
    "shares, and which pods may be reclaimed",
    "v1.15.0 v1.14.2; #4973; M",
)
CAPACITY_BEST_EFFORT_FIRST = Change(
    "capacity-best-effort-first",
    "Queues that deserve nothing come first in capacity, not last.",
    "which queue is served first",
    "v1.14.0; #4865; H",
)
CAPACITY_RECLAIM_ALL_UNDER_DESERVED = Change(
    "capacity-reclaim-all-under-deserved",
    "capacity protects a queue only while it holds no more than it deserves in every dimension that it states.",
    "who is evicted",
    "v1.14.0; #4919; H",
)
CAPACITY_PREEMPTIVE_EVERY_DIMENSION = Change(
    "capacity-preemptive-every-dimension",
    "A queue reclaims only where it deserves more in every dimension of the task.",
    "who is evicted",
    "v1.13.1; #4659; H",
)
CAPACITY_CYCLE = Change(
    "capacity-cycle",
    "Queues that are each other's parents are not looked for.",
    "nothing",
    "v1.14.0; #4697; L",
    replayed=False,
    unshown="The search for a cycle in newer releases never finds one.",
)
ROOT_INFINITE = Change(
    "root-infinite",
    "The root queue's limit is the cluster, whatever it states.",
    "quotas in a tree of queues",
    "v1.15.0 v1.14.2; #4973; H",
)
CAPACITY_DESERVED_WITHIN_REQUEST = Change(
    "capacity-deserved-within-request",
    "A queue deserves no more than its tasks request, in a tree nothing of what they do not request.",
    "shares, whose turn it is, and who may reclaim from whom",
    "v1.12.0; aabc66def; H",
)
QUEUE_STATE_UNREAD = Change(
    "queue-state-unread",
    "capacity and proportion do not ask whether a queue is open.",
    "jobs in closed queues",
    "v1.12.0; #4307; M",
)
CAPACITY_ADMISSION_LEAF_ONLY = Change(
    "capacity-admission-leaf-only",
    "In a tree of queues only a job's own queue is asked and reserves when the job is admitted.",
    "admission in a tree of queues",
    "v1.12.0; #4119; M",
)
GUARANTEES_BEYOND_REST = Change(
    "guarantees-beyond-rest",
    "Guarantees that are more than what is left to share out end the process.",
    "the scheduler's process ends",
    "v1.12.0; 81424b85a; M",
)
RECLAIM_WHOLE_REQUEST = Change(
    "reclaim-whole-request",
    "Queues that hold less than the reclaimer requests, in any dimension, give nothing back.",
    "who is evicted",
    "v1.12.0 v1.11.1; 975277f55; H",
)
GANG_CLOSE_WITHOUT_TASKS = Change(
    "gang-close-without-tasks",
    "A job without tasks is marked Unschedulable like any other that is not ready.",
    "conditions of PodGroups without pods",
    "v1.12.0; #4012; M",
)
CDP_PREEMPT_ONLY = Change(
    "cdp-preempt-only",
    "cdp protects pods from preempt only, not from reclaim.",
    "who is evicted by reclaim",
    "v1.12.0; #4123; M",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
