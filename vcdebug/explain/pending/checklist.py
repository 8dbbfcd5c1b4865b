"""The job's way through the cycle as a checklist, and why allocate found no place for a task."""

from collections.abc import Iterator, Sequence
from typing import Final

from vcdebug.actions import ALLOCATE, BACKFILL
from vcdebug.amount_text import count_noun
from vcdebug.explain import answer
from vcdebug.explain.answer import ExplanationStep
from vcdebug.explain.job_view import WAITING_PHASES, JobView
from vcdebug.explain.node_fit import SHORTAGE_PREFIX, NodeFits
from vcdebug.explain.pending.gates import ALLOCATING, resolve_gates
from vcdebug.explain.pending.gates.admission import admission
from vcdebug.explain.pending.gates.queue_limits import allocatable_refusals, not_allocatable_finding
from vcdebug.explain.pending.gates.validity import gated, validity
from vcdebug.explain.pending.no_node import no_best_node_finding, no_node_finding
from vcdebug.explain.plugins.gang import DISCARD_CAUSE, discarded_finding, search_reasons
from vcdebug.framework.hooks import ALLOCATABLE, JOB_ENQUEUEABLE, JOB_STARVING, JOB_VALID, OVERUSED, PREEMPTIVE
from vcdebug.framework.record import HookEvent, PredicateEvent, StateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import POST_VICTIM_POINTS, JobVisit, NodeTry, NumberedCall, TaskTry, says_no
from vcdebug.releases.scheduling import BACKFILL_ENDS_AT_FAILURE

COUNTED_ONCE: Final = "each node is counted once, under its first missing resource"
"""The possible difference of an answer that covers everything a node lacks."""


def steps_outside_session(recording: Recording, finding: answer.Finding) -> tuple[ExplanationStep, ...]:
    """For what is not in the session at all."""
    return (ExplanationStep("job in session", "failed", finding.reason, _opening_seqs(recording)),)


def _opening_seqs(recording: Recording) -> tuple[Seq, ...]:
    return tuple(recording.index.seqs_of_type(StateEvent)[:1])


def checklist_steps(view: JobView) -> tuple[ExplanationStep, ...]:
    """Every station in the scheduler's order."""
    found = [_in_session_step(view), _enqueued_step(view), _valid_step(view)]
    actions = list(dict.fromkeys(view.actions))
    evicting = [action for action in actions if view.facts_of(action).evicts_by_pod]
    if any(step.state == "failed" for step in found):
        return (*found, *(ExplanationStep(name, "not reached") for name in (ALLOCATE, *evicting)))
    found += _placing_steps(view)
    for action in evicting:
        found += _evicting_steps(view, action)
    for action in actions:
        if view.facts_of(action).evicts_by_gang:
            found += _gang_steps(view, action)
    return tuple(found)


def _in_session_step(view: JobView) -> ExplanationStep:
    text = f"queue {view.queue.name}, {count_noun(len(view.tasks), 'pod')}, minMember {view.job.min_available}"
    return ExplanationStep("job in session", "passed", text, _opening_seqs(view.recording))


def _enqueued_step(view: JobView) -> ExplanationStep:
    name, finding, answers = "admitted (enqueue)", admission(view), view.calls_about(JOB_ENQUEUEABLE.upstream)
    if finding is not None:
        return _failed_gate_step(name, finding)
    if answers:
        plugins = ", ".join(event.plugin for _, event in answers)
        return ExplanationStep(name, "passed", f"permitted by {plugins}", tuple(seq for seq, _ in answers))
    phase = view.recording.timeline.opening_phases[view.job.uid]
    if phase in WAITING_PHASES:
        return ExplanationStep("admission", "passed", f"no plugin was consulted (phase {phase or 'empty'})")
    return ExplanationStep(name, "passed", f"already {phase} before this cycle")


def _failed_gate_step(name: str, finding: answer.Finding) -> ExplanationStep:
    return ExplanationStep(name, "failed", finding.cause, tuple(proof.seq for proof in finding.evidence))


def _valid_step(view: JobView) -> ExplanationStep:
    name, finding = "job is valid", validity(view) or gated(view)
    if finding is not None:
        return _failed_gate_step(name, finding)
    seqs = tuple(seq for seq, _ in view.calls_about(JOB_VALID.upstream)[-1:])
    return ExplanationStep(name, "passed", count_noun(view.job.valid_task_num(), "pod"), seqs)


def _placing_steps(view: JobView) -> Iterator[ExplanationStep]:
    yield _queue_step(view)
    name, tries = "allocate, nodes", view.placing_tries
    if not tries:
        yield ExplanationStep(name, "not reached", "no pod was tried")
        return
    searched = [attempt for attempt in tries if attempt.predicate_passes]
    failed = [attempt for attempt in searched if attempt.last_placement is None]
    if searched:
        yield _search_step(view, (failed or searched)[0], name, "failed" if failed else "passed")
    else:
        yield ExplanationStep(name, "not reached", "not checked (blocked before)")
    for visit in [visit for visit in view.visits_of(ALLOCATE) if visit.end is not None][-1:]:
        yield _statement_step(visit)


def _queue_step(view: JobView) -> ExplanationStep:
    name, tries = "queue quota", view.placing_tries
    overused = [seq for seq, e in view.calls_about(OVERUSED.upstream, "queue", view.queue.name) if e.result]
    if not tries and overused:
        return ExplanationStep(name, "failed", "queue is overused", (overused[0],))
    if refused := allocatable_refusals(view):
        text = f"{refused[0][1].plugin} rejects {count_noun(len(refused), 'pod')}"
        return ExplanationStep(name, "failed", text, tuple(seq for seq, _ in refused[:3]))
    if answers := [seq for attempt in tries for seq, _ in attempt.task_calls(ALLOCATABLE.upstream)]:
        return ExplanationStep(name, "passed", "within limits", (answers[0],))
    return ExplanationStep(name, "passed" if tries else "not reached", "no plugin checked it")


def _fit_error_text(recording: Recording, attempt: TaskTry) -> str:
    """The message about the task's last pass of predicates that left nothing."""
    _, refused = attempt.empty_passes[-1]
    errors = FitErrors(recording.reason_table)
    errors.set_nodes(refused.failed, refused.codes)
    return errors.error_text()


def _search_step(view: JobView, attempt: TaskTry, name: str, state: answer.StepState) -> ExplanationStep:
    seq, event = attempt.predicate_passes[-1]
    fit = f"{attempt.task_name}: fits {len(event.feasible)} of {count_noun(event.processed, 'node')}"
    found = search_reasons(view, attempt)
    reasons = "; ".join(f"{len(names)} {reason}" for reason, names in found)
    # Upstream counts a node under its first shortage only, so its message and our table have different numbers.
    if len(found) > 1 and any(reason.startswith(SHORTAGE_PREFIX) for reason, _ in found):
        reasons = f'scheduler message: "{_fit_error_text(view.recording, attempt)}" ({COUNTED_ONCE})'
    return ExplanationStep(name, state, f"{fit}: {reasons}" if reasons else fit, (seq,))


def _statement_step(visit: JobVisit) -> ExplanationStep:
    assert visit.end is not None
    seq, statement = visit.end
    state: answer.StepState = "passed" if visit.was_committed and statement.ops else "failed"
    text = f"{len(visit.planned_tasks)} of {count_noun(len(visit.tries), 'pod')} placed, {_fate_words(visit)}"
    return ExplanationStep(f"{visit.action}, result", state, text, (seq,))


def _fate_words(visit: JobVisit) -> str:
    return "committed" if visit.was_committed else "rolled back"


def _evicting_steps(view: JobView, action: str) -> Iterator[ExplanationStep]:
    starving = _starving_step(view, action)
    yield starving
    # A visit without an end belongs to a cycle that was cut off or panicked.
    visits = [visit for visit in view.visits_of(action) if visit.tries and visit.end is not None]
    if starving.state != "passed" or not visits:
        yield ExplanationStep(f"{action}, allowed victims", "not reached")
        return
    visit = visits[-1]
    if (entitled := _entitled_step(view, visit)) is not None:
        yield entitled
    yield from _victim_steps(visit)
    yield _statement_step(visit)


def _gang_steps(view: JobView, action: str) -> Iterator[ExplanationStep]:
    """gangpreempt and gangreclaim place all pods at once, or none."""
    yield _starving_step(view, action)
    ends = [(visit, visit.end[0]) for visit in view.visits_of(action) if visit.end is not None]
    if not ends:
        yield ExplanationStep(f"{action}, result", "not reached")
        return
    visit, seq = ends[-1]
    done = f"{count_noun(len(visit.planned_tasks), 'pod')} placed, {_fate_words(visit)}"
    yield ExplanationStep(f"{action}, result", "passed" if visit.was_committed else "failed", done, (seq,))


def _starving_step(view: JobView, action: str) -> ExplanationStep:
    name = f"starving ({action})"
    if view.action_starts(action) is None:
        return ExplanationStep(name, "not reached", f"{action} did not run")
    answers = view.calls_during(action, JOB_STARVING.upstream)
    refused = [(seq, event) for seq, event in answers if not event.result]
    if not answers:
        return ExplanationStep(name, "failed", "no plugin reported it")
    if refused and not view.visits_of(action):
        return ExplanationStep(name, "failed", f"not starving ({refused[0][1].plugin})", (refused[0][0],))
    return ExplanationStep(name, "passed", ", ".join(dict.fromkeys(e.plugin for _, e in answers)), (answers[0][0],))


def _entitled_step(view: JobView, visit: JobVisit) -> ExplanationStep | None:
    name = f"allowed to {visit.action}"
    never = [attempt.first - 1 for attempt in visit.tries if view.tasks[attempt.task].pod.preemption_policy == "Never"]
    if never:
        return ExplanationStep(name, "failed", "no (preemptionPolicy Never)", (never[0],))
    does = view.facts_of(visit.action)
    points = (ALLOCATABLE.upstream,) if does.evicts_by_pod and does.across_queues else ()
    if refused := (*visit.refusals(*points), *visit.refusals(PREEMPTIVE.upstream)):
        seq, event = refused[0]
        return ExplanationStep(name, "failed", f"no ({event.plugin}, {event.point})", (seq,))
    answers = visit.visit_calls(PREEMPTIVE.upstream)
    return ExplanationStep(name, "passed", PREEMPTIVE.upstream, (answers[0][0],)) if answers else None


def _victim_steps(visit: JobVisit) -> Iterator[ExplanationStep]:
    nodes = [node for attempt in visit.tries for node in attempt.nodes]
    votes = [hook for node in nodes for hook in node.victim_votes]
    offered = [seq for seq, event in votes if event.candidates]
    name = f"{visit.action}, candidate victims"
    if not nodes:
        yield ExplanationStep(name, "not reached", "no node passed the predicates")
        return
    if not offered:
        where = count_noun(len(dict.fromkeys(node.node for node in nodes)), "node")
        yield ExplanationStep(name, "failed", f"none on {where}", tuple(seq for seq, _ in votes[:1]))
        return
    having = [node for node in nodes if any(event.candidates for _, event in node.victim_votes)]
    found = count_noun(len(dict.fromkeys(node.node for node in having)), "node")
    yield ExplanationStep(name, "passed", f"found on {found}", (offered[0],))
    yield _vote_step(visit, having)
    after = [hook for node in nodes for hook in node.node_calls(*POST_VICTIM_POINTS)]
    if after:
        yield _after_step(visit, after[-1])


def _vote_step(visit: JobVisit, nodes: Sequence[NodeTry]) -> ExplanationStep:
    votes = [(node.node, seq, event) for node in nodes for seq, event in node.victim_votes if event.candidates]
    empty = group_by_key((event.plugin, (seq, node)) for node, seq, event in votes if not event.result and event.vote)
    name = f"{visit.action}, allowed victims"
    if not empty:
        return ExplanationStep(name, "passed", "every plugin allowed some", (votes[0][1],))
    text = "; ".join(
        f"{plugin} protected all candidates on {count_noun(len({node for _, node in entries}), 'node')}"
        for plugin, entries in empty.items()
    )
    seqs = tuple(sorted(seq for entries in empty.values() for seq, _ in entries[:2]))
    all_placed = len(visit.planned_tasks) == len(visit.tries)
    return ExplanationStep(name, "passed" if all_placed else "failed", text, seqs)


def _after_step(visit: JobVisit, last: NumberedCall) -> ExplanationStep:
    name, (seq, event) = "quota and predicates after eviction", last
    if not visit.planned_tasks and says_no(event):
        text = f"rejected by {event.plugin} ({event.point}) on the last node tried"
        return ExplanationStep(name, "failed", text, (seq,))
    text = "passed on the last node tried, but no place was reserved there"
    if visit.planned_tasks:
        text = f"pass for {count_noun(len(visit.planned_tasks), 'pod')}"
    return ExplanationStep(name, "passed", text, (seq,))


NOT_TRIED_CAUSE = "not-tried"


def failed_search_seq(view: JobView, task: TaskInfo) -> Seq:
    """The search that left the task without a node; else the end of allocate, when its discarded plans are undone."""
    failed = [seq for attempt in view.failed_tries(task.key) for seq, _ in attempt.empty_passes]
    # After a discard the search saw room taken by pods of the same gang, which is free again at the end.
    if failed and discarded_finding(view, ALLOCATE) is None:
        return failed[-1]
    return view.action_ends(ALLOCATE) or len(view.recording)


def findings_of_gates(view: JobView, references: tuple[str, ...]) -> Iterator[answer.Finding]:
    """What the gates of a list have to say."""
    return (finding for gate in resolve_gates(references) if (finding := gate(view)) is not None)


def allocate_findings(view: JobView, task: TaskInfo, room: NodeFits) -> list[answer.Finding]:
    """The findings about allocate, the deciding gate first."""
    found = list(findings_of_gates(view, ALLOCATING))
    refused = [
        (seq, event) for seq, event in allocatable_refusals(view) if event.task == task.key
    ] or allocatable_refusals(view)
    if refused:
        found.append(_refused_finding(view, task, room, *refused[0]))
    if not room.free_nodes:
        lacking = no_node_finding(task, room)
        # A discarded gang explains more than the node search that made it fail.
        if found and found[0].cause == DISCARD_CAUSE:
            return [*found, lacking]
        return [lacking, *found]
    if found:
        return found
    if ALLOCATE not in view.actions and not task.best_effort:
        # Imported here: missing_action replays cycles and itself imports the gates.
        from vcdebug.explain.pending.gates.overrides import no_allocate_finding

        return [no_allocate_finding(view, task, room)]
    return [no_best_node_finding(view, task) or not_tried_finding(view)]


def _refused_finding(view: JobView, task: TaskInfo, room: NodeFits, seq: Seq, event: HookEvent) -> answer.Finding:
    """Allocatable's refusal, for the task that it was about."""
    about = view.tasks.get(event.task, task)
    return not_allocatable_finding(view, about, room.for_task(about), seq, event)


def not_tried_finding(view: JobView) -> answer.Finding:
    """No action tried the job although a node would take it, or none of its pods is Pending."""
    actions = ", ".join(view.actions)
    task = view.blocked_task
    if task is None:
        headline = answer.CauseHeadline(view.job.uid, "has no Pending pods", "every pod has a node or has ended")
    elif task.best_effort and BACKFILL not in view.actions:
        return _no_backfill_finding(view, task)
    elif found := _passed_over_finding(view, task) or _behind_failure_finding(view, task):
        return found
    else:
        headline = answer.pending_headline(
            view.job.uid, f"no action ({actions}) tried to place {task.name}, although it fits a node"
        )
    evidence = _last_action_evidence(view, "the last action ends")
    return answer.Finding(
        NOT_TRIED_CAUSE, headline, {}, evidence, (answer.owner_advice("Check the actions, and the next cycle."),)
    )


def _behind_failure_finding(view: JobView, task: TaskInfo) -> answer.Finding | None:
    """The first best-effort task without a node has ended backfill."""
    start, end = view.action_starts(BACKFILL), view.action_ends(BACKFILL)
    release = view.recording.snapshot.release
    if start is None or end is None or not (task.best_effort and release.has_older_form(BACKFILL_ENDS_AT_FAILURE)):
        return None
    failed = [
        (seq, event.task)
        for seq, event in view.recording.events_of_type(PredicateEvent)
        if start < seq < end and not len(event.feasible)
    ]
    if not failed:
        return None
    seq, other = failed[-1]
    headline = answer.pending_headline(view.job.uid, f"backfill ended at {other}, and {task.name} is behind it")
    facts = (f"In {release.display_name()} the first pod that fits no node ends backfill for all other pods.",)
    evidence = (answer.Evidence(seq, f"no node fits {other}"),)
    advice = (answer.owner_advice(f"Find out why no node fits {other}: vcdebug explain."),)
    return answer.Finding(NOT_TRIED_CAUSE, headline, {}, evidence, advice, facts=facts)


def _last_action_evidence(view: JobView, text: str) -> tuple[answer.Evidence, ...]:
    return answer.proof_of(view.action_ends(view.actions[-1]) if view.actions else None, text)


def _passed_over_finding(view: JobView, task: TaskInfo) -> answer.Finding | None:
    """allocate took it from the queue and did not look at a node, since a pod like it had found none."""
    own = [attempt for attempt in view.placing_tries if attempt.task == task.key]
    failed = [attempt for attempt in view.failed_tries() if attempt.predicate_passes and attempt.task != task.key]
    # Upstream's error cache is kept per role: after one failure it skips the other pods of the role.
    alike = [attempt for attempt in failed if view.tasks[attempt.task].task_role == task.task_role]
    if not alike or not own or any(attempt.events for attempt in own):
        return None
    name = view.tasks[alike[0].task].name
    role = f"role {task.task_role}" if task.task_role else "its job"
    headline = answer.pending_headline(view.job.uid, f"allocate skipped {task.name}, although it fits a node")
    facts = (f"After {name} of {role} found no node, allocate skips the other pods of {role}.",)
    evidence = (
        answer.Evidence(alike[0].predicate_passes[0][0], f"no node for {name}"),
        answer.Evidence(own[0].first, f"{task.name} is skipped without a check of any node"),
    )
    advice = (
        answer.outside_advice(f"Find out what {name} lacks: vcdebug explain SNAPSHOT {name}."),
        answer.owner_advice("Give the pods different roles (task names)."),
    )
    return answer.Finding(NOT_TRIED_CAUSE, headline, {}, evidence, advice, facts=facts)


def _no_backfill_finding(view: JobView, task: TaskInfo) -> answer.Finding:
    """The pod requests nothing, and no configured action places such pods."""
    reason = f"{task.name} requests no resources, and {BACKFILL} is not in actions ({', '.join(view.actions)})"
    evidence = _last_action_evidence(view, "the last action ends, and no action tried it")
    advice = (
        answer.owner_advice(f"Set a cpu or memory request in {task.name}."),
        answer.cluster_admin_advice(f"Add {BACKFILL} to actions."),
    )
    facts = (f"Only {BACKFILL} places pods without requests (best effort).",)
    return answer.Finding(
        NOT_TRIED_CAUSE, answer.pending_headline(view.job.uid, reason), {}, evidence, advice, facts=facts
    )
