"""The device configuration: names of virtual GPUs, MIG geometries, Ascend NPUs. Upstream: api/devices/config."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.snapshot.manifest import Json, JsonDict, JsonObject, object_in

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


# The structs below are read from the configuration, and written to it, under the names that `rename` gives.


class MigTemplate(Struct, frozen=True, omit_defaults=True, rename={"number": "count"}):
    """MIG instances of one size on a card. Upstream: api/devices/config/vgpu (MigTemplate)."""

    name: str = ""
    memory: int = 0
    number: int = 0


class Geometry(Struct, frozen=True, omit_defaults=True, rename={"instances": "geometries"}):
    """A possible division of a card into instances. Upstream: api/devices/config/vgpu (Geometry)."""

    group: str = ""
    instances: tuple[MigTemplate, ...] = ()


Geometries = tuple[Geometry, ...]


class KnownCards(Struct, frozen=True, omit_defaults=True, rename={"geometries": "allowedGeometries"}):
    """Geometries by words in a card's kind. Upstream: api/devices/config/vgpu (AllowedMigGeometries)."""

    models: tuple[str, ...] = ()
    geometries: Geometries = ()


class MigSettings(
    Struct, frozen=True, omit_defaults=True, rename={"factor": "gpuMemoryFactor", "cards": "knownMigGeometries"}
):
    """Settings of cards in MIG mode; without a configuration no kind of card is known."""

    factor: int = 0
    """Memory units per unit of a request, if above 1."""
    cards: tuple[KnownCards, ...] = ()


NAME_FIELDS: Final = ("resourceCountName", "resourceMemoryName", "resourceCoreName", "resourceMemoryPercentageName")
"""Fields of the configuration in the order of VgpuNames."""
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
    return _read_struct(_vgpu_section(text), MigSettings)


Settings = TypeVar("Settings", bound=Struct)


def _read_struct(document: Json, kind: type[Settings]) -> Settings:
    """A document whose types are checked as a struct; in Go a null, also in a list, is a value of zeros."""
    return msgspec.convert(_without_nulls(document or {}), kind)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls({} if item is None else item) for item in value] if isinstance(value, list) else value


def is_readable(text: str) -> bool:
    """Whether a scheduler can read the configuration."""
    return _vgpu_section(text) is not None


def _device_config_type() -> GoType:
    """The Go type of the configuration; the NPUs are checked apart. Upstream: api/devices/config (Config)."""
    from vcdebug.snapshot.go_yaml import ANY, COUNT, FLAG, NUMBER, TEXT, WHOLE, GoList, GoStruct

    template = GoStruct({"name": TEXT, "memory": COUNT, "count": WHOLE})
    geometry = GoStruct({"group": TEXT, "geometries": GoList(template)})
    cards = GoStruct({"models": GoList(TEXT), "allowedGeometries": GoList(geometry)})
    counts = ("defaultMemory", "defaultCores", "defaultGPUNum", "deviceSplitCount", "gpuMemoryFactor")
    fields: dict[str, GoType] = {
        **dict.fromkeys((*NAME_FIELDS, "resourcePriorityName"), TEXT),
        **dict.fromkeys(("overwriteEnv", "disableCoreLimit"), FLAG),
        **dict.fromkeys(("deviceMemoryScaling", "deviceCoreScaling"), NUMBER),
        **dict.fromkeys(counts, COUNT),
        "knownMigGeometries": GoList(cards),
    }
    return GoStruct({VGPU_SECTION: GoStruct(fields), NPU_SECTION: ANY})


@lru_cache(maxsize=4)
def _parse_config(text: str) -> JsonObject | None:
    """The parsed configuration, cached, so never to be changed; None for one that the scheduler cannot read."""
    return _load_config(text, _device_config_type())


def _load_config(text: str, kind: GoType) -> JsonObject | None:
    import yaml  # slow to load, and most snapshots have no device configuration

    from vcdebug.snapshot.go_yaml import load_yaml

    try:
        return object_in(load_yaml(text, kind))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _vgpu_section(text: str | None) -> JsonObject | None:
    document = None if text is None else _parse_config(text)
    return None if document is None else object_in(document.get(VGPU_SECTION))


def dump_vgpu_config(names: VgpuNames, settings: MigSettings) -> str:
    """The text of a configuration with these names and settings."""
    import yaml

    named = {field: name for field, name in zip(NAME_FIELDS, names, strict=True) if name}
    return yaml.safe_dump({VGPU_SECTION: {**named, **msgspec.to_builtins(settings)}})


NPU_SECTION: Final = "vnpus"


class NpuTemplate(Struct, frozen=True):
    """A part of a card that a pod can get: its name and memory."""

    name: str = ""
    memory: int = 0


class NpuKind(
    Struct,
    frozen=True,
    rename={
        "word": "commonWord",
        "resource": "resourceName",
        "memory_resource": "resourceMemoryName",
        "allocatable": "memoryAllocatable",
        "capacity": "memoryCapacity",
    },
):
    """One kind of Ascend NPUs."""

    word: str = ""
    """The kind's name in annotations."""
    resource: str = ""
    memory_resource: str = ""
    allocatable: int = 0
    """Memory of a whole card that pods can request."""
    capacity: int = 0
    templates: tuple[NpuTemplate, ...] = ()
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

    def with_names(self, rename: Callable[[str], str]) -> NpuKind:
        """The kind with renamed texts."""
        names = {name: rename(getattr(self, name)) for name in ("word", "resource", "memory_resource")}
        return replace(self, **names, templates=tuple(replace(one, name=rename(one.name)) for one in self.templates))


class NpuConfig(Struct, frozen=True, rename={"kinds": "configs", "core_mode": "hamiVnpuCore"}):
    """Kinds of NPUs in the order in which nodes are searched for them."""

    kinds: tuple[NpuKind, ...] = ()
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


def read_npu_config(text: str | None, *, list_only: bool = False) -> NpuConfig:
    """The configured NPUs; the built-in ones without, or if void. Upstream: api/devices/config.InitDevicesConfig."""
    return BUILT_IN_NPUS if text is None else _read_npus(text, list_only) or BUILT_IN_NPUS


def is_void(text: str, *, list_only: bool = False) -> bool:
    """Whether the NPU section voids the whole configuration."""
    return _read_npus(text, list_only) is None


@lru_cache(maxsize=4)
def _read_npus(text: str, list_only: bool) -> NpuConfig | None:
    """The section of NPUs, a list of kinds or a mapping with one; None if a value has a wrong type.
    Upstream: api/devices/config/vnpu.UnmarshalYAML.
    """
    from vcdebug.snapshot.go_yaml import FLAG, SHORT, TEXT, WHOLE, GoList, GoStruct

    cores = dict.fromkeys(("aiCore", "aiCPU"), SHORT)
    template = GoStruct({"name": TEXT, "memory": WHOLE, **cores})
    names = dict.fromkeys(("commonWord", "resourceName", "resourceMemoryName"), TEXT)
    amounts = dict.fromkeys(("memoryAllocatable", "memoryCapacity"), WHOLE)
    kinds = GoList(GoStruct({**names, **amounts, **cores, "templates": GoList(template)}))
    parsed = _parse_config(text)
    # Older releases accept only the list (`list_only`).
    is_mapping = parsed is not None and isinstance(parsed.get(NPU_SECTION), dict) and not list_only
    form: GoType = GoStruct({"configs": kinds, "hamiVnpuCore": FLAG}) if is_mapping else kinds
    document = None if parsed is None else _load_config(text, GoStruct({NPU_SECTION: form}))
    if document is None:
        return None
    section = document.get(NPU_SECTION)
    config = _read_struct(section if is_mapping else {"configs": section}, NpuConfig)
    ordered = (tuple(sorted(kind.templates, key=lambda template: template.memory)) for kind in config.kinds)
    sorted_kinds = (replace(kind, templates=each) for kind, each in zip(config.kinds, ordered, strict=True))
    return replace(config, kinds=tuple(sorted_kinds))


def dump_renamed_npus(text: str, rename: Callable[[str], str]) -> str:
    """The NPU section with renamed texts, as text; empty without a section."""
    import yaml

    config, document = _read_npus(text, False), _parse_config(text)
    if config is None or document is None:
        return f"{NPU_SECTION}: 0\n"
    section = document.get(NPU_SECTION)
    if section is None:
        return ""
    npus: JsonDict = msgspec.to_builtins(replace(config, kinds=tuple(kind.with_names(rename) for kind in config.kinds)))
    return yaml.safe_dump({NPU_SECTION: npus if isinstance(section, dict) else npus["configs"]}, sort_keys=False)
