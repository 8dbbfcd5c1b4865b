"""The ConfigMap that tells a scheduler how virtual GPUs are named and how cards may be cut in MIG mode: which one it
is, and what of it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from vcdebug.snapshot.json_values import Json, JsonObject

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


class Instance(NamedTuple):
    """Instances of one size that a card is cut into. Upstream: api/devices/config/vgpu (MigTemplate)."""

    name: str
    memory: int
    number: int


class Geometry(NamedTuple):
    """One way of cutting a card. Upstream: api/devices/config/vgpu (Geometry)."""

    group: str
    instances: tuple[Instance, ...]


Geometries = tuple[Geometry, ...]


class KnownCards(NamedTuple):
    """How cards may be cut whose kind holds one of these words.
    Upstream: api/devices/config/vgpu (AllowedMigGeometries).
    """

    models: tuple[str, ...]
    geometries: Geometries


class MigSettings(NamedTuple):
    """What decides about cards in MIG mode; without a configuration no kind of card is known."""

    factor: int = 0
    """Of how much memory one unit of a request stands, where more than 1."""
    known: tuple[KnownCards, ...] = ()


FIELDS: Final = ("resourceCountName", "resourceMemoryName", "resourceCoreName", "resourceMemoryPercentageName")
"""As the configuration has them, in the order of VgpuNames."""
KNOWN: Final = "knownMigGeometries"
ALLOWED: Final = "allowedGeometries"
INSTANCES: Final = "geometries"
FACTOR: Final = "gpuMemoryFactor"
BUILT_IN: Final = VgpuNames()
FIXED: Final = VgpuNames(percentage="volcano.sh/vgpu-memory-percentage")
"""Those of schedulers that take no others."""


def vgpu_names(text: str | None) -> VgpuNames:
    """What a configuration calls them, nothing being filled in; without one the built-in names.
    Upstream: api/devices/config.InitDevicesConfig.
    """
    section = _section(text)
    return BUILT_IN if section is None else VgpuNames(*(str(section.get(name) or "") for name in FIELDS))


def mig_settings(text: str | None) -> MigSettings:
    """How cards in MIG mode are cut. Upstream: api/devices/config.InitDevicesConfig."""
    section = _section(text) or {}
    known = tuple(
        KnownCards(
            tuple([str(model) for model in one.get("models") or ()]),
            tuple([Geometry(str(way.get("group") or ""), _instances(way)) for way in _mappings(one.get(ALLOWED))]),
        )
        for one in _mappings(section.get(KNOWN))
    )
    return MigSettings(_whole(section.get(FACTOR)), known)


def _instances(geometry: JsonObject) -> tuple[Instance, ...]:
    return tuple(
        Instance(str(one.get("name") or ""), _whole(one.get("memory")), _whole(one.get("count")))
        for one in _mappings(geometry.get(INSTANCES))
    )


def _mappings(listed: object) -> Iterator[JsonObject]:
    return (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))


def _whole(number: object) -> int:
    return number if isinstance(number, int) else 0


def readable(text: str) -> bool:
    """Whether a scheduler can make something of it."""
    return _section(text) is not None


class UnreadableError(ValueError):
    """The text is no YAML."""


@lru_cache(maxsize=4)
def document(text: str) -> Json:
    """What a configuration says, read once for all who ask; not to be changed."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UnreadableError from error


def _section(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    try:
        whole = document(text)
    except UnreadableError:
        return None
    if whole is None:
        return {}
    section = whole.get(SECTION) if isinstance(whole, dict) else None
    return (section if isinstance(section, dict) else {}) if isinstance(whole, dict) else None


def only_deciding(names: VgpuNames, settings: MigSettings) -> str:
    """A configuration that says this and nothing else."""
    import yaml

    section: dict[str, object] = {field: name for field, name in zip(FIELDS, names, strict=True) if name}
    if settings.factor:
        section[FACTOR] = settings.factor
    if settings.known:
        section[KNOWN] = [{"models": list(one.models), ALLOWED: _stated(one.geometries)} for one in settings.known]
    return yaml.safe_dump({SECTION: section})


def _stated(geometries: Iterable[Geometry]) -> list[JsonObject]:
    return [
        {
            "group": one.group,
            INSTANCES: [{"name": i.name, "memory": i.memory, "count": i.number} for i in one.instances],
        }
        for one in geometries
    ]
