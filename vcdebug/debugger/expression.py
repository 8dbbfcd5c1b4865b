"""Conditions of breakpoints: a small expression language over named fields, without access to anything else.

plugin == "gang" and job matches "^ml/" and not ("ml/a-0" in victims or count(candidates) < 3)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from vcdebug.debugger.field_types import FieldType, Known, clash, type_of_value
from vcdebug.debugger.tokens import Reader, Token
from vcdebug.linear_pattern import PatternError, TextTest, compile_pattern
from vcdebug.snapshot.quantity import QuantityError, milli_value


class AnyOf(tuple[str, ...]):
    """Several names of which each one answers: `==`, `in` and `matches` ask whether some name does."""

    __slots__ = ()


Value = None | bool | int | float | str | tuple[str, ...]
Fields = Callable[[str], Value]
"""The value of a named field; None where an event has no such field."""

CONSTANTS: Final[dict[str, Value]] = {
    "true": True,
    "false": False,
    "null": None,
    "permit": 1,
    "abstain": 0,
    "reject": -1,
}
ORDERED: Final = ("<", "<=", ">", ">=")
LONGEST_PATTERN: Final = 200
MILLI: Final = 1000.0


class Expression(Protocol):
    """A condition or a part of one."""

    def value(self, fields: Fields) -> Value:
        """What it comes to for one event."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, a list, or a word such as `true`."""

    constant: Value

    def value(self, fields: Fields) -> Value:
        return self.constant


@dataclass(frozen=True, slots=True)
class Field:
    """A named field of the event."""

    name: str

    def value(self, fields: Fields) -> Value:
        return fields(self.name)


@dataclass(frozen=True, slots=True)
class Count:
    """How many names a list has."""

    operand: Expression

    def value(self, fields: Fields) -> Value:
        counted = self.operand.value(fields)
        return len(counted) if isinstance(counted, tuple) else 0


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    operand: Expression

    def value(self, fields: Fields) -> Value:
        return not self.operand.value(fields)


@dataclass(frozen=True, slots=True)
class Both:
    """`and`: the right side is looked at only if the left one holds."""

    left: Expression
    right: Expression

    def value(self, fields: Fields) -> Value:
        return bool(self.left.value(fields)) and bool(self.right.value(fields))


@dataclass(frozen=True, slots=True)
class Either:
    """`or`: the right side is looked at only if the left one does not hold."""

    left: Expression
    right: Expression

    def value(self, fields: Fields) -> Value:
        return bool(self.left.value(fields)) or bool(self.right.value(fields))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands and a sign; values of different kinds are unequal, and neither is the smaller."""

    left: Expression
    sign: str
    right: Expression

    def value(self, fields: Fields) -> Value:
        left, right = self.left.value(fields), self.right.value(fields)
        if self.sign in ORDERED:
            return _ordered(left, self.sign, right)
        if self.sign == "in":
            return _contained(left, right)
        return _equal(left, right) == (self.sign == "==")


@dataclass(frozen=True, slots=True)
class Matches:
    """A regular expression found somewhere in a text."""

    operand: Expression
    matches: TextTest

    def value(self, fields: Fields) -> Value:
        operand = self.operand.value(fields)
        if isinstance(operand, str):
            return self.matches(operand)
        return isinstance(operand, tuple) and any(map(self.matches, operand))


def _equal(left: Value, right: Value) -> bool:
    if isinstance(left, AnyOf) and isinstance(right, str):
        return right in left
    if isinstance(right, AnyOf) and isinstance(left, str):
        return left in right
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return left == right


def _ordered(left: Value, sign: str, right: Value) -> bool:
    if isinstance(left, str) and isinstance(right, str):
        return _holds((left > right) - (left < right), sign)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _holds((left > right) - (left < right), sign)
    return False


def _holds(order: int, sign: str) -> bool:
    if order == 0:
        return sign in ("<=", ">=")
    return sign.startswith("<" if order < 0 else ">")


def _contained(left: Value, right: Value) -> bool:
    if isinstance(right, str):
        return isinstance(left, str) and left in right
    if not isinstance(right, Container):
        return False
    if isinstance(left, AnyOf):
        return any(name in right for name in left)
    return left in right


def parse_expression(line: str, known: Known) -> Expression:
    """Read a whole line as one condition over the known fields."""
    reader = Reader(line)
    expression = read_expression(reader, known)
    if reader.token.kind != "end":
        raise reader.error(f"unexpected {reader.token.text!r}")
    return expression


def read_expression(reader: Reader, known: Known) -> Expression:
    """Read a condition from where the reader stands; what follows it is left."""
    return _Parser(reader, known).either()


class _Parser:
    """One method per level of binding, loosest first."""

    def __init__(self, reader: Reader, known: Known) -> None:
        self.reader = reader
        self.known = known
        self.depth = 0

    def either(self) -> Expression:
        left = self.both()
        while self.reader.accept("or"):
            left = Either(left, self.both())
        return left

    def both(self) -> Expression:
        left = self.negated()
        while self.reader.accept("and"):
            left = Both(left, self.negated())
        return left

    def negated(self) -> Expression:
        self.depth += 1
        if self.depth > 50:
            raise self.reader.error("nested too deeply")
        result: Expression = Not(self.negated()) if self.reader.accept("not") else self.compared()
        self.depth -= 1
        return result

    def compared(self) -> Expression:
        left = self.operand()
        sign = self.reader.accept("==", "!=", *ORDERED, "in", "matches", "not")
        if sign is None:
            return left
        if sign.text == "matches":
            self.fit(left, "matches", Constant(""), sign)
            return self.pattern(left)
        if sign.text == "not":
            self.reader.expect("in")
            return Not(self.comparison(left, "in", sign))
        return self.comparison(left, sign.text, sign)

    def comparison(self, left: Expression, word: str, sign: Token) -> Comparison:
        right = self.operand()
        self.fit(left, word, right, sign)
        return Comparison(left, word, right)

    def fit(self, left: Expression, word: str, right: Expression, sign: Token) -> None:
        """Refuse what could never hold."""
        why = clash(self.type_of(left), word, self.type_of(right))
        if why:
            raise self.reader.error(f"this can never hold: {why}", sign)

    def type_of(self, operand: Expression) -> FieldType:
        if isinstance(operand, Field):
            return self.known[operand.name]
        if isinstance(operand, Constant):
            return type_of_value(operand.constant)
        return "number" if isinstance(operand, Count) else "yes or no"

    def pattern(self, left: Expression) -> Expression:
        token = self.reader.take()
        if token.kind != "text":
            raise self.reader.error("matches needs a pattern in quotes", token)
        if len(token.content) > LONGEST_PATTERN:
            raise self.reader.error(f"a pattern has at most {LONGEST_PATTERN} characters", token)
        try:
            return Matches(left, compile_pattern(token.content))
        except PatternError as error:
            raise self.reader.error(f"not a pattern: {error}", token) from error

    def operand(self) -> Expression:
        token = self.reader.take()
        if token.kind == "text":
            return Constant(token.content)
        if token.kind == "number":
            return Constant(float(token.text) if re.search(r"[.eE]", token.text) else int(token.text))
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            inner = self.either()
            self.reader.expect(")")
            return inner
        if token.text == "[":
            return Constant(tuple(self.listed()))
        raise self.reader.error(f"expected a field or a value, found {token.shown}", token)

    def named(self, token: Token) -> Expression:
        if token.text == "count":
            self.reader.expect("(")
            counted = self.operand()
            if self.type_of(counted) not in ("list", "any"):
                raise self.reader.error(f"count needs a list, not {self.type_of(counted)}", token)
            self.reader.expect(")")
            return Count(counted)
        if token.text[0].isdigit():
            return Constant(self.quantity(token))
        if token.text in CONSTANTS:
            return Constant(CONSTANTS[token.text])
        if token.text in self.known:
            return Field(token.text)
        raise self.reader.error(f"no field {token.text!r}; fields are {', '.join(self.known)}", token)

    def quantity(self, token: Token) -> float:
        """`4Gi`, `500m`: in bytes, cores or pieces."""
        try:
            return milli_value(token.text) / MILLI
        except QuantityError:
            raise self.reader.error(f"{token.text!r} is no amount", token) from None

    def listed(self) -> Iterator[str]:
        while self.reader.token.kind == "text":
            yield self.reader.take().content
            if self.reader.accept(",") is None:
                break
        self.reader.expect("]")


def required(expression: Expression | None) -> dict[str, str]:
    """Fields that must equal a text for the condition to hold: what an index can narrow a search by."""
    if isinstance(expression, Both):
        return {**required(expression.left), **required(expression.right)}
    if isinstance(expression, Comparison) and expression.sign == "==":
        left, right = expression.left, expression.right
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Field) and isinstance(right, Constant) and isinstance(right.constant, str):
            return {left.name: right.constant}
    return {}
