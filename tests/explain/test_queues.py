"""Every derived figure of a queue equals the session's figure."""

from collections.abc import Iterator

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from tests.recorded import bundled
from vcdebug.explain.decisions.queue_figures import (
    queue_places,
    queue_share,
    real_capability,
    reservation_ledger,
    sharing_plugin,
    starved_pairs,
    stated_deserved,
    total_reserved,
    tree_is_broken,
)
from vcdebug.explain.plugins.proportion import portions_by_queue
from vcdebug.model.resource import Resource, deep_equal
from vcdebug.plugins import OVERCOMMIT, PROPORTION
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release


def names(recording: Recording) -> list[str]:
    """The queues for which the sharing plugin keeps figures."""
    return [name for name in recording.timeline.figures.get(sharing_plugin(recording), {}) if name]


def moments(recording: Recording) -> Iterator[int]:
    """Yield event numbers: the opening, each admission, and the end."""
    yield 1
    yield from (seq + 1 for seq in recording.index.seqs_at_point("JobEnqueued"))
    yield len(recording)


def equal(expected: Resource, actual: object) -> bool:
    assert isinstance(actual, Resource)
    return deep_equal(expected, actual)


def wrong(recording: Recording) -> Iterator[str]:
    """Yield wrongly derived figures; for a broken queue tree, yield any derived figure."""
    if tree_is_broken(recording):
        derived = [real_capability(recording, name) or stated_deserved(recording, name) for name in names(recording)]
        yield from (str(found) for found in derived if found is not None)
        return
    plugin, opening = sharing_plugin(recording), recording.timeline.state_at(0)
    for name in names(recording):
        limit = real_capability(recording, name)
        if limit is None or not equal(opening.plugin_amount(plugin, name, "realCapability"), limit.verdict):
            yield f"{name}: {limit}"
        if plugin == PROPORTION:
            portions = portions_by_queue(recording)[name]
            deserved: object = portions[-1].queue.deserved if portions else Resource()
        else:
            found = stated_deserved(recording, name)
            deserved = found.verdict if found is not None else None
        if not equal(opening.plugin_amount(plugin, name, "deserved"), deserved):
            yield f"{name} deserves {opening.plugin_amount(plugin, name, 'deserved')}, not {deserved}"
        for seq in moments(recording):
            yield from wrong_at(recording, seq, plugin, name)
    if OVERCOMMIT in recording.timeline.figures:
        for seq in moments(recording):
            state = recording.timeline.state_at(seq)
            if not equal(
                state.plugin_amount(OVERCOMMIT, "", "inqueue"), total_reserved(reservation_ledger(recording, seq))
            ):
                yield f"overcommit at {seq}: {reservation_ledger(recording, seq)}"


def wrong_at(recording: Recording, seq: int, plugin: str, name: str) -> Iterator[str]:
    state = recording.timeline.state_at(seq)
    share = queue_share(recording, seq, name)
    if share.verdict != state.plugin_figure(plugin, name, "share"):
        yield f"share of {name} at {seq}: {share}"
    if not equal(
        state.plugin_amount(plugin, name, "inqueue"), total_reserved(reservation_ledger(recording, seq, name))
    ):
        yield (
            f"inqueue of {name} at {seq}: {state.plugin_amount(plugin, name, 'inqueue')}, not "
            f"{reservation_ledger(recording, seq, name)}"
        )


def test_the_largest_fraction_names_its_dimension() -> None:
    recording = bundled("reclaim-across-queues")
    found = queue_share(recording, 1, "team-nlp")
    assert (1.25, "nvidia.com/gpu") == (found.verdict, found.deciding_name)


def three_queues(conf: str) -> Recording:
    """Ten cores and queues of weights 1, 2 and 3; the second one requests one core only."""
    return replay_cycle(
        cluster(
            node("n1", cpu="10", memory="100G"),
            [queue(name, weight=weight) for name, weight in (("a", 1), ("b", 2), ("c", 3))],
            *([pod_group(name, queue=name), *pods(name, count)] for name, count in (("a", 20), ("b", 1), ("c", 20))),
            conf=conf,
        )
    )


def test_the_rounds_say_what_was_dealt_and_what_held_a_queue_back() -> None:
    recording = three_queues(conf_of("gang proportion"))
    portions = portions_by_queue(recording)
    first, second = portions["a"][:2]
    assert (1, 1, 6, 10000.0) == (
        first.number,
        first.queue.attr.weight,
        first.round.weight,
        first.round.remaining.milli_cpu,
    )
    assert ("its part by weight", "its request") == (
        first.deciding_limit("cpu"),
        portions["b"][0].deciding_limit("cpu"),
    )
    assert [True] == [portion.queue.satisfied for portion in portions["b"]]
    assert 4 == second.round.weight
    assert second.round.remaining.milli_cpu == pytest.approx(10000 - 10000 / 6 - 1000 - 5000)


def test_capacity_names_what_bounds_a_queue() -> None:
    queues = [
        queue("a", capability={"cpu": "4"}, deserved={"cpu": "6"}),
        queue("b", guarantee={"cpu": "3"}, deserved={"cpu": "2"}),
    ]
    jobs = [[pod_group(name, queue=name), *pods(name, 1)] for name in ("a", "b")]
    recording = replay_cycle(cluster(node("n1", cpu="10"), queues, *jobs, conf=conf_of("gang capacity")))
    limit, deserved = real_capability(recording, "a"), stated_deserved(recording, "a")
    assert limit is not None
    assert deserved is not None
    assert (10000.0, 3000.0, 0.0, 7000.0, 4000.0, 4000.0) == limit.terms[0].figures
    assert ("capability decides", (6000.0, 4000.0, 0.0, 4000.0)) == (limit.terms[0].note, deserved.terms[0].figures)
    raised = stated_deserved(recording, "b")
    assert raised is not None
    assert ("the guarantee decides", 3000.0) == (raised.terms[0].note, raised.terms[0].figures[-1])


def test_children_share_what_their_parent_may_use() -> None:
    queues = [
        queue("root"),
        queue("dept", parent="root", capability={"cpu": "6"}),
        queue("one", parent="dept", guarantee={"cpu": "2"}),
        queue("two", parent="dept"),
    ]
    conf = conf_of("gang capacity", arguments={"capacity": {"enableHierarchy": "true"}})
    recording = replay_cycle(
        cluster(node("n1", cpu="10"), queues, pod_group("j", queue="two"), pods("j", 1), conf=conf)
    )
    assert [("root", 0), ("default", 1), ("dept", 1), ("one", 2), ("two", 2)] == list(queue_places(recording))
    limit = real_capability(recording, "two")
    assert limit is not None
    assert "dept's" == limit.columns[0]
    assert (6000.0, 2000.0, 0.0, 4000.0, 6000.0, 4000.0) == limit.terms[0].figures


def test_the_root_has_what_the_cluster_has_where_a_release_says_so() -> None:
    queues = [queue("root", capability={"cpu": "6"}), queue("dept", parent="root")]
    conf = conf_of("gang capacity", arguments={"capacity": {"enableHierarchy": "true"}})
    given = cluster(node("n1", cpu="10"), queues, pod_group("j", queue="dept"), pods("j", 1), conf=conf)
    for release, expected in (("master", 6000.0), ("master,+root-infinite", 10000.0)):
        limit = real_capability(replay_cycle(snapshot_at_release(given, release)), "root")
        assert limit is not None
        assert isinstance(limit.verdict, Resource)
        assert expected == limit.verdict.milli_cpu


def test_ledger_lists_counted_and_uncounted_jobs() -> None:
    minimum = {"cpu": "3"}
    recording = replay_cycle(
        cluster(
            node("n1", cpu="10"),
            [pod_group("held", min_resources=minimum), *pods("held", 1)],
            [pod_group("done", phase="Completed", min_resources=minimum)],
            [pod_group("free", phase="Inqueue"), *pods("free", 1)],
            [pod_group("new", phase="Pending", min_resources=minimum), *pods("new", 1)],
            conf=conf_of("gang proportion", actions="enqueue, allocate"),
        )
    )
    entries = {entry.job.split("/")[1]: entry for entry in reservation_ledger(recording, len(recording), "default")}
    assert {"held": 3000.0, "new": 3000.0} == {
        name: entry.reserved.milli_cpu for name, entry in entries.items() if entry.reserved is not None
    }
    assert "Completed: only Inqueue and Running ones count" == entries["done"].reason
    assert "states no minResources" == entries["free"].reason
    assert "admitted in this cycle: its whole minResources" == entries["new"].reason
    before = {entry.job: entry.phase for entry in reservation_ledger(recording, 1, "default")}
    assert "Pending" == before["default/new"]


def test_a_starved_queue_stands_beside_the_one_that_holds_too_much() -> None:
    found = starved_pairs(bundled("reclaim-across-queues"), 1)
    gpu = next(pair for pair in found if pair.dimension == "nvidia.com/gpu")
    assert ("team-ads", "team-nlp", 4000.0, 4000.0, True) == (*gpu[:2], *gpu[3:])
