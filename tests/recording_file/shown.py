"""Renders everything that the debugger shows of a recording, as texts by name."""

from collections.abc import Iterator
from io import StringIO

from msgspec.structs import replace

from vcdebug.cli.reports import cycle
from vcdebug.debugger.driver import Driver
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.explain.questions.holders import find_holders
from vcdebug.recording.recording import Recording
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.views.event_view import subject_detail
from vcdebug.views.overview import overview_table
from vcdebug.views.panels import PANELS
from vcdebug.views.table import format_table

MOMENTS = (0.0, 0.3, 0.6, 1.0)
"""Positions at which the panels are drawn, as fractions of the recording."""


def shown(recording: Recording) -> dict[str, str]:
    """The trace, the report, each job's explanation, and every panel and page at some moments."""
    return {name: text for part in (_whole, _answers, _panels, _pages) for name, text in part(recording)}


def _whole(recording: Recording) -> Iterator[tuple[str, str]]:
    trace = StringIO()
    write_jsonl(recording, trace)
    yield "trace", trace.getvalue()
    yield "report", repr(cycle.cycle_document(recording, {}))
    yield "overview", format_table(overview_table(recording))
    yield "spans", repr([(span.level, span.name, span.first, span.last, span.parent) for span in recording.spans])
    yield "figures", repr(sorted(recording.timeline.opening_books.items(), key=repr))


def _answers(recording: Recording) -> Iterator[tuple[str, str]]:
    yield "survey", repr(survey_jobs(recording))
    for uid in recording.session.jobs:
        yield f"explain {uid}", repr(explain_by_name(recording, uid))
        yield f"holders {uid}", repr(find_holders(recording, uid))


def _panels(recording: Recording) -> Iterator[tuple[str, str]]:
    driver = Driver(recording)
    driver.add_breakpoint("victim")
    driver.take_step("continue", back=False)
    for seq in _moments(recording, driver.debugger.seq):
        here = driver.goto_event(seq)
        for panel in PANELS:
            yield f"{panel.command_name} at {seq}", format_table(panel.build_table(here))
    yield "moment at the start", format_table(PANELS[0].build_table(replace(driver.goto_event(1), reason="start")))


def _pages(recording: Recording) -> Iterator[tuple[str, str]]:
    session = recording.session
    named = (
        ("job", session.jobs),
        ("node", session.nodes),
        ("queue", session.queues),
        ("task", recording.timeline.tasks),
    )
    for seq in _moments(recording, 1)[:2]:
        for kind, names in named:
            for name in [*names][:3]:
                page = subject_detail(recording, seq, kind, name)
                yield f"{kind} {name} at {seq}", "" if page is None else format_table(page)


def _moments(recording: Recording, stop: int) -> list[int]:
    last = len(recording)
    return sorted({stop, *(max(1, round(last * part)) for part in MOMENTS)})
