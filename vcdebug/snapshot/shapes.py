"""Shapes: the types of a manifest's values, with a fast check, a repair, a slim copy and a renaming for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from marshal import dumps
from typing import Any, Final, Protocol

from vcdebug.snapshot.quantity import QuantityError, has_digits, milli_value, overflows_int64, whole_value

Complain = Callable[[str, str, str], None]
"""Called with the field's path, the fault, and its effect."""

REMOVED_EFFECT = "value ignored"
KEPT_EFFECT = "read as the scheduler reads it"

INT32 = (-(1 << 31), (1 << 31) - 1)
INT64 = (-(1 << 63), (1 << 63) - 1)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_WHOLE_UNITS = ("memory", "pods", "storage", "requests.memory", "limits.memory")


_AMOUNT = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?[numkKMGTPE]?i?", re.ASCII)

FieldPath = tuple[str, ...]
"""Names of the fields that lead to a value; elements of a list have the list's path."""


class TextRenamer(Protocol):
    """Replaces texts, for redaction."""

    def rename_text(self, text: str, path: FieldPath) -> str | None:
        """The replacement of a field's text; None drops the field."""

    def rename_key(self, text: str, path: FieldPath) -> str:
        """The replacement of a key in a mapping with free keys."""

    def drops_key(self, field: str, path: FieldPath) -> bool:
        """Whether a key of a mapping with free keys is dropped."""

    def move_time(self, text: str) -> str:
        """The replacement of a time."""

    def note_dropped(self, path: FieldPath, field: str) -> None:
        """Called for each field that the schema does not name."""


class MisfitError(Exception):
    """Raised if a value does not have the type of its shape."""


_WITHOUT_REFERENCES: Final = 2
"""marshal format 2: later ones encode references, so that equal values may have different bytes."""
MAX_PARTS: Final = 1 << 14
"""Maximum number of cached parts per shape."""


class ObjectIntake:
    """Shares equal texts, and equal lists and mappings, between objects: thousands of pods fit in little memory."""

    __slots__ = ("_parts", "share_text", "repaired")

    def __init__(self, *, repaired: bool = False) -> None:
        texts: dict[Any, Any] = {}
        self.share_text = texts.setdefault
        """once(text, text) returns the first equal text; the bound setdefault saves a call per text."""
        self._parts: dict[Shape, dict[bytes, Any]] = {}
        self.repaired = repaired
        """Whether invalid amounts are accepted, because a Problem already reports them."""

    def of_repaired(self) -> ObjectIntake:
        """An intake for repaired objects that shares the texts of this one."""
        other = ObjectIntake(repaired=True)
        other.share_text = self.share_text
        return other

    def share_part(self, item: Any, shape: Shape, slim: Callable[[Any, ObjectIntake], Any]) -> Any:
        """The shared slim copy of a part; raises MisfitError for a wrong type."""
        parts = self._parts_of(shape)
        try:
            key = dumps(item, _WITHOUT_REFERENCES)
        except ValueError:
            raise MisfitError from None
        part = parts.get(key)
        if part is None:
            part = parts[key] = self.intern_part(slim(item, self), shape)
        return part

    def intern_part(self, part: Any, shape: Shape) -> Any:
        """The shared object that equals a slim part, also if the original parts differ in dropped fields."""
        return self._parts_of(shape).setdefault(dumps(part, _WITHOUT_REFERENCES), part)

    def _parts_of(self, shape: Shape) -> dict[bytes, Any]:
        parts = self._parts.get(shape)
        if parts is None:
            parts = self._parts[shape] = {}
        # Cleared as a whole: parts come in runs of one template, so that a finer eviction gains nothing.
        if len(parts) > MAX_PARTS:
            parts.clear()
        return parts


class _Drop:
    """The type of DROP, which marks a removed value."""


DROP = _Drop()


class Shape(Protocol):
    """The type of a value."""

    def repair_value(self, item: Any, path: str, complain: Complain) -> Any:
        """A copy without values of a wrong type, or DROP; calls `complain` for each."""

    def keep_named(self, item: Any) -> Any:
        """A copy with only the fields that the shape names."""

    def slim_value(self, item: Any, intake: ObjectIntake) -> Any:
        """Same as keep_named, with shared texts and parts; raises MisfitError for a wrong type."""

    def rename_texts(self, item: Any, path: FieldPath, names: TextRenamer) -> Any:
        """Same as keep_named, with replaced texts; returns DROP for a wrong type."""


class Scalar:
    """A value without parts."""

    __slots__ = ("_article", "_zero", "accepts")

    def __init__(self, article: str, test: Callable[[Any], bool], zero: Any) -> None:
        self._article = article
        self.accepts = test
        """Whether a value has the type."""
        self._zero = zero

    def repair_value(self, item: Any, path: str, complain: Complain) -> Any:
        if self.accepts(item):
            return item
        if item is None:
            return self._zero
        # Some tools write whole numbers as floats: 3.0 is accepted without a Problem.
        if type(item) is float and item.is_integer() and self.accepts(int(item)):
            return int(item)
        complain(path, f"is {describe_value(item)}, not {self._article}", REMOVED_EFFECT)
        return DROP

    def keep_named(self, item: Any) -> Any:
        return item

    def slim_value(self, item: Any, intake: ObjectIntake) -> Any:
        if not self.accepts(item) and not (intake.repaired and self is QUANTITY):
            raise MisfitError
        return intake.share_text(item, item) if type(item) is str else item

    def rename_texts(self, item: Any, path: FieldPath, names: TextRenamer) -> Any:
        if not self.accepts(item):
            return None if item is None else DROP
        if type(item) is not str or self is QUANTITY:
            return item
        if self is TIME:
            return names.move_time(item)
        renamed = names.rename_text(item, path)
        return DROP if renamed is None else renamed


class QuantityMap:
    """A resource list: names to quantities."""

    __slots__ = ()

    def repair_value(self, item: Any, path: str, complain: Complain) -> Any:
        if type(item) is not dict:
            complain(path, f"is {describe_value(item)}, not resources with their quantities", REMOVED_EFFECT)
            return DROP
        valid = {}
        for name, amount in item.items():
            fault, effect = _quantity_fault(name, amount)
            if fault:
                complain(f"{path}.{name}", fault, effect)
            if effect != REMOVED_EFFECT:
                valid[name] = amount
        return valid

    def keep_named(self, item: Any) -> Any:
        return item

    def slim_value(self, item: Any, intake: ObjectIntake) -> Any:
        if type(item) is not dict:
            raise MisfitError
        return intake.share_part(item, self, self._slim_amounts)

    def _slim_amounts(self, item: dict[Any, Any], intake: ObjectIntake) -> dict[Any, Any]:
        share_text = intake.share_text
        amounts: dict[Any, Any] = {}
        for name, amount in item.items():
            if not _is_valid_amount(name, amount) and not intake.repaired:
                raise MisfitError
            amounts[share_text(name, name)] = share_text(amount, amount) if type(amount) is str else amount
        return amounts

    def rename_texts(self, item: Any, path: FieldPath, names: TextRenamer) -> Any:
        if type(item) is not dict:
            return DROP
        amounts = {name: amount for name, amount in item.items() if _is_amount(amount)}
        return {names.rename_key(str(name), path): amount for name, amount in amounts.items()}


class ListOf:
    """A list whose elements have one shape."""

    __slots__ = ("item",)

    def __init__(self, item: Shape) -> None:
        self.item = item

    def repair_value(self, item: Any, path: str, complain: Complain) -> Any:
        if type(item) is not list:
            complain(path, f"is {describe_value(item)}, not a list", REMOVED_EFFECT)
            return DROP
        repaired = [self.item.repair_value(element, f"{path}[{i}]", complain) for i, element in enumerate(item)]
        return [element for element in repaired if element is not DROP]

    def keep_named(self, item: Any) -> Any:
        return [self.item.keep_named(element) for element in item] if type(item) is list else []

    def slim_value(self, item: Any, intake: ObjectIntake) -> Any:
        if type(item) is not list:
            raise MisfitError
        return intake.share_part(item, self, self._slim_elements)

    def _slim_elements(self, item: list[Any], intake: ObjectIntake) -> list[Any]:
        slim = self.item.slim_value
        return [slim(element, intake) for element in item]

    def rename_texts(self, item: Any, path: FieldPath, names: TextRenamer) -> Any:
        if type(item) is not list:
            return DROP
        renamed = [self.item.rename_texts(element, path, names) for element in item]
        return [element for element in renamed if element is not DROP]


class MapOf:
    """A mapping with free keys whose values have one shape."""

    __slots__ = ("item",)

    def __init__(self, item: Shape) -> None:
        self.item = item

    def repair_value(self, item: Any, path: str, complain: Complain) -> Any:
        if type(item) is not dict:
            complain(path, f"is {describe_value(item)}, not a mapping", REMOVED_EFFECT)
            return DROP
        repaired = {key: self.item.repair_value(element, f"{path}.{key}", complain) for key, element in item.items()}
        return {key: element for key, element in repaired.items() if element is not DROP}

    def keep_named(self, item: Any) -> Any:
        return {key: self.item.keep_named(element) for key, element in item.items()} if type(item) is dict else {}

    def slim_value(self, item: Any, intake: ObjectIntake) -> Any:
        if type(item) is not dict:
            raise MisfitError
        return intake.share_part(item, self, self._slim_entries)

    def _slim_entries(self, item: dict[Any, Any], intake: ObjectIntake) -> dict[Any, Any]:
        slim, share_text = self.item.slim_value, intake.share_text
        if self.item is not TEXT:
            return {share_text(key, key): slim(element, intake) for key, element in item.items()}
        if not all(type(element) is str for element in item.values()):
            raise MisfitError
        return {share_text(key, key): share_text(element, element) for key, element in item.items()}

    def rename_texts(self, item: Any, path: FieldPath, names: TextRenamer) -> Any:
        if type(item) is not dict:
            return DROP
        text = self.item is TEXT
        entries = {str(key): element for key, element in item.items() if not names.drops_key(str(key), path)}
        renamed = {
            names.rename_key(key, path): self.item.rename_texts(element, (*path, key if text else "*"), names)
            for key, element in entries.items()
        }
        return {key: element for key, element in renamed.items() if element is not DROP}


class Struct:
    """A mapping with named fields; fields that nothing reads may be anything."""

    __slots__ = ("_slim_by_name", "is_shared", "fields")

    def __init__(self, fields: Mapping[str, Shape], *, alike: bool = False) -> None:
        self.fields = fields
        self.is_shared = alike
        self._slim_by_name = {
            name: (name, None if shape is TEXT else shape.slim_value) for name, shape in fields.items()
        }

    def repair_value(self, item: Any, path: str, complain: Complain) -> Any:
        if item is None:
            return {}
        if type(item) is not dict:
            complain(path, f"is {describe_value(item)}, not a mapping", REMOVED_EFFECT)
            return DROP
        valid = {}
        for name, element in item.items():
            shape = self.fields.get(name)
            # null is dropped, since Go's decoder leaves the field at its zero value.
            if shape is None:
                valid[name] = element
            elif element is not None:
                repaired = shape.repair_value(element, f"{path}.{name}" if path else name, complain)
                if repaired is not DROP:
                    valid[name] = repaired
        return valid

    def keep_named(self, item: Any) -> Any:
        fields = self.fields
        if type(item) is not dict:
            return {}
        return {name: fields[name].keep_named(element) for name, element in item.items() if name in fields}

    def slim_value(self, item: Any, intake: ObjectIntake) -> Any:
        if type(item) is not dict:
            raise MisfitError
        return intake.share_part(item, self, self._slim_fields) if self.is_shared else self._slim_fields(item, intake)

    def _slim_fields(self, item: dict[str, Any], intake: ObjectIntake) -> dict[str, Any]:
        """The slim copy of a mapping; texts, the most frequent values, are copied without a call each."""
        slims, share_text = self._slim_by_name, intake.share_text
        if not slims:
            return item
        fields: dict[str, Any] = {}
        for field, element in item.items():
            if field in slims:
                name, slim = slims[field]
                if slim is not None:
                    fields[name] = slim(element, intake)
                elif type(element) is str:
                    fields[name] = share_text(element, element)
                else:
                    raise MisfitError
        return fields

    def rename_texts(self, item: Any, path: FieldPath, names: TextRenamer) -> Any:
        if type(item) is not dict:
            return DROP
        result = {}
        for name, element in item.items():
            shape = self.fields.get(name)
            renamed = DROP if shape is None else shape.rename_texts(element, (*path, name), names)
            if renamed is not DROP:
                result[name] = renamed
            elif isinstance(name, str):
                names.note_dropped(path, name)
        return result


def describe_value(item: Any) -> str:
    """A short description of a wrong value."""
    if isinstance(item, dict):
        return "a mapping"
    if isinstance(item, list | tuple):  # a list that breaks off or is large is read as a tuple, an OpenList
        return "a list"
    if isinstance(item, bool) or item is None:
        return {True: "true", False: "false", None: "null"}[item]
    text = str(item) if isinstance(item, str | float) or abs(item) < 10**40 else "a huge number"
    quoted = repr(text) if isinstance(item, str) else text
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}..."


def _is_amount(amount: Any) -> bool:
    if type(amount) is str:
        return _AMOUNT.fullmatch(amount) is not None
    return amount is None or type(amount) in (int, float)


def _is_valid_amount(name: str, amount: Any) -> bool:
    return type(amount) in (str, int, float) and _is_valid_quantity(name, amount)


@lru_cache(maxsize=65536)
def _is_valid_quantity(name: str, amount: str | float) -> bool:
    try:
        return whole_value(amount) >= 0 and not overflows_int64(amount, _unit_power(name)) and has_digits(amount)
    except QuantityError:
        return False


def _lacks_digits(amount: Any) -> bool:
    try:
        return not has_digits(amount)
    except QuantityError:
        return False


def _unit_power(name: str) -> int:
    """The power of ten that the scheduler reads: 0 (units) for memory and pods, 3 (thousandths) for the rest."""
    return 0 if name in _WHOLE_UNITS else 3


def _quantity_fault(name: str, amount: Any) -> tuple[str, str]:
    if amount is None or _is_valid_amount(name, amount):
        return "", ""
    try:
        read = milli_value(amount) if _unit_power(name) else whole_value(amount)
    except QuantityError:
        return f"is {describe_value(amount)}, not a quantity", REMOVED_EFFECT
    if not has_digits(amount):
        return f"{describe_value(amount)} has no digits", "0 is used, as Go does"
    if overflows_int64(amount, _unit_power(name)):
        return f"{describe_value(amount)} overflows the scheduler's 64-bit integers", f"{read} is used"
    return f"{describe_value(amount)} is negative", KEPT_EFFECT


@lru_cache(maxsize=65536)
def _is_time(text: str) -> bool:
    if _TIME.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


def _int_test(bounds: tuple[int, int]) -> Callable[[Any], bool]:
    low, high = bounds
    return lambda item: type(item) is int and low <= item <= high


TEXT = Scalar("text", lambda item: type(item) is str, "")
BOOL = Scalar("true or false", lambda item: type(item) is bool, False)
INT = Scalar("a 32-bit integer", _int_test(INT32), 0)
LONG = Scalar("a whole number of 64 bits", _int_test(INT64), 0)
TIME = Scalar("a time, for example 2026-11-01T00:00:00Z", lambda item: type(item) is str and _is_time(item), DROP)
INT_OR_TEXT = Scalar("a number or text", lambda item: type(item) is str or _int_test(INT32)(item), 0)
QUANTITY = Scalar("a quantity", lambda item: _is_valid_amount("", item) or _lacks_digits(item), DROP)
QUANTITIES = QuantityMap()
TEXTS = ListOf(TEXT)
TEXT_MAP = MapOf(TEXT)
SIMPLE_SHAPES: Final[Mapping[str, Shape]] = {
    "": TEXT,
    "bool": BOOL,
    "int": INT,
    "long": LONG,
    "time": TIME,
    "int-or-text": INT_OR_TEXT,
    "quantity": QUANTITY,
    "quantities": QUANTITIES,
    "texts": TEXTS,
    "text-map": TEXT_MAP,
    "ints-by-name": MapOf(INT),
    "times-by-name": MapOf(TIME),
    "quantity-list": ListOf(QUANTITY),
}
"""Type → its shape, for fields without fields of their own."""


Fields = dict[str, Shape]
_PART: Final = re.compile(r"(\$?)([\w.-]+)(?:=([\w-]+))?([\[{]|~\{|\*\{)?|[\]}]")


def read_shapes(text: str, parts: Mapping[str, Fields]) -> dict[str, Struct]:
    """The shape of each kind, from a text with entries `Kind: fields`, and `part: fields` for what kinds share.

    A field is a name of a text, `name=type` with a type of SIMPLE_SHAPES, a mapping `name{fields}`, a list of mappings
    `name[fields]`, or a mapping with free keys `name*{fields}`; `name~{fields}` is equal in many objects and so shared
    as a whole. `$part` stands for the fields of a part.
    """
    known, nested = dict(parts), dict[str, Shape]()
    for entry in re.split(r"\n(?=\S)", text.strip()):
        name, _, fields = entry.partition(":")
        known[name] = _read_fields(_PART.finditer(fields), known, nested)
    return {name: Struct(fields) for name, fields in known.items() if name[0].isupper()}


def _read_fields(words: Iterator[re.Match[str]], parts: Mapping[str, Fields], nested: dict[str, Shape]) -> Fields:
    """The fields up to the closing bracket; equal ones in brackets are one shape of `nested`, which shares more."""
    fields: Fields = {}
    for word in words:
        mark, name, kind, opening = word.groups()
        if name is None:
            break
        if mark:
            fields |= parts[name]
        elif opening:
            inner = _read_fields(words, parts, nested)
            key = f"{opening}{[(field, id(shape)) for field, shape in inner.items()]}"
            fields[name] = nested.setdefault(key, _nested_shape(opening, inner))
        else:
            fields[name] = SIMPLE_SHAPES[kind or ""]
    return fields


def _nested_shape(opening: str, fields: Fields) -> Shape:
    shape = Struct(fields, alike=opening == "~{")
    return ListOf(shape) if opening == "[" else MapOf(shape) if opening == "*{" else shape
