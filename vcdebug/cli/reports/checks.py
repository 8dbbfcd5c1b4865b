"""The reports of `vcdebug check`, `inspect --against`, `expect` and `verify`: the replay against something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun, format_count, join_names
from vcdebug.explain.job_view import workload_names
from vcdebug.grouping import group_by_key
from vcdebug.views.document import Block, make_listing, make_paragraph, release_paragraph

# Each command loads the room of its own check; the others are types here, and cost its start-up nothing.
if TYPE_CHECKING:
    from vcdebug.comparison.cache_dump import DumpComparison
    from vcdebug.comparison.scheduler_log import Disagreement, KlogLine, LogCheck, LogComparison
    from vcdebug.conformance import Verification
    from vcdebug.conformance.cycle_outcome import CycleOutcome
    from vcdebug.conformance.verdicts import JobVerdict, OutcomeDifference
    from vcdebug.debugger.expectations import ExpectationVerdict
    from vcdebug.releases.release import Release

DISAGREEMENT_WORDS = {
    "different": "log and replay differ",
    "missing": "line missing in the log",
    "extra": "unexpected line in the log",
    "order": "two lines are in a different order",
}
LOG_ENDS, REPLAY_ENDS = "(end of the cycle in the log)", "(end of the replay's lines)"


def log_check_document(checked: LogCheck) -> dict[str, object]:
    """The JSON document of a checked log; the keys are a contract."""
    best = checked.best
    return {
        "agrees": checked.has_no_disagreement,
        "cycle": best.cycle.number,
        "cycles": checked.cycles,
        "complete": best.cycle.complete,
        "level": best.level,
        "lines": best.total,
        "compared": best.covered,
        "agreed": best.compared,
        "reordered": best.reordered,
        "disagreement": None if best.disagreement is None else _disagreement_document(best.disagreement),
    }


def _disagreement_document(found: Disagreement) -> dict[str, object]:
    return {
        "kind": found.kind,
        "log": None if found.line is None else _log_document(found.line),
        "replay": None if found.said is None else {"seq": found.said.seq, "text": found.said.text},
        "lastAgreed": None if found.agreed is None else _log_document(found.agreed),
    }


def _log_document(line: KlogLine) -> dict[str, object]:
    return {"line": line.number, "text": line.text}


def log_check_blocks(checked: LogCheck) -> Iterator[Block]:
    """The text report: the first disagreement with both sides, and how much is compared."""
    best = checked.best
    if best.disagreement is None:
        yield make_paragraph("log and replay agree", "good")
    else:
        yield make_paragraph(f"disagreement: {DISAGREEMENT_WORDS[best.disagreement.kind]}", "bad")
        yield from _disagreement_blocks(best.disagreement)
        yield make_paragraph("")
    yield from _extent_blocks(checked, best)


def _disagreement_blocks(found: Disagreement) -> Iterator[Block]:
    if found.agreed is not None:
        yield make_paragraph(f"after   {_log_side(found.agreed)}", "muted", 2)
    yield make_paragraph(f"log     {LOG_ENDS if found.line is None else _log_side(found.line)}", indent=2)
    yield make_paragraph(
        f"replay  {REPLAY_ENDS if found.said is None else f'event {found.said.seq}: {found.said.text}'}", indent=2
    )


def _log_side(line: KlogLine) -> str:
    return f"line {line.number}: {line.text}"


def _extent_blocks(checked: LogCheck, best: LogComparison) -> Iterator[Block]:
    rest = "" if best.cycle.complete else " (incomplete in the log)"
    yield make_paragraph(
        f"cycle {best.cycle.number} of {checked.cycles} in the log{rest} (detected level -v={best.level})"
    )
    yield make_paragraph(
        f"compared {format_count(best.covered)} of {format_count(best.total)} lines; "
        f"{format_count(best.compared)} match"
    )
    if best.reordered:
        yield make_paragraph(
            f"{format_count(best.reordered)} lines of parallel workers match in a different order", "muted"
        )


# `vcdebug inspect --against`


def dump_document(comparison: DumpComparison) -> dict[str, object]:
    """The JSON document of a compared dump; the keys are a contract."""
    return {
        "agrees": comparison.has_no_difference,
        "nodes": comparison.nodes,
        "jobs": comparison.jobs,
        "fields": comparison.fields,
        "differences": [asdict(difference) for difference in comparison.differences],
        "unread": list(comparison.unread),
        "brokenAtLine": comparison.broken_at,
    }


def dump_blocks(comparison: DumpComparison) -> Iterator[Block]:
    """The text report: a row per field that differs."""
    if comparison.unread:
        text = f"the dump is unreadable after line {comparison.broken_at}; not compared: {', '.join(comparison.unread)}"
        yield make_paragraph(text, "bad")
    if comparison.differences:
        yield make_paragraph(f"differences: {format_count(len(comparison.differences))}", "bad")
        rows = tuple((one.object, one.field or "-", one.dumped, one.replayed) for one in comparison.differences)
        yield make_listing(("object", "field", "dump", "replay"), rows, 2)
    elif not comparison.unread:
        yield make_paragraph("dump and replay agree", "good")
    compared = f"{count_noun(comparison.nodes, 'node')} and {count_noun(comparison.jobs, 'job')}"
    yield make_paragraph(f"compared {count_noun(comparison.fields, 'value')} of {compared}")


# `vcdebug expect`


@dataclass(frozen=True, slots=True)
class CheckedExpectation:
    """The verdicts of one expectation, or why its snapshot could not be replayed."""

    name: str
    verdicts: tuple[ExpectationVerdict, ...]
    seconds: float
    error: str = ""
    release: Release | None = None
    """What was replayed; None where nothing could be."""

    @property
    def is_met(self) -> bool:
        """Whether the replay ran and met every check."""
        return not self.error and all(verdict.met for verdict in self.verdicts)

    @property
    def unmet_verdicts(self) -> tuple[ExpectationVerdict, ...]:
        """The checks that the replay did not meet."""
        return tuple(verdict for verdict in self.verdicts if not verdict.met)


def expectations_document(checked: Sequence[CheckedExpectation]) -> dict[str, object]:
    """The JSON document of all expectations; the keys are a contract."""
    return {
        "met": all(one.is_met for one in checked),
        "expectations": [
            {
                "name": one.name,
                "met": one.is_met,
                "error": one.error or None,
                "checks": [verdict._asdict() for verdict in one.verdicts],
                "release": one.release.build_document() if one.release is not None else None,
            }
            for one in checked
        ],
    }


def expectation_blocks(checked: Sequence[CheckedExpectation]) -> Iterator[Block]:
    """The text report: a line per expectation, and each difference; each release once, with what it replayed."""
    releases = group_by_key((one.release, one.name) for one in checked if one.release is not None)
    for one in checked:
        yield make_paragraph(
            f"{'✓' if one.is_met else '✗'} {one.name}: {_check_summary(one)}", "good" if one.is_met else "bad"
        )
        if one.unmet_verdicts:
            rows = tuple((v.about, v.field, _value_text(v.expected), _value_text(v.actual)) for v in one.unmet_verdicts)
            yield make_listing(("about", "field", "expected", "replayed"), rows, 2)
    failed = len([one for one in checked if not one.is_met])
    yield make_paragraph(f"{count_noun(len(checked), 'expectation')}, {failed} failed", "bad" if failed else "good")
    for release, names in releases.items():
        yield release_paragraph(release, f"{join_names(names)}: " if len(releases) > 1 else "")


def _check_summary(one: CheckedExpectation) -> str:
    if one.error:
        return one.error
    return f"{len(one.verdicts) - len(one.unmet_verdicts)} of {count_noun(len(one.verdicts), 'check')} passed"


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def junit_xml(checked: Sequence[CheckedExpectation]) -> str:
    """JUnit XML: a suite per expectation, a case per check."""
    import xml.etree.ElementTree as ET

    root = ET.Element("testsuites", name="vcdebug expect")
    for one in checked:
        suite = ET.SubElement(root, "testsuite", name=one.name, time=f"{one.seconds:.3f}")
        suite.set("tests", str(max(1, len(one.verdicts))))
        suite.set("failures", str(len(one.unmet_verdicts)))
        suite.set("errors", str(int(bool(one.error))))
        for verdict in one.verdicts:
            case = ET.SubElement(suite, "testcase", classname=one.name, name=f"{verdict.about} {verdict.field}")
            if not verdict.met:
                message = f"expected {_value_text(verdict.expected)}, got {_value_text(verdict.actual)}"
                ET.SubElement(case, "failure", message=message)
        if one.error:
            case = ET.SubElement(suite, "testcase", classname=one.name, name="replay")
            ET.SubElement(case, "error", message=one.error)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


# `vcdebug verify`

DIFFERENCE_HEADS = ("job", "", "about", "replay", "scheduler")
VERDICT_WORDS = ("agreed", "different text", "random choice", "differs", "overtaken")
MAX_SHOWN_CHOICES = 6
MAX_SHOWN_JOBS = 50
MAX_SHOWN_TEXT = 72


def verification_blocks(found: Verification) -> Iterator[Block]:
    """The text report: the counts, then what differs."""
    yield make_paragraph(_verification_headline(found), "good" if found.is_agreed else "bad")
    yield release_paragraph(found.recording.snapshot.release)
    yield make_paragraph(f"scheduler: {_outcome_summary(found.observed)}; replay: {_outcome_summary(found.predicted)}")
    if found.is_inconclusive:
        overtaken = "other clients changed what every decision depended on; run it again"
        idle = "neither the replay nor the scheduler decided anything; run it when there is a new job"
        yield make_paragraph(f"inconclusive: {overtaken if found.has_decisions else idle}", "bad")
    if found.ended:
        yield make_paragraph(found.ended, "bad")
    if found.predicted.panic:
        yield make_paragraph(f"the replay predicts a panic: {found.predicted.panic}")
    if found.chance:
        more = f" and {len(found.chance) - MAX_SHOWN_CHOICES} more" if len(found.chance) > MAX_SHOWN_CHOICES else ""
        yield make_paragraph(
            f"random choices taken from the scheduler: {', '.join(found.chance[:MAX_SHOWN_CHOICES])}{more}"
        )
    yield from (make_paragraph(note) for note in found.notes)
    names = workload_names(found.recording.snapshot)
    other = [replace(one, job=names.get(one.job, one.job)) for one in found.jobs if one.word != "agreed"]
    if other:
        yield make_paragraph("")
        yield make_listing(
            DIFFERENCE_HEADS, [row for one in other[:MAX_SHOWN_JOBS] for row in _difference_rows(one)], 2, prose=True
        )
    if len(other) > MAX_SHOWN_JOBS:
        yield make_paragraph(f"{count_noun(len(other) - MAX_SHOWN_JOBS, 'more job')} in --json")
    for one in other[:MAX_SHOWN_JOBS]:
        yield from _reason_blocks(one)
    if found.parting is not None and not found.is_agreed:
        yield make_paragraph("")
        yield from _first_difference_blocks(found)


def _verification_headline(found: Verification) -> str:
    counts = ", ".join(f"{found.count_verdicts(word)} {word}" for word in VERDICT_WORDS if found.count_verdicts(word))
    name = found.recording.snapshot.name or "snapshot"
    cycle = f", cycle {found.number}" if found.number > 1 else ""
    return f"{name}{cycle}: {count_noun(len(found.jobs), 'job')}, {counts or 'none with decisions'}"


def _outcome_summary(outcome: CycleOutcome) -> str:
    said = f"conditions on {count_noun(len(outcome.groups), 'PodGroup')} and {count_noun(len(outcome.waiting), 'pod')}"
    return f"{len(outcome.bound)} bound, {len(outcome.evicted)} evicted, {said}"


def _difference_rows(one: JobVerdict) -> Iterator[tuple[str, ...]]:
    decided = [difference for difference in one.differences if difference.is_decision] or one.differences
    for place, difference in enumerate(decided):
        yield (*((one.job, one.word) if place == 0 else ("", "")), *_difference_cells(difference))


def _difference_cells(one: OutcomeDifference) -> tuple[str, str, str]:
    about = f"{one.what} {one.subject}" if one.subject != one.job else one.what
    return about, *excerpts_around_difference(one.predicted, one.observed)


def excerpts_around_difference(left: str, right: str) -> tuple[str, str]:
    """Both texts; long ones are cut to begin shortly before their first difference."""
    same = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    begin = max(0, same - MAX_SHOWN_TEXT // 4) if max(len(left), len(right)) > MAX_SHOWN_TEXT else 0
    return _excerpt_text(left, begin), _excerpt_text(right, begin)


def _excerpt_text(text: str, begin: int) -> str:
    if len(text) <= MAX_SHOWN_TEXT:
        return text
    end = begin + MAX_SHOWN_TEXT
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _reason_blocks(one: JobVerdict) -> Iterator[Block]:
    if one.decision is not None:
        where = f"event {one.decision.seq}: " if one.decision.seq is not None else ""
        yield make_paragraph(f"{one.job}: {where}{one.decision.text}", indent=2)
    for change in one.changes:
        yield make_paragraph(f"{one.job}: meanwhile {change}", indent=2)


def _first_difference_blocks(found: Verification) -> Iterator[Block]:
    parting = found.parting
    if parting is None:
        return
    where = f" (event {parting.seq})" if parting.seq is not None else ""
    yield make_paragraph(f"first log difference{where}:")
    yield make_paragraph(f"log:    {parting.logged or '(end)'}", indent=2)
    yield make_paragraph(f"replay: {parting.replayed or '(end)'}", indent=2)


def verification_document(found: Verification) -> dict[str, object]:
    """The JSON document of a verification; the keys are a contract."""
    parting = found.parting
    return {
        "agrees": found.is_agreed and not found.is_inconclusive,
        "inconclusive": found.is_inconclusive,
        "name": found.recording.snapshot.name,
        "cycle": found.number,
        "release": found.recording.snapshot.release.stated,
        "replayedRelease": found.recording.snapshot.release.build_document(),
        "counts": {word.replace(" ", "_"): found.count_verdicts(word) for word in VERDICT_WORDS},
        "predicted": _outcome_numbers(found.predicted),
        "observed": _outcome_numbers(found.observed),
        "ended": found.ended or None,
        "panic": found.predicted.panic or None,
        "chance": list(found.chance),
        "tried": found.tried,
        "cycles": found.cycles,
        "notes": list(found.notes),
        "seconds": round(found.seconds, 3),
        "jobs": [_verdict_document(one) for one in found.jobs],
        "parting": None if parting is None else {"seq": parting.seq, "log": parting.logged, "replay": parting.replayed},
    }


def _outcome_numbers(outcome: CycleOutcome) -> dict[str, int]:
    return {
        "bound": len(outcome.bound),
        "evicted": len(outcome.evicted),
        "nominated": len(outcome.nominated),
        "podGroups": len(outcome.groups),
        "waiting": len(outcome.waiting),
    }


def _verdict_document(one: JobVerdict) -> dict[str, object]:
    decision = one.decision
    return {
        "job": one.job,
        "verdict": one.word,
        "differences": [
            {"about": found.subject, "what": found.what, "replay": found.predicted, "scheduler": found.observed}
            for found in one.differences
        ],
        "decision": None if decision is None else {"seq": decision.seq, "text": decision.text},
        "meanwhile": list(one.changes),
    }
