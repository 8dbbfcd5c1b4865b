"""Statements: the effects of each operation; a discard restores every amount bit for bit."""

from collections.abc import Mapping

from tests.builders import cluster, node, open_session, pod_group, pods, task
from vcdebug.framework.record import NodeAmounts, OpEvent, StatementEvent
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus

NODES = (node("n1", cpu="4"), node("n2", cpu="4"))


def session(*tiers: str) -> Session:
    return open_session(
        cluster(NODES, pod_group("j", min_member=2), pods("j", 3, cpu="1500m"), pod_group("r"), pods("r", 2, on="n1")),
        *(tiers or ("gang", "drf proportion")),
    )


def figures(value: object) -> object:
    """Figures without scalars of amount 0, which a discard leaves behind."""
    if isinstance(value, Resource):
        return {name: amount for name, amount in value.items() if amount}
    if isinstance(value, Mapping):
        return {key: figures(item) for key, item in value.items()}
    return [figures(item) for item in value] if isinstance(value, tuple) else value


def amounts(ssn: Session) -> list[object]:
    return [figures(NodeAmounts.of_node(info)) for info in ssn.nodes.values()] + [figures(ssn.plugin_books())]


def test_discard_restores_every_amount_and_every_book() -> None:
    ssn = session()
    before = amounts(ssn)
    statement = Statement(ssn)
    statement.evict(task(ssn, "r-0").clone(), "preempt")
    assert statement.allocate(task(ssn, "j-0"), "n2") is None
    assert statement.pipeline(task(ssn, "j-1"), "n1", eviction=True) is None
    assert before != amounts(ssn)
    statement.discard()
    assert before == amounts(ssn)


def test_a_discarded_task_remembers_what_was_planned_for_it() -> None:
    ssn = session()
    statement = Statement(ssn)
    statement.allocate(task(ssn, "j-0"), "n2")
    statement.discard()
    reason, message, _ = ssn.jobs["default/j"].task_scheduling_reason("uid-j-0")
    assert ("Schedulable", "Pod default/j-0 can possibly be assigned to n2, once minAvailable is satisfied") == (
        reason,
        message,
    )
    assert "n2" == task(ssn, "j-0").pod.node_name


def test_a_discarded_eviction_of_a_bound_task_leaves_it_running() -> None:
    ssn = open_session(cluster(NODES, pod_group("j"), pods("j", 1, on="n1", phase="Pending")), "gang")
    assert TaskStatus.BOUND is task(ssn, "j-0").status
    statement = Statement(ssn)
    statement.evict(task(ssn, "j-0").clone(), "preempt")
    statement.discard()
    assert TaskStatus.RUNNING is task(ssn, "j-0").status


def test_commit_binds_allocations_and_leaves_the_nodes_copy_allocated() -> None:
    ssn = session()
    statement = Statement(ssn)
    statement.allocate(task(ssn, "j-0"), "n2")
    statement.pipeline(task(ssn, "j-1"), "n2", eviction=False)
    statement.commit()
    assert [TaskStatus.BINDING, TaskStatus.PIPELINED] == [task(ssn, name).status for name in ("j-0", "j-1")]
    assert TaskStatus.ALLOCATED is ssn.nodes["n2"].tasks["default/j-0"].status
    assert 0 == len(statement)


def test_a_refused_placement_is_rolled_back_and_leaves_only_its_undo() -> None:
    ssn = session()
    first = Statement(ssn)
    first.allocate(task(ssn, "j-0"), "n2")
    again = task(ssn, "j-0").clone()
    error = Statement(ssn).allocate(again, "n2")
    assert error is not None
    assert error.endswith("errInfos num is 1, allocation has been rolled back")
    ops = [event.op for event in ssn.record.events if isinstance(event, OpEvent)]
    assert ["allocate", "unallocate"] == ops


def test_save_and_recover_swap_the_jobs_tasks_for_clones() -> None:
    ssn = session()
    original = task(ssn, "j-0")
    trial = Statement(ssn)
    trial.allocate(original, "n2")
    saved = Statement.save_operations(ssn, trial)
    trial.discard()
    recovered = Statement(ssn)
    assert recovered.recover_operations(saved) is None
    job = ssn.jobs["default/j"]
    assert original is not job.tasks["uid-j-0"]
    assert TaskStatus.PENDING is original.status
    ghosts = job.sub_jobs["default/j"].task_status_index[TaskStatus.PENDING]
    assert "uid-j-0" in ghosts
    said = [event.what for event in ssn.record.events if isinstance(event, StatementEvent)]
    assert ["save", "discard", "recover"] == said


def test_merging_moves_operations_without_touching_state() -> None:
    ssn = session()
    outer, inner = Statement(ssn), Statement(ssn)
    inner.evict(task(ssn, "r-0").clone(), "preempt")
    before = amounts(ssn)
    outer.merge(inner)
    assert (1, 0, before) == (len(outer), len(inner), amounts(ssn))
    assert ["evict"] == [operation.kind for operation in outer.operations]


def test_a_commit_whose_bind_fails_takes_only_that_task_back() -> None:
    ssn = session("gang")
    ssn.cached_idle["n2"].milli_cpu = 2000.0
    statement = Statement(ssn)
    for name in ("j-0", "j-1"):
        statement.allocate(task(ssn, name), "n2")
    statement.commit()
    assert [TaskStatus.BINDING, TaskStatus.PENDING] == [task(ssn, name).status for name in ("j-0", "j-1")]


def test_the_cache_refuses_a_task_that_it_was_given_before() -> None:
    ssn = session("gang")
    first, second = Statement(ssn), Statement(ssn)
    first.allocate(task(ssn, "j-0"), "n2")
    again = task(ssn, "j-0").clone()
    first.commit()
    idle = ssn.cached_idle["n1"].clone()
    again.node_name = ""
    second.allocate(again, "n1")
    second.commit()
    assert TaskStatus.PENDING is again.status
    assert idle.equal(ssn.cached_idle["n1"])
    assert {"default/j-0": "n2"} == ssn.given_to_cache


def saved_plan(ssn: Session, *names: str) -> Statement:
    """A saved statement with allocations on n2, which are discarded."""
    trial = Statement(ssn)
    for name in names:
        assert trial.allocate(task(ssn, name), "n2") is None
    saved = Statement.save_operations(ssn, trial)
    trial.discard()
    return saved


def test_recovery_stops_at_the_first_error_and_says_it() -> None:
    ssn = session("gang")
    saved = saved_plan(ssn, "j-0", "j-1")
    assert Statement(ssn).allocate(saved.operations[0].task, "n2") is None
    recovered = Statement(ssn)
    error = recovered.recover_operations(saved)
    assert error is not None
    assert error.startswith("Task default/j-0 allocate to node n2 error")
    assert ([], "Pending") == (recovered.operations, task(ssn, "j-1").status.upstream_name)


def test_an_error_in_the_middle_of_a_recovery_leaves_what_came_before() -> None:
    ssn = session("gang")
    saved = saved_plan(ssn, "j-0", "j-1")
    assert Statement(ssn).allocate(saved.operations[1].task, "n2") is None
    recovered = Statement(ssn)
    assert recovered.recover_operations(saved) is not None
    assert ["j-0"] == [operation.task.name for operation in recovered.operations]


def test_a_discard_takes_the_newest_operation_back_first() -> None:
    ssn = session("gang")
    statement = Statement(ssn)
    statement.evict(task(ssn, "r-0").clone(), "preempt")
    statement.allocate(task(ssn, "j-0"), "n2")
    statement.pipeline(task(ssn, "j-1"), "n1", eviction=True)
    statement.discard()
    ops = [(event.op, event.task) for event in ssn.record.events if isinstance(event, OpEvent)]
    assert [("unpipeline", "default/j-1"), ("unallocate", "default/j-0"), ("unevict", "default/r-0")] == ops[3:]
