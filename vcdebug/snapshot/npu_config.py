"""What a device configuration says of Ascend NPUs: their names, how large they are, and in which parts they are cut.

Upstream: api/devices/config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from vcdebug.snapshot.device_config import UnreadableError, parse_device_config
from vcdebug.snapshot.json_values import Json, JsonObject

NPU_SECTION: Final = "vnpus"
_INT_BITS: Final = 64


class NpuTemplate(NamedTuple):
    """A part of a card."""

    name: str
    memory: int


class NpuKind(NamedTuple):
    """One kind of cards."""

    word: str
    """By which annotations name it."""
    resource: str
    memory_resource: str
    allocatable: int
    """Memory of a whole card that a pod can have."""
    capacity: int
    templates: tuple[NpuTemplate, ...]
    """By memory, the smallest first."""

    @property
    def core_resource(self) -> str:
        """The resource by which pods ask for cores."""
        return f"{self.resource}-core"

    def trim_memory(self, memory: int) -> tuple[int, str]:
        """(memory, name) of the smallest part that has so much, without a name where it is all of the card; what no
        card has becomes nothing at all. Upstream: api/devices/ascend/hami/device_info.trimMemory.
        """
        for template in self.templates:
            if memory <= template.memory:
                return template.memory, template.name
        return (self.allocatable if memory <= self.capacity else 0), ""


class NpuConfig(NamedTuple):
    """Kinds of cards in the order in which nodes are asked for them."""

    kinds: tuple[NpuKind, ...]
    core_mode: bool = False
    """Whether nodes that do not say it cut their cards by hami-core."""


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
    """A value of another type: the scheduler takes its built-in configuration."""


def read_npu_config(text: str | None, *, list_only: bool = False) -> NpuConfig:
    """What a configuration says, nothing being filled in; the built-in one without any, or where it is void.
    Upstream: api/devices/config.InitDevicesConfig.
    """
    try:
        return BUILT_IN_NPUS if text is None else _read_npu_section(_npu_document(text), list_only=list_only)
    except ConfigurationVoidError:
        return BUILT_IN_NPUS


def is_void(text: str, *, list_only: bool = False) -> bool:
    """Whether what it says of NPUs voids a configuration as a whole."""
    try:
        _read_npu_section(_npu_document(text), list_only=list_only)
    except ConfigurationVoidError:
        return True
    return False


def dump_renamed_npus(text: str, rename: Callable[[str], str]) -> str:
    """The section of a configuration that says the same under other names; empty where there is none."""
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
            "templates": [{"name": rename(one.name), "memory": one.memory} for one in kind.templates],
        }
        for kind in config.kinds
    ]
    stated = {"hamiVnpuCore": config.core_mode, "configs": kinds} if isinstance(section, dict) else kinds
    return yaml.safe_dump({NPU_SECTION: stated}, sort_keys=False)


def _npu_document(text: str) -> JsonObject:
    try:
        return _checked_mapping(parse_device_config(text))
    except UnreadableError as error:
        raise ConfigurationVoidError from error


def _read_npu_section(whole: JsonObject, *, list_only: bool) -> NpuConfig:
    """A list of kinds, or a mapping that holds one. Upstream: api/devices/config/vnpu.UnmarshalYAML."""
    section = whole.get(NPU_SECTION)
    if isinstance(section, dict) and not list_only:
        return NpuConfig(_read_kinds(section.get("configs")), _checked_flag(section.get("hamiVnpuCore")))
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
    found = (
        NpuTemplate(_checked_text(part.get("name")), _checked_integer(part.get("memory"), _INT_BITS)) for part in parts
    )
    return sorted(found, key=lambda template: template.memory)


def _check_cores(entry: JsonObject) -> None:
    """Nobody asks what they say, yet they can void the configuration."""
    for name in ("aiCore", "aiCPU"):
        _checked_integer(entry.get(name), _INT_BITS // 2)  # exact: ints


def _checked_mapping(value: Json) -> JsonObject:
    return value if isinstance(_check_type(value, dict), dict) else {}


def _checked_list(value: Json) -> list[Json]:
    return value if isinstance(_check_type(value, list), list) else []


def _checked_flag(value: Json) -> bool:
    return _check_type(value, bool) is True


def _check_type(value: Json, kind: type) -> Json:
    if value is not None and not isinstance(value, kind):
        raise ConfigurationVoidError
    return value


def _checked_text(value: Json) -> str:
    """Any scalar is a text."""
    if isinstance(value, dict | list):
        raise ConfigurationVoidError
    return "" if value is None else str(value)


def _checked_integer(value: Json, bits: int) -> int:
    """A whole number that fits; a fraction is cut off."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationVoidError
    if not abs(value) < 1 << (bits - 1):
        raise ConfigurationVoidError
    return int(value)
