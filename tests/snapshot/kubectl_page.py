"""`make docs`: writes docs/kubectl.md, the kubectl command for each kind, from the table of kinds."""

from collections.abc import Iterator
from pathlib import Path

from vcdebug.snapshot.kinds import KINDS, WORKLOAD_KINDS, ResourceKind

PAGE = Path(__file__).parents[2] / "docs" / "kubectl.md"

HEAD = """# A snapshot with kubectl alone

This page is generated (`make docs`) from the table of kinds that a snapshot holds. `vcdebug capture` does all of it
in one command, and consistently; where only kubectl is at hand, these commands write the same objects into a
folder, which is a snapshot: `vcdebug open snapshot`. A kind that the cluster does not know answers with an error:
leave it out. The last command is for operators, of which most clusters have some: name those that yours has.

```console
$ mkdir snapshot
"""

TAIL = """```

Run them within a few seconds: objects that change in between can contradict each other. `vcdebug inspect snapshot`
says what is missing and which answers that can change. The scheduler's flags and release are read from its Deployment,
its configuration from its ConfigMap; with another installation, replace `volcano-system` by its namespace.

The start of the scheduler's process is read from its pod, which is among the pods of all namespaces; its release too,
if the Deployment is missing. Without that pod, a process that has run for long is assumed. A user without permission
to read all namespaces adds it:

```console
$ kubectl get pods -n volcano-system -l app=volcano-scheduler -o yaml > snapshot/scheduler-pods.yaml
```

Ages and periods are counted from the latest heartbeat of a kubelet or event in the snapshot, else from the
creation of its newest object. Another time belongs in `snapshot/meta.json`, as `{"now": "2026-11-01T09:30:00Z"}`.

| kind | without it, this is wrong |
|---|---|
"""


def page() -> str:
    """The whole page."""
    rows = "".join(f"| {kind.name} | {kind.if_missing} |\n" for kind in (*KINDS, *WORKLOAD_KINDS))
    return f"{HEAD}{''.join(_commands())}{TAIL}{rows}"


def _commands() -> Iterator[str]:
    """One line per kind; kinds that a replay requires come first."""
    for kind in sorted(KINDS, key=lambda kind: (not kind.required, kind.settings)):
        yield f"$ kubectl get {kind.kubectl_resource} {_where(kind)}-o yaml > snapshot/{kind.plural}.yaml\n"
    names = ",".join(kind.kubectl_resource for kind in WORKLOAD_KINDS)
    yield f"$ kubectl get {names} -A -o yaml > snapshot/workloads.yaml\n"


def _where(kind: ResourceKind) -> str:
    if kind.settings:
        return "-n volcano-system "
    return "-A " if kind.namespaced else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
