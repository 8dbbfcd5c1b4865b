"""Label selectors and node selector requirements. Upstream: k8s apimachinery labels, component-helpers nodeaffinity."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from vcdebug.gomath import DECIMAL_INTEGER
from vcdebug.model.resource_list import is_qualified_name
from vcdebug.snapshot.manifest import JsonObject

Labels = Mapping[str, str]

_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SET_OPERATORS = ("In", "NotIn")
_PRESENCE_OPERATORS = ("Exists", "DoesNotExist")
_ORDER_OPERATORS = ("Gt", "Lt")


class SelectorError(ValueError):
    """Raised for a selector that upstream cannot parse."""


class Requirement(Struct, frozen=True):
    """One condition on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches_labels(self, labels: Labels) -> bool:
        """Whether the labels meet the condition."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        # Gt and Lt remain; they match neither a missing label nor a text that is no int64.
        left, right = parse_int64(value), parse_int64(self.values[0])
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right


class Selector(Struct, frozen=True):
    """Requirements that must all be met; `matches_nothing` marks the selector of a missing LabelSelector."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    @property
    def is_empty(self) -> bool:
        """Upstream's Empty(): true for `{}`, false for a missing selector."""
        return not self.matches_nothing and not self.requirements

    def matches_labels(self, labels: Labels) -> bool:
        """Whether every requirement is met."""
        if self.matches_nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110  # a generator costs twice as much here
            if not requirement.matches_labels(labels):
                return False
        return True

    def with_requirements(self, requirements: Iterable[Requirement]) -> Selector:
        """A selector with further requirements; NOTHING stays NOTHING."""
        return self if self.matches_nothing else Selector((*self.requirements, *requirements))


SELECTS_NOTHING = Selector(matches_nothing=True)
SELECTS_EVERYTHING = Selector()


def parse_int64(text: str | None) -> int | None:
    """Go's base-10 ParseInt; None if it reports an error."""
    if text is None or not DECIMAL_INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def label_selector(raw: JsonObject | None) -> Selector:
    """A LabelSelector: matchLabels in key order, then matchExpressions; raises SelectorError."""
    if raw is None:
        return SELECTS_NOTHING
    match_labels = raw.get("matchLabels") or {}
    # Sorted, since Go's map has no order and the first invalid pair decides the error's text.
    requirements = [_checked_requirement(key, "In", (match_labels[key],)) for key in sorted(match_labels)]
    operators = (*_SET_OPERATORS, *_PRESENCE_OPERATORS)
    return Selector((*requirements, *_iter_requirements(raw.get("matchExpressions") or (), "label", operators)))


def _iter_requirements(expressions: Sequence[JsonObject], kind: str, operators: Sequence[str]) -> Iterator[Requirement]:
    """The requirements of a selector of a kind, which knows these operators; raises SelectorError."""
    for expression in expressions:
        operator = expression.get("operator", "")
        if operator not in operators:
            raise SelectorError(f"{_json_quoted(operator)} is not a valid {kind} selector operator")
        yield _checked_requirement(expression.get("key", ""), operator, tuple(expression.get("values") or ()))


def equality_selector(raw: Labels) -> Selector:
    """A plain map such as nodeSelector or a Service's selector; upstream does not validate it."""
    return Selector(tuple(Requirement(key, "In", (raw[key],)) for key in sorted(raw)))


def node_requirements(expressions: Sequence[JsonObject]) -> Selector:
    """The matchExpressions of a node selector term; raises SelectorError."""
    operators = (*_SET_OPERATORS, *_PRESENCE_OPERATORS, *_ORDER_OPERATORS)
    return Selector(tuple(_iter_requirements(expressions, "node", operators)))


def _checked_requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    _check_key(key)
    _check_values(operator, values)
    for index, value in enumerate(values):
        if len(value) > 63 or not _LABEL_VALUE.fullmatch(value):
            raise SelectorError(
                f"values[{index}][{key}]: Invalid value: {_json_quoted(value)}: a valid label is expected"
            )
    return Requirement(key, operator, values)


def _check_key(key: str) -> None:
    if not is_qualified_name(key):
        raise SelectorError(f"key: Invalid value: {_json_quoted(key)}: a qualified name is expected")


def _check_values(operator: str, values: tuple[str, ...]) -> None:
    quoted = json.dumps(list(values))
    if operator in _SET_OPERATORS and not values:
        text = "for 'in', 'notin' operators, values set can't be empty"
        raise SelectorError(f"values: Invalid value: {quoted}: {text}")
    if operator in _PRESENCE_OPERATORS and values:
        raise SelectorError(f"values: Invalid value: {quoted}: values set must be empty for exists and does not exist")
    if operator in _ORDER_OPERATORS:
        _check_order_value(values, quoted)


def _check_order_value(values: tuple[str, ...], quoted: str) -> None:
    if len(values) != 1:
        raise SelectorError(f"values: Invalid value: {quoted}: for 'Gt', 'Lt' operators, exactly one value is required")
    if parse_int64(values[0]) is None:
        text = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise SelectorError(f"values[0]: Invalid value: {_json_quoted(values[0])}: {text}")


def _json_quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
