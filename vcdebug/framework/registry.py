"""The classes behind the names in a configuration, imported on first use, and the facts that action classes declare.

Upstream: framework/plugins (plugin builders), actions/factory.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from vcdebug.releases.change import Change
from vcdebug.releases.release import Release

Registry = Mapping[str, str]
"""Name in a configuration → `module:Class`."""
OtherForms = Mapping[str, tuple[tuple[Change, str], ...]]
"""Name → its `module:Class` while the older form of a change is in force; the first change in force decides."""


@cache
def resolve_reference(reference: str) -> Any:  # Any: the caller knows the class
    """The object behind `module:Name`."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class ActionFacts(NamedTuple):
    """What an action does, as its class declares: fields and defaults are those of framework/action.Action."""

    admits: bool = False
    places: bool = False
    evicts: bool = False
    by_gang: bool = False
    across_queues: bool = False
    within_jobs: bool = False
    evicts_copies: bool = False

    @property
    def evicts_by_pod(self) -> bool:
        """Whether it looks for victims for one pod after the other, on one node after the other."""
        return self.evicts and self.places and not self.by_gang

    @property
    def evicts_by_gang(self) -> bool:
        """Whether it looks for victims for all pods of a gang together."""
        return self.evicts and self.places and self.by_gang


def facts_of(actions: Registry, name: str) -> ActionFacts:
    """What an action does; no fact for an unknown name. Imports its module."""
    if name not in actions:
        return ActionFacts()
    kind = resolve_reference(actions[name])
    return ActionFacts(
        kind.admits, kind.places, kind.evicts, kind.by_gang, kind.across_queues, kind.within_jobs, kind.evicts_copies
    )


def registry_for(
    release: Release, newest: Registry, older_forms: OtherForms, later: Mapping[str, Change] | None = None
) -> Registry:
    """The classes of a release; `later` are names that it does not have before a change."""
    older = {
        name: next((form for change, form in forms if release.has_older_form(change)), newest[name])
        for name, forms in older_forms.items()
    }
    absent = [name for name, change in (later or {}).items() if release.has_older_form(change)]
    return {name: form for name, form in {**newest, **older}.items() if name not in absent}
