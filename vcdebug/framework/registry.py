"""Maps names in a configuration to classes, which are imported on first use, and reads the facts of action classes.

Upstream: framework/plugins (plugin builders), actions/factory.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from msgspec import Struct

from vcdebug.releases.change import Change
from vcdebug.releases.release import Release

Registry = Mapping[str, str]
"""Name in the configuration → `module:Class`."""
OtherForms = Mapping[str, tuple[tuple[Change, str], ...]]
"""Name → (change, `module:Class`) pairs: the first change whose older form is in force gives the class."""


@cache
def resolve_reference(reference: str) -> Any:  # Any: the caller knows the class
    """Import the module of `module:Name` and return the object."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class ActionFacts(Struct, frozen=True):
    """What an action does, as its class declares it; fields and defaults are those of framework/action.Action."""

    admits: bool = False
    places: bool = False
    evicts: bool = False
    by_gang: bool = False
    across_queues: bool = False
    within_jobs: bool = False
    evicts_copies: bool = False

    @property
    def evicts_by_pod(self) -> bool:
        """Whether the action seeks victims pod by pod and node by node."""
        return self.evicts and self.places and not self.by_gang

    @property
    def evicts_by_gang(self) -> bool:
        """Whether the action seeks victims for all pods of a gang together."""
        return self.evicts and self.places and self.by_gang


def facts_of(actions: Registry, name: str) -> ActionFacts:
    """What an action does, after importing its module; all False for an unknown name."""
    return _facts_at(actions[name]) if name in actions else ActionFacts()


@cache
def _facts_at(reference: str) -> ActionFacts:
    kind = resolve_reference(reference)
    return ActionFacts(
        kind.admits, kind.places, kind.evicts, kind.by_gang, kind.across_queues, kind.within_jobs, kind.evicts_copies
    )


def registry_for(
    release: Release, newest: Registry, older_forms: OtherForms, later: Mapping[str, Change] | None = None
) -> Registry:
    """The registry of a release; `later` maps names to the changes that introduced them."""
    older = {
        name: next((form for change, form in forms if release.has_older_form(change)), newest[name])
        for name, forms in older_forms.items()
    }
    absent = [name for name, change in (later or {}).items() if release.has_older_form(change)]
    return {name: form for name, form in {**newest, **older}.items() if name not in absent}
