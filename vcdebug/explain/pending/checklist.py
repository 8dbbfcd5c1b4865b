"""The steps of the cycle for a job as a checklist, and the findings about allocate."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from vcdebug.actions import ALLOCATE, BACKFILL
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.answer import Advice, Cause, Evidence, ExplanationStep, Finding, StepState, proof_of
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates import ALLOCATING, queue_limits, resolve_gates
from vcdebug.explain.pending.gates.admission import admission
from vcdebug.explain.pending.gates.validity import gated_job, validity
from vcdebug.explain.pending.no_node import no_best_node_finding, no_node_finding
from vcdebug.explain.plugins.gang import discarded_finding, search_reasons
from vcdebug.framework.hooks import ALLOCATABLE, JOB_ENQUEUEABLE, JOB_STARVING, JOB_VALID, PREEMPTIVE
from vcdebug.framework.record import HookEvent, PredicateEvent, StateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.fit_errors import SHORTAGE_PREFIX, FitErrors
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.pod_group import WAITING_PHASES
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.input_problems import overfull_dimensions
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import JobVisit, NumberedCall, TaskTry, is_rejection, refusals_in
from vcdebug.releases.scheduling import BACKFILL_ENDS_AT_FAILURE, SUBGROUP_WITHOUT_HARD

COUNTED_ONCE: Final = "each node is counted once, under its first missing resource"
"""Why the scheduler's message may count fewer nodes for a reason than our table."""


def steps_outside_session(recording: Recording, finding: Finding) -> tuple[ExplanationStep, ...]:
    """The only step of a job or pod that is not in the session, with the finding's reason."""
    return (ExplanationStep("job in session", "failed", finding.reason, _opening_seqs(recording)),)


def _opening_seqs(recording: Recording) -> tuple[Seq, ...]:
    return tuple(recording.index.seqs_of_type(StateEvent)[:1])


def checklist_steps(view: JobView) -> tuple[ExplanationStep, ...]:
    """The steps of the cycle for the job, in the scheduler's order."""
    text = f"queue {view.queue.name}, {count_noun(len(view.tasks), 'pod')}, minMember {view.job.min_available}"
    in_session = ExplanationStep("job in session", "passed", text, _opening_seqs(view.recording))
    steps = [in_session, _enqueued_step(view), _valid_step(view)]
    actions = list(dict.fromkeys(view.actions))
    evicting = [action for action in actions if view.facts_of(action).evicts_by_pod]
    if any(step.state == "failed" for step in steps):
        return (*steps, *(ExplanationStep(name, "not reached") for name in (ALLOCATE, *evicting)))
    steps += _placing_steps(view)
    for action in evicting:
        steps += _evicting_steps(view, action)
    for action in actions:
        if view.facts_of(action).evicts_by_gang:
            steps += _gang_steps(view, action)
    return tuple(steps)


def _enqueued_step(view: JobView) -> ExplanationStep:
    name, finding, answers = "admitted (enqueue)", admission(view), view.calls_about(JOB_ENQUEUEABLE.upstream)
    phase = view.recording.timeline.opening_phases[view.job.uid]
    if finding is not None:
        return _failed_gate_step(name, finding)
    if answers:
        plugins = ", ".join(event.plugin for _, event in answers)
        return ExplanationStep(name, "passed", f"permitted by {plugins}", tuple(seq for seq, _ in answers))
    if phase in WAITING_PHASES:
        return ExplanationStep("admission", "passed", f"no plugin was consulted (phase {phase or 'empty'})")
    return ExplanationStep(name, "passed", f"already {phase} before this cycle")


def _failed_gate_step(name: str, finding: Finding) -> ExplanationStep:
    return ExplanationStep(name, "failed", finding.cause, tuple(proof.seq for proof in finding.evidence))


def _valid_step(view: JobView) -> ExplanationStep:
    name, finding = "job is valid", validity(view) or gated_job(view)
    if finding is not None:
        return _failed_gate_step(name, finding)
    seqs = tuple(seq for seq, _ in view.calls_about(JOB_VALID.upstream)[-1:])
    return ExplanationStep(name, "passed", count_noun(view.job.valid_task_num(), "pod"), seqs)


def _placing_steps(view: JobView) -> Iterator[ExplanationStep]:
    yield _queue_step(view)
    name, tries = "allocate, nodes", view.placing_tries
    searched = [attempt for attempt in tries if attempt.predicate_passes]
    failed = [attempt for attempt in searched if attempt.last_placement is None]
    if searched:
        yield _search_step(view, (failed or searched)[0], name, "failed" if failed else "passed")
    else:
        yield ExplanationStep(name, "not reached", "not checked (blocked before)" if tries else "no pod was tried")
    for visit in [visit for visit in view.visits_of(ALLOCATE) if visit.end is not None][-1:] if tries else ():
        yield _statement_step(visit)


def _queue_step(view: JobView) -> ExplanationStep:
    name, tries = "queue quota", view.placing_tries
    if not tries and view.overused_calls:
        return ExplanationStep(name, "failed", "queue is overused", (view.overused_calls[0][0],))
    if refusals := queue_limits.allocatable_refusals(view):
        text = f"{refusals[0][1].plugin} rejects {count_noun(len(refusals), 'pod')}"
        return ExplanationStep(name, "failed", text, tuple(seq for seq, _ in refusals[:3]))
    if answers := [seq for attempt in tries for seq, _ in attempt.task_calls(ALLOCATABLE.upstream)]:
        return ExplanationStep(name, "passed", "within limits", (answers[0],))
    return ExplanationStep(name, "passed" if tries else "not reached", "no plugin checked it")


def _fit_error_text(recording: Recording, attempt: TaskTry) -> str:
    """The scheduler's fit error of the task's last pass of predicates without a feasible node."""
    _, failed_search = attempt.empty_passes[-1]
    errors = FitErrors(recording.reason_table)
    errors.set_nodes(failed_search.failed, failed_search.codes)
    return errors.error_text()


def _search_step(view: JobView, attempt: TaskTry, name: str, state: StepState) -> ExplanationStep:
    seq, event = attempt.predicate_passes[-1]
    fit_words = f"{attempt.task_name}: fits {len(event.feasible)} of {count_noun(event.processed, 'node')}"
    histogram = search_reasons(view, attempt)
    reasons = "; ".join(f"{len(names)} {reason}" for reason, names in histogram)
    # Upstream counts a node under its first shortage only, so its message and our table have different numbers.
    if len(histogram) > 1 and any(reason.startswith(SHORTAGE_PREFIX) for reason, _ in histogram):
        reasons = f'scheduler message: "{_fit_error_text(view.recording, attempt)}" ({COUNTED_ONCE})'
    return ExplanationStep(name, state, f"{fit_words}: {reasons}" if reasons else fit_words, (seq,))


def _statement_step(visit: JobVisit) -> ExplanationStep:
    assert visit.end is not None
    seq, statement = visit.end
    state: StepState = "passed" if visit.was_committed and statement.ops else "failed"
    text = f"{len(visit.planned_tasks)} of {count_noun(len(visit.tries), 'pod')} placed, {_ending_words(visit)}"
    return ExplanationStep(f"{visit.action}, result", state, text, (seq,))


def _ending_words(visit: JobVisit) -> str:
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
    """Yields the steps of gangpreempt or gangreclaim, which place all pods at once or none."""
    yield _starving_step(view, action)
    ends = [(visit, visit.end[0]) for visit in view.visits_of(action) if visit.end is not None]
    for visit, seq in ends[-1:]:
        result = f"{count_noun(len(visit.planned_tasks), 'pod')} placed, {_ending_words(visit)}"
        yield ExplanationStep(f"{action}, result", "passed" if visit.was_committed else "failed", result, (seq,))
    if not ends:
        yield ExplanationStep(f"{action}, result", "not reached")


def _starving_step(view: JobView, action: str) -> ExplanationStep:
    name = f"starving ({action})"
    if view.action_starts(action) is None:
        return ExplanationStep(name, "not reached", f"{action} did not run")
    if not view.pending_at_open:
        return ExplanationStep(name, "not reached", "no Pending pods")
    answers = view.calls_during(action, JOB_STARVING.upstream)
    refusals = refusals_in(answers)
    if not answers:
        return ExplanationStep(name, "failed", "no plugin reported it")
    if refusals and not view.visits_of(action):
        return ExplanationStep(name, "failed", f"not starving ({refusals[0][1].plugin})", (refusals[0][0],))
    return ExplanationStep(name, "passed", ", ".join(dict.fromkeys(e.plugin for _, e in answers)), (answers[0][0],))


def _entitled_step(view: JobView, visit: JobVisit) -> ExplanationStep | None:
    name, facts = f"allowed to {visit.action}", view.facts_of(visit.action)
    for attempt in visit.tries:
        if view.tasks[attempt.task].pod.preemption_policy == "Never":
            return ExplanationStep(name, "failed", "no (preemptionPolicy Never)", (attempt.first - 1,))
    points = (ALLOCATABLE.upstream,) if facts.evicts_by_pod and facts.across_queues else ()
    answers = visit.visit_calls(PREEMPTIVE.upstream)
    for seq, event in (*refusals_in(visit.visit_calls(*points)), *refusals_in(answers)):
        return ExplanationStep(name, "failed", f"no ({event.plugin}, {event.point})", (seq,))
    return ExplanationStep(name, "passed", PREEMPTIVE.upstream, (answers[0][0],)) if answers else None


def _victim_steps(visit: JobVisit) -> Iterator[ExplanationStep]:
    name, nodes = f"{visit.action}, candidate victims", visit.nodes
    calls = [(node.node, seq, event) for node in nodes for seq, event in node.victim_votes]
    votes = [call for call in calls if call[2].candidates]
    if not nodes:
        yield ExplanationStep(name, "not reached", "no node passed the predicates")
    elif not votes:
        nodes_text = _count_nodes(node.node for node in nodes)
        yield ExplanationStep(name, "failed", f"none on {nodes_text}", tuple(seq for _, seq, _ in calls[:1]))
    else:
        yield ExplanationStep(name, "passed", f"found on {_count_nodes(node for node, _, _ in votes)}", (votes[0][1],))
        yield _vote_step(visit, votes)
        for last in [call for node in nodes for call in node.later_calls][-1:]:
            yield _after_step(visit, last)


def _count_nodes(names: Iterable[NodeName]) -> str:
    return count_noun(len({*names}), "node")


def _vote_step(visit: JobVisit, votes: Sequence[tuple[NodeName, Seq, HookEvent]]) -> ExplanationStep:
    vetoes = group_by_key((event.plugin, (seq, node)) for node, seq, event in votes if not event.result and event.vote)
    name = f"{visit.action}, allowed victims"
    if not vetoes:
        return ExplanationStep(name, "passed", "every plugin allowed some", (votes[0][1],))
    counted = ((plugin, _count_nodes(node for _, node in entries)) for plugin, entries in vetoes.items())
    text = "; ".join(f"{plugin} protected all candidates on {nodes}" for plugin, nodes in counted)
    seqs = tuple(sorted(seq for entries in vetoes.values() for seq, _ in entries[:2]))
    all_placed = len(visit.planned_tasks) == len(visit.tries)
    return ExplanationStep(name, "passed" if all_placed else "failed", text, seqs)


def _after_step(visit: JobVisit, last: NumberedCall) -> ExplanationStep:
    name, (seq, event), planned = "quota and predicates after eviction", last, visit.planned_tasks
    if not planned and is_rejection(event):
        text = f"rejected by {event.plugin} ({event.point}) on the last node tried"
        return ExplanationStep(name, "failed", text, (seq,))
    unplanned = "passed on the last node tried, but no place was reserved there"
    text = f"pass for {count_noun(len(planned), 'pod')}" if planned else unplanned
    return ExplanationStep(name, "passed", text, (seq,))


def failed_search_seq(view: JobView, task: TaskInfo) -> Seq:
    """The event of the task's failed search; else of the end of allocate, after discarded plans are rolled back."""
    failed = [seq for attempt in view.failed_tries(task.key) for seq, _ in attempt.empty_passes]
    # If the statement was discarded, the room that pods of the same gang took in the search is free again at the end.
    if failed and discarded_finding(view, ALLOCATE) is None:
        return failed[-1]
    return view.action_ends(ALLOCATE) or len(view.recording)


def findings_of_gates(view: JobView, references: tuple[str, ...]) -> Iterator[Finding]:
    """The findings of the gates of a list; a passed gate gives none."""
    return (finding for gate in resolve_gates(references) if (finding := gate(view)) is not None)


def allocate_findings(view: JobView, task: TaskInfo, fits: NodeFits) -> list[Finding]:
    """The findings about allocate, the deciding gate first."""
    findings = list(findings_of_gates(view, ALLOCATING))
    refused = queue_limits.allocatable_refusals(view)
    refusals = [(seq, event) for seq, event in refused if event.task == task.key] or refused
    if refusals:
        refused_task = view.tasks.get(refusals[0][1].task, task)
        refused_fits = fits.for_task(refused_task)
        # Of a limit that is the whole cluster the nodes say more: without it the task would fit none either.
        if refused_fits.free_nodes or not queue_limits.is_limited_by_cluster(view, refused_task, *refusals[0]):
            findings.append(queue_limits.not_allocatable_finding(view, refused_task, refused_fits, *refusals[0]))
    if not fits.free_nodes:
        node_finding = no_node_finding(task, fits)
        # A discarded statement of a gang is a better explanation than the search that caused it.
        # So is the HyperNode to which its pods bind the job, since nodes outside are of no use to it.
        bound = findings and findings[0].cause == Cause.NO_HYPER_NODE and view.failed_tries(task.key)
        if findings and (bound or findings[0].cause == Cause.GANG_DISCARD):
            return [*findings, node_finding]
        return [node_finding, *findings]
    if findings:
        return findings
    if ALLOCATE not in view.actions and not task.best_effort:
        # Imported here: missing_action replays cycles and itself imports the gates.
        from vcdebug.explain.pending.gates.overrides import no_allocate_finding

        return [no_allocate_finding(view, task, fits)]
    return [no_best_node_finding(view, task) or not_tried_finding(view)]


def not_tried_finding(view: JobView) -> Finding:
    """The finding if no action tried the job although it fits a node, or if no pod of it is Pending."""
    task, evidence = view.blocked_task, _last_action_evidence(view, "the last action ends")
    advice = (Advice.for_owner("Check the actions, and the next cycle."),)
    if held := [one for one in view.tasks.values() if task is None and one.status is TaskStatus.ALLOCATED]:
        nodes = {one.node_name: overfull_dimensions(view.session.nodes[one.node_name].idle) for one in held}
        lacking = join_names(dict.fromkeys(name for names in nodes.values() for name in names))
        why = f" (short there: {lacking})" if lacking else ""
        reason = f"the scheduler's cache refuses to bind {count_noun(len(held), 'pod')} to {join_names(nodes)}{why}"
        return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice)
    if task is None:
        reason, state = "every pod has a node or has ended", "has no Pending pods"
        return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice, state=state)
    if task.best_effort and BACKFILL not in view.actions:
        return _no_backfill_finding(view, task)
    findings = (find(view, task) for find in (_passed_over_finding, _failed_role_finding, _skipped_subgroup_finding))
    if finding := next(filter(None, findings), None):
        return finding
    reason = f"no action ({', '.join(view.actions)}) tried to place {task.name}, although it fits a node"
    return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice)


def _failed_role_finding(view: JobView, task: TaskInfo) -> Finding | None:
    """The finding for older releases, in which the first pod that fits no node ends backfill; else None."""
    start, end = view.action_starts(BACKFILL), view.action_ends(BACKFILL)
    release = view.recording.snapshot.release
    if start is None or end is None or not (task.best_effort and release.has_older_form(BACKFILL_ENDS_AT_FAILURE)):
        return None
    searches = [(seq, event) for seq, event in view.recording.events_of_type(PredicateEvent) if start < seq < end]
    failed = [(seq, event.task) for seq, event in searches if not len(event.feasible)]
    if not failed:
        return None
    seq, failed_pod = failed[-1]
    owner = view_of(view.recording, ExplainSubject(view.recording.owners.jobs[failed_pod]))
    misfit = no_node_finding(owner.tasks[failed_pod], NodeFits(owner, owner.tasks[failed_pod], seq))
    reason = f"backfill ended at {failed_pod}, and {task.name} is behind it"
    fixed, path = join_names(BACKFILL_ENDS_AT_FAILURE.fixed_in), "spec.containers[0].resources.requests[cpu]=10m"
    first = f"In {release.display_name()} the first pod that fits no node ends backfill for all other pods"
    facts = (f"{first} (fixed in {fixed}): {misfit.reason}.", *misfit.facts[:1])
    evidence = (Evidence(seq, f"no node fits {failed_pod}"),)
    delete = Advice.queue_admin(f"Delete {failed_pod}, or change what no node fits.", f"Pod/{failed_pod}:-")
    words = f"Set a cpu request of 10m in {task.name}: {ALLOCATE} tries it then."
    ask = Advice.for_owner(words, f"Pod/{task.key}:{path}")
    advice = (ask, delete) if ALLOCATE in view.actions else (delete,)
    return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice, facts=facts)


def _skipped_subgroup_finding(view: JobView, task: TaskInfo) -> Finding | None:
    """The finding for releases in which allocate places no pod of a subgroup without a hard topology; else None."""
    change, release, group = SUBGROUP_WITHOUT_HARD, view.recording.snapshot.release, view.job.pod_group
    if not group.sub_group_policies or view.job.contains_hard_topology() or not release.has_older_form(change):
        return None
    reason = f"allocate of {release.display_name()} places no pod of a subgroup (subGroupPolicy) without hard topology"
    facts = (f"{task.name} would fit a node; fixed in {join_names(change.fixed_in)} ({change.pull}).",)
    advice = (Advice.for_owner("Remove subGroupPolicy (of a Volcano Job: partitionPolicy), or upgrade Volcano."),)
    return view.pending(
        Cause.NOT_TRIED, reason, {}, _last_action_evidence(view, "allocate tried none"), advice, facts=facts
    )


def _last_action_evidence(view: JobView, text: str) -> tuple[Evidence, ...]:
    return proof_of(view.action_ends(view.actions[-1]) if view.actions else None, text)


def _passed_over_finding(view: JobView, task: TaskInfo) -> Finding | None:
    """The finding if allocate passed the task over because another pod of the job had found no node; else None."""
    own_tries = [attempt for attempt in view.placing_tries if attempt.task == task.key]
    failed = [attempt for attempt in view.failed_tries() if attempt.predicate_passes and attempt.task != task.key]
    if failed and not own_tries and failed[-1].action == ALLOCATE:
        return _behind_failure_finding(view, task, failed[-1])
    # Upstream's error cache is kept per role: after one failure it skips the other pods of the role.
    same_role = [attempt for attempt in failed if view.tasks[attempt.task].task_role == task.task_role]
    if not same_role or not own_tries or not all(attempt.was_dropped for attempt in own_tries):
        return None
    name = view.tasks[same_role[0].task].name
    role = f"role {task.task_role}" if task.task_role else "its job"
    reason = f"allocate skipped {task.name}, although it fits a node"
    facts = (f"After {name} of {role} found no node, allocate skips the other pods of {role}.",)
    evidence = (
        Evidence(same_role[0].predicate_passes[0][0], f"no node for {name}"),
        Evidence(own_tries[0].first, f"{task.name} is skipped without a check of any node"),
    )
    advice = (
        Advice.from_outside(f"Find out what {name} lacks: vcdebug explain SNAPSHOT {name}."),
        Advice.for_owner("Give the pods different roles (task names)."),
    )
    return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice, facts=facts)


def _behind_failure_finding(view: JobView, task: TaskInfo, failed: TaskTry) -> Finding:
    """The finding for a pod behind the one at which allocate ended the job's turn."""
    name = view.tasks[failed.task].name
    reason = f"allocate ended the job's turn at {name}, which fits no node, and did not reach {task.name}"
    evidence = (Evidence(failed.predicate_passes[0][0], f"no node for {name}"),)
    advice = (Advice.from_outside(f"Find out what {name} lacks: vcdebug explain SNAPSHOT {name}."),)
    return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice)


def _no_backfill_finding(view: JobView, task: TaskInfo) -> Finding:
    """The finding for a pod without requests if no configured action places such pods."""
    reason = f"{task.name} requests no resources, and {BACKFILL} is not in {view.actions_text}"
    evidence = _last_action_evidence(view, "the last action ends, and no action tried it")
    advice = (
        Advice.for_owner(f"Set a cpu or memory request in {task.name}."),
        Advice.cluster_admin(f"Add {BACKFILL} to actions."),
    )
    facts = (f"Only {BACKFILL} places pods without requests (best effort).",)
    return view.pending(Cause.NOT_TRIED, reason, {}, evidence, advice, facts=facts)
