"""Expressions as trees.

Upstream: cel-go parser.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from vcdebug.kube.cel.tokens import NUMBER, TEXT, WORD, Token, tokens
from vcdebug.kube.undecided import Undecided

BINARY: Final = (("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
"""Operators, the loosest first."""
CONSTANTS: Final = {"true": True, "false": False, "null": None}
LOOPS: Final = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
"""Macros over the elements of a list or the keys of a map, and how many arguments they have."""
BIND: Final = ("cel", "bind")


class Constant(NamedTuple):
    """A number, a text, true, false or null."""

    value: object


class Name(NamedTuple):
    """A variable."""

    name: str


class Member(NamedTuple):
    """`of.name`; `tested` asks whether it is there."""

    of: Node
    name: str
    tested: bool = False


class Item(NamedTuple):
    """`of[key]`."""

    of: Node
    key: Node


class Call(NamedTuple):
    """A function or an operator; a method has what it is called on as its first argument."""

    function: str
    arguments: tuple[Node, ...]


class Choice(NamedTuple):
    """`condition ? yes : no`."""

    condition: Node
    yes: Node
    no: Node


class Both(NamedTuple):
    """`&&`, and `||` where one of them is enough."""

    left: Node
    right: Node
    either: bool


class Items(NamedTuple):
    """A list."""

    items: tuple[Node, ...]


class Pairs(NamedTuple):
    """A map."""

    pairs: tuple[tuple[Node, Node], ...]


class Loop(NamedTuple):
    """A macro over elements; `kept` is map's condition where it has one."""

    kind: str
    of: Node
    name: str
    body: Node
    kept: Node | None = None


class Bind(NamedTuple):
    """`cel.bind(name, value, body)`."""

    name: str
    value: Node
    body: Node


Node = Constant | Name | Member | Item | Call | Choice | Both | Items | Pairs | Loop | Bind


@lru_cache(maxsize=1024)
def parsed(expression: str) -> Node:
    """The tree; raises Undecided."""
    parser = _Parser(tokens(expression))
    node = parser.choice()
    parser.end()
    return node


class _Parser:
    """Reads from the loosest operator down."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _takes(self, *marks: str) -> str | None:
        """The mark that comes next, if it is one of these."""
        token = self._tokens[self._at]
        if token.kind in (NUMBER, TEXT) or token.text not in marks:
            return None
        self._at += 1
        return token.text

    def _expect(self, mark: str) -> None:
        if self._takes(mark) is None:
            raise Undecided(f"`{mark}` is missing in the expression")

    def end(self) -> None:
        """Nothing may be left."""
        self._expect("")

    def choice(self) -> Node:
        condition = self._either()
        if not self._takes("?"):
            return condition
        yes = self._either()
        self._expect(":")
        return Choice(condition, yes, self.choice())

    def _either(self) -> Node:
        left = self._both()
        while self._takes("||"):
            left = Both(left, self._both(), either=True)
        return left

    def _both(self) -> Node:
        left = self._binary(0)
        while self._takes("&&"):
            left = Both(left, self._binary(0), either=False)
        return left

    def _binary(self, level: int) -> Node:
        if level == len(BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while (mark := self._takes(*BINARY[level])) is not None:
            left = Call(mark, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        mark = self._takes("!", "-")
        if mark is None:
            return self._member()
        of = self._unary()
        if mark == "-" and isinstance(of, Constant) and isinstance(of.value, int | float):
            return Constant(-of.value)
        return Call("!" if mark == "!" else "negated", (of,))

    def _member(self) -> Node:
        node = self._primary()
        while (mark := self._takes(".", "[")) is not None:
            if mark == "[":
                node = Item(node, self.choice())
                self._expect("]")
                continue
            name = self._name()
            node = self._called(node, name) if self._takes("(") else Member(node, name)
        return node

    def _name(self) -> str:
        token = self._next()
        if token.kind != WORD:
            raise Undecided("a name is missing in the expression")
        return token.text

    def _arguments(self, until: str) -> list[Node]:
        found: list[Node] = []
        while not self._takes(until):
            if found:
                self._expect(",")
                if self._takes(until):
                    break
            found.append(self.choice())
        return found

    def _called(self, of: Node, name: str) -> Node:
        arguments = self._arguments(")")
        if isinstance(of, Name) and (of.name, name) == BIND and len(arguments) == 3:
            return Bind(_variable(arguments[0]), arguments[1], arguments[2])
        if len(arguments) in LOOPS.get(name, ()):
            kept = arguments[1] if len(arguments) == 3 else None
            return Loop(name, of, _variable(arguments[0]), arguments[-1], kept)
        return Call(name, (of, *arguments))

    def _primary(self) -> Node:
        token = self._next()
        if token.kind in (NUMBER, TEXT):
            return Constant(token.value)
        if token.text in CONSTANTS:
            return Constant(CONSTANTS[token.text])
        if token.kind == WORD:
            return self._function(token.text) if self._takes("(") else Name(token.text)
        if token.text == "(":
            node = self.choice()
            self._expect(")")
            return node
        return self._literal(token.text)

    def _literal(self, mark: str) -> Node:
        if mark == "[":
            return Items(tuple(self._arguments("]")))
        if mark != "{":
            raise Undecided(f"`{mark}` is not expected in the expression")
        pairs: list[tuple[Node, Node]] = []
        while not self._takes("}"):
            if pairs:
                self._expect(",")
            key = self.choice()
            self._expect(":")
            pairs.append((key, self.choice()))
        return Pairs(tuple(pairs))

    def _function(self, name: str) -> Node:
        arguments = self._arguments(")")
        if name != "has":
            return Call(name, tuple(arguments))
        if len(arguments) != 1 or not isinstance(arguments[0], Member):
            raise Undecided("has() asks for one member")
        return arguments[0]._replace(tested=True)


def _variable(node: Node) -> str:
    if not isinstance(node, Name):
        raise Undecided("a macro names its variable first")
    return node.name
