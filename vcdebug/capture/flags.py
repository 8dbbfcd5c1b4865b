"""The scheduler's command line, as its Deployment states it, read by the rules of Go's pflag."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from vcdebug.capture.permission import FILE
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Flags, Manifest

TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
BOOLEAN = frozenset({"priority-class", "csi-storage"})
SHARED = "MULTI_SCHEDULER_ENABLE"

CommandLine = dict[str, list[str]]
"""Every value given for a flag, in order."""


def command_line(container: Manifest) -> CommandLine:
    """The flags that a container starts with; words that are no flags are ignored, as the scheduler does."""
    words = iter(_words(container))
    flags: CommandLine = {}
    for word in words:
        if not word.startswith("--") or word == "--":
            continue
        name, equals, text = word[2:].partition("=")
        if not equals:
            text = "true" if name in BOOLEAN or name not in READERS else next(words, "")
        flags.setdefault(name, []).append(text)
    return flags


def _words(container: Manifest) -> list[str]:
    """Command and arguments with $(NAME) replaced; a shell line is split as a shell would."""
    variables = environment(container)
    words = [*strings(container.get("command")), *strings(container.get("args"))]
    words = [re.sub(r"\$\((\w+)\)", lambda name: variables.get(name[1], name[0]), word) for word in words]
    if "-c" not in words:
        return words
    try:
        return [part for word in words for part in shlex.split(word)]
    except ValueError:
        return words


def strings(value: object) -> list[str]:
    """The strings of a list that came from outside."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def environment(container: Manifest) -> dict[str, str]:
    """The variables that a container sets to a fixed value."""
    entries = container.get("env")
    entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {str(entry.get("name")): str(entry["value"]) for entry in entries if "value" in entry}


def flags_of(container: Manifest, where: str, problems: list[Problem]) -> Flags:
    """Upstream's defaults, changed by the container's flags and environment."""
    settings: dict[str, Any] = {}
    given = command_line(container)
    for name, (field, read) in READERS.items():
        if name not in given or not field:
            continue
        try:
            settings[field] = read(given[name])
        except ValueError as failure:
            problems.append(Problem(FILE, where, f"--{name}", str(failure), "upstream's default is used"))
    variables = environment(container)
    if variables.get(SHARED) == "true":
        effect = "the real scheduler sees only its part of the pods and nodes, the replay sees all"
        problems.append(Problem(FILE, where, SHARED, "the cluster is shared among several schedulers", effect))
    return Flags(**settings, panic_on_error=variables.get("PANIC_ON_ERROR") != "false")


def _text(given: list[str]) -> str:
    return given[-1]


def _texts(given: list[str]) -> tuple[str, ...]:
    return tuple(given)


def _comma_separated(given: list[str]) -> tuple[str, ...]:
    return tuple(part for text in given for part in text.split(",") if part)


def _boolean(given: list[str]) -> bool:
    text = given[-1]
    if text not in TRUE | FALSE:
        raise ValueError(f"{text!r} is neither true nor false")
    return text in TRUE


def _integer(given: list[str]) -> int:
    try:
        return int(given[-1], 0)
    except ValueError:
        raise ValueError(f"{given[-1]!r} is not a whole number") from None


def _gates(given: list[str]) -> Mapping[str, bool]:
    pairs = [pair.partition("=") for pair in _comma_separated(given)]
    return {name.strip(): _boolean([text.strip()]) for name, _, text in pairs}


READERS: dict[str, tuple[str, Callable[[list[str]], object]]] = {
    "default-queue": ("default_queue", _text),
    "scheduler-name": ("scheduler_names", _texts),
    "priority-class": ("priority_class", _boolean),
    "minimum-feasible-nodes": ("minimum_feasible_nodes", _integer),
    "minimum-percentage-nodes-to-find": ("minimum_percentage_nodes_to_find", _integer),
    "percentage-nodes-to-find": ("percentage_nodes_to_find", _integer),
    "node-selector": ("node_selector", _comma_separated),
    "ignored-provisioners": ("ignored_provisioners", _comma_separated),
    "csi-storage": ("csi_storage", _boolean),
    "scheduler-sharding-mode": ("sharding_mode", _text),
    "scheduler-sharding-name": ("sharding_name", _text),
    "feature-gates": ("feature_gates", _gates),
    "scheduler-conf": ("", _text),
}
"""Flag -> the field of Flags it sets, and how its values are read; the configuration's path sets none."""
