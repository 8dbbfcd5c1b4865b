"""Open pull requests as switches that are off: `master,+pr-5884` replays the latest rules with that change merged.

Read from the pull requests' diffs of 2026-08; `what` is the proposed behavior, and no release has it.
"""

from vcdebug.releases.change import Change

PR_5373 = Change(
    "pr-5373",
    "A queue with spec.preemptable: false is skipped by preempt and gangpreempt, for its own pods too.",
    "who is evicted in queues with spec.preemptable",
    "; #5373; M",
)
PR_5502 = Change(
    "pr-5502",
    "Each queue has a list of ancestors of its own, also from the seventh level on.",
    "quotas in trees of queues with seven levels",
    "; #5502; M",
)
PR_5744 = Change(
    "pr-5744",
    "resourcequota adds no minimum for a job that has pods: the quota's usage counts them already.",
    "which jobs are admitted in namespaces with a ResourceQuota",
    "; #5744; M",
)
PR_5800 = Change(
    "pr-5800",
    "resourcequota leaves out quotas that have scopes or a scope selector.",
    "which jobs are admitted in namespaces with a scoped ResourceQuota",
    "; #5800; M",
)
PR_5854 = Change(
    "pr-5854",
    "An allocation that is undone takes the node off the pod again.",
    "a later Reserve of the same pod for its resource claims",
    "; #5854; L",
)
PR_5884 = Change(
    "pr-5884",
    "Pipelining writes the node into the pod: Reserve finds the devices of its resource claims.",
    "whether pods with resource claims can preempt or reclaim",
    "; #5884; M",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
