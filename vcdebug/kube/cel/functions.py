"""The functions and operators of CEL, chosen by the types of their arguments, and access to lists and maps.

Upstream: cel-go interpreter, standard library and ext strings, k8s apiserver cel library (quantity, semver).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from vcdebug.gomath import MAX_INT64, MIN_INT64, int_div, int_mod
from vcdebug.kube.cel import CelError, DeclaredFields, DefaultMap, Quantity, Semver, Undecided
from vcdebug.linear_pattern import PatternError, compile_pattern
from vcdebug.snapshot.quantity import NANO_PER_UNIT

CelRule = Callable[..., object]


def are_equal(left: object, right: object) -> bool:
    """Whether two values are equal; values of different types are not, except numbers."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(are_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(are_equal, left, right))
    # CEL's == is false between types; Python's would find True == 1.
    alike = type(left) is type(right) or {type(left), type(right)} == {int, float}
    return alike and left == right


def apply_function(function: str, arguments: list[object]) -> object:
    """The result of a function or operator; raises CelError, and Undecided for one that is not replayed."""
    if function in ("==", "!="):
        return are_equal(arguments[0], arguments[1]) == (function == "==")
    if function == "in":
        return _contains_value(arguments[1], arguments[0])
    # Exact types, since Python's bool is an int, and CEL has no conversions between them.
    types = tuple(dict if isinstance(argument, dict) else type(argument) for argument in arguments)
    rule = RULES.get((function, *types))
    if rule is None:
        raise Undecided(f"{function}({', '.join(kind.__name__ for kind in types)}) is not replayed")
    return rule(*arguments)


def _contains_value(container: object, value: object) -> bool:
    if isinstance(container, list):
        return any(are_equal(item, value) for item in container)
    if isinstance(container, dict):
        return type(value) is str and value in container
    raise Undecided("`in` asks a list or a map")


def _check_overflow(number: int) -> int:
    if not MIN_INT64 <= number <= MAX_INT64:
        raise CelError("integer overflow")
    return number


def _divide_ints(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    return _check_overflow(int_div(left, right))


def _modulo_ints(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    return int_mod(left, right)


def _matches_pattern(text: str, pattern: str) -> bool:
    try:
        return compile_pattern(pattern)(text)
    except PatternError as error:
        raise Undecided(f"the pattern {pattern!r} is not replayed: {error}") from error


def _substring_of(text: str, begin: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= begin <= end <= len(text):
        raise Undecided("substring: out of range")
    return text[begin:end]


def _int_of_text(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None:
        raise Undecided(f"{text!r} is not a number that is read here")
    return int(text)


def _convert_ascii(text: str, form: Callable[[str], str]) -> str:
    return "".join(form(character) if character.isascii() else character for character in text)


def _can_parse(parse: Callable[[], object]) -> bool:
    try:
        parse()
    except Undecided:
        return False
    return True


def _as_integer(amount: Quantity) -> int:
    if not amount.is_whole:
        raise CelError("cannot convert value to integer")
    return amount.nano // NANO_PER_UNIT  # exact: ints


def _compare_values(left: Any, right: Any) -> int:  # Any: both of one type that has an order
    return int(left > right) - int(left < right)


def _order_rules(*types: type) -> dict[tuple[object, ...], CelRule]:
    return {
        ("<", *types): lambda a, b: a < b,
        ("<=", *types): lambda a, b: a <= b,
        (">", *types): lambda a, b: a > b,
        (">=", *types): lambda a, b: a >= b,
    }


def _compare_rules(kind: type) -> dict[tuple[object, ...], CelRule]:
    return {
        ("compareTo", kind, kind): _compare_values,
        ("isGreaterThan", kind, kind): lambda a, b: a > b,
        ("isLessThan", kind, kind): lambda a, b: a < b,
    }


_ARITHMETIC: Final[Mapping[tuple[object, ...], CelRule]] = {
    ("+", int, int): lambda a, b: _check_overflow(a + b),
    ("-", int, int): lambda a, b: _check_overflow(a - b),
    ("*", int, int): lambda a, b: _check_overflow(a * b),
    ("/", int, int): _divide_ints,
    ("%", int, int): _modulo_ints,
    ("+", float, float): lambda a, b: a + b,
    ("-", float, float): lambda a, b: a - b,
    ("*", float, float): lambda a, b: a * b,
    ("negated", int): lambda a: _check_overflow(-a),
    ("negated", float): lambda a: -a,
    ("+", str, str): lambda a, b: a + b,
    ("+", list, list): lambda a, b: a + b,
    ("!", bool): lambda a: not a,
}
_TEXTS: Final[Mapping[tuple[object, ...], CelRule]] = {
    ("contains", str, str): lambda text, part: part in text,
    ("startsWith", str, str): str.startswith,
    ("endsWith", str, str): str.endswith,
    ("matches", str, str): _matches_pattern,
    ("lowerAscii", str): lambda text: _convert_ascii(text, str.lower),
    ("upperAscii", str): lambda text: _convert_ascii(text, str.upper),
    ("trim", str): str.strip,
    ("replace", str, str, str): str.replace,
    ("split", str, str): lambda text, by: text.split(by) if by else list(text),
    ("indexOf", str, str): str.find,
    ("lastIndexOf", str, str): str.rfind,
    ("substring", str, int): _substring_of,
    ("substring", str, int, int): _substring_of,
}
_CONVERSIONS: Final[Mapping[tuple[object, ...], CelRule]] = {
    ("int", int): lambda one: one,
    ("int", str): _int_of_text,
    ("double", int): float,
    ("double", float): lambda one: one,
    ("string", str): lambda one: one,
    ("string", int): str,
    ("string", bool): lambda one: "true" if one else "false",
    ("bool", bool): lambda one: one,
}
_KUBERNETES: Final[Mapping[tuple[object, ...], CelRule]] = {
    ("quantity", str): Quantity.from_text,
    ("isQuantity", str): lambda text: _can_parse(lambda: Quantity.from_text(text)),
    ("add", Quantity, Quantity): Quantity.add_signed,
    ("add", Quantity, int): Quantity.add_signed,
    ("sub", Quantity, Quantity): lambda a, b: a.add_signed(b, -1),
    ("sub", Quantity, int): lambda a, b: a.add_signed(b, -1),
    ("sign", Quantity): lambda one: _compare_values(one.nano, 0),
    ("isInteger", Quantity): lambda one: one.is_whole,
    ("asInteger", Quantity): _as_integer,
    ("semver", str): Semver.from_text,
    ("semver", str, bool): lambda text, normalize: Semver.from_text(text, normalize=normalize),
    ("isSemver", str): lambda text: _can_parse(lambda: Semver.from_text(text)),
    ("isSemver", str, bool): lambda text, normalize: _can_parse(lambda: Semver.from_text(text, normalize=normalize)),
    ("major", Semver): lambda one: one.major,
    ("minor", Semver): lambda one: one.minor,
    ("patch", Semver): lambda one: one.patch,
}
RULES: Final[Mapping[tuple[object, ...], CelRule]] = {
    **_ARITHMETIC,
    **_TEXTS,
    **_CONVERSIONS,
    **_KUBERNETES,
    **{("size", kind): len for kind in (str, list, dict)},
    **_order_rules(int, int),
    **_order_rules(int, float),
    **_order_rules(float, int),
    **_order_rules(float, float),
    **_order_rules(str, str),
    **_order_rules(bool, bool),
    **_compare_rules(Quantity),
    **_compare_rules(Semver),
}
"""(function, types of its arguments) → implementation."""


def has_member(owner: object, name: str) -> bool:
    """Whether a map or object has a field; raises Undecided for a field that an object does not declare."""
    if isinstance(owner, DeclaredFields) and name not in owner:
        raise Undecided(f"there is no field {name}")
    return isinstance(owner, DefaultMap) or (isinstance(owner, dict) and name in owner)


def get_element(container: object, key: object) -> object:
    """An element of a list or map; raises CelError for a missing key, Undecided if the access does not compile."""
    if isinstance(container, list):
        if type(key) is not int or not 0 <= key < len(container):
            raise Undecided("the list has no such element")
        return container[key]
    if type(key) is not str:
        raise Undecided("keys of maps are texts here")
    if isinstance(container, dict) and key in container:
        return container[key]
    if isinstance(container, DeclaredFields):
        raise Undecided(f"there is no field {key}")
    if isinstance(container, DefaultMap):
        return {}
    raise CelError(f"no such key: {key}")
