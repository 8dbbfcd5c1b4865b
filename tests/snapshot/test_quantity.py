"""Quantities are read with the API server's rounding, forms and overflow."""

import pytest

from vcdebug.snapshot.quantity import QuantityError, go_struct_text, milli_value, overflows_int64, whole_value

VALUES = [
    ("0", 0),
    ("2", 2),
    (2, 2),
    (None, 0),
    ("1500m", 2),
    ("-1500m", -2),
    ("0.1Ki", 103),
    ("1Gi", 2**30),
    ("1.5Gi", 3 * 2**29),
    ("100M", 100_000_000),
    ("100k", 100_000),
    ("1E", 10**18),
    ("1E3", 1000),
    ("1e3", 1000),
    ("1e-3", 1),
    (1e16, 10**16),
    (0.5, 1),
    ("+5", 5),
    (".5", 1),
    ("3.", 3),
    ("007", 7),
    ("1n", 1),
    ("0n", 0),
    ("10Ei", 2**63 - 1),
    ("8Ei", 2**63 - 1),
    ("9223372036854775807", 2**63 - 1),
    ("9223372036854775808", -(2**63)),
    ("18446744073709551617", 1),
    ("1e30", 0),
    ("1e99999999", 0),
    ("1234567890123456789e99999999", 0),
    ("0.00000000000000000001", 1),
    ("1e-99999999", 1),
    (" 4 ", 4),
    ("Gi", 0),
    ("-Ki", 0),
    ("m", 0),
    ("e3", 0),
    (".", 0),
    ("+", 0),
    ("0Pi", 0),
    ("00Ei", 0),
]

MILLI_VALUES = [
    ("1", 1000),
    ("100u", 1),
    ("1n", 1),
    ("1.0005", 1001),
    ("-1500u", -2),
    ("250m", 250),
    ("0.1", 100),
    (0.1, 100),
    ("33182284256E6", -3711203891419103232),
    ("10P", 0),
    ("9Pi", -8313644912125935616),
    ("8Pi", 8 * 2**50 * 1000),
    ("10Ei", -1000),
    ("1e15", 10**18),
    ("0.0001", 1),
]

NOT_QUANTITIES = [
    "",
    " ",
    "K",
    "1K",
    "1 1",
    "abc",
    "1.1.M",
    "1+1.0M",
    "0.1mi",
    "1i",
    "-3.01e-",
    "0x10",
    "1_000",
    "٣",
    "1e",
    "NaN",
    "Pi",
    "Ei",
    "+Pi",
    ".Ei",
    "e-10",
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_value_is_whole_units_rounded_away_from_zero(text: object, expected: int) -> None:
    assert expected == whole_value(text)


@pytest.mark.parametrize(("text", "expected"), MILLI_VALUES)
def test_milli_value_is_thousandths_rounded_away_from_zero(text: object, expected: int) -> None:
    assert expected == milli_value(text)


@pytest.mark.parametrize("text", [*NOT_QUANTITIES, True, [], {}, float("inf"), float("nan")])
def test_invalid_quantity_is_refused(text: object) -> None:
    with pytest.raises(QuantityError):
        whole_value(text)


@pytest.mark.parametrize(
    ("text", "power", "expected"),
    [("10P", 3, True), ("10P", 0, False), ("8Ei", 0, True), ("1Gi", 3, False), ("-10E", 3, False), ("1e400", 0, True)],
)
def test_an_amount_beyond_int64_overflows(text: str, power: int, expected: bool) -> None:
    assert expected == overflows_int64(text, power)


def test_a_very_long_number_is_refused() -> None:
    assert 1 == whole_value("0." + "0" * 900 + "1")
    with pytest.raises(QuantityError):
        whole_value("9" * 5000)


@pytest.mark.parametrize(
    ("text", "cached"),
    [
        ("3", "3"),
        ("3000m", ""),
        ("500m", "500m"),
        ("0", "0"),
        ("0.5", ""),
        ("1.5", ""),
        ("10Gi", "10Gi"),
        ("8Gi", ""),
        ("2k", "2k"),
    ],
)
def test_go_keeps_the_text_of_a_quantity_in_its_canonical_form(text: str, cached: str) -> None:
    assert cached == go_struct_text(text).split("<nil>} ")[1].rpartition(" ")[0]
