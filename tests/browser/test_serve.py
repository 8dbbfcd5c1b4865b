"""`vcdebug serve` in a browser, driven by keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import DESK, PHONE
from tests.browser.driving import TerminalPage, serving

pytestmark = pytest.mark.browser
NAME, JOB = "preempt-blocked-by-gang", "research/llm-finetune"
BEFORE_OPEN = "Still in CONNECTING state"
"""xterm's page sends its size before its connection is open; harmless, since the connection's URL has the size."""

OPENS = """address => new Promise(done => {
  const socket = new WebSocket(address);
  socket.onopen = () => done(true);
  socket.onerror = () => done(false);
})"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("served"), NAME) as printed:
        yield printed


@pytest.fixture
def terminal(browser: Any, address: str) -> Iterator[TerminalPage]:
    """A page of desktop width that shows the overview; its console must stay free of errors."""
    context = browser.new_context(viewport=DESK, permissions=["clipboard-read", "clipboard-write"])
    shown = TerminalPage(context.new_page())
    shown.page.goto(address)
    shown.wait_for("Flow", "Overview", JOB, "overview")
    yield shown
    assert [] == [fault for fault in shown.faults if BEFORE_OPEN not in fault]
    context.close()


def test_page_opens_on_the_overview_and_removes_the_token_from_the_address(
    terminal: TerminalPage, address: str
) -> None:
    assert f"vcdebug {NAME}" == terminal.page.title()
    assert address.partition("?")[0] == terminal.page.url
    terminal.wait_until(lambda: terminal.ink() > 5000)
    assert not terminal.page.locator(".note.opening").is_visible()


def test_keys_step_forward_and_backward(terminal: TerminalPage) -> None:
    terminal.press("s")
    terminal.wait_for("event 1/166", "JobValid")
    terminal.press("s")
    terminal.wait_for("event 2/166")
    terminal.press("S", "S")
    terminal.wait_for("event 0/166", "Overview")


def test_continue_stops_at_a_breakpoint(terminal: TerminalPage) -> None:
    terminal.type(":break victim if plugin == 'gang'")
    terminal.press("Enter", "c")
    terminal.wait_for("Breakpoint 1")


def test_text_after_a_slash_filters_the_panel(terminal: TerminalPage) -> None:
    terminal.press("5")
    terminal.wait_for("platform/feature-etl", "research/reward-model")
    terminal.type("/reward")
    terminal.press("Enter")
    terminal.wait_until(lambda: "platform/feature-etl  " not in terminal.text().rpartition("<5> Jobs")[2])
    assert "research/reward-model" in terminal.text()


def test_copying_reaches_the_browser_s_clipboard(terminal: TerminalPage) -> None:
    terminal.press("5")
    terminal.wait_for("platform/feature-etl")
    terminal.press("y", "o")
    terminal.wait_for("copied the")
    read = "navigator.clipboard.readText()"
    terminal.wait_until(lambda: str(terminal.page.evaluate(read)).startswith(f"vcdebug open {NAME}"))


def test_terminal_follows_the_size_of_the_window(terminal: TerminalPage) -> None:
    wide = terminal.size
    terminal.page.set_viewport_size(PHONE)
    terminal.wait_until(lambda: terminal.size[0] < wide[0])
    terminal.wait_until(lambda: "<1> Flow" in terminal.text() and "P panels" in terminal.text())
    page = terminal.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert page[0] <= page[1]
    terminal.page.set_viewport_size({"width": 1600, "height": 1000})
    terminal.wait_until(lambda: terminal.size > wide)
    terminal.wait_for("<1> Flow", "<2> Overview", "<5> Jobs")


def test_click_on_a_tab_shows_its_panel(terminal: TerminalPage) -> None:
    lines = terminal.text().splitlines()
    row = next(number for number, line in enumerate(lines) if "6 Nodes" in line)
    column = lines[row].index("6 Nodes")
    screen = terminal.page.locator(".xterm-screen").bounding_box()
    columns, rows = terminal.size
    terminal.page.mouse.click(
        screen["x"] + (column + 3) * screen["width"] / columns, screen["y"] + (row + 0.5) * screen["height"] / rows
    )
    terminal.wait_for("<6> Nodes", "gpu-a100-01")


def test_page_offers_a_restart_after_quitting(terminal: TerminalPage) -> None:
    terminal.press("q")
    terminal.page.locator(".note.ended").wait_for(state="visible")
    terminal.page.get_by_text("Start it again").click()
    terminal.page.wait_for_load_state()
    terminal.wait_for("Flow", JOB)


@pytest.mark.parametrize("query", ["", "?token=guessed"])
def test_a_wrong_token_is_refused(browser: Any, address: str, query: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(address.partition("?")[0] + query)
    assert 403 == answer.status
    assert "missing token: open the URL that vcdebug serve printed" == page.inner_text("body").strip()
    assert [] == context.cookies()
    context.close()


def test_another_site_s_page_cannot_talk_to_it(browser: Any, terminal: TerminalPage, address: str) -> None:
    """The other site's request is refused even with this browser's cookie."""
    page = terminal.page.context.new_page()
    page.goto("data:text/html,elsewhere")
    socket = address.partition("?")[0].replace("http", "ws") + "ws"
    assert not page.evaluate(OPENS, socket)
