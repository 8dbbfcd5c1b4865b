"""The reports of `vcdebug run` and `odds`: one cycle, several cycles, or many random runs of a cycle."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from vcdebug.amount_text import count_noun, format_percent_number
from vcdebug.cli.reports.contents import input_problem_lines
from vcdebug.cli.reports.explanation import command_line
from vcdebug.debugger.commands.cycles import describe_repeat
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.grouping import named_attributes
from vcdebug.recording.effects import Effects, cycle_effects
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.recording import Recording
from vcdebug.recording.session_closing import crash_report
from vcdebug.recording.writes import api_writes
from vcdebug.views.comparison import cycle_table
from vcdebug.views.document import Block, make_listing, make_paragraph, titled_listing, titled_texts
from vcdebug.views.effects import action_table, iter_move_tables, job_table
from vcdebug.views.headline import event_headline, path_words
from vcdebug.views.overview import iter_pending_lines
from vcdebug.whatif.cycles import find_repeat

if TYPE_CHECKING:
    from vcdebug.whatif.odds import DivergenceCount, OddsTally


def _effects_in(recording: Recording, namespace: str) -> Effects:
    """The effects of a cycle; with a namespace, only those on its jobs and pods."""
    effects = cycle_effects(recording)
    if not namespace:
        return effects
    moved = {
        name: tuple(effect for effect in moves if effect.task.startswith(f"{namespace}/"))
        for name, moves in named_attributes(effects, "bound pipelined held evicted").items()
    }
    return replace(effects, **moved, jobs=tuple(job for job in effects.jobs if job.job.startswith(f"{namespace}/")))


def cycle_document(recording: Recording, seconds: Mapping[str, float], namespace: str = "") -> dict[str, object]:
    """The JSON document of a cycle; everything but `seconds` depends on the snapshot alone."""
    effects, begin = _effects_in(recording, namespace), f"{namespace}/" if namespace else ""
    return {
        "snapshot": recording.snapshot.name,
        "release": recording.snapshot.release.build_document(),
        "events": len(recording),
        "seconds": {stage: round(value, 6) for stage, value in seconds.items()},
        "actions": [asdict(action) for action in effects.actions],
        "bound": [asdict(entry) for entry in effects.bound],
        "pipelined": [asdict(entry) for entry in effects.pipelined],
        "held": [asdict(entry) for entry in effects.held],
        "evicted": [asdict(entry) for entry in effects.evicted],
        "writes": [write._asdict() for write in api_writes(recording) if write.object.startswith(begin)],
        "jobs": [job._asdict() for job in effects.jobs],
        "notes": [named_attributes(note, "seq code text") for note in recording.notes],
        "problems": [problem.format_line() for problem in input_problems(recording)],
        "panic": effects.panic,
        # Present only for a recording that was cut off: programs test for the key.
        **({"cut": recording.cut_event.bound} if recording.cut_event is not None else {}),
    }


def cycle_blocks(recording: Recording, seconds: Mapping[str, float], namespace: str = "") -> Iterator[Block]:
    """The text report of a cycle, or of what it did in a namespace; `seconds` are those of each stage and action."""
    effects = _effects_in(recording, namespace)
    yield make_paragraph(_cycle_title(recording, seconds), "title")
    yield make_paragraph(recording.snapshot.release.describe_trust())
    yield from input_problem_lines(recording)
    yield make_paragraph("")
    yield action_table(effects, seconds)
    if effects.panic is not None:
        message, *known = crash_report(recording)
        yield make_paragraph(message, "bad")
        yield from (make_paragraph(text, indent=2) for text in (*known, _panic_cost(recording)))
    if recording.cut_event is not None:
        yield make_paragraph(f"stopped at the limit of {recording.cut_event.bound}; the cycle is incomplete", "bad")
    for table in iter_move_tables(effects):
        yield from (make_paragraph(""), table)
    yield from _waiting_blocks(recording, namespace)
    yield make_paragraph("")
    yield job_table(effects)
    forced = [f"event {note.seq}  {note.text}" for note in recording.notes if note.code == FORCED_CODE]
    quirks = [f"event {note.seq}  {note.code}: {note.text}" for note in recording.notes if note.code != FORCED_CODE]
    yield from titled_texts("forced answers", forced)
    yield from titled_texts("scheduler quirks that occurred", quirks)


def _panic_cost(recording: Recording) -> str:
    effects = cycle_effects(recording)
    sent = f"{count_noun(len(effects.bound), 'bind')} and {count_noun(len(effects.evicted), 'eviction')}"
    statuses = len([write for write in api_writes(recording) if write.verb in ("status", "condition")])
    closed = "no status or condition of this cycle is written"
    if recording.session.close is not None:
        closed = f"the session still closes and writes {count_noun(statuses, 'status update')}"
    return f"its process ends here: {sent} had been sent, {closed}, and the next process is likely to panic again"


def _cycle_title(recording: Recording, seconds: Mapping[str, float]) -> str:
    session = recording.session
    pods = len(recording.snapshot.objects_of("Pod"))
    size = (
        f"{count_noun(len(session.nodes), 'node')}, {count_noun(len(session.jobs), 'job')}, {count_noun(pods, 'pod')}"
    )
    name = recording.snapshot.name or "snapshot"
    return f"{name}: {size}; {count_noun(len(recording), 'event')} in {seconds.get('cycle', 0.0):.3f} s"


def _waiting_blocks(recording: Recording, namespace: str) -> Iterator[Block]:
    begin = f"{namespace}/" if namespace else ""
    rows = [(line.name, line.text) for line in iter_pending_lines(recording) if line.name.startswith(begin)]
    return titled_listing("Pending, reserved or evicted", ("job", "why"), rows, prose=True)


def explain_hint(recording: Recording, args: Namespace) -> Iterator[Block]:
    """The command that explains the Pending jobs; no block where there is none."""
    begin = f"{args.namespace}/" if args.namespace else ""
    if any(line.mark.style == "bad" and line.name.startswith(begin) for line in iter_pending_lines(recording)):
        yield make_paragraph("")
        options = ("-n", args.namespace) if args.namespace else ()
        yield make_paragraph(f"Why, with fixes: {command_line(args, 'explain', args.snapshot, *options)}", "muted")


# `vcdebug run --cycles`


def cycles_document(
    recordings: Sequence[Recording], seconds: Mapping[str, float], namespace: str = ""
) -> dict[str, object]:
    """The JSON document of several cycles: that of `run` per cycle, and the first repeat."""
    repeat = find_repeat(recordings)
    return {
        "cycles": [
            {
                "cycle": number,
                "now": recording.snapshot.now.isoformat(),
                **cycle_document(recording, seconds if number == 1 else {}, namespace),
            }
            for number, recording in enumerate(recordings, start=1)
        ],
        "repeat": None
        if repeat is None
        else named_attributes(repeat, "cycle=later_cycle repeats=earlier_cycle evicted givenBack=discarded_evictions"),
    }


def cycles_blocks(
    recordings: Sequence[Recording], seconds: Mapping[str, float], namespace: str = ""
) -> Iterator[Block]:
    """The text report: the first cycle in full, then a row per cycle."""
    yield from cycle_blocks(recordings[0], seconds, namespace)
    yield make_paragraph("")
    yield replace(cycle_table(tuple(recordings), 0, "cycles"), header=(), footer=(), indent=2)
    repeat = find_repeat(recordings)
    if repeat is None:
        yield make_paragraph("no repeating cycles", indent=2)
    else:
        yield make_paragraph(describe_repeat(repeat), "bad", indent=2)


# `vcdebug odds`

JOB_ODDS_HEADS = ("job", "queue", "scheduled#", "runs#", "%#", "any pod placed#", "fixed choices")
MAP_ORDER_WORDS = "map iteration order"
PARTING_HEADS = ("event#", "runs#", "other result#", "tie#", "operation with fixed choices (random choice before it)")


def odds_blocks(odds: OddsTally, base: Recording, runs: int) -> Iterator[Block]:
    """The text report of the random runs; `runs` is how many were requested."""
    name = base.snapshot.name or "snapshot"
    outcomes = "all with the same result" if odds.is_certain else f"{odds.outcomes} different results"
    draws = (
        count_noun(odds.draw_count, "random run")
        if odds.draw_count == runs
        else f"only {odds.draw_count} of {count_noun(runs, 'random run')} completed"
    )
    yield make_paragraph(f"{name}: {draws}, {outcomes}", "good" if odds.is_certain else "bad")
    if odds.panics:
        yield make_paragraph(f"the scheduler panics in {count_noun(odds.panics, 'run')}", "bad")
    yield make_paragraph("")
    yield make_listing(JOB_ODDS_HEADS, tuple(_job_odds_rows(odds)))
    yield from titled_listing("evicted", ("pod", "runs#"), [(task, str(count)) for task, count in odds.evictions])
    spread = [(job, str(count)) for job, count in odds.spread_jobs]
    yield from titled_listing("in different HyperNodes (soft networkTopology)", ("job", "runs#"), spread)
    parting = [_divergence_row(divergence, base) for divergence in odds.divergences]
    yield from titled_listing("first difference from the run with fixed choices", PARTING_HEADS, parting, prose=True)
    yield from _first_divergence_blocks(odds.first_that_matters, base)


def _first_divergence_blocks(divergence: DivergenceCount | None, base: Recording) -> Iterator[Block]:
    if divergence is None:
        return
    choice = _event_words(base, divergence.tie_seq) if divergence.tie_seq is not None else MAP_ORDER_WORDS
    place = f"event {divergence.tie_seq}" if divergence.tie_seq is not None else f"before event {divergence.seq}"
    yield make_paragraph("")
    yield make_paragraph(
        f"first random choice that changes the result: {choice} ({place}), in {count_noun(divergence.differing, 'run')}"
    )


def _job_odds_rows(odds: OddsTally) -> Iterator[tuple[str, ...]]:
    for job in odds.jobs:
        share = format_percent_number(job.placed_count, odds.draw_count)
        base = "scheduled" if job.base else "Pending"
        yield job.job, job.queue, str(job.placed_count), str(odds.draw_count), share, str(job.moved_count), base


def _divergence_row(divergence: DivergenceCount, base: Recording) -> tuple[str, ...]:
    tie = _event_words(base, divergence.tie_seq) if divergence.tie_seq is not None else MAP_ORDER_WORDS
    numbers = (divergence.seq, divergence.draw_count, divergence.differing)
    words = f"{_event_words(base, divergence.seq)} (after random choice: {tie})"
    return *map(str, numbers), str(divergence.tie_seq or "-"), words


def _event_words(recording: Recording, seq: int) -> str:
    headline = event_headline(recording, seq)
    return f"{' > '.join(path_words(recording, seq))}  {headline.event_text}  {headline.outcome.text}".strip()


def odds_document(odds: OddsTally, base: Recording, runs: int) -> dict[str, object]:
    """The JSON document of the random runs; the keys are a contract."""
    return {
        "draws": odds.draw_count,
        "wanted": runs,
        "outcomes": odds.outcomes,
        "panics": odds.panics,
        "jobs": [
            {**named_attributes(job, "job queue placed=placed_count moved=moved_count"), "undrawn": job.base}
            for job in odds.jobs
        ],
        "evictions": [{"task": task, "draws": count} for task, count in odds.evictions],
        "spreadJobs": [{"job": job, "draws": count} for job, count in odds.spread_jobs],
        "divergences": [
            {
                "seq": divergence.seq,
                "text": _event_words(base, divergence.seq),
                **named_attributes(divergence, "tie=tie_seq draws=draw_count other_outcome=differing"),
            }
            for divergence in odds.divergences
        ],
    }
