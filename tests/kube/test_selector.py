"""Label selectors and node selector requirements."""

from typing import Any

import pytest

from vcdebug.kube.node_affinity import names_conflict, preferred_node_terms, required_node_affinity
from vcdebug.kube.selector import SELECTS_NOTHING, SelectorError, equality_selector, label_selector, node_requirements

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def expression(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def test_a_missing_selector_matches_nothing_and_an_empty_one_everything() -> None:
    assert (False, False) == (SELECTS_NOTHING.matches_labels({}), SELECTS_NOTHING.is_empty)
    assert label_selector(None) is SELECTS_NOTHING
    assert (True, True) == (label_selector({}).matches_labels({"a": "b"}), label_selector({}).is_empty)


@pytest.mark.parametrize(
    ("operator", "values", "matching", "failing"),
    [
        ("In", ("x", "y"), {"a": "y"}, {}),
        ("NotIn", ("x",), {}, {"a": "x"}),
        ("Exists", (), {"a": ""}, {"b": ""}),
        ("DoesNotExist", (), {"b": ""}, {"a": ""}),
    ],
)
def test_set_based_conditions(
    operator: str, values: tuple[str, ...], matching: dict[str, str], failing: dict[str, str]
) -> None:
    selector = label_selector({"matchExpressions": [expression(operator, *values)]})
    assert (True, False) == (selector.matches_labels(matching), selector.matches_labels(failing))


@pytest.mark.parametrize(
    ("operator", "bound", "label", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "-7", True),
        ("Gt", "5", "6.5", False),
        ("Gt", "5", "9223372036854775808", False),
        ("Gt", "5", None, False),
    ],
)
def test_node_conditions_compare_integers(operator: str, bound: str, label: str | None, *, expected: bool) -> None:
    selector = node_requirements([expression(operator, bound)])
    assert expected == selector.matches_labels({} if label is None else {"a": label})


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (expression("Near", "x"), '"Near" is not a valid label selector operator'),
        (expression("Gt", "1"), '"Gt" is not a valid label selector operator'),
        (expression("In"), "values set can't be empty"),
        (expression("Exists", "x"), "values set must be empty"),
        (expression("In", "x", key="a b"), "key: Invalid value"),
        (expression("In", "x", key="Bad_Prefix/a"), "key: Invalid value"),
        (expression("In", "-x"), r"values\[0\]\[a\]: Invalid value"),
        (expression("In", "x" * 64), r"values\[0\]\[a\]: Invalid value"),
    ],
)
def test_selectors_that_upstream_rejects_are_rejected(raw: dict[str, Any], text: str) -> None:
    with pytest.raises(SelectorError, match=text):
        label_selector({"matchExpressions": [raw]})


@pytest.mark.parametrize("values", [(), ("1", "2"), ("x",)])
def test_an_order_condition_needs_exactly_one_integer(values: tuple[str, ...]) -> None:
    with pytest.raises(SelectorError):
        node_requirements([expression("Gt", *values)])


def test_a_plain_map_is_taken_as_it_is() -> None:
    assert equality_selector({"not valid!": "-"}).matches_labels({"not valid!": "-"})


def spec(*terms: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}, **more}


def test_one_matching_term_is_enough_and_broken_or_empty_ones_never_match() -> None:
    good = {"matchExpressions": [expression("In", "x")]}
    broken = {"matchExpressions": [expression("Near", "x")]}
    assert required_node_affinity(spec({}, broken, good)).matches_group({"a": "x"}, "n")
    assert not required_node_affinity(spec({}, broken)).matches_group({"a": "x"}, "n")
    assert not required_node_affinity(spec()).matches_group({"a": "x"}, "n")
    assert not required_node_affinity(spec(good, nodeSelector={"b": "c"})).matches_group({"a": "x"}, "n")


def fields(operator: str, *values: str, key: str = "metadata.name") -> dict[str, Any]:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


def test_fields_know_only_the_name_and_take_one_value() -> None:
    assert required_node_affinity(spec(fields("In", "n"))).matches_group({}, "n")
    assert required_node_affinity(spec(fields("NotIn", "m"))).matches_group({}, "n")
    assert not required_node_affinity(spec(fields("In", "n", "m"))).matches_group({}, "n")
    assert not required_node_affinity(spec(fields("Exists"))).matches_group({}, "n")
    assert not required_node_affinity(spec(fields("In", "n", key="metadata.uid"))).matches_group({}, "n")


def test_names_conflict_only_when_every_term_restricts_the_name_to_nothing() -> None:
    nowhere = {"matchFields": [*fields("In", "a")["matchFields"], *fields("In", "b")["matchFields"]]}
    assert names_conflict(spec(nowhere))
    assert names_conflict(spec(nowhere, nowhere))
    assert not names_conflict(spec(nowhere, fields("In", "a")))
    assert not names_conflict(spec(nowhere, {"matchExpressions": [expression("Exists")]}))
    assert not names_conflict({})


def test_preferences_of_weight_zero_and_empty_ones_are_not_even_parsed() -> None:
    broken = {"matchExpressions": [expression("Near", "x")]}
    stated = [{"weight": 0, "preference": broken}, {"weight": 5, "preference": {}}]
    assert () == preferred_node_terms({"affinity": {"nodeAffinity": {PREFERRED: stated}}})
    assert preferred_node_terms({"affinity": {"nodeAffinity": {}}}) is None
    with pytest.raises(SelectorError):
        preferred_node_terms({"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": broken}]}}})
