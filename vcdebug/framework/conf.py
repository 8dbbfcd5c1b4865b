"""volcano-scheduler.conf: actions, tiers of plugins with their switches, and actions' arguments.

Upstream: conf, scheduler.go (unmarshalSchedulerConf), plugins/defaults.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import yaml
from msgspec import Struct

from vcdebug.errors import ConfigError, UnknownActionError
from vcdebug.framework.arguments import Arguments, release_arguments
from vcdebug.framework.hooks import HIERARCHY_SWITCH, OFF_BY_DEFAULT, all_switches
from vcdebug.framework.registry import ActionFacts, Registry, facts_of
from vcdebug.releases.change import Change
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot import go_yaml
from vcdebug.snapshot.manifest import Json, JsonDict, object_in, object_list
from vcdebug.snapshot.problems import Problem

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
_SWITCHES = dict.fromkeys(all_switches(), go_yaml.FLAG)
_OPTION = go_yaml.GoStruct({"name": go_yaml.TEXT, "arguments": go_yaml.GoMap(go_yaml.ANY), **_SWITCHES})
_CONFIGURATION = go_yaml.GoStruct({"name": go_yaml.TEXT, "arguments": go_yaml.GoMap(go_yaml.ANY)})
_CONF = go_yaml.GoStruct(
    {
        "actions": go_yaml.TEXT,
        "tiers": go_yaml.GoList(go_yaml.GoStruct({"plugins": go_yaml.GoList(_OPTION)})),
        "configurations": go_yaml.GoList(_CONFIGURATION),
        "metrics": go_yaml.GoMap(go_yaml.TEXT),
    }
)
"""Upstream: conf.SchedulerConfiguration."""


class PluginOption(Struct, frozen=True):
    """One plugin entry of a tier."""

    name: str
    arguments: Mapping[object, object]
    switches: Mapping[str, bool]
    """The switches that the file sets; the others have their defaults."""
    problems: tuple[Problem, ...] = ()
    """One for each key that is neither `name`, `arguments` nor a switch."""

    def is_enabled(self, names: Iterable[str]) -> bool:
        """Whether any of the named switches is on; True without names. Unset switches have their defaults."""
        names = tuple(names)
        return not names or any(self.switches.get(name, name not in OFF_BY_DEFAULT) for name in names)


@dataclass(frozen=True, slots=True)
class SchedulerConf:
    """A parsed configuration, with the problems that were found in it."""

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginOption, ...], ...]
    action_arguments: Mapping[str, Mapping[object, object]]
    text: str
    problems: tuple[Problem, ...] = field(default=())
    built_in: bool = False
    """Whether this is the built-in default configuration."""
    rejection: str = ""
    """Why the real scheduler rejects the stated configuration; empty if it does not."""
    unknown_action: str = ""
    """The action because of which it does; empty for another reason."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """The section `metrics`: the source and the interval of node usage."""
    registry: Registry = field(default_factory=dict, compare=False, repr=False)
    """The actions that the release has, by name."""

    def facts_of(self, action: str) -> ActionFacts:
        """What an action does, according to its class in this release."""
        return facts_of(self.registry, action)

    def arguments_of(
        self, action: str, release: Release = NEWEST, later: Mapping[str, Change] | None = None
    ) -> Arguments:
        """Arguments of the first entry for the action. Upstream: framework/arguments.GetArgOfActionFromConf."""
        return release_arguments(release, self.action_arguments.get(action), later)

    def hierarchy_enabled(self, plugin: str) -> bool:
        """enableHierarchy of the first entry of the plugin; False if the plugin is not configured."""
        return next((option.switches.get(HIERARCHY_SWITCH, False) for option in self.options_of(plugin)), False)

    def stated_tiers(self) -> list[list[JsonDict]]:
        """The plugins of each tier as the text states them; empty if it cannot be read."""
        tiers = object_list(object_in(go_yaml.load_yaml(self.text)).get("tiers"))
        return [object_list(tier.get("plugins")) for tier in tiers]

    def options_of(self, plugin: str) -> list[PluginOption]:
        """The plugin's entries in all tiers, in order; usually one."""
        return [option for tier in self.tiers for option in tier if option.name == plugin]

    def plugin_names(self) -> list[str]:
        """The names of all configured plugins, each once, in order."""
        return list(dict.fromkeys(option.name for tier in self.tiers for option in tier))

    def problems_of(self, plugin: str) -> list[Problem]:
        """The problems of the plugin's entries."""
        return [problem for option in self.options_of(plugin) for problem in option.problems]


def read_conf(text: str | None, known_actions: Registry, *, skips: bool = False) -> SchedulerConf:
    """Parse the configuration; a rejected text gives the built-in configuration and a Problem.

    `skips`: an action that is not in `known_actions` is left out.
    """
    if text is None:
        problem = Problem(CONF_FILE, "", "", "not in the snapshot", "the built-in configuration is used")
        return _built_in_conf((problem,), known_actions)
    try:
        return _parse_conf(text, known_actions, skips=skips)
    except ConfigError as error:
        fault = f"rejected: {error.message}"
        problem = Problem(CONF_FILE, "", error.where, fault, "the built-in configuration is used")
        unknown_action = error.action if isinstance(error, UnknownActionError) else ""
        conf = _built_in_conf((problem,), known_actions)
        return replace(conf, rejection=error.message, unknown_action=unknown_action)


def _built_in_conf(problems: tuple[Problem, ...], known_actions: Registry) -> SchedulerConf:
    conf = _parse_conf(DEFAULT_CONF, known_actions)
    text = DEFAULT_CONF.strip() + "\n"
    return SchedulerConf(conf.actions, conf.tiers, {}, text, problems, built_in=True, registry=known_actions)


def _parse_conf(text: str, known_actions: Registry, *, skips: bool = False) -> SchedulerConf:
    try:
        document = object_in(go_yaml.load_yaml(text, _CONF))
    except go_yaml.GoYamlError as error:
        raise ConfigError(str(error), where=error.where) from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        raise ConfigError(f"not YAML: {line}{error.problem}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"not YAML: {str(error).splitlines()[0]}") from error
    problems: list[Problem] = []
    if go_yaml.has_more_documents(text):
        fault = "has more than one YAML document"
        problems.append(Problem(CONF_FILE, "", "", fault, "the scheduler reads only the first one"))
    tiers = tuple(_parse_tier(tier, f"tiers[{i}]") for i, tier in enumerate(document.get("tiers") or ()))
    problems += [problem for tier in tiers for option in tier for problem in option.problems]
    actions = _parse_actions(document.get("actions") or "", known_actions, problems if skips else None)
    arguments: dict[str, Mapping[object, object]] = {}
    for entry in map(object_in, document.get("configurations") or ()):
        arguments.setdefault(entry.get("name") or "", entry.get("arguments") or {})
    return SchedulerConf(
        actions, tiers, arguments, text, tuple(problems), metrics=document.get("metrics") or {}, registry=known_actions
    )


UNKNOWN_ACTION = "unknown action"


def _parse_actions(text: str, known_actions: Registry, skipped: list[Problem] | None) -> tuple[str, ...]:
    """The actions that the text names. An unknown one goes into `skipped`; if that is None, ConfigError is raised."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name in known_actions:
            continue
        if skipped is None:
            raise UnknownActionError(name)
        skipped.append(
            Problem(CONF_FILE, "actions", "", f"{UNKNOWN_ACTION} {name!r}", "ignored; the other actions run")
        )
    return tuple(name for name in names if name in known_actions)


SHARE_CONFLICT = "proportion and drf with hierarchy enabled conflicts"


def _parse_tier(raw: Json, path: str) -> tuple[PluginOption, ...]:
    plugins = object_in(raw).get("plugins") or ()
    options = tuple(_parse_option(plugin, f"{path}.plugins[{i}]") for i, plugin in enumerate(plugins))
    names = [option.name for option in options]
    if "proportion" in names and any(o.name == "drf" and o.switches.get(HIERARCHY_SWITCH) for o in options):
        raise ConfigError(SHARE_CONFLICT, where=path)
    return options


def _parse_option(raw: Json, path: str) -> PluginOption:
    entry = object_in(raw)
    switches = {key: value for key, value in entry.items() if key in _SWITCHES and value is not None}
    unread_keys = [key for key in entry if key not in _OPTION.fields]
    problems = tuple(_unread_key_problem(path, key) for key in unread_keys)
    return PluginOption(entry.get("name") or "", entry.get("arguments") or {}, switches, problems)


def _unread_key_problem(path: str, key: str) -> Problem:
    switch = find_meant_switch(key)
    fault = f"unknown switch (did you mean {switch}?)" if switch else "unknown switch"
    return Problem(CONF_FILE, path, key, fault, "ignored; the default applies")


def find_meant_switch(key: str) -> str | None:
    """The switch that a misspelt key probably means."""
    return next((name for name in all_switches() if _bare_switch(name) == _bare_switch(key)), None)


def _bare_switch(name: str) -> str:
    return name.removeprefix("enabled").removeprefix("enable").lower()
