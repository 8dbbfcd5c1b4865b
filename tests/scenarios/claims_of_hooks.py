"""Claims of the articles about sessions and resources: hooks, fields, operations on resources."""

from tests.scenarios.claims import BLOCKED, FITS, PIPELINES, PODS, QUOTA, RECLAIM, SPENT, TURNS, WORKS, Claim, claim

SHUFFLE = "shuffle-clears-nodes"
ASKED = (
    (
        "JobOrder: which job goes first",
        WORKS,
        "panel tiers",
        "priority JobOrder ✓ on by default enableJobOrder the first difference decides",
    ),
    (
        "QueueOrder: which queue goes first",
        RECLAIM,
        "panel tiers",
        "proportion QueueOrder ✓ on by default enableQueueOrder the first difference decides",
    ),
    (
        "TaskOrder: which task of a job goes first",
        WORKS,
        "panel tiers",
        "priority TaskOrder ✓ on by default enableTaskOrder the first difference decides",
    ),
    (
        "PrePredicate: once per task, before its nodes",
        WORKS,
        "find vote PrePredicate",
        "3 × PrePredicate predicates ✓ no objection",
    ),
    ("Predicate: a node for a task", WORKS, "find vote Predicate", "2 × Predicate predicates ✓ no objection"),
    ("JobValid: with a reason", "mixed-0002", "find vote JobValid", "JobValid gang ✗ NotEnoughTasks"),
    ("JobReady", WORKS, "find vote JobReady", "2 × JobReady gang ✗ not ready"),
    ("JobPipelined: a vote that decides on commit or discard", BLOCKED, "find vote JobPipelined", "gang ✗ reject"),
    ("JobStarving", WORKS, "find vote JobStarving", "3 × JobStarving priority ✓ starving"),
    ("JobEnqueueable", QUOTA, "find vote JobEnqueueable", "proportion ✗ reject"),
    ("JobEnqueued: notified of an admission", QUOTA, "find vote JobEnqueued", "JobEnqueued overcommit notified"),
    (
        "Overused: is the queue above deserved?",
        RECLAIM,
        "find vote Overused",
        "4 × Overused proportion ✓ not overused",
    ),
    ("Allocatable: may the queue take the task?", RECLAIM, "find vote Allocatable", "proportion ✓ yes"),
    ("Preemptive: may the queue reclaim?", RECLAIM, "find vote Preemptive", "Preemptive proportion ✓ yes"),
    (
        "Preemptable: victims inside a queue",
        WORKS,
        "find vote Preemptable",
        "Preemptable priority ✓ allows 3 victims",
    ),
    (
        "Reclaimable: victims across queues",
        RECLAIM,
        "find vote Reclaimable",
        "Reclaimable proportion ✓ allows 2 victims",
    ),
    ("VictimTasks: victims of shuffle", SHUFFLE, "find vote VictimTasks", "VictimTasks rescheduling crunch-{1,2}"),
    ("NodeOrder: a score per node", WORKS, "panel tiers", "nodeorder NodeOrder ✓ on by default enableNodeOrder"),
    (
        "BatchNodeOrder: all nodes at once",
        WORKS,
        "panel tiers",
        "nodeorder BatchNodeOrder ✓ on by default enableNodeOrder",
    ),
    (
        "BestNode, TargetJob, ReservedNodes, ClusterOrder: registered by no plugin",
        WORKS,
        "panel tiers",
        "registered by no plugin here: VictimQueueOrder, ClusterOrder, VictimTasks, BestNode",
    ),
    ("NodeMap and NodeReduce: no plugin of Volcano does", WORKS, "panel tiers", "NodeMap and NodeReduce"),
    (
        "HyperNodeOrder scores HyperNodes",
        "placed-by-score",
        "panel tiers",
        "network-topology-aware HyperNodeOrder ✓ on by default enabledHyperNodeOrder",
    ),
    (
        "SubJob hooks: order, ready, pipelined",
        WORKS,
        "panel tiers",
        "gang SubJobPipelined ✓ on by default enabledSubJobPipelined a reject ends it",
    ),
    (
        "SimulateAddTask and SimulateRemoveTask",
        "preempt-topology-0003",
        "find vote SimulateRemoveTask",
        "6 × SimulateRemoveTask predicates ✓ no objection",
    ),
    ("SimulatePredicate", "preempt-topology-0003", "find vote SimulatePredicate", "predicates ✓ no objection"),
    (
        "SimulateAllocatable",
        "preempt-topology-0003",
        "find vote SimulateAllocatable",
        "3 × SimulateAllocatable proportion ✗ no",
    ),
)
HOOKS: tuple[Claim, ...] = tuple(claim(f"Hook {what}", *rest) for what, *rest in ASKED)
FIELDS = (
    claim("A session has a UID", WORKS, "panel session", "session with UID replay"),
    claim("RevocableNodes: nodes of revocable zones", SHUFFLE, "panel session", "night: node-night"),
    claim(
        "CSINodesStatus: limits of volumes", WORKS, "panel session", "0 CSINodes, by which volumes per node are limited"
    ),
    claim("NamespaceInfo: quotas of a namespace", SPENT, "panel session", "team: 1 ResourceQuota"),
    claim(
        "Configurations: arguments of actions, and their defaults",
        WORKS,
        "panel conf",
        "preempt enableTopologyAwarePreemption: false, predicateErrorCacheEnable: true",
    ),
    claim("A plugin is made with its arguments", "placed-by-score", "panel conf", "usage.weight: 2"),
    claim("An argument that is not stated has a default", WORKS, "panel conf", "overcommit-factor: 1.2"),
    claim(
        "A factor below 1 is replaced",
        WORKS,
        "set conf:tiers[1].plugins[0].arguments={overcommit-factor: 0.5}; panel conf",
        "overcommit-factor: 1.2, since 0.5 cannot be used",
    ),
    claim(
        "A job without minResources is admitted, and no plugin is asked",
        WORKS,
        "set PodGroup/assistants/chat-api:spec.minResources-; goto 9; panel flow",
        "chat-api ✓ admitted without a vote",
    ),
    claim(
        "JobEnqueued: the minimum is reserved, less what gated pods ask for",
        QUOTA,
        "break vote JobEnqueued; continue; panel equation",
        "inqueue + minResources, less what gated pods ask for",
    ),
    claim(
        "PrePredicate finds out which filters need to run",
        WORKS,
        "break vote PrePredicate; continue; panel equation",
        "PreFilter lets a filter skip the task where its pod asks nothing of it",
    ),
    claim(
        "HyperNodeGradient: HyperNodes of an allowed tier with room",
        "gangpreempt-bundles",
        "break vote HyperNodeGradientForJob; continue; panel equation",
        "rack-a 1 1 0 yes",
    ),
    claim("A condition on the job's name", WORKS, 'break predicate if job.Name == "chat-api"', "1 hit"),
    claim("A breakpoint at a line of upstream", WORKS, "break preempt.go:134", "preempt.Execute (actions/preempt/"),
    claim("Metrics of queues", RECLAIM, "metrics", "volcano_queue_deserved_milli_cpu 24000"),
    claim(
        "A later cycle asks a reserved pod's own node alone",
        "persist-restarted",
        "goto 34; panel moment",
        "1 pass of 1 node tried the node that was reserved for it in an earlier cycle",
    ),
    claim(
        "A tier that decides leaves the next one unasked",
        RECLAIM,
        "explain nlp/tokenizer-study",
        "for ads/bid-forecast-worker-0",
    ),
    claim(
        "A higher tier decides alone",
        TURNS,
        "explain team/b",
        "Tier 1 (conformance) named the victims; a later tier is asked only if no earlier one names any, so gang in "
        "tier 2, capacity in tier 2 were not consulted",
    ),
    claim(
        "Where no plugin decides an order, index, creation and UID do",
        BLOCKED,
        "break victim; continue; panel order",
        "no plugin decides",
    ),
    claim(
        "Event handlers receive evictions, too",
        WORKS,
        "break statement evict; continue; panel moment",
        "event handlers notified: drf, predicates, proportion",
    ),
    claim(
        "A task's states: Pending, Pipelined, Releasing and more",
        WORKS,
        "watch task assistants/chat-api-server-0 status",
        "assistants/chat-api-server-0 status: Pending",
    ),
)
RESOURCE_RULES = (
    claim(
        "A pod is a dimension: MaxTaskNum", FITS, "break predicate; continue; panel equation", "✓ pods 1 110 cpu-01 7"
    ),
    claim(
        "LessEqualWithResourcesName: Overused",
        RECLAIM,
        "break overused all; continue; panel equation",
        "LessEqualWithResourcesName, Zero: all dimensions of the left side; one that is not stated counts as 0",
    ),
    claim(
        "Overused: deserved ≤ allocated",
        RECLAIM,
        "break overused all; continue; panel equation",
        "deserved ≤ allocated",
    ),
    claim(
        "Allocatable: allocated + request ≤ deserved",
        RECLAIM,
        "break vote Allocatable; continue; panel equation",
        "allocated + request ≤ deserved",
    ),
    claim(
        "GreaterPartly: capacity's victims",
        "capacity-0002",
        'break vote Reclaimable if plugin == "capacity"; continue; panel equation',
        "team1 memory 24Gi 20Gi 4Gi",
    ),
    claim(
        "MinDimensionResource: the smaller of two limits",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "✗ gpu ◀ 4 14 0 0 18 16",
    ),
    claim(
        "Multi: overcommit's factor",
        WORKS,
        'break enqueue if plugin == "overcommit"; continue; panel equation',
        "enlarged 1.2 times",
    ),
    claim("Idle + used = allocatable holds at every event", WORKS, "find invariant", "find invariant: 0 events"),
    claim(
        "AddTask, Pipelined: resources are reserved, idle stays",
        WORKS,
        f"{PIPELINES}; panel equation",
        "pipelined + request",
    ),
    claim(
        "AddTask, Allocated: idle becomes used",
        "placed-by-score",
        "break statement allocate; continue; panel equation",
        "idle − request, used + request",
    ),
    claim(
        "A task that is evicted counts as Releasing",
        WORKS,
        "break statement evict; continue; panel equation",
        "releasing + request",
    ),
    claim(
        "RemoveTask: a discarded reservation is rolled back",
        BLOCKED,
        "break statement unpipeline; continue; panel equation",
        "pipelined − request",
    ),
    claim(
        "Negative room is reported, and the cycle continues",
        PODS,
        "panel problems",
        "pods hold more example.com/fpga than the node has",
    ),
    claim(
        "Init containers: the largest one counts",
        PODS,
        "break score; continue; panel request",
        "initialisation 2.25 1.93Gi",
    ),
    claim(
        "TaskStatusIndex: tasks by status at the close",
        WORKS,
        "find invariant; goto 98; panel moment",
        "2 Releasing, 2 minAvailable, 4 Running",
    ),
    claim(
        "A queue's capability limits what it deserves",
        QUOTA,
        "log 4",
        "queue <team-vision> is meet cause of the capability",
    ),
    claim(
        "A queue's real capability", QUOTA, "panel queues", "team-vision cpu 84 116 ████░░······ 0.875 gpu 116 0 256 1"
    ),
    claim(
        "The dimension that is short is named",
        FITS,
        "break predicate; continue; panel moment",
        "gpu 2 ██ ≤ 2 < 4 short of gpu",
    ),
)
