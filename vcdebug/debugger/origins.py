"""Where a value or a decision comes from: the event that wrote it, what that event read, and the snapshot's fields.

Facts form a graph: a figure after an event, an event, a field of a manifest. Each fact follows from other facts by a
rule, down to the fields, which follow from nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, repeat
from typing import Final

from vcdebug.amount_text import count_noun, format_number, join_names
from vcdebug.debugger import figures
from vcdebug.debugger.facts import (
    MAX_SOURCES,
    EventFact,
    Fact,
    FieldFact,
    FigureFact,
    Origin,
    Source,
    compared_field,
    figure_parts,
    find_manifest,
    first_sources,
    named_figures,
    operand_figure,
    read_field,
    stated_operands,
)
from vcdebug.debugger.figures import FUTURE_IDLE, JOB, NODE, QUEUE, TASK, Figure, FigureError
from vcdebug.debugger.opening_figures import opening_origin
from vcdebug.explain.decisions.dry_runs import dry_run_search_at
from vcdebug.explain.decisions.equations import equation_at, find_guarding_call, scores_before
from vcdebug.explain.decisions.node_choice import find_search, rank_nodes
from vcdebug.explain.decisions.queue_figures import queue_share
from vcdebug.explain.decisions.votes import victim_question_before
from vcdebug.explain.equation import Equation
from vcdebug.explain.job_view import view_of
from vcdebug.explain.orders import next_rival, pop_kind
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.subject_names import NotFoundError, find_subject
from vcdebug.framework import hooks, record
from vcdebug.framework.session_close import counted_for_phase
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskStatus
from vcdebug.recording.effects import cycle_effects, is_refused_placement, refused_words, rollback_statement
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import last_operation, state_before
from vcdebug.snapshot.manifest import HIERARCHY_WEIGHTS_KEY

MAX_SCORES: Final = 3


def find_fact(recording: Recording, seq: Seq, words: str) -> Fact:
    """The fact that words name: `event N`, a figure, a job or a pod, or one `at N`; raises FigureError."""
    text, _, after = words.rpartition(" at ")
    if text and after.isdigit():
        words, seq = text, min(int(after), len(recording))
    parts = words.split()
    number = parts[-1] if parts[:-1] in ([], ["event"]) else ""
    if number.isdigit():
        if 0 < int(number) <= len(recording):
            return EventFact(int(number))
        raise FigureError(f"event {number} does not exist", f"events are 1 to {len(recording)}")
    if len(parts) == 1:
        return FigureFact(_figure_of_subject(recording, parts[0]), seq)
    return FigureFact(figures.parse_figure(recording, tuple(parts)), seq)


def _figure_of_subject(recording: Recording, word: str) -> Figure:
    """The status of a pod; of a job that of the pod that blocks it or that the cycle moved, else its phase."""
    try:
        subject = find_subject(recording, word)
    except NotFoundError as error:
        usage = "an event's number, a job, a pod, or a figure such as node n1 idle cpu"
        raise FigureError(f"no job or pod {word!r}", usage) from error
    job = recording.session.jobs.get(subject.job)
    if job is None or (subject.pod and subject.pod not in [task.key for task in job.tasks.values()]):
        raise FigureError(f"{word} is not in the session", f"vcdebug explain says why {word} is left out")
    blocked = view_of(recording, subject).blocked_task
    effects = cycle_effects(recording)
    moved = (
        effect.task for effect in chain(effects.pipelined, effects.bound, effects.evicted) if effect.job == job.uid
    )
    pod = subject.pod or (blocked.key if blocked is not None else next(moved, ""))
    return Figure(TASK, pod, "status") if pod else Figure(JOB, subject.job, "phase")


def fact_words(fact: FigureFact | EventFact) -> str:
    """The words for a fact, which find_fact accepts."""
    return f"event {fact.seq}" if isinstance(fact, EventFact) else f"{fact.figure} at {fact.seq}"


def origin_of(recording: Recording, fact: Fact) -> Origin:
    """The rule behind a fact, and the facts from which it follows; empty for a field."""
    if isinstance(fact, FieldFact):
        return Origin()
    if isinstance(fact, EventFact):
        event = recording.event_at(fact.seq)
        find_origin = EVENT_ORIGINS.get(type(event))
        return Origin() if find_origin is None else find_origin(event, recording, fact.seq)
    return _figure_origin(recording, *fact)


# Figures: derived from others, written by an event, or as the session opened.


def _figure_origin(recording: Recording, figure: Figure, seq: Seq) -> Origin:
    if figure.part == FUTURE_IDLE:
        return Origin("idle + releasing − pipelined", figure_parts(figure, ("idle", "releasing", "pipelined"), seq))
    if figure.kind == QUEUE and figure.part == "share":
        share = queue_share(recording, seq, figure.name)
        dim = share.deciding_name or ""
        rule = f"{share.formula}{f'; {dim} decides' if dim else ''}"
        return Origin(rule, figure_parts(figure._replace(dim=dim), ("allocated", "deserved"), seq))
    change = figures.figure_history(recording, figure).last_change(seq)
    if seq == len(recording) and _is_explained(recording, figure, change):
        answer = explain_by_name(recording, figure.name)
        proof = (Source(fact.text, EventFact(fact.seq)) for fact in answer.dominant.evidence if fact.seq)
        return Origin(answer.sentence, tuple(proof))
    return opening_origin(recording, figure) if change is None else _written_origin(recording, figure, change)


def _is_explained(recording: Recording, figure: Figure, change: figures.FigureChange | None) -> bool:
    """Whether `explain` says why the cycle leaves the figure as it is: a job's phase, a Pending pod's status."""
    if (figure.kind, figure.part) == (JOB, "phase"):
        return change is None
    is_status = (figure.kind, figure.part) == (TASK, "status")
    return is_status and recording.timeline.state_at(len(recording)).tasks[figure.name].status is TaskStatus.PENDING


def _written_origin(recording: Recording, figure: Figure, change: figures.FigureChange) -> Origin:
    event, writer = recording.event_at(change.seq), figures.writer_of(recording, figure, change.seq)
    rule = " → ".join(figures.format_figure(figure, value) for value in (change.old, change.new))
    votes = tuple(_admission_votes(recording, change.seq + 1)) if figure.part == "phase" else ()
    # A session's close writes every job's phase: the other jobs explain nothing about this one.
    if isinstance(event, record.CloseEvent):
        sources = []
    elif votes:
        rule = f"{rule}: enqueue admits it, since no plugin rejects it"
        sources = [Source("vote", EventFact(vote)) for vote in votes]
    else:
        sources = [Source("written by", EventFact(writer))]
    if figure.kind != TASK:
        sources.append(Source("before", FigureFact(figure, change.seq - 1)))
    if isinstance(event, record.OpEvent) and figure.dim:
        sources.append(Source("request", FigureFact(Figure(TASK, event.task, "request", figure.dim), change.seq)))
    if isinstance(event, record.CloseEvent):
        job = recording.session.jobs[figure.name]
        scheduled = count_noun(counted_for_phase(job, recording.snapshot.release), "scheduled pod")
        rule = f"{rule}: it has {scheduled}, and minMember is {job.pod_group.min_member}"
        sources += [*figure_parts(figure, ("ready", "minimum"), change.seq)]
    return Origin(rule, tuple(sources))


# Events: what they read.


def _call_origin(event: record.HookEvent, recording: Recording, seq: Seq) -> Origin:
    equation = equation_at(recording, seq)
    sources = [] if equation is None else list(_operand_sources(recording, seq, equation))
    rule = "" if equation is None else "; ".join(filter(None, (equation.formula, equation.note)))
    if event.offers and not event.candidates:
        rule = f"no candidates; {rule}"
    if event.point == hooks.JOB_ENQUEUED.upstream:
        sources += [Source("vote", EventFact(vote)) for vote in _admission_votes(recording, seq)]
    if equation is None and event.node:
        room = figure_parts(Figure(NODE, event.node, ""), (FUTURE_IDLE,), seq - 1)
        return Origin(rule or f"what {event.plugin} checks on the node, and its room", room)
    return Origin(rule, tuple(sources) or tuple(_candidate_sources(recording, seq, event, equation)))


def _candidate_sources(
    recording: Recording, seq: Seq, event: record.HookEvent, equation: Equation | None
) -> Iterator[Source]:
    """Sources per candidate: the field by which the plugin judges it, or its status if there is no such field."""
    job = event.job or recording.owners.sub_jobs.get(event.sub_job, "")
    victims = event.result if event.point == hooks.VICTIM_TASKS.upstream else ()
    kinds = ((TASK, event.candidates), (TASK, victims), (TASK, (event.task,)), (JOB, (job,)))
    element, names = next(((kind, keys) for kind, keys in kinds if any(keys)), (JOB, ()))
    for name in names[:MAX_SOURCES]:
        titles = () if equation is None else (*equation.columns, *(term.name for term in equation.terms[:1]))
        fields = [field for title in titles if (field := compared_field(recording, element, name, title)) is not None]
        facts: Iterable[Fact] = fields[:1]
        if not fields and name in figures.object_names(recording, element):
            facts = (FigureFact(Figure(element, name, "status" if element == TASK else "phase"), seq),)
        yield from (Source("candidate" if event.candidates else element, fact) for fact in facts)


def _admission_votes(recording: Recording, seq: Seq) -> Iterator[Seq]:
    for earlier in range(seq - 1, 0, -1):
        event = recording.event_at(earlier)
        if not isinstance(event, record.HookEvent):
            return
        if event.point == hooks.JOB_ENQUEUEABLE.upstream:
            yield earlier


def _operation_origin(event: record.OpEvent, recording: Recording, seq: Seq) -> Origin:
    if event.op in record.PLACING_OPS:
        decision = find_search(recording, seq)
        freed = (("makes room", eviction) for eviction in _evictions_for(recording, seq, event))
        steps = (("search", decision.predicate_seq), ("scores", decision.scores), ("choice", decision.choice), *freed)
        return Origin(f"{decision.action} places it", _event_sources(steps))
    if event.op == record.EVICT_OP:
        question = victim_question_before(recording, seq)
        if question is None:
            rule = f"evicted: {event.reason or 'a plan is applied'}"
            return Origin(rule, _event_sources(_dry_run_of(recording, seq, event)))
        votes = [Source(f"tier {vote.tier}", EventFact(vote.seq)) for vote in question.votes if vote.seq is not None]
        whom = f" for {question.task}" if question.task else ""
        simulated = _dry_run_of(recording, seq, event) if dry_run_search_at(recording, seq) is not None else ()
        rule = f"a victim{whom}: tier {question.deciding_tier} decides"
        return Origin(rule, (*votes, *_event_sources(simulated)))
    return _undo_origin(recording, seq, event)


def _undo_origin(recording: Recording, seq: Seq, event: record.OpEvent) -> Origin:
    """What is undone, and the statement that undoes it, the search whose placement was refused, or the pod's place."""
    place = FigureFact(Figure(TASK, event.task, "status"), seq - 1)
    is_placed = state_before(recording, seq).tasks[event.task].status is not TaskStatus.PENDING
    undone = last_operation(recording, event.task, seq) if is_placed else 0
    statement = rollback_statement(recording, seq, event)
    if statement:
        return Origin("an operation of this statement", _event_sources((("statement", statement), ("undoes", undone))))
    decision, rule = find_search(recording, seq), refused_words(recording, seq, event)
    if not is_refused_placement(recording, seq, event):
        rule = f"{decision.action} releases the reservation, outside any statement, before it looks for a node"
    steps = (("search", decision.predicate_seq), ("choice", decision.choice), ("undoes", undone))
    return Origin(rule, _event_sources(steps) or (Source("place", place),))


def _event_sources(steps: Iterable[tuple[str, Seq]]) -> tuple[Source, ...]:
    """(part in the rule, event) pairs as sources; event 0 stands for none and is left out."""
    return tuple(Source(role, EventFact(seq)) for role, seq in steps if seq)


def _dry_run_of(recording: Recording, seq: Seq, event: record.OpEvent) -> Iterator[tuple[str, Seq]]:
    """(role, event) of the dry run or the committed statement that names the evicted task; at most one."""
    for earlier in range(seq - 1, 0, -1):
        before = recording.event_at(earlier)
        if isinstance(before, record.HookEvent) and (before.other, before.node) == (event.task, event.node):
            yield "dry run", earlier
            return
        if isinstance(before, record.HookEvent) and before.point == hooks.VICTIM_TASKS.upstream:
            yield "victims", earlier
            return
        if isinstance(before, record.StatementEvent) and event.task in (task for _, task, _ in before.ops):
            yield "statement", earlier
            return


def _evictions_for(recording: Recording, seq: Seq, event: record.OpEvent) -> Iterator[Seq]:
    """The evictions on the node since the search for the task began."""
    span = recording.span_tree.span_around(seq, record.Level.TASK)
    for earlier in range(span.first if span is not None else seq, seq):
        before = recording.event_at(earlier)
        if isinstance(before, record.OpEvent) and (before.op, before.node) == (record.EVICT_OP, event.node):
            yield earlier


def _statement_origin(event: record.StatementEvent, recording: Recording, seq: Seq) -> Origin:
    guard = find_guarding_call(recording, seq)
    equation = equation_at(recording, seq)
    if equation is None or (guard is None and not any(_operand_sources(recording, seq, equation))):
        operations = (last_operation(recording, task, seq, op) for op, task, _ in event.ops[:MAX_SOURCES])
        rule = STATEMENT_RULES[event.what] if event.ops else "no operation was made"
        return Origin(equation.title if equation else rule, _event_sources(zip(repeat("operation"), operations)))
    operands = tuple(_operand_sources(recording, seq, equation))
    return Origin(equation.title, operands if guard is None else (Source("decided by", EventFact(guard)),))


STATEMENT_RULES: Final[Mapping[str, str]] = {
    "commit": "the operations are applied to the cluster",
    "discard": "the operations are undone, the last one first",
    "merge": "the operations of a trial are added to the job's statement",
    "save": "the operations are saved, and applied if this trial is chosen",
    "recover": "the saved operations are applied",
}


def _best_origin(event: record.BestEvent, recording: Recording, seq: Seq) -> Origin:
    equation, scores = equation_at(recording, seq), scores_before(recording, seq)
    sources = _event_sources((("scores", seq - 1 if event.kind != "node" else 0 if scores is None else scores[0]),))
    return Origin("" if equation is None else f"{equation.title}: {equation.note}", sources)


def _score_origin(event: record.ScoreEvent, recording: Recording, seq: Seq) -> Origin:
    ranked = rank_nodes(recording, seq)
    best = join_names((f"{node_rank.node} {format_number(node_rank.total)}" for node_rank in ranked), MAX_SCORES)
    scored = f"each plugin scores the nodes that the search found: {best}"
    searches = recording.events_before(record.PredicateEvent, seq)
    search = next((at for at, before in searches if before.task == event.task), 0)
    return Origin(scored if ranked else "the search found no node to score", _event_sources((("search", search),)))


def _predicate_origin(event: record.PredicateEvent, recording: Recording, seq: Seq) -> Origin:
    equation = equation_at(recording, seq)
    dim = "" if equation is None or equation.deciding_name is None else equation.deciding_name
    request = Source("request", FigureFact(Figure(TASK, event.task, "request", dim), seq))
    nodes = [recording.node_names[row] for row in event.failed.tolist()]
    rooms = (Source("refuses", FigureFact(Figure(NODE, name, FUTURE_IDLE, dim), seq - 1)) for name in nodes if dim)
    nominated = read_field("Pod", find_manifest(recording, "Pod", event.task) or {}, "status", "nominatedNodeName")
    # A nominated node is searched alone, before all nodes.
    alone = [Source("nominated", nominated)] if nominated is not None and event.considered == 1 else []
    return Origin("" if equation is None else equation.note, (request, *alone, *rooms)[:MAX_SOURCES])


def _pop_origin(event: record.PopEvent, recording: Recording, seq: Seq) -> Origin:
    equation, rival = equation_at(recording, seq), next_rival(recording, seq)
    if equation is None or rival is None or equation.deciding_name is None:
        kind = JOB if event.kind == "subjob" else event.kind
        name, part = recording.owners.sub_jobs.get(event.name, event.name), STATE_PARTS.get(kind, "")
        is_known = part and name in figures.object_names(recording, kind)
        state = figure_parts(Figure(kind, name, ""), (part,), seq) if is_known else ()
        return Origin("the only one left in the queue" if rival is None else "", state)
    element, criterion = pop_kind(recording, seq) or TASK, equation.deciding_name
    sources: list[Source] = []
    for name in (event.name, rival.name):
        compared = named_figures(recording, event.kind, name, criterion.rpartition(" ")[2], "")
        facts: list[Fact] = [FigureFact(figure, seq - 1) for figure in compared]
        field = compared_field(recording, element, name, criterion)
        sources += [Source(name, fact) for fact in facts or ([field] if field is not None else [])]
    if not sources and event.kind == QUEUE:
        # Two levels of the queue tree are compared, such as `capacity share of org1 and org0`.
        measure, _, names = criterion.partition(" of ")
        levels = (named_figures(recording, QUEUE, one, measure.split()[-1], "") for one in names.split(" and "))
        sources = [Source(figure.name, FigureFact(figure, seq - 1)) for level in levels for figure in level]
        queues = ((one, find_manifest(recording, "Queue", one) or {}) for one in (event.name, rival.name))
        weights = ((one, read_field("Queue", queue, *WEIGHTS_PATH)) for one, queue in queues)
        sources += [Source(one, weight) for one, weight in weights if weight is not None]
    return Origin(f"{equation.title}: {criterion}", tuple(sources))


RANDOM_RULE: Final = "upstream picks a random number below {}, the node at which dry runs start; the replay uses 0"
STATE_PARTS: Final = {TASK: "status", JOB: "phase", QUEUE: "weight"}
WEIGHTS_PATH: Final = ("metadata", "annotations", HIERARCHY_WEIGHTS_KEY)


def _state_origin(event: record.StateEvent | record.CloseEvent, recording: Recording, seq: Seq) -> Origin:
    rule = "every figure of the session at this event, after all operations so far"
    if isinstance(event, record.CloseEvent):
        rule = "the session closes: each job's phase and conditions are written"
    shown = islice(event.jobs, MAX_SOURCES)
    phases = (Source("job", FigureFact(Figure(JOB, uid, "phase"), seq)) for uid in shown)
    return first_sources(rule, "job", phases, len(event.jobs))


def _action_origin(event: record.ActionEvent, recording: Recording, seq: Seq) -> Origin:
    setting = FieldFact("scheduler.conf", "", ("actions",), " ".join(recording.conf.actions))
    rule = f"{event.action} has nothing more to try" if event.what == "end" else "actions run in their order"
    return Origin(rule, (Source("setting", setting),))


EVENT_ORIGINS: Final[Mapping[type, Callable[..., Origin]]] = {
    record.HookEvent: _call_origin,
    record.OpEvent: _operation_origin,
    record.StatementEvent: _statement_origin,
    record.BestEvent: _best_origin,
    record.ScoreEvent: _score_origin,
    record.PredicateEvent: _predicate_origin,
    record.PopEvent: _pop_origin,
    record.RandomEvent: lambda event, *_: Origin(RANDOM_RULE.format(event.n)),
    record.StateEvent: _state_origin,
    record.CloseEvent: _state_origin,
    record.ActionEvent: _action_origin,
}
"""Event type → the function that finds the origin of such an event."""


# Operands of an equation: the figure behind each number.


def _operand_sources(recording: Recording, seq: Seq, equation: Equation) -> Iterator[Source]:
    """The figures of the deciding line; where none decides, of the first dimension or of each check, task or queue."""
    lines = [term for term in equation.terms if term.is_met is not None] or list(equation.terms)
    terms = [equation.deciding_term] if equation.deciding_term else lines[:1] if equation.kind == "dimension" else lines
    facts: dict[Fact, None] = {}
    for term in terms:
        for index, title in enumerate(equation.columns[: len(term.figures)]):
            head = title.lstrip("=+−- ")
            stated = tuple(stated_operands(recording, seq, head, term))
            figure = None if stated else operand_figure(recording, seq, equation, term, index)
            for fact in stated or (figure,):
                if fact is not None and fact not in facts and len(facts) < MAX_SOURCES:
                    facts[fact] = None
                    yield Source(head, fact)
