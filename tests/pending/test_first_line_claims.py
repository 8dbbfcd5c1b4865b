"""The first line of every answer about every recorded case, compared with the trace."""

import re
from pathlib import Path

import pytest

from tests.golden.compare import read_trace
from tests.pending.first_line_claims import CycleReading, false_claims, is_read
from tests.recorded import each_case, recorded, recorded_path
from vcdebug.explain.pending.survey import survey_jobs

FROM_THE_SNAPSHOT = {
    *("larger-than-any-node", "scheduling-gate", "preemption-policy-never", "node-order", "pod-count", "panic"),
    *("predicates-mixed", "capture-incomplete", "not-eligible-to-preempt", "queue-closed", "queue-missing"),
    *("other-scheduler", "queue-tree-broken", "action-not-configured", "not-starving", "enqueue-held-by-inqueue"),
    *("victims-not-preemptable", "not-enough-pods", "preemptive", "places"),
}
"""Causes whose first line may state only facts of the snapshot, or several operations."""


def first_lines(case: Path) -> list[tuple[str, str, str]]:
    """The (job, cause, first line) of every answer, without kinds that the recorded cluster has none of."""
    answers = [one.explanation for one in survey_jobs(recorded(case)).explained]
    return [(one.job, one.cause_code, re.sub(r" \(may change: [^)]*\)", "", one.sentence)) for one in answers]


def reading(case: Path) -> CycleReading:
    return CycleReading(read_trace(case / "trace.jsonl.gz"))


@each_case
def test_every_first_line_claims_what_the_trace_says(case: Path) -> None:
    cycle, lines = reading(case), first_lines(case)
    assert [] == [fault for job, _, line in lines for fault in false_claims(cycle, job, line)]
    unread = [line for _, cause, line in lines if not is_read(line) and cause not in FROM_THE_SNAPSHOT]
    assert [] == unread, "a line that is not compared with the trace speaks of the snapshot alone"


@pytest.mark.parametrize(
    ("case", "job", "told", "false"),
    [
        ("nominated-0003", "job-12", "finds no room", "may evict no pod"),
        ("nominated-0003", "job-12", "all 6 candidate victims", "all 7 candidate victims"),
        ("nominated-0004", "job-12", "allows 1 of 4", "allows 2 of 4"),
        ("wildcore-0010", "job-06", "victims (8)", "victims (10)"),
        ("gang-0000", "job-18", "all 19 candidate victims", "all 18 candidate victims"),
        ("usage-0003", "job-05", "3 pods bound to node-000", "3 pods bound to node-001"),
        ("preempt-0006", "job-04", "job-04-master-1", "job-04-master-0"),
        ("preempt-0009", "job-12", "on node-000, node-001", "on node-000"),
        ("nominated-0000", "job-10", "room for 3", "room for 4"),
        ("basic-0005", "job-05", "none of 7 nodes", "none of 6 nodes"),
        ("nominated-0009", "job-14", "it has 1 of", "it has 0 of"),
        ("mixed-0004", "job-03", "minMember 1)", "minMember 2)"),
        ("nominated-0001", "job-09", "2 pods reserved", "3 pods reserved"),
        ("wild-0029", "job-20", "fits none of 13", "fits none of 12"),
    ],
)
def test_a_false_claim_is_found(case: str, job: str, told: str, false: str) -> None:
    folder = recorded_path(f"random/{case}")
    (line,) = (line for name, _, line in first_lines(folder) if name == f"default/{job}")
    assert told in line
    assert [] != list(false_claims(reading(folder), f"default/{job}", line.replace(told, false)))
