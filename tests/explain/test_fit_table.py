"""The columns of nodes that a task does or does not fit, compared with the same rules applied node by node."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest

from tests.builders import amounts, cluster, conf_of, node, pod, pod_group, pods
from tests.recorded import GOLDEN, golden
from vcdebug.explain.fit_table import WITHOUT, FitKind, NodeFit, RequestItems, fit_table, objections_kind, room_by_node
from vcdebug.explain.job_view import ExplainSubject, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import PredicateEvent
from vcdebug.grouping import Histogram, histogram
from vcdebug.model.names import NodeName
from vcdebug.model.resource import PODS, Resource, at_most
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release


def _lacks(request: RequestItems, room: Resource) -> tuple[tuple[str, float], ...]:
    return tuple((name, amount - room.get(name)) for name, amount in request if not at_most(amount, room.get(name)))


def _one_fit(recording: Recording, seq: int, request: RequestItems, name: str, code: int) -> NodeFit:
    """The fit of a request on one node, in scalars."""
    room, statuses = room_by_node(recording, seq)[name], recording.reason_table.statuses_of(code) if code else ()
    requested = tuple((one, amount) for one, amount in request if amount > 0)
    small, short = _lacks(requested, room.allocatable), _lacks(requested, room.future_idle)
    kind: FitKind = "free" if not short else "pods" if [one for one, _ in short] == [PODS] else "short"
    kind = "too small" if small else kind
    refusal = objections_kind(statuses)
    kind = refusal if statuses and (refusal == "unresolvable" or kind == "free") else kind
    return NodeFit(name, kind, statuses, room.future_idle, room.allocatable, small or short)


def _nearest(fits: Sequence[NodeFit], request: RequestItems) -> NodeFit | None:
    def lack(node: NodeFit) -> tuple[int, float, str]:
        shares = (missing / max(dict(request)[name], 1.0) for name, missing in node.short)
        return len(node.short), max(shares), node.name

    suitable = [node for node in fits if node.kind in ("short", "pods")] or [n for n in fits if n.kind == "too small"]
    return min((node for node in suitable if node.short), key=lack, default=None)


def _requests(recording: Recording, numbers: random.Random) -> Iterator[RequestItems]:
    """The requests of some tasks, each also nine times as large."""
    tasks = list(recording.timeline.tasks.values())
    for task in numbers.sample(tasks, min(len(tasks), 4)):
        yield from (tuple((name, times * amount) for name, amount in task.init_resreq.items()) for times in (1, 9))


def _reasons(fits: Sequence[NodeFit]) -> Histogram[NodeName]:
    reasons = histogram((one.name, one.reason) for one in fits if one.kind != "free")
    return sorted(reasons, key=lambda one: one[0].startswith(WITHOUT))


@pytest.mark.parametrize("name", GOLDEN[::6])
def test_columns_say_of_each_node_what_scalars_say(name: str) -> None:
    recording, numbers = golden(name), random.Random(name)
    names, refusals = recording.node_names, len(recording.reason_table)
    for seq in (recording.timeline.earliest_same_seq(numbers.randint(1, len(recording))) for _ in range(3)):
        for request in _requests(recording, numbers):
            codes = [numbers.choice((0, 0, numbers.randrange(refusals))) for _ in names]
            table = fit_table(recording, seq, request, np.array(codes, dtype=np.uint16).tobytes())
            alone = [_one_fit(recording, seq, request, *pair) for pair in zip(names, codes, strict=True)]
            assert alone == list(table.nodes)
            assert [one for one in alone if one.kind in ("short", "refused")] == list(table.of_kind("short", "refused"))
            assert _nearest(alone, request) == table.nearest_node
            assert _reasons(alone) == table.reason_histogram
            for one in alone[:3]:
                assert [other for other in alone if other[1::4] == one[1::4]] == list(table.alike(one))


@pytest.mark.parametrize("name", GOLDEN[::6])
def test_freeable_nodes_are_those_with_room_once_each_pod_that_the_filter_allows_is_gone(name: str) -> None:
    recording = golden(name)
    jobs = [job for job in recording.session.jobs.values() if job.tasks][:6]
    for job, action in product(jobs, ("preempt", "reclaim")):
        task, view = next(iter(job.tasks.values())), view_of(recording, ExplainSubject(job.uid))
        for fits in (NodeFits(view, task, 1), NodeFits(view, task, len(recording))):
            victims = {node.name: fits.judge_node(action, node.name).candidates for node in fits.waiting_nodes}
            rooms = {node: fits.state.nodes[node].future_without(pods) for node, pods in victims.items() if pods}
            expected = [node for node, room in rooms.items() if not _lacks(tuple(task.init_resreq.items()), room)]
            assert expected == list(fits.freeable_nodes(action).names)


def test_pods_of_one_job_that_a_victim_filter_tells_apart_are_counted_apart() -> None:
    """A pod may be protected, or ask for nothing, while its job's other pods do not."""
    kept = {"volcano.sh/preemptable": "false"}
    running = [
        pod("a", "r", on="n1", requests=amounts("1")),
        pod("b", "r", on="n2", requests=amounts("1"), annotations=kept),
    ]
    running += [pod("c", "r", on="n3", requests={}), pod("d", "r", on="n4", requests={}, annotations=kept)]
    nodes = [node(f"n{number}", cpu="1", pods="1") for number in range(1, 5)]
    waiting = [pod_group("w", min_member=2), pod("w-0", "w", requests=amounts("1")), pod("w-1", "w", requests={})]
    snapshot = cluster(*nodes, pod_group("r", min_member=4, phase="Running"), running, waiting, conf=conf_of("gang"))
    recording = replay_cycle(snapshot)
    view = view_of(recording, ExplainSubject("default/w"))
    by_pod = {
        task.name: [*NodeFits(view, task, len(recording)).freeable_nodes("preempt").names]
        for task in view.tasks.values()
    }
    assert {"w-0": ["n1", "n3"], "w-1": ["n3"]} == by_pod


def test_node_with_less_than_the_tolerance_too_little_fits() -> None:
    recording = replay_cycle(cluster(node("n1", cpu="2"), conf=conf_of("predicates")))
    fits = [fit_table(recording, 0, (("cpu", amount),)).nodes[0] for amount in (2000.05, 2000.2)]
    assert ["free", "too small"] == [fit.kind for fit in fits]


def test_node_that_takes_no_pods_at_all_is_too_small() -> None:
    recording = replay_cycle(cluster(node("n1", pods="0"), conf=conf_of("predicates")))
    assert "too small" == fit_table(recording, 0, (("pods", 1.0),)).nodes[0].kind


def test_request_is_too_large_if_there_are_nodes_and_each_is_too_small() -> None:
    request = (("cpu", 4000.0),)
    sizes = {(): False, ("2",): True, ("2", "8"): False, ("2", "3"): True}
    for cpus, expected in sizes.items():
        nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(cpus)]
        table = fit_table(replay_cycle(cluster(*nodes, conf=conf_of("predicates"))), 0, request)
        assert expected is table.is_too_large, cpus


def test_largest_node_is_the_first_with_the_largest_amount() -> None:
    nodes = [node(f"n{number}", cpu=cpu) for number, cpu in enumerate(("2", "8", "4", "8"))]
    recording = replay_cycle(cluster(*nodes, conf=conf_of("predicates")))
    assert (8000.0, "n1") == fit_table(recording, 0, ()).largest_node("cpu")


def test_only_the_rows_within_count() -> None:
    recording = replay_cycle(cluster(*(node(f"n{number}", cpu="1") for number in range(4)), conf=conf_of("predicates")))
    within = np.array([1, 3], dtype=np.int64).tobytes()
    table = fit_table(recording, 0, (("cpu", 2000.0),), within=within)
    assert ["n1", "n3"] == list(table.of_kind("too small").names) == list(table.nodes.names)
    assert [("too small (cpu)", ["n1", "n3"])] == table.reason_histogram


def test_node_that_the_recorded_search_found_is_free_although_a_later_pod_took_the_port() -> None:
    """The predicates, asked again, see the end of the cycle, where another job has the port."""
    ports = [{"name": "main", "ports": [{"hostPort": 80}], "resources": {"requests": amounts("1", "1G")}}]
    gang = pod_group("first", min_member=2), pods("first", 2, containers=ports)
    later = pod_group("second"), pods("second", 1, containers=ports)
    conf = conf_of("priority gang", "predicates")
    recording = replay_cycle(cluster(node("n1"), *gang, *later, conf=conf))
    view = view_of(recording, ExplainSubject("default/first"))
    searches = recording.events_of_type(PredicateEvent)
    found = next((seq, event.task) for seq, event in searches if event.task in view.tasks and len(event.feasible))
    assert recording.session.jobs["default/second"].ready_task_num() == 1, "it has the port at the end"
    fits = [NodeFits(view, view.tasks[found[1]], seq) for seq in (found[0], len(recording))]
    assert ["free", "refused"] == [fit.node_fits[0].kind for fit in fits]


@pytest.mark.parametrize("actions", ["allocate", "allocate, preempt, reclaim"])
@pytest.mark.parametrize("release", ["v1.8.0", "v1.10.0", "v1.12.0", "master"])
def test_job_is_explained_in_a_session_without_nodes(actions: str, release: str) -> None:
    """Older releases leave out nodes that are not Ready; the number of known nodes was divided by 0."""
    unready = node("n1")
    unready["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    conf = conf_of("gang priority", "predicates proportion", actions=actions)
    snapshot = cluster(unready, pod_group("j", min_member=2), pods("j", 2), conf=conf)
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), "default/j")
    assert found.scheduled or "no node is in the session" in found.sentence or "NotReady" in found.full_text
