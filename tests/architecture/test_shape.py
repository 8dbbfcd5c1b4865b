"""The structure of the code: flat class hierarchies, no import cycles, no unimplemented methods."""

import ast
import importlib
import inspect
from collections.abc import Iterator, Mapping

import pytest

from tests.architecture.source_tree import ENGINE_ROOMS, PACKAGE, Function, Source, sources

FRONT = ("tui", "views", "cli", "files")
ROOMS = (*FRONT, *(room for room in ENGINE_ROOMS if room not in FRONT), "capture")
STACKED = 2
"""Maximum depth of our class hierarchies below a library's class."""

Graph = Mapping[str, list[str]]


def name_of(source: Source) -> str:
    parts = source.path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def imports(tree: ast.AST, known: Mapping[str, Source], *, for_types: bool, in_functions: bool = True) -> Iterator[str]:
    """Yield our modules that a module imports; `in_functions` includes imports inside functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function) and not in_functions:
            continue
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            if for_types:
                yield from imports(node, known, for_types=True, in_functions=in_functions)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield whole if whole in known else node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif not isinstance(node, ast.expr):
            yield from imports(node, known, for_types=for_types, in_functions=in_functions)


def graph(found: list[Source], *, for_types: bool, in_functions: bool = True) -> Graph:
    known = {name_of(source): source for source in found}
    return {
        name: [
            target
            for target in dict.fromkeys(imports(source.tree, known, for_types=for_types, in_functions=in_functions))
            if target in known
        ]
        for name, source in known.items()
    }


def circles(edges: Graph) -> list[list[str]]:
    """The modules in import cycles: those left after repeatedly removing modules without imports or importers."""
    left = dict(edges)
    while True:
        wanted = {target for name, targets in left.items() for target in targets}
        ends = [name for name, targets in left.items() if name not in wanted or not any(one in left for one in targets)]
        if not ends:
            return [[name, *(one for one in targets if one in left)] for name, targets in left.items()]
        left = {name: targets for name, targets in left.items() if name not in ends}


def test_circles_are_found() -> None:
    assert [] == circles({"a": ["b"], "b": ["c"], "c": []})
    assert [["b", "c"], ["c", "b"]] == circles({"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []})


def test_no_module_imports_itself_over_others() -> None:
    assert [] == circles(graph(sources(), for_types=False))


def test_type_only_imports_of_the_front_ends_form_no_cycle() -> None:
    assert [] == circles(graph(sources(*FRONT), for_types=True))


def classes(room: str) -> Iterator[type]:
    for source in sources(room):
        module = importlib.import_module(name_of(source))
        yield from (one for _, one in inspect.getmembers(module, inspect.isclass) if one.__module__ == module.__name__)


def depth(kind: type) -> int:
    """The number of our classes in the inheritance chain of a class."""
    above = [depth(base) for base in kind.__bases__ if base.__module__.startswith("vcdebug.")]
    return 1 + max(above, default=0)


@pytest.mark.parametrize("room", ROOMS)
def test_no_class_is_deep_below_a_library_class(room: str) -> None:
    assert [] == [f"{kind.__module__}.{kind.__name__}" for kind in classes(room) if depth(kind) > STACKED]


def test_front_ends_raise_no_not_implemented_error() -> None:
    raised = [
        source.where(node)
        for source in sources(*FRONT)
        for node in source.nodes
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)
    ]
    assert [] == raised
