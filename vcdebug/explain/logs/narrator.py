"""From a recording to the lines that the real scheduler would have printed.

Upstream: the klog calls of one scheduling cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from vcdebug.explain.logs.actions import ActionTeller, Backfill, Enqueue, GangPreempt, GangReclaim, Shuffle
from vcdebug.explain.logs.allocate import Allocate
from vcdebug.explain.logs.asked import Asked
from vcdebug.explain.logs.evicting import Reclaim
from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.operations import Operations
from vcdebug.explain.logs.passes import Passes
from vcdebug.explain.logs.preempt import Preempt
from vcdebug.explain.logs.story import LogLine, Story, Teller, boolean, escaped
from vcdebug.framework.record import CloseEvent, Level, Span
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.trace.recording import Recording

ACTION_TELLERS: tuple[type[ActionTeller], ...] = (
    Enqueue,
    Allocate,
    Backfill,
    Preempt,
    Reclaim,
    GangPreempt,
    GangReclaim,
    Shuffle,
)
LOUDEST = 10
TOTALS = ("drf", "proportion", "capacity")


class Step(NamedTuple):
    """A span's beginning or end, or an event."""

    what: Literal["enter", "event", "leave"]
    seq: Seq
    span: Span | None


def narrate(recording: Recording, level: int = LOUDEST) -> Iterator[LogLine]:
    """The lines of a whole cycle at one -v level, in order."""
    return (line for line in _all_lines(recording) if line.level <= level)


def _all_lines(recording: Recording) -> Iterator[LogLine]:
    story = Story(recording)
    _opening(story)
    yield from story.take()
    common: list[Teller] = [Asked(story), Operations(story), Passes(story)]
    actions = {teller.name: teller(story) for teller in ACTION_TELLERS}
    action: ActionTeller | None = None
    for step in steps(recording):
        story.seq = step.seq
        if step.span is not None and step.span.level is Level.ACTION:
            action = actions.get(step.span.name) if step.what == "enter" else None
        _tell(recording, step, common, action)
        yield from story.take()
    if recording.events and isinstance(recording.events[-1], CloseEvent):
        story.say("close", uid=UNKNOWN)
        yield from story.take()


def _tell(recording: Recording, step: Step, common: list[Teller], action: ActionTeller | None) -> None:
    """An action speaks before and after what everybody else says about an event."""
    tellers = [*common, action] if action is not None else common
    if step.span is not None:
        for teller in tellers:
            (teller.enter if step.what == "enter" else teller.leave)(step.span)
        return
    event = recording.event(step.seq)
    if action is not None:
        action.ahead(event)
    for teller in tellers:
        teller.behind(event)


def _opening(story: Story) -> None:
    """What is printed before the first event: the session and the totals of the plugins that share."""
    session = story.recording.session
    for name, info in sorted(session.hyper_nodes.by_name.items()):
        children = ",".join(f"{escaped(child)}:{{}}" for child in sorted(info.children))
        story.say("hypernode", name=name, tier=info.tier, parent=info.parent, children=f"{{{children}}}")
    ready = boolean(session.hyper_nodes.ready)
    story.say("open", uid=UNKNOWN, jobs=len(session.jobs), queues=len(session.queues), ready=ready)
    for plugin in session.plugins:
        total = story.recording.timeline.opening_books.get((plugin, "", "total"))
        if plugin in TOTALS and isinstance(total, Resource):
            story.say(f"{plugin}.total", total=total)


def steps(recording: Recording) -> Iterator[Step]:
    """Events in order, with the beginnings and ends of spans between them, empty spans included."""
    children: dict[int, list[Span]] = {}
    for span in recording.spans:
        children.setdefault(span.parent, []).append(span)
    yield from _inside(children, -1, 1, len(recording))


def _inside(children: dict[int, list[Span]], index: int, first: Seq, last: Seq) -> Iterator[Step]:
    seq = first
    for child in children.get(index, ()):
        yield from (Step("event", number, None) for number in range(seq, child.first))
        yield Step("enter", child.first, child)
        yield from _inside(children, child.index, child.first, child.last)
        seq = max(seq, child.last + 1)
        yield Step("leave", max(seq - 1, 1), child)
    yield from (Step("event", number, None) for number in range(seq, last + 1))
