"""Waits until the application has nothing left to do, without fixed delays."""

from __future__ import annotations

import asyncio
from time import monotonic, process_time, thread_time
from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.worker import WorkerState

from vcdebug.tui.widgets.grid import PAUSE_SECONDS

SLICE = 0.002
"""Seconds per slice of time for a thread."""
LONGEST = 1.0
"""Seconds after which a thread's work counts as long; a test that needs its result waits for that result."""
STILL = 0.1
"""Seconds after which threads that used almost no processor time count as blocked; a busy machine holds them up."""
HARDLY = 0.001


async def settled(app: App[Any], *_: float) -> None:
    """Wait until all messages are handled, due frames are drawn, and short work in threads is done."""
    end = monotonic() + LONGEST
    while True:
        await drained()
        if app.screen_stack and frame_due(app.screen) and monotonic() < end:
            app.screen._on_timer_update()
        elif not working(app) or monotonic() > end or not await goes_on(app):
            return


async def drained() -> None:
    """Wait until the event loop has nothing to run, except timers longer than PAUSE_SECONDS."""
    loop = asyncio.get_running_loop()
    quiet = 0
    while quiet < 2:
        await asyncio.sleep(0)
        if loop._ready:  # type: ignore[attr-defined]  # asyncio has no public name for what can run
            quiet = 0
        elif any(soon(timer, loop.time()) for timer in loop._scheduled):  # type: ignore[attr-defined]  # as above
            await asyncio.sleep(PAUSE_SECONDS)
            quiet = 0
        else:
            quiet += 1


def soon(timer: asyncio.TimerHandle, now: float) -> bool:
    """Whether the timer fires within a pause between two slices of work."""
    return not timer.cancelled() and timer.when() - now < PAUSE_SECONDS


def frame_due(screen: Screen[object]) -> bool:
    """Whether the screen has a layout, repaint or callback that waits for its next frame."""
    return not screen.app._batch_count and bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )


def working(app: App[Any]) -> bool:
    """Whether a worker thread of the application is still running."""
    return any(worker.state in (WorkerState.PENDING, WorkerState.RUNNING) for worker in app.workers)


async def goes_on(app: App[Any]) -> bool:
    """Whether the threads end, or use processor time, within STILL seconds."""
    since, used = monotonic(), seconds_of_threads()
    while working(app) and seconds_of_threads() - used < HARDLY:
        if monotonic() > since + STILL:
            return False
        await asyncio.sleep(SLICE)
    return True


def seconds_of_threads() -> float:
    """Processor seconds of all threads but this one, whose own waiting is no work."""
    return process_time() - thread_time()
