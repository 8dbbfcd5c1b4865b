"""CEL selectors of devices: results of expressions, upstream's errors, and undecidable expressions."""

import pytest

from vcdebug.kube.cel import CelError, DeclaredFields, DefaultMap, Quantity, Semver, Undecided
from vcdebug.kube.cel.interpreter import evaluate_boolean

GPU = 'device.attributes["gpu.example.com"]'
MEMORY = 'device.capacity["gpu.example.com"].memory'
OWN = {"model": "a100", "index": 2, "fast": False, "driver": Semver.from_text("1.10.1")}
DEVICE = DeclaredFields(
    driver="gpu.example.com",
    attributes=DefaultMap({"gpu.example.com": OWN, "pci.example.com": {"root": "0"}}),
    capacity=DefaultMap({"gpu.example.com": {"memory": Quantity.from_text("40Gi")}}),
)

HOLDS = [
    'device.driver == "gpu.example.com" && true',
    f'{GPU}.model in ["h100", "a100"] // either',
    f'"model" in {GPU} && !("size" in {GPU})',
    f"has({GPU}.model) && !has({GPU}.size)",
    'device.attributes["other.example.com"] == {} && !("other.example.com" in device.attributes)',
    f'{MEMORY}.compareTo(quantity("10Gi")) >= 0 && {MEMORY}.isLessThan(quantity("41Gi"))',
    f'{MEMORY} == quantity("40960Mi") && {MEMORY}.sub(quantity("8Gi")) == quantity("32Gi")',
    f"{MEMORY}.isInteger() && {MEMORY}.asInteger() == 42949672960 && {MEMORY}.sign() == 1",
    f'{GPU}.driver.isGreaterThan(semver("1.9.0")) && {GPU}.driver.major() == 1',
    'semver("1.0.0-rc.1").isLessThan(semver("1.0.0")) && semver("1.0.0-rc.2").compareTo(semver("1.0.0-rc.10")) == -1',
    'semver("v1.2", true) == semver("1.2.0+build") && !isSemver("01.2.3") && isSemver("1.02", true)',
    f"cel.bind(own, {GPU}, own.index >= 2 && !own.fast)",
    f"{GPU}.index % 2 == 0 && -{GPU}.index + 1 == -1 && 7 / 2 == 3 && -7 % 3 == -1",
    f'{GPU}.fast ? false : {GPU}.model.startsWith("a")',
    f'{GPU}.size == 1 || {GPU}.model == "a100"',
    f'!({GPU}.size == 1 && {GPU}.model == "h100")',
    '["x", "y"].exists(one, one == "y") && ["x", "y"].all(one, size(one) == 1) && ["x"].exists_one(one, true)',
    '["x", "yy"].filter(one, one.size() == 2) == ["yy"] && ["x"].map(one, one + "!") == ["x!"]',
    f'{GPU}.exists(name, name == "index")',
    f'{GPU}.model.matches("(?i)^[AH]1?0{{2}}(-[^a-c])?$")',
    f'{GPU}.model.matches("^[ah]1?00$") && {GPU}.model.upperAscii().contains("A1")',
    "'a'.matches('[[:alpha:]]') && 'a{,3}'.matches('^a{,3}$') && ','.matches('[+--]')",
    f"!'{'a' * 60}'.matches('^(a+)+b$')",
    '"a.b".split(".") == ["a", "b"] && "abc".substring(1, 2) == "b" && "abc".indexOf("c") == 2',
    r""" 'it\'s \x41\u0042' == "it's AB" && r'\d' == "\\d" """,
    "1 == 1.0 && 2 > 1.5 && 0x10 == 16 && 1e3 == 1000.0 && true != null",
    f'{GPU}.model != 100 && {GPU}.fast != 0 && [1, "1"] != ["1", 1]',
    'string(5) == "5" && int("7") == 7 && double(2) == 2.0',
    " || ".join([f"{GPU}.index == {number}" for number in range(3, 900)] + [f"{GPU}.index == 2"]),
    " && ".join(f"{GPU}.index != {number}" for number in range(3, 900)),
    f"{GPU}.size == 1 || {GPU}.index == 3 || {GPU}.index == 2",
    f"{GPU}.index == 3 && {GPU}.fast || {GPU}.index == 2 && !{GPU}.fast",
]
FAILS = {
    f"{GPU}.size == 1": "no such key: size",
    'device.attributes["other.example.com"].x == 1': "no such key: x",
    'device.capacity["gpu.example.com"].cores.isInteger()': "no such key: cores",
    f'{GPU}.model.length == "x"': "no such key: length",
    f"{GPU}.size == 1 || {GPU}.size == 2": "no such key: size",
    '["x"].exists(one, device.attributes["o"].y == one)': "no such key: y",
    f"1 / ({GPU}.index - 2) == 1": "division by zero",
    "9223372036854775807 + 1 > 0": "integer overflow",
}
UNDECIDED = [
    "device.driver",
    "device.model == 1",
    "driver == 'x'",
    "1u == 1u",
    f"{GPU}.?model.orValue('x') == 'x'",
    f"{GPU}.model > 3",
    f"{MEMORY} > 3",
    "quantity('many') == quantity('1')",
    r"'a'.matches('(a)\\1')",
    "'a'.matches('a++')",
    "'a'.matches('a{2000}')",
    "(" * 3000 + "true" + ")" * 3000,
    "1 + " * 3000 + "1 == 3001",
    "[1, 2].sum() == 3",
    "device.driver == 'x",
    "1 +",
    "has(device)",
    "9223372036854775808 > 0",
    "device.driver == 'x')",
]


@pytest.mark.parametrize("expression", HOLDS)
def test_cel_expression_is_true(expression: str) -> None:
    assert evaluate_boolean(expression, {"device": DEVICE})


@pytest.mark.parametrize("expression", HOLDS)
def test_negated_cel_expression_is_false(expression: str) -> None:
    assert not evaluate_boolean(f"!({expression.partition('//')[0]})", {"device": DEVICE})


@pytest.mark.parametrize(("expression", "text"), FAILS.items())
def test_an_expression_that_fails_where_it_runs(expression: str, text: str) -> None:
    with pytest.raises(CelError, match=text):
        evaluate_boolean(expression, {"device": DEVICE})


@pytest.mark.parametrize("expression", UNDECIDED)
def test_unsupported_expressions_are_undecided(expression: str) -> None:
    with pytest.raises(Undecided):
        evaluate_boolean(expression, {"device": DEVICE})
