"""What of a configuration the replay does not execute."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.actions import ACTIONS
from vcdebug.framework.conf import CONF_FILE, SchedulerConf
from vcdebug.plugins import PLUGINS
from vcdebug.snapshot.problem import Problem


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
