"""Small clusters on which an open pull request decides something."""

from collections.abc import Callable, Mapping

from tests.builders import amounts, cluster, conf_of, metadata, node, pod_group, pods, queue
from tests.releases.shown_devices import CLASSES
from tests.scenarios.questions import asked
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot


def queue_that_is_not_preemptable(action: str = "preempt") -> Snapshot:
    """A high-priority job would preempt a low-priority job of the same, non-preemptable queue."""
    low = pod_group("low", queue="q", priority_class="low", phase="Running", min_member=0)
    high = pod_group("high", queue="q", priority_class="high")
    return cluster(
        CLASSES,
        node("n1", cpu="1"),
        queue("q", preemptable=False),
        [low, *pods("low", 1, on="n1")],
        [high, *pods("high", 1)],
        conf=conf_of("priority gang", "predicates nodeorder", actions=action),
    )


def queue_on_the_seventh_level() -> Snapshot:
    """Two queues at level 7: on master, x1 gets y as its parent, whose capability is exhausted."""
    chain = [queue(f"q{depth}", parent=f"q{depth - 1}" if depth > 1 else "root") for depth in range(1, 6)]
    below = [queue("x", parent="q5"), queue("y", parent="q5", capability=amounts("1m"))]
    leaves = [queue("x1", parent="x"), queue("y1", parent="y")]
    conf = conf_of("gang", "predicates capacity", arguments={"capacity": {"enableHierarchy": "true"}})
    jobs = [pod_group("j", queue="x1"), *pods("j", 1), pod_group("k", queue="y1"), *pods("k", 1)]
    return cluster(node("n1"), queue("root"), chain, below, leaves, jobs, conf=conf)


def quota(pods_of_job: int, used: str = "2", spec: Mapping[str, object] | None = None) -> Snapshot:
    """An exhausted ResourceQuota, and a Pending job."""
    status = {"hard": amounts("2"), "used": amounts(used)}
    full = {"kind": "ResourceQuota", "metadata": metadata("q", "default"), "spec": spec or {}, "status": status}
    group = pod_group("j", phase="Pending", min_resources=amounts("2"))
    conf = conf_of("gang", "resourcequota", actions="enqueue")
    return cluster(node("n1"), full, group, pods("j", pods_of_job), conf=conf)


ON_PROPOSALS: dict[str, Callable[[], Snapshot]] = {
    "pr-5373": queue_that_is_not_preemptable,
    "pr-5502": queue_on_the_seventh_level,
    "pr-5744": lambda: quota(2),
    "pr-5800": lambda: quota(0, spec={"scopes": ["BestEffort"]}),
    "pr-5884": lambda: load_snapshot(asked(5884).file),
}
