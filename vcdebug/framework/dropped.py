"""Resources that a scheduler drops wherever it reads amounts, because plugins take care of them.

Upstream: api/shared_device_pool (IgnoredDevicesList).
"""

from __future__ import annotations

from vcdebug.framework.arguments import release_arguments
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.plugin import Plugin
from vcdebug.framework.registry import Registry, resolve_reference
from vcdebug.model.resource_list import ignored_names
from vcdebug.snapshot.snapshot import Snapshot


def ignored_resources(snapshot: Snapshot, conf: SchedulerConf, plugins: Registry) -> tuple[str, ...]:
    """Those of the release, and those that configured plugins name."""
    names = dict.fromkeys(ignored_names(snapshot.release))
    for tier in conf.tiers:
        for option in tier:
            kind: type[Plugin] = resolve_reference(plugins[option.name]) if option.name in plugins else Plugin
            if kind.ignored_resources is not Plugin.ignored_resources:
                arguments = release_arguments(snapshot.release, option.arguments, kind.later_arguments)
                names.update(dict.fromkeys(kind.ignored_resources(arguments, snapshot)))
    return tuple(names)
