"""Names in a configuration → classes, imported on first use; a release may have another class under a name.

Upstream: framework/plugins (plugin builders), actions/factory.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from vcdebug.releases.change import Change
from vcdebug.releases.release import Release

Registry = Mapping[str, str]
"""Name in a configuration → `module:Class`."""
OtherForms = Mapping[str, tuple[tuple[Change, str], ...]]
"""Name → what stands behind it while the older form of a change is in force; the first one in force decides."""


def resolve(reference: str) -> Any:  # Any: who asks knows what stands there
    """The object behind `module:Name`."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def registry_of(
    release: Release, newest: Registry, others: OtherForms, later: Mapping[str, Change] | None = None
) -> Registry:
    """What a release has under each name; `later` names what came with a change."""
    chosen = {
        name: next((form for change, form in forms if release.has(change)), newest[name])
        for name, forms in others.items()
    }
    absent = [name for name, change in (later or {}).items() if release.has(change)]
    return {name: form for name, form in {**newest, **chosen}.items() if name not in absent}
