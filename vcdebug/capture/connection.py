"""The connection to one API server, through the official client: the only module that imports kubernetes."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import urllib3
import yaml
from kubernetes import config as kube_config
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException

from vcdebug import __version__
from vcdebug.capture.api_client import ConnectionFailed, HttpAnswer
from vcdebug.capture.kubeconfig import (
    ContextChoice,
    choose_context,
    default_kubeconfig,
    find_impersonation,
    shown_kubeconfig,
)
from vcdebug.capture.options import CaptureOptions
from vcdebug.errors import CaptureError
from vcdebug.snapshot.manifest import JsonObject

ACCEPT = {"Accept": "application/json", "Accept-Encoding": "gzip"}
PIECE_BYTES = 1 << 20
OBJECT_NAME = re.compile(r"^<?\w+\(.*?\)(?: object at \w+>)?: ")
BAD_CONFIG = (kube_config.ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError)


class ClientTransport:
    """Sends requests through the official client and hands back the raw answer, whatever its status."""

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
        self._headers = tuple(choice.impersonation.iter_header_pairs()) if choice is not None else ()
        client.user_agent = f"vcdebug/{__version__}"
        self.context = choice.context if choice is not None else ""
        self.user = choice.user_words if choice is not None else "this pod's service account"
        place = f"context {self.context!r}" if self.context else "this pod's cluster"
        unchecked = "" if client.configuration.verify_ssl else ", its certificate not checked"
        self.server = f"{place} ({client.configuration.host}{unchecked})"

    def send(
        self, method: str, path: str, query: Sequence[tuple[str, str]], body: JsonObject | None = None
    ) -> HttpAnswer:
        try:
            request = self._client.param_serialize(
                method, path, query_params=list(query), header_params=dict(ACCEPT), auth_settings=["BearerToken"]
            )
            verb, url, headers = request[:3]
            response = self._client.rest_client.request(  # type: ignore[no-untyped-call]  # the client leaves it so
                verb, url, headers=self._all_headers(headers, body), body=body, _request_timeout=self._timeout
            )
            content = self._read_content(response.response)
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as failure:
            raise ConnectionFailed(reason_text(failure), broken_off=_broke_off(failure)) from failure
        return HttpAnswer(response.status, {name.lower(): value for name, value in response.headers.items()}, content)

    def close(self) -> None:
        self._client.rest_client.close()

    def _all_headers(self, headers: Mapping[str, str], body: object) -> urllib3.HTTPHeaderDict:
        """One header may come several times, as the impersonated groups do."""
        combined = urllib3.HTTPHeaderDict(headers)
        if body is not None:
            combined["Content-Type"] = "application/json"
        for name, value in self._headers:
            combined.add(name, value)
        return combined

    def _read_content(self, response: urllib3.BaseHTTPResponse) -> bytes:
        """The whole answer, unless it comes so slowly that the time is over before it is there."""
        parts = []
        while part := response.read1(PIECE_BYTES):
            parts.append(part)
            if self._clock() >= self._end:
                response.close()
                raise ConnectionFailed("the answer comes too slowly")
        response.release_conn()
        return b"".join(parts)


def _broke_off(failure: BaseException) -> bool:
    """Whether there was a connection, and somebody ended it."""
    inner = getattr(failure, "reason", None) or failure
    return isinstance(inner, urllib3.exceptions.ProtocolError | ConnectionResetError)


def connect_client(options: CaptureOptions, clock: Callable[[], float] = time.monotonic) -> ClientTransport:
    """The transport for the kubeconfig context that the options name, or for the pod's own cluster."""
    settings = Configuration()
    settings.host = ""
    choice = None
    if _use_service_account(options):
        with _as_capture_error("the service account of this pod cannot be used"):
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
    settings.retries = urllib3.Retry(total=0, redirect=0, raise_on_redirect=False, raise_on_status=False)
    return ClientTransport(ApiClient(configuration=settings), options, choice, clock)


def _use_service_account(options: CaptureOptions) -> bool:
    if options.kubeconfig or options.context or os.environ.get("KUBECONFIG"):
        return False
    return "KUBERNETES_SERVICE_HOST" in os.environ and not default_kubeconfig().exists()


def _load_kubeconfig(options: CaptureOptions, settings: Configuration) -> ContextChoice:
    """Fill the client's settings; the kubeconfig file itself is never written, not even with a refreshed token."""
    choice = choose_context(options)
    with _as_capture_error(f"context {choice.context!r} cannot be used", where=shown_kubeconfig(options)):
        kube_config.load_kube_config(choice.files, choice.context, settings, persist_config=False)  # type: ignore[no-untyped-call]
    return choice


@contextmanager
def _as_capture_error(what: str, where: str = "") -> Iterator[None]:
    """Turn what the client raises, and what it only logs, while it reads credentials into one CaptureError."""
    log = _LastMessage()
    root = logging.getLogger()
    root.addHandler(log)
    try:
        yield
    except BAD_CONFIG as failure:
        raise CaptureError(f"{what}: {reason_text(failure)}", where=where) from failure
    finally:
        root.removeHandler(log)
    if log.message:
        raise CaptureError(f"{what}: {log.message}", where=where)


class _LastMessage(logging.Handler):
    """Remembers the last error logged: the client logs a failing credentials plugin and goes on without it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.message = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.message = " ".join(record.getMessage().split())


def reason_text(failure: BaseException) -> str:
    """One line that says why, without the names and addresses of the HTTP library's objects."""
    inner = getattr(failure, "reason", None)
    if isinstance(inner, BaseException):
        return reason_text(inner)
    text = " ".join(str(failure or inner).split())
    return OBJECT_NAME.sub("", text) or type(failure).__name__
