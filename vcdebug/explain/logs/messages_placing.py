"""Messages of sessions, statements and the actions that place tasks.

Upstream: framework, cache, actions/enqueue, actions/allocate, actions/backfill.
"""

from vcdebug.explain.logs.message import UNORDERED, Message, rows

_SESSION = rows(
    "session.go",
    ("hypernode", 5, '"hyperNode in session" name="{name}" tier={tier} parent="{parent}" children={children}'),
    ("open", 3, "Open Session {uid} with <{jobs}> Job and <{queues}> Queues. HyperNodesReadyToSchedule: {ready}"),
    ("close", 3, "Close Session {uid}"),
)

_STATEMENT = rows(
    "statement.go",
    (
        "pipelined",
        3,
        "After pipelined Task <{task}> to Node <{node}>: idle <{idle}>, used <{used}>, releasing <{releasing}>",
    ),
    (
        "unpipelined",
        3,
        "After unpipelined Task <{task}> to Node <{node}>: idle <{idle}>, used <{used}>, releasing <{releasing}>",
    ),
    (
        "allocated",
        3,
        "After allocated Task <{task}> to Node <{node}>: idle <{idle}>, used <{used}>, releasing <{releasing}>",
    ),
    ("allocating", 3, "Allocating operations ..."),
    ("remove", 3, "Remove Task <{name}> on node <{node}>"),
    ("discard", 3, "Discarding operations ..."),
    ("commit", 3, "Committing operations ..."),
    ("save", 4, "Save operations: {operations}"),
    ("recover", 4, "Recover operations:"),
)

_CACHE = rows("cache.go", ("bind", 5, "add bind task {task}", UNORDERED), firm=False)

_ENQUEUE = rows(
    "enqueue.go",
    ("enqueue.enter", 5, "Enter Enqueue ..."),
    ("enqueue.queue", 5, "Added Queue <{queue}> for Job <{job}>"),
    ("enqueue.job", 5, "Added Job <{job}> into Queue <{queue}>"),
    ("enqueue.try", 3, "Try to enqueue PodGroup to {count} Queues"),
    ("enqueue.leave", 5, "Leaving Enqueue ..."),
)


_ALLOCATE = rows(
    "allocate.go",
    ("allocate.enter", 5, "Enter Allocate ..."),
    ("allocate.pending", 4, "Job <{job}> Queue <{queue}> skip allocate, reason: job status is pending."),
    (
        "allocate.inqueue",
        4,
        "Job <{job}> Queue <{queue}> status update from pending to inqueue, reason: no enqueue action is configured.",
    ),
    ("allocate.invalid", 4, "Job <{job}> Queue <{queue}> skip allocate, reason: {reason}, message {message}"),
    (
        "allocate.topology",
        4,
        "Job <{job}> Queue <{queue}> skip allocate, reason: hyperNodes are not ready for scheduling",
    ),
    ("allocate.gate", 4, "Task <{task}> has external scheduling gate, skip it."),
    ("allocate.best-effort", 4, "Task <{task}> is BestEffort task, skip it."),
    ("allocate.job", 4, "Added Job <{job}> into Queue <{queue}>"),
    ("allocate.try", 3, "Try to allocate resource to {count} Queues"),
    ("allocate.overused", 3, "Queue <{queue}> is overused, ignore it."),
    ("allocate.no-jobs", 4, "Can not find jobs for queue {queue}."),
    (
        "allocate.domains",
        3,
        (
            '"Try to allocate resource for job contains hard topology or subjob policy" queue="{queue}" job="{job}" '
            'allocatedHyperNode="{allocated}" subJobNum={count}'
        ),
    ),
    (
        "allocate.flat",
        3,
        '"Try to allocate resource" queue="{queue}" job="{job}" nominatedHyperNode="{nominated}" taskNum={count}',
    ),
    ("allocate.domain", 3, '"Try to allocate resource for job in hyperNode" job="{job}" hyperNode="{hyper_node}"'),
    ("allocate.domain-fail", 5, '"Find solution for job fail" job="{job}" gradient={gradient}'),
    ("allocate.job-fail", 5, '"Cannot find any solution for job" job="{job}"'),
    ("allocate.domain-success", 3, '"Allocate job to hyperNode success" job="{job}" hyperNode="{hyper_node}"'),
    (
        "allocate.sub-job",
        3,
        (
            '"Try to allocate resource for subJob" job="{job}" subJob="{sub_job}" allocatedHyperNode="{allocated}" '
            'nominatedHyperNode="{nominated}" taskNum={count}'
        ),
    ),
    (
        "allocate.tasks",
        3,
        (
            '"Try to allocate resource for tasks in subJob" job="{job}" subJob="{sub_job}" taskNum={count} '
            'hyperNode="{hyper_node}"'
        ),
    ),
    ("allocate.sub-job-row", 5, '"Find solution for subJob fail" subJob="{sub_job}" gradient={gradient}'),
    ("allocate.sub-job-fail", 5, '"Cannot find any solution for subJob" subJob="{sub_job}"'),
    (
        "allocate.sub-job-success",
        3,
        (
            '"Allocate subJob to hyperNode success" subJob="{sub_job}" hyperNode="{hyper_node}" score={score} '
            'newAllocatedHyperNode="{allocated}"'
        ),
    ),
    ("allocate.no-nodes", 4, '"There is no node in hyperNode" {rest}'),
    ("allocate.lost", 3, "Queue <{queue}> is overused when considering task <{name}>, ignore it."),
    ("allocate.again", 5, "Task {name} with role spec {role} has already predicated failed, skip"),
    ("allocate.nodes", 3, "There are <{count}> nodes for Job <{job}>"),
    ("allocate.pre-predicate", 3, "PrePredicate for task {task} failed for: {error}"),
    ("allocate.ready", 3, '"SubJob ready, return statement" job="{job}" subJob="{sub_job}"'),
    ("allocate.pipelined", 3, '"SubJob pipelined, return statement" job="{job}" subJob="{sub_job}"'),
    ("allocate.node", 5, "node {node}, idle: {idle}, future idle: {future}"),
    ("allocate.no-match", 5, "Task: {name}, no matching node is found in the candidateNodes（index: {index}） list."),
    ("allocate.binding", 3, "Binding Task <{task}> to node <{node}>"),
    ("allocate.limited", 3, "Predicates failed in allocate for task <{task}> on node <{node}> with limited resources"),
    ("allocate.pipelining", 3, "Pipelining Task <{task}> to node <{node}> for <{request}> on <{releasing}>"),
    ("allocate.leave", 5, "Leaving Allocate ..."),
)

_RECORDER = rows(
    "recorder.go",
    ("recorder.job", 3, '"update allocated hyperNode for job" job="{job}" old="{old}" new="{new}"'),
    ("recorder.sub-job", 3, '"update allocated hyperNode for subJob" subJob="{sub_job}" old="{old}" new="{new}"'),
)

_BACKFILL = rows(
    "backfill.go",
    ("backfill.enter", 5, "Enter Backfill ..."),
    ("backfill.invalid", 4, "Job <{job}> Queue <{queue}> skip backfill, reason: {reason}, message {message}"),
    ("backfill.pre-predicate", 3, "PrePredicate for task {task} failed in backfill for: {error}"),
    ("backfill.binding", 3, "Binding Task <{task}> to node <{node}>"),
    ("backfill.leave", 5, "Leaving Backfill ..."),
)

PLACING: tuple[Message, ...] = (
    *_SESSION,
    *_STATEMENT,
    *_CACHE,
    *_ENQUEUE,
    *_ALLOCATE,
    *_RECORDER,
    *_BACKFILL,
)
