"""The device configuration: names of virtual GPUs, MIG geometries, Ascend NPUs. Upstream: api/devices/config."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from vcdebug.snapshot.manifest import Json, JsonObject, object_in

if TYPE_CHECKING:
    from vcdebug.snapshot.go_yaml import GoType

DEVICE_CONFIG_NAMESPACE: Final = "kube-system"
DEVICE_CONFIG_NAME: Final = "volcano-vgpu-device-config"
NAME_ARGUMENT: Final = "deviceshare.KnownGeometriesCMName"
NAMESPACE_ARGUMENT: Final = "deviceshare.KnownGeometriesCMNamespace"
VGPU_SECTION: Final = "nvidia"


class VgpuNames(NamedTuple):
    """Names of the resources by which pods request virtual GPUs; an empty name cannot be requested."""

    number: str = "volcano.sh/vgpu-number"
    memory: str = "volcano.sh/vgpu-memory"
    cores: str = "volcano.sh/vgpu-cores"
    percentage: str = ""
    """The resource for memory in percent of a card."""


class MigTemplate(Struct, frozen=True):
    """MIG instances of one size on a card. Upstream: api/devices/config/vgpu (MigTemplate)."""

    name: str
    memory: int
    number: int


class Geometry(Struct, frozen=True):
    """A possible division of a card into instances. Upstream: api/devices/config/vgpu (Geometry)."""

    group: str
    instances: tuple[MigTemplate, ...]


Geometries = tuple[Geometry, ...]


class KnownCards(Struct, frozen=True):
    """Geometries by words in a card's kind. Upstream: api/devices/config/vgpu (AllowedMigGeometries)."""

    models: tuple[str, ...]
    geometries: Geometries


class MigSettings(NamedTuple):
    """Settings of cards in MIG mode; without a configuration no kind of card is known."""

    factor: int = 0
    """Memory units per unit of a request, if above 1."""
    cards: tuple[KnownCards, ...] = ()


NAME_FIELDS: Final = ("resourceCountName", "resourceMemoryName", "resourceCoreName", "resourceMemoryPercentageName")
"""Fields of the configuration in the order of VgpuNames."""
KNOWN_FIELD: Final = "knownMigGeometries"
ALLOWED_FIELD: Final = "allowedGeometries"
INSTANCES_FIELD: Final = "geometries"
FACTOR_FIELD: Final = "gpuMemoryFactor"
BUILT_IN_NAMES: Final = VgpuNames()
BUILT_IN_MIG: Final = MigSettings()
FIXED_NAMES: Final = VgpuNames(percentage="volcano.sh/vgpu-memory-percentage")
"""The names of releases that do not read a configuration."""


def read_vgpu_names(text: str | None) -> VgpuNames:
    """The names in a configuration, where a missing one is empty; without a configuration the built-in names.
    Upstream: api/devices/config.InitDevicesConfig.
    """
    section = _vgpu_section(text)
    return BUILT_IN_NAMES if section is None else VgpuNames(*(str(section.get(name) or "") for name in NAME_FIELDS))


def read_mig_settings(text: str | None) -> MigSettings:
    """The MIG settings of a configuration. Upstream: api/devices/config.InitDevicesConfig."""
    section = _vgpu_section(text) or {}
    known_cards = tuple(
        KnownCards(
            tuple([str(model) for model in kind.get("models") or ()]),
            tuple(
                [
                    Geometry(str(geometry.get("group") or ""), _read_templates_of(geometry))
                    for geometry in _iter_mappings(kind.get(ALLOWED_FIELD))
                ]
            ),
        )
        for kind in _iter_mappings(section.get(KNOWN_FIELD))
    )
    return MigSettings(_int_or_zero(section.get(FACTOR_FIELD)), known_cards)


def _read_templates_of(geometry: JsonObject) -> tuple[MigTemplate, ...]:
    return tuple(
        MigTemplate(str(item.get("name") or ""), _int_or_zero(item.get("memory")), _int_or_zero(item.get("count")))
        for item in _iter_mappings(geometry.get(INSTANCES_FIELD))
    )


def _iter_mappings(values: object) -> Iterator[JsonObject]:
    return (item for item in (values if isinstance(values, list) else ()) if isinstance(item, dict))


def _int_or_zero(number: object) -> int:
    return number if isinstance(number, int) else 0


def is_readable(text: str) -> bool:
    """Whether a scheduler can read the configuration."""
    return _vgpu_section(text) is not None


class UnreadableError(ValueError):
    """Raised for a text that is not YAML."""


def _device_config_type() -> GoType:
    """The Go type of the configuration; `read_npu_config` checks NPUs. Upstream: api/devices/config (Config)."""
    from vcdebug.snapshot.go_yaml import ANY, COUNT, FLAG, NUMBER, TEXT, WHOLE, GoList, GoStruct

    template = GoStruct({"name": TEXT, "memory": COUNT, "count": WHOLE})
    geometry = GoStruct({"group": TEXT, INSTANCES_FIELD: GoList(template)})
    cards = GoStruct({"models": GoList(TEXT), ALLOWED_FIELD: GoList(geometry)})
    counts = ("defaultMemory", "defaultCores", "defaultGPUNum", "deviceSplitCount", FACTOR_FIELD)
    fields: dict[str, GoType] = {
        **dict.fromkeys((*NAME_FIELDS, "resourcePriorityName"), TEXT),
        **dict.fromkeys(("overwriteEnv", "disableCoreLimit"), FLAG),
        **dict.fromkeys(("deviceMemoryScaling", "deviceCoreScaling"), NUMBER),
        **dict.fromkeys(counts, COUNT),
        KNOWN_FIELD: GoList(cards),
    }
    return GoStruct({VGPU_SECTION: GoStruct(fields), NPU_SECTION: ANY})


@lru_cache(maxsize=4)
def parse_device_config(text: str) -> Json:
    """The parsed configuration, cached, so never to be changed; raises UnreadableError."""
    import yaml  # slow to load, and most snapshots have no device configuration

    from vcdebug.snapshot.go_yaml import load_yaml

    try:
        return load_yaml(text, _device_config_type())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UnreadableError from error


def _vgpu_section(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    try:
        document = parse_device_config(text)
    except UnreadableError:
        return None
    return object_in(object_in(document).get(VGPU_SECTION)) if isinstance(document, dict | None) else None


def dump_vgpu_config(names: VgpuNames, settings: MigSettings) -> str:
    """The text of a configuration with these names and settings."""
    import yaml

    section: dict[str, object] = {field: name for field, name in zip(NAME_FIELDS, names, strict=True) if name}
    if settings.factor:
        section[FACTOR_FIELD] = settings.factor
    if settings.cards:
        section[KNOWN_FIELD] = [
            {"models": list(kind.models), ALLOWED_FIELD: _dump_geometries(kind.geometries)} for kind in settings.cards
        ]
    return yaml.safe_dump({VGPU_SECTION: section})


def _dump_geometries(geometries: Iterable[Geometry]) -> list[JsonObject]:
    return [
        {
            "group": geometry.group,
            INSTANCES_FIELD: [{"name": i.name, "memory": i.memory, "count": i.number} for i in geometry.instances],
        }
        for geometry in geometries
    ]


NPU_SECTION: Final = "vnpus"
_INT_BITS: Final = 64


class NpuTemplate(Struct, frozen=True):
    """A part of a card that a pod can get: its name and memory."""

    name: str
    memory: int


class NpuKind(NamedTuple):
    """One kind of Ascend NPUs."""

    word: str
    """The kind's name in annotations."""
    resource: str
    memory_resource: str
    allocatable: int
    """Memory of a whole card that pods can request."""
    capacity: int
    templates: tuple[NpuTemplate, ...]
    """Templates ordered by memory, smallest first."""

    @property
    def core_resource(self) -> str:
        """The resource by which pods request cores."""
        return f"{self.resource}-core"

    def trim_memory(self, memory: int) -> tuple[int, str]:
        """(memory, name) of the smallest template that has this memory; no name for a whole card, 0 above its capacity.
        Upstream: api/devices/ascend/hami/device_info.trimMemory.
        """
        for template in self.templates:
            if memory <= template.memory:
                return template.memory, template.name
        return (self.allocatable if memory <= self.capacity else 0), ""


class NpuConfig(Struct, frozen=True):
    """Kinds of NPUs in the order in which nodes are searched for them."""

    kinds: tuple[NpuKind, ...]
    core_mode: bool = False
    """Whether nodes without the annotation use hami-core."""


BUILT_IN_NPUS: Final = NpuConfig(
    (
        NpuKind(
            "Ascend310P",
            "huawei.com/Ascend310P",
            "huawei.com/Ascend310P-memory",
            21527,
            24576,
            (NpuTemplate("vir01", 3072), NpuTemplate("vir02", 6144), NpuTemplate("vir04", 12288)),
        ),
    )
)


class ConfigurationVoidError(ValueError):
    """Raised if a value has a wrong type, in which case the scheduler uses its built-in configuration."""


def read_npu_config(text: str | None, *, list_only: bool = False) -> NpuConfig:
    """The configured NPUs; the built-in ones without, or if void. Upstream: api/devices/config.InitDevicesConfig."""
    try:
        return BUILT_IN_NPUS if text is None else _read_npu_section(_npu_document(text), list_only=list_only)
    except ConfigurationVoidError:
        return BUILT_IN_NPUS


def is_void(text: str, *, list_only: bool = False) -> bool:
    """Whether the NPU section voids the whole configuration."""
    try:
        _read_npu_section(_npu_document(text), list_only=list_only)
    except ConfigurationVoidError:
        return True
    return False


def dump_renamed_npus(text: str, rename: Callable[[str], str]) -> str:
    """The NPU section with renamed texts, as text; empty without a section."""
    import yaml

    if is_void(text):
        return f"{NPU_SECTION}: 0\n"
    section = _npu_document(text).get(NPU_SECTION)
    if section is None:
        return ""
    config = read_npu_config(text)
    kinds = [
        {
            "commonWord": rename(kind.word),
            "resourceName": rename(kind.resource),
            "resourceMemoryName": rename(kind.memory_resource),
            "memoryAllocatable": kind.allocatable,
            "memoryCapacity": kind.capacity,
            "templates": [{"name": rename(template.name), "memory": template.memory} for template in kind.templates],
        }
        for kind in config.kinds
    ]
    npus = {"hamiVnpuCore": config.core_mode, "configs": kinds} if isinstance(section, dict) else kinds
    return yaml.safe_dump({NPU_SECTION: npus}, sort_keys=False)


def _npu_document(text: str) -> JsonObject:
    try:
        return _checked_mapping(parse_device_config(text))
    except UnreadableError as error:
        raise ConfigurationVoidError from error


def _read_npu_section(document: JsonObject, *, list_only: bool) -> NpuConfig:
    """Read the NPU section: a list of kinds, or a mapping with one. Upstream: api/devices/config/vnpu.UnmarshalYAML."""
    # Older releases accept only the list (`list_only`).
    section = document.get(NPU_SECTION)
    if isinstance(section, dict) and not list_only:
        return NpuConfig(_read_kinds(section.get("configs")), _check_type(section.get("hamiVnpuCore"), bool) is True)
    return NpuConfig(_read_kinds(section))


def _read_kinds(entries: Json) -> tuple[NpuKind, ...]:
    return tuple(map(_read_kind, map(_checked_mapping, _checked_list(entries))))


def _read_kind(entry: JsonObject) -> NpuKind:
    word, resource, memory = (
        _checked_text(entry.get(name)) for name in ("commonWord", "resourceName", "resourceMemoryName")
    )
    allocatable, capacity = (
        _checked_integer(entry.get(name), _INT_BITS) for name in ("memoryAllocatable", "memoryCapacity")
    )
    _check_cores(entry)
    return NpuKind(word, resource, memory, allocatable, capacity, tuple(_read_templates(entry.get("templates"))))


def _read_templates(entries: Json) -> Iterable[NpuTemplate]:
    parts = list(map(_checked_mapping, _checked_list(entries)))
    for part in parts:
        _check_cores(part)
    templates = (
        NpuTemplate(_checked_text(part.get("name")), _checked_integer(part.get("memory"), _INT_BITS)) for part in parts
    )
    return sorted(templates, key=lambda template: template.memory)


def _check_cores(entry: JsonObject) -> None:
    """Raise ConfigurationVoidError for wrong types of fields that only Go's decoder reads."""
    for name in ("aiCore", "aiCPU"):
        _checked_integer(entry.get(name), _INT_BITS // 2)  # exact: ints


def _checked_mapping(value: Json) -> JsonObject:
    return value if isinstance(_check_type(value, dict), dict) else {}


def _checked_list(value: Json) -> list[Json]:
    return value if isinstance(_check_type(value, list), list) else []


def _check_type(value: Json, kind: type) -> Json:
    if value is not None and not isinstance(value, kind):
        raise ConfigurationVoidError
    return value


def _checked_text(value: Json) -> str:
    """A text from any scalar, as Go's YAML decoder converts it."""
    if isinstance(value, dict | list):
        raise ConfigurationVoidError
    return "" if value is None else str(value)


def _checked_integer(value: Json, bits: int) -> int:
    """An integer of so many bits; a fraction is truncated."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationVoidError
    if not abs(value) < 1 << (bits - 1):
        raise ConfigurationVoidError
    return int(value)
