"""Messages of the actions that evict tasks.

Upstream: actions/preempt, actions/reclaim, actions/gangpreempt, actions/gangreclaim, actions/shuffle.
"""

from vcdebug.explain.logs.message import Message, rows

_PREEMPT = rows(
    "preempt.go",
    ("preempt.enter", 5, "Enter Preempt ..."),
    ("preempt.invalid", 4, "Job <{job}> Queue <{queue}> skip preemption, reason: {reason}, message {message}"),
    (
        "preempt.topology",
        3,
        (
            "Job <{job}> Queue <{queue}> skip preemption, "
            "reason: jobs containing networkTopology do not support preemption"
        ),
    ),
    ("preempt.no-jobs", 4, "No preemptors in Queue <{queue}>, break."),
    ("preempt.no-task", 3, "No preemptor task in job <{job}>."),
    ("preempt.failed", 3, "Preemptor <{task}> failed to preempt Task , err: {error}"),
    ("preempt.node", 3, "Considering Task <{task}> on Node <{node}>."),
    ("preempt.no-victims", 3, "No validated victims on Node <{node}>: {error}"),
    ("preempt.victim", 3, "Try to preempt Task <{victim}> for Task <{task}>"),
    ("preempt.sum", 3, "Preempted <{amount}> for Task <{task}> requested <{request}>."),
    ("preempt.no-nodes", 3, "No nodes are eligible to preempt task {task}"),
    ("preempt.count", 0, "the predicateNodes number is {count}"),
    ("preempt.candidates", 3, "all preemptees: {tasks}"),
    ("preempt.victims", 3, "allVictims: {tasks}"),
    (
        "preempt.enough",
        3,
        "Pod {task} can be scheduled on node {node} after preempt {victim}, stop evicting more pods",
    ),
    ("preempt.potential", 3, "potentialVictims---: {tasks}, nodeInfo: {node}"),
    ("preempt.kept", 3, "Pod is a potential preemption victim on nodepod{victim}node{node}"),
    ("preempt.reprieve", 0, "reprievePod for task: {name}, fits: {fits}"),
    ("preempt.chosen", 0, "victims: {tasks}"),
    ("preempt.leave", 5, "Leaving Preempt ..."),
)

_RECLAIM = rows(
    "reclaim.go",
    ("reclaim.enter", 5, "Enter Reclaim ..."),
    ("reclaim.total", 3, "There are <{jobs}> Jobs and <{queues}> Queues in total for scheduling."),
    ("reclaim.invalid", 4, "Job <{job}> Queue <{queue}> skip reclaim, reason: {reason}, message {message}"),
    ("reclaim.queue", 4, "Added Queue <{queue}> for Job <{job}>"),
    ("reclaim.overused", 3, "Queue <{queue}> is overused, ignore it."),
    ("reclaim.no-jobs", 4, "No preemptors in Queue <{queue}>, break."),
    ("reclaim.no-task", 3, "No preemptor task in job <{job}>."),
    ("reclaim.tasks", 3, "Considering reclaim for {count} tasks of job <{job}>."),
    ("reclaim.never", 3, "Task {task} cannot preempt (policy Never)"),
    ("reclaim.refused", 3, "Queue <{queue}> cannot reclaim for task <{name}>, skip"),
    ("reclaim.pre-predicate", 3, "PrePredicate failed for task {task}: {error}"),
    ("reclaim.node", 3, "Considering Task <{task}> on Node <{node}>."),
    ("reclaim.nobody", 4, "No reclaimees on Node <{node}>."),
    ("reclaim.no-victims", 3, "No validated victims on Node <{node}>: {error}"),
    ("reclaim.victim", 3, "Try to reclaim Task <{victim}> for Tasks <{task}>"),
    (
        "reclaim.sum",
        3,
        (
            "Reclaimed <{amount}> for task <{task}> requested <{request}>, and Node <{node}> "
            "availableResources <{available}>."
        ),
    ),
    ("reclaim.leave", 5, "Leaving Reclaim ..."),
)

_GANG_ACTIONS = (
    *rows("gangpreempt.go", ("gangpreempt.enter", 5, "Enter GangPreempt ...")),
    *rows("gangpreempt.go", ("gangpreempt.leave", 5, "Leaving GangPreempt ...")),
    *rows("gangreclaim.go", ("gangreclaim.enter", 5, "Enter GangReclaim ...")),
    *rows("gangreclaim.go", ("gangreclaim.leave", 5, "Leaving GangReclaim ...")),
    *rows("gangreclaim.go", ("gangreclaim.refused", 3, "Queue <{queue}> cannot reclaim for job <{job}>, skip")),
    *rows("shuffle.go", ("shuffle.enter", 5, "Enter Shuffle ...")),
    *rows("shuffle.go", ("shuffle.leave", 5, "Leaving Shuffle ...")),
    *rows("shuffle.go", ("shuffle.victim", 3, "pod {name} from namespace {namespace} and job {job} will be evicted.")),
)

EVICTING: tuple[Message, ...] = (
    *_PREEMPT,
    *_RECLAIM,
    *_GANG_ACTIONS,
)
