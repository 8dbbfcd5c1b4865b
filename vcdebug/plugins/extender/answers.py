"""Answers of the webhook: recorded ones, else those of a live call, else nobody knows.

Upstream: plugins/extender (send, argument).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from vcdebug.framework.quirks import EXTENDER_UNKNOWN
from vcdebug.framework.session import Session
from vcdebug.framework.unknown import note_unknown
from vcdebug.gomath import MAX_INT64
from vcdebug.plugins.extender.bodies import Body
from vcdebug.plugins.extender.responses import ERROR_FIELD, HTTP_STATUS_FIELD, OK_STATUS, Answer, answer_of
from vcdebug.snapshot.json_values import Json, JsonDict, JsonObject

ANY_KEY = "*"
BAD_ANSWER = "json: cannot unmarshal {} of the answer"

AnswersByVerb = dict[str, JsonDict]
"""As extender.json: verb → key → an answer, or a list of answers in the order of asking."""


class WebhookReply(NamedTuple):
    """A body, or the error text of a call that failed."""

    body: JsonObject
    error: str | None = None

    def read_field(self, name: str, kind: type | tuple[type, ...], default: Json) -> tuple[Json, str | None]:
        """(the field or its zero value, the decoder's error)."""
        found = self.body.get(name)
        if found is None:
            return default, self.error
        wrong = not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool)
        if wrong or (kind is int and abs(found) > MAX_INT64):
            return default, BAD_ANSWER.format(name)
        return found, self.error


class WebhookQuestion(NamedTuple):
    """What one call is about."""

    method: str
    verb: str
    key: str
    body: Callable[[], Body]


class WebhookAnswers:
    """extender.json: verb → key → answer; the key `*` answers every key of its verb."""

    def __init__(self, ssn: Session, url: str, timeout: float | None) -> None:
        self._ssn = ssn
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._recorded: Mapping[str, JsonObject] = ssn.snapshot.extender
        self._uses: dict[tuple[str, str], int] = {}
        self._live: dict[str, dict[str, list[Answer]]] = {}

    def can_answer(self, verb: str) -> bool:
        """Whether any answer of the verb is recorded, or a webhook can be asked."""
        return self._ssn.ask_extender is not None or bool(self._recorded.get(verb))

    def known_answers(self) -> AnswersByVerb:
        """The recorded answers with those of live calls; equal answers to one question are one."""
        merged = {verb: dict(by_key) for verb, by_key in self._recorded.items()}
        for verb, by_key in self._live.items():
            for key, answers in by_key.items():
                same = all(answer == answers[0] for answer in answers)
                merged.setdefault(verb, {})[key] = answers[0] if same else list(answers)
        return merged

    def ask_or_note(self, question: WebhookQuestion) -> WebhookReply | None:
        """The answer; None marks the event where the real scheduler had one."""
        found = self.ask_webhook(question)
        if found is None:
            self.note_missing(question.verb, question.key)
        return found

    def ask_webhook(self, question: WebhookQuestion) -> WebhookReply | None:
        """As ask, where nothing depends on the answer."""
        verb = question.verb
        answer = self._find_answer(question)
        if answer is None:
            return None
        status = answer.get(HTTP_STATUS_FIELD, OK_STATUS)
        if status != OK_STATUS:
            return WebhookReply({}, f"failed {verb} with extender at URL {self._url}/{verb}, code {status}")
        error = answer.get(ERROR_FIELD)
        return WebhookReply({} if error else answer, str(error) if error else None)

    def _find_answer(self, question: WebhookQuestion) -> Answer | None:
        by_key = self._recorded.get(question.verb) or {}
        found = by_key.get(question.key, by_key.get(ANY_KEY))
        if found is None:
            return self._call_webhook(question)
        return found if isinstance(found, dict) else self._next_answer(question, found)

    def _next_answer(self, question: WebhookQuestion, answers: list[Answer]) -> Answer:
        """The answers of one question one after the other; the last one stays."""
        use = self._uses.get((question.verb, question.key), 0)
        self._uses[question.verb, question.key] = use + 1
        return answers[min(use, len(answers) - 1)]

    def _call_webhook(self, question: WebhookQuestion) -> Answer | None:
        ask = self._ssn.ask_extender
        if ask is None:
            return None
        answer = answer_of(question.method, ask(question.verb, question.body(), self._timeout))
        self._live.setdefault(question.verb, {}).setdefault(question.key, []).append(answer)
        return answer

    def note_missing(self, verb: str, key: str) -> None:
        """A note at the next event."""
        about = f" about {key}" if key else ""
        note_unknown(self._ssn, EXTENDER_UNKNOWN, f"the extender would have been asked `{verb}`{about}")
