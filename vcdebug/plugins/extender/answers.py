"""Recorded answers of the webhook: what a call would have returned, or that nobody knows.

Upstream: plugins/extender (send, argument).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vcdebug.framework.quirks import EXTENDER_UNKNOWN
from vcdebug.framework.session import Session
from vcdebug.framework.unknown import note_unknown

ANY_KEY = "*"
ERROR = "error"
HTTP_STATUS = "httpStatus"
OK = 200

BAD_ANSWER = "json: cannot unmarshal {} of the answer"


class Reply(NamedTuple):
    """A body, or the error text of a call that failed."""

    body: Mapping[str, Any]
    error: str | None = None

    def field(self, name: str, kind: type | tuple[type, ...], default: Any) -> tuple[Any, str | None]:
        """(the field or its zero value, the decoder's error)."""
        found = self.body.get(name)
        if found is None:
            return default, self.error
        wrong = not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool)
        return (default, BAD_ANSWER.format(name)) if wrong else (found, self.error)


class Answers:
    """extender.json: verb → key → answer; the key `*` answers every key of its verb."""

    def __init__(self, ssn: Session, url: str) -> None:
        self._ssn = ssn
        self._url = url.rstrip("/")
        self._recorded: Mapping[str, Mapping[str, Mapping[str, Any]]] = ssn.snapshot.extender

    def knows(self, verb: str) -> bool:
        """Whether any answer of the verb is recorded."""
        return bool(self._recorded.get(verb))

    def ask(self, verb: str, key: str) -> Reply | None:
        """The recorded answer; None marks the event where the real scheduler had one."""
        by_key = self._recorded.get(verb) or {}
        found = by_key.get(key, by_key.get(ANY_KEY))
        if found is None:
            self.mark(verb, key)
            return None
        status = found.get(HTTP_STATUS, OK)
        if status != OK:
            return Reply({}, f"failed {verb} with extender at URL {self._url}/{verb}, code {status}")
        error = found.get(ERROR)
        return Reply({} if error else found, str(error) if error else None)

    def mark(self, verb: str, key: str) -> None:
        """A note at the next event."""
        about = f" about {key}" if key else ""
        note_unknown(self._ssn, EXTENDER_UNKNOWN, f"the extender would have been asked `{verb}`{about}")
