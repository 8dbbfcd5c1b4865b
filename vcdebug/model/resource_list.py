"""Kubernetes ResourceLists: the names that Volcano counts, and their units. Upstream: api/resource_info."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from vcdebug.releases.devices import VGPU_SCALARS_IGNORED
from vcdebug.releases.release import Release
from vcdebug.snapshot.quantity import milli_value, whole_value

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

VGPU_SHARES = ("volcano.sh/vgpu-memory", "volcano.sh/vgpu-memory-percentage", "volcano.sh/vgpu-cores")
"""Resources that describe the part of a card that a virtual GPU has; the number of GPUs is another resource."""

ResourceList = Mapping[str, object]
ListItems = tuple[tuple[str, object], ...]


class ListAmounts(NamedTuple):
    """Amounts of a list: milli-cores, bytes, scalars (None without any), and the largest number of pods."""

    milli_cpu: float
    memory: float
    scalars: dict[str, float] | None
    max_task_num: int


def ignored_names(release: Release) -> tuple[str, ...]:
    """Names that a release drops from every list after it has read a node. Upstream: api/shared_device_pool."""
    return VGPU_SHARES if release.has_older_form(VGPU_SCALARS_IGNORED) else ()


def drop_ignored(resource_list: ResourceList | None, ignored: tuple[str, ...]) -> ResourceList | None:
    """The list without the ignored names; the same object where nothing is dropped, so that it can be cached by id."""
    if not ignored or not resource_list:
        return resource_list
    return {name: amount for name, amount in resource_list.items() if name not in ignored}


def is_scalar_resource_name(name: str) -> bool:
    """Kubernetes' IsScalarResourceName: extended, hugepages, native prefixed or attachable-volumes names."""
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    if "/" not in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


def is_qualified_name(text: str) -> bool:
    """Whether Kubernetes accepts a text as a name of a label or a resource: `prefix/name`, or the name alone."""
    prefix, slash, name = text.rpartition("/")
    is_valid = len(name) <= 63 and bool(_NAME.fullmatch(name))
    return is_valid and (not slash or (len(prefix) <= 253 and bool(_PREFIX.fullmatch(prefix))))


def parse_amounts(resource_list: Mapping[str, object]) -> ListAmounts:
    """The amounts of a list without names that are no resource to Volcano; cached, so never change the result.
    Upstream: api/resource_info.NewResource.
    """
    items = (*resource_list.items(),)
    for _, amount in items:
        if amount.__class__ is not str:  # 1, 1.0 and true are equal, and not the same quantity
            return _parse_items(items)
    return _parsed_once(items)


def _parse_items(items: ListItems) -> ListAmounts:
    milli_cpu, memory, max_task_num = 0.0, 0.0, 0
    scalars: dict[str, float] = {}
    for name, amount in items:
        if name == CPU:
            milli_cpu = float(milli_value(amount))
        elif name == MEMORY:
            memory = float(whole_value(amount))
        elif name == PODS:
            max_task_num = whole_value(amount)
            scalars[PODS] = float(max_task_num)
        elif name.startswith("count/"):
            continue
        elif name == "ephemeral-storage" or is_scalar_resource_name(name):
            scalars[name] = float(milli_value(amount))
    return ListAmounts(milli_cpu, memory, scalars or None, max_task_num)


_parsed_once = lru_cache(maxsize=4096)(_parse_items)
"""Cached, because nodes of one kind and containers of one template have the same texts."""
