"""extender: the call of the webhook, and its answer, from extender.json or live. Upstream: plugins/extender."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from vcdebug.amount_text import join_names, shorten_end
from vcdebug.explain.answer import Advice, AdviceHarm, AdvisedFact
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.framework import hooks
from vcdebug.framework.plugin_answers import ScoreError
from vcdebug.framework.quirks import EXTENDER_UNKNOWN
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.plugins.extender import MANAGED_KEY, Extender
from vcdebug.plugins.extender.answers import ANY_KEY, missing_text
from vcdebug.recording.recording import Recording
from vcdebug.releases.queues import EXTENDER_BASIC

FORMULA: Final = "the webhook's answer is the vote; without one the plugin takes no part"
SCORE_FORMULA: Final = "nodeScore of the answer, added unchanged; a node that it does not name gets 0"
SCORING: Final = hooks.BATCH_NODE_ORDER.method
CALL, ABOUT, ANSWER = "call", "about", "answer"
NOT_ASKED: Final = "not asked: no container names a managed resource"
NOT_REPLAYED: Final = "not replayed (HTTP): extender.json has no answer, and no --extender-url was given"
MAX_ANSWER_LENGTH: Final = 200
QuestionKey = Callable[[HookEvent], str]
QUESTIONS: Mapping[str, tuple[str, QuestionKey]] = {
    hooks.PREDICATE.upstream: ("predicate", lambda event: f"{event.task} {event.node}"),
    hooks.PREEMPTABLE.upstream: ("preemptable", lambda event: event.task),
    hooks.RECLAIMABLE.upstream: ("reclaimable", lambda event: event.task),
    hooks.JOB_ENQUEUEABLE.upstream: (hooks.JOB_ENQUEUEABLE.method, lambda event: event.job),
    hooks.JOB_ENQUEUED.upstream: (hooks.JOB_ENQUEUED.method, lambda event: event.job),
    hooks.OVERUSED.upstream: ("overused", lambda event: event.queue),
    hooks.JOB_READY.upstream: (hooks.JOB_READY.method, lambda event: event.job),
}
"""Upstream's hook name → (method of the plugin, function that gives the subject of a call)."""


def call_terms(plugin: Extender, method: str, key: str) -> tuple[Term, ...]:
    """Terms for a call of the webhook: its URL, its subject, and the known answer."""
    verb = plugin.verbs.get(method, "")
    by_key = plugin.known_answers.get(verb) or {}
    answer = by_key.get(key, by_key.get(ANY_KEY))
    text = NOT_REPLAYED if answer is None else _shorten_answer(answer)
    note = f"the answer to every question (`{ANY_KEY}`)" if answer is not None and key not in by_key else ""
    return (
        Term(CALL, (f"POST {plugin.webhook_url}/{verb}",), None),
        Term(ABOUT, (key or "the session",), None),
        Term(ANSWER, (text,), None, note),
    )


def _shorten_answer(answer: object) -> str:
    """The text of one answer; of several, the first and their number."""
    several = f" (the first of {len(answer)})" if isinstance(answer, list) and len(answer) > 1 else ""
    first = answer[0] if isinstance(answer, list) and answer else answer
    text = json.dumps(first, ensure_ascii=False)
    return shorten_end(text, MAX_ANSWER_LENGTH) + several


def _vote_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """The equation of a recorded vote: the webhook's call and answer."""
    method, key = QUESTIONS[event.point]
    subject = key(event)
    terms = call_terms(recording.session.plugin_of_class(Extender), method, subject)
    return Equation(f"extender: {event.point} of {subject}", FORMULA, ("",), "check", terms, event.result)


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """The question about one node."""
    plugin = asked_node.session.plugin_of_class(Extender)
    title = f"extender on {asked_node.node.name}"
    if not plugin.is_interested(asked_node.task):
        yield Equation(title, FORMULA, (), "check", (), True, None, NOT_ASKED)
        return
    codes = plugin.predicate(asked_node.task, asked_node.session.node_table.single_row(asked_node.row))
    statuses = asked_node.session.reasons.statuses_of(int(codes[0])) if codes[0] else ()
    terms = call_terms(plugin, "predicate", f"{asked_node.task.key} {asked_node.node.name}")
    note = ", ".join(status.reason for status in statuses)
    yield Equation(title, FORMULA, ("",), "check", terms, not statuses, None, note)


def score_equation(asked_node: AskedNode, part: str) -> Equation | None:
    """The webhook's answer about all nodes, and the score that it gives this node; None if the call fails."""
    plugin = asked_node.session.plugin_of_class(Extender)
    try:
        scores = plugin.batch_node_order(asked_node.task, asked_node.nodes)
    except ScoreError:
        return None
    score = 0.0 if scores is None else float(scores.total[asked_node.row_index])
    terms = call_terms(plugin, SCORING, asked_node.task.key)
    return Equation(f"extender on {asked_node.node.name}", SCORE_FORMULA, ("",), "check", terms, score)


REJECTING: Final = ("predicate", hooks.JOB_ENQUEUEABLE.method, "overused", "allocate_func", SCORING)
"""Methods whose answer, or failure, can reject a job or its pods."""


def missing_answers(view: JobView) -> Iterator[AdvisedFact]:
    """Yields the fact, if the webhook was to judge the job, its pods or its queue, and no answer is known."""
    plugin, release = view.session.plugin_of_class(Extender), view.recording.snapshot.release
    missing = {note.text for note in view.recording.notes if note.code == EXTENDER_UNKNOWN}
    keys = (*(task.key for task in view.placed_tasks), view.job.uid, view.queue.name)
    methods = REJECTING[:-1] if plugin.arguments.get_bool("extender.ignorable", default=False) else REJECTING
    calls = ((plugin.verbs.get(method, ""), key) for key in keys for method in methods)
    for verb, key in [call for call in calls if missing_text(*call) in missing][:1]:
        fact = f"The extender at {plugin.webhook_url} is asked `{verb}` about {key}; its answer is not in the snapshot."
        if verb == plugin.verbs.get(SCORING):
            fact = f"{fact} While that call fails, the pod gets no node (extender.ignorable: false)."
        words = "Replay with its answers (--extender-url), and see its log about this."
        extended = any("/" in name for task in view.tasks.values() for name, _ in task.init_resreq.items())
        if MANAGED_KEY not in plugin.arguments.raw and not extended:
            fact = f"{fact} {MANAGED_KEY} is not set, so it judges every pod."
            reads = (
                f" ({join_names(EXTENDER_BASIC.fixed_in)} reads that)" if release.has_older_form(EXTENDER_BASIC) else ""
            )
            words = f"Set {MANAGED_KEY} to what the extender manages{reads}; it then judges only pods that ask for it."
        yield AdvisedFact(fact, Advice.from_outside(words, AdviceHarm.CLUSTER))


EXPLAINER = PluginExplainer(
    equations=dict.fromkeys(QUESTIONS, _vote_equation), scores=score_equation, refusals=check_equations
)
