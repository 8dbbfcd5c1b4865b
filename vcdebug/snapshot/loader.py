"""Load a snapshot: files to objects, settings and Problems; nothing of the input is changed or executed."""

from __future__ import annotations

import copy
import marshal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from vcdebug.errors import SnapshotError, VcdebugError
from vcdebug.garbage_collection import collector_paused
from vcdebug.releases.release import Release
from vcdebug.snapshot import object_checks, settings
from vcdebug.snapshot.archive import SourceFile
from vcdebug.snapshot.completion import complete_needed_queues, complete_objects
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.device_config import DEVICE_CONFIG_FILE as DEVICE_FILE
from vcdebug.snapshot.gathered_objects import UNREAD_KIND, GatheredObjects, starts_like_json
from vcdebug.snapshot.json_documents import ReadSoFar
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.problems import Problem, ProblemReport
from vcdebug.snapshot.settings import running_since, workload_of
from vcdebug.snapshot.shapes import describe_value
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot
from vcdebug.snapshot.sources import Source, open_source, source_name
from vcdebug.snapshot.yaml_documents import SAFE_LOADER, DocumentError


def load_snapshot(
    source: Source,
    *,
    complete: bool | None = None,
    release: str | None = None,
    progress: Progress | None = None,
    notice: Callable[[str], None] | None = None,
) -> Snapshot:
    """The snapshot in a folder, archive, file or stream (`-` is stdin); raises SnapshotError if it holds no objects.

    `complete` (whether hand-written manifests get defaults) and `release` override meta.json. `progress` may return
    False to stop, which raises LoadStoppedError; `notice` is called with a warning about a file that loads slowly.
    """
    with collector_paused(look=True):
        return _load_files(source, complete, release, LoadMeter(progress), notice)


def _load_files(
    source: Source, complete: bool | None, release: str | None, meter: LoadMeter, notice: Callable[[str], None] | None
) -> Snapshot:
    report = ProblemReport()
    found = GatheredObjects(report, slim=True)
    for file in open_source(source, report, meter.begin_file):
        if notice is not None and (warning := yaml_warning(file)):
            notice(warning)
        found.add_file(file, meter.reader_callback(file))
    if not any(KIND_BY_NAME[kind].decides for kind in found.objects):
        found.note_unknown_kinds(also=found.objects)
        raise _nothing_found_error(report.all_problems(), _source_origin(source))
    snapshot = _build_snapshot(found, complete, release, from_files=True)
    snapshot.name = snapshot.name or source_name(source)
    snapshot.origin = _source_origin(source)
    return snapshot


def _source_origin(source: Source) -> str:
    return str(source) if isinstance(source, str | Path) and source != "-" else source_name(source)


def snapshot_from_objects(
    objects: Iterable[Manifest],
    *,
    conf: str | None = None,
    name: str = "",
    complete: bool | None = None,
    usage: Manifest | None = None,
    extender: Manifest | None = None,
    **meta: Any,
) -> Snapshot:
    """A snapshot of copies of these manifests; further arguments are keys of meta.json."""
    found = GatheredObjects(ProblemReport())
    for number, manifest in enumerate(_own_copy(list(objects)), start=1):
        found.add_document(manifest, "", f"item {number}")
    found.meta = ("", {"name": name, **meta})
    found.usage = ("", usage or {})
    found.extender = ("", extender or {})
    if conf is not None:
        found.confs.append(("", conf))
    return _build_snapshot(found, complete)


def _own_copy(objects: list[Manifest]) -> list[Manifest]:
    # marshal copies plain data several times as fast as deepcopy; it refuses any other type.
    try:
        copied: list[Manifest] = marshal.loads(marshal.dumps(objects, 2))
    except ValueError:
        return copy.deepcopy(objects)
    return copied


def _build_snapshot(
    found: GatheredObjects, complete: bool | None, release: str | None = None, *, from_files: bool = False
) -> Snapshot:
    """Check and complete what was gathered; hand-written files get defaults unless `complete` or meta.json says no."""
    report = found.report
    found.note_unknown_kinds()
    meta, place = settings.read_meta(*found.meta, report), (found.meta[0], report)
    flags = _read_flags(found, meta, release)
    wanted = meta.complete if complete is None else complete
    # Completed before duplicates are dropped: the default namespace can turn two objects into duplicates.
    by_itself = from_files and wanted is None and object_checks.is_hand_written(found)
    if by_itself:
        object_checks.note_hand_written(found, completed=True)
    if wanted or by_itself:
        complete_objects(found.objects, found.files, flags)
    object_checks.drop_duplicates(found)
    conf = _find_conf(found)
    if from_files and wanted is not False:
        complete_needed_queues(found, conf, flags)
    if not by_itself:
        object_checks.note_hand_written(found, completed=False)
    object_checks.note_missing_namespaces(found)
    object_checks.note_pod_uids(found)
    object_checks.note_missing_fields(found)
    object_checks.note_unmade_groups(found)
    object_checks.note_dangling(found, flags)
    return Snapshot(
        name=meta.name,
        objects=found.objects,
        scheduler_conf=conf,
        now=meta.now,
        flags=flags,
        chance=settings.read_chance(meta.chance, *place),
        usage=settings.read_usage(*found.usage, report),
        extender=settings.read_answers(*found.extender, report),
        device_config=_find_device_config(found),
        process=_find_process(found, meta) if from_files else settings.read_process(meta.scheduler, *place),
        persistence=meta.persistence,
        bound=meta.bound,
        problems=_with_saved_problems(report.all_problems(), meta, flags.release),
        description=meta.description,
        provenance=meta.capture,
    )


def _with_saved_problems(problems: list[Problem], meta: settings.MetaSettings, release: Release) -> list[Problem]:
    """Saved Problems first, then new ones; saved ones about the release only if the current release has them too."""
    found, stated = [_problem_key(one) for one in problems], not release.is_assumed
    kept = [
        one
        for one in meta.problems
        if not (stated and one.field in settings.RELEASE_FIELDS) or _problem_key(one) in found
    ]
    saved = dict.fromkeys(map(_problem_key, kept))
    return [*kept, *(one for one in problems if _problem_key(one) not in saved)]


def _problem_key(problem: Problem) -> tuple[str, str, str]:
    """Identifies a Problem across a save and a load, which change its file."""
    return problem.object, problem.field, problem.what


def _release_of(image: str) -> str:
    """The release in an image's name, or an empty text."""
    if not image:  # as in most snapshots: the patterns of releases cost a start
        return ""
    from vcdebug.releases.release_names import release_of_image

    return release_of_image(image)


def _read_flags(found: GatheredObjects, meta: settings.MetaSettings, release: str | None) -> SchedulerFlags:
    """Upstream's defaults, then the command line of the scheduler's Deployment or else its pods, then meta.json."""
    flags = SchedulerFlags()
    image = ""
    pods = [(file, workload_of(pod)) for file, pod in found.scheduler_pods]
    for file, deployment in found.settings.get("Deployment") or pods:
        container = settings.scheduler_container(deployment)
        flags = settings.with_flags(flags, settings.flag_values(container), file, found.report, "scheduler flag ")
        image = str(container.get("image") or image)
    flags = settings.with_flags(flags, meta.flags, found.meta[0], found.report)
    said = ("", release), (found.meta[0], meta.scheduler.get("release")), ("", _release_of(image))
    for field, (file, stated) in zip(settings.RELEASE_FIELDS, said, strict=True):
        if stated:
            return settings.with_release(flags, stated, found.report, file=file, field=field)
    return settings.with_release(flags, "", found.report, image=image)


def _find_process(found: GatheredObjects, meta: settings.MetaSettings) -> SchedulerProcess:
    """The process that meta.json states, else the one in the scheduler's pod, else one that has run for long."""
    process = settings.read_process(meta.scheduler, found.meta[0], found.report)
    is_first = bool(meta.family) or ("started" in meta.scheduler and meta.scheduler["started"] is None)
    if process.started is not None or is_first:
        return process
    starts = [start for _, pod in found.scheduler_pods if (start := running_since(pod)) is not None]
    # A pod that started after the snapshot's clock shows that the clock is wrong, not that the process is new.
    start = min((start for start in starts if start < meta.now), default=None)
    return replace(process, started=start, assumed=start is None)


def _find_device_config(found: GatheredObjects) -> str | None:
    """The device configuration of a file, else of the first ConfigMap that has one, else None."""
    held = [(map_.get("data") or {}).get(DEVICE_FILE) for _, map_ in found.settings.get("ConfigMap", ())]
    texts = [text for _, text in found.device_configs] + [text for text in held if isinstance(text, str)]
    return texts[0] if texts else None


def _find_conf(found: GatheredObjects) -> str | None:
    """The configuration: a file, else the scheduler's ConfigMap, else None."""
    deployments = [deployment for _, deployment in found.settings.get("Deployment", ())]
    keys = [
        PurePosixPath(settings.conf_path(settings.scheduler_container(deployment))).name for deployment in deployments
    ]
    texts = list(found.confs)
    for file, config_map in found.settings.get("ConfigMap", ()):
        text = next((text for key in (*keys, settings.CONF_KEY) if (text := settings.conf_of(config_map, key))), None)
        if isinstance(text, str):
            texts.append((file, text))
        elif text is not None:
            found.report.add_problem(
                f"is {describe_value(text)}, not text", "ignored", file=file, field=f"data.{settings.CONF_KEY}"
            )
    if not texts:
        return None
    file, conf = texts[0]
    for other, text in texts[1:]:
        if text != conf:
            found.report.add_problem("contains a second scheduler configuration", f"using {file}", file=other)
    return conf


_NEEDED_KINDS_HINT = (
    "a snapshot needs nodes, queues, PodGroups and pods; `vcdebug submit SNAPSHOT FILE` adds a job's pods and PodGroup"
)


def _nothing_found_error(problems: list[Problem], where: str) -> SnapshotError:
    """The first Problem, if it explains why nothing was found."""
    hint = "expected YAML or JSON manifests"
    if not problems:
        return SnapshotError("contains no Kubernetes objects", hint, where)
    first = problems[0]
    if first.what.endswith(UNREAD_KIND):
        kinds = ", ".join(dict.fromkeys(one.object for one in problems if one.what.endswith(UNREAD_KIND)))
        return SnapshotError(
            f"contains only kinds that the scheduler does not read: {kinds}", _NEEDED_KINDS_HINT, where
        )
    place = ": ".join(part for part in (first.file, first.object, first.field) if part)
    return SnapshotError(f"no usable objects: {first.what}", where=place or where)


Progress = Callable[[int, int, str], object]
"""Called with (bytes read, total bytes or 0 if unknown, current file); returning False stops the load."""

SLOW_YAML_BYTES = 20 << 20
YAML_BYTES_PER_SECOND = 2_000_000
"""Measured with libyaml; the same manifests load about ten times as fast as JSON."""


class LoadStoppedError(VcdebugError):
    """The progress callback stopped the load."""


class LoadMeter:
    """Converts progress inside a file into progress of the whole load."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._done = 0
        self._total = 0
        self._name = ""

    def begin_file(self, done: int, total: int, name: str) -> None:
        """Note that a file begins after `done` of `total` bytes."""
        self._done, self._total, self._name = done, total, name
        self._report_progress(done, total, name)

    def reader_callback(self, file: SourceFile) -> ReadSoFar | None:
        """The callback for the reader of a file; a member of an archive has its own total."""
        if self._progress is None:
            return None
        whole = file.name == self._name and self._done + len(file.data) <= self._total
        before, total = (self._done, self._total) if whole else (0, len(file.data))
        return lambda read: self._report_progress(before + read, total, file.name)

    def _report_progress(self, done: int, total: int, name: str) -> None:
        if self._progress is not None and self._progress(done, total, name) is False:
            raise LoadStoppedError("loading was stopped", where=name)


def yaml_warning(file: SourceFile) -> str:
    """A warning with the estimated time for a large YAML file; empty for any other file."""
    size = len(file.data)
    try:
        if size < SLOW_YAML_BYTES or starts_like_json(file.data):
            return ""
    except DocumentError:  # the reader says so
        return ""
    seconds = size // YAML_BYTES_PER_SECOND
    return (
        f"{file.name}: reading {size >> 20} MB of YAML takes about {seconds} s; JSON (kubectl -o json) takes "
        "a few seconds"
    )


# The lines on which fields stand.

MAX_SEARCHED_BYTES: Final = 2_000_000
"""Larger files are not read again: parsing them takes seconds."""


class FieldLines:
    """Finds lines in the files of one snapshot, which are read once, when the first line is sought."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def find_line(self, kind: str, name: str, steps: Sequence[str | int]) -> str:
        """`nodes.yaml:12`; empty where the files cannot be read again or do not state the field."""
        for file, found, node in self._objects:
            if (found, name) in ((kind, _name_of(node)), (kind, _scalar(node, "metadata", "name"))):
                at = _walk(node, steps)
                if at is not None:
                    return f"{file}:{at.start_mark.line + 1}"
        return ""

    @cached_property
    def _objects(self) -> list[tuple[str, str, yaml.Node]]:
        """(file, kind, object) of every object of the files."""
        try:
            files = list(open_source(self._origin, ProblemReport())) if self._origin else []
        except VcdebugError:
            # The snapshot came from standard input, or the file is gone: an answer without lines is still right.
            return []
        small = (each for each in files if len(each.data) <= MAX_SEARCHED_BYTES)
        return [found for each in small for found in _read_objects(each.name, each.data)]


def _read_objects(file: str, data: bytes) -> Iterator[tuple[str, str, yaml.Node]]:
    try:
        for document in yaml.compose_all(data.decode("utf-8", "replace"), Loader=SAFE_LOADER):
            items = _walk(document, ("items",))
            kind = _scalar(document, "kind")
            for item in items.value if isinstance(items, yaml.SequenceNode) else (document,):
                yield file, _scalar(item, "kind") or kind.removesuffix("List"), item
    except (yaml.YAMLError, RecursionError):
        # The loader has told of it; what stands before the fault can still be found.
        return


def _walk(node: yaml.Node | None, steps: Sequence[str | int]) -> yaml.Node | None:
    """The value's node at the end of a path; None where the path ends early."""
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
        else:
            return None
    return node


def _scalar(node: yaml.Node | None, *steps: str) -> str:
    found = _walk(node, steps)
    return str(found.value) if isinstance(found, yaml.ScalarNode) else ""


def _name_of(node: yaml.Node) -> str:
    return "/".join(_scalar(node, "metadata", part) for part in ("namespace", "name"))
