"""Answers that a person forces on plugins: given in place of the plugin's own, with a note at the event.

Upstream: none; without forced answers nothing here takes part in a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from vcdebug.framework import trace_form
from vcdebug.framework.combine import Answer, PluginCall, Tiers
from vcdebug.framework.forced_values import forced_value
from vcdebug.framework.hooks import HOOKS, PREDICATE, AnyHook
from vcdebug.framework.record import HookEvent, Record
from vcdebug.framework.recorded_calls import RecordedCall, bind_recorded
from vcdebug.model.names import Codes, Seq
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.answers import ForcedAnswer

FORCED_CODE: Final = "forced-answer"
"""The code of the note at an event whose answer was forced; no quirk of upstream."""
OTHER_RUN_HINT: Final = "the number is that of the run with all other edits"


class ForcedAnswers:
    """The forced answers of one run: each is given once, at its event."""

    def __init__(self, answers: Sequence[ForcedAnswer], record: Record) -> None:
        self._waiting: dict[Seq, ForcedAnswer] = {answer.seq: answer for answer in answers}
        self._record = record
        self._given: list[ForcedAnswer] = []

    def take_answer(self, hook: str, plugin: str) -> ForcedAnswer | None:
        """The answer for the next event, if it is for this plugin and hook."""
        answer = self._waiting.get(self._record.next_seq)
        if answer is None or answer.hook not in ("", hook) or answer.plugin not in ("", plugin):
            return None
        self._given.append(answer)
        return self._waiting.pop(answer.seq)

    def note_forced(self, plugin: str, own: object, result: object) -> None:
        """Say at the next event that this is not the plugin's own answer."""
        self._record.add_note(
            FORCED_CODE, f"{plugin} was made to say {_answer_text(result)}; by itself it says {_answer_text(own)}"
        )

    def check_all_given(self) -> None:
        """Raises EditError for an answer that nobody was there to give."""
        events = self._record.events
        for answer in sorted([*self._waiting.values(), *self._given]):
            if answer.seq > len(events):
                raise answer.make_error(f"the run ends at event {len(events)}: there is no event {answer.seq}")
            event = events[answer.seq - 1]
            if not isinstance(event, HookEvent):
                name = type(event).__name__.removesuffix("Event").lower()
                raise answer.make_error(f"event {answer.seq} is no hook call: it is a {name}", OTHER_RUN_HINT)
            if answer.hook not in ("", event.point) or answer.plugin not in ("", event.plugin):
                meant = " of ".join(word for word in (answer.hook, answer.plugin) if word)
                raise answer.make_error(
                    f"event {answer.seq} is {event.point} of {event.plugin}, not {meant}", OTHER_RUN_HINT
                )


class ForcedCall:
    """A recorded call that may have to answer something else."""

    __slots__ = ("_answers", "_call", "_function", "_plugin", "_point", "_record", "_gives", "_show")

    def __init__(self, call: RecordedCall, hook: AnyHook, answers: ForcedAnswers) -> None:
        self._call = bind_recorded(call)
        self._function, self._plugin, self._point, self._show, self._record = call
        self._gives = hook.gives
        self._answers = answers

    def __call__(self, *args: object) -> Answer:
        record = self._record
        forced = None if record.silent else self._answers.take_answer(self._point, self._plugin)
        if forced is None:
            return self._call(*args)
        record.silent = 1
        try:
            own = self._function(*args)
        finally:
            record.silent = 0
        answer = forced_value(self._gives, forced, args)
        subject, result = self._show(args, answer)
        self._answers.note_forced(self._plugin, self._show(args, own)[1], result)
        record.append(HookEvent(self._point, self._plugin, subject, result))
        return answer


class ForcedPredicate:
    """PredicateFn, where a single node is asked about outside a search, which is an event of its own."""

    __slots__ = ("_answers", "_ballot", "_record")

    def __init__(self, plugin_call: PluginCall, answers: ForcedAnswers, record: Record) -> None:
        self._ballot = plugin_call
        self._answers = answers
        self._record = record

    def __call__(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        codes: Codes = self._ballot.call(task, nodes)
        plugin = self._ballot.plugin
        alone = self._record.silent == 1 and len(nodes) == 1
        forced = self._answers.take_answer(PREDICATE.upstream, plugin) if alone else None
        if forced is None:
            return codes
        statuses = forced_value(PREDICATE.gives, forced, (task, nodes))
        reasons = self._record.reasons
        own, code = reasons.statuses_of(int(codes[0])), reasons.code_of(statuses) if statuses else 0
        self._answers.note_forced(
            plugin, trace_form.status_documents(own) or None, trace_form.status_documents(statuses) or None
        )
        return np.array([code], dtype=np.uint16)


def with_forced_calls(plugin_calls: dict[str, Tiers], answers: ForcedAnswers, record: Record) -> dict[str, Tiers]:
    """The plugin_calls with every recorded call ready to be told what to say."""
    return {hook.method: _forced_tiers(hook, plugin_calls[hook.method], answers, record) for hook in HOOKS}


def _forced_tiers(hook: AnyHook, tiers: Tiers, answers: ForcedAnswers, record: Record) -> Tiers:
    return Tiers(
        [[_forced_call(hook, plugin_call, answers, record) for plugin_call in tier] for tier in tiers], tiers.note
    )


def _forced_call(hook: AnyHook, plugin_call: PluginCall, answers: ForcedAnswers, record: Record) -> PluginCall:
    if plugin_call.recorded is not None:
        return plugin_call._replace(call=ForcedCall(plugin_call.recorded, hook, answers))
    if hook is PREDICATE:
        return plugin_call._replace(call=ForcedPredicate(plugin_call, answers, record))
    return plugin_call


def _answer_text(result: object) -> str:
    """An answer as a trace shows it, in few words."""
    if isinstance(result, bool):
        return "yes" if result else "no"
    if isinstance(result, tuple | list) and all(isinstance(item, str) for item in result):
        return ", ".join(map(str, result)) or "nobody"
    if isinstance(result, list):
        return "; ".join(str(item.get("reason", item)) if isinstance(item, dict) else str(item) for item in result)
    return "nothing against it" if result is None else str(result)
