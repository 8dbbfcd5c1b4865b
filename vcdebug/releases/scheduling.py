"""Changes about actions, session, and what the cache passes to it; at the end those about network topology.

Upstream: actions, framework, api, cache, plugins/network-topology-aware.
"""

from vcdebug.releases.change import Change, name_changes

PREEMPT_NO_PREDICATE_RECHECK = Change.from_text("""v1.16 v1.15.2; #5843; H
    preempt evicts until quota and resources suffice and does not re-check the predicates.
    decides: number of evictions, and whether the node fits afterwards""")
PREEMPT_REQUEUE_AFTER_ASSIGN = Change.from_text("""v1.16; #5818; M
    After the commit of its statement, a job returns to preempt's queue although its last task was pipelined.
    decides: jobs that starve again because a later job evicted their tasks""")
PODGROUP_PHASE_RELEASING = Change.from_text("""v1.16 v1.15.2 v1.14.5 v1.13.4; #5796; M
    Terminating tasks do not count for the PodGroup's phase: without enough other tasks it returns to Pending.
    decides: whether the job must be admitted again""")
PREEMPT_SHARED_STATEMENT = Change.from_text("""v1.15.0; #5010; H
    Evictions on a node where the task still does not fit stay in preempt's statement.
    decides: unnecessary evictions; resources and quota for later tasks""")
PREEMPT_INTRA_JOB_COMMITS_FAILURES = Change.from_text("""v1.15.0; #5010; H
    preempt within a job commits its evictions although the task fits no node.
    decides: unnecessary evictions""")
RECLAIM_SHARED_STATEMENT = Change.from_text("""v1.15.0; #5067; H
    Evictions on a node where the task still does not fit stay in reclaim's statement.
    decides: unnecessary evictions; resources and quota for later tasks""")
RECLAIM_EVICTS_BEFORE_TEST = Change.from_text("""v1.15.0; #5067; H
    reclaim evicts the first victim before checking whether the task fits without it.
    decides: one unnecessary eviction""")
UNKNOWN_ACTION_SKIPPED = Change.from_text("""v1.14.0; #4661; M
    An unknown action is ignored; the other settings of the configuration are used.
    decides: the whole configuration
    since: v1.12.0""")
HEADER_NOT_READY = Change.from_text("""v1.14.0; #4721; T
    A gang's message begins with "pod group is not ready" although it is ready.
    decides: messages""")
NO_SHARDS = Change.from_text("""v1.14.0; #4848; M
    Node shards do not exist: a search has one group of nodes, not two (the second is mostly empty).
    decides: clusters with shards; random offsets of topology-aware preemption""")
VICTIMS_WITHOUT_ORPHAN_RULE = Change.from_text("""v1.14.0; #4999; L
    Tasks without a job are not evicted first: comparing them panics.
    decides: scheduler panic
    not replayed: No action passes a task without a job to plugins.""")
PQ_CLONE_REPUSH = Change.from_text("""v1.14.0; #4728; L
    The copy of a heap is made by pushing its items again.
    decides: nothing
    not replayed: A heap that is pushed in the order of its array comes out as the same array.""")
ROOT_QUEUE_WRITTEN = Change.from_text("""v1.15.0 v1.14.2; #4973; L
    What the queue root deserves and is guaranteed is written to its spec as the cycle ends.
    decides: the spec of the queue root in later cycles
    since: v1.11.0
    not replayed: A snapshot has the queue after the last cycle, and a cycle does not read its own writes.""")
RECLAIM_IMMEDIATE = Change.from_text("""v1.14.0; #4794; H
    reclaim evicts immediately, task by task, ignoring free resources and gangs.
    decides: which pods are evicted, including unnecessary evictions""")
VICTIM_TIE_BY_JOB_AGE = Change.from_text("""v1.15.0; #5115; H
    Among victims of jobs that the plugins rank equally, all tasks of the younger job are evicted first.
    decides: which pods are evicted""")
QUEUE_ALLOCATION_GATE = Change.from_text("""v1.15.0; #5033; M
    Volcano's own scheduling gate is treated as any other gate: the pod is not placed, and it uses no quota.
    decides: pods with the gate scheduling.volcano.sh/queue-allocation-gate""")
GANG_EVICTION = Change.from_text("""v1.15.0; #5250; M
    gangpreempt and gangreclaim do not exist: a configuration that names them is rejected.
    decides: the whole configuration""")
NOMINATION_IN_HYPERNODE = Change.from_text("""v1.15.0; #5250; M
    A task's nominated node is tried even outside the current HyperNode.
    decides: HyperNodes of jobs with hard topology after a preemption""")
STATEMENT_NO_SELF_ROLLBACK = Change.from_text("""v1.15.0; #5073; M
    A pipeline operation that a plugin rejected in allocate is not undone: the task stays on the node, outside the
    statement.
    decides: resources of later tasks, and whether the gang is pipelined""")
STATEMENT_KEEPS_OPERATIONS = Change.from_text("""v1.15.0; #5180; T
    A finished statement keeps its operations; no action finishes one twice.
    decides: nothing
    not replayed: No action finishes a statement twice.""")
EVICT_NIL_PODGROUP = Change.from_text("""v1.15.0; #5002; L
    A pod of a job without PodGroup is deleted before its eviction is rejected.
    decides: a pod is deleted that the session still counts
    not replayed: A session has no job without PodGroup: only one that is deleted while the cycle runs has none.""")
OVERHEAD_BEFORE_INIT = Change.from_text("""v1.15.0; #5020; M
    A pod's overhead is added to its containers only, not where an init container needs more.
    decides: the request of pods with overhead and a large init container""")
POD_LEVEL_REQUESTS_IGNORED = Change.from_text("""v1.15.0; #5020; M
    Pod-level requests are not read: a pod without container requests is best-effort.
    decides: the request of pods with pod-level resources""")
RESIZE_STATUS_IGNORED = Change.from_text("""v1.14.0; #3839; M
    A task's request is read from its spec only: a resize in progress does not count.
    decides: the request of pods that are being resized in place""")
ADD_POD_ON_ERROR = Change.from_text("""v1.15.0; #5725; L
    A pod with unresolvable volumes is scheduled without volume counts.
    decides: whether the pod is seen at all""")
PVC_MISSING_DROPS_POD = Change.from_text("""v1.15.1; #5725; M
    A pod with a missing PersistentVolumeClaim is ignored by the scheduler.
    decides: the job lacks a task, and the node has more free resources
    since: v1.15.0""")
GETBOOL_STRINGS = Change.from_text("""v1.15.0; #5198; L
    A quoted boolean argument is rejected, and its default is used.
    decides: arguments written as "true\"""")
ORPHAN_NIL_PANICS = Change.from_text("""v1.15.0; #5014; L
    capacity panics at a task in a queue that an invalid queue tree does not reach.
    decides: scheduler panic""")
PREPREDICATE_ALWAYS_BREAKS = Change.from_text("""v1.15.1 v1.14.4; #5528; M
    If PrePredicate rejects a task, the job's remaining tasks are skipped.
    decides: whether the job's other tasks are placed""")
FLAT_NOMINATION = Change.from_text("""v1.15.1; #5440; M
    A job without hard topology does not stay in the HyperNode that gangpreempt or gangreclaim chose for it.
    decides: placement of a job after its gang eviction""")
NIL_PODGROUP = Change.from_text("""v1.15.1 v1.14.4; #5575; L
    Jobs without PodGroup panic in Clone, String and GetMinResources.
    decides: scheduler panic
    not replayed: A session has no job without PodGroup: only one that is deleted while the cycle runs has none.""")
RESOURCE_STRING_MAX = Change.from_text("""v1.15.1 v1.14.3; #5276; T
    Unlimited amounts are printed as numbers.
    decides: log lines
    not replayed: No log line that is written names an unlimited amount.""")
LOG_NAMES = Change.from_text("""v1.15.0; v1.14.4 and v1.15.0; T
    Log lines and errors of dry runs name neither the plugin that writes them nor a nominated hypernode.
    decides: log lines, errors of dry runs""")
LOG_SCORES = Change.from_text("""v1.16; #5510; T
    nodeorder's log line about a part of a score shows the weight of image locality, and no raw score.
    decides: log lines""")
LOG_TASK_NODE = Change.from_text("""v1.13.0; v1.13.0; T
    A task in a log line does not say on which node it is.
    decides: log lines""")
REPRIEVE_ORDER = Change.from_text("""v1.15.0 v1.14.3 v1.13.4; #5214; M
    Topology-aware preemption protects the least important of its potential victims first.
    decides: which pods are evicted""")
SOFT_TO_HARD = Change.from_text("""v1.15.0 v1.14.3; #5206; M
    Jobs with soft topology are placed without HyperNodes, and the HyperNode of their nodes is written back.
    decides: placement of jobs with soft topology""")
PREEMPT_QUEUE_ORDER = Change.from_text("""v1.15.0 v1.14.2 v1.13.3 v1.12.4; #5268; H
    preempt visits queues in Go map order, and after each queue the starving jobs of all queues.
    decides: which pods are evicted if several queues have starving jobs""")
PREEMPT_TASKS_PER_QUEUE = Change.from_text("""v1.15.0 v1.14.2 v1.13.3 v1.12.4; #5141; H
    After the first queue, the starving jobs of all other queues have no remaining tasks to preempt for.
    decides: which pods are evicted if several queues have starving jobs""")
PREEMPT_WITH_TOPOLOGY = Change.from_text("""v1.14.0; #4721; M
    preempt also handles jobs with network topology, and ignores their HyperNodes.
    decides: which pods are evicted for jobs with network topology""")
PODGROUP_RUNNING_AT_ALLOCATION = Change.from_text("""v1.13.0; #4384; H
    Tasks count for the PodGroup's phase as soon as they have a node: it is Running at the end of that cycle.
    decides: phases, and resources reserved from later jobs""")
NOMINATION_NEEDS_IDLE = Change.from_text("""v1.13.0; #4588; H
    The nominated node is tried first only if it has idle resources, not while victims are terminating.
    decides: placement of a task in the cycles after its preemption""")
PREEMPT_WHILE_NOMINATED = Change.from_text("""v1.13.0; #4279; H
    A task can preempt although it has a nominated node with free or releasing resources.
    decides: further evictions for a task that has preempted before""")
TOPOLOGY_PREEMPT_ABSENT = Change.from_text("""v1.13.0; #4279; M
    Topology-aware preemption does not exist: preempt does not read its arguments.
    decides: which pods are evicted with enableTopologyAwarePreemption""")
LIVE_CACHE_DELETE = Change.from_text("""v1.13.0; v1.13.0; L
    A task that finishes and is deleted is removed from its node twice.
    decides: nothing
    not replayed: A snapshot has the current pods, not earlier deletions.""")
ROLES_KEPT = Change.from_text("""v1.14.0 v1.13.1 v1.12.3; 138f853c7; L
    Roles that were removed from a PodGroup's minTaskMember still count.
    decides: gangs with a PodGroup that changed while the scheduler ran
    not replayed: A snapshot has the current PodGroups, not their changes.""")
HIGHEST_TIER_NAME_SUBGROUP = Change.from_text("""v1.15.0 v1.14.2; #5190; M
    A sub group's highestTierName is not translated: its topology is not hard.
    decides: HyperNodes of sub groups with highestTierName""")
SUBGROUP_WITHOUT_HARD = Change.from_text("""v1.15.0 v1.14.1; #5038; M
    A job with sub groups and no hard topology is not placed at all.
    decides: jobs with subGroupPolicy""")
SUBJOB_RECOVERY_TIER = Change.from_text("""v1.15.0 v1.14.1; #5008; M
    The HyperNode of a sub job with running pods is the one with the fewest nodes, not the one of the lowest tier.
    decides: placement of the remaining pods of a sub job""")
ALLOCATE_FLAT_RETRY = Change.from_text("""v1.14.0; #4721; H
    A job with remaining tasks is visited again, even if its gang failed, for the tasks after the failed one.
    decides: gangs with a task that fits no node; the order of visits""")
FIT_ROLES_PER_JOB = Change.from_text("""v1.14.0; #4721; L
    allocate continues after a task that fits no node if the job has fewer tasks than its minimum.
    decides: the order of visits of jobs with too few tasks, if gang does not block them""")
HYPERNODE_UPDATE_REBUILD = Change.from_text("""v1.16; #5076; L
    A change of a HyperNode does not rebuild other HyperNodes that claim its children.
    decides: HyperNodes with two parents, and moves between parents
    not replayed: A snapshot has the current HyperNodes, not their changes.""")
BIND_NUMA_ANNOTATION_REVERT = Change.from_text("""v1.16; #5525; L
    A task with a NUMA decision that cannot be written stays Binding in the cache.
    decides: practically nothing
    not replayed: A NUMA decision can always be written.""")
EVENT_TEXT_AS_FORMAT = Change.from_text("""v1.16; #5287; T
    A percent sign in an event's message is garbled.
    decides: texts of events
    not replayed: Recordings hold conditions, which are not affected, and no texts of Kubernetes events.""")
NOMINATION_UNHEEDED = Change.from_text("""v1.12.0; #4079; H
    allocate does not try a task's nominated node first: it is a node like any other.
    decides: placement of a task in the cycles after its preemption""")
REQUEUE_WHEN_READY = Change.from_text("""v1.12.0; #4310; H
    A job is visited again only where its gang became ready with remaining tasks.
    decides: gangs with a task that fits no node; the order of visits""")
BACKFILL_ENDS_AT_FAILURE = Change.from_text("""v1.12.0; #4029; H
    The first best-effort task without a node ends backfill for all that come behind it.
    decides: whether pods without requests are placed""")
BACKFILL_REFUSAL_UNSAID = Change.from_text("""v1.12.0; #4009; T
    A refused placement of backfill leaves no fit error.
    decides: messages""")
BEST_NODE_NEEDED = Change.from_text("""v1.12.0; #4310; L
    A task that fits nodes of which none is the best ends the process.
    decides: scheduler panic, where plugins score below 0""")
REFUSED_PIPELINE_UNDONE = Change.from_text("""v1.12.0; #4310; M
    A pipeline that a plugin refused in allocate is undone.
    decides: resources of later tasks, and whether the gang is pipelined""")
PREEMPT_EVICTS_NAMED = Change.from_text("""v1.12.0; c494f9dbd; M
    preempt ends with evicting what tdm and rescheduling name, as shuffle does, but in a statement.
    decides: which pods are evicted without shuffle among the actions""")
QUEUE_STATUS_RUNNING = Change.from_text("""v1.12.0; #4183; M
    The status of a queue counts its running tasks only, not those that were just placed.
    decides: status.allocated of queues""")
VOLUMES_AT_ALLOCATION = Change.from_text("""v1.12.0; #4152; H
    Volumes are checked when a task is allocated, not among the predicates: a node without them rejects the task
    after it was chosen.
    decides: feasible nodes, and whether a gang is placed at all, where pods have volumes""")
MINIMUM_UNSAID = Change.from_text("""v1.12.0; 9f7123d44; T
    The message about a task that has a place does not say that its gang's minimum is missing.
    decides: messages""")
PREEMPTION_POLICY_UNREAD = Change.from_text("""v1.11.0; #3739; M
    preempt and reclaim also evict for pods with preemptionPolicy Never.
    decides: which pods are evicted for pods with preemptionPolicy Never""")
RECLAIM_BEYOND_STARVING = Change.from_text("""v1.11.0; #3951; H
    reclaim serves every job with pending tasks, not only those that starve.
    decides: which pods are evicted for jobs that have their minimum""")
RECLAIM_ASKS_ALLOCATABLE = Change.from_text("""v1.11.0; #3940; M
    reclaim asks first whether the queue may allocate the task; proportion has no answer of its own for reclaim.
    decides: queues at their limit, and where capacity and proportion differ""")
VICTIMS_NOT_RESTARTED = Change.from_text("""v1.11.0; #3551; H
    Once a plugin has allowed victims, one that allows none of them ends the search: no plugin starts over.
    decides: which pods are evicted, with several tiers or plugins that disagree""")
FAILED_UNCOUNTED = Change.from_text("""v1.11.0; #3807; M
    Failed tasks do not count for the PodGroup's phase: a gang with one that failed is Pending, never Completed.
    decides: phases of jobs with failed pods""")
QUEUE_STATUS_OWN = Change.from_text("""v1.11.0; #3743; M
    The status of a queue counts the tasks of its own jobs, not those of queues below it.
    decides: status.allocated of parent queues, and of root""")
VOLUMES_REFUSE_AT_ONCE = Change.from_text("""v1.11.0 v1.10.1; bd5aa8730; L
    A node without a task's volumes rejects the task before it is placed there: nothing has to be undone.
    decides: scheduler panic for volumes that are not bound; cards of a task that is rejected""")

# Open pull requests, read from their diffs of 2026-08.

PR_5854 = Change.from_text("""; #5854; L
    Undoing an allocation clears the pod's node.
    decides: a later Reserve of the same pod for its resource claims""")
PR_5884 = Change.from_text("""; #5884; M
    Pipelining sets the pod's node, so Reserve finds the devices of its resource claims.
    decides: whether pods with resource claims can preempt or reclaim""")

# Network topology: where hard and soft jobs are tried, what is kept of that, and sub jobs.

ALLOCATE_TOPOLOGY_TIERS = Change.from_text("""v1.14.0; #4721; H
    A job with hard topology is tried in every HyperNode, tier by tier; there is no implicit root HyperNode.
    decides: placement of jobs with hard topology""")
ALLOCATED_HYPERNODE_ANNOTATION = Change.from_text("""v1.14.0; #4721; H
    A job's HyperNode comes from the PodGroup's annotation only: it is neither derived from running pods nor
    cleared.
    decides: placement of the remaining pods of a job with topology""")
HYPERNODE_SUM_OF_NODE_SCORES = Change.from_text("""v1.14.0; #4721; M
    Of several HyperNodes, the one with the highest sum of scores of the chosen nodes wins.
    decides: which HyperNode of a tier a job with hard topology gets""")
HYPERNODES_NOT_READY = Change.from_text("""v1.14.0; #4721; M
    Without HyperNodes, a job with hard topology ends processing of its queue.
    decides: queues with a job with hard topology, in clusters without HyperNodes""")
NTA_NODE_SCORE_ONLY = Change.from_text("""v1.14.0; #4721; H
    network-topology-aware scores only nodes, for jobs with topology, up to 100 twice.
    decides: the best node of jobs with topology; HyperNodes""")
NTA_HYPERNODE_SCORE = Change.from_text("""v1.13.0; #4345; M
    network-topology-aware also scores HyperNodes, by their distance from that of the job.
    decides: HyperNode of the remaining pods of a job with hard topology""")
NTA_SOFT_ONLY = Change.from_text("""v1.13.0; #4345; M
    The HyperNode of placed pods counts for the next nodes only with soft topology.
    decides: the best node of jobs with hard topology""")
SUBJOBS_ABSENT = Change.from_text("""v1.14.0; #4721; M
    Sub jobs do not exist: subGroupPolicy and highestTierName are not read.
    decides: jobs with subGroupPolicy, or with a tier's name""")
TOPOLOGY_ABSENT = Change.from_text("""v1.12.0; #4310; H
    There is no network topology: HyperNodes and what jobs ask of them are not read.
    decides: where jobs with network topology go""")

CHANGES = name_changes(globals())
