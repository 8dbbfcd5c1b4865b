"""What ends the scheduler's process, told by the calls that led there and by the objects that they were about.

Upstream: scheduler.runOnce.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import FrameType
from typing import Final

from vcdebug.errors import ProcessExit, SchedulerPanic
from vcdebug.framework.record import PanicEvent
from vcdebug.framework.session import Plugin
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo

_UPSTREAM: Final = re.compile(r"Upstream: ([\w/.-]*\w)")

CONSTRUCTOR: Final = "new"
"""Upstream's name for what makes a plugin, in snake case."""


def panic_event(panic: SchedulerPanic | ProcessExit) -> PanicEvent:
    """The event of a panic that was caught: upstream's functions, innermost first, and the objects to blame.

    Both are read from the traceback: a raise deep in the arithmetic of amounts knows neither the plugin nor the pod.
    """
    frames = list(_frames(panic))
    calls = dict.fromkeys(name for frame in frames for name in _upstream_names(frame))
    objects: dict[str, str] = {}
    for frame in frames:
        for kind, name in _named_objects(frame):
            objects.setdefault(kind, name)
    return PanicEvent(panic.message, tuple(calls), panic.objects or tuple(objects.items()), panic.change)


def _frames(panic: BaseException) -> Iterator[FrameType]:
    """The frames that the panic went through, innermost first, those of a panic that it replaces before its own."""
    if panic.__cause__ is not None:
        yield from _frames(panic.__cause__)
    found = []
    step = panic.__traceback__
    while step is not None:
        found.append(step.tb_frame)
        step = step.tb_next
    yield from reversed(found)


def _upstream_names(frame: FrameType) -> list[str]:
    """What the docstring says; a plugin's hook, which says nothing, is named by the plugin and the hook."""
    code, owner = frame.f_code, frame.f_locals.get("self")
    stated = _UPSTREAM.findall(code.co_consts[0]) if code.co_consts and isinstance(code.co_consts[0], str) else []
    if stated or not isinstance(owner, Plugin):
        return stated
    name = CONSTRUCTOR if code.co_name == "__init__" else code.co_name
    return [] if name.startswith("_") else [f"plugins/{owner.name}.{name.title().replace('_', '')}"]


def _named_objects(frame: FrameType) -> Iterator[tuple[str, str]]:
    for held in frame.f_locals.values():
        match held:
            case TaskInfo():
                yield "Pod", held.key
            case JobInfo():
                yield "PodGroup", held.uid
            case NodeInfo():
                yield "Node", held.name
            case QueueInfo():
                yield "Queue", held.name
