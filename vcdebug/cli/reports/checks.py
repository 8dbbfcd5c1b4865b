"""The reports of `vcdebug check`, `inspect --against`, `expect` and `verify`: the replay against something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from vcdebug.amount_text import count_noun, format_count, join_names
from vcdebug.grouping import group_by_key, named_attributes
from vcdebug.views import document
from vcdebug.views.pieces import Piece

# Each command imports only the package of its own check; the others are imported as types only.
if TYPE_CHECKING:
    from vcdebug.comparison.cache_dump import DumpComparison
    from vcdebug.comparison.scheduler_log import Disagreement, KlogLine, LogCheck, LogComparison
    from vcdebug.conformance import Verification
    from vcdebug.conformance.cycle_outcome import CycleOutcome
    from vcdebug.conformance.verdicts import JobVerdict, OutcomeDifference
    from vcdebug.debugger.expectations import ExpectationVerdict
    from vcdebug.releases.release import Release
    from vcdebug.snapshot.job_names import JobNames

DISAGREEMENT_WORDS = {
    "different": "log and replay differ",
    "missing": "line missing in the log",
    "extra": "unexpected line in the log",
    "order": "two lines are in a different order",
}
LOG_ENDS, REPLAY_ENDS = "(end of the cycle in the log)", "(end of the replay's lines)"


def log_check_document(checked: LogCheck) -> dict[str, object]:
    """The JSON document of a checked log; the keys are a contract."""
    best = checked.best_comparison
    return {
        "agrees": checked.has_no_disagreement,
        "cycle": best.cycle.number,
        "cycles": checked.cycles,
        "complete": best.is_whole_cycle,
        "level": best.level,
        "lines": best.total,
        "compared": best.covered_count,
        "agreed": best.agreeing_count,
        "reordered": best.reordered,
        "disagreement": None if best.disagreement is None else _disagreement_document(best.disagreement),
    }


def _disagreement_document(disagreement: Disagreement) -> dict[str, object]:
    return {
        "kind": disagreement.kind,
        "log": None if disagreement.logged is None else _log_document(disagreement.logged),
        "replay": None
        if disagreement.replayed is None
        else {"seq": disagreement.replayed.seq, "text": disagreement.replayed.text},
        "lastAgreed": None if disagreement.agreed is None else _log_document(disagreement.agreed),
    }


def _log_document(line: KlogLine) -> dict[str, object]:
    return {"line": line.number, "text": line.text}


def log_check_blocks(checked: LogCheck) -> Iterator[document.Block]:
    """The text report: the first disagreement with both sides, and how much is compared."""
    best = checked.best_comparison
    if best.disagreement is None:
        yield document.make_paragraph("log and replay agree", "good")
    else:
        yield document.make_paragraph(f"disagreement: {DISAGREEMENT_WORDS[best.disagreement.kind]}", "bad")
        yield from _disagreement_blocks(best.disagreement)
        yield document.make_paragraph("")
    yield from _extent_blocks(checked, best)


def _disagreement_blocks(disagreement: Disagreement) -> Iterator[document.Block]:
    if disagreement.agreed is not None:
        yield document.make_paragraph(f"after   {_log_side(disagreement.agreed)}", "muted", 2)
    yield document.make_paragraph(
        f"log     {LOG_ENDS if disagreement.logged is None else _log_side(disagreement.logged)}", indent=2
    )
    replayed = disagreement.replayed
    yield document.make_paragraph(
        f"replay  {REPLAY_ENDS if replayed is None else f'event {replayed.seq}: {replayed.text}'}", indent=2
    )


def _log_side(line: KlogLine) -> str:
    return f"line {line.number}: {line.text}"


def _extent_blocks(checked: LogCheck, best: LogComparison) -> Iterator[document.Block]:
    # A part of a cycle can lack the lines that show the level.
    note = f" (detected level -v={best.level})" if best.is_whole_cycle else " (incomplete in the log)"
    yield document.make_paragraph(f"cycle {best.cycle.number} of {checked.cycles} in the log{note}")
    yield document.make_paragraph(
        f"compared {format_count(best.covered_count)} of {format_count(best.total)} lines; "
        f"{format_count(best.agreeing_count)} match"
    )
    if best.reordered:
        yield document.make_paragraph(
            f"{format_count(best.reordered)} lines of parallel workers match in a different order", "muted"
        )


# `vcdebug inspect --against`


def dump_document(comparison: DumpComparison) -> dict[str, object]:
    """The JSON document of a compared dump; the keys are a contract."""
    return {
        **named_attributes(comparison, "agrees=has_no_difference nodes jobs fields"),
        "differences": [asdict(difference) for difference in comparison.differences],
        **named_attributes(comparison, "unread brokenAtLine=broken_at"),
    }


def dump_blocks(comparison: DumpComparison) -> Iterator[document.Block]:
    """The text report: a row per field that differs."""
    if comparison.unread:
        text = f"the dump is unreadable after line {comparison.broken_at}; not compared: {', '.join(comparison.unread)}"
        yield document.make_paragraph(text, "bad")
    if comparison.differences:
        yield document.make_paragraph(f"differences: {format_count(len(comparison.differences))}", "bad")
        rows = tuple((row.object, row.field or "-", row.dumped, row.replayed) for row in comparison.differences)
        yield document.make_listing(("object", "field", "dump", "replay"), rows, 2)
    elif not comparison.unread:
        yield document.make_paragraph("dump and replay agree", "good")
    compared = f"{count_noun(comparison.nodes, 'node')} and {count_noun(comparison.jobs, 'job')}"
    yield document.make_paragraph(f"compared {count_noun(comparison.fields, 'value')} of {compared}")


# `vcdebug expect`


class CheckedExpectation(Struct, frozen=True):
    """The verdicts of one expectation, or why its snapshot could not be replayed."""

    name: str
    verdicts: tuple[ExpectationVerdict, ...]
    seconds: float
    error: str = ""
    release: Release | None = None
    """The replayed release; None if the snapshot could not be replayed."""
    job_names: JobNames | None = None

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
        "met": all(case.is_met for case in checked),
        "expectations": [
            {
                "name": case.name,
                "met": case.is_met,
                "error": case.error or None,
                "checks": [verdict._asdict() for verdict in case.verdicts],
                "release": case.release.build_document() if case.release is not None else None,
            }
            for case in checked
        ],
    }


def expectation_blocks(checked: Sequence[CheckedExpectation]) -> Iterator[document.Block]:
    """The text report: a line per expectation, each difference, and each replayed release once."""
    releases = group_by_key((case.release, case.name) for case in checked if case.release is not None)
    for case in checked:
        yield document.make_paragraph(
            f"{'✓' if case.is_met else '✗'} {case.name}: {_check_summary(case)}", "good" if case.is_met else "bad"
        )
        if unmet := case.unmet_verdicts:
            rows = tuple((v.about, v.field, _value_text(v.expected), _value_text(v.actual)) for v in unmet)
            listing = document.make_listing(("about", "field", "expected", "replayed"), rows, 2)
            yield listing if case.job_names is None else document.name_jobs(listing, case.job_names)
    failed = len([case for case in checked if not case.is_met])
    yield document.make_paragraph(
        f"{count_noun(len(checked), 'expectation')}, {failed} failed", "bad" if failed else "good"
    )
    yield from document.iter_release_paragraphs(releases)


def _check_summary(case: CheckedExpectation) -> str:
    if case.error:
        return case.error
    return f"{len(case.verdicts) - len(case.unmet_verdicts)} of {count_noun(len(case.verdicts), 'check')} passed"


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def junit_xml(checked: Sequence[CheckedExpectation]) -> str:
    """JUnit XML: a suite per expectation, a case per check."""
    import xml.etree.ElementTree as ET

    root = ET.Element("testsuites", name="vcdebug expect")
    for case in checked:
        suite = ET.SubElement(root, "testsuite", name=case.name, time=f"{case.seconds:.3f}")
        suite.set("tests", str(max(1, len(case.verdicts))))
        suite.set("failures", str(len(case.unmet_verdicts)))
        suite.set("errors", str(int(bool(case.error))))
        for verdict in case.verdicts:
            test_case = ET.SubElement(suite, "testcase", classname=case.name, name=f"{verdict.about} {verdict.field}")
            if not verdict.met:
                message = f"expected {_value_text(verdict.expected)}, got {_value_text(verdict.actual)}"
                ET.SubElement(test_case, "failure", message=message)
        if case.error:
            test_case = ET.SubElement(suite, "testcase", classname=case.name, name="replay")
            ET.SubElement(test_case, "error", message=case.error)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


# `vcdebug verify`

DIFFERENCE_HEADS = ("job", "", "about", "replay", "scheduler")
VERDICT_WORDS = ("agreed", "different text", "random choice", "differs", "overtaken")
MAX_SHOWN_CHOICES = 6
MAX_SHOWN_JOBS = 50
MAX_SHOWN_TEXT = 72


def verification_blocks(verification: Verification) -> Iterator[document.Block]:
    """The text report: the counts, then what differs."""
    yield document.make_paragraph(_verification_headline(verification), "good" if verification.is_agreed else "bad")
    yield document.release_paragraph(verification.recording.snapshot.release)
    observed, predicted = map(_outcome_summary, (verification.observed, verification.predicted))
    yield document.make_paragraph(f"scheduler: {observed}; replay: {predicted}")
    if verification.is_inconclusive:
        overtaken = "other clients changed what every decision depended on; run it again"
        idle = "neither the replay nor the scheduler decided anything; run it when there is a new job"
        yield document.make_paragraph(f"inconclusive: {overtaken if verification.has_decisions else idle}", "bad")
    if verification.early_end:
        yield document.make_paragraph(verification.early_end, "bad")
    if verification.predicted.panic:
        yield document.make_paragraph(f"the replay predicts a panic: {verification.predicted.panic}")
    if verification.chance_edits:
        choices = join_names(verification.chance_edits, MAX_SHOWN_CHOICES)
        yield document.make_paragraph(f"random choices taken from the scheduler: {choices}")
    yield from (document.make_paragraph(note) for note in verification.notes)
    other = [job for job in verification.jobs if job.verdict_word != "agreed"]
    if other:
        yield document.make_paragraph("")
        yield document.make_listing(
            DIFFERENCE_HEADS, [row for job in other[:MAX_SHOWN_JOBS] for row in _difference_rows(job)], 2, prose=True
        )
    if len(other) > MAX_SHOWN_JOBS:
        yield document.make_paragraph(f"{count_noun(len(other) - MAX_SHOWN_JOBS, 'more job')} in --json")
    for job in other[:MAX_SHOWN_JOBS]:
        yield from _reason_blocks(job)
    if verification.log_difference is not None and not verification.is_agreed:
        yield document.make_paragraph("")
        yield from _first_difference_blocks(verification)


def _verification_headline(verification: Verification) -> str:
    counted = ((verification.count_verdicts(word), word) for word in VERDICT_WORDS)
    counts = ", ".join(f"{count} {word}" for count, word in counted if count)
    name = verification.recording.snapshot.name or "snapshot"
    cycle = f", cycle {verification.number}" if verification.number > 1 else ""
    return f"{name}{cycle}: {count_noun(len(verification.jobs), 'job')}, {counts or 'none with decisions'}"


def _outcome_summary(outcome: CycleOutcome) -> str:
    text = f"conditions on {count_noun(len(outcome.groups), 'PodGroup')} and {count_noun(len(outcome.waiting), 'pod')}"
    return f"{len(outcome.bound)} bound, {len(outcome.evicted)} evicted, {text}"


def _difference_rows(verdict: JobVerdict) -> Iterator[tuple[str, ...]]:
    decided = [difference for difference in verdict.differences if difference.is_decision] or verdict.differences
    for place, difference in enumerate(decided):
        yield (*((verdict.job, verdict.verdict_word) if place == 0 else ("", "")), *_difference_cells(difference))


def _difference_cells(difference: OutcomeDifference) -> tuple[str, str, str]:
    subject = f"{difference.part} {difference.subject}" if difference.subject != difference.job else difference.part
    return subject, *excerpts_around_difference(difference.predicted, difference.observed)


def excerpts_around_difference(left: str, right: str) -> tuple[str, str]:
    """Both texts; long ones are cut to begin shortly before their first difference."""
    same = next((place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    begin = max(0, same - MAX_SHOWN_TEXT // 4) if max(len(left), len(right)) > MAX_SHOWN_TEXT else 0
    return _excerpt_text(left, begin), _excerpt_text(right, begin)


def _excerpt_text(text: str, begin: int) -> str:
    if len(text) <= MAX_SHOWN_TEXT:
        return text
    end = begin + MAX_SHOWN_TEXT
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _reason_blocks(verdict: JobVerdict) -> Iterator[document.Block]:
    if verdict.decision is not None:
        place = f"event {verdict.decision.seq}: " if verdict.decision.seq is not None else ""
        yield document.make_paragraph(f"{verdict.job}: {place}{verdict.decision.text}", indent=2)
    for change in verdict.changes:
        yield document.make_paragraph(f"{verdict.job}: meanwhile {change}", indent=2)


def _first_difference_blocks(verification: Verification) -> Iterator[document.Block]:
    parting = verification.log_difference
    if parting is None:
        return
    place = f" (event {parting.seq})" if parting.seq is not None else ""
    yield document.make_paragraph(f"first log difference{place}:")
    for side, text in (("log:   ", parting.logged), ("replay:", parting.replayed)):
        yield document.Paragraph((Piece(f"{side} {text or '(end)'}"),), is_quoted=True, indent=2)


def verification_document(verification: Verification) -> dict[str, object]:
    """The JSON document of a verification; the keys are a contract."""
    parting = verification.log_difference
    return {
        "agrees": verification.is_agreed and not verification.is_inconclusive,
        "inconclusive": verification.is_inconclusive,
        "name": verification.recording.snapshot.name,
        "cycle": verification.number,
        "release": verification.recording.snapshot.release.stated_name,
        "replayedRelease": verification.recording.snapshot.release.build_document(),
        "counts": {word.replace(" ", "_"): verification.count_verdicts(word) for word in VERDICT_WORDS},
        "predicted": _outcome_numbers(verification.predicted),
        "observed": _outcome_numbers(verification.observed),
        "ended": verification.early_end or None,
        "panic": verification.predicted.panic or None,
        "chance": list(verification.chance_edits),
        "tried": verification.replay_count,
        "cycles": verification.cycles,
        "notes": list(verification.notes),
        "seconds": round(verification.seconds, 3),
        "jobs": [_verdict_document(verdict) for verdict in verification.jobs],
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


def _verdict_document(verdict: JobVerdict) -> dict[str, object]:
    decision = verdict.decision
    return {
        "job": verdict.job,
        "verdict": verdict.verdict_word,
        "differences": [
            named_attributes(item, "about=subject what=part replay=predicted scheduler=observed")
            for item in verdict.differences
        ],
        "decision": None if decision is None else {"seq": decision.seq, "text": decision.text},
        "meanwhile": list(verdict.changes),
    }
