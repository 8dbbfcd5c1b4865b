"""HTTP client of an extender's webhook, for replays with --extender-url."""

import json
import time
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from vcdebug.errors import VcdebugError
from vcdebug.framework.replay_options import WebhookResponse

MAX_BODY_BYTES = 10 << 20
"""Largest body that is accepted."""
CHUNK_BYTES = 1 << 16
UNQUOTED_CHARACTERS = "/?#[]@!$&'()*+,;=%:~"
"""Characters of a verb that are not escaped in the URL."""
TOO_LONG = "http: request body too large"
TIMED_OUT = "context deadline exceeded"


class ExtenderClient:
    """Posts each request to `URL/verb`; a failed call returns the error's text in the words of Go's client."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._opener = _build_opener(_checked_host(url))

    def __call__(self, verb: str, body: Mapping[str, object], timeout: float | None) -> WebhookResponse | str:
        """The response to a JSON body, or the error's text; the timeout in seconds covers the whole exchange."""
        url = f"{self._url}/{verb}"
        try:
            return self._post_request(f"{self._url}/{quote(verb, safe=UNQUOTED_CHARACTERS)}", body, timeout)
        except HTTPError as error:
            error.close()
            return WebhookResponse(error.code, b"")
        except TimeoutError:
            return f'Post "{url}": {TIMED_OUT}'
        except URLError as error:
            reason = TIMED_OUT if isinstance(error.reason, TimeoutError) else error.reason
            return f'Post "{url}": {reason}'
        except (OSError, HTTPException, ValueError) as error:
            return f'Post "{url}": {str(error) or type(error).__name__}'

    def _post_request(self, url: str, body: Mapping[str, object], timeout: float | None) -> WebhookResponse | str:
        deadline = None if timeout is None else time.monotonic() + timeout
        data = json.dumps(body, default=str).encode("utf-8")
        request = Request(url, data=data, headers={"Content-Type": "application/json"}, method="POST")
        with self._opener.open(request, timeout=timeout) as response:
            content = _read_body(response, deadline)
            return TOO_LONG if len(content) > MAX_BODY_BYTES else WebhookResponse(response.status, content)


def _read_body(response: HTTPResponse, deadline: float | None) -> bytes:
    """The body, or one chunk more than is allowed; raises TimeoutError after the deadline."""
    content = bytearray()
    # read1: `read` would wait for a whole chunk, however slowly a server sends it, beyond the deadline.
    while len(content) <= MAX_BODY_BYTES and (chunk := response.read1(CHUNK_BYTES)):
        content += chunk
        if deadline is not None and time.monotonic() > deadline:
            raise TimeoutError
    return bytes(content)


def _checked_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise VcdebugError(f"is not a URL: {error}", "for example http://127.0.0.1:8080", "--extender-url") from error
    if parts.scheme not in ("http", "https") or not host:
        raise VcdebugError("is not an http or https URL", "for example http://127.0.0.1:8080", "--extender-url")
    if parts.username is not None:
        raise VcdebugError("contains a user or a password, which is not supported", where="--extender-url")
    return host


def _build_opener(host: str) -> OpenerDirector:
    """An opener for HTTP and HTTPS only, without a proxy for this machine."""
    # Not build_opener: it would also accept file: and ftp: after a redirect.
    opener = OpenerDirector()
    proxies = ProxyHandler({}) if _is_local(host) else ProxyHandler()
    errors = (HTTPRedirectHandler(), HTTPDefaultErrorHandler(), HTTPErrorProcessor())
    for handler in (proxies, HTTPHandler(), HTTPSHandler(), *errors):
        opener.add_handler(handler)
    return opener


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
