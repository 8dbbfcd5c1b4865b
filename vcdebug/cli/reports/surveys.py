"""The report of `vcdebug explain` about many jobs: a table per snapshot, and how often each cause is to blame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vcdebug.amount_text import plural
from vcdebug.causes.survey import Survey, Surveyed
from vcdebug.cli.many import OfMany
from vcdebug.cli.reports import pending
from vcdebug.grouping import by_key
from vcdebug.views.document import Block, listing, paragraph

Again = Callable[..., str]
"""A command, the name of a snapshot, and the job."""
HEADS = ("job", "queue", "pending#", "cause", "why")


@dataclass(frozen=True, slots=True)
class Surveys(OfMany[Survey]):
    """The jobs that wait in all snapshots."""

    again: Again
    """The command line that asks about one of the jobs."""

    @property
    def unscheduled(self) -> int:
        """Jobs that stay unscheduled."""
        return len([job for one in self.results.values() for job in one.unscheduled])

    def causes(self) -> list[tuple[str, int, int]]:
        """(cause, jobs, snapshots), the most frequent first."""
        jobs = by_key((job.explanation.cause, name) for name, one in self.results.items() for job in one.unscheduled)
        counted = [(cause, len(names), len(dict.fromkeys(names))) for cause, names in jobs.items()]
        return sorted(counted, key=lambda row: (-row[1], row[0]))


def blocks(found: Surveys) -> Iterator[Block]:
    """For people."""
    spaced = True
    for name, one in found.results.items():
        section = list(_section(name, one))
        if len(section) > 1 and not spaced:
            yield paragraph("")
        yield from section
        spaced = len(section) > 1
        if spaced:
            yield paragraph("")
    if not spaced and len(found.names) > 1:
        yield paragraph("")
    yield from _totals(found)
    if found.unscheduled:
        name, job = next((name, job) for name, one in found.results.items() for job in one.unscheduled)
        command = found.again("explain", name, job.explanation.job)
        of = ", of the first one" if found.unscheduled > 1 else ""
        yield paragraph(f"the proof, and what would help{of}: {command}", "muted")


def _section(name: str, one: Survey) -> Iterator[Block]:
    """One line where nothing waits, else a table under it."""
    yield paragraph(f"{name}: {_headline(one)}", "bad" if one.unscheduled or one.incomplete else "good")
    if one.doubt:
        yield paragraph(f"this answer may be wrong: {one.doubt}", "bad", 2)
    if one.explained:
        yield listing(HEADS, tuple(_row(job) for job in one.explained), 2, prose=True)
    if one.problems:
        yield paragraph(f"{plural(one.problems, 'problem')} with the input: vcdebug inspect says which", "muted", 2)


def _headline(one: Survey) -> str:
    if one.incomplete:
        return f"capture-incomplete: {one.incomplete}"
    if not one.jobs:
        return "not there" if one.named else "no jobs"
    waiting, partly = len(one.unscheduled), len(one.partly)
    if waiting:
        more = f", {partly} more {'is' if partly == 1 else 'are'} not whole yet" if partly else ""
        return f"{waiting} of {plural(one.jobs, 'job')} {'stays' if waiting == 1 else 'stay'} unscheduled{more}"
    if partly:
        are = "is" if partly == 1 else "are"
        return f"none of {plural(one.jobs, 'job')} stays unscheduled, {partly} {are} not whole yet"
    return "scheduled" if one.named else f"none of {plural(one.jobs, 'job')} waits"


def _row(job: Surveyed) -> tuple[str, ...]:
    found = job.explanation
    why = job.finding
    return found.pod or found.job, job.queue or "-", str(job.pending), why.cause, why.sentence


def _totals(found: Surveys) -> Iterator[Block]:
    several = len(found.names) > 1
    if several:
        surveys = found.results.values()
        looked = plural(len(surveys), "snapshot")
        if len(surveys) < len(found.names):
            looked = f"only {len(surveys)} of {plural(len(found.names), 'snapshot')}"
        jobs = len([job for one in surveys for job in range(one.jobs)])
        stay = "stays" if found.unscheduled == 1 else "stay"
        yield paragraph(f"{looked}: {found.unscheduled} of {plural(jobs, 'job')} {stay} unscheduled", "title")
    if found.unscheduled and (several or found.unscheduled > 1):
        heads = ("cause", "jobs#", "snapshots#") if several else ("cause", "jobs#")
        rows = tuple((cause, str(jobs), str(snapshots))[: len(heads)] for cause, jobs, snapshots in found.causes())
        yield listing(heads, rows, 2)
        yield paragraph("")


def document(found: Surveys) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "snapshots": found.documents(_snapshot),
        "unscheduled": found.unscheduled,
        "causes": [{"cause": cause, "jobs": jobs, "snapshots": snapshots} for cause, jobs, snapshots in found.causes()],
    }


def _snapshot(one: Survey) -> dict[str, object]:
    return {
        "jobs": one.jobs,
        "unscheduled": len(one.unscheduled),
        "problems": one.problems,
        **({"doubt": one.doubt} if one.doubt else {}),
        **({"incomplete": one.incomplete} if one.incomplete else {}),
        "explanations": [
            {"queue": job.queue, "pending": job.pending, **pending.document(job.explanation)} for job in one.explained
        ],
    }
