"""Changes about actions, session, and what the cache passes to it. Upstream: actions, framework, api, cache."""

from vcdebug.releases.change import Change, name_changes

PREEMPT_NO_PREDICATE_RECHECK = Change(
    "preempt evicts until quota and resources suffice and does not re-check the predicates.",
    "number of evictions, and whether the node fits afterwards",
    "v1.16 v1.15.2; #5843; H",
)
PREEMPT_REQUEUE_AFTER_ASSIGN = Change(
    "After the commit of its statement, a job returns to preempt's queue although its last task was pipelined.",
    "jobs that starve again because a later job evicted their tasks",
    "v1.16; #5818; M",
)
PODGROUP_PHASE_RELEASING = Change(
    "Terminating tasks do not count for the PodGroup's phase: without enough other tasks it returns to Pending.",
    "whether the job must be admitted again",
    "v1.16 v1.15.2 v1.14.5 v1.13.4; #5796; M",
)
PREEMPT_SHARED_STATEMENT = Change(
    "Evictions on a node where the task still does not fit stay in preempt's statement.",
    "unnecessary evictions; resources and quota for later tasks",
    "v1.15.0; #5010; H",
)
PREEMPT_INTRA_JOB_COMMITS_FAILURES = Change(
    "preempt within a job commits its evictions although the task fits no node.",
    "unnecessary evictions",
    "v1.15.0; #5010; H",
)
RECLAIM_SHARED_STATEMENT = Change(
    "Evictions on a node where the task still does not fit stay in reclaim's statement.",
    "unnecessary evictions; resources and quota for later tasks",
    "v1.15.0; #5067; H",
)
RECLAIM_EVICTS_BEFORE_TEST = Change(
    "reclaim evicts the first victim before checking whether the task fits without it.",
    "one unnecessary eviction",
    "v1.15.0; #5067; H",
)
UNKNOWN_ACTION_SKIPPED = Change(
    "An unknown action is ignored; the other settings of the configuration are used.",
    "the whole configuration",
    "v1.14.0; #4661; M",
    first_older_tag="v1.12.0",
)
HEADER_NOT_READY = Change(
    'A gang\'s message begins with "pod group is not ready" although it is ready.',
    "messages",
    "v1.14.0; #4721; T",
)
NO_SHARDS = Change(
    "Node shards do not exist: a search has one group of nodes, not two (the second is mostly empty).",
    "clusters with shards; random offsets of topology-aware preemption",
    "v1.14.0; #4848; M",
)
VICTIMS_WITHOUT_ORPHAN_RULE = Change(
    "Tasks without a job are not evicted first: comparing them panics.",
    "scheduler panic",
    "v1.14.0; #4999; L",
    replayed=False,
    unshown_reason="No action passes a task without a job to plugins.",
)
PQ_CLONE_REPUSH = Change(
    "The copy of a heap is made by pushing its items again.",
    "nothing",
    "v1.14.0; #4728; L",
    replayed=False,
    unshown_reason="A heap that is pushed in the order of its array comes out as the same array.",
)
ROOT_QUEUE_WRITTEN = Change(
    "What the queue root deserves and is guaranteed is written to its spec as the cycle ends.",
    "the spec of the queue root in later cycles",
    "v1.15.0 v1.14.2; #4973; L",
    first_older_tag="v1.11.0",
    replayed=False,
    unshown_reason="A snapshot has the queue after the last cycle, and a cycle does not read its own writes.",
)
RECLAIM_IMMEDIATE = Change(
    "reclaim evicts immediately, task by task, ignoring free resources and gangs.",
    "which pods are evicted, including unnecessary evictions",
    "v1.14.0; #4794; H",
)
VICTIM_TIE_BY_JOB_AGE = Change(
    "Among victims of jobs that the plugins rank equally, all tasks of the younger job are evicted first.",
    "which pods are evicted",
    "v1.15.0; #5115; H",
)
QUEUE_ALLOCATION_GATE = Change(
    "Volcano's own scheduling gate is treated as any other gate: the pod is not placed, and it uses no quota.",
    "pods with the gate scheduling.volcano.sh/queue-allocation-gate",
    "v1.15.0; #5033; M",
)
GANG_EVICTION = Change(
    "gangpreempt and gangreclaim do not exist: a configuration that names them is rejected.",
    "the whole configuration",
    "v1.15.0; #5250; M",
)
NOMINATION_IN_HYPERNODE = Change(
    "A task's nominated node is tried even outside the current HyperNode.",
    "HyperNodes of jobs with hard topology after a preemption",
    "v1.15.0; #5250; M",
)
STATEMENT_NO_SELF_ROLLBACK = Change(
    "A pipeline operation that a plugin rejected in allocate is not undone: the task stays on the node, "
    "outside the statement.",
    "resources of later tasks, and whether the gang is pipelined",
    "v1.15.0; #5073; M",
)
STATEMENT_KEEPS_OPERATIONS = Change(
    "A finished statement keeps its operations; no action finishes one twice.",
    "nothing",
    "v1.15.0; #5180; T",
    replayed=False,
    unshown_reason="No action finishes a statement twice.",
)
EVICT_NIL_PODGROUP = Change(
    "A pod of a job without PodGroup is deleted before its eviction is rejected.",
    "a pod is deleted that the session still counts",
    "v1.15.0; #5002; L",
    replayed=False,
    unshown_reason="A session has no job without PodGroup: only one that is deleted while the cycle runs has none.",
)
OVERHEAD_BEFORE_INIT = Change(
    "A pod's overhead is added to its containers only, not where an init container needs more.",
    "the request of pods with overhead and a large init container",
    "v1.15.0; #5020; M",
)
POD_LEVEL_REQUESTS_IGNORED = Change(
    "Pod-level requests are not read: a pod without container requests is best-effort.",
    "the request of pods with pod-level resources",
    "v1.15.0; #5020; M",
)
RESIZE_STATUS_IGNORED = Change(
    "A task's request is read from its spec only: a resize in progress does not count.",
    "the request of pods that are being resized in place",
    "v1.14.0; #3839; M",
)
ADD_POD_ON_ERROR = Change(
    "A pod with unresolvable volumes is scheduled without volume counts.",
    "whether the pod is seen at all",
    "v1.15.0; #5725; L",
)
PVC_MISSING_DROPS_POD = Change(
    "A pod with a missing PersistentVolumeClaim is ignored by the scheduler.",
    "the job lacks a task, and the node has more free resources",
    "v1.15.1; #5725; M",
    first_older_tag="v1.15.0",
)
GETBOOL_STRINGS = Change(
    "A quoted boolean argument is rejected, and its default is used.",
    'arguments written as "true"',
    "v1.15.0; #5198; L",
)
ORPHAN_NIL_PANICS = Change(
    "capacity panics at a task in a queue that an invalid queue tree does not reach.",
    "scheduler panic",
    "v1.15.0; #5014; L",
)
PREPREDICATE_ALWAYS_BREAKS = Change(
    "If PrePredicate rejects a task, the job's remaining tasks are skipped.",
    "whether the job's other tasks are placed",
    "v1.15.1 v1.14.4; #5528; M",
)
FLAT_NOMINATION = Change(
    "A job without hard topology does not stay in the HyperNode that gangpreempt or gangreclaim chose for it.",
    "placement of a job after its gang eviction",
    "v1.15.1; #5440; M",
)
NIL_PODGROUP = Change(
    "Jobs without PodGroup panic in Clone, String and GetMinResources.",
    "scheduler panic",
    "v1.15.1 v1.14.4; #5575; L",
    replayed=False,
    unshown_reason="A session has no job without PodGroup: only one that is deleted while the cycle runs has none.",
)
RESOURCE_STRING_MAX = Change(
    "Unlimited amounts are printed as numbers.",
    "log lines",
    "v1.15.1 v1.14.3; #5276; T",
    replayed=False,
    unshown_reason="No log line that is written names an unlimited amount.",
)
LOG_NAMES = Change(
    "Log lines and errors of dry runs name neither the plugin that writes them nor a nominated hypernode.",
    "log lines, errors of dry runs",
    "v1.15.0; v1.14.4 and v1.15.0; T",
)
LOG_SCORES = Change(
    "nodeorder's log line about a part of a score shows the weight of image locality, and no raw score.",
    "log lines",
    "v1.16; #5510; T",
)
LOG_TASK_NODE = Change("A task in a log line does not say on which node it is.", "log lines", "v1.13.0; v1.13.0; T")
REPRIEVE_ORDER = Change(
    "Topology-aware preemption protects the least important of its potential victims first.",
    "which pods are evicted",
    "v1.15.0 v1.14.3 v1.13.4; #5214; M",
)
SOFT_TO_HARD = Change(
    "Jobs with soft topology are placed without HyperNodes, and the HyperNode of their nodes is written back.",
    "placement of jobs with soft topology",
    "v1.15.0 v1.14.3; #5206; M",
)
PREEMPT_QUEUE_ORDER = Change(
    "preempt visits queues in Go map order, and after each queue the starving jobs of all queues.",
    "which pods are evicted if several queues have starving jobs",
    "v1.15.0 v1.14.2 v1.13.3 v1.12.4; #5268; H",
)
PREEMPT_TASKS_PER_QUEUE = Change(
    "After the first queue, the starving jobs of all other queues have no remaining tasks to preempt for.",
    "which pods are evicted if several queues have starving jobs",
    "v1.15.0 v1.14.2 v1.13.3 v1.12.4; #5141; H",
)
PREEMPT_WITH_TOPOLOGY = Change(
    "preempt also handles jobs with network topology, and ignores their HyperNodes.",
    "which pods are evicted for jobs with network topology",
    "v1.14.0; #4721; M",
)
PODGROUP_RUNNING_AT_ALLOCATION = Change(
    "Tasks count for the PodGroup's phase as soon as they have a node: it is Running at the end of that cycle.",
    "phases, and resources reserved from later jobs",
    "v1.13.0; #4384; H",
)
NOMINATION_NEEDS_IDLE = Change(
    "The nominated node is tried first only if it has idle resources, not while victims are terminating.",
    "placement of a task in the cycles after its preemption",
    "v1.13.0; #4588; H",
)
PREEMPT_WHILE_NOMINATED = Change(
    "A task can preempt although it has a nominated node with free or releasing resources.",
    "further evictions for a task that has preempted before",
    "v1.13.0; #4279; H",
)
TOPOLOGY_PREEMPT_ABSENT = Change(
    "Topology-aware preemption does not exist: preempt does not read its arguments.",
    "which pods are evicted with enableTopologyAwarePreemption",
    "v1.13.0; #4279; M",
)
LIVE_CACHE_DELETE = Change(
    "A task that finishes and is deleted is removed from its node twice.",
    "nothing",
    "v1.13.0; v1.13.0; L",
    replayed=False,
    unshown_reason="A snapshot has the current pods, not earlier deletions.",
)
ROLES_KEPT = Change(
    "Roles that were removed from a PodGroup's minTaskMember still count.",
    "gangs with a PodGroup that changed while the scheduler ran",
    "v1.14.0 v1.13.1 v1.12.3; 138f853c7; L",
    replayed=False,
    unshown_reason="A snapshot has the current PodGroups, not their changes.",
)
HIGHEST_TIER_NAME_SUBGROUP = Change(
    "A sub group's highestTierName is not translated: its topology is not hard.",
    "HyperNodes of sub groups with highestTierName",
    "v1.15.0 v1.14.2; #5190; M",
)
SUBGROUP_WITHOUT_HARD = Change(
    "A job with sub groups and no hard topology is not placed at all.",
    "jobs with subGroupPolicy",
    "v1.15.0 v1.14.1; #5038; M",
)
SUBJOB_RECOVERY_TIER = Change(
    "The HyperNode of a sub job with running pods is the one with the fewest nodes, not the one of the lowest tier.",
    "placement of the remaining pods of a sub job",
    "v1.15.0 v1.14.1; #5008; M",
)
ALLOCATE_FLAT_RETRY = Change(
    "A job with remaining tasks is visited again, even if its gang failed, for the tasks after the failed one.",
    "gangs with a task that fits no node; the order of visits",
    "v1.14.0; #4721; H",
)
FIT_ROLES_PER_JOB = Change(
    "allocate continues after a task that fits no node if the job has fewer tasks than its minimum.",
    "the order of visits of jobs with too few tasks, if gang does not block them",
    "v1.14.0; #4721; L",
)
HYPERNODE_UPDATE_REBUILD = Change(
    "A change of a HyperNode does not rebuild other HyperNodes that claim its children.",
    "HyperNodes with two parents, and moves between parents",
    "v1.16; #5076; L",
    replayed=False,
    unshown_reason="A snapshot has the current HyperNodes, not their changes.",
)
BIND_NUMA_ANNOTATION_REVERT = Change(
    "A task with a NUMA decision that cannot be written stays Binding in the cache.",
    "practically nothing",
    "v1.16; #5525; L",
    replayed=False,
    unshown_reason="A NUMA decision can always be written.",
)
EVENT_TEXT_AS_FORMAT = Change(
    "A percent sign in an event's message is garbled.",
    "texts of events",
    "v1.16; #5287; T",
    replayed=False,
    unshown_reason="Recordings hold conditions, which are not affected, and no texts of Kubernetes events.",
)
NOMINATION_UNHEEDED = Change(
    "allocate does not try a task's nominated node first: it is a node like any other.",
    "placement of a task in the cycles after its preemption",
    "v1.12.0; #4079; H",
)
REQUEUE_WHEN_READY = Change(
    "A job is visited again only where its gang became ready with remaining tasks.",
    "gangs with a task that fits no node; the order of visits",
    "v1.12.0; #4310; H",
)
BACKFILL_ENDS_AT_FAILURE = Change(
    "The first best-effort task without a node ends backfill for all that come behind it.",
    "whether pods without requests are placed",
    "v1.12.0; #4029; H",
)
BACKFILL_REFUSAL_UNSAID = Change(
    "A refused placement of backfill leaves no fit error.",
    "messages",
    "v1.12.0; #4009; T",
)
BEST_NODE_NEEDED = Change(
    "A task that fits nodes of which none is the best ends the process.",
    "scheduler panic, where plugins score below 0",
    "v1.12.0; #4310; L",
)
REFUSED_PIPELINE_UNDONE = Change(
    "A pipeline that a plugin refused in allocate is undone.",
    "resources of later tasks, and whether the gang is pipelined",
    "v1.12.0; #4310; M",
)
PREEMPT_EVICTS_NAMED = Change(
    "preempt ends with evicting what tdm and rescheduling name, as shuffle does, but in a statement.",
    "which pods are evicted without shuffle among the actions",
    "v1.12.0; c494f9dbd; M",
)
QUEUE_STATUS_RUNNING = Change(
    "The status of a queue counts its running tasks only, not those that were just placed.",
    "status.allocated of queues",
    "v1.12.0; #4183; M",
)
VOLUMES_AT_ALLOCATION = Change(
    "Volumes are checked when a task is allocated, not among the predicates: a node without them rejects "
    "the task after it was chosen.",
    "feasible nodes, and whether a gang is placed at all, where pods have volumes",
    "v1.12.0; #4152; H",
)
MINIMUM_UNSAID = Change(
    "The message about a task that has a place does not say that its gang's minimum is missing.",
    "messages",
    "v1.12.0; 9f7123d44; T",
)
PREEMPTION_POLICY_UNREAD = Change(
    "preempt and reclaim also evict for pods with preemptionPolicy Never.",
    "which pods are evicted for pods with preemptionPolicy Never",
    "v1.11.0; #3739; M",
)
RECLAIM_BEYOND_STARVING = Change(
    "reclaim serves every job with pending tasks, not only those that starve.",
    "which pods are evicted for jobs that have their minimum",
    "v1.11.0; #3951; H",
)
RECLAIM_ASKS_ALLOCATABLE = Change(
    "reclaim asks first whether the queue may allocate the task; proportion has no answer of its own for reclaim.",
    "queues at their limit, and where capacity and proportion differ",
    "v1.11.0; #3940; M",
)
VICTIMS_NOT_RESTARTED = Change(
    "Once a plugin has allowed victims, one that allows none of them ends the search: no plugin starts over.",
    "which pods are evicted, with several tiers or plugins that disagree",
    "v1.11.0; #3551; H",
)
FAILED_UNCOUNTED = Change(
    "Failed tasks do not count for the PodGroup's phase: a gang with one that failed is Pending, never Completed.",
    "phases of jobs with failed pods",
    "v1.11.0; #3807; M",
)
QUEUE_STATUS_OWN = Change(
    "The status of a queue counts the tasks of its own jobs, not those of queues below it.",
    "status.allocated of parent queues, and of root",
    "v1.11.0; #3743; M",
)
VOLUMES_REFUSE_AT_ONCE = Change(
    "A node without a task's volumes rejects the task before it is placed there: nothing has to be undone.",
    "scheduler panic for volumes that are not bound; cards of a task that is rejected",
    "v1.11.0 v1.10.1; bd5aa8730; L",
)

# Open pull requests, read from their diffs of 2026-08.

PR_5854 = Change(
    "Undoing an allocation clears the pod's node.",
    "a later Reserve of the same pod for its resource claims",
    "; #5854; L",
)
PR_5884 = Change(
    "Pipelining sets the pod's node, so Reserve finds the devices of its resource claims.",
    "whether pods with resource claims can preempt or reclaim",
    "; #5884; M",
)

CHANGES = name_changes(globals())
