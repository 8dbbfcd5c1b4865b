"""How a hook call is shown in the trace: its subject as names, its answer as plain data.

Upstream: none; the fields are those of the trace schema.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.framework.combine import Answer, Args, ShowFunction
from vcdebug.framework.plugin_answers import PluginError, ValidateResult
from vcdebug.framework.subject import (
    CANDIDATES,
    HYPER_NODE,
    JOB,
    NODE,
    OTHER,
    PURPOSE,
    QUEUE,
    SUB_JOB,
    TASK,
    VOTE,
    CallResult,
    CandidateTasks,
    TracedCall,
    task_keys,
)
from vcdebug.model.fit_errors import FitStatus

_VOTES = {vote: (VOTE, vote) for vote in (-1, 0, 1)}


def show_job(args: Args, answer: Answer) -> TracedCall:
    """A question about a job."""
    return args[0].subject, answer


def show_job_valid(args: Args, answer: ValidateResult | None) -> TracedCall:
    """JobValid: null, or the failed check."""
    result = answer and {"pass": answer.passed, "reason": answer.reason, "message": answer.message}
    return args[0].subject, result


def show_sub_job(args: Args, answer: Answer) -> TracedCall:
    """A question about a sub job."""
    return ((SUB_JOB, args[1].uid),), answer


def show_queue(args: Args, answer: Answer) -> TracedCall:
    """A question about a queue."""
    return args[0].subject, answer


def show_queue_task(args: Args, answer: Answer) -> TracedCall:
    """May the queue take the task?"""
    return args[0].subject + args[1].pod.subject, answer


def show_state_queue_task(args: Args, answer: Answer) -> TracedCall:
    """As queue_task, on a simulated state."""
    return ((QUEUE, args[1].name), (TASK, args[2].key)), answer


def show_queue_candidates(args: Args, answer: Answer) -> TracedCall:
    """May the queue reclaim for these tasks?"""
    return ((QUEUE, args[0].name), (CANDIDATES, task_keys(args[1]))), answer


def show_task(args: Args, answer: Answer) -> TracedCall:
    """A question about a task."""
    return args[0].pod.subject, getattr(answer, "name", answer)


def show_victims(args: Args, answer: Answer) -> TracedCall:
    """Who may go for this task?"""
    (asking, candidates), (offered, vote) = args, answer
    field = candidates.trace_field if type(candidates) is CandidateTasks else (CANDIDATES, task_keys(candidates))
    victims = task_keys(offered)
    subject = (asking.pod.subject[0], field, _VOTES.get(vote) or (VOTE, vote))
    return subject, field[1] if victims == field[1] else victims


def show_unified_victims(args: Args, answer: Answer) -> TracedCall:
    """Who may go, asked by a gang action."""
    offered, vote = answer
    return ((CANDIDATES, task_keys(args[1])), (VOTE, vote)), task_keys(offered)


def show_victim_tasks(_args: Args, answer: Answer) -> TracedCall:
    """Who should go anyway?"""
    return (), task_keys(answer)


def status_documents(values: Sequence[FitStatus]) -> list[dict[str, object]]:
    """Statuses as the trace writes them."""
    return [{"code": s.code, "reason": s.reason, "plugin": s.plugin} for s in values]


def show_pre_predicate(args: Args, answer: PluginError | None) -> TracedCall:
    """PrePredicate: null, statuses or an error text."""
    result: CallResult = None
    if answer is not None:
        result = status_documents(answer.statuses) if answer.statuses else {"error": answer.text}
    return args[0].pod.subject, result


def show_hyper_node_order(args: Args, answer: Answer) -> TracedCall:
    """Scores of hypernodes for a sub job."""
    return ((SUB_JOB, args[0].uid),), answer


def show_gradient_job(args: Args, answer: Answer) -> TracedCall:
    """Where to try a job: rows of hypernodes, best row first."""
    return ((JOB, args[0].uid), (HYPER_NODE, args[1]), (PURPOSE, str(args[2]))), answer


def show_gradient_sub_job(args: Args, answer: Answer) -> TracedCall:
    """Where to try a sub job: rows of hypernodes, best row first."""
    return ((SUB_JOB, args[0].uid), (HYPER_NODE, args[1]), (PURPOSE, str(args[2]))), answer


def without_purpose(show: ShowFunction) -> ShowFunction:
    """As recorded where nobody says yet what it is asked for."""

    def show_without_purpose(args: Args, answer: Answer) -> TracedCall:
        subject, result = show(args, answer)
        return tuple(part for part in subject if part[0] != PURPOSE), result

    return show_without_purpose


def show_state_task_node(args: Args, answer: Answer) -> TracedCall:
    """Would the task pass on the simulated node?"""
    return ((TASK, args[1].key), (NODE, args[2].name)), _error_document(answer)


def show_state_other_task(args: Args, answer: Answer) -> TracedCall:
    """Another task enters or leaves the simulated node."""
    return ((TASK, args[1].key), (OTHER, args[2].key), (NODE, args[3].name)), _error_document(answer)


def _error_document(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"error": text}
