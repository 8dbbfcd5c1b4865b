"""Changes of the actions, of the session around them, and of what the cache hands to it.

Upstream: actions, framework, api, cache.
"""

from vcdebug.releases.change import Change

PREEMPT_NO_PREDICATE_RECHECK = Change(
    "preempt-no-predicate-recheck",
    "preempt evicts until queue and size allow the task, and does not ask the predicates again.",
    "how many are evicted, and whether the node fits in the end",
    "v1.16 v1.15.2; #5843; H",
)
PREEMPT_REQUEUE_AFTER_ASSIGN = Change(
    "preempt-requeue-after-assign",
    "A job whose last task found room goes back into preempt's queue once its statement is committed.",
    "jobs that starve again because a later job evicted their tasks",
    "v1.16; #5818; M",
)
PODGROUP_PHASE_RELEASING = Change(
    "podgroup-phase-releasing",
    "Terminating tasks do not count for the PodGroup's phase: with too few others it falls back to Pending.",
    "whether the job must be admitted again",
    "v1.16 v1.15.2 v1.14.5 v1.13.4; #5796; M",
)
PREEMPT_SHARED_STATEMENT = Change(
    "preempt-shared-statement",
    "What preempt evicted on a node where the task still does not fit stays in the statement.",
    "tasks evicted for nothing; room and quota for later tasks",
    "v1.15.0; #5010; H",
)
PREEMPT_INTRA_JOB_COMMITS_FAILURES = Change(
    "preempt-intra-job-commits-failures",
    "preempt within a job commits its evictions although the task found no room.",
    "tasks evicted for nothing",
    "v1.15.0; #5010; H",
)
RECLAIM_SHARED_STATEMENT = Change(
    "reclaim-shared-statement",
    "What reclaim evicted on a node where the task still does not fit stays in the statement.",
    "tasks evicted for nothing; room and quota for later tasks",
    "v1.15.0; #5067; H",
)
RECLAIM_EVICTS_BEFORE_TEST = Change(
    "reclaim-evicts-before-test",
    "reclaim evicts the first victim before it looks whether the task fits without.",
    "one victim too many",
    "v1.15.0; #5067; H",
)
UNKNOWN_ACTION_SKIPPED = Change(
    "unknown-action-skipped",
    "An action that does not exist is left out; the configuration stands.",
    "the whole configuration",
    "v1.14.0; #4661; M",
    since="v1.12.0",
)
HEADER_NOT_READY = Change(
    "header-not-ready",
    'A gang\'s message begins with "pod group is not ready" although it is ready.',
    "messages",
    "v1.14.0; #4721; T",
)
NO_SHARDS = Change(
    "no-shards",
    "There are no shards of nodes: the nodes of a search are one group, not two of which the second is mostly empty.",
    "clusters with shards; random offsets of topology-aware preemption",
    "v1.14.0; #4848; M",
)
VICTIMS_WITHOUT_ORPHAN_RULE = Change(
    "victims-without-orphan-rule",
    "Tasks without a job are not evicted first: comparing them ends the process.",
    "the scheduler's process ends",
    "v1.14.0; #4999; L",
    replayed=False,
    unshown="No action offers a task whose job is gone.",
)
PQ_CLONE_REPUSH = Change(
    "pq-clone-repush",
    "The copy of a heap is made by pushing its items again.",
    "nothing",
    "v1.14.0; #4728; L",
    replayed=False,
    unshown="A heap that is pushed in the order of its array comes out as the same array.",
)
ROOT_QUEUE_WRITTEN = Change(
    "root-queue-written",
    "What the queue root deserves and is guaranteed is written to its spec as the cycle ends.",
    "the spec of the queue root in later cycles",
    "v1.15.0 v1.14.2; #4973; L",
    replayed=False,
    unshown="A snapshot has the queue as the last cycle left it, and a cycle does not read what it writes.",
)
RECLAIM_IMMEDIATE = Change(
    "reclaim-immediate",
    "reclaim evicts at once, task by task, counts no free room, and knows no gang.",
    "who is evicted, also for nothing",
    "v1.14.0; #4794; H",
)
VICTIM_TIE_BY_JOB_AGE = Change(
    "victim-tie-by-job-age",
    "Among victims of jobs that the plugins rank alike the younger job loses all its tasks first.",
    "who is evicted",
    "v1.15.0; #5115; H",
)
QUEUE_ALLOCATION_GATE = Change(
    "queue-allocation-gate",
    "Volcano's own scheduling gate is one like any other: the pod is not placed, and it holds no quota.",
    "pods with the gate scheduling.volcano.sh/queue-allocation-gate",
    "v1.15.0; #5033; M",
)
GANG_EVICTION = Change(
    "gang-eviction",
    "There is neither gangpreempt nor gangreclaim: a configuration that names them is refused.",
    "the whole configuration",
    "v1.15.0; #5250; M",
)
NOMINATION_IN_HYPERNODE = Change(
    "nomination-in-hypernode",
    "A task's nominated node is tried even outside the hypernode that is being tried.",
    "hypernodes of jobs with hard topology after a preemption",
    "v1.15.0; #5250; M",
)
STATEMENT_NO_SELF_ROLLBACK = Change(
    "statement-no-self-rollback",
    "A pipeline that a plugin refused in allocate is not undone: the task stays there, outside the statement.",
    "room of later tasks, and whether the gang counts as pipelined",
    "v1.15.0; #5073; M",
)
STATEMENT_KEEPS_OPERATIONS = Change(
    "statement-keeps-operations",
    "A finished statement keeps its operations; no action finishes one twice.",
    "nothing",
    "v1.15.0; #5180; T",
    replayed=False,
    unshown="No action finishes a statement twice.",
)
EVICT_NIL_PODGROUP = Change(
    "evict-nil-podgroup",
    "A pod of a job without PodGroup is deleted before its eviction is refused.",
    "a pod is gone that the session still counts",
    "v1.15.0; #5002; L",
    replayed=False,
    unshown="A session has no job without PodGroup: only one that is deleted while the cycle runs has none.",
)
OVERHEAD_BEFORE_INIT = Change(
    "overhead-before-init",
    "A pod's overhead is added to its containers only, not where an init container needs more.",
    "the request of pods with overhead and a large init container",
    "v1.15.0; #5020; M",
)
POD_LEVEL_REQUESTS_IGNORED = Change(
    "pod-level-requests-ignored",
    "Requests of the pod as a whole are not read: a pod with no others is best-effort.",
    "the request of pods with pod-level resources",
    "v1.15.0; #5020; M",
)
RESIZE_STATUS_IGNORED = Change(
    "resize-status-ignored",
    "What a task requests is read from its spec only: a resize that has begun does not count.",
    "the request of pods that are being resized in place",
    "v1.14.0; #3839; M",
)
ADD_POD_ON_ERROR = Change(
    "add-pod-on-error",
    "A pod whose volumes cannot be resolved takes part without volume counts.",
    "whether the pod is seen at all",
    "v1.15.0; #5725; L",
)
PVC_MISSING_DROPS_POD = Change(
    "pvc-missing-drops-pod",
    "A pod whose PersistentVolumeClaim does not exist is not seen at all.",
    "the job is short of a task, and the node looks emptier",
    "v1.15.1; #5725; M",
    since="v1.15.0",
)
GETBOOL_STRINGS = Change(
    "getbool-strings",
    "An argument that is a quoted boolean is refused, and its default stands.",
    'arguments written as "true"',
    "v1.15.0; #5198; L",
)
ORPHAN_NIL_PANICS = Change(
    "orphan-nil-panics",
    "capacity panics at a task whose queue a broken tree of queues does not reach.",
    "the scheduler's process ends",
    "v1.15.0; #5014; L",
)
PREPREDICATE_ALWAYS_BREAKS = Change(
    "prepredicate-always-breaks",
    "A task that PrePredicate refuses ends the visit of its job.",
    "whether the job's other tasks are placed",
    "v1.15.1 v1.14.4; #5528; M",
)
FLAT_NOMINATION = Change(
    "flat-nomination",
    "A job without hard topology does not keep the hypernode that gangpreempt or gangreclaim chose for it.",
    "where a job goes after its gang eviction",
    "v1.15.1; #5440; M",
)
NIL_PODGROUP = Change(
    "nil-podgroup",
    "Jobs without PodGroup panic in Clone, String and GetMinResources.",
    "the scheduler's process ends",
    "v1.15.1 v1.14.4; #5575; L",
    replayed=False,
    unshown="A session has no job without PodGroup: only one that is deleted while the cycle runs has none.",
)
RESOURCE_STRING_MAX = Change(
    "resource-string-max",
    "Unlimited amounts are printed as numbers.",
    "log lines",
    "v1.15.1 v1.14.3; #5276; T",
    replayed=False,
    unshown="No log line that is written names an unlimited amount.",
)
LOG_NAMES = Change(
    "log-names",
    "Log lines and errors of dry runs name neither the plugin that writes them nor a nominated hypernode.",
    "log lines, errors of dry runs",
    "v1.15.0; v1.14.4 beside v1.15.0; T",
)
LOG_SCORES = Change(
    "log-scores",
    "nodeorder's log line about a part of a score shows the weight of image locality, and no raw score.",
    "log lines",
    "v1.16; #5510; T",
)
LOG_TASK_NODE = Change(
    "log-task-node", "A task in a log line does not say on which node it is.", "log lines", "v1.13.0; v1.13.0; T"
)
REPRIEVE_ORDER = Change(
    "reprieve-order",
    "Topology-aware preemption protects the least valuable of its potential victims first.",
    "who is evicted",
    "v1.15.0 v1.14.3 v1.13.4; #5214; M",
)
SOFT_TO_HARD = Change(
    "soft-to-hard",
    "Jobs with soft topology take the flat path, and the hypernode that they reached is written back.",
    "where jobs with soft topology go",
    "v1.15.0 v1.14.3; #5206; M",
)
PREEMPT_QUEUE_ORDER = Change(
    "preempt-queue-order",
    "preempt takes queues in the order of a Go map, and after each of them goes through the starving jobs of all.",
    "who is evicted, where several queues have starving jobs",
    "v1.15.0 v1.14.2 v1.13.3 v1.12.4; #5268; H",
)
PREEMPT_TASKS_PER_QUEUE = Change(
    "preempt-tasks-per-queue",
    "After the first queue's turn the starving jobs of all other queues have no tasks left to preempt for.",
    "who is evicted, where several queues have starving jobs",
    "v1.15.0 v1.14.2 v1.13.3 v1.12.4; #5141; H",
)
PREEMPT_WITH_TOPOLOGY = Change(
    "preempt-with-topology",
    "preempt serves jobs with network topology too, and does not look at their hypernodes.",
    "who is evicted for jobs with network topology",
    "v1.14.0; #4721; M",
)
PODGROUP_RUNNING_AT_ALLOCATION = Change(
    "podgroup-running-at-allocation",
    "Tasks count for the PodGroup's phase as soon as they have a place: it is Running at the end of that cycle.",
    "phases, and what later jobs find reserved",
    "v1.13.0; #4384; H",
)
NOMINATION_NEEDS_IDLE = Change(
    "nomination-needs-idle",
    "A task's nominated node is tried first only while it has idle room, not while victims are still leaving.",
    "where a task goes in the cycles after its preemption",
    "v1.13.0; #4588; H",
)
PREEMPT_WHILE_NOMINATED = Change(
    "preempt-while-nominated",
    "A task may preempt although it has a nominated node that is free for it or about to be.",
    "who else is evicted for a task that has preempted before",
    "v1.13.0; #4279; H",
)
TOPOLOGY_PREEMPT_ABSENT = Change(
    "topology-preempt-absent",
    "There is no topology-aware preemption: preempt does not read its arguments.",
    "who is evicted where enableTopologyAwarePreemption is set",
    "v1.13.0; #4279; M",
)
LIVE_CACHE_DELETE = Change(
    "live-cache-delete",
    "A task that ends and is deleted is taken off its node twice.",
    "nothing",
    "v1.13.0; v1.13.0; L",
    replayed=False,
    unshown="A snapshot has the pods as they are, not the deletions before.",
)
ROLES_KEPT = Change(
    "roles-kept",
    "Roles that are taken out of a PodGroup's minTaskMember still count.",
    "gangs whose PodGroup has changed while the scheduler ran",
    "v1.14.0 v1.13.1 v1.12.3; 138f853c7; L",
    replayed=False,
    unshown="A snapshot has the PodGroups as they are, not the changes that led there.",
)
HIGHEST_TIER_NAME_SUBGROUP = Change(
    "highest-tier-name-subgroup",
    "A sub group's highestTierName is not translated: its topology is not hard.",
    "hypernodes of sub groups with highestTierName",
    "v1.15.0 v1.14.2; #5190; M",
)
SUBGROUP_WITHOUT_HARD = Change(
    "subgroup-without-hard",
    "A job with sub groups and no hard topology is not placed at all.",
    "jobs with subGroupPolicy",
    "v1.15.0 v1.14.1; #5038; M",
)
SUBJOB_RECOVERY_TIER = Change(
    "subjob-recovery-tier",
    "A sub job's hypernode is taken from its running pods as the one with the fewest nodes, not the lowest tier.",
    "where the rest of a sub job may go",
    "v1.15.0 v1.14.1; #5008; M",
)
ALLOCATE_FLAT_RETRY = Change(
    "allocate-flat-retry",
    "A job whose visit ends with tasks left is visited again, also where its gang failed: for the tasks behind.",
    "gangs in which one task finds no room; the order of visits",
    "v1.14.0; #4721; H",
)
FIT_ROLES_PER_JOB = Change(
    "fit-roles-per-job",
    "allocate goes on past a task without room where a job has fewer tasks than its minimum.",
    "the order of visits of jobs with too few tasks, where gang does not hold them back",
    "v1.14.0; #4721; L",
)
HYPERNODE_UPDATE_REBUILD = Change(
    "hypernode-update-rebuild",
    "A hypernode that changes does not rebuild others that claim its children.",
    "hypernodes with two parents, and moves between parents",
    "v1.16; #5076; L",
    replayed=False,
    unshown="A snapshot has the hypernodes as they are, not the changes that led there.",
)
BIND_NUMA_ANNOTATION_REVERT = Change(
    "bind-numa-annotation-revert",
    "A task whose NUMA decision cannot be written stays Binding in the cache.",
    "practically nothing",
    "v1.16; #5525; L",
    replayed=False,
    unshown="A NUMA decision can always be written.",
)
EVENT_TEXT_AS_FORMAT = Change(
    "event-text-as-format",
    "A percent sign in an event's text is garbled.",
    "texts of events",
    "v1.16; #5287; T",
    replayed=False,
    unshown="Recordings hold conditions, which are not affected, and no texts of Kubernetes events.",
)
NOMINATION_UNHEEDED = Change(
    "nomination-unheeded",
    "allocate does not try a task's nominated node first: it is a node like any other.",
    "where a task goes in the cycles after its preemption",
    "v1.12.0; #4079; H",
)
REQUEUE_WHEN_READY = Change(
    "requeue-when-ready",
    "A job is visited again only where its gang became ready with tasks left.",
    "gangs in which one task finds no room; the order of visits",
    "v1.12.0; #4310; H",
)
BACKFILL_ENDS_AT_FAILURE = Change(
    "backfill-ends-at-failure",
    "The first best-effort task without a node ends backfill for all that come behind it.",
    "whether pods without requests are placed",
    "v1.12.0; #4029; H",
)
BACKFILL_REFUSAL_UNSAID = Change(
    "backfill-refusal-unsaid",
    "A refused placement of backfill leaves no fit error.",
    "messages",
    "v1.12.0; #4009; T",
)
BEST_NODE_NEEDED = Change(
    "best-node-needed",
    "A task that fits nodes of which none is the best ends the process.",
    "the scheduler's process ends, where plugins score below 0",
    "v1.12.0; #4310; L",
)
REFUSED_PIPELINE_UNDONE = Change(
    "refused-pipeline-undone",
    "A pipeline that a plugin refused in allocate is undone.",
    "room of later tasks, and whether the gang counts as pipelined",
    "v1.12.0; #4310; M",
)
PREEMPT_EVICTS_NAMED = Change(
    "preempt-evicts-named",
    "preempt ends with evicting what tdm and rescheduling name, as shuffle does, but in a statement.",
    "who is evicted without shuffle among the actions",
    "v1.12.0; c494f9dbd; M",
)
QUEUE_STATUS_RUNNING = Change(
    "queue-status-running",
    "The status of a queue counts its running tasks only, not those that were just placed.",
    "status.allocated of queues",
    "v1.12.0; #4183; M",
)
VOLUMES_AT_ALLOCATION = Change(
    "volumes-at-allocation",
    "Volumes are looked at where a task is allocated, not among the predicates: a node that does not have them refuses "
    "the task once it was chosen.",
    "feasible nodes, and whether a gang is placed at all, where pods have volumes",
    "v1.12.0; #4152; H",
)
MINIMUM_UNSAID = Change(
    "minimum-unsaid",
    "The message about a task that has a place does not say that its gang's minimum is missing.",
    "messages",
    "v1.12.0; 9f7123d44; T",
)

CHANGES = tuple(value for value in globals().values() if isinstance(value, Change))
