"""Operators, functions and methods, by the types of their arguments.

Upstream: cel-go standard library and ext strings, k8s apiserver cel library (quantity, semver).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from vcdebug.gomath import MAX_INT64, MIN_INT64, div, mod
from vcdebug.kube.cel.values import NANO, CelError, Quantity, Semver
from vcdebug.kube.undecided import Undecided
from vcdebug.linear_pattern import PatternError, compile_pattern

Rule = Callable[..., object]


def equal(left: object, right: object) -> bool:
    """Whether two values are the same; values of different types are not, save numbers."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    alike = type(left) is type(right) or {type(left), type(right)} == {int, float}
    return alike and left == right


def applied(function: str, arguments: list[object]) -> object:
    """What a function gives; raises CelError and Undecided."""
    if function in ("==", "!="):
        return equal(arguments[0], arguments[1]) == (function == "==")
    if function == "in":
        return _contains(arguments[1], arguments[0])
    types = tuple(dict if isinstance(one, dict) else type(one) for one in arguments)
    rule = RULES.get((function, *types))
    if rule is None:
        raise Undecided(f"{function}({', '.join(one.__name__ for one in types)}) is not replayed")
    return rule(*arguments)


def _contains(where: object, what: object) -> bool:
    if isinstance(where, list):
        return any(equal(one, what) for one in where)
    if isinstance(where, dict):
        return type(what) is str and what in where
    raise Undecided("`in` asks a list or a map")


def _within(number: int) -> int:
    if not MIN_INT64 <= number <= MAX_INT64:
        raise CelError("integer overflow")
    return number


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    return _within(div(left, right))


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    return mod(left, right)


def _matches(text: str, pattern: str) -> bool:
    try:
        return compile_pattern(pattern)(text)
    except PatternError as error:
        raise Undecided(f"the pattern {pattern!r} is not replayed: {error}") from error


def _substring(text: str, begin: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= begin <= end <= len(text):
        raise Undecided("substring: out of range")
    return text[begin:end]


def _int_of_text(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None:
        raise Undecided(f"{text!r} is not a number that is read here")
    return int(text)


def _ascii(text: str, form: Callable[[str], str]) -> str:
    return "".join(form(one) if one.isascii() else one for one in text)


def _asked(parse: Callable[[], object]) -> bool:
    try:
        parse()
    except Undecided:
        return False
    return True


def _as_integer(amount: Quantity) -> int:
    if not amount.whole:
        raise CelError("cannot convert value to integer")
    return amount.nano // NANO  # exact: ints


def _order(left: Any, right: Any) -> int:  # Any: both of one type that has an order
    return int(left > right) - int(left < right)


def _orders(*types: type) -> dict[tuple[object, ...], Rule]:
    return {
        ("<", *types): lambda a, b: a < b,
        ("<=", *types): lambda a, b: a <= b,
        (">", *types): lambda a, b: a > b,
        (">=", *types): lambda a, b: a >= b,
    }


def _compares(kind: type) -> dict[tuple[object, ...], Rule]:
    return {
        ("compareTo", kind, kind): _order,
        ("isGreaterThan", kind, kind): lambda a, b: a > b,
        ("isLessThan", kind, kind): lambda a, b: a < b,
    }


def _sizes(*types: type) -> dict[tuple[object, ...], Rule]:
    return {("size", kind): len for kind in types}


_ARITHMETIC: Final[Mapping[tuple[object, ...], Rule]] = {
    ("+", int, int): lambda a, b: _within(a + b),
    ("-", int, int): lambda a, b: _within(a - b),
    ("*", int, int): lambda a, b: _within(a * b),
    ("/", int, int): _divided,
    ("%", int, int): _modulo,
    ("+", float, float): lambda a, b: a + b,
    ("-", float, float): lambda a, b: a - b,
    ("*", float, float): lambda a, b: a * b,
    ("negated", int): lambda a: _within(-a),
    ("negated", float): lambda a: -a,
    ("+", str, str): lambda a, b: a + b,
    ("+", list, list): lambda a, b: a + b,
    ("!", bool): lambda a: not a,
}
_TEXTS: Final[Mapping[tuple[object, ...], Rule]] = {
    ("contains", str, str): lambda text, part: part in text,
    ("startsWith", str, str): str.startswith,
    ("endsWith", str, str): str.endswith,
    ("matches", str, str): _matches,
    ("lowerAscii", str): lambda text: _ascii(text, str.lower),
    ("upperAscii", str): lambda text: _ascii(text, str.upper),
    ("trim", str): str.strip,
    ("replace", str, str, str): str.replace,
    ("split", str, str): lambda text, by: text.split(by) if by else list(text),
    ("indexOf", str, str): str.find,
    ("lastIndexOf", str, str): str.rfind,
    ("substring", str, int): _substring,
    ("substring", str, int, int): _substring,
}
_CONVERSIONS: Final[Mapping[tuple[object, ...], Rule]] = {
    ("int", int): lambda one: one,
    ("int", str): _int_of_text,
    ("double", int): float,
    ("double", float): lambda one: one,
    ("string", str): lambda one: one,
    ("string", int): str,
    ("string", bool): lambda one: "true" if one else "false",
    ("bool", bool): lambda one: one,
}
_KUBERNETES: Final[Mapping[tuple[object, ...], Rule]] = {
    ("quantity", str): Quantity.of,
    ("isQuantity", str): lambda text: _asked(lambda: Quantity.of(text)),
    ("add", Quantity, Quantity): Quantity.plus,
    ("add", Quantity, int): Quantity.plus,
    ("sub", Quantity, Quantity): lambda a, b: a.plus(b, -1),
    ("sub", Quantity, int): lambda a, b: a.plus(b, -1),
    ("sign", Quantity): lambda one: _order(one.nano, 0),
    ("isInteger", Quantity): lambda one: one.whole,
    ("asInteger", Quantity): _as_integer,
    ("semver", str): Semver.of,
    ("semver", str, bool): lambda text, normalize: Semver.of(text, normalize=normalize),
    ("isSemver", str): lambda text: _asked(lambda: Semver.of(text)),
    ("isSemver", str, bool): lambda text, normalize: _asked(lambda: Semver.of(text, normalize=normalize)),
    ("major", Semver): lambda one: one.major,
    ("minor", Semver): lambda one: one.minor,
    ("patch", Semver): lambda one: one.patch,
}
RULES: Final[Mapping[tuple[object, ...], Rule]] = {
    **_ARITHMETIC,
    **_TEXTS,
    **_CONVERSIONS,
    **_KUBERNETES,
    **_sizes(str, list, dict),
    **_orders(int, int),
    **_orders(int, float),
    **_orders(float, int),
    **_orders(float, float),
    **_orders(str, str),
    **_orders(bool, bool),
    **_compares(Quantity),
    **_compares(Semver),
}
"""Function and types of its arguments → what it does."""
