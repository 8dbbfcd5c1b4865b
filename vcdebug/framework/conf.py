"""volcano-scheduler.conf: actions, tiers of plugins with their switches, and actions' arguments.

Upstream: conf, scheduler.go (unmarshalSchedulerConf), plugins/defaults.
Upstream: gopkg.in/yaml.v2 (resolve).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import yaml

from vcdebug.errors import ConfigError
from vcdebug.framework.arguments import Arguments, release_arguments
from vcdebug.framework.hooks import HIERARCHY_SWITCH, OFF_BY_DEFAULT, all_switches
from vcdebug.framework.registry import ActionFacts, Registry, facts_of
from vcdebug.releases.change import Change
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.yaml_documents import BOOLEANS, MERGE, NULLS, SAFE_LOADER, WordSet, refuse_deep

CONF_FILE = "volcano-scheduler.conf"
DEFAULT_CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


@dataclass(frozen=True, slots=True)
class PluginOption:
    """One plugin at its place in a tier."""

    name: str
    arguments: Mapping[object, object]
    switches: Mapping[str, bool]
    """Only the switches that the file states."""

    def is_enabled(self, names: Iterable[str]) -> bool:
        """Whether one of the switches is on; an unstated one takes its default."""
        names = tuple(names)
        return not names or any(self.switches.get(name, name not in OFF_BY_DEFAULT) for name in names)


@dataclass(frozen=True, slots=True)
class SchedulerConf:
    """A parsed configuration with what was wrong about it."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginOption, ...], ...]
    action_arguments: Mapping[str, Mapping[object, object]]
    text: str
    problems: tuple[Problem, ...] = field(default=())
    built_in: bool = False
    """Whether the built-in default is in force."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """The section `metrics`: where nodes' usage comes from, and how often."""
    known: Registry = field(default_factory=dict, compare=False, repr=False)
    """The actions of the release."""

    def facts_of(self, action: str) -> ActionFacts:
        """What an action does, in the form that the release has."""
        return facts_of(self.known, action)

    def arguments_of(
        self, action: str, release: Release = NEWEST, later: Mapping[str, Change] | None = None
    ) -> Arguments:
        """Arguments of the first entry for the action. Upstream: framework/arguments.GetArgOfActionFromConf."""
        return release_arguments(release, self.action_arguments.get(action), later)

    def hierarchy_enabled(self, plugin: str) -> bool:
        """enableHierarchy of the first option of that name."""
        for tier in self.tiers:
            for option in tier:
                if option.name == plugin:
                    return option.switches.get(HIERARCHY_SWITCH, False)
        return False

    def plugin_names(self) -> list[str]:
        """Every plugin named, once, in order."""
        return list(dict.fromkeys(option.name for tier in self.tiers for option in tier))

    def unread_keys(self, plugin: str) -> list[Problem]:
        """Keys at the plugin's options that are neither `name` nor `arguments` nor a switch."""
        options = ((f"tiers[{i}].plugins[{n}]", one) for i, tier in enumerate(self.tiers) for n, one in enumerate(tier))
        places = [place for place, option in options if option.name == plugin]
        return [problem for place in places for problem in self.problems if problem.object == place]


def read_conf(text: str | None, known: Registry, *, skips: bool = False) -> SchedulerConf:
    """The text's configuration, or the built-in one (with a Problem) where it is rejected; `known` are the actions.

    `skips`: an action that is not known is left out.
    """
    if text is None:
        problem = Problem(CONF_FILE, "", "", "not in the snapshot", "the built-in configuration is in force")
        return _built_in_conf((problem,), known)
    try:
        return _parse_conf(text, known, skips=skips)
    except ConfigError as error:
        what = f"rejected: {error.message}"
        problem = Problem(CONF_FILE, "", error.where, what, "the built-in configuration is in force")
        return _built_in_conf((problem,), known)


def _built_in_conf(problems: tuple[Problem, ...], known: Registry) -> SchedulerConf:
    conf = _parse_conf(DEFAULT_CONF, known)
    text = DEFAULT_CONF.strip() + "\n"
    return SchedulerConf(conf.actions, conf.tiers, {}, text, problems, built_in=True, known=known)


def _parse_conf(text: str, known: Registry, *, skips: bool = False) -> SchedulerConf:
    try:
        raw = load_yaml(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"not YAML: {str(error).splitlines()[0]}") from error
    document = _require_mapping(raw if raw is not None else {}, "the file")
    problems: list[Problem] = []
    tiers = tuple(
        _parse_tier(tier, f"tiers[{i}]", problems)
        for i, tier in enumerate(_require_list(document.get("tiers"), "tiers"))
    )
    actions = _parse_actions(document.get("actions"), known, problems if skips else None)
    arguments = _action_arguments(document.get("configurations"))
    metrics = _require_mapping(document.get("metrics") or {}, "metrics")
    settings = {str(key): str(value) for key, value in metrics.items()}
    return SchedulerConf(actions, tiers, arguments, text, tuple(problems), metrics=settings, known=known)


def _parse_actions(raw: object, known: Registry, skipped: list[Problem] | None) -> tuple[str, ...]:
    """The named actions; unknown ones become problems in `skipped`, or raise ConfigError without it."""
    if isinstance(raw, (list, dict)):
        raise ConfigError("actions must be one string", where="actions")
    names = tuple(name.strip() for name in str(raw if raw is not None else "").split(","))
    for name in names:
        if name in known:
            continue
        if skipped is None:
            raise ConfigError(f"failed to find Action {name}", where="actions")
        skipped.append(Problem(CONF_FILE, "actions", "", f"there is no action {name!r}", "it is left out: others run"))
    return tuple(name for name in names if name in known)


def _parse_tier(raw: object, where: str, problems: list[Problem]) -> tuple[PluginOption, ...]:
    plugins = _require_list(_require_mapping(raw if raw is not None else {}, where).get("plugins"), f"{where}.plugins")
    options = tuple(_parse_option(plugin, f"{where}.plugins[{i}]", problems) for i, plugin in enumerate(plugins))
    names = [option.name for option in options]
    if "proportion" in names and any(o.name == "drf" and o.switches.get(HIERARCHY_SWITCH) for o in options):
        raise ConfigError("proportion and drf with hierarchy enabled conflicts", where=where)
    return options


def _parse_option(raw: object, where: str, problems: list[Problem]) -> PluginOption:
    entry = _require_mapping(raw if raw is not None else {}, where)
    known = dict.fromkeys(all_switches())
    stated: dict[str, bool] = {}
    for key, value in entry.items():
        if key in ("name", "arguments"):
            continue
        if key not in known:
            problems.append(_unknown_key(str(key), where))
        elif value is not None:
            if not isinstance(value, bool):
                raise ConfigError(f"cannot unmarshal {value!r} into bool", where=f"{where}.{key}")
            stated[str(key)] = value
    arguments = _require_mapping(entry.get("arguments") or {}, f"{where}.arguments")
    return PluginOption(str(entry.get("name") or ""), arguments, stated)


def _unknown_key(key: str, where: str) -> Problem:
    meant = next((name for name in all_switches() if _bare_switch(name) == _bare_switch(key)), None)
    hint = f"did you mean {meant}? " if meant else ""
    return Problem(CONF_FILE, where, key, f"{hint}no such switch", "ignored: the default applies")


def _bare_switch(name: str) -> str:
    return name.removeprefix("enabled").removeprefix("enable").lower()


def _action_arguments(raw: object) -> dict[str, Mapping[object, object]]:
    result: dict[str, Mapping[object, object]] = {}
    for i, item in enumerate(_require_list(raw, "configurations")):
        entry = _require_mapping(item if item is not None else {}, f"configurations[{i}]")
        result.setdefault(str(entry.get("name") or ""), _require_mapping(entry.get("arguments") or {}, "arguments"))
    return result


def _require_mapping(raw: object, where: str) -> dict[Json, Json]:
    if not isinstance(raw, dict):
        raise ConfigError("must be a map", where=where)
    return raw


def _require_list(raw: object, where: str) -> list[object]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise ConfigError("must be a list", where=where)
    return raw


# YAML as Go's yaml.v2 resolves it: other booleans, octals and floats than PyYAML's, and no timestamps.

_BOOL_PATTERN = WordSet(*BOOLEANS, "y", "Y", "n", "N")
_INT_PATTERN = re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:0|[1-9][0-9_]*))$")
_FLOAT_PATTERN = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_TRUE_WORDS = ("y", "yes", "on", "true")
_LARGEST_UINT = 2**64 - 1


class YamlV2Loader(SAFE_LOADER):  # type: ignore[misc]
    """A safe loader with yaml.v2's implicit types."""


YamlV2Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", _BOOL_PATTERN, list("yYnNtTfFoO")),
    ("tag:yaml.org,2002:int", _INT_PATTERN, list("-+0123456789")),
    ("tag:yaml.org,2002:float", _FLOAT_PATTERN, list("-+0123456789.")),
    ("tag:yaml.org,2002:null", NULLS, ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:merge", MERGE, ["<"]),
):
    YamlV2Loader.add_implicit_resolver(_tag, _pattern, _first)


def _construct_bool(loader: YamlV2Loader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in _TRUE_WORDS


def _construct_int(loader: YamlV2Loader, node: yaml.ScalarNode) -> int | float:
    text = str(loader.construct_scalar(node)).replace("_", "")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    number = sign * _parse_magnitude(digits)
    # yaml.v2 reads an integer beyond 64 bits as a float.
    return number if -(2**63) <= number <= _LARGEST_UINT else float(text)


def _parse_magnitude(digits: str) -> int:
    lowered = digits.lower()
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if lowered.startswith(prefix):
            return int(lowered[2:] or "0", base)
    # YAML 1.1, which yaml.v2 follows: a leading 0 makes a number octal.
    if len(digits) > 1 and digits.startswith("0"):
        return int(digits, 8)
    return int(digits)


def _construct_float(loader: YamlV2Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


YamlV2Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
YamlV2Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
YamlV2Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


def load_yaml(text: str) -> Json:
    """The document as plain data; raises yaml.YAMLError, or ValueError for one that is nested too deep."""
    refuse_deep(text)
    return yaml.load(text, Loader=YamlV2Loader)  # a SafeLoader
