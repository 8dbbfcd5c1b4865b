"""The connection to one API server, through the official client: the only module that imports kubernetes."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes import config as kube_config
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException

from vcdebug.capture.options import CaptureOptions
from vcdebug.capture.transport import Answer, ConnectionFailed
from vcdebug.errors import CaptureError

ACCEPT = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "vcdebug-capture"}
OBJECT_NAME = re.compile(r"^<?\w+\(.*?\)(?: object at \w+>)?: ")
BAD_CONFIG = (kube_config.ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError)


class ClientTransport:
    """Sends requests through the official client and hands back the raw answer, whatever its status."""

    def __init__(self, client: ApiClient, context: str, timeout: float) -> None:
        self._client = client
        self._timeout = timeout
        self.context = context
        place = f"context {context!r}" if context else "this pod's cluster"
        self.server = f"{place} ({client.configuration.host})"

    def send(
        self, method: str, path: str, query: Sequence[tuple[str, str]], body: Mapping[str, Any] | None = None
    ) -> Answer:
        headers = dict(ACCEPT)
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            request = self._client.param_serialize(
                method, path, query_params=list(query), header_params=headers, body=body, auth_settings=["BearerToken"]
            )
            response = self._client.call_api(*request, _request_timeout=self._timeout)
            content = response.read()  # type: ignore[no-untyped-call]  # the client leaves it untyped
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as failure:
            raise ConnectionFailed(reason_text(failure)) from failure
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, content)

    def close(self) -> None:
        self._client.rest_client.close()


def connect(options: CaptureOptions) -> ClientTransport:
    """The transport for the kubeconfig context that the options name, or for the pod's own cluster."""
    settings = Configuration()
    settings.host = ""
    if _use_service_account(options):
        context = ""
        with _as_capture_error("the service account of this pod cannot be used"):
            kube_config.load_incluster_config(settings)  # type: ignore[no-untyped-call]  # as above
    else:
        context = _load_kubeconfig(options, settings)
    if not settings.host:
        raise CaptureError(f"the cluster of context {context!r} has no server address", where=_shown(options))
    settings.retries = urllib3.Retry(total=0, redirect=0, raise_on_redirect=False, raise_on_status=False)
    return ClientTransport(ApiClient(configuration=settings), context, options.timeout)


def _use_service_account(options: CaptureOptions) -> bool:
    if options.kubeconfig or options.context or os.environ.get("KUBECONFIG"):
        return False
    return "KUBERNETES_SERVICE_HOST" in os.environ and not _default_file().exists()


def _load_kubeconfig(options: CaptureOptions, settings: Configuration) -> str:
    """Fill the client's settings; the kubeconfig file itself is never written, not even with a refreshed token."""
    if options.kubeconfig and not Path(options.kubeconfig).expanduser().is_file():
        raise CaptureError("no such kubeconfig file", where=options.kubeconfig)
    file = options.kubeconfig or os.environ.get("KUBECONFIG") or str(_default_file())
    with _as_capture_error("the kubeconfig cannot be used", where=_shown(options)):
        contexts, current = kube_config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]  # as above
        names = [str(context["name"]) for context in contexts]
        chosen = options.context or str(current["name"])
    if chosen not in names:
        raise CaptureError(
            f"the kubeconfig has no context {chosen!r}", hint=f"it has: {', '.join(names)}", where=_shown(options)
        )
    with _as_capture_error(f"context {chosen!r} cannot be used", where=_shown(options)):
        kube_config.load_kube_config(file, chosen, settings, persist_config=False)  # type: ignore[no-untyped-call]
    return chosen


def _default_file() -> Path:
    return Path("~/.kube/config").expanduser()


def _shown(options: CaptureOptions) -> str:
    return options.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"


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
