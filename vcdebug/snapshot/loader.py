"""Load a snapshot: files to objects, settings and Problems; nothing of the input is changed or executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

import yaml
from msgspec.structs import replace

from vcdebug.errors import SnapshotError, VcdebugError
from vcdebug.garbage_collection import collector_paused
from vcdebug.releases.release import Release
from vcdebug.snapshot import object_checks, settings
from vcdebug.snapshot.archive import SourceFile
from vcdebug.snapshot.completion import complete_needed_queues, complete_objects
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.gathered_objects import UNREAD_KIND, GatheredObjects, starts_like_json
from vcdebug.snapshot.json_documents import ReadSoFar
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import object_in, split_workload_key
from vcdebug.snapshot.problems import META_NOT_READ, Problem, ProblemReport
from vcdebug.snapshot.reported_events import latest_creation, latest_report
from vcdebug.snapshot.settings import DEVICE_CONFIG_FILE as DEVICE_FILE
from vcdebug.snapshot.settings import running_since, workload_of
from vcdebug.snapshot.shapes import describe_value
from vcdebug.snapshot.snapshot import DEFAULT_NOW, SchedulerFlags, Snapshot
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
    gathered = GatheredObjects(report)
    for file in open_source(source, report, meter.begin_file):
        if notice is not None and (warning := yaml_warning(file)):
            notice(warning)
        gathered.add_file(file, meter.reader_callback(file))
    if not any(KIND_BY_NAME[kind].is_read for kind in gathered.objects):
        gathered.note_unknown_kinds(also=gathered.objects)
        raise _nothing_found_error(report.all_problems(), _source_origin(source), gathered)
    snapshot = build_snapshot(gathered, complete, release, from_files=True)
    snapshot.name = snapshot.name or source_name(source)
    snapshot.origin = _source_origin(source)
    return snapshot


def _source_origin(source: Source) -> str:
    return str(source) if isinstance(source, str | Path) and source != "-" else source_name(source)


def build_snapshot(
    gathered: GatheredObjects, complete: bool | None, release: str | None = None, *, from_files: bool = False
) -> Snapshot:
    """Check and complete gathered objects; hand-written ones get defaults unless `complete` or meta.json forbids it."""
    report = gathered.report
    gathered.note_unknown_kinds()
    meta, place = settings.read_meta(*gathered.meta, report), (gathered.meta[0], report)
    flags = _read_flags(gathered, meta, release)
    completes = meta.complete if complete is None else complete
    # Completed before duplicates are dropped: the default namespace can turn two objects into duplicates.
    by_itself = from_files and completes is None and object_checks.is_hand_written(gathered)
    if by_itself:
        object_checks.note_hand_written(gathered, completed=True)
    if completes or by_itself:
        complete_objects(gathered.objects, gathered.files, flags)
    object_checks.drop_duplicates(gathered)
    conf = _find_conf(gathered)
    now = meta.now or latest_report(gathered.objects)
    if now is None:
        now = max(DEFAULT_NOW, latest_creation(gathered.objects) or DEFAULT_NOW)
    if from_files and completes is not False:
        complete_needed_queues(gathered, conf, flags)
    if not by_itself:
        object_checks.note_hand_written(gathered, completed=False)
    object_checks.note_missing_namespaces(gathered)
    object_checks.note_pod_uids(gathered)
    object_checks.note_missing_fields(gathered)
    object_checks.note_unmade_groups(gathered)
    object_checks.note_dangling(gathered, flags)
    return Snapshot(
        name=meta.name,
        objects=gathered.objects,
        scheduler_conf=conf,
        now=now,
        flags=flags,
        chance=settings.read_chance(meta.chance, *place),
        usage=settings.read_usage(*gathered.usage, report),
        extender=settings.read_answers(*gathered.extender, report),
        device_config=_find_device_config(gathered),
        process=_find_process(gathered, meta, now) if from_files else settings.read_process(meta.scheduler, *place),
        persistence=meta.persistence,
        bound=meta.bound,
        workloads={**meta.workloads, **gathered.workloads},
        problems=_with_saved_problems(report.all_problems(), meta, flags.release),
        description=meta.description,
        provenance=meta.capture,
    )


def _with_saved_problems(problems: list[Problem], meta: settings.MetaSettings, release: Release) -> list[Problem]:
    """Saved Problems first, then new ones; saved ones about the release only if the current release has them too."""
    keys, has_release = [_problem_key(problem) for problem in problems], not release.is_assumed
    saved_problems = [
        problem
        for problem in meta.problems
        if not (has_release and problem.field in settings.RELEASE_FIELDS) or _problem_key(problem) in keys
    ]
    saved = dict.fromkeys(map(_problem_key, saved_problems))
    return [*saved_problems, *(problem for problem in problems if _problem_key(problem) not in saved)]


def _problem_key(problem: Problem) -> tuple[str, str, str]:
    """The identity of a Problem without its file, which changes when a snapshot is saved and loaded."""
    return problem.object, problem.field, problem.what


def _release_of(image: str) -> str:
    """The release in an image's name, or an empty text."""
    if not image:  # as in most snapshots: the patterns of releases cost a start
        return ""
    from vcdebug.releases.release_names import release_of_image

    return release_of_image(image)


def _read_flags(gathered: GatheredObjects, meta: settings.MetaSettings, release: str | None) -> SchedulerFlags:
    """Flags in ascending precedence: upstream's defaults, the command line of Deployment or else pod, meta.json."""
    flags = SchedulerFlags()
    image = ""
    pods = [(file, workload_of(pod)) for file, pod in gathered.scheduler_pods]
    for file, deployment in gathered.settings.get("Deployment") or pods:
        container = settings.scheduler_container(deployment)
        flags = settings.with_flags(flags, settings.flag_values(container), file, gathered.report, "scheduler flag ")
        image = str(container.get("image") or image)
    flags = settings.with_flags(flags, meta.flags, gathered.meta[0], gathered.report)
    releases = ("", release), (gathered.meta[0], meta.scheduler.get("release")), ("", _release_of(image))
    for field, (file, text) in zip(settings.RELEASE_FIELDS, releases, strict=True):
        if text:
            return settings.with_release(flags, text, gathered.report, file=file, field=field)
    return settings.with_release(flags, "", gathered.report, image=image)


def _find_process(gathered: GatheredObjects, meta: settings.MetaSettings, now: datetime) -> SchedulerProcess:
    """The process in meta.json, else that of the scheduler's pod, else one that is assumed to run for long."""
    process = settings.read_process(meta.scheduler, gathered.meta[0], gathered.report)
    is_first = bool(meta.family) or ("started" in meta.scheduler and meta.scheduler["started"] is None)
    if process.started is not None or is_first:
        return process
    starts = [start for _, pod in gathered.scheduler_pods if (start := running_since(pod)) is not None]
    # A pod that started after the snapshot's clock shows that the clock is wrong, not that the process is new.
    start = min((start for start in starts if start < now), default=None)
    return replace(process, started=start, assumed=start is None)


def _find_device_config(gathered: GatheredObjects) -> str | None:
    """The device configuration of a file, else of the first ConfigMap that has one, else None."""
    values = [object_in(map_.get("data")).get(DEVICE_FILE) for _, map_ in gathered.settings.get("ConfigMap", ())]
    texts = [text for _, text in gathered.device_configs] + [text for text in values if isinstance(text, str)]
    return texts[0] if texts else None


def _find_conf(gathered: GatheredObjects) -> str | None:
    """The configuration: a file, else the scheduler's ConfigMap, else None."""
    deployments = [deployment for _, deployment in gathered.settings.get("Deployment", ())]
    keys = [
        PurePosixPath(settings.conf_path(settings.scheduler_container(deployment))).name for deployment in deployments
    ]
    texts = list(gathered.confs)
    for file, config_map in gathered.settings.get("ConfigMap", ()):
        text = next((text for key in (*keys, settings.CONF_KEY) if (text := settings.conf_of(config_map, key))), None)
        if isinstance(text, str):
            texts.append((file, text))
        elif text is not None:
            gathered.report.add_problem(
                f"is {describe_value(text)}, not text", "ignored", file=file, field=f"data.{settings.CONF_KEY}"
            )
    if not texts:
        return None
    file, conf = texts[0]
    for other, text in texts[1:]:
        if text != conf:
            gathered.report.add_problem("contains a second scheduler configuration", f"using {file}", file=other)
    return conf


_NEEDED: Final = "a snapshot needs nodes, queues, PodGroups and pods, as printed by `{}`; {}"
_WITH_CONF: Final = "`vcdebug diff SNAPSHOT --conf FILE` replays one with it"
_WITH_JOB: Final = "`vcdebug submit SNAPSHOT FILE` adds a job's pods and PodGroup"


def _nothing_found_error(problems: list[Problem], origin: str, gathered: GatheredObjects) -> SnapshotError:
    """The first Problem, if it explains why nothing was found."""
    problems = [problem for problem in problems if problem.what != META_NOT_READ]
    command = object_checks.supplying_command(tuple(KIND_BY_NAME[kind] for kind in (*object_checks.NEEDED, "Pod")))
    if not problems and (_find_conf(gathered) or _find_device_config(gathered)) is not None:
        return SnapshotError("contains only settings of the scheduler", _NEEDED.format(command, _WITH_CONF), origin)
    unread = [problem.object for problem in problems if problem.what.endswith(UNREAD_KIND)]
    unread += [*gathered.settings, *(split_workload_key(key)[1] for key in gathered.workloads)]
    if not problems and not unread:
        return SnapshotError("contains no Kubernetes objects", "expected YAML or JSON manifests", origin)
    if not problems or problems[0].what.endswith(UNREAD_KIND):
        words = f"contains only kinds that the scheduler does not read: {', '.join(dict.fromkeys(unread))}"
        return SnapshotError(words, _NEEDED.format(command, _WITH_JOB), origin)
    first = problems[0]
    place = ": ".join(part for part in (first.file, first.object, first.field) if part)
    return SnapshotError(f"no usable objects: {first.what}", where=place or origin)


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
        self._done_bytes = 0
        self._total = 0
        self._name = ""

    def begin_file(self, done_bytes: int, total: int, name: str) -> None:
        """Note that a file begins after `done_bytes` of `total` bytes."""
        self._done_bytes, self._total, self._name = done_bytes, total, name
        self._report_progress(done_bytes, total, name)

    def reader_callback(self, file: SourceFile) -> ReadSoFar | None:
        """The callback for the reader of a file; a member of an archive has its own total."""
        if self._progress is None:
            return None
        is_current = file.name == self._name and self._done_bytes + len(file.data) <= self._total
        before, total = (self._done_bytes, self._total) if is_current else (0, len(file.data))
        return lambda read: self._report_progress(before + read, total, file.name)

    def _report_progress(self, done_bytes: int, total: int, name: str) -> None:
        if self._progress is not None and self._progress(done_bytes, total, name) is False:
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


# The line of a manifest field in the snapshot's files.

MAX_SEARCHED_BYTES: Final = 2_000_000
"""Maximum size in bytes of a file that is read again; parsing larger ones takes seconds."""


class FieldLines:
    """Finds the lines of fields in a snapshot's files, which are read at the first search."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def find_line(self, kind: str, name: str, steps: Sequence[str | int]) -> str:
        """The place of a field, such as `nodes.yaml:12`; empty if the files cannot be read again or lack the field."""
        for file, object_kind, node in self._objects:
            if (object_kind, name) in ((kind, _name_of(node)), (kind, _scalar(node, "metadata", "name"))):
                field = _find_value_node(node, steps)
                if field is not None:
                    return f"{file}:{field.start_mark.line + 1}"
        return ""

    @cached_property
    def _objects(self) -> list[tuple[str, str, yaml.Node]]:
        """(file, kind, object) of every object of the files."""
        try:
            path = Path(self._origin)
            is_small = path.is_dir() or (path.is_file() and path.stat().st_size <= MAX_SEARCHED_BYTES)
            files = list(open_source(path, ProblemReport())) if is_small else []
        except VcdebugError:
            # The snapshot came from standard input, or its file is gone: answers then have no line numbers.
            return []
        small = (file for file in files if len(file.data) <= MAX_SEARCHED_BYTES)
        return [entry for file in small for entry in _read_objects(file.name, file.data)]


def _read_objects(file: str, data: bytes) -> Iterator[tuple[str, str, yaml.Node]]:
    try:
        for document in yaml.compose_all(data.decode("utf-8", "replace"), Loader=SAFE_LOADER):
            items = _find_value_node(document, ("items",))
            kind = _scalar(document, "kind")
            for item in items.value if isinstance(items, yaml.SequenceNode) else (document,):
                yield file, _scalar(item, "kind") or kind.removesuffix("List"), item
    except (yaml.YAMLError, RecursionError):
        # The loader has reported the fault; fields before it can still be found.
        return


def _find_value_node(node: yaml.Node | None, steps: Sequence[str | int]) -> yaml.Node | None:
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
    field = _find_value_node(node, steps)
    return str(field.value) if isinstance(field, yaml.ScalarNode) else ""


def _name_of(node: yaml.Node) -> str:
    return "/".join(_scalar(node, "metadata", part) for part in ("namespace", "name"))
