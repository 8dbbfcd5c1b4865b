"""pdb allows victims within PodDisruptionBudgets."""

from typing import Any

import pytest

from tests.builders import cluster, metadata, names, node, open_session, pod_group, pods, task, tasks
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, VICTIM_TASKS
from vcdebug.framework.session import Session
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

WEB = {"matchLabels": {"app": "web"}}


def budget(allowed: int, selector: dict[str, Any] | None = WEB, name: str = "b", **status: Any) -> Manifest:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name, status.pop("namespace", "default")),
        "spec": {} if selector is None else {"selector": selector},
        "status": {"disruptionsAllowed": allowed, **status},
    }


def session(*budgets: Manifest, labels: dict[str, str] | None = None, flags: SchedulerFlags | None = None) -> Session:
    running = pods("a", 3, on="n1")
    for manifest in running:
        manifest["metadata"]["labels"] = {"app": "web"} if labels is None else labels
    snapshot = cluster(node("n1"), pod_group("a"), running, list(budgets))
    snapshot.flags = flags or snapshot.flags
    return open_session(snapshot, "pdb")


def victims(ssn: Session, *candidates: str) -> list[str]:
    """The victims that all three hooks allow; each hook starts with the full budgets."""
    listed, asking = tasks(ssn, *(candidates or ("a-0", "a-1", "a-2"))), task(ssn, "a-0")
    preempted, reclaimed = ssn.ask_plugins(PREEMPTABLE, asking, listed), ssn.ask_plugins(RECLAIMABLE, asking, listed)
    assert names(preempted) == names(reclaimed) == names(ssn.ask_plugins(VICTIM_TASKS, listed))
    return names(preempted)


def test_the_first_candidates_use_up_the_budget() -> None:
    assert ["a-0"] == victims(session(budget(1)))
    assert ["a-2", "a-1"] == victims(session(budget(2)), "a-2", "a-1", "a-0")


def test_without_budgets_every_labelled_pod_goes_and_an_unlabelled_one_never() -> None:
    assert ["a-0", "a-1", "a-2"] == victims(session())
    unlabelled = session(labels={})
    assert [] == victims(unlabelled)
    assert ("unlabelled-spared", "without labels, and so no victims: default/a-0, default/a-1, default/a-2") == (
        unlabelled.record.notes[0].code,
        unlabelled.record.notes[0].text,
    )


def test_a_pod_whose_eviction_is_under_way_costs_nothing() -> None:
    disrupted = budget(1, disruptedPods={"a-0": "2026-10-31T12:00:00Z"})
    assert ["a-0", "a-1"] == victims(session(disrupted))


@pytest.mark.parametrize(
    "other",
    [
        budget(0, {}),
        budget(0, None),
        budget(0, namespace="other"),
        budget(0, {"matchLabels": {"app": "db"}}),
        budget(0, {"matchExpressions": [{"key": "app", "operator": "Odd"}]}),
    ],
)
def test_a_budget_that_does_not_select_the_pod_does_not_matter(other: Manifest) -> None:
    assert ["a-0", "a-1", "a-2"] == victims(session(other))


def test_a_refused_pod_uses_up_its_other_budgets_all_the_same() -> None:
    spent = budget(0, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "spent", disruptedPods={"a-1": ""})
    assert [] == victims(session(budget(1), spent))
    assert ["a-1"] == victims(session(budget(2), spent))


def test_pdb_protects_nothing_without_the_feature() -> None:
    gate = SchedulerFlags(feature_gates={"PodDisruptionBudgetsSupport": False})
    assert 3 == len(victims(session(budget(0), flags=gate)))
