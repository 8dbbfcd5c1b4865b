"""A session with only the predicates plugin, and helpers to call it."""

from collections.abc import Mapping

from tests.builders import cluster, conf_of, open_session, pod_group, task
from vcdebug.framework.hooks import PRE_PREDICATE, PREDICATE
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import FitStatus
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def labelled(manifest: Manifest, **labels: str) -> Manifest:
    manifest["metadata"]["labels"] = labels
    return manifest


def opened(
    *objects: Manifest,
    flags: SchedulerFlags | None = None,
    arguments: Mapping[str, str] | None = None,
    release: str = "",
) -> Session:
    lines = "".join(f"      {key}: {value}\n" for key, value in (arguments or {}).items())
    text = conf_of("predicates") + ("    arguments:\n" + lines if lines else "")
    snapshot = cluster(pod_group("j"), pod_group("r"), *objects, conf=text)
    snapshot.flags = flags or SchedulerFlags()
    return open_session(snapshot_at_release(snapshot, release) if release else snapshot)


def prepare(ssn: Session, name: str = "j-0") -> str | None:
    error = ssn.ask_plugins(PRE_PREDICATE, task(ssn, name))
    return None if error is None else error.text


def judge(ssn: Session, name: str = "j-0") -> list[tuple[FitStatus, ...]]:
    codes = ssn.ask_plugins(PREDICATE, task(ssn, name), ssn.all_rows())["predicates"]
    return [ssn.reasons.statuses_of(code) for code in codes.tolist()]


def reasons(ssn: Session, name: str = "j-0") -> list[list[str]]:
    """Reasons per node after PrePredicate."""
    assert prepare(ssn, name) is None
    return [[status.reason for status in statuses] for statuses in judge(ssn, name)]


def place(ssn: Session, name: str, node_name: str) -> list[str]:
    """Allocate a task as Statement.Allocate does, with the effects that predicates observes."""
    placed = task(ssn, name)
    placed.node_name = placed.pod.node_name = node_name
    return ssn.notify_allocated(placed)


def note_codes(ssn: Session) -> list[str]:
    return [note.code for note in ssn.record.notes]
