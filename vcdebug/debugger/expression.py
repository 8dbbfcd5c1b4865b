"""Conditions of breakpoints: tokens, parser and evaluation of a small expression language over named fields.

plugin == "gang" and job matches "^ml/" and not ("ml/a-0" in victims or count(candidates) < 3)
node("n1").idle.cpu - 500m < task("ml/a-0").request.cpu * 2
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final, Literal, Protocol, TypeGuard

from msgspec import Struct

from vcdebug.debugger.expression_tokens import ExpressionToken, TokenReader
from vcdebug.errors import VcdebugError
from vcdebug.linear_pattern import PatternError, TextTest, compile_pattern
from vcdebug.snapshot.quantity import QuantityError, milli_value


class AnyOf(tuple[str, ...]):
    """Several names of one field; `==`, `in` and `matches` hold if they hold for any of the names."""

    __slots__ = ()


Value = None | bool | int | float | str | tuple[str, ...]
Fields = Callable[[str], Value]
"""The value of a named field, or of a figure such as `node n1 idle cpu`; None where there is none."""
FigureCheck = Callable[[tuple[str, ...]], object]
"""Raises VcdebugError for words that name no figure."""

NAMED_CONSTANTS: Final[dict[str, Value]] = {
    "true": True,
    "false": False,
    "null": None,
    "permit": 1,
    "abstain": 0,
    "reject": -1,
}
FIGURE_WORDS: Final = ("node", "queue", "job", "task", "plugin")
"""Kinds of objects whose figures a condition reads: `node("n1").idle.cpu`."""
MOMENTS: Final = ("old", "new")
"""Words for a figure before the event, `old(node("n1").idle.cpu)`, and after it, which is the default."""
QUANTIFIERS: Final[Mapping[str, Callable[[Iterable[object]], bool]]] = {"any": any, "all": all}
IT, EACH = "it", "\0"
"""The word for the current name in `any` and `all`, and the placeholder for it in the words of a figure."""
ARITHMETIC: Final[Mapping[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
ORDER_SIGNS: Final[Mapping[str, Callable[..., bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MAX_PATTERN_LENGTH: Final = 200
MAX_DEPTH: Final = 50
MAX_CHAIN: Final = 100
MILLI: Final = 1000.0


class Expression(Protocol):
    """A condition or a subexpression."""

    def evaluate(self, fields: Fields) -> Value:
        """Its value for one event, whose fields `fields` looks up."""
        ...


class ConstantValue(Struct, frozen=True):
    """A number, a text, a list, or a word such as `true`."""

    constant: Value

    def evaluate(self, fields: Fields) -> Value:
        return self.constant


class FieldReference(Struct, frozen=True):
    """A named field of the event."""

    name: str

    def evaluate(self, fields: Fields) -> Value:
        return fields(self.name)


class NameCount(Struct, frozen=True):
    """The number of names in a list."""

    operand: Expression

    def evaluate(self, fields: Fields) -> Value:
        counted = self.operand.evaluate(fields)
        # An event without the field has no names, so that `count(victims) == 0` holds there.
        return len(counted) if isinstance(counted, tuple) else 0


class EachName(Struct, frozen=True):
    """Whether a condition on `it` holds for any, or for all, names of a list; false for an event without the list."""

    quantifier: Callable[[Iterable[object]], bool]
    operand: Expression
    condition: Expression

    def evaluate(self, fields: Fields) -> Value:
        value = self.operand.evaluate(fields)
        names = (value,) if isinstance(value, str) else value
        return isinstance(names, tuple) and self.quantifier(self._holds_for(name, fields) for name in names)

    def _holds_for(self, name: str, fields: Fields) -> bool:
        return bool(self.condition.evaluate(lambda field: name if field == IT else fields(field.replace(EACH, name))))


class ArithmeticExpression(Struct, frozen=True):
    """A sum, difference, product or quotient of numbers."""

    left: Expression
    sign: str
    right: Expression

    def evaluate(self, fields: Fields) -> Value:
        left, right = self.left.evaluate(fields), self.right.evaluate(fields)
        # None also for a division by zero: a condition about such an event does not hold, and the search goes on.
        if not (_is_number(left) and _is_number(right)) or (self.sign == "/" and not right):
            return None
        try:
            return ARITHMETIC[self.sign](left, right)
        except OverflowError:
            return None


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


class NotExpression(Struct, frozen=True):
    """`not`: whether the operand does not hold."""

    operand: Expression

    def evaluate(self, fields: Fields) -> Value:
        return not self.operand.evaluate(fields)


class AndExpression(Struct, frozen=True):
    """`and`: the right side is evaluated only if the left one holds."""

    left: Expression
    right: Expression

    def evaluate(self, fields: Fields) -> Value:
        return bool(self.left.evaluate(fields)) and bool(self.right.evaluate(fields))


class OrExpression(Struct, frozen=True):
    """`or`: the right side is evaluated only if the left one does not hold."""

    left: Expression
    right: Expression

    def evaluate(self, fields: Fields) -> Value:
        return bool(self.left.evaluate(fields)) or bool(self.right.evaluate(fields))


class ComparisonExpression(Struct, frozen=True):
    """Two operands and a sign; values of different kinds are unequal, and neither is the smaller."""

    left: Expression
    sign: str
    right: Expression

    def evaluate(self, fields: Fields) -> Value:
        left, right = self.left.evaluate(fields), self.right.evaluate(fields)
        if self.sign in ORDER_SIGNS:
            return _is_ordered(left, self.sign, right)
        if self.sign == "in":
            return _is_contained(left, right)
        return _is_equal(left, right) == (self.sign == "==")


class PatternMatch(Struct, frozen=True):
    """A regular expression found somewhere in a text."""

    operand: Expression
    matches: TextTest

    def evaluate(self, fields: Fields) -> Value:
        operand = self.operand.evaluate(fields)
        if isinstance(operand, str):
            return self.matches(operand)
        return isinstance(operand, tuple) and any(map(self.matches, operand))


def _is_equal(left: Value, right: Value) -> bool:
    if isinstance(left, AnyOf) and isinstance(right, str):
        return right in left
    if isinstance(right, AnyOf) and isinstance(left, str):
        return left in right
    # In Python True == 1, so `vote == true` would hold for a permit.
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return left == right


def _is_ordered(left: Value, sign: str, right: Value) -> bool:
    texts = isinstance(left, str) and isinstance(right, str)
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return (texts or numbers) and ORDER_SIGNS[sign](left, right)


def _is_contained(left: Value, right: Value) -> bool:
    if isinstance(right, str):
        return isinstance(left, str) and left in right
    if not isinstance(right, Container):
        return False
    if isinstance(left, AnyOf):
        return any(name in right for name in left)
    return left in right


def parse_expression(line: str, field_types: KnownFields, check: FigureCheck | None = None) -> Expression:
    """Read a whole line as one condition over the known fields."""
    reader = TokenReader(line)
    expression = read_expression(reader, field_types, check)
    if reader.next_token.kind != "end":
        raise reader.error_at(f"unexpected {reader.next_token.text!r}")
    return expression


def read_expression(reader: TokenReader, field_types: KnownFields, check: FigureCheck | None = None) -> Expression:
    """Read a condition at the reader's position; later tokens stay unread. `check` raises for an unknown figure."""
    return _Parser(reader, field_types, check).parse_or()


class _Parser:
    """One method per level of binding, loosest first."""

    def __init__(self, reader: TokenReader, field_types: KnownFields, check: FigureCheck | None) -> None:
        self.reader = reader
        self.known = field_types
        self.check = check
        self.depth = 0

    def parse_or(self) -> Expression:
        left = self.parse_and()
        while self.reader.accept_token("or"):
            left = OrExpression(left, self.parse_and())
        return left

    def parse_and(self) -> Expression:
        left = self.parse_not()
        while self.reader.accept_token("and"):
            left = AndExpression(left, self.parse_not())
        return left

    def parse_not(self) -> Expression:
        self.depth += 1
        # A bound instead of Python's RecursionError, which would have no position in the line.
        if self.depth > MAX_DEPTH:
            raise self.reader.error_at("nested too deeply")
        result: Expression = (
            NotExpression(self.parse_not()) if self.reader.accept_token("not") else self.parse_comparison()
        )
        self.depth -= 1
        return result

    def parse_comparison(self) -> Expression:
        left = self.parse_sum()
        sign = self.reader.accept_token("==", "!=", *ORDER_SIGNS, "in", "matches", "not")
        if sign is None:
            return left
        if sign.text == "matches":
            self.check_types(left, "matches", ConstantValue(""), sign)
            return self.parse_pattern(left)
        if sign.text == "not":
            self.reader.expect_token("in")
            return NotExpression(self.build_comparison(left, "in", sign))
        return self.build_comparison(left, sign.text, sign)

    def build_comparison(self, left: Expression, word: str, sign: ExpressionToken) -> ComparisonExpression:
        right = self.parse_sum()
        self.check_types(left, word, right, sign)
        return ComparisonExpression(left, word, right)

    def check_types(self, left: Expression, word: str, right: Expression, sign: ExpressionToken) -> None:
        """Raise ExpressionError for a comparison that can never hold."""
        # A condition that never holds would run through the whole recording without a stop.
        clash = type_clash(self.type_of(left), word, self.type_of(right))
        if clash:
            raise self.reader.error_at(f"this can never hold: {clash}", sign)

    def type_of(self, operand: Expression) -> FieldType:
        if isinstance(operand, FieldReference):
            return self.known.get(operand.name, "any")
        if isinstance(operand, ConstantValue):
            return type_of_value(operand.constant)
        return "number" if isinstance(operand, NameCount | ArithmeticExpression) else "yes or no"

    def parse_each(self, word: ExpressionToken) -> Expression:
        """Parse the rest of `any(victims, it matches "^ml/")`."""
        if IT in self.known:
            raise self.reader.error_at("any and all cannot be nested", word)
        self.reader.expect_token("(")
        names = self.parse_list(word, "list", "any", "text")
        self.reader.expect_token(",")
        condition = _Parser(self.reader, {**self.known, IT: "text"}, self.check).parse_or()
        self.reader.expect_token(")")
        return EachName(QUANTIFIERS[word.text], names, condition)

    def parse_list(self, word: ExpressionToken, *types: FieldType) -> Expression:
        """Parse the list that `count`, `any` or `all` reads; raises ExpressionError for another type of value."""
        names = self.parse_operand()
        if self.type_of(names) not in types:
            raise self.reader.error_at(f"{word.text} needs a list, not {self.type_of(names)}", word)
        return names

    def parse_moment(self, word: ExpressionToken) -> Expression:
        """Parse the rest of `old(node("n1").idle.cpu)`."""
        self.reader.expect_token("(")
        kind = self.reader.read_token()
        if kind.text not in FIGURE_WORDS or self.reader.next_token.text != "(":
            raise self.reader.error_at(f'{word.text} needs a figure, such as node("n1").idle.cpu', kind)
        figure = self.parse_figure(kind)
        self.reader.expect_token(")")
        return FieldReference(f"old {figure.name}") if word.text == "old" else figure

    def parse_pattern(self, left: Expression) -> Expression:
        token = self.reader.read_token()
        if token.kind != "text":
            raise self.reader.error_at("matches needs a pattern in quotes", token)
        # Patterns are compiled to a matcher with linear time; the bound keeps the matcher itself small.
        if len(token.text_content) > MAX_PATTERN_LENGTH:
            raise self.reader.error_at(f"a pattern has at most {MAX_PATTERN_LENGTH} characters", token)
        try:
            return PatternMatch(left, compile_pattern(token.text_content))
        except PatternError as error:
            raise self.reader.error_at(f"not a pattern: {error}", token) from error

    def parse_sum(self) -> Expression:
        return self.parse_chain(("+", "-"), self.parse_product)

    def parse_product(self) -> Expression:
        return self.parse_chain(("*", "/"), self.parse_operand)

    def parse_chain(self, signs: tuple[str, ...], parse: Callable[[], Expression]) -> Expression:
        """Parse operands joined by these signs, from left to right."""
        left, length = parse(), 0
        while sign := self.next_sign(signs):
            length += 1
            # Each link nests the tree deeper, and evaluating it recurses.
            if length > MAX_CHAIN:
                raise self.reader.error_at(f"at most {MAX_CHAIN} signs in a row", sign)
            right = parse()
            for operand in (left, right):
                if self.type_of(operand) not in ("number", "any"):
                    raise self.reader.error_at(f"{sign.text} needs numbers, not {self.type_of(operand)}", sign)
            left = ArithmeticExpression(left, sign.text if sign.kind == "sign" else "+", right)
        return left

    def next_sign(self, signs: tuple[str, ...]) -> ExpressionToken | None:
        """The sign that comes next; in `seq -1` the number carries it."""
        upcoming = self.reader.next_token
        if "-" in signs and upcoming.kind == "number" and upcoming.text.startswith("-"):
            return upcoming
        return self.reader.accept_token(*signs)

    def parse_figure(self, kind: ExpressionToken) -> FieldReference:
        """`node("n1").idle.cpu`, or `task(it).priority` in `any` and `all`."""
        self.reader.expect_token("(")
        name = self.reader.read_token()
        if name.text == IT and IT in self.known:
            name = ExpressionToken("text", f'"{EACH}"', name.position)
        if name.kind != "text" or not name.text_content.strip() or len(name.text_content.split()) > 1:
            raise self.reader.error_at(f"{kind.text} needs a name in quotes", name)
        self.reader.expect_token(")")
        parts = self.reader.read_token()
        words = parts.text.split(".", 2)
        if parts.kind != "part" or not all(words[1:]):
            example = f'{kind.text}("{name.text_content}").PART, such as node("n1").idle.cpu'
            raise self.reader.error_at(f"say which figure: {example}", parts)
        figure_words = (kind.text, name.text_content, *words[1:])
        self.check_figure(figure_words, parts if EACH in figure_words else kind)
        return FieldReference(" ".join(figure_words))

    def check_figure(self, words: tuple[str, ...], token: ExpressionToken) -> None:
        """Raise ExpressionError for a figure that the recording does not have."""
        if self.check is None or EACH in words:
            return
        try:
            self.check(words)
        except VcdebugError as error:
            raise self.reader.error_at(": ".join(filter(None, (error.message, error.hint))), token) from error

    def parse_operand(self) -> Expression:
        token = self.reader.read_token()
        if token.text == "-" and token.kind == "sign":
            return ArithmeticExpression(ConstantValue(0), "-", self.parse_number(token))
        if token.kind == "text":
            return ConstantValue(token.text_content)
        if token.kind == "number":
            return ConstantValue(float(token.text) if re.search(r"[.eE]", token.text) else int(token.text))
        if token.kind == "name":
            return self.parse_name(token)
        if token.text == "(":
            inner = self.parse_or()
            self.reader.expect_token(")")
            return inner
        if token.text == "[":
            return ConstantValue(tuple(self.parse_list_items()))
        raise self.reader.error_at(f"expected a field or a value, found {token.shown_text}", token)

    def parse_number(self, minus: ExpressionToken) -> Expression:
        """Parse the operand of a minus sign, which must be a number."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.reader.error_at("nested too deeply")
        operand = self.parse_operand()
        self.depth -= 1
        if self.type_of(operand) not in ("number", "any"):
            raise self.reader.error_at(f"- needs a number, not {self.type_of(operand)}", minus)
        return operand

    def parse_name(self, token: ExpressionToken) -> Expression:
        if token.text in FIGURE_WORDS and self.reader.next_token.text == "(":
            return self.parse_figure(token)
        if self.reader.next_token.text == "(" and token.text in (*QUANTIFIERS, *MOMENTS):
            return self.parse_each(token) if token.text in QUANTIFIERS else self.parse_moment(token)
        if token.text == "count":
            self.reader.expect_token("(")
            counted = self.parse_list(token, "list", "any")
            self.reader.expect_token(")")
            return NameCount(counted)
        if token.text[0].isdigit():
            return ConstantValue(self.parse_quantity(token))
        if token.text in NAMED_CONSTANTS:
            return ConstantValue(NAMED_CONSTANTS[token.text])
        if token.text in self.known:
            return FieldReference(token.text)
        raise self.reader.error_at(f"no field {token.text!r} (quote text); fields are {', '.join(self.known)}", token)

    def parse_quantity(self, token: ExpressionToken) -> float:
        """Parse an amount such as `4Gi` or `500m`, in bytes, cores or whole devices."""
        try:
            # Through milli-units, so that `500m` and `0.5` are the same number.
            return milli_value(token.text) / MILLI
        except QuantityError:
            raise self.reader.error_at(f"{token.text!r} is not an amount", token) from None

    def parse_list_items(self) -> Iterator[str]:
        while self.reader.next_token.kind == "text":
            yield self.reader.read_token().text_content
            if self.reader.accept_token(",") is None:
                break
        self.reader.expect_token("]")


# The types of fields, so that a condition that can never hold is refused when it is read.

FieldType = Literal["number", "text", "list", "yes or no", "any"]
KnownFields = Mapping[str, FieldType]
"""Field → type of its value."""


def type_of_value(value: object) -> FieldType:
    """The type of a constant."""
    if isinstance(value, bool):
        return "yes or no"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, tuple) else "any"


def type_clash(left: FieldType, sign: str, right: FieldType) -> str:
    """Why a comparison of these types can never hold; empty if it can."""
    if "any" in (left, right):
        return ""
    if sign == "in":
        return "" if (left, right) in (("text", "list"), ("text", "text")) else f"{left} is never in {right}"
    if sign == "matches":
        return "" if left in ("text", "list") else f"a pattern is looked for in text, not in {left}"
    if left != right:
        return f"{left} is compared with {right}"
    return f"{left} has no order" if sign not in ("==", "!=") and left not in ("number", "text") else ""
