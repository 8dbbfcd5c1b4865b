"""Settings of a snapshot besides its objects: meta.json, usage.json, extender.json, and the scheduler's Deployment."""

import math
import re
import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.grouping import split_pairs
from vcdebug.snapshot import cycle_inputs
from vcdebug.snapshot.manifest import WorkloadFacts, object_in, object_list
from vcdebug.snapshot.problems import Problem, ProblemReport
from vcdebug.snapshot.provenance import Provenance, bounded_clock, stated_time
from vcdebug.snapshot.shapes import describe_value
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

ReadValue = Callable[[Any], Any]
"""Reads a value; None for an invalid one."""

CONF_KEY = "volcano-scheduler.conf"
DEVICE_CONFIG_FILE: Final = "device-config.yaml"
"""The key of the ConfigMap with the device configuration, and the file of a snapshot."""

RELEASE_FIELDS = ("release", "scheduler.release", "scheduler image")
"""Names of the sources of a release, in order of precedence: the caller, meta.json, the Deployment's image."""

_DEFAULT_STANDS = "using the default"
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\D.*)?", re.ASCII)
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


class MetaSettings(Struct, frozen=True):
    """The settings of meta.json; the defaults if the file is missing."""

    now: datetime | None = None
    complete: bool | None = None
    name: str = ""
    description: str = ""
    flags: Mapping[str, Any] = {}
    chance: Mapping[str, Any] = {}
    scheduler: Mapping[str, Any] = {}
    family: str = ""
    """Test family of a cluster on which a scheduler's first cycle was recorded; empty for other snapshots."""
    persistence: cycle_inputs.PersistenceSetting = "auto"
    capture: Provenance | None = None
    bound: Mapping[str, str] = {}
    workloads: Mapping[str, WorkloadFacts] = {}
    problems: tuple[Problem, ...] = ()
    """Problems found when the snapshot was made, whose causes it no longer contains."""


def read_meta(file: str, document: Manifest, report: ProblemReport) -> MetaSettings:
    """The checked settings of meta.json; unknown keys are ignored, an invalid value becomes a Problem."""
    return MetaSettings(**_read_checked(document, MetaSettings, file, report))


def _read_checked(
    values: Mapping[str, Any], kind: type[Struct], file: str, report: ProblemReport, prefix: str = ""
) -> dict[str, Any]:
    """The valid values of the struct's fields; an invalid one becomes a Problem."""
    valid: dict[str, Any] = {}
    for key, (field, read) in _field_readers(kind).items() if values else ():
        if values.get(key) is None:
            continue
        value = read(values[key])
        if value is None:
            fault = f"invalid value {describe_value(values[key])}"
            report.add_problem(fault, _DEFAULT_STANDS, file=file, field=f"{prefix}{key}")
        else:
            valid[field] = value
    return valid


@cache
def _field_readers(kind: type[Struct]) -> dict[str, tuple[str, ReadValue]]:
    """Key in a document → field of the struct, and the reader of its values: by the field's name, else by its type."""
    by_name, by_type = _READERS_BY_FIELD[kind], _READERS_BY_TYPE
    return {
        field.encode_name: (field.name, by_name.get(field.name) or by_type.get(field.type) or _reader_of(field.type))
        for field in msgspec.structs.fields(kind)
        if by_name.get(field.name, _reader_of) is not None
    }


def _reader_of(kind: Any) -> ReadValue:
    """The reader of values that have this type exactly."""

    def read_value(value: Any) -> Any:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return None

    return read_value


def with_flags(
    flags: SchedulerFlags, values: Mapping[str, Any], file: str, report: ProblemReport, prefix: str = "flags."
) -> SchedulerFlags:
    """The flags with these values set; unknown names are ignored, invalid values become Problems."""
    return replace(flags, **_read_checked(values, SchedulerFlags, file, report, prefix))


def read_chance(values: Mapping[str, Any], file: str, report: ProblemReport) -> cycle_inputs.ChanceSettings:
    """The checked random choices; unknown names are ignored, invalid values become Problems."""
    return cycle_inputs.ChanceSettings(**_read_checked(values, cycle_inputs.ChanceSettings, file, report, "chance."))


def read_process(values: Mapping[str, Any], file: str, report: ProblemReport) -> cycle_inputs.SchedulerProcess:
    """The checked memory of the scheduler process; unknown names are ignored, invalid values become Problems."""
    process = cycle_inputs.SchedulerProcess
    return process(**_read_checked(values, process, file, report, "scheduler."))


def with_release(
    flags: SchedulerFlags, text: Any, report: ProblemReport, *, file: str = "", field: str = "", image: str = ""
) -> SchedulerFlags:
    """The flags with this release, or with the nearest one that is replayed and a Problem; one about an `image`, too,
    that tells none.
    """
    if text is None or text == "":
        if image:
            effect = "replaying the latest rules (master); set the release with --release"
            report.add_problem(f"cannot derive the release from {image}", effect, file=file, field=RELEASE_FIELDS[2])
        return flags
    from vcdebug.releases.release_names import resolve_release  # most snapshots name none: its patterns cost a start

    resolved = resolve_release(text if isinstance(text, str) else describe_value(text))
    if resolved.problem:
        report.add_problem(resolved.problem, resolved.effect, file=file, field=field)
    return replace(flags, release=resolved.release)


def read_answers(file: str, document: Manifest, report: ProblemReport) -> dict[str, Any]:
    """The valid answers of extender.json: verb -> key -> a mapping, or a list of them."""
    answers: dict[str, Any] = {}
    for verb, by_key in document.items():
        if not isinstance(by_key, dict):
            fault = f"is {describe_value(by_key)}, not a mapping"
            report.add_problem(fault, "the answers of the verb are unknown", file=file, field=verb)
            continue
        answers[verb] = {key: answer for key, answer in by_key.items() if _is_answer(answer)}
        for key, answer in by_key.items():
            if not _is_answer(answer):
                fault = f"is {describe_value(answer)}, neither a mapping nor a list of mappings"
                report.add_problem(fault, "the answer is unknown", file=file, field=f"{verb}.{key}")
    return answers


def _is_answer(answer: Any) -> bool:
    """Whether the value is one answer, or a list of answers for consecutive calls."""
    if isinstance(answer, list):
        return bool(answer) and all(isinstance(item, dict) for item in answer)
    return isinstance(answer, dict)


def conf_of(config_map: Manifest, key: str = CONF_KEY) -> object:
    """The value of a ConfigMap under the configuration's key, or None."""
    data = config_map.get("data")
    return data.get(key) if isinstance(data, dict) else None


def read_usage(file: str, document: Manifest, report: ProblemReport) -> dict[str, Any]:
    """The valid numbers of usage.json: node -> time, cpu and mem by period."""
    usage: dict[str, Any] = {}
    for node, metrics in document.items():
        if not isinstance(metrics, dict):
            report.add_problem(
                f"is {describe_value(metrics)}, not a mapping", "no usage is known for the node", file=file, field=node
            )
            continue
        usage[node] = {key: _read_metric(value, file, f"{node}.{key}", report) for key, value in metrics.items()}
    return usage


def _read_metric(value: Any, file: str, path: str, report: ProblemReport) -> Any:
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    numbers = {}
    for period, number in value.items():
        if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
            numbers[period] = number
            if number < 0:
                fault = f"is negative ({number} %): check the query of the metrics"
                report.add_problem(fault, "the node's score of usage is above 100", file=file, field=f"{path}.{period}")
        else:
            fault = f"is {describe_value(number)}, not a number"
            report.add_problem(fault, "value ignored", file=file, field=f"{path}.{period}")
    return numbers


def _read_persistence(value: Any) -> cycle_inputs.PersistenceSetting | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    return next((setting for setting in cycle_inputs.PERSISTENCE_SETTINGS if setting == value), None)


def _read_workloads(value: Any) -> dict[str, WorkloadFacts] | None:
    if not isinstance(value, dict):
        return None
    return {str(name): WorkloadFacts.of_document(object_in(document)) for name, document in value.items()}


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _read_problems(value: Any) -> tuple[Problem, ...] | None:
    """Saved Problems, each a list of five texts; None for any other value."""
    rows = _reader_of(list[tuple[str, str, str, str, str]])(value)
    return None if rows is None else tuple(Problem(*row) for row in rows)


def _read_capture(value: Any) -> Provenance | None:
    """A provenance without its invalid values; None without a readable one."""
    if not isinstance(value, dict):
        return None
    return Provenance(**_read_checked(value, Provenance, "", ProblemReport()))


def parse_bool(text: str) -> bool | None:
    """Go's ParseBool; None where it reports an error."""
    if text in _TRUE:
        return True
    return False if text in _FALSE else None


def _read_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return parse_bool(value) if isinstance(value, str) else None


def _read_number(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,9}", value, re.ASCII):
        return int(value)
    return value if type(value) is int and abs(value) < 1 << 31 else None


def _read_texts(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _read_version(value: Any) -> tuple[int, int] | None:
    text = ".".join(str(part) for part in value) if isinstance(value, list | tuple) else str(value)
    match = _VERSION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else None


def _read_gates(value: Any) -> dict[str, bool] | None:
    if not isinstance(value, dict):
        return None
    gates = {name: _read_boolean(setting) for name, setting in value.items()}
    valid = {name: setting for name, setting in gates.items() if setting is not None}
    return valid if len(valid) == len(gates) else None


def _read_time(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip().upper())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if bounded_clock(moment) == moment else None


def _read_count(value: Any) -> int | None:
    number = _read_number(value)
    return number if number is not None and number >= 0 else None


def _read_searches(value: Any) -> dict[str, str] | None:
    """namespace/name → ranges of node indexes, one group per search; None for any other value."""
    searches: dict[str, str] | None = _reader_of(dict[str, str])(value)
    return searches if all(map(cycle_inputs.SEARCHES_PATTERN.fullmatch, (searches or {}).values())) else None


_READERS_BY_TYPE: Mapping[Any, ReadValue] = {
    **dict.fromkeys((bool, bool | None), _read_boolean),
    **dict.fromkeys((int, int | None), _read_number),
    datetime | None: _read_time,
    tuple[str, ...]: _read_texts,
    tuple[int, int]: _read_version,
    Mapping[str, bool]: _read_gates,
}
"""Type of a field → reader of its values, which have several forms; values of other types have one."""

_READERS_BY_FIELD: Mapping[type[Struct], Mapping[str, ReadValue | None]] = {
    MetaSettings: {
        "persistence": _read_persistence,
        "capture": _read_capture,
        "workloads": _read_workloads,
        "problems": _read_problems,
    },
    SchedulerFlags: {"release": None},
    cycle_inputs.ChanceSettings: {"search_start": _read_count, "searches": _read_searches},
    cycle_inputs.SchedulerProcess: {"sessions": _read_count, "assumed": None},
    Provenance: dict.fromkeys(("started", "finished"), stated_time),
}
"""Struct → its fields whose values have a reader of their own; None for a field that no document states."""


FLAG_FIELDS = split_pairs("""
    default-queue=default_queue scheduler-name=scheduler_names priority-class=priority_class
    minimum-feasible-nodes=minimum_feasible_nodes minimum-percentage-nodes-to-find=minimum_percentage_nodes_to_find
    percentage-nodes-to-find=percentage_nodes_to_find node-selector=node_selector
    ignored-provisioners=ignored_provisioners csi-storage=csi_storage scheduler-sharding-mode=sharding_mode
    scheduler-sharding-name=sharding_name feature-gates=feature_gates
""")
"""Command line flag → field of SchedulerFlags."""

CONF_FLAG = "scheduler-conf"

_SWITCHES = ("priority-class", "csi-storage")
_COLLECTED = ("scheduler-name",)
_COMMA_LISTS = ("node-selector", "ignored-provisioners")
_VARIABLE = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")

CommandLine = dict[str, list[str]]
"""Flag → its values in order."""


def pod_spec_of(workload: Manifest) -> Manifest:
    """The spec of the pods of a Deployment or StatefulSet."""
    return object_in(object_in(object_in(workload.get("spec")).get("template")).get("spec"))


def containers_of(workload: Manifest) -> list[Manifest]:
    """The containers of the pods of a Deployment or StatefulSet."""
    return object_list(pod_spec_of(workload).get("containers"))


def scheduler_container(workload: Manifest) -> Manifest:
    """The container that runs Volcano's scheduler, or an empty mapping."""
    containers = [one for one in containers_of(workload) if not is_named_scheduler(one, AGENT_SCHEDULER)]
    # The first container is not always the scheduler: a sidecar may be listed before it.
    configured = [container for container in containers if CONF_FLAG in parse_command_line(container)]
    schedulers = [container for container in containers if is_named_scheduler(container)]
    return next(iter(configured + schedulers), {})


def parse_command_line(container: Manifest) -> CommandLine:
    """The flags that a container starts with; other words are ignored, as the scheduler does."""
    # Go's pflag: `--name value` for most flags, but a switch takes a value only behind `=`.
    words = iter(_command_words(container))
    flags: CommandLine = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.removeprefix("--")
        if not word.startswith("--") or not name:
            continue
        if not equals:
            text = next(words, "") if name == CONF_FLAG or (name in FLAG_FIELDS and name not in _SWITCHES) else "true"
        flags.setdefault(name, []).append(text)
    return flags


def flag_values(container: Manifest) -> dict[str, Any]:
    """The values that command line and environment set, by field of SchedulerFlags, unchecked."""
    flags = parse_command_line(container)
    values = {field: _flag_value(name, flags[name]) for name, field in FLAG_FIELDS.items() if name in flags}
    panic = container_environment(container).get("PANIC_ON_ERROR")
    return values if panic is None else values | {"panic_on_error": panic != "false"}


def conf_path(container: Manifest) -> str:
    """The path of the configuration file inside the container; empty if the command line names none."""
    return parse_command_line(container).get(CONF_FLAG, [""])[-1]


def container_environment(container: Manifest) -> dict[str, str]:
    """The variables that a container sets to a fixed value."""
    return {
        str(entry.get("name")): str(entry["value"]) for entry in object_list(container.get("env")) if "value" in entry
    }


def _command_words(container: Manifest) -> list[str]:
    """Command and arguments with $(NAME) replaced; a shell line is split as a shell would."""
    variables = container_environment(container)
    words = [*_list_or_empty(container.get("command")), *_list_or_empty(container.get("args"))]
    words = [_VARIABLE.sub(lambda name: variables.get(name[1], name[0]), str(word)) for word in words]
    if "-c" not in words:
        return words
    try:
        return [part for word in words for part in shlex.split(word)]
    except ValueError:
        return words


def _flag_value(flag: str, texts: list[str]) -> Any:
    """The value of a flag: repetitions extend a list or map, and replace any other value."""
    if flag in _COLLECTED:
        return texts
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    if flag in _COMMA_LISTS:
        return parts
    if flag == "feature-gates":
        pairs = [part.partition("=") for part in parts]
        return {name.strip(): setting.strip() for name, _, setting in pairs}
    return texts[-1]


AGENT_SCHEDULER: Final = "agent-scheduler"
"""Name of Volcano's agent scheduler, which is not replayed: its cycle is different."""


def is_named_scheduler(container: Manifest, name: str = "") -> bool:
    """Whether image, name or command of a container are Volcano's scheduler; with `name`, whether one contains it."""
    words = (container.get("image"), container.get("name"), *_list_or_empty(container.get("command")))
    texts = [word for word in words if isinstance(word, str)]
    return any(name in word if name else "vc-scheduler" in word or word == "volcano-scheduler" for word in texts)


# The scheduler's own pods show its image, its command line and the start of its process.

APP_LABEL: Final = "volcano-scheduler"
MARKS: Final = (b'"volcano-scheduler"', b"vc-scheduler:", b"vc-scheduler@")


def has_mark(text: bytes) -> bool:
    """Whether a JSON text may contain a pod of the scheduler; field managers, which every pod has, do not count."""
    return any(mark in text for mark in MARKS)


def is_scheduler_pod(pod: Manifest) -> bool:
    """Whether the pod is one of Volcano's scheduler, by its label or a container."""
    labels, spec = object_in(object_in(pod.get("metadata")).get("labels")), object_in(pod.get("spec"))
    return labels.get("app") == APP_LABEL or any(map(is_named_scheduler, object_list(spec.get("containers"))))


def is_running_scheduler(pod: Manifest) -> bool:
    """Whether the pod is a running pod of Volcano's scheduler."""
    return is_scheduler_pod(pod) and is_up(pod)


def is_up(pod: Manifest) -> bool:
    """Whether the pod runs."""
    return object_in(pod.get("status")).get("phase") == "Running"


def workload_of(pod: Manifest) -> Manifest:
    """A manifest with the pod's spec at spec.template.spec, as in a Deployment."""
    return {"metadata": pod.get("metadata"), "spec": {"template": {"spec": pod.get("spec")}}}


def running_since(pod: Manifest) -> datetime | None:
    """Time at which the scheduler's container last started, possibly after the pod's start; None if unknown."""
    container = scheduler_container(workload_of(pod))
    status = object_in(pod.get("status"))
    for state in object_list(status.get("containerStatuses")):
        if container and state.get("name") == container.get("name"):
            return stated_time(object_in(object_in(state.get("state")).get("running")).get("startedAt"))
    return stated_time(status.get("startTime"))
