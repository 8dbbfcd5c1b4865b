"""Which messages of the real scheduler are compared: one row per message, used to recognise it and to write it.

Upstream: the klog calls of cache, framework, actions, plugins and util.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

UNKNOWN = "…"
"""Stands in a narrated line for what a replay cannot know; it agrees with anything."""

_FIELD = re.compile(r"\{\w+\}")


class Message(NamedTuple):
    """One klog call."""

    key: str
    level: int
    """The -v level from which it is printed; 0 is always."""
    file: str
    template: str
    firm: bool = True
    """The level is certain. Others are compared only where the log has at least one line of their kind."""
    unordered: bool = False
    """Written by parallel workers or while ranging over a map: order means nothing."""

    def write(self, fields: Mapping[str, Any]) -> str:
        """The message's text."""
        return self.template.format(**fields)


def _rows(file: str, *rows: tuple[Any, ...], firm: bool = True) -> tuple[Message, ...]:
    return tuple(Message(key, level, file, template, firm, *rest) for key, level, template, *rest in rows)


UNORDERED = True

_SESSION = _rows(
    "session.go",
    ("hypernode", 5, '"hyperNode in session" name="{name}" tier={tier} parent="{parent}" children={children}'),
    ("open", 3, "Open Session {uid} with <{jobs}> Job and <{queues}> Queues. HyperNodesReadyToSchedule: {ready}"),
    ("close", 3, "Close Session {uid}"),
)

_STATEMENT = _rows(
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

_CACHE = _rows("cache.go", ("bind", 5, "add bind task {task}", UNORDERED), firm=False)

_ENQUEUE = _rows(
    "enqueue.go",
    ("enqueue.enter", 5, "Enter Enqueue ..."),
    ("enqueue.queue", 5, "Added Queue <{queue}> for Job <{job}>"),
    ("enqueue.job", 5, "Added Job <{job}> into Queue <{queue}>"),
    ("enqueue.try", 3, "Try to enqueue PodGroup to {count} Queues"),
    ("enqueue.leave", 5, "Leaving Enqueue ..."),
)

_NOMINATED = ', falling back to normal allocation process"'

_ALLOCATE = _rows(
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
        '"Try to allocate resource for job contains hard topology or subjob policy" queue="{queue}" job="{job}" '
        'allocatedHyperNode="{allocated}" subJobNum={count}',
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
        '"Try to allocate resource for subJob" job="{job}" subJob="{sub_job}" allocatedHyperNode="{allocated}" '
        'nominatedHyperNode="{nominated}" taskNum={count}',
    ),
    (
        "allocate.tasks",
        3,
        '"Try to allocate resource for tasks in subJob" job="{job}" subJob="{sub_job}" taskNum={count} '
        'hyperNode="{hyper_node}"',
    ),
    ("allocate.sub-job-row", 5, '"Find solution for subJob fail" subJob="{sub_job}" gradient={gradient}'),
    ("allocate.sub-job-fail", 5, '"Cannot find any solution for subJob" subJob="{sub_job}"'),
    (
        "allocate.sub-job-success",
        3,
        '"Allocate subJob to hyperNode success" subJob="{sub_job}" hyperNode="{hyper_node}" score={score} '
        'newAllocatedHyperNode="{allocated}"',
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

_RECORDER = _rows(
    "recorder.go",
    ("recorder.job", 3, '"update allocated hyperNode for job" job="{job}" old="{old}" new="{new}"'),
    ("recorder.sub-job", 3, '"update allocated hyperNode for subJob" subJob="{sub_job}" old="{old}" new="{new}"'),
)

_BACKFILL = _rows(
    "backfill.go",
    ("backfill.enter", 5, "Enter Backfill ..."),
    ("backfill.invalid", 4, "Job <{job}> Queue <{queue}> skip backfill, reason: {reason}, message {message}"),
    ("backfill.pre-predicate", 3, "PrePredicate for task {task} failed in backfill for: {error}"),
    ("backfill.binding", 3, "Binding Task <{task}> to node <{node}>"),
    ("backfill.leave", 5, "Leaving Backfill ..."),
)

_PREEMPT = _rows(
    "preempt.go",
    ("preempt.enter", 5, "Enter Preempt ..."),
    ("preempt.invalid", 4, "Job <{job}> Queue <{queue}> skip preemption, reason: {reason}, message {message}"),
    (
        "preempt.topology",
        3,
        "Job <{job}> Queue <{queue}> skip preemption, reason: jobs containing networkTopology do not support preemption",
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

_RECLAIM = _rows(
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
        "Reclaimed <{amount}> for task <{task}> requested <{request}>, and Node <{node}> "
        "availableResources <{available}>.",
    ),
    ("reclaim.leave", 5, "Leaving Reclaim ..."),
)

_GANG_ACTIONS = (
    *_rows("gangpreempt.go", ("gangpreempt.enter", 5, "Enter GangPreempt ...")),
    *_rows("gangpreempt.go", ("gangpreempt.leave", 5, "Leaving GangPreempt ...")),
    *_rows("gangreclaim.go", ("gangreclaim.enter", 5, "Enter GangReclaim ...")),
    *_rows("gangreclaim.go", ("gangreclaim.leave", 5, "Leaving GangReclaim ...")),
    *_rows("gangreclaim.go", ("gangreclaim.refused", 3, "Queue <{queue}> cannot reclaim for job <{job}>, skip")),
    *_rows("shuffle.go", ("shuffle.enter", 5, "Enter Shuffle ...")),
    *_rows("shuffle.go", ("shuffle.leave", 5, "Leaving Shuffle ...")),
    *_rows("shuffle.go", ("shuffle.victim", 3, "pod {name} from namespace {namespace} and job {job} will be evicted.")),
)

_PASSES = (
    *_rows(
        "predicate_helper.go",
        ("pass.node", 4, "Considering Task <{task}> on node <{node}>: <{request}> vs. <{idle}>", UNORDERED),
        ("pass.failed", 3, "Predicates failed: {error}", UNORDERED),
    ),
    *_rows(
        "scheduler_helper.go",
        ("score.total", 5, "Prioritize nodeScoreMap for task<{task}> is: {scores}"),
        (
            "score.plugin",
            5,
            '"Add plugin score at hypeNode" subJob="{sub_job}" pluginName="{plugin}" hyperNodeName="{hyper_node}" '
            "score={score}",
        ),
        ("score.domains", 5, '"Prioritize hyperNode score map for subJob" subJob="{sub_job}" scoreMap={scores}'),
    ),
    *_rows(
        "nodeorder.go",
        (
            "score.part",
            4,
            "Node: {node}, task<{task}> plugin {part} weight {weight}, raw score: {raw}, weighted score: {score}",
            UNORDERED,
        ),
        ("score.nodeorder", 4, "Nodeorder Total Score for task<{task}> on node {node} is: {score}", UNORDERED),
        ("score.nodeorder-batch", 4, "Batch Total Score for task {task} is: {scores}"),
        firm=False,
    ),
    *_rows(
        "predicates.go", ("score.predicates-batch", 4, "Batch Total Score for task {task} is: {scores}"), firm=False
    ),
    *_rows("score_helper.go", ("score.scorer", 4, "{scorer} Score for task {task} is: {scores}"), firm=False),
    *_rows(
        "binpack.go",
        ("score.binpack", 4, "Binpack score for Task {task} on node {node} is: {score}", UNORDERED),
        firm=False,
    ),
)

_PLUGINS = (
    *_rows(
        "drf.go",
        ("drf.total", 4, "Total Allocatable {total}"),
        ("drf.victims", 4, "[drf] Victims from DRF preemptable plugin are {tasks}"),
        (
            "drf.allocate",
            4,
            "[drf] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>, namespace share <{namespace}>",
        ),
        (
            "drf.deallocate",
            4,
            "[drf] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>, namespace share <{namespace}>",
        ),
        firm=False,
    ),
    *_rows(
        "proportion.go",
        ("proportion.total", 4, "The total resource is <{total}>"),
        (
            "proportion.overused",
            3,
            "Queue <{queue}> is overused: deserved <{deserved}>, allocated <{allocated}>, share <{share}>",
        ),
        (
            "proportion.refused",
            3,
            "Queue <{queue}>: deserved <{deserved}>, allocated <{allocated}>; Candidates total request <{request}>",
        ),
        ("proportion.allocate", 4, "[proportion] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        ("proportion.deallocate", 4, "[proportion] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        firm=False,
    ),
    *_rows(
        "capacity.go",
        ("capacity.total", 4, "The total resource is <{total}>"),
        ("capacity.allocate", 4, "[capacity] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        ("capacity.deallocate", 4, "[capacity] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        firm=False,
    ),
    *_rows(
        "gang.go",
        (
            "gang.kept",
            4,
            "Can not preempt task <{task}> because job {job} ready num({ready}) <= MinAvailable({minimum}) "
            "for gang-scheduling",
        ),
        ("gang.victims", 4, "Victims from Gang plugins, victims={tasks} preemptor={preemptor}"),
        firm=False,
    ),
    *_rows(
        "priority.go",
        (
            "priority.job",
            4,
            "[priority] Can not preempt task <{task}> because preemptee job has greater or equal job priority "
            "({theirs}) than preemptor ({ours})",
        ),
        (
            "priority.task",
            4,
            "[priority] Can not preempt task <{task}> because preemptee task has greater or equal task priority "
            "({theirs}) than preemptor ({ours})",
        ),
        ("priority.victims", 4, "[priority] Victims from Priority plugin are {tasks}"),
        ("priority.unified", 4, "Victims from Priority UnifiedEvictableFn are {tasks}"),
        firm=False,
    ),
    *_rows(
        "predicates.go",
        ("view.allocate", 4, "predicates, allocate {node}"),
        ("view.added", 4, "predicates, update pod {task} allocate to node [{node}]"),
        ("view.deallocate", 4, "predicates, deallocate {node}"),
        ("view.removed", 4, "predicates, update pod {task} deallocate from node [{node}]"),
        (
            "view.missing",
            0,
            "predicates, remove pod {task} from node [{node}] error: no corresponding pod {name} in pods of node {node}",
        ),
        ("view.refused", 0, "Reserve plugin VolumeBinding failed for pod {task}: {error}"),
        firm=False,
    ),
    *_rows(
        "job_info.go",
        ("job.valid", 5, "job {name}/{namespace} actual: {roles}, ji.TaskMinAvailable: {minima}"),
        firm=False,
    ),
)

MESSAGES: tuple[Message, ...] = (
    *_SESSION,
    *_STATEMENT,
    *_CACHE,
    *_ENQUEUE,
    *_ALLOCATE,
    *_RECORDER,
    *_BACKFILL,
    *_PREEMPT,
    *_RECLAIM,
    *_GANG_ACTIONS,
    *_PASSES,
    *_PLUGINS,
)

BY_KEY: Mapping[str, Message] = {message.key: message for message in MESSAGES}


@cache
def _by_file() -> Mapping[str, tuple[tuple[re.Pattern[str], Message], ...]]:
    found: dict[str, list[tuple[re.Pattern[str], Message]]] = {}
    for message in MESSAGES:
        literal = [re.escape(part) for part in _FIELD.split(message.template)]
        found.setdefault(message.file, []).append((re.compile("(.*)".join(literal), re.DOTALL), message))
    return {file: tuple(rows) for file, rows in found.items()}


def recognise(file: str, text: str) -> Message | None:
    """The message that a line of a log is, by its file and text."""
    for pattern, message in _by_file().get(file, ()):
        if pattern.fullmatch(text):
            return message
    return None
