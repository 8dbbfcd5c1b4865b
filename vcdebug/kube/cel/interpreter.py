"""The interpreter of CEL, which parses an expression into functions of its variables. Upstream: cel-go parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Final, NamedTuple

from vcdebug.gomath import MAX_INT64
from vcdebug.kube.cel import CelError, Undecided
from vcdebug.kube.cel.functions import apply_function, get_element, has_member

BINARY: Final = (("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
"""Binary operators by precedence, loosest first."""
CONSTANTS: Final = {"true": True, "false": False, "null": None}
LOOPS: Final = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
"""Macros over list elements or map keys, with the numbers of arguments that they take."""
BIND: Final = ("cel", "bind")


CelVariables = Mapping[str, object]
Evaluate = Callable[[CelVariables], object]
"""The value of an expression; raises CelError and Undecided."""


class CelNode(NamedTuple):
    """A parsed expression."""

    evaluate: Evaluate
    variable: str = ""
    """The name of a variable; empty for any other expression."""
    member: tuple[Evaluate, str] | None = None
    """(owner, name) of `owner.name`; None for any other expression."""


def evaluate_boolean(expression: str, names: CelVariables) -> bool:
    """Whether the expression holds; raises CelError and Undecided."""
    try:
        return _holds(parse_expression(expression), names)
    except RecursionError:
        raise Undecided("the expression is nested too deep") from None


@lru_cache(maxsize=1024)
def parse_expression(expression: str) -> CelNode:
    """Parse an expression; raises Undecided."""
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
        no = self.parse_ternary()
        return CelNode(lambda names: (yes if _holds(condition, names) else no).evaluate(names))

    def _parse_or(self) -> CelNode:
        conditions = [self._parse_and()]
        while self._take_mark("||"):
            conditions.append(self._parse_and())
        return _joined_conditions(conditions, either=True)

    def _parse_and(self) -> CelNode:
        conditions = [self._parse_binary(0)]
        while self._take_mark("&&"):
            conditions.append(self._parse_binary(0))
        return _joined_conditions(conditions, either=False)

    def _parse_binary(self, level: int) -> CelNode:
        if level == len(BINARY):
            return self._parse_unary()
        left = self._parse_binary(level + 1)
        while (mark := self._take_mark(*BINARY[level])) is not None:
            left = _call_of(mark, left, self._parse_binary(level + 1))
        return left

    def _parse_unary(self) -> CelNode:
        mark = self._take_mark("!", "-")
        if mark is None:
            return self._parse_member()
        return _call_of("!" if mark == "!" else "negated", self._parse_unary())

    def _parse_member(self) -> CelNode:
        node = self._parse_primary()
        while (mark := self._take_mark(".", "[")) is not None:
            if mark == "[":
                node = _element_of(node, self.parse_ternary())
                self._expect_mark("]")
                continue
            token = self._next_token()
            if token.kind != WORD:
                raise Undecided("a name is missing in the expression")
            name = token.text
            node = self._parse_method_call(node, name) if self._take_mark("(") else _member_of(node, name)
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
        if (of.variable, name) == BIND and len(arguments) == 3:
            bound, value, body = _variable_name(arguments[0]), arguments[1], arguments[2]
            return CelNode(lambda names: body.evaluate({**names, bound: value.evaluate(names)}))
        if len(arguments) in LOOPS.get(name, ()):
            condition = arguments[1] if len(arguments) == 3 else None
            return CelNode(partial(_run_loop, name, of, _variable_name(arguments[0]), arguments[-1], condition))
        return _call_of(name, of, *arguments)

    def _parse_primary(self) -> CelNode:
        token = self._next_token()
        if token.kind in (NUMBER, TEXT):
            return CelNode(lambda _: token.value)
        if token.text in CONSTANTS:
            return CelNode(lambda _: CONSTANTS[token.text])
        if token.kind == WORD:
            return self._parse_function_call(token.text) if self._take_mark("(") else _variable_of(token.text)
        if token.text == "(":
            node = self.parse_ternary()
            self._expect_mark(")")
            return node
        return self._parse_collection(token.text)

    def _parse_collection(self, mark: str) -> CelNode:
        if mark == "[":
            items = self._parse_arguments("]")
            return CelNode(lambda names: [item.evaluate(names) for item in items])
        if mark != "{":
            raise Undecided(f"`{mark}` is not expected in the expression")
        pairs: list[tuple[CelNode, CelNode]] = []
        while not self._take_mark("}"):
            if pairs:
                self._expect_mark(",")
            key = self.parse_ternary()
            self._expect_mark(":")
            pairs.append((key, self.parse_ternary()))
        return CelNode(partial(_make_map, pairs))

    def _parse_function_call(self, name: str) -> CelNode:
        arguments = self._parse_arguments(")")
        if name != "has":
            return _call_of(name, *arguments)
        member = arguments[0].member if len(arguments) == 1 else None
        if member is None:
            raise Undecided("has() asks for one member")
        owner, key = member
        return CelNode(lambda names: has_member(owner(names), key))


def _variable_name(node: CelNode) -> str:
    if not node.variable:
        raise Undecided("a macro names its variable first")
    return node.variable


def _variable_of(name: str) -> CelNode:
    def look_up(names: CelVariables) -> object:
        if name not in names:
            raise Undecided(f"the variable {name} is not known")
        return names[name]

    return CelNode(look_up, variable=name)


def _member_of(owner: CelNode, name: str) -> CelNode:
    return CelNode(lambda names: get_element(owner.evaluate(names), name), member=(owner.evaluate, name))


def _element_of(owner: CelNode, key: CelNode) -> CelNode:
    return CelNode(lambda names: get_element(owner.evaluate(names), key.evaluate(names)))


def _call_of(function: str, *arguments: CelNode) -> CelNode:
    """A call of a function, operator or method; a method's receiver is the first argument."""
    return CelNode(lambda names: apply_function(function, [argument.evaluate(names) for argument in arguments]))


def _joined_conditions(conditions: list[CelNode], *, either: bool) -> CelNode:
    """The conditions joined by `||` for `either`, else by `&&`; side by side, so that a long chain is not deep."""
    joined = CelNode(lambda names: _decide(((condition, names) for condition in conditions), either=either))
    return joined if len(conditions) > 1 else conditions[0]


def _holds(node: CelNode, names: CelVariables) -> bool:
    value = node.evaluate(names)
    if not isinstance(value, bool):
        raise Undecided("the expression is neither true nor false")
    return value


def _decide(conditions: Iterable[tuple[CelNode, CelVariables]], *, either: bool) -> bool:
    """Whether a condition holds (`either`), or all do. CEL evaluates all: an error counts only if no other decides."""
    failed: CelError | None = None
    for condition, names in conditions:
        try:
            if _holds(condition, names) is either:
                return either
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not either


def _make_map(pairs: Iterable[tuple[CelNode, CelNode]], names: CelVariables) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, value in pairs:
        name = key.evaluate(names)
        if not isinstance(name, str):
            raise Undecided("keys of maps are texts here")
        result[name] = value.evaluate(names)
    return result


def _run_loop(
    kind: str, of: CelNode, name: str, body: CelNode, condition: CelNode | None, names: CelVariables
) -> object:
    """The value of a macro over list elements or map keys; `condition` is that of a map macro, if any."""
    container = of.evaluate(names)
    if not isinstance(container, list | dict):
        raise Undecided(f"{kind} goes over a list or a map")
    scopes = [{**names, name: item} for item in container]
    if kind in ("all", "exists"):
        return _decide([(body, scope) for scope in scopes], either=kind == "exists")
    if kind == "exists_one":
        return sum(_holds(body, scope) for scope in scopes) == 1  # exact: ints
    if kind == "filter":
        return [scope[name] for scope in scopes if _holds(body, scope)]
    return [body.evaluate(scope) for scope in scopes if condition is None or _holds(condition, scope)]


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
