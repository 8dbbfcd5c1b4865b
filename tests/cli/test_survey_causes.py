"""The order in which causes and reasons are listed."""

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.cli.reports.surveys import SurveyedSnapshot, Surveys
from vcdebug.explain.answer import reason_lines
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.grouping import histogram
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.job_names import JobNames
from vcdebug.snapshot.snapshot import Snapshot

SMALL, LARGE, LOST = {"cpu": "1"}, {"cpu": "99"}, "lost"


def snapshot_of(**causes: int) -> Snapshot:
    """A full node, and this many Pending jobs per cause."""
    jobs = []
    for cause, number in causes.items():
        for index in range(number):
            name = f"{cause}-{index}"
            jobs += [pod_group(name, queue="nowhere" if cause == LOST else "default")]
            jobs += pods(name, 1, requests=LARGE if cause == "large" else SMALL)
    full = [node("n1", cpu="2"), pod_group("runs", phase="Running"), *pods("runs", 2, on="n1")]
    return cluster(full, jobs, conf=conf_of("priority gang", "predicates nodeorder"))


def causes_of(*snapshots: Snapshot) -> list[tuple[str, int, int]]:
    found = {
        f"s{place}": SurveyedSnapshot(survey_jobs(replay_cycle(each)), JobNames())
        for place, each in enumerate(snapshots)
    }
    return Surveys(tuple(found), found, command_line_maker=lambda *_: "").causes_by_frequency()


def test_the_most_frequent_cause_comes_first_then_the_alphabet_and_each_counts_its_snapshots() -> None:
    small, large, lost = (causes_of(snapshot_of(**{name: 1}))[0][0] for name in ("small", "large", LOST))
    once = sorted([(large, 1, 1), (small, 1, 1), (lost, 1, 1)])
    assert once == causes_of(snapshot_of(small=1, large=1, lost=1)) == causes_of(snapshot_of(lost=1, large=1, small=1))
    assert [(large, 3, 2), (lost, 2, 2), (small, 1, 1)] == causes_of(
        snapshot_of(small=1, large=2, lost=1), snapshot_of(lost=1, large=1)
    )
    assert [(lost, 3, 1), (small, 2, 1), (large, 1, 1)] == causes_of(snapshot_of(large=1, small=2, lost=3))


def test_reasons_come_by_number_then_by_alphabet_and_what_they_are_the_reason_of_in_its_order() -> None:
    order = histogram([("p1", "b"), ("p2", "c"), ("p3", "a"), ("p5", "c"), ("p4", "c")])
    assert [("c", ["p2", "p5", "p4"]), ("a", ["p3"]), ("b", ["p1"])] == order
    assert ("3 pods: c  (p2, p5, p4)", "1 pod: a  (p3)", "1 pod: b  (p1)") == reason_lines(order)
