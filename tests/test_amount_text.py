"""Amounts, numbers, counts and durations, as every screen and text formats them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcdebug.amount_text import (
    count_noun,
    format_age,
    format_amount,
    format_amounts_apart,
    format_distinct_durations,
    format_duration,
    format_number,
    format_numbers_apart,
    format_percent,
    format_unit_amount,
    verb_for,
)

GPU, EPHEMERAL, VOLUMES = "nvidia.com/gpu", "ephemeral-storage", "attachable-volumes-csi-ebs.csi.aws.com"
NAMES = ("cpu", "memory", "pods", GPU, EPHEMERAL, "hugepages-2Mi", VOLUMES)
AMOUNTS = st.floats(0.1, 1e15) | st.integers(1, 1 << 50).map(float)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("cpu", 4000.0, "4"),
        ("cpu", 12250.0, "12.2"),
        ("cpu", 1234567.0, "1235"),
        ("cpu", 100.0, "0.1"),
        ("cpu", 50.0, "50m"),
        ("cpu", -50.0, "-50m"),
        ("cpu", 1e-13, "0"),
        ("cpu", 1.7976931348623157e308, "unlimited"),
        ("cpu", -1.7976931348623157e308, "-unlimited"),
        (GPU, 9223372036854775807.0, "unlimited"),
        ("memory", 1e9, "954Mi"),
        ("memory", 512.0, "512B"),
        ("memory", 0.0, "0"),
        ("memory", 1024 * 1024 * 1023.9, "1Gi"),
        (EPHEMERAL, 200.0 * (1 << 30) * 1000, "200Gi"),
        ("hugepages-2Mi", 64.0 * (1 << 20) * 1000, "64Mi"),
        (GPU, 7000.0, "7"),
        (GPU, 2666.67, "2.67"),
        ("pods", 110.0, "110"),
        (VOLUMES, 39.0, "39"),
    ],
)
def test_an_amount_has_the_unit_of_its_resource(name: str, value: float, text: str) -> None:
    assert text == format_amount(name, value)


@pytest.mark.parametrize(
    ("name", "units", "text"),
    [
        ("requests.storage", float(5 << 40), "5Ti"),
        ("limits.memory", float(8 << 30), "8Gi"),
        ("gold.storageclass.storage.k8s.io/requests.storage", float(5 << 40), "5Ti"),
        ("requests.cpu", 1.5, "1.5"),
        ("requests.nvidia.com/gpu", 4.0, "4"),
        ("count/pods", 12.0, "12"),
        ("pods", 12.0, "12"),
    ],
)
def test_an_amount_of_a_quota_has_the_unit_of_its_resource(name: str, units: float, text: str) -> None:
    assert text == format_unit_amount(name, units)


def test_amounts_that_are_compared_have_the_digits_that_tell_them_apart() -> None:
    assert ("64Gi", "63.999999999Gi") == format_amounts_apart("memory", float(1 << 36), float((1 << 36) - 1))
    assert ("12.25", "12.2") == format_amounts_apart("cpu", 12250.0, 12200.0)
    assert ("12.2", "8") == format_amounts_apart("cpu", 12250.0, 8000.0)
    assert ("0.3", "0.3") == format_amounts_apart("cpu", 300.0, 100.0 * 3.0000000000000004)
    assert ("0.1234", "0.1235") == format_numbers_apart(0.1234, 0.1235)


def test_cores_that_are_compared_have_one_unit_below_a_core() -> None:
    assert ("90m", "100m", "0") == format_amounts_apart("cpu", 90.0, 100.0, 0.0)
    assert ("0.1", "0.5") == format_amounts_apart("cpu", 100.0, 500.0)
    assert ("90m", "8") == format_amounts_apart("cpu", 90.0, 8000.0)
    assert "100m" == format_unit_amount("limits.cpu", 0.1, 0.09)


@given(st.sampled_from(NAMES), AMOUNTS, AMOUNTS)
def test_amounts_that_the_scheduler_tells_apart_never_look_alike(name: str, left: float, right: float) -> None:
    one, other = format_amounts_apart(name, left, right)
    # Beyond twelve digits, a float carries only the rounding error of a sum.
    assert one != other or abs(left - right) <= max(1e-11 * max(left, right), 1e-6)


@given(st.sampled_from(NAMES), AMOUNTS)
def test_an_amount_is_short_and_true_to_half_a_percent(name: str, value: float) -> None:
    text = format_amount(name, value)
    factors = {
        "m": 1e-3,
        "B": 1.0,
        **{unit: 1024.0**place for place, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
    }
    unit = next((unit for unit in factors if text.endswith(unit)), "")
    read_back = float(text.removesuffix(unit)) * factors.get(unit, 1.0)
    meant = value if name in ("memory", "pods", VOLUMES) else value / 1000
    assert pytest.approx(meant, rel=5.1e-3) == read_back
    assert "e" not in text
    assert "." not in text or not text.removesuffix(unit).endswith("0")


@given(st.sampled_from((GPU, "pods", VOLUMES)), st.integers(0, 10**6))
def test_counts_are_whole_numbers(name: str, count: int) -> None:
    assert str(count) == format_amount(name, count * 1000.0 if name == GPU else float(count))


def test_numbers_without_a_unit_have_three_decimals_and_never_an_exponent() -> None:
    values = (0.91666, 150.1254, 0.000417, 1e20, float("inf"), 0.0, -2.5)
    texts = ["0.917", "150.125", "0.000417", "100000000000000000000", "unlimited", "0", "-2.5"]
    assert texts == [format_number(value) for value in values]


def test_a_count_has_its_noun_in_the_right_form() -> None:
    texts = [
        count_noun(1, "node"),
        count_noun(0, "node"),
        count_noun(1906, "event"),
        count_noun(2, "watch"),
        count_noun(2, "class"),
    ]
    assert ["1 node", "0 nodes", "1 906 events", "2 watches", "2 classes"] == texts


def test_a_share_of_nothing_is_no_percent() -> None:
    assert ["33 %", "100 %", "0 %"] == [format_percent(1, 3), format_percent(2, 2), format_percent(0, 0)]


def test_ages_have_at_least_two_of_their_unit_and_spans_two_units() -> None:
    assert ["45s", "100s", "2m", "47h", "2d", "0s"] == [
        format_age(each) for each in (45, 100, 120, 170_000, 172_800, 0.4)
    ]
    texts = [format_duration(each) for each in (97_200, 7_800, 45, 0, 0.25, -90, 3_661)]
    assert ["1d3h", "2h10m", "45s", "0s", "250ms", "-1m30s", "1h1m"] == texts
    assert ("1h1m1s", "1h1m2s") == format_distinct_durations(3_661, 3_662)


@pytest.mark.parametrize(
    ("count", "verb", "words"),
    [
        (1, "is", "is"),
        (2, "is", "are"),
        (0, "has", "have"),
        (3, "was", "were"),
        (2, "asks", "ask"),
        (1, "asks", "asks"),
    ],
)
def test_a_verb_agrees_with_a_number_of_things(count: int, verb: str, words: str) -> None:
    assert words == verb_for(count, verb)
