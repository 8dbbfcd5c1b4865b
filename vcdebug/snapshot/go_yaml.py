"""YAML as the scheduler's Go library reads it: the first document of a text, each value by the type of its field.

Where Go's scanner and libyaml's differ, libyaml's decides: `{a:}`, a byte order mark within the text, an escaped `/`.

Upstream: gopkg.in/yaml.v2 (Unmarshal, resolve).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml
from msgspec import Struct

from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.yaml_documents import BOOLEANS, NULLS, SAFE_LOADER, WordSet, refuse_deep

_PREFIX: Final = "tag:yaml.org,2002:"
_PLAIN: Final = ""
"""The tag of a scalar without a tag, whose type depends on its field."""
_TEXT, _BINARY, _MERGE = f"{_PREFIX}str", f"{_PREFIX}binary", f"{_PREFIX}merge"
_RESOLVED: Final = tuple(_PREFIX + name for name in ("bool", "int", "float", "null", "timestamp"))
_BOOLEANS = WordSet(*BOOLEANS, "y", "Y", "n", "N")
_TRUE_WORDS: Final = ("y", "yes", "on", "true")
_NULLS_THAT_SET: Final = ("Null", "NULL")
"""Nulls for which Go's decoder still allocates a bool field, which becomes false; for other nulls it stays nil."""
_INFINITE = WordSet(".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")
_NEGATIVE = WordSet("-.inf", "-.Inf", "-.INF")
_NOT_A_NUMBER = WordSet(".nan", ".NaN", ".NAN")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_INTEGER: Final = re.compile(
    r"([-+]?)(?:(0[xX])([0-9a-fA-F]+)|(0[oO]?)([0-7]+)|(0[bB])([01]+)|()(0|[1-9][0-9]*))", re.ASCII
)
_BASES: Final = {"0x": 16, "0o": 8, "0": 8, "0b": 2, "": 10}
_OTHER_VERSION: Final = re.compile(r"(?:[ \t]*(?:#[^\n]*|%(?!YAML)[^\n]*)?\r?\n)*+%YAML[ \t]+(?!1\.1(?:\s|$))")
"""A first directive with another version than 1.1, which libyaml takes and Go does not."""
_DATE: Final = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[Tt ].*)?", re.ASCII)


class GoYamlError(ValueError):
    """Raised for a text that Go does not decode; `where` is the path of the field, empty for the whole text."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.where = path


class GoStruct(Struct, frozen=True):
    """A struct: the types of its fields. Keys that are no field become None, whatever they hold."""

    fields: Mapping[str, GoType]


class GoList(Struct, frozen=True):
    """A slice."""

    item: GoType


class GoMap(Struct, frozen=True):
    """A map with text keys."""

    value: GoType


ANY: Final = "any"
"""interface{}: the type of a scalar follows from its text."""
TEXT: Final = "string"
"""A text: the characters of any scalar."""
FLAG: Final = "bool"
WHOLE: Final = "int"
"""An int64; fractions are truncated."""
SHORT: Final = "int32"
COUNT: Final = "uint"
"""A uint64; fractions are truncated."""
NUMBER: Final = "float64"
_LIMITS: Final[Mapping[str, tuple[int, int]]] = {WHOLE: (-(2**63), 2**63), SHORT: (-(2**31), 2**31), COUNT: (0, 2**64)}
"""Integer type → its least value, and the first one above its values."""

GoType = GoStruct | GoList | GoMap | str


class _FirstDocumentLoader(SAFE_LOADER):  # type: ignore[misc]
    """A loader that leaves plain scalars without a type; quoted ones are texts."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return f"{_PREFIX}{'seq' if kind is yaml.SequenceNode else 'map'}"


def edited_document(text: str) -> yaml.Node | None:
    """The nodes of the first document, with tags that PyYAML's dumper accepts; None for a text without a document.

    Raises yaml.YAMLError, or ValueError for one that is nested too deep.
    """
    return _compose_first(text, SAFE_LOADER)[0]


def has_more_documents(text: str) -> bool:
    """Whether a later document with content follows the first, which Go does not read."""
    try:
        return _compose_first(text, SAFE_LOADER)[1]
    except (yaml.YAMLError, ValueError):
        return False


def _compose_first(text: str, kind: Any) -> tuple[yaml.Node | None, bool]:
    refuse_deep(text)
    loader = kind(text)
    try:
        first = loader.get_node() if loader.check_node() else None
        return first, first is not None and _has_content(loader)
    finally:
        loader.dispose()


def _has_content(loader: Any) -> bool:
    try:
        while loader.check_node():
            node = loader.get_node()
            if not isinstance(node, yaml.ScalarNode) or node.value:
                return True
    except yaml.YAMLError:
        return True
    return False


def load_yaml(text: str, kind: GoType = ANY) -> Json:
    """The first document as plain data; None for a text without a document.

    Raises yaml.YAMLError, GoYamlError, or another ValueError for one that is nested too deep.
    """
    if _OTHER_VERSION.match(text):
        raise GoYamlError("found incompatible YAML document")
    node = _compose_first(text, _FirstDocumentLoader)[0]
    return None if node is None else _Decoder().decode_node(node, kind, "")


class _Decoder:
    """Decodes nodes to plain data; raises GoYamlError for recursive or excessive aliases."""

    def __init__(self) -> None:
        self._seen: dict[int, bool] = {}
        """Identity of each visited node → whether it is still being decoded."""
        self._decoded = self._through_aliases = self._alias_depth = 0

    def decode_node(self, node: yaml.Node, kind: GoType, path: str) -> Json:
        """The value of a node for a field of that type; `path` names the field."""
        key = id(node)
        if self._seen.get(key):
            raise GoYamlError("an anchor's value contains itself", path)
        aliased = key in self._seen
        self._seen[key] = True
        self._alias_depth += aliased
        self._count_node(path)
        try:
            return self._decode_kind(node, kind, path)
        finally:
            self._seen[key] = False
            self._alias_depth -= aliased

    def _count_node(self, path: str) -> None:
        self._decoded += 1
        self._through_aliases += self._alias_depth > 0
        max_ratio = 0.99 - 0.89 * min(max(self._decoded - 400_000, 0) / 3_600_000, 1.0)
        if self._through_aliases > 100 and self._decoded > 1000 and self._through_aliases / self._decoded > max_ratio:
            raise GoYamlError("the document contains excessive aliasing", path)

    def _decode_kind(self, node: yaml.Node, kind: GoType, path: str) -> Json:
        if isinstance(node, yaml.ScalarNode):
            return _decode_scalar(node, kind, path)
        if isinstance(node, yaml.SequenceNode):
            if not isinstance(kind, GoList) and kind != ANY:
                raise GoYamlError(_mismatch_text(kind, "a list"), path)
            item = kind.item if isinstance(kind, GoList) else ANY
            return [self._decode_part(element, item, f"{path}[{place}]") for place, element in enumerate(node.value)]
        if isinstance(kind, GoList) or (isinstance(kind, str) and kind != ANY):
            raise GoYamlError(_mismatch_text(kind, "a map"), path)
        result: dict[Any, Any] = {}
        self._fill_mapping(node, kind, path, result)
        return result

    def _fill_mapping(self, node: yaml.Node, kind: GoType, path: str, result: dict[Any, Any]) -> None:
        """Fill in the order of the keys: values merged by `<<` replace earlier ones."""
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode) and name.value == "<<" and name.tag in (_PLAIN, _MERGE):
                for merged in reversed(_merged_mappings(value, path)):
                    self._fill_mapping(merged, kind, path, result)
                continue
            key = self.decode_node(name, ANY if kind == ANY else TEXT, path)
            key = "" if key is None and kind != ANY else key
            if isinstance(key, dict | list):
                raise GoYamlError("invalid map key", path)
            inner = self._decode_entry(key, value, kind, f"{path}.{key}" if path else str(key))
            present = result.get(key)
            field = kind.fields.get(key) if isinstance(kind, GoStruct) else None
            if isinstance(field, GoMap | GoStruct) and isinstance(present, dict) and isinstance(inner, dict):
                present.update(inner)
            else:
                result[key] = inner

    def _decode_entry(self, key: Any, value: yaml.Node, kind: GoType, path: str) -> Json:
        if isinstance(kind, GoStruct):
            return self.decode_node(value, kind.fields[key], path) if key in kind.fields else None
        return self._decode_part(value, kind.value if isinstance(kind, GoMap) else ANY, path)

    def _decode_part(self, node: yaml.Node, kind: GoType, path: str) -> Json:
        """Decode an element of a list or map, where a null text is empty."""
        value = self.decode_node(node, kind, path)
        return "" if value is None and kind == TEXT else value


def _merged_mappings(value: yaml.Node, path: str) -> list[yaml.Node]:
    nodes = list(value.value) if isinstance(value, yaml.SequenceNode) else [value]
    if not all(isinstance(node, yaml.MappingNode) for node in nodes):
        raise GoYamlError("map merge requires map or sequence of maps as the value", path)
    return nodes


def _mismatch_text(kind: GoType, actual: str) -> str:
    expected = "a list" if isinstance(kind, GoList) else "a map" if isinstance(kind, GoStruct | GoMap) else kind
    return f"cannot unmarshal {actual} into {expected}"


def _decode_scalar(node: yaml.ScalarNode, kind: GoType, path: str) -> Json:
    value = _resolve_scalar(node.tag, node.value, path)
    if value is None and kind == FLAG and node.tag == _PLAIN and node.value in _NULLS_THAT_SET:
        return False
    if value is None or kind == ANY:
        return value
    if kind == TEXT:
        return value if node.tag == _BINARY else node.value
    if isinstance(value, bool) == (kind == FLAG) and not isinstance(value, str):
        number = _fit_number(value, kind)
        if number is not None:
            return number
    raise GoYamlError(_mismatch_text(kind, repr(value)), path)


def _fit_number(value: bool | float, kind: GoType) -> bool | float | None:
    """The value converted to a field's type; None if the type cannot hold it."""
    if kind in (FLAG, NUMBER):
        return value if kind == FLAG else float(value)
    if not isinstance(kind, str) or kind not in _LIMITS or not math.isfinite(value):
        return None
    minimum, limit = _LIMITS[kind]
    return int(value) if minimum <= int(value) < limit else None


def _resolve_scalar(tag: str, text: str, path: str) -> Json:
    if tag == _BINARY:
        try:
            return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True).decode("utf-8", errors="replace")
        except binascii.Error as error:
            raise GoYamlError("!!binary value contains invalid base64 data", path) from error
    if tag not in (_PLAIN, *_RESOLVED):
        return text
    kind, value = _resolve_plain(text)
    if tag == f"{_PREFIX}float" and kind == "int" and isinstance(value, int):
        return float(value)
    if tag == f"{_PREFIX}timestamp" and _DATE.fullmatch(text):
        return text
    if tag not in (_PLAIN, f"{_PREFIX}{kind}"):
        raise GoYamlError(f"cannot decode !!{kind} `{text}` as a !!{tag.removeprefix(_PREFIX)}", path)
    return value


def _resolve_plain(text: str) -> tuple[str, Json]:
    """(type name, value) of a plain scalar by its text; dates stay text."""
    if NULLS.match(text):
        return "null", None
    if _BOOLEANS.match(text):
        return "bool", text.lower() in _TRUE_WORDS
    for words, number in ((_INFINITE, math.inf), (_NEGATIVE, -math.inf), (_NOT_A_NUMBER, math.nan)):
        if words.match(text):
            return "float", number
    if text[0] in "+-0123456789":
        numbers: Iterator[int | float | None] = (read(text.replace("_", "")) for read in (_read_integer, _read_float))
        for value in numbers:
            if value is not None:
                return ("int" if isinstance(value, int) else "float"), value
    elif text[0] == "." and (fraction := _read_float(_BETWEEN_DIGITS.sub("", text))) is not None:
        return "float", fraction
    return "str", text


def _read_integer(text: str) -> int | None:
    """The integer in a text; None for other texts, and outside int64 and uint64."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, *parts = match.groups()
    prefix, digits = next((prefix, digits) for prefix, digits in zip(parts[::2], parts[1::2], strict=True) if digits)
    number = int(sign + digits, _BASES[prefix.lower()])
    return number if -(2**63) <= number < (2**63 if sign else 2**64) else None


def _read_float(text: str) -> float | None:
    """The float in a text; None for other texts, and for numbers too large for a float."""
    number = float(text) if _FLOAT.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None
