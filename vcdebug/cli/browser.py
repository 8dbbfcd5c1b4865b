"""The debugger in a browser: a web page, and one debugger process for each window that opens it."""

import asyncio
import html
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import redirect_stdout
from ipaddress import ip_address
from pathlib import Path
from socket import AF_INET6, SOCK_STREAM, gaierror, getaddrinfo, socket
from socket import create_server as listen
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

PAGE_FILE = Path(__file__).with_name("browser.html")
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
SHUTDOWN_SECONDS = 2
"""Seconds in which a debugger must end after its window is closed or the server is stopped."""
HEARTBEAT_SECONDS = 15
TOKEN_NAME = "token"
TOKEN_BYTES = 24

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_loopback(host: str) -> bool:
    """Whether the host is a loopback address; raises VcdebugError for an unknown host."""
    try:
        addresses = getaddrinfo(host, None, type=SOCK_STREAM)
    except gaierror as error:
        raise VcdebugError("no such host", "for example 127.0.0.1", host) from error
    return all(ip_address(str(address[4][0]).partition("%")[0]).is_loopback for address in addresses)


def open_socket(host: str, port: int) -> socket:
    """A listening socket; port 0 takes any that is free. Raises VcdebugError where it cannot listen."""
    try:
        family, _, _, _, address = getaddrinfo(host, port, type=SOCK_STREAM)[0]
        return listen(address[:2], family=family)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise VcdebugError(f"cannot listen there: {reason}", "choose another --port", f"{host}:{port}") from error


def socket_url(bound: socket) -> str:
    """The URL of a listening socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if bound.family == AF_INET6 else f"http://{host}:{port}"


class BrowserSession(AppService):
    """One debugger process and its browser window; the end of one ends the other."""

    async def run(self) -> None:
        await super().run()
        await self.remote_close()

    async def stop(self) -> None:
        """Ask the debugger to end, and kill it after SHUTDOWN_SECONDS."""
        if self._process is None:
            return
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await super().stop()
                await self._process.wait()
        except TimeoutError:  # it may be replaying, and reads no message then
            self._process.kill()
            await self._process.wait()


class BrowserServer(Server):
    """Textual's server with a page of its own, which refuses other sites and requests without its token.

    The printed address carries the token; the first request exchanges it for a cookie.
    """

    def __init__(self, command: str, title: str, bound: socket, output: Output, *, exposed: bool) -> None:
        super().__init__(command, title=title)
        self._bound = bound
        self._output = output
        self._exposed = exposed
        self._windows: list[web.WebSocketResponse] = []
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._cookie = f"vcdebug-{bound.getsockname()[1]}"

    def run(self) -> None:
        with redirect_stdout(self._output.err):
            web.run_app(self._make_app(), sock=self._bound, print=None, shutdown_timeout=2 * SHUTDOWN_SECONDS)

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.middlewares.append(self._check_request)
        return app

    async def on_startup(self, app: web.Application) -> None:
        self._output.write_notice(
            f"open {socket_url(self._bound)}/?token={self.token} in a browser; Ctrl-C stops the server"
        )

    async def on_shutdown(self, app: web.Application) -> None:
        for window in list(self._windows):
            await window.close()

    async def handle_index(self, request: web.Request) -> web.Response:
        if TOKEN_NAME in request.query:
            arrived = web.Response(status=302, headers={"Location": "/"})
            # A redirect to / takes the token out of the address bar and the browser's history.
            arrived.set_cookie(self._cookie, self.token, httponly=True, samesite="Strict")
            return arrived
        page = PAGE_FILE.read_text(encoding="utf-8").replace("{title}", html.escape(self.title))
        return web.Response(text=page, content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        window = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS)
        await window.prepare(request)
        session = BrowserSession(
            self.command,
            write_bytes=window.send_bytes,
            write_str=window.send_str,
            close=window.close,  # type: ignore[arg-type]  # that it answers a truth value is no matter
            download_manager=self.download_manager,
        )
        self._windows.append(window)
        try:
            await session.start(to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24))
            await self._process_messages(window, session)
        finally:
            self._windows.remove(window)
            await session.stop()
        return window

    @web.middleware
    async def _check_request(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests of other sites, those by a foreign host name (DNS rebinding), and those without the token."""
        name = urlsplit(f"//{request.host}").hostname or ""
        if not self._exposed and name not in LOCAL_NAMES and name != self._bound.getsockname()[0]:
            raise web.HTTPForbidden(text="this debugger accepts requests to local names only")
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="this debugger accepts requests from its own page only")
        if not self._has_token(request):
            raise web.HTTPForbidden(text="missing token: open the URL that vcdebug serve printed")
        return await handler(request)

    def _has_token(self, request: web.Request) -> bool:
        """Whether a request carries the token: in its query, as a cookie, or in the header Authorization."""
        tokens = (
            request.query.get(TOKEN_NAME, ""),
            request.cookies.get(self._cookie, ""),
            request.headers.get("Authorization", "").removeprefix(f"{TOKEN_NAME} "),
        )
        # compare_digest, because the duration of == reveals how many characters are right.
        return any(secrets.compare_digest(text.encode(), self.token.encode()) for text in tokens)
