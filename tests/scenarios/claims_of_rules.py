"""What the articles about plugins and preemption say rule by rule."""

from tests.scenarios.claims import (
    BLOCKED,
    FILTERS,
    FITS,
    OVERDUE,
    QUOTA,
    RECLAIM,
    SCORES,
    SPENT,
    TOPOLOGY,
    WORKS,
    claim,
)

SHUFFLE = "shuffle-clears-nodes"
SET_QUOTA = (
    "set conf:actions=enqueue, allocate; set conf:tiers[1].plugins[3].name=resourcequota; "
    "set PodGroup/team/small:status.phase=Pending; "
    'set PodGroup/team/small:spec.minResources={"requests.nvidia.com/gpu": "1"}'
)
AT_OVERCOMMIT = 'break enqueue if plugin == "overcommit"; continue; panel equation'
RULES = (
    claim("overcommit: the factor enlarges the cluster", WORKS, AT_OVERCOMMIT, "total × factor − used"),
    claim("overcommit: what is admitted already counts", WORKS, AT_OVERCOMMIT, "min resources + inqueue"),
    claim("overcommit: only dimensions of the minimum", WORKS, AT_OVERCOMMIT, "not asked for"),
    claim("overcommit: idle of the enlarged cluster", WORKS, AT_OVERCOMMIT, "overcommitted idle"),
    claim("overcommit: a factor that is not stated", WORKS, "panel conf", "overcommit-factor: 1.2"),
    claim(
        "overcommit: a refusal is an event of the PodGroup", OVERDUE, "panel effects", "resource in cluster is overused"
    ),
    claim(
        "predicates: which filters are on by default", WORKS, "panel conf", "predicate.PodTopologySpreadEnable: true"
    ),
    claim("predicates: the cache is off by default", WORKS, "panel conf", "predicate.CacheEnable: false"),
    claim("predicates: a filter with nothing to say is skipped", WORKS, "log 5", "will skip execution for pod"),
    claim(
        "predicates: reasons that no eviction mends", FITS, "break predicate; continue; panel moment", "(unresolvable)"
    ),
    claim("predicates: a cordoned node", FITS, "break predicate; continue; panel moment", "node(s) were unschedulable"),
    claim("predicates: ports", FILTERS, "break predicate; continue; panel moment", "didn't have free ports"),
    claim("predicates: affinity between pods", FILTERS, "break predicate; continue; panel moment", "anti-affinity"),
    claim(
        "predicates: topology spread", FILTERS, "break predicate; continue; panel moment", "topology spread constraints"
    ),
    claim("predicates: devices are drawn and charged", FILTERS, "break predicate; continue; panel inside", "cards"),
    claim(
        "predicates: proportions of scarce resources, as resource-strategy-fit has them now",
        SCORES,
        "panel tiers",
        "resource-strategy-fit",
    ),
    claim("priority: jobs by priority", "persist-node-gone", "log 4", "Priority JobOrderFn: <team/"),
    claim(
        "priority: between jobs the jobs' priorities count",
        WORKS,
        'break victim if plugin == "priority"; continue; panel equation',
        "candidate's priority < preemptor's priority",
    ),
    claim(
        "priority: starving means that some task waits",
        WORKS,
        'break starving if plugin == "priority"; continue; panel equation',
        "ready + waiting",
    ),
    claim(
        "rescheduling: thresholds of idle and busy nodes",
        SHUFFLE,
        'break vote VictimTasks if plugin == "rescheduling"; continue; panel equation',
        "idle: cpu < 30, memory < 30; busy: cpu > 70, memory > 70",
    ),
    claim(
        "rescheduling: victims while idle nodes have room",
        SHUFFLE,
        'break vote VictimTasks if plugin == "rescheduling"; continue; panel equation',
        "room left",
    ),
    claim("Log of rescheduling: the strategy (V4)", SHUFFLE, "log 4", "strategy: lowNodeUtilization"),
    claim("Log of rescheduling: entry and end (V5)", SHUFFLE, "log 5", "Enter rescheduling plugin ..."),
    claim(
        "resourcequota: used + requested ≤ hard, in the resources of the quota",
        SPENT,
        f"{SET_QUOTA}; break enqueue if plugin == 'resourcequota'; continue; panel equation".replace("'", '"'),
        "used",
    ),
    claim(
        "resourcequota: a refusal is an event of the PodGroup",
        SPENT,
        f"{SET_QUOTA}; panel effects",
        "resource quota insufficient",
    ),
    claim(
        "sla: a job that has waited too long is admitted",
        OVERDUE,
        'break enqueue if plugin == "sla"; continue; panel equation',
        "created + waiting time ≤ now permits",
    ),
    claim(
        "sla: waited, promised and what is left",
        OVERDUE,
        'break enqueue if plugin == "sla"; continue; panel equation',
        "promised",
    ),
    claim("sla: its permit ends the vote of its tier only", OVERDUE, "find vote JobEnqueueable", "overcommit ✗ reject"),
    claim("sla: the cluster's waiting time", OVERDUE, "panel conf", "sla-waiting-time: none"),
    claim("Log of sla: entry and end (V4)", OVERDUE, "log 4", "Enter sla plugin ..."),
    claim("Log of usage: what was measured (V4)", SCORES, "log 4", "node:node-a1, cpu usage:map[10m:71.5]"),
    claim("Log of usage: thresholds (V4)", FILTERS, "log 4", "predicateFn cpuThreshold:80, memThreshold:80"),
    claim(
        "Log of usage: a node above its threshold (V3)",
        FILTERS,
        "log 3",
        "Node node-too-busy cpu usage 91.500000 exceeds",
    ),
    claim(
        "Log of usage: a node passes (V4)",
        SCORES,
        "log 4",
        "Usage plugin filter for task shop/web-0 on node node-a1 pass.",
    ),
    claim("Log of usage: the score (V4)", SCORES, "log 4", "Node node-a1 score: realCPU=71.50 realMem=40.00"),
    claim("usage: thresholds and weights are arguments", SCORES, "panel conf", "usage.weight: 2"),
    claim("proportion: queue priority goes before the share", RECLAIM, "break victim; continue; panel order", "share"),
    claim("proportion: what is admitted is reserved", QUOTA, "panel queues", "inqueue"),
    claim(
        "proportion: a refusal is an event of the PodGroup", QUOTA, "panel effects", "queue resource quota insufficient"
    ),
    claim(
        "proportion: a placement raises the share at once",
        RECLAIM,
        "break statement evict; continue; panel moment",
        "proportion team-nlp share",
    ),
    claim("proportion: Overused, Allocatable, Preemptive and Reclaimable", RECLAIM, "panel tiers", "Reclaimable"),
)
MORE_PREEMPTION = (
    claim(
        "Dry run: the copy of the node and what PreFilter counted",
        TOPOLOGY,
        "break vote SimulatePredicate; continue; panel inside",
        "away:",
    ),
    claim(
        "Dry run: room with the victims away",
        TOPOLOGY,
        "break vote SimulatePredicate; continue; panel inside",
        "who is away",
    ),
    claim(
        "Dry run: the queue's quota is asked first",
        TOPOLOGY,
        "break vote SimulateAllocatable; continue; panel equation",
        "as the queue stood at event",
    ),
    claim("Dry run: percentage and bounds of candidates", TOPOLOGY, "panel conf", "CandidateNodes"),
    claim("Dry run: the first node is drawn", TOPOLOGY, "find tie", "random below 5"),
    claim("Breakpoint: preempt begins", WORKS, "break action preempt start; continue", "stops 1 time"),
    claim("Breakpoint: reclaim begins", RECLAIM, "break action reclaim start; continue", "stops 1 time"),
    claim(
        "Breakpoint: the starving check of one job",
        WORKS,
        'break starving if job == "assistants/chat-api"; continue',
        "stops 7 times",
    ),
    claim("Breakpoint: Preemptable is asked", WORKS, "break victim Preemptable; continue", "Preemptable"),
    claim("Breakpoint: Reclaimable is asked", RECLAIM, "break victim Reclaimable; continue", "Reclaimable"),
    claim("Breakpoint: Allocatable is asked", RECLAIM, "break vote Allocatable; continue", "Allocatable"),
    claim("Breakpoint: a statement commits", WORKS, "break statement commit; continue", "commit"),
    claim(
        "JobPipelined decides on commit or discard",
        BLOCKED,
        "break statement discard if ops > 0; continue; panel equation",
        "min",
    ),
    claim("Commit evicts and binds", WORKS, "find statement commit", "○ commit"),
    claim("Discard undoes in reverse order", BLOCKED, "find statement unpipeline", "llm-finetune-worker-0"),
    claim("Why not: the job is not starving", "pending-nothing-starves", "explain", "starv"),
    claim("Why not: nobody may go", "preempt-no-candidates", "explain", "nobody"),
    claim("Why not: gang protects the victims", "preempt-vetoed-by-gang", "explain", "gang"),
    claim("Why not: drf's shares", "preempt-vetoed-by-drf", "explain", "share"),
    claim("Why not: the queue's quota", "preempt-over-queue-quota", "explain", "queue"),
    claim("Why not: no node passes the predicates", "preempt-no-node-fits", "explain", "node"),
    claim("Log: a job is skipped, with the reason", "mixed-0002", "log 4", "skip preemption, reason: NotEnoughTasks"),
    claim("Log: a task failed to preempt", "nominated-0000", "log 3", "failed to preempt Task"),
    claim("Log: nobody to reclaim on a node", "reclaim-0008", "log 4", "No reclaimees on Node"),
    claim(
        "Preempt looks at nodes that allocate refused, unless no eviction mends it",
        BLOCKED,
        "break search; continue; panel funnel",
        "pass the predicates",
    ),
    claim("Reclaim evicts until the request fits", RECLAIM, "panel evictions", "reclaim"),
    claim("Reclaim: a queue that allows it", RECLAIM, "break victim; continue; panel funnel", "reclaimable queues"),
    claim("Reclaim passes over an overused queue", RECLAIM, "break overused all; continue; panel equation", "overused"),
)
