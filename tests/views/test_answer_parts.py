"""What the plain answer says about a job is also in the report and on the screen."""

import html
from collections.abc import Iterator

import pytest

from tests.builders import cluster, node, pod_group, pods
from tests.recorded import bundled
from vcdebug.cli.render import plain_text
from vcdebug.explain.answer import Explanation, OtherOutcomes
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.files.report_file import report_text
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.views.answer import Role, answer_parts, explanation_blocks, fix_lines, listed_fixes
from vcdebug.views.pending import explanation_table
from vcdebug.views.report import ReportSubject
from vcdebug.views.table import format_table
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.other_outcomes import describe_short_plans, other_outcomes

UID = "5b3f1c2d-77aa-4b5c-9d8e-001122334455"
GROUP = f"podgroup-{UID}"


def without_conf() -> Recording:
    """A Job whose PodGroup has a name of its own."""
    group = pod_group(GROUP, min_member=2)
    group["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "web", "uid": UID}]
    snapshot = cluster(node("n1", cpu="1"), group, pods(GROUP, 2, cpu="1"))
    snapshot.scheduler_conf = None
    return replay_cycle(snapshot)


CASES = {
    "without scheduler.conf": (without_conf, f"default/{GROUP}"),
    "other outcomes": (lambda: bundled("gangpreempt-bundles"), "ml/big"),
    "flaws": (lambda: bundled("preempt-works"), "search/embedding-backfill"),
}
each_case = pytest.mark.parametrize("case", CASES)


def asked(case: str) -> tuple[Recording, Explanation, OtherOutcomes, list[str]]:
    make, job = CASES[case]
    recording = make()
    answer = explain_by_name(recording, job)
    search = search_few_fixes(recording, answer) if answer.wants_fixes else None
    tested = describe_short_plans(recording, answer, short_plans(search)) if search is not None else []
    return recording, answer, other_outcomes(recording, answer.job), tested


def said(case: str, *, without: Role | None = None) -> Iterator[str]:
    """Every text of the answer, but for the part of a role."""
    recording, answer, others, tested = asked(case)
    parts = answer_parts(answer, recording.job_names, others)
    yield from (text for role, texts in parts.items() for text in texts if role != without)
    yield from (line.text for line in fix_lines(answer, tested))
    yield from answer.dominant.lines
    yield from (proof.text for proof in answer.dominant.evidence)
    yield from (word for step in answer.steps for word in (step.name, step.text))
    yield from (text for finding in answer.contributing for text in (finding.reason, finding.cause))


@each_case
def test_the_plain_answer_says_everything(case: str) -> None:
    recording, answer, others, tested = asked(case)
    shown = plain_text(explanation_blocks(answer, recording.job_names, listed_fixes(answer, tested), others))
    assert [] == [text for text in said(case) if text not in shown]


@each_case
def test_the_report_says_everything(case: str) -> None:
    recording, answer, *_ = asked(case)
    report = report_text(ReportSubject(recording, "1", (), jobs=(answer.job,)), "md")
    shown = html.unescape(report.replace("\\", "").replace("<!-- -->", ""))
    assert [] == [text for text in map(recording.job_names.in_text, said(case)) if text not in shown]


@each_case
def test_the_screen_says_everything_but_the_release(case: str) -> None:
    recording, answer, others, tested = asked(case)
    shown = format_table(explanation_table(recording, answer, tested, others))
    assert [] == [text for text in said(case, without="release") if text not in shown]


def test_the_cases_have_every_part() -> None:
    found = set[Role]()
    for case in CASES:
        recording, answer, others, _ = asked(case)
        found |= {role for role, texts in answer_parts(answer, recording.job_names, others).items() if texts}
    assert found == {"sentence", "facts", "group", "release", "other outcomes", "doubt"}
