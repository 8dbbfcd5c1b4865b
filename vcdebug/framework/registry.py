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
    """What an action does; explanations identify actions by these facts, not by name."""

    admits: bool = False
    """Whether the action admits PodGroups (Pending → Inqueue)."""
    places: bool = False
    """Whether the action gives pods a node, by allocating or pipelining them."""
    evicts: bool = False
    """Whether the action may evict pods."""
    by_gang: bool = False
    """Whether the action evicts in a domain for a whole gang at once, instead of pod by pod and node by node."""
    across_queues: bool = False
    """Whether the victims are pods of other queues; otherwise they are pods of the preemptor's queue."""
    within_jobs: bool = False
    """Whether the action visits each job a second time, to evict pods of that same job."""
    evicts_copies: bool = False
    """Whether the action evicts copies of tasks, so that the session's own objects of running pods do not change."""

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
    facts: ActionFacts = resolve_reference(actions[name]).facts if name in actions else ActionFacts()
    return facts


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
