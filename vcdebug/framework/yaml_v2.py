"""YAML as Go's yaml.v2 resolves it: other booleans, octals and floats than PyYAML's, and no timestamps.

Upstream: gopkg.in/yaml.v2 (resolve).
"""

from __future__ import annotations

import re

import yaml

from vcdebug.snapshot.json_values import Json
from vcdebug.snapshot.yaml_documents import BOOLEANS, MERGE, NULLS, SAFE_LOADER, WordSet, refuse_deep

_BOOL_PATTERN = WordSet(*BOOLEANS, "y", "Y", "n", "N")
_INT_PATTERN = re.compile(r"^[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|(?:0|[1-9][0-9_]*))$")
_FLOAT_PATTERN = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_TRUE_WORDS = ("y", "yes", "on", "true")
_LARGEST_UINT = 2**64 - 1


class YamlV2Loader(SAFE_LOADER):  # type: ignore[misc]
    """A safe loader with yaml.v2's implicit types."""


YamlV2Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", _BOOL_PATTERN, list("yYnNtTfFoO")),
    ("tag:yaml.org,2002:int", _INT_PATTERN, list("-+0123456789")),
    ("tag:yaml.org,2002:float", _FLOAT_PATTERN, list("-+0123456789.")),
    ("tag:yaml.org,2002:null", NULLS, ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:merge", MERGE, ["<"]),
):
    YamlV2Loader.add_implicit_resolver(_tag, _pattern, _first)


def _construct_bool(loader: YamlV2Loader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in _TRUE_WORDS


def _construct_int(loader: YamlV2Loader, node: yaml.ScalarNode) -> int | float:
    text = str(loader.construct_scalar(node)).replace("_", "")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    number = sign * _parse_magnitude(digits)
    return number if -(2**63) <= number <= _LARGEST_UINT else float(text)


def _parse_magnitude(digits: str) -> int:
    lowered = digits.lower()
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if lowered.startswith(prefix):
            return int(lowered[2:] or "0", base)
    if len(digits) > 1 and digits.startswith("0"):
        return int(digits, 8)
    return int(digits)


def _construct_float(loader: YamlV2Loader, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).lower()
    return float(text.replace(".inf", "inf").replace(".nan", "nan"))


YamlV2Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
YamlV2Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
YamlV2Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


def load_yaml(text: str) -> Json:
    """The document as plain data; raises yaml.YAMLError, or ValueError for one that is nested too deep."""
    refuse_deep(text)
    return yaml.load(text, Loader=YamlV2Loader)  # a SafeLoader
