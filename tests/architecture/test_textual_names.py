"""Private names of Textual change without notice: the program uses none, the tests as few as possible."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import textual
from textual.message_pump import MessagePump

import vcdebug.tui
from tests.architecture.source_tree import ROOT, parse, sources

MAX_IN_TESTS = 28
"""Limit of uses in tests/. drawing, settling and starting need Textual's internals, which have no public API: a frame
without a terminal, due frames, rules parsed once per process. Lower the limit when a use is removed."""
PUBLIC_THOUGH_UNDERSCORED = {"_asdict", "_replace", "_make", "_fields", "_exit"}
"""Public names with an underscore, of named tuples and of os."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined_names(tree: ast.AST) -> Iterator[str]:
    """Names that a tree binds: attributes, functions, names of a class or module."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


@cache
def names_of_textual() -> frozenset[str]:
    """Every private name that Textual's own sources bind."""
    (folder,) = textual.__path__
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in Path(folder).rglob("*.py"))
    return frozenset(name for tree in trees for name in defined_names(tree) if is_private(name))


def private_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in names if name.startswith("textual.") and "._" in name)


def private_uses(tree: ast.Module, own: set[str]) -> Iterator[str]:
    """Private names of Textual that a module reads or sets on an object, unless this code base binds them itself."""
    yield from private_imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names_of_textual() - PUBLIC_THOUGH_UNDERSCORED - own:
            yield node.attr


def uses_by_file(paths: list[Path]) -> list[str]:
    """The uses of private names by file; names that these files define themselves are excluded."""
    trees = {path: parse(path).tree for path in paths if "textual" in path.read_text(encoding="utf-8")}
    own = {name for tree in trees.values() for name in names_set_on_self(tree)}
    return [f"{path.relative_to(ROOT)} {name}" for path, tree in trees.items() for name in private_uses(tree, own)]


def names_set_on_self(tree: ast.AST) -> Iterator[str]:
    """Names that classes bind: `self._x = ...`, methods and fields."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name
            case ast.ClassDef():
                yield from (
                    name for each in node.body if not isinstance(each, ast.ClassDef) for name in fields_of(each)
                )


def fields_of(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
    return []


@cache
def private_names_of(kind: type) -> set[str]:
    """Every private name that the source of one class mentions on `self` or binds."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind)))
    bound = {name for name in names_set_on_self(tree) if is_private(name)}
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_private(node.attr))
    return bound | {node.attr for node in read if isinstance(node.value, ast.Name) and node.value.id == "self"}


def shared_names(kind: type) -> set[str]:
    """Private names that a class has in common with the classes of Textual that it derives from."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("textual")]
    return private_names_of(kind) & {name for base in bases for name in private_names_of(base)}


def widget_classes() -> Iterator[type]:
    """Our classes that derive from classes of Textual."""
    for found in pkgutil.walk_packages(vcdebug.tui.__path__, "vcdebug.tui."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == found.name and issubclass(kind, MessagePump):
                yield kind


def test_the_program_uses_no_private_name_of_textual() -> None:
    assert [] == uses_by_file([source.path for source in sources("tui")])


def test_no_widget_hides_a_private_name_of_the_class_that_it_derives_from() -> None:
    assert [] == [f"{kind.__name__} {name}" for kind in widget_classes() for name in sorted(shared_names(kind))]


def test_the_tests_use_no_more_private_names_of_textual_than_now() -> None:
    found = uses_by_file(sorted((ROOT / "tests").rglob("*.py")))
    assert MAX_IN_TESTS >= len(found), found


def test_checks_find_private_names_of_textual() -> None:
    text = (
        "from textual._compositor import Compositor\nself._bindings.update()\nself._own = 1\nself._own\nrow._replace()"
    )
    tree = ast.parse(text)
    assert ["textual._compositor", "_bindings"] == list(private_uses(tree, {*names_set_on_self(tree)}))

    class Hiding(textual.app.App[int]):
        _exit = False

    assert {"_exit"} == shared_names(Hiding)
