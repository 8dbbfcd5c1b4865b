"""Claims of the articles about plugins and preemption, rule by rule."""

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
    claim("overcommit: idle of the enlarged cluster", WORKS, AT_OVERCOMMIT, "✓ cpu 32 0 32 456"),
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
        "predicates: reasons that no eviction mends",
        FITS,
        "break predicate; continue; panel moment",
        "node(s) were unschedulable (unresolvable)",
    ),
    claim("predicates: a cordoned node", FITS, "break predicate; continue; panel moment", "node(s) were unschedulable"),
    claim("predicates: ports", FILTERS, "break predicate; continue; panel moment", "didn't have free ports"),
    claim(
        "predicates: affinity between pods",
        FILTERS,
        "break predicate; continue; panel moment",
        "node(s) didn't satisfy existing pods anti-affinity rules",
    ),
    claim(
        "predicates: topology spread", FILTERS, "break predicate; continue; panel moment", "topology spread constraints"
    ),
    claim(
        "predicates: devices are drawn and charged",
        FILTERS,
        "break predicate; continue; panel inside",
        "GpuShare no enough gpu memory on node node-cards-full",
    ),
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
        "batch/crunch-1 92 31 cpu 20.8, mem 79.4Gi yes on node-busy",
    ),
    claim("Log of rescheduling: the strategy (V4)", SHUFFLE, "log 4", "strategy: lowNodeUtilization"),
    claim("Log of rescheduling: entry and end (V5)", SHUFFLE, "log 5", "Enter rescheduling plugin ..."),
    claim(
        "resourcequota: used + requested ≤ hard, in the resources of the quota",
        SPENT,
        f"{SET_QUOTA}; break enqueue if plugin == 'resourcequota'; continue; panel equation".replace("'", '"'),
        "used + admitted in this cycle + min resources ≤ hard, for names that a quota states",
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
        "sla: waited, limit and remaining time",
        OVERDUE,
        'break enqueue if plugin == "sla"; continue; panel equation',
        "✓ waiting ◀ 12h 10m -11h50m",
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
    claim(
        "proportion: queue priority goes before the share",
        RECLAIM,
        "break victim; continue; panel order",
        "team-ads proportion share 0 < 1.25 team-nlp QueueOrder tier 1 proportion",
    ),
    claim(
        "proportion: what is admitted is reserved",
        WORKS,
        "break statement commit; continue; panel queues",
        "inference cpu 136 152 ███░········ 0.895 cpu 152 32 480 1",
    ),
    claim(
        "proportion: a refusal is an event of the PodGroup", QUOTA, "panel effects", "queue resource quota insufficient"
    ),
    claim(
        "proportion: a placement raises the share at once",
        RECLAIM,
        "break statement evict; continue; panel moment",
        "proportion team-nlp share",
    ),
    claim(
        "proportion: Overused, Allocatable, Preemptive and Reclaimable",
        RECLAIM,
        "panel tiers",
        "proportion Reclaimable ✓ on by default enableReclaimable",
    ),
)
MORE_PREEMPTION = (
    claim(
        "Dry run: the copy of the node and what PreFilter counted",
        TOPOLOGY,
        "break vote SimulatePredicate; continue; panel inside",
        "node-000 away: job-06-worker-1",
    ),
    claim(
        "Dry run: room without the victims",
        TOPOLOGY,
        "break vote SimulatePredicate; continue; panel inside",
        "removed pods",
    ),
    claim(
        "Dry run: the queue's quota is asked first",
        TOPOLOGY,
        "break vote SimulateAllocatable; continue; panel equation",
        "as the queue stood at event",
    ),
    claim(
        "Dry run: percentage and bounds of candidates",
        TOPOLOGY,
        "panel conf",
        "minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 1, maxCandidateNodesAbsolute: 100",
    ),
    claim("Dry run: the first node is drawn", TOPOLOGY, "find tie", "random below 5"),
    claim("Breakpoint: preempt begins", WORKS, "break action preempt start; continue", "1 hit"),
    claim("Breakpoint: reclaim begins", RECLAIM, "break action reclaim start; continue", "1 hit"),
    claim(
        "Breakpoint: the starving check of one job",
        WORKS,
        'break starving if job == "assistants/chat-api"; continue',
        "7 hits",
    ),
    claim("Breakpoint: Preemptable is asked", WORKS, "break victim Preemptable; continue", "2 hits"),
    claim("Breakpoint: Reclaimable is asked", RECLAIM, "break victim Reclaimable; continue", "2 hits"),
    claim("Breakpoint: Allocatable is asked", RECLAIM, "break vote Allocatable; continue", "1 hit"),
    claim("Breakpoint: a statement commits", WORKS, "break statement commit; continue", "1 hit"),
    claim(
        "JobPipelined decides on commit or discard",
        BLOCKED,
        "break statement discard if ops > 0; continue; panel equation",
        "tasks decides: 0 ready, 1 waiting, 0 best-effort pending",
    ),
    claim("Commit evicts and binds", WORKS, "find statement commit", "○ commit 4 operations"),
    claim(
        "Discard undoes in reverse order",
        BLOCKED,
        "find statement unpipeline",
        "unpipeline llm-finetune-worker-0 @gpu-a100-01",
    ),
    claim(
        "Why not: the job is not starving",
        "pending-nothing-starves",
        "explain",
        "it has its minMember (2 ready, 0 pipelined, minMember 2)",
    ),
    claim(
        "Why not: no candidate victim",
        "preempt-no-candidates",
        "explain",
        "preempt has no candidate victim for contract-search-indexer-0 on 5 nodes",
    ),
    claim(
        "Why not: gang protects the victims",
        "preempt-vetoed-by-gang",
        "explain",
        "gang protects all 10 candidate victims on 5 nodes",
    ),
    claim(
        "Why not: drf's shares",
        "preempt-vetoed-by-drf",
        "explain",
        "drf protects all 4 candidate victims on 2 nodes",
    ),
    claim(
        "Why not: the queue's quota",
        "preempt-over-queue-quota",
        "explain",
        "queue vision uses 6 of its capability 8 after evictions (2 short)",
    ),
    claim(
        "Why not: no node passes the predicates",
        "preempt-no-node-fits",
        "explain",
        "none of 6 nodes fits llm-serving-server-0: 4 node(s) didn't match",
    ),
    claim("Log: a job is skipped, with the reason", "mixed-0002", "log 4", "skip preemption, reason: NotEnoughTasks"),
    claim("Log: a task failed to preempt", "nominated-0000", "log 3", "failed to preempt Task"),
    claim("Log: no reclaimees on a node", "reclaim-0008", "log 4", "No reclaimees on Node"),
    claim(
        "Preempt checks nodes that allocate rejected, unless evictions cannot help",
        BLOCKED,
        "break search; continue; panel funnel",
        "left by the predicates",
    ),
    claim(
        "Reclaim evicts until the request fits",
        RECLAIM,
        "panel evictions",
        "tokenizer-study-worker-1 bid-forecast-worker-0 ○ committed 78 reclaim",
    ),
    claim(
        "Reclaim: a queue that allows it",
        RECLAIM,
        "break victim; continue; panel funnel",
        "candidates: tasks of reclaimable queues other than team-ads",
    ),
    claim(
        "Reclaim passes over an overused queue",
        RECLAIM,
        "break overused all; continue; panel equation",
        "cpu is not used up, which keeps the queue from being overused",
    ),
)
