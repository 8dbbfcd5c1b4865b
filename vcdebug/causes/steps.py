"""The job's way through the cycle as a checklist: what it passed, where it failed, what it never reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import plural
from vcdebug.causes.gates.admission import admission
from vcdebug.causes.gates.gang import search_reasons
from vcdebug.causes.gates.validity import gated, validity
from vcdebug.explain.answer import Finding, Step, StepState
from vcdebug.explain.job_view import WAITING_PHASES, JobView
from vcdebug.explain.node_fit import SHORTAGE
from vcdebug.framework.hooks import ALLOCATABLE, JOB_ENQUEUEABLE, JOB_STARVING, JOB_VALID, OVERUSED, PREEMPTIVE
from vcdebug.framework.record import HookEvent, StateEvent
from vcdebug.grouping import by_key
from vcdebug.model.fiterror import FitErrors
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.trace.visits import AFTER, TaskTry, Visit, says_no

Numbered = tuple[Seq, HookEvent]

COUNTED_ONCE: Final = "each counted under the first amount that it lacks, before any other rule"
"""What an answer that looks at all that a node lacks may differ by."""


def steps_outside_session(recording: Recording, finding: Finding) -> tuple[Step, ...]:
    """For what is not in the session at all."""
    seqs = tuple(recording.index.of_type(StateEvent)[:1])
    return (Step("in the session", "failed", finding.sentence, seqs),)


def steps(view: JobView) -> tuple[Step, ...]:
    """Every station in the scheduler's order."""
    found = [_in_session(view), _enqueued(view), _valid(view)]
    if any(step.state == "failed" for step in found):
        return (*found, *(Step(name, "not reached", "") for name in (ALLOCATE, *_evicting(view))))
    found += _placing(view)
    for action in _evicting(view):
        found += _evicting_steps(view, action)
    for action in dict.fromkeys(view.actions):
        if view.facts_of(action).evicts_by_gang:
            found += _gang_steps(view, action)
    return tuple(found)


def _evicting(view: JobView) -> list[str]:
    return [action for action in dict.fromkeys(view.actions) if view.facts_of(action).evicts_by_pod]


def _in_session(view: JobView) -> Step:
    seqs = tuple(view.recording.index.of_type(StateEvent)[:1])
    text = f"queue {view.queue.name}, {plural(len(view.tasks), 'pod')}, minMember {view.job.min_available}"
    return Step("in the session", "passed", text, seqs)


def _enqueued(view: JobView) -> Step:
    finding = admission(view)
    answers = view.hooks(JOB_ENQUEUEABLE.upstream)
    if finding is not None:
        return Step("enqueued", "failed", finding.cause, tuple(e.seq for e in finding.evidence))
    if answers:
        plugins = ", ".join(event.plugin for _, event in answers)
        return Step("enqueued", "passed", f"{plugins} let it in", tuple(seq for seq, _ in answers))
    phase = view.recording.timeline.opening_phases[view.job.uid]
    text = f"nobody objects (phase {phase or 'empty'})" if phase in WAITING_PHASES else f"was {phase} before this cycle"
    return Step("enqueued", "passed", text)


def _valid(view: JobView) -> Step:
    finding = validity(view) or gated(view)
    if finding is not None:
        return Step("valid", "failed", finding.cause, tuple(e.seq for e in finding.evidence))
    answers = view.hooks(JOB_VALID.upstream)[-1:]
    return Step("valid", "passed", plural(view.job.valid_task_num(), "usable pod"), tuple(seq for seq, _ in answers))


def _placing(view: JobView) -> Iterator[Step]:
    yield _queue_step(view)
    tries = view.placing_tries
    if not tries:
        yield Step("nodes found by allocate", "not reached", "no pod was tried")
        return
    searched = [attempt for attempt in tries if attempt.searches]
    failed = [attempt for attempt in searched if attempt.place is None]
    if searched:
        yield _search_step(view, (failed or searched)[0], passed=not failed)
    else:
        yield Step("nodes found by allocate", "not reached", "predicates were not asked")
    ends = [visit for visit in view.visits_of(ALLOCATE) if visit.end is not None]
    if ends:
        yield _statement_step(ends[-1])


def _queue_step(view: JobView) -> Step:
    overused = [(s, e) for s, e in view.hooks(OVERUSED.upstream, "queue", view.queue.name) if e.result]
    answers = [hook for attempt in view.placing_tries for hook in attempt.hooks(ALLOCATABLE.upstream)]
    refused = [(seq, event) for seq, event in answers if not event.result]
    if not view.placing_tries and overused:
        return Step("queue may allocate", "failed", "the queue is overused", (overused[0][0],))
    if refused:
        text = f"{refused[0][1].plugin} refuses {plural(len(refused), 'pod')}"
        return Step("queue may allocate", "failed", text, tuple(seq for seq, _ in refused[:3]))
    if answers:
        return Step("queue may allocate", "passed", ALLOCATABLE.upstream, tuple(seq for seq, _ in answers[:1]))
    return Step("queue may allocate", "passed" if view.placing_tries else "not reached", "nobody was asked")


def _written(recording: Recording, attempt: TaskTry) -> str:
    """The message about the task's last pass of predicates that left nothing."""
    refused = next(event for _, event in reversed(attempt.searches) if not len(event.feasible))
    errors = FitErrors(recording.reasons)
    errors.set_nodes(refused.failed, refused.codes)
    return errors.text()


def _search_step(view: JobView, attempt: TaskTry, *, passed: bool) -> Step:
    seq, event = attempt.searches[-1]
    fit = f"{attempt.name}: {len(event.feasible)} of {plural(event.processed, 'node')} fit"
    found = search_reasons(view, attempt)
    reasons = "; ".join(f"{len(names)} {reason}" for reason, names in found)
    if len(found) > 1 and any(reason.startswith(SHORTAGE) for reason, _ in found):
        reasons = f'the scheduler writes "{_written(view.recording, attempt)}", {COUNTED_ONCE}'
    text = f"{fit}: {reasons}" if reasons else fit
    return Step("nodes found by allocate", "passed" if passed else "failed", text, (seq,))


def _statement_step(visit: Visit) -> Step:
    assert visit.end is not None
    seq, statement = visit.end
    state: StepState = "passed" if visit.committed and statement.ops else "failed"
    done = "committed" if visit.committed else "discarded"
    text = f"{len(visit.planned)} of {plural(len(visit.tries), 'pod')} had a place; statement {done}"
    return Step(f"statement of {visit.action}", state, text, (seq,))


def _evicting_steps(view: JobView, action: str) -> Iterator[Step]:
    starving = _starving(view, action)
    yield starving
    visits = [visit for visit in view.visits_of(action) if visit.tries and visit.end is not None]
    if starving.state != "passed" or not visits:
        yield Step(f"victims of {action}", "not reached", "")
        return
    visit = visits[-1]
    entitled = _entitled(view, visit)
    if entitled is not None:
        yield entitled
    yield from _victim_steps(visit)
    yield _statement_step(visit)


def _gang_steps(view: JobView, action: str) -> Iterator[Step]:
    """gangpreempt and gangreclaim place all pods at once, or none."""
    yield _starving(view, action)
    ends = [(visit, visit.end) for visit in view.visits_of(action) if visit.end is not None]
    if not ends:
        yield Step(f"statement of {action}", "not reached", "")
        return
    visit, (seq, _) = ends[-1]
    done = (
        f"{plural(len(visit.planned), 'pod')} had a place; statement {'committed' if visit.committed else 'discarded'}"
    )
    yield Step(f"statement of {action}", "passed" if visit.committed else "failed", done, (seq,))


def _starving(view: JobView, action: str) -> Step:
    name = f"starving ({action})"
    if view.action_starts(action) is None:
        return Step(name, "not reached", "the action never ran")
    answers = view.during(action, JOB_STARVING.upstream)
    refused = [(seq, event) for seq, event in answers if not event.result]
    if not answers:
        return Step(name, "failed", "no plugin says so")
    if refused and not view.visits_of(action):
        return Step(name, "failed", f"{refused[0][1].plugin} says no", (refused[0][0],))
    return Step(name, "passed", ", ".join(dict.fromkeys(e.plugin for _, e in answers)), (answers[0][0],))


def _entitled(view: JobView, visit: Visit) -> Step | None:
    name = f"may {visit.action}"
    never = [attempt for attempt in visit.tries if view.tasks[attempt.task].pod.preemption_policy == "Never"]
    if never:
        return Step(name, "failed", "preemptionPolicy Never", tuple(attempt.first - 1 for attempt in never[:1]))
    answers = visit.hooks(PREEMPTIVE.upstream)
    refused = [(seq, event) for seq, event in answers if not event.result]
    if refused:
        return Step(name, "failed", f"{refused[0][1].plugin} says no (Preemptive)", (refused[0][0],))
    return Step(name, "passed", PREEMPTIVE.upstream, (answers[0][0],)) if answers else None


def _victim_steps(visit: Visit) -> Iterator[Step]:
    nodes = [node for attempt in visit.tries for node in attempt.nodes]
    votes = [hook for node in nodes for hook in node.votes]
    offered = [hook for hook in votes if hook[1].candidates]
    name = f"candidates of {visit.action}"
    if not nodes:
        yield Step(name, "not reached", "no node passed the predicates")
        return
    if not offered:
        yield Step(
            name,
            "failed",
            f"none on {plural(len(dict.fromkeys(node.node for node in nodes)), 'node')}",
            tuple(seq for seq, _ in votes[:1]),
        )
        return
    yield Step(name, "passed", f"on {plural(len(offered), 'call')} of plugins", (offered[0][0],))
    yield _vote_step(visit, offered)
    after = [hook for node in nodes for hook in node.hooks(*AFTER)]
    if after:
        yield _after_step(visit, after)


def _vote_step(visit: Visit, offered: Sequence[Numbered]) -> Step:
    empty = by_key((event.plugin, seq) for seq, event in offered if not event.result and event.vote != 0)
    name = f"victims of {visit.action}"
    placed = len(visit.planned) == len(visit.tries)
    if not empty:
        return Step(name, "passed", "every plugin asked offers somebody", (offered[0][0],))
    text = "; ".join(f"{plugin} offers nobody {plural(len(seqs), 'time')}" for plugin, seqs in empty.items())
    seqs = tuple(sorted(seq for entries in empty.values() for seq in entries[:2]))
    return Step(name, "passed" if placed else "failed", text, seqs)


def _after_step(visit: Visit, after: Sequence[Numbered]) -> Step:
    name = "queue and predicates after eviction"
    if visit.planned:
        return Step(name, "passed", f"for {plural(len(visit.planned), 'pod')}", (after[-1][0],))
    seq, event = after[-1]
    if says_no(event):
        return Step(name, "failed", f"{event.plugin} ({event.point}) says no on the last node tried", (seq,))
    return Step(name, "passed", "nobody objects on the last node tried, and yet no place there is kept", (seq,))
