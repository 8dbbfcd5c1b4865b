"""Changes about quota, share and admission.

Upstream: plugins/proportion, plugins/capacity, plugins/resourcequota, plugins/gang, plugins/extender.
"""

from vcdebug.releases.change import Change, name_changes

ENQUEUE_INQUEUE_AT_VOTE = Change(
    "A plugin that permits a job reserves its minResources immediately, even if a later plugin rejects the job.",
    "which later jobs are admitted",
    "v1.16; #5339; H",
)
GANG_CLOSE_RELEASING = Change(
    "A job with only terminating tasks is marked Unschedulable, as any other job that is not ready.",
    "conditions and the phase Unknown",
    "v1.16 v1.15.2 v1.14.5 v1.13.4; #5796; M",
)
EXTENDER_JOB_ENQUEUED = Change(
    "The extender is not notified of admitted jobs.",
    "state known to the extender's webhook",
    "v1.16; #5339; M",
)
CAPACITY_ROOT_ALWAYS_CLUSTER = Change(
    "The root of a queue tree has the cluster's total as limit and deserved amount, whatever its spec states.",
    "quotas in a queue tree with limits on the root",
    "v1.13.0; #4354; M",
)
CAPACITY_TREE_DESERVED_CLAMPED = Change(
    "The deserved amount of a queue in a tree is clamped to its limit and raised to its guarantee before the sum.",
    "which queues can reclaim in a queue tree, and whether the tree is invalid",
    "v1.13.0; #4354; M",
)
CAPACITY_SCALARS_NOT_INHERITED = Change(
    "A queue does not inherit its parent's accelerator limits: a child queue that states one invalidates the tree.",
    "everything in a queue tree in which a GPU limit skips a level",
    "v1.13.0; #4504; H",
)
ZERO_DESERVED_DROPPED = Change(
    "Deserved 0 of an accelerator is treated as not stated.",
    "which queues can place tasks and reclaim, if a queue deserves 0 of an accelerator",
    "v1.13.0 v1.12.3; f5544dc86; M",
)
ROOT_DESERVED_OVERWRITTEN = Change(
    "At the end of a cycle, the cluster's total is written as the root queue's deserved.",
    "spec of the root queue",
    "v1.13.0; #4354; L",
    replayed=False,
    unshown_reason="Recordings hold no changes of a queue's spec.",
)
EXTENDER_BASIC = Change(
    "The extender is called for every task, and is not notified of placements.",
    "calls of the extender's webhook, and what it can reject",
    "v1.13.0; #4377; M",
)
QUOTA_EVENT_TEXT = Change(
    "The event about a job that is not admitted names no resource.",
    "texts of events",
    "v1.13.0; 50b760069; T",
)
CAPACITY_RECLAIM_LIST_ORDER = Change(
    "capacity evaluates reclaim candidates in node order, not in eviction order.",
    "which pods are evicted",
    "v1.15.0; #5115; M",
)
CAPACITY_ANCESTOR_LEVEL = Change(
    "Only a queue itself can claim its deserved amount: ancestorReclaimLevel does not exist.",
    "whether a queue can reclaim through its parents",
    "v1.15.0; #5115; M",
)
CAPACITY_PREEMPTIVE_NO_CAP = Change(
    "A queue at its limit in one resource can still reclaim another resource that it deserves more of.",
    "which pods are evicted",
    "v1.15.0; #5053; H",
)
INQUEUE_FULL_MINRESOURCES = Change(
    "An Inqueue job reserves its whole minResources, including the part that its tasks already use.",
    "which jobs are admitted soon after a placement",
    "v1.15.0; #5100; H",
)
INQUEUE_SCALAR_UNITS = Change(
    "Jobs reserve almost no accelerators: whole units are compared with thousandths.",
    "admission of jobs with GPUs",
    "v1.15.1 v1.14.3; #5391; M",
)
DRA_QUOTA = Change(
    "Devices of resource claims have no quota.",
    "admission, allocation and reclaim of jobs with claims",
    "v1.15.0; #5058; M",
)
DRA_COUNT_WRAPS = Change(
    "Sums of device counts overflow at 2^63.",
    "quotas with extreme counts",
    "v1.15.1; #5621; L",
    first_older_tag="v1.15.0",
)
DRA_CAPACITY_MUL = Change(
    "A claim for no devices counts the capacity of one.",
    "quotas of claims with a count below 1",
    "v1.16; c7fb3fe74; L",
)
CAPACITY_TREE_VIOLATION_FATAL = Change(
    "A queue with more capability than its parent, or with children that deserve or are guaranteed more "
    "than itself, disables all of capacity.",
    "everything in a queue tree: nothing is admitted or placed",
    "v1.14.0; #4864; H",
)
CAPACITY_TREE_DESERVED_RAW = Change(
    "In a queue tree, a guarantee does not raise the deserved amount.",
    "shares, and which pods can be reclaimed",
    "v1.15.0 v1.14.2; #4973; M",
)
CAPACITY_BEST_EFFORT_FIRST = Change(
    "Queues with deserved 0 come first in capacity, not last.",
    "order of queues",
    "v1.14.0; #4865; H",
)
CAPACITY_RECLAIM_ALL_UNDER_DESERVED = Change(
    "capacity protects a queue only if it is at or below deserved in every stated resource.",
    "which pods are evicted",
    "v1.14.0; #4919; H",
)
CAPACITY_PREEMPTIVE_EVERY_DIMENSION = Change(
    "A queue reclaims only if it is below deserved in every resource of the task.",
    "which pods are evicted",
    "v1.13.1; #4659; H",
)
CAPACITY_CYCLE = Change(
    "Cycles in the queue tree are not detected.",
    "nothing",
    "v1.14.0; #4697; L",
    replayed=False,
    unshown_reason="The search for such a cycle in newer releases never finds one.",
)
ROOT_INFINITE = Change(
    "The root queue's limit is the cluster's total, whatever its spec states.",
    "quotas in a queue tree",
    "v1.15.0 v1.14.2; #4973; H",
)
CAPACITY_DESERVED_WITHIN_REQUEST = Change(
    "A queue deserves no more than its tasks request, in a tree nothing of what they do not request.",
    "shares, the order of queues, and which queues can reclaim from which",
    "v1.12.0; aabc66def; H",
)
QUEUE_STATE_UNREAD = Change(
    "capacity and proportion do not ask whether a queue is open.",
    "jobs in closed queues",
    "v1.12.0; #4307; M",
)
CAPACITY_ADMISSION_LEAF_ONLY = Change(
    "In a tree of queues only a job's own queue is asked and reserves when the job is admitted.",
    "admission in a tree of queues",
    "v1.12.0; #4119; M",
)
GUARANTEES_BEYOND_REST = Change(
    "Guarantees that are more than what is left to share out end the process.",
    "scheduler panic",
    "v1.12.0; 81424b85a; M",
)
RECLAIM_WHOLE_REQUEST = Change(
    "Queues that hold less than the reclaimer requests, in any dimension, give nothing back.",
    "which pods are evicted",
    "v1.12.0 v1.11.1; 975277f55; H",
)
GANG_CLOSE_WITHOUT_TASKS = Change(
    "A job without tasks is marked Unschedulable like any other that is not ready.",
    "conditions of PodGroups without pods",
    "v1.12.0; #4012; M",
)
CDP_PREEMPT_ONLY = Change(
    "cdp protects pods from preempt only, not from reclaim.",
    "which pods are evicted by reclaim",
    "v1.12.0; #4123; M",
)
CAPACITY_TREE_ABSENT = Change(
    "capacity knows no tree of queues: spec.parent and its enableHierarchy are not read, and no queue root is made.",
    "quotas, order, admission and reclaim in a tree of queues",
    "v1.11.0; #3743; H",
)
GUARANTEES_BEYOND_TOTAL = Change(
    "Guarantees that are more than the cluster has end the process.",
    "scheduler panic",
    "v1.11.0 v1.10.1; 6294765d6; M",
)
METRICS_WITHOUT_SCALARS = Change(
    "The metrics of queues have cpu and memory only.",
    "nothing",
    "v1.12.0; #3937; T",
    unshown_reason="Recordings of schedulers have no metrics.",
)
ELASTIC_IN_EVERY_DIMENSION = Change(
    "A job has elastic resources only if it exceeds its minResources in every dimension.",
    "which jobs are admitted",
    "v1.11.0 v1.10.1; 10a614194; H",
)

# Open pull requests, read from their diffs of 2026-08.

PR_5373 = Change(
    "preempt and gangpreempt skip queues with spec.preemptable: false, also for their own pods.",
    "which pods are evicted in queues with spec.preemptable",
    "; #5373; M",
)
PR_5502 = Change(
    "Each queue has its own list of ancestors, also from the seventh level on.",
    "quotas in queue trees with seven levels",
    "; #5502; M",
)
PR_5744 = Change(
    "resourcequota adds no minResources for a job with pods: the quota's usage already counts them.",
    "which jobs are admitted in namespaces with a ResourceQuota",
    "; #5744; M",
)
PR_5800 = Change(
    "resourcequota ignores quotas with scopes or a scope selector.",
    "which jobs are admitted in namespaces with a scoped ResourceQuota",
    "; #5800; M",
)

CHANGES = name_changes(globals())
