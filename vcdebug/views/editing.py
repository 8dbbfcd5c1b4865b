"""The command line that is likely meant where somebody wants to change something: an edit of what one looks at."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vcdebug.debugger.driver import Here
from vcdebug.framework.record import HookEvent
from vcdebug.snapshot.gather import object_name
from vcdebug.snapshot.snapshot import Snapshot


class _Field(NamedTuple):
    """What is changed most often of a kind of object."""

    kind: str
    path: str
    otherwise: str
    """What stands there if the manifest says nothing."""


FIELDS: Final = {
    "queue": _Field("Queue", "spec.weight", "1"),
    "job": _Field("PodGroup", "spec.minMember", "1"),
    "task": _Field("Pod", "spec.containers[0].resources.requests.cpu", ""),
    "node": _Field("Node", "spec.unschedulable", "true"),
}


def suggested_edit(here: Here, kind: str = "", name: str = "") -> str:
    """A `set` of the object, a `force` at a hook call, or a bare `set`."""
    field = FIELDS.get(kind)
    if field is not None and name:
        value = _present(here.recording.snapshot, field, name)
        return f"set {field.kind}/{name}:{field.path}={value or field.otherwise}"
    event = here.recording.event(here.seq)
    return f"force {_other_answer(event)}" if isinstance(event, HookEvent) else "set "


def _other_answer(event: HookEvent) -> str:
    """The answer that the plugin did not give, where there is only one."""
    if isinstance(event.result, bool):
        return "no" if event.result else "yes"
    candidates = dict(event.subject).get("candidates")
    if isinstance(candidates, tuple) and isinstance(event.result, tuple):
        return f"offer {' '.join(map(str, candidates))}" if candidates != event.result else "nobody"
    return ""


def _present(snapshot: Snapshot, field: _Field, name: str) -> str:
    """What the manifest says."""
    manifest: Any = next((one for one in snapshot.of(field.kind) if object_name(one) == name), None)
    for step in field.path.replace("[0]", ".0").split("."):
        if isinstance(manifest, list):
            manifest = manifest[0] if manifest else None
        else:
            manifest = manifest.get(step) if isinstance(manifest, dict) else None
    return "" if manifest is None else str(manifest)
