"""What an expression comes to.

Upstream: cel-go interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.kube.cel.functions import applied
from vcdebug.kube.cel.syntax import (
    Bind,
    Both,
    Call,
    Choice,
    Constant,
    Item,
    Items,
    Loop,
    Member,
    Name,
    Node,
    Pairs,
    parsed,
)
from vcdebug.kube.cel.values import CelError, DefaultMap, Fields
from vcdebug.kube.undecided import Undecided

Names = Mapping[str, object]


def truth(expression: str, names: Names) -> bool:
    """Whether the expression holds; raises CelError and Undecided."""
    try:
        return _truth(evaluated(parsed(expression), names))
    except RecursionError:
        raise Undecided("the expression is nested too deep") from None


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise Undecided("the expression is neither true nor false")
    return value


def evaluated(node: Node, names: Names) -> object:
    """The value of a tree; raises CelError and Undecided."""
    match node:
        case Constant(value):
            return value
        case Name(name):
            if name not in names:
                raise Undecided(f"the variable {name} is not known")
            return names[name]
        case Member(of, name, tested):
            where = evaluated(of, names)
            return _has(where, name) if tested else _found(where, name)
        case Item(of, key):
            return _found(evaluated(of, names), evaluated(key, names))
        case Call(function, arguments):
            return applied(function, [evaluated(one, names) for one in arguments])
        case Choice(condition, yes, no):
            return evaluated(yes if _truth(evaluated(condition, names)) else no, names)
        case Both():
            return _both(node, names)
        case Loop():
            return _loop(node, names)
        case Bind(name, value, body):
            return evaluated(body, {**names, name: evaluated(value, names)})
        case Items(items):
            return [evaluated(one, names) for one in items]
        case Pairs(pairs):
            return _map(pairs, names)


def _map(pairs: tuple[tuple[Node, Node], ...], names: Names) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        name = evaluated(key, names)
        if not isinstance(name, str):
            raise Undecided("keys of maps are texts here")
        found[name] = evaluated(value, names)
    return found


def _has(where: object, name: str) -> bool:
    if isinstance(where, Fields) and name not in where:
        raise Undecided(f"there is no field {name}")
    return isinstance(where, DefaultMap) or (isinstance(where, dict) and name in where)


def _found(where: object, key: object) -> object:
    """An element; what is no map has no keys."""
    if isinstance(where, list):
        if type(key) is not int or not 0 <= key < len(where):
            raise Undecided("the list has no such element")
        return where[key]
    if type(key) is not str:
        raise Undecided("keys of maps are texts here")
    if isinstance(where, dict) and key in where:
        return where[key]
    if isinstance(where, Fields):
        raise Undecided(f"there is no field {key}")
    if isinstance(where, DefaultMap):
        return {}
    raise CelError(f"no such key: {key}")


def _both(node: Both, names: Names) -> bool:
    """One side may decide although the other one fails."""
    failed: CelError | None = None
    for side in (node.left, node.right):
        try:
            if _truth(evaluated(side, names)) is node.either:
                return node.either
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not node.either


def _loop(node: Loop, names: Names) -> object:
    found = evaluated(node.of, names)
    if not isinstance(found, list | dict):
        raise Undecided(f"{node.kind} goes over a list or a map")
    scopes = [{**names, node.name: one} for one in found]
    if node.kind in ("all", "exists"):
        return _folded(node, scopes)
    if node.kind == "exists_one":
        return sum(_truth(evaluated(node.body, scope)) for scope in scopes) == 1  # exact: ints
    if node.kind == "filter":
        return [scope[node.name] for scope in scopes if _truth(evaluated(node.body, scope))]
    kept = node.kept or Constant(value=True)
    return [evaluated(node.body, scope) for scope in scopes if _truth(evaluated(kept, scope))]


def _folded(node: Loop, scopes: list[dict[str, object]]) -> bool:
    either = node.kind == "exists"
    failed: CelError | None = None
    for scope in scopes:
        try:
            if _truth(evaluated(node.body, scope)) is either:
                return either
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not either
