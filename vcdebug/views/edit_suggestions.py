"""Suggest edits and answers for the command line, from the cell and event under the cursor."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.figures import Figure
from vcdebug.explain.decisions.votes import HOOK_AT
from vcdebug.framework.forced_answers import choice_text
from vcdebug.framework.record import HookEvent
from vcdebug.model.resource import CPU
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.edit_path import PathReader, field_step
from vcdebug.snapshot.gathered_objects import object_name
from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.snapshot import SchedulerFlags, Snapshot

MAX_OBJECTS: Final = 500
"""Objects of a kind that completion lists at most."""


class _EditedField(NamedTuple):
    """An editable field of a kind of object."""

    kind: str
    path: str
    default: str
    """The suggested value if the manifest has none."""
    by_dim: bool = False
    """Whether the path ends with a dimension."""


USUAL_FIELDS: Final = {
    "queue": _EditedField("Queue", "spec.weight", "1"),
    "job": _EditedField("PodGroup", "spec.minMember", "1"),
    "task": _EditedField("Pod", "spec.containers[0].resources.requests.cpu", ""),
    "node": _EditedField("Node", "spec.unschedulable", "true"),
}

FIELD_BY_FIGURE: Final = {
    ("node", "idle"): _EditedField("Node", "status.allocatable", "", by_dim=True),
    ("node", "allocatable"): _EditedField("Node", "status.allocatable", "", by_dim=True),
    ("queue", "deserved"): _EditedField("Queue", "spec.deserved", "", by_dim=True),
    ("queue", "capability"): _EditedField("Queue", "spec.capability", "", by_dim=True),
    ("queue", "realCapability"): _EditedField("Queue", "spec.capability", "", by_dim=True),
    ("queue", "guarantee"): _EditedField("Queue", "spec.guarantee.resource", "", by_dim=True),
    ("job", "priority"): _EditedField("PodGroup", "spec.priorityClassName", ""),
    ("job", "phase"): _EditedField("PodGroup", "status.phase", ""),
    ("task", "priority"): _EditedField("Pod", "spec.priorityClassName", ""),
    ("task", "node"): _EditedField("Pod", "spec.nodeName", ""),
}
"""(kind, part) of a figure -> the manifest field that sets it."""
FIELD_BY_HEAD: Final = {("job", "queue"): _EditedField("PodGroup", "spec.queue", "default")}
"""(kind of row, head of column) -> the manifest field that sets any other cell."""


def suggested_edit(
    here: DebuggerState, kind: str = "", name: str = "", figure: Figure | None = None, head: str = ""
) -> str:
    """The command to suggest: `set` of the cell's field or the object's usual one, else `force` or a bare `set`."""
    field = _field_of_figure(figure) or FIELD_BY_HEAD.get((kind, head)) or USUAL_FIELDS.get(kind)
    if field is not None and name:
        value = _present_value(here.recording.snapshot, field, name)
        return f"set {field.kind}/{name}:{field.path}={value or field.default}"
    event = None if here.number == OVERVIEW else here.recording.event_at(here.seq)
    return f"force {_other_answer(event)}" if isinstance(event, HookEvent) else "set "


def _field_of_figure(figure: Figure | None) -> _EditedField | None:
    """The manifest's field behind a figure; None if there is none."""
    if figure is None or (figure.kind, figure.part) not in FIELD_BY_FIGURE:
        return None
    field = FIELD_BY_FIGURE[figure.kind, figure.part]
    return field._replace(path=field.path + field_step(figure.dim or CPU)) if field.by_dim else field


def iter_edit_words(here: DebuggerState) -> Iterator[str]:
    """Completions for `set`, up to the value: the objects around the event first, then all others."""
    snapshot, conf = here.recording.snapshot, here.recording.conf
    around = {"queue": here.queue, "job": here.job, "task": here.task, "node": here.node}
    for kind, field in USUAL_FIELDS.items():
        names = [object_name(manifest) for manifest in snapshot.objects_of(field.kind)[:MAX_OBJECTS]]
        current = [around[kind]] if around[kind] in names else []
        yield from (f"{field.kind}/{name}:{field.path}=" for name in dict.fromkeys([*current, *names]))
    yield "conf:actions="
    yield from (f"conf:plugins.{plugin}" for plugin in conf.plugin_names())
    yield from (f"flag:{name}=" for name in SchedulerFlags.__struct_fields__)
    yield from (f"chance:{name}=" for name in ChanceSettings.__struct_fields__)
    yield "replay:persistence="


def iter_answer_words(here: DebuggerState) -> Iterator[str]:
    """The answers that can be forced on the plugin of the current call."""
    event = here.recording.event_at(here.seq)
    if not isinstance(event, HookEvent):
        return
    if event.offers:
        yield from ("allow", "none", "abstain")
    elif isinstance(event.result, bool):
        yield from ("yes", "no")
    elif "permit" in choice_text(HOOK_AT[event.point].answer_form):
        yield from ("permit", "reject", "abstain")
    else:
        yield from ("yes", "no", "none")


def _other_answer(event: HookEvent) -> str:
    """The opposite of the plugin's answer; empty if there is no single opposite."""
    if isinstance(event.result, bool):
        return "no" if event.result else "yes"
    if event.offers and isinstance(event.result, tuple):
        return f"allow {' '.join(event.candidates)}" if event.candidates != event.result else "none"
    return ""


def _present_value(snapshot: Snapshot, field: _EditedField, name: str) -> str:
    """The field's value in the manifest; empty if it has none."""
    manifest: Json = next(
        (candidate for candidate in snapshot.objects_of(field.kind) if object_name(candidate) == name), None
    )
    for step in PathReader(field.path, 0, len(field.path)).read_steps():
        if isinstance(manifest, list):
            manifest = manifest[0] if manifest else None
        else:
            manifest = manifest.get(step.text) if isinstance(manifest, dict) else None
    return "" if manifest is None else str(manifest)
