"""Label selectors as Kubernetes evaluates them (matchLabels and matchExpressions)."""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.snapshot.json_values import JsonObject


def label_selector_matches(selector: JsonObject | None, labels: Mapping[str, str]) -> bool:
    """Whether the labels match; a nil or invalid selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_requirement_matches(raw, labels) for raw in selector.get("matchExpressions") or ())


def _requirement_matches(raw: JsonObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = raw.get("key", ""), raw.get("operator"), raw.get("values") or ()
    if operator == "In":
        return bool(values) and key in labels and labels[key] in values
    if operator == "NotIn":
        return bool(values) and (key not in labels or labels[key] not in values)
    if operator == "Exists":
        return not values and key in labels
    return operator == "DoesNotExist" and not values and key not in labels
