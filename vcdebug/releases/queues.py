"""Changes about quota, share and admission.

Upstream: plugins/proportion, plugins/capacity, plugins/resourcequota, plugins/gang, plugins/extender.
"""

from vcdebug.releases.change import Change, name_changes

ENQUEUE_INQUEUE_AT_VOTE = Change.from_text("""v1.16; #5339; H
    A plugin that permits a job reserves its minResources immediately, even if a later plugin rejects the job.
    decides: which later jobs are admitted""")
GANG_CLOSE_RELEASING = Change.from_text("""v1.16 v1.15.2 v1.14.5 v1.13.4; #5796; M
    A job with only terminating tasks is marked Unschedulable, as any other job that is not ready.
    decides: conditions and the phase Unknown""")
EXTENDER_JOB_ENQUEUED = Change.from_text("""v1.16; #5339; M
    The extender is not notified of admitted jobs.
    decides: state known to the extender's webhook""")
CAPACITY_ROOT_ALWAYS_CLUSTER = Change.from_text("""v1.13.0; #4354; M
    The root of a queue tree has the cluster's total as limit and deserved amount, whatever its spec states.
    decides: quotas in a queue tree with limits on the root""")
CAPACITY_TREE_DESERVED_CLAMPED = Change.from_text("""v1.13.0; #4354; M
    The deserved amount of a queue in a tree is clamped to its limit and raised to its guarantee before the sum.
    decides: which queues can reclaim in a queue tree, and whether the tree is invalid""")
CAPACITY_SCALARS_NOT_INHERITED = Change.from_text("""v1.13.0; #4504; H
    A queue does not inherit its parent's accelerator limits: a child queue that states one invalidates the tree.
    decides: everything in a queue tree in which a GPU limit skips a level""")
ZERO_DESERVED_DROPPED = Change.from_text("""v1.13.0 v1.12.3; f5544dc86; M
    Deserved 0 of an accelerator is treated as not stated.
    decides: which queues can place tasks and reclaim, if a queue deserves 0 of an accelerator""")
ROOT_DESERVED_OVERWRITTEN = Change.from_text("""v1.13.0; #4354; L
    At the end of a cycle, the cluster's total is written as the root queue's deserved.
    decides: spec of the root queue
    not replayed: Recordings hold no changes of a queue's spec.""")
EXTENDER_BASIC = Change.from_text("""v1.13.0; #4377; M
    The extender is called for every task, and is not notified of placements.
    decides: calls of the extender's webhook, and what it can reject""")
QUOTA_EVENT_TEXT = Change.from_text("""v1.13.0; 50b760069; T
    The event about a job that is not admitted names no resource.
    decides: texts of events""")
CAPACITY_RECLAIM_LIST_ORDER = Change.from_text("""v1.15.0; #5115; M
    capacity evaluates reclaim candidates in node order, not in eviction order.
    decides: which pods are evicted""")
CAPACITY_ANCESTOR_LEVEL = Change.from_text("""v1.15.0; #5115; M
    Only a queue itself can claim its deserved amount: ancestorReclaimLevel does not exist.
    decides: whether a queue can reclaim through its parents""")
CAPACITY_PREEMPTIVE_NO_CAP = Change.from_text("""v1.15.0; #5053; H
    A queue at its limit in one resource can still reclaim another resource that it deserves more of.
    decides: which pods are evicted""")
INQUEUE_FULL_MINRESOURCES = Change.from_text("""v1.15.0; #5100; H
    An Inqueue job reserves its whole minResources, including the part that its tasks already use.
    decides: which jobs are admitted soon after a placement""")
INQUEUE_SCALAR_UNITS = Change.from_text("""v1.15.1 v1.14.3; #5391; M
    Jobs reserve almost no accelerators: whole units are compared with thousandths.
    decides: admission of jobs with GPUs""")
DRA_QUOTA = Change.from_text("""v1.15.0; #5058; M
    Devices of resource claims have no quota.
    decides: admission, allocation and reclaim of jobs with claims""")
DRA_COUNT_WRAPS = Change.from_text("""v1.15.1; #5621; L
    Sums of device counts overflow at 2^63.
    decides: quotas with extreme counts
    since: v1.15.0""")
DRA_CAPACITY_MUL = Change.from_text("""v1.16; c7fb3fe74; L
    A claim for no devices counts the capacity of one.
    decides: quotas of claims with a count below 1""")
CAPACITY_TREE_VIOLATION_FATAL = Change.from_text("""v1.14.0; #4864; H
    A queue with more capability than its parent, or with children that deserve or are guaranteed more than itself,
    disables all of capacity.
    decides: everything in a queue tree: nothing is admitted or placed""")
CAPACITY_TREE_DESERVED_RAW = Change.from_text("""v1.15.0 v1.14.2; #4973; M
    In a queue tree, a guarantee does not raise the deserved amount.
    decides: shares, and which pods can be reclaimed""")
CAPACITY_BEST_EFFORT_FIRST = Change.from_text("""v1.14.0; #4865; H
    Queues with deserved 0 come first in capacity, not last.
    decides: order of queues""")
CAPACITY_RECLAIM_ALL_UNDER_DESERVED = Change.from_text("""v1.14.0; #4919; H
    capacity protects a queue only if it is at or below deserved in every stated resource.
    decides: which pods are evicted""")
CAPACITY_PREEMPTIVE_EVERY_DIMENSION = Change.from_text("""v1.13.1; #4659; H
    A queue reclaims only if it is below deserved in every resource of the task.
    decides: which pods are evicted""")
CAPACITY_CYCLE = Change.from_text("""v1.14.0; #4697; L
    Cycles in the queue tree are not detected.
    decides: nothing
    not replayed: The search for such a cycle in newer releases never finds one.""")
ROOT_INFINITE = Change.from_text("""v1.15.0 v1.14.2; #4973; H
    The root queue's limit is the cluster's total, whatever its spec states.
    decides: quotas in a queue tree""")
CAPACITY_DESERVED_WITHIN_REQUEST = Change.from_text("""v1.12.0; aabc66def; H
    A queue deserves no more than its tasks request, in a tree nothing of what they do not request.
    decides: shares, the order of queues, and which queues can reclaim from which""")
QUEUE_STATE_UNREAD = Change.from_text("""v1.12.0; #4307; M
    capacity and proportion do not ask whether a queue is open.
    decides: jobs in closed queues""")
CAPACITY_ADMISSION_LEAF_ONLY = Change.from_text("""v1.12.0; #4119; M
    In a tree of queues only a job's own queue is asked and reserves when the job is admitted.
    decides: admission in a tree of queues""")
GUARANTEES_BEYOND_REST = Change.from_text("""v1.12.0; 81424b85a; M
    Guarantees that are more than what is left to share out end the process.
    decides: scheduler panic""")
RECLAIM_WHOLE_REQUEST = Change.from_text("""v1.12.0 v1.11.1; 975277f55; H
    Queues that hold less than the reclaimer requests, in any dimension, give nothing back.
    decides: which pods are evicted""")
GANG_CLOSE_WITHOUT_TASKS = Change.from_text("""v1.12.0; #4012; M
    A job without tasks is marked Unschedulable like any other that is not ready.
    decides: conditions of PodGroups without pods""")
CDP_PREEMPT_ONLY = Change.from_text("""v1.12.0; #4123; M
    cdp protects pods from preempt only, not from reclaim.
    decides: which pods are evicted by reclaim""")
CAPACITY_TREE_ABSENT = Change.from_text("""v1.11.0; #3743; H
    capacity knows no tree of queues: spec.parent and its enableHierarchy are not read, and no queue root is made.
    decides: quotas, order, admission and reclaim in a tree of queues""")
GUARANTEES_BEYOND_TOTAL = Change.from_text("""v1.11.0 v1.10.1; 6294765d6; M
    Guarantees that are more than the cluster has end the process.
    decides: scheduler panic""")
METRICS_WITHOUT_SCALARS = Change.from_text("""v1.12.0; #3937; T
    The metrics of queues have cpu and memory only.
    decides: nothing
    not shown: Recordings of schedulers have no metrics.""")
ELASTIC_IN_EVERY_DIMENSION = Change.from_text("""v1.11.0 v1.10.1; 10a614194; H
    A job has elastic resources only if it exceeds its minResources in every dimension.
    decides: which jobs are admitted""")

# Open pull requests, read from their diffs of 2026-08.

PR_5373 = Change.from_text("""; #5373; M
    preempt and gangpreempt skip queues with spec.preemptable: false, also for their own pods.
    decides: which pods are evicted in queues with spec.preemptable""")
PR_5502 = Change.from_text("""; #5502; M
    Each queue has its own list of ancestors, also from the seventh level on.
    decides: quotas in queue trees with seven levels""")
PR_5744 = Change.from_text("""; #5744; M
    resourcequota adds no minResources for a job with pods: the quota's usage already counts them.
    decides: which jobs are admitted in namespaces with a ResourceQuota""")
PR_5800 = Change.from_text("""; #5800; M
    resourcequota ignores quotas with scopes or a scope selector.
    decides: which jobs are admitted in namespaces with a scoped ResourceQuota""")

CHANGES = name_changes(globals())
