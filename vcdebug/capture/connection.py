"""Connect to one API server through the official client; the only module that imports kubernetes."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import urllib3
import yaml
from kubernetes import config as kube_config
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from msgspec import Struct

from vcdebug import __version__
from vcdebug.capture.api_client import CaptureOptions, ConnectionFailed, HttpAnswer
from vcdebug.errors import CaptureError
from vcdebug.snapshot.manifest import JsonObject, object_in, object_list

ACCEPT = {"Accept": "application/json", "Accept-Encoding": "gzip"}
MIN_WAIT_SECONDS = 0.1
"""Least timeout of a request in seconds, also near the deadline."""
PIECE_BYTES = 1 << 20
OBJECT_NAME = re.compile(r"^<?\w+\(.*?\)(?: object at \w+>)?: ")
BAD_CONFIG = (kube_config.ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError)


class ClientTransport:
    """A Transport over the official client that returns raw answers.

    `choice` is the kubeconfig's context; None for a pod's own service account.
    """

    def __init__(
        self,
        client: ApiClient,
        options: CaptureOptions,
        choice: ContextChoice | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._timeout = options.timeout
        self._clock = clock
        self._end = clock() + options.deadline
        # The client ignores `as` in a kubeconfig.
        self._headers = tuple(choice.impersonation.iter_header_pairs()) if choice is not None else ()
        client.user_agent = f"vcdebug/{__version__}"
        self.context = choice.context if choice is not None else ""
        self.user = choice.user_words if choice is not None else "this pod's service account"
        place = f"context {self.context!r}" if self.context else "this pod's cluster"
        unchecked = "" if client.configuration.verify_ssl else ", certificate not checked"
        self.server = f"{place} ({client.configuration.host}{unchecked})"

    def send(
        self, method: str, path: str, query: Sequence[tuple[str, str]], body: JsonObject | None = None
    ) -> HttpAnswer:
        try:
            request = self._client.param_serialize(
                method, path, query_params=list(query), header_params=dict(ACCEPT), auth_settings=["BearerToken"]
            )
            verb, url, headers = request[:3]
            # A request without an answer must not last beyond the deadline of the whole capture.
            wait = min(self._timeout, max(self._end - self._clock(), MIN_WAIT_SECONDS))
            response = self._client.rest_client.request(  # type: ignore[no-untyped-call]  # the client leaves it so
                verb, url, headers=self._all_headers(headers, body), body=body, _request_timeout=wait
            )
            content = self._read_content(response.response)
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as failure:
            raise ConnectionFailed(reason_text(failure), broken_off=_was_connection_closed(failure)) from failure
        return HttpAnswer(response.status, {name.lower(): value for name, value in response.headers.items()}, content)

    def close(self) -> None:
        self._client.rest_client.close()

    def _all_headers(self, headers: Mapping[str, str], body: object) -> urllib3.HTTPHeaderDict:
        """The headers; a name may repeat, as Impersonate-Group does."""
        combined = urllib3.HTTPHeaderDict(headers)
        if body is not None:
            combined["Content-Type"] = "application/json"
        for name, value in self._headers:
            combined.add(name, value)
        return combined

    def _read_content(self, response: urllib3.BaseHTTPResponse) -> bytes:
        """The complete answer; raises ConnectionFailed if the deadline passes before its end."""
        # The client's timeout is per read: a server that sends a byte a second would never hit it.
        parts = []
        while part := response.read1(PIECE_BYTES):
            parts.append(part)
            if self._clock() >= self._end:
                response.close()
                raise ConnectionFailed("response too slow")
        response.release_conn()
        return b"".join(parts)


def _was_connection_closed(failure: BaseException) -> bool:
    """Whether an open connection was closed by the other side."""
    inner = getattr(failure, "reason", None) or failure
    return isinstance(inner, urllib3.exceptions.ProtocolError | ConnectionResetError)


def connect_client(options: CaptureOptions, clock: Callable[[], float] = time.monotonic) -> ClientTransport:
    """The transport for the context that the options name, or for the cluster of the pod that vcdebug runs in.

    Raises CaptureError for a kubeconfig or credentials that cannot be used.
    """
    settings = Configuration()
    settings.host = ""
    choice = None
    if _use_service_account(options):
        with _as_capture_error("cannot use this pod's service account"):
            kube_config.load_incluster_config(settings)  # type: ignore[no-untyped-call]  # the client leaves it so
        if options.as_user:
            choice = ContextChoice("", "", "this pod's service account", find_impersonation({}, options))
    else:
        choice = _load_kubeconfig(options, settings)
    if not settings.host:
        context = choice.context if choice is not None else ""
        raise CaptureError(f"the cluster of context {context!r} has no server address", where=shown_kubeconfig(options))
    if not settings.verify_ssl:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    # Api repeats requests itself, with a deadline over all of them.
    settings.retries = urllib3.Retry(total=0, redirect=0, raise_on_redirect=False, raise_on_status=False)
    return ClientTransport(ApiClient(configuration=settings), options, choice, clock)


def _use_service_account(options: CaptureOptions) -> bool:
    if options.kubeconfig or options.context or os.environ.get("KUBECONFIG"):
        return False
    return "KUBERNETES_SERVICE_HOST" in os.environ and not default_kubeconfig().exists()


def _load_kubeconfig(options: CaptureOptions, settings: Configuration) -> ContextChoice:
    """Fill the client's settings; never writes the kubeconfig, not even a refreshed token."""
    choice = choose_context(options)
    with _as_capture_error(f"cannot use context {choice.context!r}", where=shown_kubeconfig(options)):
        kube_config.load_kube_config(choice.files, choice.context, settings, persist_config=False)  # type: ignore[no-untyped-call]
    return choice


@contextmanager
def _as_capture_error(problem: str, where: str = "") -> Iterator[None]:
    """Turn errors that the client raises, or only logs, while it reads credentials into one CaptureError."""
    log = _LastMessage()
    root = logging.getLogger()
    root.addHandler(log)
    try:
        yield
    except BAD_CONFIG as failure:
        raise CaptureError(f"{problem}: {reason_text(failure)}", where=where) from failure
    finally:
        root.removeHandler(log)
    if log.message:
        raise CaptureError(f"{problem}: {log.message}", where=where)


class _LastMessage(logging.Handler):
    """Keeps the last logged error: the client only logs a failing credentials plugin and continues without it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.message = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.message = " ".join(record.getMessage().split())


def reason_text(failure: BaseException) -> str:
    """The cause in one line, without the names and addresses of the HTTP library's objects."""
    inner = getattr(failure, "reason", None)
    if isinstance(inner, BaseException):
        return reason_text(inner)
    text = " ".join(str(failure or inner).split())
    return OBJECT_NAME.sub("", text) or type(failure).__name__


# Context, user and impersonation of a kubeconfig by kubectl's rules: of several files the first with an entry counts.

KubeconfigEntry = JsonObject


class Impersonation(Struct, frozen=True):
    """The user to impersonate; all empty without impersonation."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}

    def iter_header_pairs(self) -> Iterator[tuple[str, str]]:
        """The Impersonate-* headers."""
        if self.user:
            yield "Impersonate-User", self.user
        if self.uid:
            yield "Impersonate-Uid", self.uid
        yield from (("Impersonate-Group", group) for group in self.groups)
        yield from ((f"Impersonate-Extra-{key}", text) for key, texts in self.extra.items() for text in texts)


class ContextChoice(Struct, frozen=True):
    """One context of a kubeconfig."""

    files: str
    """The existing files, joined as in KUBECONFIG."""
    context: str
    user: str
    impersonation: Impersonation

    @property
    def user_words(self) -> str:
        """The user, with any impersonation, in words."""
        if not self.impersonation.user:
            return self.user
        groups = f" in {', '.join(self.impersonation.groups)}" if self.impersonation.groups else ""
        return f"{self.impersonation.user}{groups}, impersonated by {self.user}"


def choose_context(options: CaptureOptions) -> ContextChoice:
    """The context that the options name, else the current one of the first file with one; raises CaptureError."""
    files = _kubeconfig_files(options)
    documents = [_read_document(file) for file in files]
    contexts = _by_name(documents, "contexts")
    current = [str(document["current-context"]) for document in documents if document.get("current-context")]
    chosen = options.context or next(iter(current), "")
    kubeconfig = shown_kubeconfig(options)
    if not chosen:
        hint = f"choose one with --context: {', '.join(contexts)}" if contexts else ""
        raise CaptureError("kubeconfig has no current context", hint=hint, where=kubeconfig)
    if chosen not in contexts:
        names = ", ".join(contexts)
        raise CaptureError(f"context {chosen!r} not found in kubeconfig", hint=f"contexts: {names}", where=kubeconfig)
    user = str(object_in(contexts[chosen].get("context")).get("user") or "")
    entry = object_in(_by_name(documents, "users").get(user, {}).get("user"))
    return ContextChoice(os.pathsep.join(files), chosen, user, find_impersonation(entry, options))


def find_impersonation(user: KubeconfigEntry, options: CaptureOptions) -> Impersonation:
    """The impersonation of the options, else of the kubeconfig's user; raises CaptureError for one without a user."""
    impersonation = Impersonation(
        user=options.as_user or str(user.get("as") or ""),
        uid="" if options.as_user else str(user.get("as-uid") or ""),
        groups=options.as_groups or _text_list(user.get("as-groups")),
        extra={str(key): _text_list(texts) for key, texts in object_in(user.get("as-user-extra")).items()},
    )
    if not impersonation.user and (impersonation.uid or impersonation.groups or impersonation.extra):
        raise CaptureError("--as-group needs --as", hint="add --as USER")
    return impersonation


def shown_kubeconfig(options: CaptureOptions) -> str:
    """The kubeconfig as the user named it."""
    return options.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"


def default_kubeconfig() -> Path:
    """Path of kubectl's default kubeconfig."""
    return Path("~/.kube/config").expanduser()


def _kubeconfig_files(options: CaptureOptions) -> list[str]:
    """The existing files; KUBECONFIG may list missing ones."""
    if options.kubeconfig:
        file = Path(options.kubeconfig).expanduser()
        if not file.is_file():
            raise CaptureError("no such kubeconfig file", where=options.kubeconfig)
        return [str(file)]
    listed = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    files = [str(file) for file in listed or [default_kubeconfig()] if file.is_file()]
    if not files:
        raise CaptureError("cannot use kubeconfig: no such file", where=shown_kubeconfig(options))
    return list(dict.fromkeys(files))


def _read_document(file: str) -> KubeconfigEntry:
    try:
        document = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as failure:
        raise CaptureError(f"cannot use kubeconfig: {' '.join(str(failure).split())}", where=file) from failure
    if not isinstance(document, dict):
        raise CaptureError("cannot use kubeconfig: not a mapping", where=file)
    return document


def _by_name(documents: list[KubeconfigEntry], section: str) -> dict[str, KubeconfigEntry]:
    """Name -> entry of one section; the first of several with the same name."""
    entry_of_name: dict[str, KubeconfigEntry] = {}
    for document in documents:
        for entry in object_list(document.get(section)):
            entry_of_name.setdefault(str(entry.get("name")), entry)
    return entry_of_name


def _text_list(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
