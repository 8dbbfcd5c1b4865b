"""Small clusters on which changes of allocate and of network topology decide something."""

from collections.abc import Callable

from tests.builders import cluster, conf_of, node, pod, pod_group
from vcdebug.snapshot.snapshot import Manifest, Snapshot


def roles(*requests: tuple[str, str]) -> list[Manifest]:
    return [
        pod(f"j-{at}", "j", requests={"cpu": cpu, "memory": "1G"}, role=role) for at, (role, cpu) in enumerate(requests)
    ]


def gang_behind_a_large_task() -> Snapshot:
    """The first task fits nowhere; the two behind it would be a gang."""
    members = roles(("a", "9"), ("b", "1"), ("c", "1"))
    group = pod_group("j", min_member=2, minTaskMember={"a": 1, "b": 1})
    return cluster(node("n1", cpu="4"), group, members, conf=conf_of("priority gang", "predicates nodeorder"))


def fewer_tasks_than_the_minimum() -> Snapshot:
    members = roles(("a", "9"), ("b", "1"), ("c", "1"))
    return cluster(node("n1", cpu="4"), pod_group("j", min_member=5), members, conf=conf_of("predicates nodeorder"))


ON_TOPOLOGY: dict[str, Callable[[], Snapshot]] = {
    "allocate-flat-retry": gang_behind_a_large_task,
    "fit-roles-per-job": fewer_tasks_than_the_minimum,
}
