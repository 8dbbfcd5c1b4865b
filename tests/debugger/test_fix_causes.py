"""Each fix addresses causes that an answer can name, and is tried early for all of them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import vcdebug.whatif.fixes
from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from tests.pending.situations import situations
from vcdebug.explain.answer import Cause, Flaw
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.gates.admission import REJECTED_BY
from vcdebug.framework.quirks import QUIRKS
from vcdebug.plugins import PLUGINS
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.fixes.fix import FixSituation
from vcdebug.whatif.fixes.trial import propose_fixes

CODES = {code for name, code in vars(Cause).items() if name.isupper()} | {flaw.value for flaw in Flaw}


def situation_of(snapshot: Snapshot, job: str) -> FixSituation:
    recording = replay_cycle(snapshot)
    return FixSituation(recording, explain_by_name(recording, job))


def test_each_code_of_a_fix_is_one_that_an_answer_can_name() -> None:
    known = {*CODES, *PLUGINS, *QUIRKS, REJECTED_BY}
    for case in situations():
        found = situation_of(case.snapshot, case.job)
        assert set() == {code for fix in propose_fixes(found) for code in fix.causes} - known - {*found.cause_codes}


def stated_causes(tree: ast.AST) -> Iterator[ast.expr]:
    """The values of assignments to names with causes, and of arguments of this name."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign | ast.AnnAssign) and "causes" in ast.unparse(part).partition("=")[0].lower():
            yield part.value or ast.Constant(None)
        elif isinstance(part, ast.keyword) and part.arg == "causes":
            yield part.value


def test_no_fix_spells_a_code_as_text() -> None:
    for path in sorted(Path(vcdebug.whatif.fixes.__file__).parent.glob("*.py")):
        spelt = [
            constant.value
            for stated in stated_causes(ast.parse(path.read_text()))
            for constant in ast.walk(stated)
            if isinstance(constant, ast.Constant) and re.fullmatch("[a-z-]+[*]?", str(constant.value))
        ]
        assert ([], path.name) == (spelt, path.name)


@pytest.mark.parametrize(
    ("cause", "pod_limit", "count", "cpu"),
    [(Cause.MIXED, "9", 1, "3"), (Cause.GANG_DISCARD, "9", 2, "2"), (Cause.POD_COUNT, "1", 1, "1")],
)
def test_a_job_whose_room_another_of_its_queue_took_is_given_the_first_turn(
    cause: str, pod_limit: str, count: int, cpu: str
) -> None:
    conf = conf_of("priority gang", "drf predicates nodeorder", actions="enqueue, allocate")
    first, passed = [pod_group("a"), *pods("a", 1, cpu="2")], [pod_group("b", min_member=count)]
    passed += pods("b", count, cpu=cpu)
    found = situation_of(cluster(node("n1", cpu="4", pods=pod_limit), first, passed, conf=conf), "default/b")
    assert cause == found.explanation.cause_code
    words = [fix.text for fix in propose_fixes(found) if fix.is_for_cause(cause)]
    assert "Submit default/b with a PriorityClass above 0, the priority of default/a" in words
    assert "drf: enableJobOrder -> false (jobs of one queue no longer ordered by drf share)" in words


def without_requests() -> list[Manifest]:
    (pod,) = pods("j", 1)
    pod["spec"]["containers"] = [{"name": "main"}]
    return [pod_group("j", phase="Pending"), pod]


@pytest.mark.parametrize("actions", ["preempt", "enqueue", "enqueue, allocate"])
def test_backfill_is_missed_wherever_no_action_places_pods_without_requests(actions: str) -> None:
    snapshot = cluster(node("n1"), queue("default"), without_requests(), conf=conf_of("gang", actions=actions))
    found = situation_of(snapshot, "default/j")
    missing = [fix for fix in propose_fixes(found) if fix.is_for_cause(found.explanation.cause_code)]
    assert any("(adds backfill)" in fix.text for fix in missing)


def test_a_rejection_in_enqueue_by_any_plugin_is_addressed_by_fixes_for_rejections() -> None:
    (case, *_) = (case for case in situations() if case.cause == Cause.OVERCOMMIT)
    fixes = [fix for fix in propose_fixes(situation_of(case.snapshot, case.job)) if REJECTED_BY in fix.causes]
    assert fixes
    assert all(fix.is_for_cause(f"{REJECTED_BY}own-plugin") and not fix.is_for_cause(Cause.PLACES) for fix in fixes)
