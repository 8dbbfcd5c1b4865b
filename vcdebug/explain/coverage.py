"""Everything that is wrong with the input of a recording, and what of its configuration is not executed."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.actions import ACTIONS
from vcdebug.explain.unwell import unwell
from vcdebug.framework.conf import CONF_FILE, SchedulerConf
from vcdebug.plugins import PLUGINS
from vcdebug.snapshot.problem import Problem
from vcdebug.trace.recording import Recording


def input_problems(recording: Recording) -> tuple[Problem, ...]:
    """Of the manifests and nodes, of the configuration and its plugins."""
    return (*recording.problems, *uncovered(recording.conf), *_unread(recording), *unwell(recording))


def _unread(recording: Recording) -> Iterator[Problem]:
    """Arguments that no plugin looked at: misspelt ones, and those that belong to other releases."""
    effect = "misspelt, or an argument of another release: nothing follows from it here"
    for name, plugin in recording.session.plugins.items():
        for key in plugin.arguments.raw.unread:
            yield Problem(CONF_FILE, f"plugin {name}", f"arguments.{key}", "the plugin does not read it", effect)


def uncovered(conf: SchedulerConf) -> list[Problem]:
    """Actions and plugins that the configuration names and the replay leaves out."""
    return [*_actions(conf), *_plugins(conf)]


def _actions(conf: SchedulerConf) -> Iterator[Problem]:
    for name in dict.fromkeys(conf.actions):
        if name not in ACTIONS:
            effect = "what the action does, and everything after it, may differ from the real scheduler"
            yield Problem(CONF_FILE, "actions", name, "this action is not replayed", effect)


def _plugins(conf: SchedulerConf) -> Iterator[Problem]:
    for name in conf.plugin_names():
        if name not in PLUGINS:
            effect = "its votes, orders and scores are missing from the replay"
            yield Problem(CONF_FILE, "tiers", name, "this plugin is not replayed", effect)
