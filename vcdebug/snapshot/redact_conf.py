"""The scheduler's configuration in other words: its sections, switches and numbers, without comments and addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import yaml

from vcdebug.snapshot.yaml_documents import SAFE_DUMPER, SAFE_LOADER, refuse_deep

SECTIONS = ("actions", "tiers", "configurations", "metrics")
METRICS = ("type", "interval")
"""Where the measurements come from is nobody's business, and neither is the password."""
REDACTED_ADDRESS = "http://redacted.invalid"
NOT_YAML = "{"
"""Stands for a configuration that is none: the scheduler refuses either."""
_CORE = "tag:yaml.org,2002:"
_TEXT = f"{_CORE}str"

RewriteScalar = Callable[[str], str]


def redact_conf(text: str, rewrite: RewriteScalar) -> str:
    """The configuration with only what decides; scalars keep their types, since the scheduler minds them."""
    try:
        refuse_deep(text)
        root = yaml.compose(text, Loader=SAFE_LOADER)
    except (yaml.YAMLError, ValueError):
        return NOT_YAML
    if root is None:
        return ""
    if not all(node.tag.startswith(_CORE) for node in _iter_nodes(root, {})):
        return NOT_YAML
    if isinstance(root, yaml.MappingNode):
        root.value = [(key, value) for key, value in root.value if key.value in SECTIONS]
        for key, value in root.value:
            if key.value == "metrics" and isinstance(value, yaml.MappingNode):
                value.value = [(name, item) for name, item in value.value if name.value in METRICS]
    for node in list(_iter_nodes(root, {})):
        if isinstance(node, yaml.ScalarNode) and node.tag == _TEXT:
            node.value = REDACTED_ADDRESS if "://" in node.value else rewrite(node.value)
    return str(yaml.serialize(root, Dumper=SAFE_DUMPER))


def _iter_nodes(node: yaml.Node, done: dict[int, None]) -> Iterator[yaml.Node]:
    """Each node once, however many aliases lead to it."""
    if id(node) in done:
        return
    done[id(node)] = None
    yield node
    if isinstance(node, yaml.CollectionNode):
        for item in node.value:
            for inner in item if isinstance(item, tuple) else (item,):
                yield from _iter_nodes(inner, done)
