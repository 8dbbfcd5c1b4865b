"""Read the scheduler's settings: flags, release, volcano-scheduler.conf, device configuration."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from vcdebug.capture import scheduler_workloads
from vcdebug.capture.api_client import Api, ApiRefusal, CaptureOptions
from vcdebug.capture.listing import VersionGone, list_at_version
from vcdebug.capture.permission import FORBIDDEN, NOT_FOUND, PROBLEM_FILE
from vcdebug.errors import CaptureError
from vcdebug.plugins import DEVICESHARE
from vcdebug.releases.release_names import release_of_image
from vcdebug.snapshot import settings as command_line
from vcdebug.snapshot.device_config import (
    DEVICE_CONFIG_NAME,
    DEVICE_CONFIG_NAMESPACE,
    NAME_ARGUMENT,
    NAMESPACE_ARGUMENT,
)
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import object_in, object_list
from vcdebug.snapshot.problems import Problem, ProblemReport
from vcdebug.snapshot.settings import CONF_KEY, DEVICE_CONFIG_FILE, RELEASE_FIELDS, with_flags, with_release
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

if TYPE_CHECKING:
    from vcdebug.framework.arguments import Arguments


CONFIG_MAP = "volcano-scheduler-configmap"
SHARED_VARIABLE = "MULTI_SCHEDULER_ENABLE"
NO_CONF = "using the built-in configuration; set the right one with --scheduler-configmap"
CONF_MISSING = "the scheduler's configuration"
FLAGS_MISSING = "the scheduler's flags"
UNREAD_FLAGS = {
    "plugins-dir": "plugins loaded from there take part in the cluster but not in the replay",
    "disable-default-scheduler-config": (
        "the scheduler stops without a valid configuration, the replay uses the built-in one"
    ),
}


class ConfSource(NamedTuple):
    """The ConfigMap with the configuration, and the configuration's key in it."""

    namespace: str
    name: str
    key: str


class SchedulerSettings(Struct):
    """The settings that the cluster's scheduler runs with."""

    conf: str | None = None
    flags: SchedulerFlags = field(default_factory=SchedulerFlags)
    device_config: str | None = None
    image: str = ""
    started: datetime | None = None
    """Time at which the scheduler's container last started; None if unknown."""
    schedulers: tuple[str, ...] = ()
    """`namespace/name` of all schedulers found, this one first."""
    missing: list[str] = []
    """Names of required settings that could not be read."""
    problems: list[Problem] = []


def read_settings(
    api: Api, options: CaptureOptions, objects: scheduler_workloads.ObjectsByKind, version: str = ""
) -> SchedulerSettings:
    """The settings, with a problem for each part that could not be found; `objects` are those of the state `version`.

    Raises CaptureError where the scheduler or ConfigMap that the options name does not exist.
    """
    settings = SchedulerSettings()
    schedulers = scheduler_workloads.find_schedulers(api, objects, settings.problems, options.scheduler, version)
    scheduler = scheduler_workloads.choose_scheduler(schedulers, options.scheduler, api.server, settings.problems)
    workload = scheduler.workload if scheduler is not None else None
    container = scheduler.main_container if scheduler is not None else {}
    scheduler_workloads.note_agent_schedulers(objects, settings.problems)
    if scheduler is not None:
        scheduler_workloads.note_stopped(scheduler, settings.problems)
        settings.flags = _scheduler_flags(container, scheduler.problem_place, settings.problems)
        settings.image = str(container.get("image") or "")
        settings.started = scheduler_workloads.started_at(scheduler, objects)
        settings.schedulers = (scheduler.key, *(other.key for other in schedulers if other is not scheduler))
    else:
        settings.missing.append(FLAGS_MISSING)
    _find_release(settings, options)
    maps = _ConfigMaps(api, options, version, settings.problems)
    source = _named_source(options, api) or _mounted_source(workload, container)
    settings.conf = _read_conf(maps, source, bool(options.scheduler_configmap), settings.problems)
    if settings.conf is None:
        settings.missing.append(CONF_MISSING)
    settings.device_config = read_device_config(maps, settings.conf, settings.problems, settings.missing)
    return settings


def _find_release(settings: SchedulerSettings, options: CaptureOptions) -> None:
    """The release of the options, else of the image's tag; none for a digest or `latest`."""
    release = options.release or release_of_image(settings.image)
    report = ProblemReport()
    field = RELEASE_FIELDS[0] if options.release else RELEASE_FIELDS[2]
    settings.flags = with_release(settings.flags, release, report, file=PROBLEM_FILE, field=field, image=settings.image)
    settings.problems.extend(report.all_problems())


def _scheduler_flags(container: Manifest, place: str, problems: list[Problem]) -> SchedulerFlags:
    """Upstream's default flags, changed by the container's command line and environment."""
    report = ProblemReport()
    flags = with_flags(SchedulerFlags(), command_line.flag_values(container), place, report, "scheduler flag ")
    problems.extend(report.all_problems())
    problems.extend(_iter_unread_flags(container, place))
    if command_line.container_environment(container).get(SHARED_VARIABLE) == "true":
        effect = "each scheduler sees only its share of pods and nodes, the replay sees all"
        problems.append(Problem(place, SHARED_VARIABLE, "", "several schedulers share this cluster", effect))
    return flags


def _iter_unread_flags(container: Manifest, place: str) -> Iterator[Problem]:
    """A problem for each flag whose effect on decisions cannot be replayed."""
    flags = command_line.parse_command_line(container)
    for flag, effect in UNREAD_FLAGS.items():
        if flags.get(flag, ["false"])[-1] != "false":
            yield Problem(place, f"--{flag}", "", f"is {flags[flag][-1]}", effect)


def _named_source(options: CaptureOptions, api: Api) -> ConfSource | None:
    if not options.scheduler_configmap:
        return None
    namespace, slash, name = options.scheduler_configmap.partition("/")
    if not (namespace and slash and name):
        text = options.scheduler_configmap
        raise CaptureError(f"--scheduler-configmap takes namespace/name, not {text!r}", where=api.server)
    return ConfSource(namespace, name, CONF_KEY)


def _mounted_source(deployment: Manifest | None, container: Manifest) -> ConfSource:
    """The ConfigMap behind the file of --scheduler-conf; the default one if no volume is mounted there."""
    namespace = str(
        object_in(object_in(deployment).get("metadata")).get("namespace") or scheduler_workloads.VOLCANO_NAMESPACE
    )
    path = command_line.conf_path(container)
    mount = _mount_of(path, container)
    file = mount.get("subPath") or posixpath.relpath(path, str(mount["mountPath"])) if mount else ""
    volumes = object_list(command_line.pod_spec_of(object_in(deployment)).get("volumes"))
    for volume in volumes:
        if mount and volume.get("name") == mount.get("name"):
            for source in _config_maps(volume):
                key = _key_of_file(source, str(file))
                if key:
                    return ConfSource(namespace, str(source.get("name")), key)
    return ConfSource(namespace, CONFIG_MAP, posixpath.basename(path) or CONF_KEY)


def _mount_of(path: str, container: Manifest) -> Manifest:
    """The innermost volume mount that contains a path."""
    mounts = [mount for mount in object_list(container.get("volumeMounts")) if _lies_in(path, mount.get("mountPath"))]
    return max(mounts, key=lambda mount: len(str(mount["mountPath"])), default={})


def _lies_in(path: str, folder: object) -> bool:
    return isinstance(folder, str) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def _config_maps(volume: Manifest) -> list[Manifest]:
    direct = [object_in(volume["configMap"])] if "configMap" in volume else []
    projected = object_list(object_in(volume.get("projected")).get("sources"))
    return direct + [object_in(source["configMap"]) for source in projected if "configMap" in source]


def _key_of_file(source: Manifest, file: str) -> str:
    """The ConfigMap's key behind a file of its volume; empty if `items` leaves the file out."""
    items = object_list(source.get("items"))
    if not items:
        return file
    return next((str(item.get("key")) for item in items if item.get("path") == file), "")


class _ConfigMaps(NamedTuple):
    """Reads ConfigMaps as they were at a version; an empty version is the present one."""

    api: Api
    options: CaptureOptions
    version: str
    problems: list[Problem]

    def read_data(self, namespace: str, name: str) -> Manifest:
        """The data of a ConfigMap; raises ApiRefusal."""
        found = self.api.get_object(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        # Listing needs one right more than reading, so that only a ConfigMap that has changed since is listed.
        if scheduler_workloads.was_written_after(found, self.version):
            try:
                (found,) = list_at_version(
                    self.api, KIND_BY_NAME["ConfigMap"], self.options, self.version, f"metadata.name={name}", namespace
                )
            except (ApiRefusal, VersionGone, ValueError):
                owner = f"ConfigMap {namespace}/{name}"
                fault = "has changed since that state, and its earlier text cannot be read"
                self.problems.append(Problem(PROBLEM_FILE, owner, "", fault, "using its present text"))
        return object_in(found.get("data"))


def _read_conf(maps: _ConfigMaps, source: ConfSource, is_named: bool, problems: list[Problem]) -> str | None:
    """The configuration; raises CaptureError for a ConfigMap that the user named, else adds a problem."""
    owner = f"ConfigMap {source.namespace}/{source.name}"
    try:
        fault = f"has no key {source.key}"
        text = _conf_text(maps.read_data(source.namespace, source.name), source.key)
    except ApiRefusal as refusal:
        fault, text = _refusal_words(source, refusal), None
    if text is None and is_named:
        raise CaptureError(f"{owner}: {fault}", where=maps.api.server)
    if text is None:
        problems.append(Problem(PROBLEM_FILE, owner, "", fault, NO_CONF))
    return text


def _refusal_words(source: ConfSource, refusal: ApiRefusal) -> str:
    if refusal.status == NOT_FOUND:
        return "not found"
    if refusal.status != FORBIDDEN:
        return str(refusal)
    can_i = f"kubectl auth can-i get configmaps/{source.name} --namespace {source.namespace}"
    return f'missing permission: verb "get", resource "configmaps", API group "" (check: {can_i})'


def _conf_text(data: Manifest, key: str) -> str | None:
    """The text under the key, else under the only key that ends in `.conf`."""
    if isinstance(data.get(key), str):
        return str(data[key])
    likely = [text for name, text in data.items() if name.endswith(".conf") and isinstance(text, str)]
    return likely[0] if len(likely) == 1 else None


# The configuration of virtual GPUs and Ascend NPUs, read only if the scheduler's configuration enables them.

DEVICE_SWITCHES = ("deviceshare.VGPUEnable", "deviceshare.AscendHAMiVNPUEnable")
DEVICES_MISSING = "the device configuration"
BUILT_IN_NAMES = "using built-in vGPU and Ascend NPU resource names; this cluster can use other names"


def read_device_config(maps: _ConfigMaps, conf: str | None, problems: list[Problem], missing: list[str]) -> str | None:
    """The device configuration; None if it is not enabled, does not exist or may not be read.

    A refused read adds a problem, and DEVICES_MISSING to `missing`.
    """
    arguments = _plugin_arguments(conf)
    if arguments is None or not any(arguments.get_bool(switch, default=False) for switch in DEVICE_SWITCHES):
        return None
    namespace = arguments.get_string(NAMESPACE_ARGUMENT, DEVICE_CONFIG_NAMESPACE)
    name = arguments.get_string(NAME_ARGUMENT, DEVICE_CONFIG_NAME)
    try:
        text = maps.read_data(namespace, name).get(DEVICE_CONFIG_FILE)
    except ApiRefusal as refusal:
        if refusal.status != NOT_FOUND:
            fault = 'missing permission: verb "get"' if refusal.status == FORBIDDEN else str(refusal)
            problems.append(Problem(PROBLEM_FILE, f"ConfigMap {namespace}/{name}", "", fault, BUILT_IN_NAMES))
            missing.append(DEVICES_MISSING)
        return None
    return text if isinstance(text, str) else None


def _plugin_arguments(conf: str | None) -> Arguments | None:
    """The arguments of deviceshare; None if it is not configured."""
    from vcdebug.framework.arguments import Arguments
    from vcdebug.recording.replay import parse_conf

    options = parse_conf(conf).options_of(DEVICESHARE)
    return Arguments(options[0].arguments) if options else None
