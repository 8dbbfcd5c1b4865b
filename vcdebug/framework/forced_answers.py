"""Answers that the user forces on plugins: they replace the plugin's own answers, with a note at the event.

Upstream: none; without forced answers nothing here takes part in a cycle.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from vcdebug.errors import closest_name_hint
from vcdebug.framework import hooks
from vcdebug.framework.combine import Answer, Args, PluginCall, RecordedCall, Tiers
from vcdebug.framework.hooks import HOOKS, PREDICATE, AnswerForm, AnyHook
from vcdebug.framework.plugin_answers import ABSTAIN, PERMIT, REJECT, PluginError, ValidateResult, VictimAnswer
from vcdebug.framework.record import HookEvent, Record
from vcdebug.framework.recorded_calls import bind_recorded
from vcdebug.model.fit_errors import UNSCHEDULABLE, FitStatus
from vcdebug.model.names import Codes, Seq
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.cycle_inputs import ForcedAnswer

FORCED_CODE: Final = "forced-answer"
"""The code of the note at an event with a forced answer; it is not a quirk of upstream."""
OTHER_RUN_HINT: Final = "event numbers are those of the run with all other edits"


class ForcedAnswers:
    """The forced answers of one run; each applies once, at its event."""

    def __init__(self, answers: Sequence[ForcedAnswer], record: Record) -> None:
        self._pending: dict[Seq, ForcedAnswer] = {answer.seq: answer for answer in answers}
        self._record = record
        self._used_answers: list[ForcedAnswer] = []

    def take_answer(self, hook: str, plugin: str) -> ForcedAnswer | None:
        """The forced answer for the next event if it is for this plugin and hook, else None."""
        answer = self._pending.get(self._record.next_seq)
        if answer is None or answer.hook not in ("", hook) or answer.plugin not in ("", plugin):
            return None
        self._used_answers.append(answer)
        return self._pending.pop(answer.seq)

    def note_forced(self, plugin: str, own_answer: object, result: object) -> None:
        """Add a note at the next event that gives the forced answer and the plugin's own answer."""
        self._record.add_note(
            FORCED_CODE, f"{plugin} answers {_answer_text(result)} (its own answer: {_answer_text(own_answer)})"
        )

    def check_all_given(self) -> None:
        """Check that every answer applied; raises EditError if its event is missing or is a different call."""
        events = self._record.events
        for answer in sorted([*self._pending.values(), *self._used_answers]):
            if answer.seq > len(events):
                raise answer.make_error(f"event {answer.seq} does not exist in the edited run ({len(events)} events)")
            event = events[answer.seq - 1]
            if not isinstance(event, HookEvent):
                name = type(event).__name__.removesuffix("Event").lower()
                raise answer.make_error(f"event {answer.seq} is not a plugin call (it is a {name})", OTHER_RUN_HINT)
            if answer.hook not in ("", event.point) or answer.plugin not in ("", event.plugin):
                call_name = " of ".join(word for word in (answer.hook, answer.plugin) if word)
                raise answer.make_error(
                    f"event {answer.seq} is {event.point} of {event.plugin}, not {call_name}", OTHER_RUN_HINT
                )


class ForcedCall:
    """A recorded plugin call whose answer is forced at some events."""

    __slots__ = ("_forced_answers", "_call", "_function", "_plugin", "_point", "_record", "_answer_form", "_show")

    def __init__(self, call: RecordedCall, hook: AnyHook, answers: ForcedAnswers) -> None:
        self._call = bind_recorded(call)
        self._function, self._plugin, self._point, self._show, self._record = call
        self._answer_form = hook.answer_form
        self._forced_answers = answers

    def __call__(self, *args: object) -> Answer:
        record = self._record
        forced = None if record.running_call_count else self._forced_answers.take_answer(self._point, self._plugin)
        if forced is None:
            return self._call(*args)
        record.running_call_count = 1
        try:
            own_answer = self._function(*args)
        finally:
            record.running_call_count = 0
        answer = forced_value(self._answer_form, forced, args)
        subject, result = self._show(args, answer)
        self._forced_answers.note_forced(self._plugin, self._show(args, own_answer)[1], result)
        record.append(HookEvent(self._point, self._plugin, subject, result))
        return answer


class ForcedPredicate:
    """PredicateFn of a plugin whose answers about a single node, outside a search, may be forced."""

    __slots__ = ("_forced_answers", "_plugin_call", "_record")

    def __init__(self, plugin_call: PluginCall, answers: ForcedAnswers, record: Record) -> None:
        self._plugin_call = plugin_call
        self._forced_answers = answers
        self._record = record

    def __call__(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        codes: Codes = self._plugin_call.call(task, nodes)
        plugin = self._plugin_call.plugin
        alone = self._record.running_call_count == 1 and len(nodes) == 1
        forced = self._forced_answers.take_answer(PREDICATE.upstream, plugin) if alone else None
        if forced is None:
            return codes
        statuses = forced_value(PREDICATE.answer_form, forced, (task, nodes))
        reasons = self._record.reasons
        own_statuses, code = reasons.statuses_of(int(codes[0])), reasons.code_of(statuses) if statuses else 0
        self._forced_answers.note_forced(
            plugin, hooks.status_documents(own_statuses) or None, hooks.status_documents(statuses) or None
        )
        return np.array([code], dtype=np.uint16)


def with_forced_calls(plugin_calls: dict[str, Tiers], answers: ForcedAnswers, record: Record) -> dict[str, Tiers]:
    """The plugin calls of all hooks, wrapped so that each returns its forced answer where there is one."""
    return {hook.method: _forced_tiers(hook, plugin_calls[hook.method], answers, record) for hook in HOOKS}


def _forced_tiers(hook: AnyHook, tiers: Tiers, answers: ForcedAnswers, record: Record) -> Tiers:
    forced = [[_forced_call(hook, plugin_call, answers, record) for plugin_call in tier] for tier in tiers]
    return Tiers(forced, tiers.note, restarts=tiers.restarts)


def _forced_call(hook: AnyHook, plugin_call: PluginCall, answers: ForcedAnswers, record: Record) -> PluginCall:
    if plugin_call.recorded is not None:
        return plugin_call._replace(call=ForcedCall(plugin_call.recorded, hook, answers))
    if hook is PREDICATE:
        return plugin_call._replace(call=ForcedPredicate(plugin_call, answers, record))
    return plugin_call


def _answer_text(result: object) -> str:
    """A short text of an answer, in the form of the trace."""
    if isinstance(result, bool):
        return "yes" if result else "no"
    if isinstance(result, tuple | list) and all(isinstance(item, str) for item in result):
        return ", ".join(map(str, result)) or NONE
    if isinstance(result, list):
        return "; ".join(str(item.get("reason", item)) if isinstance(item, dict) else str(item) for item in result)
    return "nothing against it" if result is None else str(result)


# Conversion of a forced answer's text to the value that a plugin returns.

YES, NO = ("yes", "true", "permit", "pass", "1"), ("no", "false", "reject", "fail", "-1")
_ABSTAIN_WORDS: Final = ("abstain", "0")
NONE = "none"
ALLOW, ORDER = "allow", "order"
DEFAULT_REASON: Final = "forced"
"""The reason of a refusal that is forced without one."""

AnswerReader = Callable[[ForcedAnswer, Args], Answer]


def forced_value(gives: AnswerForm, answer: ForcedAnswer, args: Args) -> Answer:
    """The forced answer as the value that a plugin returns; raises EditError if the hook cannot return it."""
    if gives not in READABLE_ANSWERS:
        raise answer.make_error(f"{answer.plugin or 'the plugin'} is only notified at this event and gives no answer")
    return READABLE_ANSWERS[gives][1](answer, args)


def choice_text(gives: AnswerForm) -> str:
    """A text that lists the answers that can be forced; empty if none can be."""
    return READABLE_ANSWERS[gives][0] if gives in READABLE_ANSWERS else ""


def _read_yes_no(answer: ForcedAnswer, _: Args) -> bool:
    word = answer.value.lower()
    if word not in (*YES, *NO):
        raise answer.make_error(f"invalid answer {answer.value!r}", "yes or no")
    return word in YES


def _read_vote(answer: ForcedAnswer, _: Args) -> int:
    word = answer.value.lower()
    if word not in (*YES, *NO, *_ABSTAIN_WORDS):
        raise answer.make_error(f"invalid vote {answer.value!r}", "permit, reject or abstain")
    return ABSTAIN if word in _ABSTAIN_WORDS else PERMIT if word in YES else REJECT


def _read_victims(answer: ForcedAnswer, args: Args) -> VictimAnswer:
    """The named candidates, all of them (yes), none of them (no), or an abstention."""
    if answer.value.lower() in _ABSTAIN_WORDS:
        return [], ABSTAIN
    return _read_tasks(answer, args[1]), PERMIT


def _read_tasks(answer: ForcedAnswer, candidates: Sequence[TaskInfo]) -> list[TaskInfo]:
    words = answer.value.replace(",", " ").split()
    words = words[1:] if words and words[0].lower() == ALLOW else words
    if not words or words == [NONE]:
        return []
    if len(words) == 1 and words[0].lower() in (*YES, *NO) and words[0] not in [task.name for task in candidates]:
        return list(candidates) if words[0].lower() in YES else []
    return [_find_candidate(answer, word, candidates) for word in words]


def _find_candidate(answer: ForcedAnswer, word: str, candidates: Sequence[TaskInfo]) -> TaskInfo:
    matches = [task for task in candidates if word in (task.key, task.name)]
    if len(matches) == 1:
        return matches[0]
    names = [task.key for task in candidates]
    if matches:
        raise answer.make_error(f"ambiguous candidate {word}", f"candidates: {', '.join(t.key for t in matches)}")
    all_names = [*names, *(task.name for task in candidates)]
    hint = closest_name_hint(word, all_names, f"candidates: {', '.join(names) or 'none'}")
    raise answer.make_error(f"{word} is not a candidate at this event", hint)


def _read_refusal(answer: ForcedAnswer) -> str | None:
    """The reason of a `no`, None for a `yes`; raises EditError for anything else."""
    word, _, reason = answer.value.partition(" ")
    if word.lower() not in (*YES, *NO):
        raise answer.make_error(f"invalid answer {answer.value!r}", "yes, or no and a reason")
    return None if word.lower() in YES else reason.strip() or DEFAULT_REASON


def _unless_refused(make: Callable[[ForcedAnswer, str], Answer], accepted: Answer = None) -> AnswerReader:
    """A reader that gives `accepted` for a yes, and for a no what `make` returns for the answer and its reason."""

    def read_answer(answer: ForcedAnswer, _: Args) -> Answer:
        reason = _read_refusal(answer)
        return accepted if reason is None else make(answer, reason)

    return read_answer


def _read_node(answer: ForcedAnswer, args: Args) -> Answer:
    """BestNode: one of the nodes of the question, or None; raises EditError for any other node."""
    if answer.value.lower() == NONE:
        return None
    nodes = args[1].nodes
    node = next((node for node in nodes if node.name == answer.value), None)
    if node is None:
        raise answer.make_error(
            f"{answer.value} is not a node at this event", f"nodes: {', '.join(n.name for n in nodes[:8])}"
        )
    return node


def _read_rows(answer: ForcedAnswer, args: Args) -> list[list[str]]:
    """Gradients: `order a b, c` as rows of hypernodes, best row first."""
    words = answer.value.removeprefix(ORDER).strip()
    return [] if words == NONE else [row.split() for row in words.split(",") if row.strip()]


def _read_scores(answer: ForcedAnswer, _: Args) -> dict[str, float]:
    if answer.value.lower() == NONE:
        return {}
    return {
        name: _read_score(answer, number) for name, _, number in (word.partition("=") for word in answer.value.split())
    }


def _read_score(answer: ForcedAnswer, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise answer.make_error(f"{number!r} is not a score", "write HYPERNODE=SCORE") from None


_REASONED_CHOICE: Final = "yes, or no and a reason"
READABLE_ANSWERS: Final[Mapping[AnswerForm, tuple[str, AnswerReader]]] = {
    "truth": ("yes or no", _read_yes_no),
    "vote": ("permit, reject or abstain", _read_vote),
    "victims": ("allow and candidates, yes for all, no for none, or abstain", _read_victims),
    "tasks": ("allow and tasks, yes for all, or no for none", lambda answer, args: _read_tasks(answer, args[0])),
    "validity": (_REASONED_CHOICE, _unless_refused(lambda _, reason: ValidateResult(False, reason, reason))),
    "error": (_REASONED_CHOICE, _unless_refused(lambda _, reason: PluginError(reason))),
    "objection": (_REASONED_CHOICE, _unless_refused(lambda _, reason: reason)),
    "verdict": (
        _REASONED_CHOICE,
        _unless_refused(lambda answer, reason: (FitStatus(UNSCHEDULABLE, reason, answer.plugin),), accepted=()),
    ),
    "node": ("a node, or none", _read_node),
    "rows": ("order and hypernodes, rows divided by commas, or none", _read_rows),
    "scores": ("HYPERNODE=SCORE, or none", _read_scores),
}
"""Form of a hook's answer → the answers that can be forced, in words, and the function that reads their text. Hooks
without an answer have no entry.
"""
