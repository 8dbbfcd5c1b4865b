"""The priority queue: Go's heap algorithm, live comparisons, and the order of victims."""

from tests.builders import cluster, node, open_session, pod_group, pods, priority_class, queue, task
from vcdebug.framework.order import PriorityQueue, build_victims_queue
from vcdebug.framework.record import PopEvent, Record
from vcdebug.framework.ties import pod_index


def drained(queue_of: PriorityQueue[int]) -> list[int]:
    popped = []
    while queue_of:
        popped.append(queue_of.pop())
    return popped


def heap(less: object, record: Record | None = None) -> PriorityQueue[int]:
    return PriorityQueue(less, "task", str, record or Record())  # type: ignore[arg-type]


def test_ties_pop_as_gos_heap_pops_them() -> None:
    def at_least(left: int, right: int) -> bool:
        return (7 * left) % 3 >= (7 * right) % 3

    assert [2, 1, 3, 0] == drained(heap(at_least).extend(range(4)))
    assert [5, 2, 1, 4, 0, 3] == drained(heap(at_least).extend(range(6)))


def test_an_order_that_changes_inside_is_not_repaired() -> None:
    rank = {0: 0, 1: 1, 2: 2}
    items = heap(lambda left, right: rank[left] < rank[right]).extend([0, 1, 2])
    rank[2] = -1
    assert [0, 2, 1] == drained(items)


def test_popping_a_clone_leaves_the_original() -> None:
    items = heap(lambda left, right: left < right).extend([3, 1, 2])
    assert [1, 2, 3] == drained(items.clone())
    assert 3 == len(items)


def test_every_pop_is_recorded_with_what_is_left() -> None:
    record = Record()
    drained(heap(lambda left, right: left < right, record).extend([2, 1]))
    assert [PopEvent("task", "1", 1), PopEvent("task", "2", 0)] == record.events


def test_a_pod_index_needs_three_parts_and_an_integer() -> None:
    names = ["job-worker-10", "job-10", "job-worker-x", "a-b-+3", "a-b--3"]
    assert [10, None, None, 3, 3] == [pod_index(name) for name in names]


def test_tasks_order_by_their_number_not_by_its_text() -> None:
    ssn = open_session(cluster(node("n1"), pod_group("j"), pods("j", 11, prefix="j-w")), "gang")
    tenth, second = task(ssn, "j-w-10"), task(ssn, "j-w-2")
    assert (True, False) == (ssn.task_order_less(second, tenth), ssn.task_order_less(tenth, second))


def test_victims_of_one_queue_go_by_job_order_reversed_then_by_reverse_task_order() -> None:
    ssn = open_session(
        cluster(
            node("n1"),
            priority_class("high", 100),
            priority_class("low", 1),
            pod_group("a", priority_class="high"),
            pod_group("b", priority_class="low"),
            pods("a", 2, prefix="a-w", on="n1"),
            pods("b", 2, prefix="b-w", on="n1"),
            pod_group("p"),
            pods("p", 1),
        ),
        "priority",
    )
    listed = [task(ssn, name) for name in ("a-w-0", "a-w-1", "b-w-0", "b-w-1")]
    waiting = build_victims_queue(ssn, listed, task(ssn, "p-0"))
    assert ["b-w-1", "b-w-0", "a-w-1", "a-w-0"] == [waiting.pop().name for _ in range(4)]


def test_victims_of_other_queues_go_by_reverse_queue_order_and_orphans_first() -> None:
    ssn = open_session(
        cluster(
            node("n1"),
            queue("q1"),
            queue("q2"),
            pod_group("a", queue="q1"),
            pod_group("b", queue="q2"),
            pods("a", 1, on="n1"),
            pods("b", 1, on="n1"),
            pod_group("p"),
            pods("p", 1),
        ),
        "gang",
    )
    orphan = task(ssn, "a-0").clone()
    orphan.job, orphan.uid, orphan.name = "default/gone", "uid-gone", "gone-0"
    waiting = build_victims_queue(ssn, [task(ssn, "a-0"), task(ssn, "b-0"), orphan], task(ssn, "p-0"))
    assert ["gone-0", "b-0", "a-0"] == [waiting.pop().name for _ in range(3)]
