"""Readability figures of the package. No figure may get worse; after an improvement, tighten its limit here.

A change that needs more raises the limit in its row of AT_MOST.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture.source_tree import Function, Source, sources
from tests.architecture.test_shape import Graph, circles, graph, name_of

SMALL_MODULE = 40
SHORT_MODULE = 80
ONE_WORD = re.compile(r"_?[a-z0-9]+")


def function_names() -> list[str]:
    names = (function.name for source in sources() for function in source.functions())
    return [name for name in names if not name.startswith("__")]


def words_per_function_name() -> float:
    names = function_names()
    return sum(len([word for word in name.split("_") if word]) for name in names) / len(names)


def one_word_function_names() -> float:
    names = function_names()
    return 100 * len([name for name in names if ONE_WORD.fullmatch(name)]) / len(names)


def class_names_with_two_meanings() -> float:
    names = Counter(
        node.name
        for source in sources()
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return 100 * len([name for name, count in names.items() if count > 1]) / len(names)


def is_header(node: ast.stmt) -> bool:
    """Whether the statement belongs to a module's header: docstring, imports, type-checking imports."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def header_length(source: Source) -> int:
    first = next((node for node in source.tree.body if not is_header(node)), None)
    if first is None:
        return len(source.lines)
    decorators = first.decorator_list if isinstance(first, Function | ast.ClassDef) else []
    return min([first.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def total_lines() -> int:
    return sum(len(source.lines) for source in sources())


def lines_before_the_first_statement() -> float:
    return 100 * sum(map(header_length, sources())) / total_lines()


def comment_lines() -> float:
    return 100 * sum(line.strip().startswith("#") for source in sources() for line in source.lines) / total_lines()


def modules() -> int:
    return len(sources())


def small_modules() -> int:
    return len([source for source in sources() if len(source.lines) < SMALL_MODULE])


def module_level_graph() -> Graph:
    return graph(sources(), for_types=True, in_functions=False)


def short_modules_with_one_importer() -> int:
    importers = Counter(target for targets in module_level_graph().values() for target in targets)
    return len([each for each in sources() if len(each.lines) < SHORT_MODULE and importers[name_of(each)] == 1])


def modules_in_circles() -> int:
    """The number of modules in import cycles, including type-checking imports, which a reader has to follow too."""
    return len(circles(module_level_graph()))


AT_LEAST: list[tuple[Callable[[], float], float]] = [(words_per_function_name, 2.15), (comment_lines, 1.0)]
AT_MOST: list[tuple[Callable[[], float], float]] = [
    (one_word_function_names, 5),
    (class_names_with_two_meanings, 0),
    (lines_before_the_first_statement, 9.7),
    (modules, 497),
    (small_modules, 35),
    (short_modules_with_one_importer, 3),
    (modules_in_circles, 0),
    (total_lines, 116_280),
]


def says(figure: Callable[[], float]) -> str:
    return (
        f"{figure.__name__} of vcdebug/: {figure():,}; shorten something, or raise the limit in {Path(__file__).name}"
    )


@pytest.mark.parametrize(("figure", "limit"), AT_LEAST)
def test_a_figure_is_at_least_its_limit(figure: Callable[[], float], limit: float) -> None:
    assert limit <= figure(), says(figure)


@pytest.mark.parametrize(("figure", "limit"), AT_MOST)
def test_a_figure_is_at_most_its_limit(figure: Callable[[], float], limit: float) -> None:
    assert limit >= figure(), says(figure)
