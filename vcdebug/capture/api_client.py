"""Read-only requests to the API server with retries, JSON and the server's clock; the options of a capture."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple, Protocol

from msgspec import Struct

from vcdebug.errors import CaptureError, VcdebugError
from vcdebug.snapshot.kinds import ResourceKind
from vcdebug.snapshot.manifest import object_in
from vcdebug.snapshot.snapshot import Manifest

Query = Sequence[tuple[str, str]]

RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
MAX_WAIT = 30.0
MAX_SHOWN_TEXT = 120
FUTURE_VERSION = b"Too large resource version"
WATCH = ("watch", "true")
REVIEWS_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class HttpAnswer(NamedTuple):
    """The server's answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class ConnectionFailed(Exception):
    """Raised without an answer: connection refused, timed out or broken off, or an untrusted certificate."""

    def __init__(self, message: str, *, broken_off: bool = False) -> None:
        super().__init__(message)
        self.was_interrupted = broken_off
        """Whether an open connection was closed by the other side."""


class NoAnswer(VcdebugError):
    """Raised if the server does not answer in any attempt."""


class TooSlow(VcdebugError):
    """Raised when the deadline of the whole capture has passed."""


class Transport(Protocol):
    """Sends one request and returns the answer, whatever its status."""

    context: str
    server: str
    user: str
    """The user in words, with any impersonation."""

    def send(self, method: str, path: str, query: Query, body: Manifest | None = None) -> HttpAnswer:
        """Send one request; raises ConnectionFailed without an answer."""


class ApiRefusal(Exception):
    """Raised for an answer that is not the requested object."""

    def __init__(self, status: int, message: str, continue_token: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.continue_token = continue_token
        """Token of a 410 answer with which an expired list continues; later pages then show a later state."""

    def __str__(self) -> str:
        return f"the server answered {self.status}: {self.message}"


class Api:
    """One API server, read-only: GET, and access reviews, which create nothing."""

    def __init__(
        self,
        transport: Transport,
        options: CaptureOptions,
        sleep: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.context = transport.context
        self.server = transport.server
        self.user = transport.user
        self.started: datetime | None = None
        self.clock: datetime | None = None
        """The first and the latest time in the server's Date headers; None before the first answer."""
        self._now = clock
        self._end = clock() + options.deadline
        self._transport = transport
        self._options = options
        self._sleep = sleep
        self.has_answered = False
        """Whether the server has answered at least once."""

    def get_object(self, path: str, query: Query = ()) -> Manifest:
        """The JSON object at a path; raises ApiRefusal, or CaptureError if the capture cannot continue."""
        return json_object(self._read_answer(path, query))

    def watch_changes(self, path: str, version: str, seconds: int) -> list[Manifest]:
        """The watch events since a resource version and during the next seconds; raises as `get_object`."""
        query = [WATCH, ("resourceVersion", version), ("timeoutSeconds", str(seconds)), ("allowWatchBookmarks", "true")]
        events = []
        for line in self._read_answer(path, query).content.splitlines():
            # A connection may break off within an event: the next watch gets it again.
            with suppress(ValueError):
                events.append(object_in(json.loads(line)))
        return events

    def _read_answer(self, path: str, query: Query) -> HttpAnswer:
        answer = self._send_with_retries(path, query)
        if answer.status == 401:
            raise CaptureError(
                "the API server rejected the credentials (401 Unauthorized)",
                hint=f"log in again, then check: kubectl {self.context_flag}get nodes",
                where=self.server,
            )
        if answer.status != 200:
            raise refusal_of(answer)
        return answer

    def is_allowed(self, verb: str, kind: ResourceKind, namespace: str = "") -> bool | None:
        """Whether the user may use the verb on a kind, in one or all namespaces; None if the server does not say."""
        action = {"verb": verb, "resource": kind.plural, "group": kind.group, "namespace": namespace}
        attributes = {key: text for key, text in action.items() if text}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            answer = self._transport.send("POST", REVIEWS_PATH, (), review)
            allowed = json_object(answer).get("status", {}).get("allowed")
        except (ConnectionFailed, ApiRefusal, AttributeError):
            return None
        return allowed if isinstance(allowed, bool) else None

    @property
    def context_flag(self) -> str:
        """The `--context` part of a kubectl command line; empty inside a cluster."""
        return f"--context {self.context} " if self.context else ""

    def _send_with_retries(self, path: str, query: Query) -> HttpAnswer:
        wait = self._options.first_wait
        for attempt in range(1, self._options.attempts + 1):
            last = attempt == self._options.attempts
            answer = self._send_once(path, query, last)
            if answer is not None and (last or not _should_retry(answer, may_be_empty=WATCH in query)):
                return answer
            pause = min(MAX_WAIT, retry_after_seconds(answer, wait))
            self._check_time(pause)
            self._sleep(pause)
            wait *= 2
        raise CaptureError("a capture needs at least one attempt per request")

    def _check_time(self, pause: float = 0.0) -> None:
        if self._now() + pause >= self._end:
            raise TooSlow(
                f"the capture timed out after {self._options.deadline:g} s",
                hint="use a longer --timeout",
                where=self.server,
            )

    def _send_once(self, path: str, query: Query, last: bool) -> HttpAnswer | None:
        """One attempt; None for a broken connection that is worth another attempt, else raises NoAnswer."""
        self._check_time()
        try:
            answer = self._transport.send("GET", path, query)
        except ConnectionFailed as failure:
            self._check_time()
            # A server that has never answered is unreachable: repeating only makes the user wait for the error.
            if (self.has_answered or failure.was_interrupted) and not last:
                return None
            raise NoAnswer(
                f"no response from the API server: {failure}",
                hint="check the network and the context",
                where=self.server,
            ) from failure
        self.has_answered = True
        self._read_clock(answer)
        return answer

    def _read_clock(self, answer: HttpAnswer) -> None:
        try:
            date = parsedate_to_datetime(answer.headers.get("date", "")).astimezone(UTC)
        except (ValueError, OverflowError):
            return
        self.started = date if self.started is None else min(self.started, date)
        self.clock = date if self.clock is None else max(self.clock, date)


def _should_retry(answer: HttpAnswer, *, may_be_empty: bool) -> bool:
    """Whether to ask again: the server is busy, or its JSON breaks off."""
    # This 504 means that the resource version is ahead of the server; a retry would not help in time.
    if answer.status == 504 and FUTURE_VERSION in answer.content:
        return False
    if answer.status == 200:
        return _breaks_off(answer.content) and bool(answer.content or not may_be_empty)
    return answer.status in RETRIED_STATUSES


def _breaks_off(content: bytes) -> bool:
    """Whether a JSON object is cut off, such as by a proxy that closes the connection."""
    text = content.strip()
    return not text or (text.startswith(b"{") and not text.endswith(b"}"))


def retry_after_seconds(answer: HttpAnswer | None, otherwise: float) -> float:
    """The seconds of the server's Retry-After header, else `otherwise`."""
    text = answer.headers.get("retry-after", "") if answer is not None else ""
    return float(text) if text.isdecimal() else otherwise


def json_object(answer: HttpAnswer) -> Manifest:
    """The answer's JSON object; raises ApiRefusal for anything else."""
    try:
        content = json.loads(answer.content)
    except (ValueError, RecursionError):
        raise ApiRefusal(answer.status, f"not JSON: {shown_text(answer.content)!r}") from None
    if not isinstance(content, dict):
        raise ApiRefusal(answer.status, f"JSON, but not an object: {shown_text(answer.content)!r}")
    return content


def refusal_of(answer: HttpAnswer) -> ApiRefusal:
    """The refusal described by the answer's Status object, or by its text."""
    try:
        status = json_object(answer)
    except ApiRefusal:
        return ApiRefusal(answer.status, shown_text(answer.content) or "no text")
    token = object_in(status.get("metadata")).get("continue")
    message = status.get("message") or status.get("reason") or "no message"
    return ApiRefusal(answer.status, str(message), token if isinstance(token, str) else "")


def shown_text(content: bytes) -> str:
    """The first MAX_SHOWN_TEXT bytes of an answer in one line."""
    return " ".join(content[:MAX_SHOWN_TEXT].decode("utf-8", "replace").split())


Progress = Callable[[str, int, int], None]
"""Called after each page: kind, objects read so far, objects expected in all."""


class CaptureOptions(Struct, frozen=True):
    """Which cluster to read, as which user, and how long to wait."""

    context: str = ""
    """The kubeconfig context; empty means the current one."""
    kubeconfig: str = ""
    """The kubeconfig file; empty means $KUBECONFIG, ~/.kube/config, or the pod's service account."""
    as_user: str = ""
    """The user to impersonate; empty means the kubeconfig's, usually none."""
    as_groups: tuple[str, ...] = ()
    """The groups to impersonate."""
    scheduler: str = ""
    """`namespace/name` of the scheduler to replay; empty means the first one found."""
    scheduler_configmap: str = ""
    """`namespace/name` of the scheduler's ConfigMap; empty means the one that its workload mounts."""
    release: str = ""
    """The scheduler's release; empty means the tag of its image."""
    usage_url: str = ""
    """The Prometheus that measures node usage; empty means the one in the scheduler's configuration."""
    namespace: str = ""
    """The only namespace to read; empty for all."""
    redact: bool = False
    """Whether to keep only the fields that decide, with pseudonyms for names."""
    full: bool = False
    """Whether to keep every field, including environment variables, commands and all annotations."""
    page_size: int = 500
    """Maximum number of objects per request."""
    timeout: float = 60.0
    """Seconds of silence after which one request has failed."""
    deadline: float = 600.0
    """Seconds that the whole capture may take."""
    attempts: int = 5
    """Attempts per request while the server is busy or failing."""
    first_wait: float = 0.5
    """Seconds before the second attempt; doubled each time, unless Retry-After states another time."""
