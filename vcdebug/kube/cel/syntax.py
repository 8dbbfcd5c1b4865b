"""The parser of CEL: expressions as trees. Upstream: cel-go parser."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from vcdebug.gomath import MAX_INT64
from vcdebug.kube.cel import Undecided

BINARY: Final = (("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
"""Binary operators by precedence, loosest first."""
CONSTANTS: Final = {"true": True, "false": False, "null": None}
LOOPS: Final = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
"""Macros over list elements or map keys, with the numbers of arguments that they take."""
BIND: Final = ("cel", "bind")


class CelConstant(NamedTuple):
    """A number, a text, true, false or null."""

    value: object


class CelVariable(NamedTuple):
    """A variable."""

    name: str


class MemberAccess(NamedTuple):
    """`of.name`; with `is_presence_test`, whether the field exists."""

    operand: CelNode
    name: str
    is_presence_test: bool = False


class IndexAccess(NamedTuple):
    """`of[key]`."""

    operand: CelNode
    key: CelNode


class FunctionCall(NamedTuple):
    """A function, operator or method; a method's receiver is the first argument."""

    function: str
    arguments: tuple[CelNode, ...]


class Ternary(NamedTuple):
    """A conditional: `condition ? yes : no`."""

    condition: CelNode
    when_true: CelNode
    when_false: CelNode


class Logical(NamedTuple):
    """`left && right`, or `left || right` if `is_disjunction`."""

    left: CelNode
    right: CelNode
    is_disjunction: bool


class ListLiteral(NamedTuple):
    """A list."""

    items: tuple[CelNode, ...]


class MapLiteral(NamedTuple):
    """A map."""

    pairs: tuple[tuple[CelNode, CelNode], ...]


class LoopMacro(NamedTuple):
    """A macro over elements; `kept` is the condition of a map macro, if any."""

    kind: str
    of: CelNode
    name: str
    body: CelNode
    kept: CelNode | None = None


class BindMacro(NamedTuple):
    """`cel.bind(name, value, body)`."""

    name: str
    value: CelNode
    body: CelNode


CelNode = (
    CelConstant
    | CelVariable
    | MemberAccess
    | IndexAccess
    | FunctionCall
    | Ternary
    | Logical
    | ListLiteral
    | MapLiteral
    | LoopMacro
    | BindMacro
)


@lru_cache(maxsize=1024)
def parse_expression(expression: str) -> CelNode:
    """Parse an expression into a tree; raises Undecided."""
    parser = _Parser(split_tokens(expression))
    node = parser.parse_ternary()
    parser.expect_end()
    return node


class _Parser:
    """A recursive descent parser: one method per level of precedence, loosest first."""

    def __init__(self, tokens: list[CelToken]) -> None:
        self._tokens = tokens
        self._index = 0

    def _next_token(self) -> CelToken:
        token = self._tokens[self._index]
        self._index += 1
        return token

    def _take_mark(self, *marks: str) -> str | None:
        """Consume and return the next mark if it is one of the given ones, else return None."""
        token = self._tokens[self._index]
        if token.kind in (NUMBER, TEXT) or token.text not in marks:
            return None
        self._index += 1
        return token.text

    def _expect_mark(self, mark: str) -> None:
        if self._take_mark(mark) is None:
            raise Undecided(f"`{mark}` is missing in the expression")

    def expect_end(self) -> None:
        """Raise Undecided if tokens are left."""
        self._expect_mark("")

    def parse_ternary(self) -> CelNode:
        condition = self._parse_or()
        if not self._take_mark("?"):
            return condition
        yes = self._parse_or()
        self._expect_mark(":")
        return Ternary(condition, yes, self.parse_ternary())

    def _parse_or(self) -> CelNode:
        left = self._parse_and()
        while self._take_mark("||"):
            left = Logical(left, self._parse_and(), is_disjunction=True)
        return left

    def _parse_and(self) -> CelNode:
        left = self._parse_binary(0)
        while self._take_mark("&&"):
            left = Logical(left, self._parse_binary(0), is_disjunction=False)
        return left

    def _parse_binary(self, level: int) -> CelNode:
        if level == len(BINARY):
            return self._parse_unary()
        left = self._parse_binary(level + 1)
        while (mark := self._take_mark(*BINARY[level])) is not None:
            left = FunctionCall(mark, (left, self._parse_binary(level + 1)))
        return left

    def _parse_unary(self) -> CelNode:
        mark = self._take_mark("!", "-")
        if mark is None:
            return self._parse_member()
        of = self._parse_unary()
        if mark == "-" and isinstance(of, CelConstant) and isinstance(of.value, int | float):
            return CelConstant(-of.value)
        return FunctionCall("!" if mark == "!" else "negated", (of,))

    def _parse_member(self) -> CelNode:
        node = self._parse_primary()
        while (mark := self._take_mark(".", "[")) is not None:
            if mark == "[":
                node = IndexAccess(node, self.parse_ternary())
                self._expect_mark("]")
                continue
            token = self._next_token()
            if token.kind != WORD:
                raise Undecided("a name is missing in the expression")
            name = token.text
            node = self._parse_method_call(node, name) if self._take_mark("(") else MemberAccess(node, name)
        return node

    def _parse_arguments(self, until: str) -> list[CelNode]:
        arguments: list[CelNode] = []
        while not self._take_mark(until):
            if arguments:
                self._expect_mark(",")
                if self._take_mark(until):
                    break
            arguments.append(self.parse_ternary())
        return arguments

    def _parse_method_call(self, of: CelNode, name: str) -> CelNode:
        arguments = self._parse_arguments(")")
        if isinstance(of, CelVariable) and (of.name, name) == BIND and len(arguments) == 3:
            return BindMacro(_variable_name(arguments[0]), arguments[1], arguments[2])
        if len(arguments) in LOOPS.get(name, ()):
            condition = arguments[1] if len(arguments) == 3 else None
            return LoopMacro(name, of, _variable_name(arguments[0]), arguments[-1], condition)
        return FunctionCall(name, (of, *arguments))

    def _parse_primary(self) -> CelNode:
        token = self._next_token()
        if token.kind in (NUMBER, TEXT):
            return CelConstant(token.value)
        if token.text in CONSTANTS:
            return CelConstant(CONSTANTS[token.text])
        if token.kind == WORD:
            return self._parse_function_call(token.text) if self._take_mark("(") else CelVariable(token.text)
        if token.text == "(":
            node = self.parse_ternary()
            self._expect_mark(")")
            return node
        return self._parse_collection(token.text)

    def _parse_collection(self, mark: str) -> CelNode:
        if mark == "[":
            return ListLiteral(tuple(self._parse_arguments("]")))
        if mark != "{":
            raise Undecided(f"`{mark}` is not expected in the expression")
        pairs: list[tuple[CelNode, CelNode]] = []
        while not self._take_mark("}"):
            if pairs:
                self._expect_mark(",")
            key = self.parse_ternary()
            self._expect_mark(":")
            pairs.append((key, self.parse_ternary()))
        return MapLiteral(tuple(pairs))

    def _parse_function_call(self, name: str) -> CelNode:
        arguments = self._parse_arguments(")")
        if name != "has":
            return FunctionCall(name, tuple(arguments))
        if len(arguments) != 1 or not isinstance(arguments[0], MemberAccess):
            raise Undecided("has() asks for one member")
        return arguments[0]._replace(is_presence_test=True)


def _variable_name(node: CelNode) -> str:
    if not isinstance(node, CelVariable):
        raise Undecided("a macro names its variable first")
    return node.name


NUMBER, TEXT, WORD, MARK = "number", "text", "word", "mark"
_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*
    |(?P<number>0x[0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)(?P<unsigned>[uU]?)
    |(?P<raw>[rR]?)(?P<text>"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL | re.IGNORECASE
)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {
    mark: mark for mark in "\\\"'`?"
}


class CelToken(NamedTuple):
    """A token; `value` is set for numbers and texts."""

    kind: str
    text: str
    value: object = None


def split_tokens(expression: str) -> list[CelToken]:
    """The tokens, with an empty mark at the end; raises Undecided."""
    tokens: list[CelToken] = []
    position = 0
    while position < len(expression):
        match = _TOKEN.match(expression, position)
        if match is None or match["unsigned"]:
            raise Undecided(f"the expression is not understood from {expression[position : position + 20]!r} on")
        position = match.end()
        if match.lastgroup is not None:
            tokens.append(_make_token(match))
    return [*tokens, CelToken(MARK, "")]


def _make_token(match: re.Match[str]) -> CelToken:
    if match["number"] is not None:
        return CelToken(NUMBER, match["number"], _parse_number(match["number"]))
    if match["text"] is not None:
        width = 3 if match["text"][:3] in ('"""', "'''") and len(match["text"]) >= 6 else 1
        inside = match["text"][width:-width]
        return CelToken(TEXT, match["text"], inside if match["raw"] else _ESCAPE.sub(_unescape_match, inside))
    return CelToken(WORD, match["word"]) if match["word"] else CelToken(MARK, match["mark"])


def _parse_number(text: str) -> int | float:
    if text[:2] != "0x" and any(mark in text for mark in ".eE"):
        return float(text)
    number = int(text, 0 if text[:2] == "0x" else 10)
    if number > MAX_INT64:
        raise Undecided(f"{text} is beyond int64")
    return number


def _unescape_match(match: re.Match[str]) -> str:
    code = next((digits for digits in match.groups()[:3] if digits), None)
    if code is not None or match[4]:
        return chr(int(code, 16) if code is not None else int(match[4], 8))
    if match[5] not in _ESCAPED:
        raise Undecided(f"`\\{match[5]}` is not known")
    return _ESCAPED[match[5]]
