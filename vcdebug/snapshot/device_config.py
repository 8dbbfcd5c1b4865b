"""The ConfigMap that tells a scheduler how virtual GPUs are named: which one it is, and what of it decides."""

from __future__ import annotations

from typing import Final, NamedTuple

from vcdebug.snapshot.json_values import JsonObject

FILE: Final = "device-config.yaml"
"""The key of the ConfigMap, and the file of a snapshot."""
NAMESPACE: Final = "kube-system"
NAME: Final = "volcano-vgpu-device-config"
NAME_ARGUMENT: Final = "deviceshare.KnownGeometriesCMName"
NAMESPACE_ARGUMENT: Final = "deviceshare.KnownGeometriesCMNamespace"
SECTION: Final = "nvidia"


class VgpuNames(NamedTuple):
    """The resources by which pods ask for virtual GPUs; one that is empty nobody can ask for."""

    number: str = "volcano.sh/vgpu-number"
    memory: str = "volcano.sh/vgpu-memory"
    cores: str = "volcano.sh/vgpu-cores"
    percentage: str = ""
    """Memory in percent of a card."""


FIELDS: Final = ("resourceCountName", "resourceMemoryName", "resourceCoreName", "resourceMemoryPercentageName")
"""As the configuration has them, in the order of VgpuNames."""
BUILT_IN: Final = VgpuNames()
FIXED: Final = VgpuNames(percentage="volcano.sh/vgpu-memory-percentage")
"""Those of schedulers that take no others."""


def vgpu_names(text: str | None) -> VgpuNames:
    """What a configuration calls them, nothing being filled in; without one the built-in names.
    Upstream: api/devices/config.InitDevicesConfig.
    """
    section = _section(text)
    return BUILT_IN if section is None else VgpuNames(*(str(section.get(name) or "") for name in FIELDS))


def readable(text: str) -> bool:
    """Whether a scheduler can make something of it."""
    return _section(text) is not None


def _section(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    if document is None:
        return {}
    section = document.get(SECTION) if isinstance(document, dict) else None
    return (section if isinstance(section, dict) else {}) if isinstance(document, dict) else None


def only_names(names: VgpuNames) -> str:
    """A configuration that says these names and nothing else."""
    import yaml

    stated = {field: name for field, name in zip(FIELDS, names, strict=True) if name}
    return yaml.safe_dump({SECTION: stated})
