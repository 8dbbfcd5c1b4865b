"""The scheduler's command line, as its Deployment states it, read by the rules of Go's pflag."""

from __future__ import annotations

import re
import shlex
from typing import Any

from vcdebug.snapshot.snapshot import Manifest

FLAG_FIELDS = {
    "default-queue": "default_queue",
    "scheduler-name": "scheduler_names",
    "priority-class": "priority_class",
    "minimum-feasible-nodes": "minimum_feasible_nodes",
    "minimum-percentage-nodes-to-find": "minimum_percentage_nodes_to_find",
    "percentage-nodes-to-find": "percentage_nodes_to_find",
    "node-selector": "node_selector",
    "ignored-provisioners": "ignored_provisioners",
    "csi-storage": "csi_storage",
    "scheduler-sharding-mode": "sharding_mode",
    "scheduler-sharding-name": "sharding_name",
    "feature-gates": "feature_gates",
}
"""The scheduler's flags and the field of Flags each one sets."""

CONF_FLAG = "scheduler-conf"

_SWITCHES = ("priority-class", "csi-storage")
_COLLECTED = ("scheduler-name",)
_COMMA_LISTS = ("node-selector", "ignored-provisioners")
_VARIABLE = re.compile(r"\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")

CommandLine = dict[str, list[str]]
"""Every value given for a flag, in order."""


def scheduler_container(deployment: Manifest) -> Manifest:
    """The container that runs Volcano's scheduler, or an empty one; a sidecar may stand before it."""
    spec = deployment
    for key in ("spec", "template", "spec"):
        inner = spec.get(key)
        spec = inner if isinstance(inner, dict) else {}
    containers = [container for container in _list_or_empty(spec.get("containers")) if isinstance(container, dict)]
    configured = [container for container in containers if CONF_FLAG in parse_command_line(container)]
    named = [container for container in containers if _is_named_scheduler(container)]
    return next(iter(configured + named), {})


def parse_command_line(container: Manifest) -> CommandLine:
    """The flags that a container starts with; words that are no flags are ignored, as the scheduler does."""
    words = iter(_command_words(container))
    given: CommandLine = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.removeprefix("--")
        if not word.startswith("--") or not name:
            continue
        if not equals:
            text = next(words, "") if name == CONF_FLAG or (name in FLAG_FIELDS and name not in _SWITCHES) else "true"
        given.setdefault(name, []).append(text)
    return given


def flag_values(container: Manifest) -> dict[str, Any]:
    """What command line and environment set, by field of Flags, unchecked."""
    given = parse_command_line(container)
    values = {field: _flag_value(name, given[name]) for name, field in FLAG_FIELDS.items() if name in given}
    panic = container_environment(container).get("PANIC_ON_ERROR")
    return values if panic is None else values | {"panic_on_error": panic != "false"}


def conf_path(container: Manifest) -> str:
    """The path of the configuration file inside the container; empty if the command line names none."""
    return parse_command_line(container).get(CONF_FLAG, [""])[-1]


def container_environment(container: Manifest) -> dict[str, str]:
    """The variables that a container sets to a fixed value."""
    entries = [entry for entry in _list_or_empty(container.get("env")) if isinstance(entry, dict)]
    return {str(entry.get("name")): str(entry["value"]) for entry in entries if "value" in entry}


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


def _flag_value(flag: str, given: list[str]) -> Any:
    """A repeated flag adds to a list or a map, and otherwise replaces."""
    if flag in _COLLECTED:
        return given
    parts = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if flag in _COMMA_LISTS:
        return parts
    if flag == "feature-gates":
        pairs = [part.partition("=") for part in parts]
        return {name.strip(): setting.strip() for name, _, setting in pairs}
    return given[-1]


def _is_named_scheduler(container: Manifest) -> bool:
    words = (container.get("image"), container.get("name"), *_list_or_empty(container.get("command")))
    return any(isinstance(word, str) and ("vc-scheduler" in word or word == "volcano-scheduler") for word in words)


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
