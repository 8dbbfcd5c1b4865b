"""Invariants after every event: checked over whole recordings, and violations are named."""

import pytest

from tests import builders
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.comparison.invariants import RULE_TEXTS, find_violations
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.debugger import Debugger
from vcdebug.debugger.notebook import BreakpointList
from vcdebug.framework.record import ActionEvent
from vcdebug.model.resource import Resource
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.views import conf as problem_list
from vcdebug.views.conf import problems_table


def one_job(*tiers: str) -> Recording:
    """The cycle of one job whose two pods are placed."""
    conf = builders.conf_of(*tiers)
    return replay_cycle(
        builders.cluster(
            builders.node("n1"), builders.pod_group("j", min_member=2), builders.pods("j", 2, cpu="2"), conf=conf
        )
    )


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_on_the_real_schedulers_cases_nothing_but_a_known_quirk_breaks_a_rule(name: str) -> None:
    assert ["statement-left-open"] * len(find_violations(golden(name))) == [
        found.quirk for found in find_violations(golden(name))
    ]


def test_a_statement_that_its_action_leaves_open_is_named_with_its_quirk() -> None:
    recording = golden("nominated-0000")
    found = find_violations(recording)
    assert {"statement"} == {violation.rule for violation in found}
    assert all(isinstance(recording.event_at(violation.seq), ActionEvent) for violation in found)
    assert "allocate leaves open: default/job-08-master-0 at 45" in found[0].violation_line
    assert "(quirk statement-left-open)" in found[0].violation_line


def test_unexplained_idle_amount_is_a_violation_at_its_first_event() -> None:
    recording = one_job("gang", "predicates proportion")
    assert () == find_violations(recording)
    recording = one_job("gang", "predicates proportion")
    recording.session.nodes["n1"].allocatable = Resource(12_000.0, 100e9, {"pods": 110.0})
    found = find_violations(recording)
    assert [(1, "node", "n1")] == [(one.seq, one.rule, one.name) for one in found]
    assert "n1 has 10 cpu" in found[0].text


def test_accounts_that_differ_from_their_tasks_are_violations_for_queue_and_job() -> None:
    recording = one_job("gang drf", "predicates proportion")
    recording.timeline.tasks["default/j-0"].resreq.milli_cpu = 500.0
    found = find_violations(recording)
    assert {"job", "queue"} == {violation.rule for violation in found}
    assert all("for " in violation.text and "its tasks" in violation.text for violation in found)


def test_a_breakpoint_stops_where_a_rule_breaks_in_both_directions_and_says_which() -> None:
    recording = golden("nominated-0000")
    seqs = [violation.seq for violation in find_violations(recording)]
    assert seqs == list(parse_breakpoint("invariant", 1).hit_seqs(recording))
    assert seqs == list(parse_breakpoint("invariant statement", 1).hit_seqs(recording))
    assert [] == list(parse_breakpoint("invariant node queue job", 1).hit_seqs(recording))
    points = BreakpointList()
    points.add_breakpoint("invariant")
    debugger = Debugger(recording, points)
    stop = debugger.continue_()
    assert (seqs[0], True) == (stop.position.seq, RULE_TEXTS["statement"] in stop.reason)
    debugger.goto_event(len(recording))
    assert seqs[-1] == debugger.continue_(back=True).position.seq


def test_the_list_of_problems_leads_to_the_event() -> None:
    recording = golden("nominated-0000")
    rows = [row for row in problems_table(recording).rows if row.key.startswith("invariant")]
    assert [violation.seq for violation in find_violations(recording)] == [row.seq for row in rows]
    assert [] == [row for row in problems_table(bundled()).rows if row.key.startswith("invariant")]


def test_a_list_of_problems_too_long_to_be_checked_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_list, "MAX_CHECKED", 10)
    table = problems_table(golden("nominated-0000"))
    assert [] == [row for row in table.rows if row.key.startswith("invariant")]
    assert "break invariant" in table.footer[0][0].text
