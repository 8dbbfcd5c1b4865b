"""Waiting until the application has done all that there is to do, without any time of rest."""

from __future__ import annotations

import asyncio
from time import monotonic, process_time

from textual.app import App
from textual.screen import Screen
from textual.worker import WorkerState

from vcdebug.tui.widgets.grid import PAUSE_SECONDS

SLICE = 0.002
"""Seconds that a thread is given at a time."""
LONGEST = 1.0
"""Seconds after which work in a thread counts as long: whoever needs its end waits for what it leads to."""
STILL = 0.02
"""Seconds after which a thread that has used hardly any processor time counts as waiting for something itself."""
HARDLY = STILL / 20


async def settled(app: App[int], *_: float) -> None:
    """Every message is handled, every frame that is due is drawn, short work in threads is done."""
    end = monotonic() + LONGEST
    while True:
        await drained()
        if app.screen_stack and frame_due(app.screen) and monotonic() < end:
            app.screen._on_timer_update()
        elif not working(app) or monotonic() > end or not await goes_on(app):
            return


async def drained() -> None:
    """Nothing else in this thread can run, but for what waits longer than the slices of a table's work."""
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
    """Whether it fires within a pause between two slices of work."""
    return not timer.cancelled() and timer.when() - now < PAUSE_SECONDS


def frame_due(screen: Screen[object]) -> bool:
    """Whether the screen waits for its next frame to lay itself out or to draw."""
    return not screen.app._batch_count and bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )


def working(app: App[int]) -> bool:
    """Whether a thread still works for the application."""
    return any(worker.state in (WorkerState.PENDING, WorkerState.RUNNING) for worker in app.workers)


async def goes_on(app: App[int]) -> bool:
    """Whether the threads end or get on while they are given some time."""
    since, used = monotonic(), process_time()
    while working(app) and monotonic() < since + STILL:
        await asyncio.sleep(SLICE)
    return not working(app) or process_time() - used > HARDLY
