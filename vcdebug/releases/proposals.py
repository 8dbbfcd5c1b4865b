"""Open pull requests as switches that are off: `master,+pr-5884` replays the latest rules with that change merged.

Read from the pull requests' diffs of 2026-08; `what` is the proposed behavior, and no release has it.
"""

from vcdebug.releases.change import Change

PR_5373 = Change(
    "pr-5373",
    "preempt and gangpreempt skip queues with spec.preemptable: false, also for their own pods.",
    "which pods are evicted in queues with spec.preemptable",
    "; #5373; M",
)
PR_5502 = Change(
    "pr-5502",
    "Each queue has its own list of ancestors, also from the seventh level on.",
    "quotas in queue trees with seven levels",
    "; #5502; M",
)
PR_5744 = Change(
    "pr-5744",
    "resourcequota adds no minResources for a job with pods: the quota's usage already counts them.",
    "which jobs are admitted in namespaces with a ResourceQuota",
    "; #5744; M",
)
PR_5800 = Change(
    "pr-5800",
    "resourcequota ignores quotas with scopes or a scope selector.",
    "which jobs are admitted in namespaces with a scoped ResourceQuota",
    "; #5800; M",
)
PR_5854 = Change(
    "pr-5854",
    "Undoing an allocation clears the pod's node.",
    "a later Reserve of the same pod for its resource claims",
    "; #5854; L",
)
PR_5884 = Change(
    "pr-5884",
    "Pipelining sets the pod's node, so Reserve finds the devices of its resource claims.",
    "whether pods with resource claims can preempt or reclaim",
    "; #5884; M",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
