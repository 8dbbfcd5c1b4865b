"""Sessions with the capacity plugin, and its figures by queue."""

from collections.abc import Mapping

from tests.builders import cluster, node, open_session, pod_group, pods, queue
from vcdebug.framework.session import Session
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

GIB = 1024.0**3
Objects = Manifest | list[Manifest]


def flat(*objects: Objects, flags: SchedulerFlags | None = None, **arguments: object) -> Session:
    """A session with capacity and flat queues."""
    return opened(objects, {"arguments": flow(arguments)}, flags)


def tree(
    *objects: Objects, level: object = 0, root: Manifest | None = None, flags: SchedulerFlags | None = None
) -> Session:
    """A session with capacity and a tree of queues; adds queue `root`."""
    base = queue("root") if root is None else root
    switches = {"enableHierarchy": "true", "arguments": flow({"ancestorReclaimLevel": level})}
    return opened((base, *objects), switches, flags)


def opened(objects: tuple[Objects, ...], lines: Mapping[str, str], flags: SchedulerFlags | None) -> Session:
    snapshot = cluster(*objects)
    snapshot.flags = flags or snapshot.flags
    return open_session(snapshot, "capacity", arguments={"capacity": lines})


def flow(arguments: Mapping[str, object]) -> str:
    """A YAML flow map."""
    return (
        "{"
        + ", ".join(
            f"{key}: {str(text).lower() if isinstance(text, bool) else text}" for key, text in arguments.items()
        )
        + "}"
    )


def plugin(ssn: Session) -> Capacity:
    found = ssn.plugins["capacity"]
    assert isinstance(found, Capacity)
    return found


def attr(ssn: Session, name: str) -> CapacityQueueAttr:
    return plugin(ssn).queues[name]


def running(name: str, count: int, cpu: str = "1", memory: str = "1Gi", **more: object) -> list[Manifest]:
    """A job of running pods on node n1, in a queue with the job's name by default."""
    owner = str(more.pop("queue", name))
    return [pod_group(name, queue=owner, phase="Running"), *pods(name, count, cpu, memory, on="n1", **more)]


def pending(name: str, count: int, cpu: str = "1", memory: str = "1Gi", **more: object) -> list[Manifest]:
    """A job of Pending pods, in a queue with the job's name by default."""
    owner = str(more.pop("queue", name))
    return [pod_group(name, queue=owner), *pods(name, count, cpu, memory, **more)]


def big_node() -> Manifest:
    return node("n1", cpu="10", memory="100Gi", pods="110", gpu="8")


def new_job(minimum: dict[str, str] | None, name: str) -> Manifest:
    return pod_group("new", queue=name, phase="Pending", min_resources=minimum)
