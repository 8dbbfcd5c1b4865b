"""What an expression comes to.

Upstream: cel-go interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.kube.cel.functions import apply_function
from vcdebug.kube.cel.syntax import (
    BindMacro,
    CelConstant,
    CelNode,
    CelVariable,
    FunctionCall,
    IndexAccess,
    ListLiteral,
    Logical,
    LoopMacro,
    MapLiteral,
    MemberAccess,
    Ternary,
    parse_expression,
)
from vcdebug.kube.cel.values import CelError, DeclaredFields, DefaultMap
from vcdebug.kube.undecided import Undecided

CelVariables = Mapping[str, object]


def evaluate_truth(expression: str, names: CelVariables) -> bool:
    """Whether the expression holds; raises CelError and Undecided."""
    try:
        return _require_bool(evaluate_node(parse_expression(expression), names))
    except RecursionError:
        raise Undecided("the expression is nested too deep") from None


def _require_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise Undecided("the expression is neither true nor false")
    return value


def evaluate_node(node: CelNode, names: CelVariables) -> object:
    """The value of a tree; raises CelError and Undecided."""
    match node:
        case CelConstant(value):
            return value
        case CelVariable(name):
            if name not in names:
                raise Undecided(f"the variable {name} is not known")
            return names[name]
        case MemberAccess(of, name, tested):
            where = evaluate_node(of, names)
            return _has_member(where, name) if tested else _get_element(where, name)
        case IndexAccess(of, key):
            return _get_element(evaluate_node(of, names), evaluate_node(key, names))
        case FunctionCall(function, arguments):
            return apply_function(function, [evaluate_node(one, names) for one in arguments])
        case Ternary(condition, yes, no):
            return evaluate_node(yes if _require_bool(evaluate_node(condition, names)) else no, names)
        case Logical():
            return _evaluate_logical(node, names)
        case LoopMacro():
            return _evaluate_loop(node, names)
        case BindMacro(name, value, body):
            return evaluate_node(body, {**names, name: evaluate_node(value, names)})
        case ListLiteral(items):
            return [evaluate_node(one, names) for one in items]
        case MapLiteral(pairs):
            return _evaluate_map(pairs, names)


def _evaluate_map(pairs: tuple[tuple[CelNode, CelNode], ...], names: CelVariables) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        name = evaluate_node(key, names)
        if not isinstance(name, str):
            raise Undecided("keys of maps are texts here")
        found[name] = evaluate_node(value, names)
    return found


def _has_member(where: object, name: str) -> bool:
    if isinstance(where, DeclaredFields) and name not in where:
        raise Undecided(f"there is no field {name}")
    return isinstance(where, DefaultMap) or (isinstance(where, dict) and name in where)


def _get_element(where: object, key: object) -> object:
    """An element; what is no map has no keys."""
    if isinstance(where, list):
        if type(key) is not int or not 0 <= key < len(where):
            raise Undecided("the list has no such element")
        return where[key]
    if type(key) is not str:
        raise Undecided("keys of maps are texts here")
    if isinstance(where, dict) and key in where:
        return where[key]
    if isinstance(where, DeclaredFields):
        raise Undecided(f"there is no field {key}")
    if isinstance(where, DefaultMap):
        return {}
    raise CelError(f"no such key: {key}")


def _evaluate_logical(node: Logical, names: CelVariables) -> bool:
    """One side may decide although the other one fails."""
    failed: CelError | None = None
    for side in (node.left, node.right):
        try:
            if _require_bool(evaluate_node(side, names)) is node.either:
                return node.either
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not node.either


def _evaluate_loop(node: LoopMacro, names: CelVariables) -> object:
    found = evaluate_node(node.of, names)
    if not isinstance(found, list | dict):
        raise Undecided(f"{node.kind} goes over a list or a map")
    scopes = [{**names, node.name: one} for one in found]
    if node.kind in ("all", "exists"):
        return _evaluate_quantifier(node, scopes)
    if node.kind == "exists_one":
        return sum(_require_bool(evaluate_node(node.body, scope)) for scope in scopes) == 1  # exact: ints
    if node.kind == "filter":
        return [scope[node.name] for scope in scopes if _require_bool(evaluate_node(node.body, scope))]
    kept = node.kept or CelConstant(value=True)
    return [evaluate_node(node.body, scope) for scope in scopes if _require_bool(evaluate_node(kept, scope))]


def _evaluate_quantifier(node: LoopMacro, scopes: list[dict[str, object]]) -> bool:
    either = node.kind == "exists"
    failed: CelError | None = None
    for scope in scopes:
        try:
            if _require_bool(evaluate_node(node.body, scope)) is either:
                return either
        except CelError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return not either
