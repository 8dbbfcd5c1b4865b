"""Functions and modules stay small enough to be read at once."""

import ast

import pytest

from tests.architecture.source_tree import ROOT, Function, Source, length, parse, sources

MAX_FUNCTION = 60
MAX_NESTED_FUNCTION = 5
MAX_MODULE = 500
VAGUE_NAMES = {"utils.py", "util.py", "helpers.py", "helper.py", "common.py", "misc.py", "manager.py"}


def checked() -> list[Source]:
    return sources() + [parse(path) for path in sorted((ROOT / "tests").rglob("*.py"))]


def nested_functions(function: Function) -> list[Function]:
    return [node for node in ast.walk(function) if isinstance(node, Function) and node is not function]


def test_no_function_is_longer_than_sixty_lines() -> None:
    found = [
        f"{source.where(function)} {function.name}: {length(function)} lines"
        for source in checked()
        for function in source.functions()
        if length(function) > MAX_FUNCTION
    ]
    assert [] == found


def test_no_nested_function_is_longer_than_five_lines() -> None:
    found = [
        f"{source.where(inner)} {outer.name}.{inner.name}: {length(inner)} lines"
        for source in sources()
        for outer in source.functions()
        for inner in nested_functions(outer)
        if length(inner) > MAX_NESTED_FUNCTION
    ]
    assert [] == found


def test_no_module_is_longer_than_five_hundred_lines() -> None:
    found = [f"{source.where()}: {len(source.lines)} lines" for source in checked() if len(source.lines) > MAX_MODULE]
    assert [] == found


@pytest.mark.parametrize("name", sorted(VAGUE_NAMES))
def test_no_module_has_a_generic_name(name: str) -> None:
    assert [] == [source.where() for source in checked() if source.path.name == name]
