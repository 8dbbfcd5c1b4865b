"""The configuration in force under a release: which actions there are to be named."""

from __future__ import annotations

from functools import lru_cache

from vcdebug import plugins
from vcdebug.actions import ACTIONS, LATER_ACTIONS, OTHER_FORMS
from vcdebug.framework.conf import SchedulerConf, read_conf
from vcdebug.framework.registry import Registry, registry_for
from vcdebug.releases.release import NEWEST, Release
from vcdebug.releases.scheduling import UNKNOWN_ACTION_SKIPPED


@lru_cache(maxsize=64)
def parse_conf(text: str | None, release: Release = NEWEST) -> SchedulerConf:
    """The configuration in force: the text's, or the built-in one (with a Problem) where the release rejects it.

    What-ifs, draws and cycles that follow each other replay under the same few texts; nobody alters what came of one.
    """
    return read_conf(text, actions_of_release(release), skips=release.has_older_form(UNKNOWN_ACTION_SKIPPED))


def actions_of_release(release: Release) -> Registry:
    """Those that a release has, in its form."""
    return registry_for(release, ACTIONS, OTHER_FORMS, LATER_ACTIONS)


def plugins_of_release(release: Release) -> Registry:
    """The same of plugins."""
    return registry_for(release, plugins.PLUGINS, plugins.OTHER_FORMS, plugins.LATER_PLUGINS)
