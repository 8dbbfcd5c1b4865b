"""Which objects of a list a query selects: a namespace, labels, and the few fields that clients ask for."""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.snapshot.json_values import Json, JsonDict
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.verify.messages import Body


def is_selected(item: Body, namespace: str, query: Mapping[str, str]) -> bool:
    """Whether an object belongs to what was asked for."""
    metadata = metadata_of(item)
    if namespace and metadata.get("namespace") != namespace:
        return False
    labels: JsonDict = metadata.get("labels") or {}
    asked = [(labels.get(key), wanted, same) for key, wanted, same in _selector_terms(query, "labelSelector")]
    asked += [
        (_field_value(item, path), wanted, same) for path, wanted, same in _selector_terms(query, "fieldSelector")
    ]
    return all(_term_holds(value, wanted, same=same) for value, wanted, same in asked)


def _selector_terms(query: Mapping[str, str], name: str) -> list[tuple[str, str, bool]]:
    """`a=b,c!=d` as name, value and whether they are to be equal."""
    terms = []
    for part in query.get(name, "").split(","):
        key, _, value = part.partition("=")
        if key:
            terms.append((key.rstrip("!="), value.lstrip("="), not key.endswith("!")))
    return terms


def _term_holds(value: Json, wanted: str, *, same: bool) -> bool:
    return ((value or "") == wanted) is same


def _field_value(item: Body, path: str) -> Json:
    value: Json = item
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
