"""The ConfigMap that tells a scheduler how virtual GPUs are named and how cards may be cut in MIG mode: which one it
is, and what of it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from vcdebug.snapshot.json_values import Json, JsonObject

DEVICE_CONFIG_FILE: Final = "device-config.yaml"
"""The key of the ConfigMap, and the file of a snapshot."""
DEVICE_CONFIG_NAMESPACE: Final = "kube-system"
DEVICE_CONFIG_NAME: Final = "volcano-vgpu-device-config"
NAME_ARGUMENT: Final = "deviceshare.KnownGeometriesCMName"
NAMESPACE_ARGUMENT: Final = "deviceshare.KnownGeometriesCMNamespace"
VGPU_SECTION: Final = "nvidia"


class VgpuNames(NamedTuple):
    """The resources by which pods ask for virtual GPUs; one that is empty nobody can ask for."""

    number: str = "volcano.sh/vgpu-number"
    memory: str = "volcano.sh/vgpu-memory"
    cores: str = "volcano.sh/vgpu-cores"
    percentage: str = ""
    """Memory in percent of a card."""


class MigTemplate(NamedTuple):
    """Instances of one size that a card is cut into. Upstream: api/devices/config/vgpu (MigTemplate)."""

    name: str
    memory: int
    number: int


class Geometry(NamedTuple):
    """One way of cutting a card. Upstream: api/devices/config/vgpu (Geometry)."""

    group: str
    instances: tuple[MigTemplate, ...]


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


NAME_FIELDS: Final = ("resourceCountName", "resourceMemoryName", "resourceCoreName", "resourceMemoryPercentageName")
"""As the configuration has them, in the order of VgpuNames."""
KNOWN_FIELD: Final = "knownMigGeometries"
ALLOWED_FIELD: Final = "allowedGeometries"
INSTANCES_FIELD: Final = "geometries"
FACTOR_FIELD: Final = "gpuMemoryFactor"
BUILT_IN_NAMES: Final = VgpuNames()
FIXED_NAMES: Final = VgpuNames(percentage="volcano.sh/vgpu-memory-percentage")
"""Those of schedulers that take no others."""


def read_vgpu_names(text: str | None) -> VgpuNames:
    """What a configuration calls them, nothing being filled in; without one the built-in names.
    Upstream: api/devices/config.InitDevicesConfig.
    """
    section = _vgpu_section(text)
    return BUILT_IN_NAMES if section is None else VgpuNames(*(str(section.get(name) or "") for name in NAME_FIELDS))


def read_mig_settings(text: str | None) -> MigSettings:
    """How cards in MIG mode are cut. Upstream: api/devices/config.InitDevicesConfig."""
    section = _vgpu_section(text) or {}
    known = tuple(
        KnownCards(
            tuple([str(model) for model in one.get("models") or ()]),
            tuple(
                [
                    Geometry(str(way.get("group") or ""), _read_templates_of(way))
                    for way in _iter_mappings(one.get(ALLOWED_FIELD))
                ]
            ),
        )
        for one in _iter_mappings(section.get(KNOWN_FIELD))
    )
    return MigSettings(_int_or_zero(section.get(FACTOR_FIELD)), known)


def _read_templates_of(geometry: JsonObject) -> tuple[MigTemplate, ...]:
    return tuple(
        MigTemplate(str(one.get("name") or ""), _int_or_zero(one.get("memory")), _int_or_zero(one.get("count")))
        for one in _iter_mappings(geometry.get(INSTANCES_FIELD))
    )


def _iter_mappings(listed: object) -> Iterator[JsonObject]:
    return (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))


def _int_or_zero(number: object) -> int:
    return number if isinstance(number, int) else 0


def is_readable(text: str) -> bool:
    """Whether a scheduler can make something of it."""
    return _vgpu_section(text) is not None


class UnreadableError(ValueError):
    """The text is no YAML."""


@lru_cache(maxsize=4)
def parse_device_config(text: str) -> Json:
    """What a configuration says, read once for all who ask; not to be changed."""
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UnreadableError from error


def _vgpu_section(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    try:
        whole = parse_device_config(text)
    except UnreadableError:
        return None
    if whole is None:
        return {}
    section = whole.get(VGPU_SECTION) if isinstance(whole, dict) else None
    return (section if isinstance(section, dict) else {}) if isinstance(whole, dict) else None


def dump_vgpu_config(names: VgpuNames, settings: MigSettings) -> str:
    """A configuration that says this and nothing else."""
    import yaml

    section: dict[str, object] = {field: name for field, name in zip(NAME_FIELDS, names, strict=True) if name}
    if settings.factor:
        section[FACTOR_FIELD] = settings.factor
    if settings.known:
        section[KNOWN_FIELD] = [
            {"models": list(one.models), ALLOWED_FIELD: _dump_geometries(one.geometries)} for one in settings.known
        ]
    return yaml.safe_dump({VGPU_SECTION: section})


def _dump_geometries(geometries: Iterable[Geometry]) -> list[JsonObject]:
    return [
        {
            "group": one.group,
            INSTANCES_FIELD: [{"name": i.name, "memory": i.memory, "count": i.number} for i in one.instances],
        }
        for one in geometries
    ]
