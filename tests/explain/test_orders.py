"""The comparisons of a replay equal the ones that explain derives afterwards."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.recorded import GOLDEN, ROOT, bundled, golden
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.orders import (
    ElementKind,
    OrderComparison,
    comparisons_at,
    heaps_around,
    next_rival,
    order_at,
    order_of,
    pop_kind,
    sibling_pops,
)
from vcdebug.explain.plugins import explainer_for
from vcdebug.framework import order
from vcdebug.framework.record import OpEvent, PopEvent
from vcdebug.framework.session import Plugin, Session
from vcdebug.plugins import PLUGINS
from vcdebug.recording.file.object_tables import store_recording
from vcdebug.recording.file.read import open_stored_recording
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.inside import inside_table
from vcdebug.views.table import format_table


class Asked(NamedTuple):
    """One comparison of the replay, and whether the left element came first."""

    seq: int
    kind: ElementKind
    left: str
    right: str
    asker: str
    less: bool


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """Record every heap comparison while a cycle runs."""
    found: list[Asked] = []
    kinds: dict[str, tuple[ElementKind, str]] = {
        "job_order_less": ("job", "uid"),
        "queue_order_less": ("queue", "name"),
        "task_order_less": ("task", "key"),
    }
    for method, (kind, name) in kinds.items():
        monkeypatch.setattr(Session, method, spied(found, getattr(Session, method), kind, name))
    plain = order.evict_before

    def evict_before(ssn: Session, left: Any, right: Any, preemptor: Any) -> bool:
        before = len(found)
        less = plain(ssn, left, right, preemptor)
        del found[before:]
        if not ssn.record.running_call_count:
            found.append(Asked(ssn.record.next_seq, "victim", left.key, right.key, preemptor.key, less))
        return less

    monkeypatch.setattr(order, "evict_before", evict_before)
    return found


def spied(found: list[Asked], plain: Any, kind: ElementKind, name: str) -> Any:
    def less(ssn: Session, left: Any, right: Any) -> bool:
        answer: bool = plain(ssn, left, right)
        if not ssn.record.running_call_count:
            found.append(Asked(ssn.record.next_seq, kind, getattr(left, name), getattr(right, name), "", answer))
        return answer

    return less


def mistaken(recording: Recording, asked: list[Asked]) -> Iterator[str]:
    """Yield comparisons for which the explanation gives the opposite order."""
    for one in dict.fromkeys(asked):
        comparison = order_of(recording, one.seq, one.kind, one.left, one.right, one.asker)
        if comparison.is_certain and (comparison.order_sign < 0) != one.less:
            yield f"{one} is explained as {comparison}"


@pytest.mark.parametrize("name", GOLDEN)
def test_each_comparison_agrees_with_the_one_made(name: str, asked: list[Asked]) -> None:
    recording = replay_cycle(load_snapshot(ROOT / "tests" / "golden" / "random" / name))
    assert [] == list(mistaken(recording, asked))


@pytest.mark.parametrize("name", GOLDEN)
def test_each_pop_shows_the_comparisons_that_put_its_element_first(name: str) -> None:
    recording = golden(name)
    pops = recording.index.seqs_of_type(PopEvent)
    for seq in pops:
        event, found = recording.event_at(seq), comparisons_at(recording, seq)
        assert isinstance(event, PopEvent)
        assert not event.left or event.name in [order.left for order in found]
        # A heap may contain a queue twice, which is then compared with itself.
        others = [order for order in found if order.left != order.right and order.is_certain]
        assert [] == [order for order in others if order.order_sign >= 0]
    assert any(comparisons_at(recording, seq) for seq in pops) or not any(recording.event_at(seq).left for seq in pops)  # type: ignore[union-attr]


Pair = tuple[int, str, str]
"""A comparison of a heap: the event that follows it, the element that goes first, the other one."""


class History:
    """The comparisons that one heap made, each noted when it was made."""

    def __init__(self, pairs: list[Pair] | None = None, since: int = 0) -> None:
        self.pairs = pairs or []
        self.since = since
        """How many of them were made before the last pop began."""


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[Pair]]:
    """Pop → the comparisons of its heap since the pop before, noted while a cycle runs."""
    heap = order.PriorityQueue
    init, pop, clone = heap.__init__, heap.pop, heap.clone
    found: dict[int, list[Pair]] = {}
    histories: dict[order.PriorityQueue[Any], History] = {}
    plain: dict[Any, Any] = {}

    def make(self: order.PriorityQueue[Any], less: Any, kind: str, name: Any, record: Any, *rest: Any) -> None:
        def noting_less(left: Any, right: Any) -> bool:
            goes_first = plain[noting_less](left, right)
            pair = (left, right) if goes_first else (right, left)
            histories[self].pairs.append((record.next_seq, *map(name, pair)))
            return bool(goes_first)

        plain[noting_less], histories[self] = plain.get(less, less), History()
        init(self, noting_less, kind, name, record, *rest)

    def pop_noting(self: order.PriorityQueue[Any]) -> Any:
        history, seq, size = histories[self], self._record.next_seq, len(histories[self].pairs)
        item = pop(self)
        if not self._record.running_call_count:
            found[seq] = history.pairs[history.since :]
        history.since = size
        return item

    def clone_noting(self: order.PriorityQueue[Any]) -> order.PriorityQueue[Any]:
        copy, history = clone(self), histories[self]
        copy._less = next(less for less in reversed(plain) if plain[less] is plain[copy._less])
        histories[copy] = History(list(history.pairs), history.since)
        return copy

    for name, method in (("__init__", make), ("pop", pop_noting), ("clone", clone_noting)):
        monkeypatch.setattr(heap, name, method)
    return found


@pytest.mark.parametrize("name", GOLDEN)
def test_the_comparisons_of_each_pop_are_those_that_its_heap_made(name: str, noted: dict[int, list[Pair]]) -> None:
    recording = replay_cycle(load_snapshot(ROOT / "tests" / "golden" / "random" / name))
    pops = recording.index.seqs_of_type(PopEvent)
    made = dict(noted)
    assert list(made) == list(pops)
    for each in (recording, open_stored_recording(b"".join(store_recording(recording, "this")), "this")):
        heap_log = each.record.heap_log
        heap_of_pop = {seq: heap_log.heap_popped_at(seq) for seq in pops}
        heaps = {number: order.HeapComparisons(heap_log, number) for number in dict.fromkeys(heap_of_pop.values())}
        assert made == {
            seq: [
                (heap.seqs[number], heap.first_names[number], heap.second_names[number]) for number in heap.ranges[seq]
            ]
            for seq in pops
            for heap in [heaps[heap_of_pop[seq]]]
        }


def test_comparisons_are_available_after_webhook_calls() -> None:
    snapshot = load_snapshot(ROOT / "fixtures" / "preempt-works")
    recording = replay_cycle(snapshot, ask_extender=lambda *_: "not asked")
    compared = [seq for seq in recording.index.seqs_of_type(PopEvent) if comparisons_at(recording, seq)]
    assert compared
    assert "decided by" in format_table(inside_table(recording, compared[0]))


def compare_elements(recording: Recording, kind: ElementKind, number: int = 0) -> OrderComparison:
    """The comparison of the n-th popped element of a kind with the next one."""
    pops = [seq for seq in recording.index.seqs_of_type(PopEvent) if pop_kind(recording, seq) == kind]
    other = next_rival(recording, pops[number])
    assert other is not None
    found = order_at(recording, pops[number], other.name)
    assert found is not None
    return found


def deciding(found: OrderComparison) -> tuple[str, int, str, object, object]:
    step = found.deciding_step
    assert step is not None
    return step.point, step.tier, step.plugin, step.difference.left, step.difference.right


def two_jobs(conf: str, **second: Any) -> Snapshot:
    """Two jobs of one queue; `second` sets fields of the second job."""
    return cluster(
        node("n1", cpu="10"),
        [priority_class("high", 100), priority_class("low", 10)],
        pod_group("one", priority_class="low"),
        pods("one", 1),
        pod_group("two", priority_class="high", **second),
        pods("two", 1),
        conf=conf,
    )


def test_the_plugin_its_tier_and_both_figures_are_named(asked: list[Asked]) -> None:
    recording = replay_cycle(two_jobs(conf_of("gang", "priority drf")))
    assert ("JobOrder", 2, "priority", 100, 10) == deciding(compare_elements(recording, "job"))
    assert [] == list(mistaken(recording, asked))


def test_without_a_plugin_the_tie_break_decides(asked: list[Asked]) -> None:
    recording = replay_cycle(two_jobs(conf_of("gang drf predicates")))
    found = compare_elements(recording, "job")
    assert ["gang ready", "drf share", "created", "uid"] == [step.difference.label for step in found.steps]
    assert ("", 0, "", "default/one", "default/two") == deciding(found)


TREE_CONF = conf_of("capacity gang", arguments={"capacity": {"enableHierarchy": "true"}})


def tree() -> Snapshot:
    """Two departments with a team each; department a has the larger share."""
    deserved = {"cpu": "4"}
    return cluster(
        node("n1", cpu="10"),
        [queue("root"), queue("a", deserved=deserved), queue("b", deserved=deserved)],
        [queue(f"{name}-team", parent=name, deserved={"cpu": "2"}) for name in ("a", "b")],
        pod_group("held", queue="a-team", phase="Running"),
        pods("held", 1, on="n1"),
        pod_group("wants-a", queue="a-team"),
        pods("wants-a", 1),
        pod_group("wants-b", queue="b-team"),
        pods("wants-b", 1),
        conf=TREE_CONF,
    )


def test_queues_of_a_tree_are_compared_where_their_branches_part(asked: list[Asked]) -> None:
    recording = replay_cycle(tree())
    found = compare_elements(recording, "queue")
    assert ("b-team", "a-team") == (found.left, found.right)
    assert "capacity share of b and a" == (found.deciding_step and found.deciding_step.difference.label)
    assert ("QueueOrder", 1, "capacity", 0.0, 0.25) == deciding(found)
    assert [] == list(mistaken(recording, asked))


def hierarchy() -> Snapshot:
    """Two queues in drf's hierarchy, one of which has allocations."""
    paths = {
        name: {"volcano.sh/hierarchy": f"root/{name}", "volcano.sh/hierarchy-weights": "1/2"} for name in ("a", "b")
    }
    return cluster(
        node("n1", cpu="4"),
        [queue(name, annotations=paths[name]) for name in ("a", "b")],
        pod_group("holder", queue="a", phase="Running"),
        pods("holder", 2, on="n1"),
        pod_group("more", queue="a"),
        pods("more", 1),
        pod_group("waiter", queue="b"),
        pods("waiter", 2),
        conf=conf_of("gang drf predicates", arguments={"drf": {"enableHierarchy": "true"}}),
    )


def test_drfs_hierarchy_shows_the_level_and_the_weighted_shares(asked: list[Asked]) -> None:
    recording = replay_cycle(hierarchy())
    found = compare_elements(recording, "queue")
    assert "weighted share of b and a" == (found.deciding_step and found.deciding_step.difference.label)
    assert ("QueueOrder", 1, "drf", 0.0, 0.25) == deciding(found)
    assert [] == list(mistaken(recording, asked))


def test_deadlines_and_preemptable_jobs_are_compared_as_sla_and_tdm_do(asked: list[Asked]) -> None:
    conf = conf_of("sla tdm gang")
    snapshot = two_jobs(conf)
    snapshot.objects["PodGroup"][0]["metadata"]["annotations"] = {
        "sla-waiting-time": "1h",
        "volcano.sh/preemptable": "true",
    }
    recording = replay_cycle(snapshot)
    assert "sla deadline" == (found := compare_elements(recording, "job")).steps[0].difference.label
    assert ("JobOrder", 1, "sla") == deciding(found)[:3]
    snapshot.objects["PodGroup"][0]["metadata"]["annotations"].pop("sla-waiting-time")
    asked.clear()
    recording = replay_cycle(snapshot)
    assert ("JobOrder", 1, "tdm", False, True) == deciding(compare_elements(recording, "job"))
    assert [] == list(mistaken(recording, asked))


def test_victims_leave_in_the_reverse_order_of_tasks() -> None:
    recording = bundled("preempt-works")
    seq = next(seq for seq in recording.index.seqs_of_type(PopEvent) if pop_kind(recording, seq) == "victim")
    event = recording.event_at(seq)
    assert isinstance(event, PopEvent)
    found = order_at(recording, seq, "search/embedding-backfill-worker-0")
    assert found is not None
    step = found.deciding_step
    assert step is not None
    assert ("index in the name", 2, 0, True) == (*step.difference[:3], step.reverse)
    assert -1 == found.order_sign


def test_the_equation_of_a_pop_lists_what_was_equal_before_the_difference() -> None:
    recording = replay_cycle(two_jobs(conf_of("gang drf priority")))
    seq = next(seq for seq in recording.index.seqs_of_type(PopEvent) if pop_kind(recording, seq) == "job")
    found = equation_at(recording, seq)
    assert found is not None
    assert ("priority", -1) == (found.deciding_name, found.verdict)
    assert [None, None, True] == [term.is_met for term in found.terms]


def popped(recording: Recording, seq: int) -> str:
    event = recording.event_at(seq)
    assert isinstance(event, PopEvent)
    return event.name


def test_jobs_of_different_queues_never_stand_in_one_order() -> None:
    recording = bundled()
    pops = [seq for seq in recording.index.seqs_of_type(PopEvent) if pop_kind(recording, seq) == "job"]
    assert [["platform/feature-etl"], ["research/llm-finetune"]] == [
        [popped(recording, other) for other in sibling_pops(recording, seq)] for seq in pops[:2]
    ]


def test_a_queue_keeps_its_jobs_from_one_turn_to_the_next() -> None:
    recording = replay_cycle(two_jobs(conf_of("gang priority predicates")))
    seq = next(seq for seq in recording.index.seqs_of_type(PopEvent) if pop_kind(recording, seq) == "job")
    assert ["default/two", "default/one"] == [popped(recording, other) for other in sibling_pops(recording, seq)]
    around = {kind: len(pops) for _, kind, pops in heaps_around(recording, recording.index.seqs_of_type(OpEvent)[-1])}
    assert {"queue": 3, "job": 2, "task": 1} == around


def topology() -> Snapshot:
    """task-topology roles ps and worker and a plain pod; their buckets shrink with each placement."""
    group = pod_group("j", min_member=1)
    group["metadata"]["annotations"] = {
        "volcano.sh/task-topology-affinity": "ps,worker",
        "volcano.sh/task-topology-anti-affinity": "worker",
        "volcano.sh/task-topology-task-order": "worker,ps",
    }
    return cluster(
        [node("n1", cpu="4"), node("n2", cpu="4")],
        group,
        pods("j", 2, prefix="ps", role="ps"),
        pods("j", 3, prefix="worker", role="worker"),
        pods("j", 1, prefix="plain", role="plain"),
        conf=conf_of("task-topology gang predicates"),
    )


def test_task_topology_names_buckets_what_is_left_in_them_and_ranks(asked: list[Asked]) -> None:
    recording = replay_cycle(topology())
    assert [] == list(mistaken(recording, asked))
    orders = [order_of(recording, one.seq, one.kind, one.left, one.right) for one in asked if one.kind == "task"]
    assert orders
    assert all(found.is_certain for found in orders)
    decided = {
        found.deciding_step.difference.label for found in orders if found.deciding_step and found.deciding_step.plugin
    }
    expected = {"in a bucket", "remaining tasks of its bucket", "bucket", "place of its role in the order"}
    assert expected == decided


ORDERS = ("job_order", "queue_order", "task_order", "sub_job_order")


@pytest.mark.parametrize("name", PLUGINS)
def test_each_plugin_that_orders_says_what_it_compares(name: str) -> None:
    module, _, kind = PLUGINS[name].partition(":")
    plugin = getattr(import_module(module), kind)
    own = [hook for hook in ORDERS if getattr(plugin, hook, None) is not getattr(Plugin, hook, None)]
    assert sorted(own) == sorted(explainer_for(name).comparators)
