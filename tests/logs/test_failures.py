"""Log lines about what fails, or should be impossible, inside a cycle: placements, binds, domains, simulations."""

import pytest

from tests.builders import cluster, conf_of, hyper_node, node, open_session, pod, pod_group, pods, task
from vcdebug.comparison.logs.message import MESSAGE_BY_KEY
from vcdebug.framework import transitions
from vcdebug.framework.hooks import PRE_PREDICATE, SIMULATE_ALLOCATABLE
from vcdebug.framework.session import Event, Session
from vcdebug.framework.statement import Statement

HARD = {"mode": "hard", "highestTierAllowed": 1}
BY_GROUP = [{"name": "g", "subGroupSize": 1, "matchLabelKeys": ["group"], "networkTopology": HARD}]


def opened() -> Session:
    return open_session(cluster(node("n1"), node("n2"), pod_group("j"), pods("j", 2)), "gang", "drf")


def logged(ssn: Session) -> list[str]:
    """The lines that the engine itself logs about failures."""
    keys = ("session.no", "session.un", "statement.", "proportion.simulated")
    lines = (line for line in ssn.record.lines if line.key.startswith(keys))
    return [MESSAGE_BY_KEY[line.key].write_line(line.values) for line in lines]


def test_a_dry_run_that_may_not_allocate_prints_the_amounts_of_its_queue() -> None:
    conf = conf_of("gang", "predicates proportion")
    ssn = open_session(cluster(node("n1", cpu="1"), pod_group("j"), pods("j", 1, cpu="2"), conf=conf))
    wanted = task(ssn, "j-0")
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, ssn.cycle_state(wanted), ssn.queues["default"], wanted)
    (line,) = logged(ssn)
    assert line.startswith("Queue <default>: deserved <cpu 1000.00")
    assert "; Candidate <j-0>: resource request <cpu 2000.00" in line


def test_a_second_placement_on_the_same_node_prints_that_the_node_has_the_task() -> None:
    ssn = opened()
    again = task(ssn, "j-0").clone()
    assert Statement(ssn).allocate(task(ssn, "j-0"), "n1") is None
    assert Statement(ssn).pipeline(again, "n1", eviction=False)
    start = "Failed to add task <default/j-0> to node <n1> when pipeline in Session <…>: "
    assert [f"{start}task <default/j-0> already on node <n1>"] == logged(ssn)


@pytest.mark.parametrize(("step", "in_log"), [("allocate", "allocating"), ("pipeline", "pipeline")])
def test_a_handler_that_fails_is_printed_and_again_when_a_plan_is_recovered(step: str, in_log: str) -> None:
    ssn = opened()
    trial = Statement(ssn)
    first = task(ssn, "j-0")
    assert (trial.allocate(first, "n1") if step == "allocate" else trial.pipeline(first, "n1", eviction=False)) is None
    saved = Statement.save_operations(ssn, trial)
    trial.discard()
    ssn.allocate_handlers.append(_refuse)
    error = Statement(ssn).recover_operations(saved)
    words = f"Failed to exec allocate callback functions for task <default/j-0> to node <n1> when {in_log} in Session"
    recovery = "allocate task <default/j-0>" if step == "allocate" else "pipeline task"
    assert [f"{words} <…>: no card", f"Failed to {recovery}: {error}"] == logged(ssn)


def _refuse(event: Event) -> None:
    event.err = "no card"


def test_a_pipelined_task_outside_a_statement_prints_nothing_about_handlers() -> None:
    ssn = opened()
    ssn.allocate_handlers.append(_refuse)
    transitions.pipeline(ssn, task(ssn, "j-0"), "n1")
    assert [] == logged(ssn)


def test_a_bind_that_the_cache_refuses_is_printed_by_commit_and_by_backfill() -> None:
    ssn = opened()
    ssn.given_to_cache["default/j-0"] = "n2"
    statement = Statement(ssn)
    statement.allocate(task(ssn, "j-0"), "n1")
    statement.commit()
    conflict = "task <default/j-0> already on different node <n2>"
    assert [f"Failed to allocate task <default/j-0>: {conflict}."] == logged(ssn)
    assert conflict == transitions.allocate(ssn, task(ssn, "j-0"), "n1")
    assert f"Failed to dispatch task <default/j-0>: {conflict}" == logged(ssn)[-1]


def test_placed_tasks_without_a_common_domain_are_printed() -> None:
    domains = [hyper_node("s0", 1, nodes=["n1"]), hyper_node("s1", 1, nodes=["n2"])]
    placed = [pod(f"p{label}", "j", on=on) for label, on in (("a", "n1"), ("b", "n2"), ("c", "gone"))]
    for label, each in zip("abc", placed, strict=True):
        each["metadata"]["labels"] = {"group": label}
    group = pod_group("j", networkTopology=HARD, subGroupPolicy=BY_GROUP)
    ssn = open_session(cluster(node("n1"), node("n2"), domains, group, placed, conf=conf_of("gang")))
    start = "failed to find allocated hyperNode for"
    assert f"{start} subJob default/j/g-c by allocated nodes" in logged(ssn)
