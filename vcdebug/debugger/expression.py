"""Conditions of breakpoints: tokens, parser and evaluation of a small expression language over named fields.

plugin == "gang" and job matches "^ml/" and not ("ml/a-0" in victims or count(candidates) < 3)
node("n1").idle.cpu - 500m < task("ml/a-0").request.cpu * 2
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial
from typing import Final, Literal, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.debugger.expression_tokens import ExpressionToken, TokenReader
from vcdebug.errors import VcdebugError, closest_name_hint
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
    "none": "",
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


class Expression(Struct, frozen=True):
    """A condition or a subexpression, with what is known of it before any event."""

    evaluate: Callable[[Fields], Value]
    """Its value for one event, whose fields the argument looks up."""
    type: FieldType = "yes or no"
    field: str = ""
    """The field or figure that it names; empty for any other expression."""
    text: str | None = None
    """The text that it is; None for any other expression."""
    equalities: Mapping[str, str] = {}
    """Field → text that it must equal for the condition to hold; an index can narrow a search by these."""


def _constant(value: Value) -> Expression:
    """A number, a text, a list, or a word such as `true`."""
    return Expression(lambda _: value, type_of_value(value), text=value if isinstance(value, str) else None)


def _named_field(name: str, field_type: FieldType = "any") -> Expression:
    return Expression(lambda fields: fields(name), field_type, field=name)


def _operation(
    operate: Callable[[Value, Value], Value], left: Expression, right: Expression, result: FieldType
) -> Expression:
    return Expression(lambda fields: operate(left.evaluate(fields), right.evaluate(fields)), result)


def _both_hold(left: Expression, right: Expression) -> Expression:
    """`and`: the right side is evaluated only if the left one holds."""
    equalities = {**left.equalities, **right.equalities}
    return Expression(lambda fields: bool(left.evaluate(fields) and right.evaluate(fields)), equalities=equalities)


def _either_holds(left: Expression, right: Expression) -> Expression:
    """`or`: the right side is evaluated only if the left one does not hold."""
    # Only `and` narrows a search: under `or` or `not` an event without the name can match as well.
    return Expression(lambda fields: bool(left.evaluate(fields) or right.evaluate(fields)))


def _count_names(value: Value) -> int:
    # An event without the field has no names, so that `count(victims) == 0` holds there.
    return len(value) if isinstance(value, tuple) else 0


def _holds_for_names(
    quantifier: Callable[[Iterable[object]], bool], value: Value, condition: Expression, fields: Fields
) -> bool:
    """Whether a condition on `it` holds for any, or for all, names of a list; false for an event without the list."""
    names = (value,) if isinstance(value, str) else value
    return isinstance(names, tuple) and quantifier(_holds_for_name(condition, name, fields) for name in names)


def _holds_for_name(condition: Expression, name: str, fields: Fields) -> bool:
    return bool(condition.evaluate(lambda field: name if field == IT else fields(field.replace(EACH, name))))


def _calculate(sign: str, left: Value, right: Value) -> Value:
    """A sum, difference, product or quotient of numbers."""
    # None also for a division by zero: a condition about such an event does not hold, and the search goes on.
    if not (_is_number(left) and _is_number(right)) or (sign == "/" and not right):
        return None
    try:
        return ARITHMETIC[sign](left, right)
    except OverflowError:
        return None


def _is_number(value: Value) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compare(sign: str, left: Value, right: Value) -> bool:
    """Whether a comparison holds; values of different kinds are unequal, and neither is the smaller."""
    if sign in ORDER_SIGNS:
        return _is_ordered(left, sign, right)
    return _is_contained(left, right) if sign == "in" else _is_equal(left, right) == (sign == "==")


def _has_pattern(matches: TextTest, value: Value) -> bool:
    """Whether a text, or any name of a list, contains a pattern."""
    return matches(value) if isinstance(value, str) else isinstance(value, tuple) and any(map(matches, value))


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
            left = _either_holds(left, self.parse_and())
        return left

    def parse_and(self) -> Expression:
        left = self.parse_not()
        while self.reader.accept_token("and"):
            left = _both_hold(left, self.parse_not())
        return left

    def parse_not(self) -> Expression:
        self.depth += 1
        # A bound instead of Python's RecursionError, which would have no position in the line.
        if self.depth > MAX_DEPTH:
            raise self.reader.error_at("nested too deeply")
        result = self.negate(self.parse_not()) if self.reader.accept_token("not") else self.parse_comparison()
        self.depth -= 1
        return result

    def negate(self, operand: Expression) -> Expression:
        return Expression(lambda fields: not operand.evaluate(fields))

    def parse_comparison(self) -> Expression:
        left = self.parse_sum()
        sign = self.reader.accept_token("==", "!=", *ORDER_SIGNS, "in", "matches", "not")
        if sign is None:
            return left
        if sign.text == "matches":
            self.check_types(left.type, "matches", "text", sign)
            return self.parse_pattern(left)
        if sign.text == "not":
            self.reader.expect_token("in")
            return self.negate(self.build_comparison(left, "in", sign))
        return self.build_comparison(left, sign.text, sign)

    def build_comparison(self, left: Expression, word: str, sign: ExpressionToken) -> Expression:
        token = self.reader.next_token
        if left.type == "text" and word in ("==", "!=") and token.kind == "name" and token.text not in self.known:
            right = _constant(self.reader.read_token().text)  # `plugin == gang`, without quotes
        else:
            right = self.parse_sum()
        self.check_types(left.type, word, right.type, sign)
        # `"a/b" == job` narrows a search like `job == "a/b"`.
        sides = ((left.field, right.text), (right.field, left.text)) if word == "==" else ()
        equalities = {field: text for field, text in sides if field and text is not None}
        comparison = _operation(partial(_compare, word), left, right, "yes or no")
        return replace(comparison, equalities=equalities)

    def check_types(self, left: FieldType, word: str, right: FieldType, sign: ExpressionToken) -> None:
        """Raise ExpressionError for a comparison that can never hold."""
        # A condition that never holds would run through the whole recording without a stop.
        clash = type_clash(left, word, right)
        if clash:
            raise self.reader.error_at(f"this can never hold: {clash}", sign)

    def parse_each(self, word: ExpressionToken) -> Expression:
        """Parse the rest of `any(victims, it matches "^ml/")`."""
        if IT in self.known:
            raise self.reader.error_at("any and all cannot be nested", word)
        self.reader.expect_token("(")
        names = self.parse_list(word, "list", "any", "text")
        self.reader.expect_token(",")
        condition = _Parser(self.reader, {**self.known, IT: "text"}, self.check).parse_or()
        self.reader.expect_token(")")
        quantifier = QUANTIFIERS[word.text]
        return Expression(lambda fields: _holds_for_names(quantifier, names.evaluate(fields), condition, fields))

    def parse_list(self, word: ExpressionToken, *types: FieldType) -> Expression:
        """Parse the list that `count`, `any` or `all` reads; raises ExpressionError for another type of value."""
        names = self.parse_operand()
        if names.type not in types:
            raise self.reader.error_at(f"{word.text} needs a list, not {names.type}", word)
        return names

    def parse_moment(self, word: ExpressionToken) -> Expression:
        """Parse the rest of `old(node("n1").idle.cpu)`."""
        self.reader.expect_token("(")
        kind = self.reader.read_token()
        if kind.text not in FIGURE_WORDS or self.reader.next_token.text != "(":
            raise self.reader.error_at(f'{word.text} needs a figure, such as node("n1").idle.cpu', kind)
        figure = self.parse_figure(kind)
        self.reader.expect_token(")")
        return _named_field(f"old {figure.field}") if word.text == "old" else figure

    def parse_pattern(self, left: Expression) -> Expression:
        token = self.reader.read_token()
        if token.kind != "text":
            raise self.reader.error_at("matches needs a pattern in quotes", token)
        # Patterns are compiled to a matcher with linear time; the bound keeps the matcher itself small.
        if len(token.text_content) > MAX_PATTERN_LENGTH:
            raise self.reader.error_at(f"a pattern has at most {MAX_PATTERN_LENGTH} characters", token)
        try:
            matches = compile_pattern(token.text_content)
        except PatternError as error:
            raise self.reader.error_at(f"not a pattern: {error}", token) from error
        return Expression(lambda fields: _has_pattern(matches, left.evaluate(fields)))

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
                if operand.type not in ("number", "any"):
                    raise self.reader.error_at(f"{sign.text} needs numbers, not {operand.type}", sign)
            left = _operation(partial(_calculate, sign.text if sign.kind == "sign" else "+"), left, right, "number")
        return left

    def next_sign(self, signs: tuple[str, ...]) -> ExpressionToken | None:
        """The sign that comes next; in `seq -1` the number carries it."""
        upcoming = self.reader.next_token
        if "-" in signs and upcoming.kind == "number" and upcoming.text.startswith("-"):
            return upcoming
        return self.reader.accept_token(*signs)

    def parse_figure(self, kind: ExpressionToken) -> Expression:
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
        return _named_field(" ".join(figure_words))

    def check_figure(self, words: tuple[str, ...], token: ExpressionToken) -> None:
        """Raise ExpressionError for a figure that the recording does not have."""
        if self.check is None:
            return
        try:
            self.check(words)
        except VcdebugError as error:
            raise self.reader.error_at(": ".join(filter(None, (error.message, error.hint))), token) from error

    def parse_operand(self) -> Expression:
        token = self.reader.read_token()
        if token.text == "-" and token.kind == "sign":
            return _operation(partial(_calculate, "-"), _constant(0), self.parse_number(token), "number")
        if token.kind == "text":
            return _constant(token.text_content)
        if token.kind == "number":
            return _constant(float(token.text) if re.search(r"[.eE]", token.text) else int(token.text))
        if token.kind == "name":
            return self.parse_name(token)
        if token.text == "(":
            inner = self.parse_or()
            self.reader.expect_token(")")
            return inner
        if token.text == "[":
            return _constant(tuple(self.parse_list_items()))
        raise self.reader.error_at(f"expected a field or a value, found {token.shown_text}", token)

    def parse_number(self, minus: ExpressionToken) -> Expression:
        """Parse the operand of a minus sign, which must be a number."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.reader.error_at("nested too deeply")
        operand = self.parse_operand()
        self.depth -= 1
        if operand.type not in ("number", "any"):
            raise self.reader.error_at(f"- needs a number, not {operand.type}", minus)
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
            return Expression(lambda fields: _count_names(counted.evaluate(fields)), "number")
        if token.text[0].isdigit():
            return _constant(self.parse_quantity(token))
        if token.text in NAMED_CONSTANTS:
            return _constant(NAMED_CONSTANTS[token.text])
        field = "task" if token.text == "pod" else token.text
        if field in self.known:
            return _named_field(field, self.known[field])
        hint = closest_name_hint(token.text, self.known) or f"text is in quotes; fields are {', '.join(self.known)}"
        raise self.reader.error_at(f"no field {token.text!r}; {hint}", token)

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
