"""Apply edits: a new snapshot that shares every unchanged object with the old one."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import asdict, replace

from vcdebug.amount_text import join_names
from vcdebug.errors import closest_name_hint
from vcdebug.releases.release import NEWEST, release_names
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.cycle_inputs import NAMED_FIELDS, ChanceSettings, parse_answer
from vcdebug.snapshot.edit import ANSWER, CHANCE, CLOCK, CONF, FLAG, REPLAY, Edit, EditWalk, edit_conf_text
from vcdebug.snapshot.gathered_objects import object_name
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import HOSTNAME_KEY, bare_name, metadata_of
from vcdebug.snapshot.problems import ProblemReport
from vcdebug.snapshot.schema import SHAPES, repair_manifest
from vcdebug.snapshot.settings import RELEASE_FIELDS, read_chance, read_meta, with_flags, with_release
from vcdebug.snapshot.shapes import Shape, Struct
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

_FEATURE_GATES: Final = "feature_gates"
_RELEASE: Final = "release"
_PERSISTENCE: Final = "persistence"
_BOUND: Final = "bound"


def apply_edits(snapshot: Snapshot, edits: Iterable[Edit], conf: str) -> Snapshot:
    """A snapshot with the edits made in order; `conf` is the configuration in force, for edits of it."""
    for edit in edits:
        if edit.kind == CONF:
            conf = edit_conf_text(conf, edit)
            snapshot = replace(snapshot, scheduler_conf=conf)
        else:
            snapshot = _SETTING_EDITS.get(edit.kind, _with_object)(snapshot, edit)
    return snapshot


def _with_object(snapshot: Snapshot, edit: Edit) -> Snapshot:
    manifests = snapshot.objects_of(edit.kind)
    if edit.change == "add":
        changed = [*manifests, _new_object(manifests, edit)]
    else:
        place = _find_place(manifests, edit, snapshot)
        edited = [] if not edit.path else [_edit_manifest(manifests[place], edit)]
        changed = [*manifests[:place], *edited, *manifests[place + 1 :]]
    # Copied only along the path: replays recognise reusable parts by the identity of lists and manifests.
    return replace(snapshot, objects={**snapshot.objects, edit.kind: changed})


def _find_place(manifests: list[Manifest], edit: Edit, snapshot: Snapshot | None = None) -> int:
    """The index of the edit's object; a name without a namespace must be unique.

    With the snapshot, an error names the kinds that have an object of this name.
    """
    index = next((place for place, manifest in enumerate(manifests) if object_name(manifest) == edit.name), None)
    if index is not None:
        return index
    names = [object_name(manifest) for manifest in manifests]
    matches = [place for place, name in enumerate(names) if bare_name(name) == edit.name]
    if len(matches) == 1:
        return matches[0]
    position = len(edit.text.partition("/")[0]) + 1
    if matches:
        raise edit.make_error("ambiguous name", position, f"objects: {', '.join(names[place] for place in matches)}")
    hint = closest_name_hint(edit.name, names, f"available: {', '.join(names)}" if 0 < len(names) <= 8 else "")
    others = [
        kind
        for kind, objects in (snapshot.objects if snapshot else {}).items()
        if edit.name in map(object_name, objects)
    ]
    hint = f"{join_names(others)} {edit.name} is in the snapshot" if others else hint
    raise edit.make_error(f"{edit.subject_text} not found", position, hint)


def _edit_manifest(manifest: Manifest, edit: Edit) -> Manifest:
    if edit.change == "delete":
        without = EditWalk(edit, None).apply_to(manifest, edit.path)
        return _check_edited(edit, manifest, without)
    value = edit.read_value()
    changed: Manifest = EditWalk(edit, value).apply_to(manifest, edit.path)
    # YAML reads 4 and true as a number and a truth value: for a text field, the value is set as text.
    old_faults = _type_faults(edit.kind, manifest)
    if not isinstance(value, dict | list | str) and _type_faults(edit.kind, changed) != old_faults:
        as_text: Manifest = EditWalk(edit, edit.value).apply_to(manifest, edit.path)
        if _type_faults(edit.kind, as_text) == old_faults:
            changed = as_text
    return _check_edited(edit, manifest, changed)


def _type_faults(kind: str, manifest: Manifest) -> list[str]:
    report = ProblemReport()
    repair_manifest(kind, manifest, "", "", report)
    return [problem.format_line() for problem in report.all_problems()]


def _check_edited(edit: Edit, before: Manifest, after: Manifest) -> Manifest:
    """The edited object; raises EditError for a wrong type, a new name, or a field that nothing reads."""
    old_faults = _type_faults(edit.kind, before)
    new = [fault for fault in _type_faults(edit.kind, after) if fault not in old_faults]
    if new:
        raise edit.make_error(new[0].partition(";")[0], edit.value_at, _dotted_hint(edit))
    if object_name(after) != object_name(before):
        raise edit.make_error(
            "an object cannot be renamed", edit.path[0].position, f"{edit.kind}/NEW:+=OLD adds a copy"
        )
    shape = SHAPES[edit.kind]
    if before != after and shape.keep_named(before) == shape.keep_named(after):
        fault = f"the scheduler does not read this field of {edit.kind}"
        raise edit.make_error(fault, edit.path[0].position, _field_hint(shape, edit))
    return after


def _field_hint(shape: Shape, edit: Edit) -> str:
    """A hint with the field that is most like the first unknown one of the path."""
    for step in edit.path:
        if isinstance(shape, Struct) and step.text not in shape.fields:
            holders = (name for name, part in shape.fields.items() if step.text in getattr(part, "fields", ()))
            inner = [f"did you mean {name}.{step.text}?" for name in holders]
            return inner[0] if inner else closest_name_hint(step.text, shape.fields)
        shape = shape.fields[step.text] if isinstance(shape, Struct) else getattr(shape, "item", shape)
    return ""


def _dotted_hint(edit: Edit) -> str:
    """A hint for resource and label names that are written without brackets."""
    unbracketed = any("/" in step.text and not step.is_bracketed for step in edit.path)
    return "put names with dots in brackets: [nvidia.com/gpu]" if unbracketed else ""


def _new_object(manifests: list[Manifest], edit: Edit) -> Manifest:
    """A new object, from a manifest or as a copy of an existing object under another name."""
    names = [object_name(manifest) for manifest in manifests]
    if edit.name in names:
        raise edit.make_error(f"{edit.subject_text} exists")
    value = edit.read_value()
    namespace, _, name = edit.name.rpartition("/")
    if KIND_BY_NAME[edit.kind].namespaced and not namespace:
        raise edit.make_error("missing namespace", len(edit.kind) + 1, f"write {edit.kind}/NAMESPACE/{name}:+=...")
    if isinstance(value, dict):
        model = value
    else:
        like = replace(edit, name=edit.value)
        model = manifests[_find_place(manifests, like)]
    metadata = {**metadata_of(model), "name": name, "uid": f"added-{edit.kind}-{edit.name}".lower()}
    if namespace:
        metadata["namespace"] = namespace
    labels = metadata.get("labels") or {}
    if edit.kind == "Node" and HOSTNAME_KEY in labels:
        metadata["labels"] = {**labels, HOSTNAME_KEY: name}
    created = {**model, "kind": edit.kind, "metadata": metadata}
    if faults := _type_faults(edit.kind, created):
        raise edit.make_error(faults[0].partition(";")[0], edit.value_at)
    return created


def _with_flag(snapshot: Snapshot, edit: Edit) -> Snapshot:
    name = _setting_name(edit, SchedulerFlags.__struct_fields__, deep=_FEATURE_GATES)
    if name == _RELEASE:
        return _with_release(snapshot, edit)
    if edit.change == "delete" and len(edit.path) == 1:
        return replace(snapshot, flags=replace(snapshot.flags, **{name: getattr(SchedulerFlags(), name)}))
    values: dict[str, Any] = {_FEATURE_GATES: dict(snapshot.flags.feature_gates)} if name == _FEATURE_GATES else {}
    report = ProblemReport()
    flags = with_flags(snapshot.flags, _edit_settings(values, name, edit), "", report, "")
    _raise_problems(edit, report)
    return replace(snapshot, flags=flags)


def _with_release(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """The snapshot at another release; raises EditError for a text that is no release."""
    if edit.change == "delete":
        return snapshot.with_release(NEWEST)
    text = edit.value.strip("\"'")
    resolved = resolve_release(text)
    if not resolved.readable:
        raise edit.make_error(resolved.problem, edit.value_at, f"releases: {', '.join(release_names())}")
    return snapshot_at_release(snapshot, text)


def snapshot_at_release(snapshot: Snapshot, release: str) -> Snapshot:
    """The snapshot, to be replayed with the rules of this release."""
    report = ProblemReport()
    flags = with_release(snapshot.flags, release, report, field=RELEASE_FIELDS[0])
    # Problems of the previous release no longer apply; those of the new one replace them.
    other_problems = [problem for problem in snapshot.problems if problem.field not in RELEASE_FIELDS]
    return replace(snapshot, flags=flags, problems=[*other_problems, *report.all_problems()])


def _with_chance(snapshot: Snapshot, edit: Edit) -> Snapshot:
    name = _setting_name(edit, ChanceSettings.__struct_fields__, deep=NAMED_FIELDS)
    if edit.change == "delete" and len(edit.path) == 1:
        return replace(snapshot, chance=replace(snapshot.chance, **{name: getattr(ChanceSettings(), name)}))
    report = ProblemReport()
    chance = read_chance(_edit_settings(asdict(snapshot.chance), name, edit), "", report)
    _raise_problems(edit, report)
    return replace(snapshot, chance=chance)


def _edit_settings(values: dict[str, Any], name: str, edit: Edit) -> dict[str, Any]:
    """The settings with the change made; the path begins with the setting of this name."""
    value = edit.read_value() if edit.change == "set" else None
    edited: dict[str, Any] = EditWalk(edit, value).apply_to(values, (edit.path[0]._replace(text=name), *edit.path[1:]))
    return edited


def _with_clock(snapshot: Snapshot, edit: Edit) -> Snapshot:
    _setting_name(edit, ["now"])
    if edit.change == "delete":
        raise edit.make_error("a cycle needs a clock", edit.path[0].position)
    report = ProblemReport()
    meta = read_meta("", {"now": edit.value.strip("\"'")}, report)
    _raise_problems(edit, report)
    assert meta.now is not None
    return replace(snapshot, now=meta.now)


def _with_replay(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """Set `persistence`, or `bound`: pods that another client binds during the cycle."""
    name = _setting_name(edit, [_PERSISTENCE, _BOUND], deep=_BOUND)
    if edit.change == "delete" and len(edit.path) == 1:
        return replace(snapshot, **{name: getattr(Snapshot(""), name)})
    values: dict[str, Any] = {_BOUND: dict(snapshot.bound)} if name == _BOUND else {}
    report = ProblemReport()
    meta = read_meta("", _edit_settings(values, name, edit), report)
    _raise_problems(edit, report)
    return replace(snapshot, **{name: getattr(meta, name)})


def _with_answer(snapshot: Snapshot, edit: Edit) -> Snapshot:
    """Add a forced answer, which replaces an earlier one for the same event, or remove it."""
    if len(edit.path) > len(("event", "hook", "plugin")):
        raise edit.make_error("an answer has no parts", edit.path[3].position, "write answer:EVENT.HOOK.PLUGIN=VALUE")
    seq, hook, plugin = (*(step.text for step in edit.path), "", "")[:3]
    answer = parse_answer(seq, hook, plugin, edit.value if edit.change == "set" else "none", edit.text)
    other_answers = tuple(other for other in snapshot.answers if other.seq != answer.seq)
    if edit.change == "set":
        return replace(snapshot, answers=(*other_answers, answer))
    if len(other_answers) == len(snapshot.answers):
        raise edit.make_error(f"no forced answer at event {seq}", edit.path[0].position)
    return replace(snapshot, answers=other_answers)


def _setting_name(edit: Edit, names: Sequence[str], deep: Container[str] = ()) -> str:
    """The name of the setting; raises EditError for an unknown one, or for a path below a setting not in `deep`."""
    step = edit.path[0]
    name = step.text.replace("-", "_")
    if name not in names:
        hint = closest_name_hint(name, names, f"available: {', '.join(names)}")
        raise edit.make_error(f"unknown {edit.kind} {step.text}", step.position, hint)
    if len(edit.path) > (2 if name in deep else 1):
        raise edit.make_error(f"{name} has no parts", edit.path[1].position)
    return name


def _raise_problems(edit: Edit, report: ProblemReport) -> None:
    problems = report.all_problems()
    if problems:
        raise edit.make_error(problems[0].what, edit.value_at)


_SETTING_EDITS: Final[Mapping[str, Callable[[Snapshot, Edit], Snapshot]]] = {
    FLAG: _with_flag,
    CHANCE: _with_chance,
    CLOCK: _with_clock,
    REPLAY: _with_replay,
    ANSWER: _with_answer,
}
