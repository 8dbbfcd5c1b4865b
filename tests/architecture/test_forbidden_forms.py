"""Forbidden forms: sums and divisions unlike Go's, unordered iteration, swallowed errors, paths of one machine."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.architecture.source_tree import DECISION_ROOMS, ENGINE_ROOMS, PACKAGE, ROOT, Source, sources

# NumPy sums pairwise and Python 3.12 compensates; both differ in the last bits from Go's left-to-right loop.
UNORDERED_SUMS = {"sum", "fsum", "nansum", "dot", "vdot", "inner", "matmul", "einsum", "mean", "average", "var", "std"}
EXACT = "exact: ints"
BOUNDARY = "boundary:"
MOST_OPEN_TYPES = 60
SETS = ("set", "frozenset")


def called_name(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr="reduce", value=ast.Attribute(attr="add")):
            return "sum"
        case ast.Attribute(attr=name):
            return name
    return ""


def unordered_sums(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and called_name(node) in UNORDERED_SUMS and not source.excused(node, EXACT):
            yield f"{source.where(node)} {called_name(node)}()"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield f"{source.where(node)} @"


def floored(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Call) and called_name(node) == "divmod" and not source.excused(node, EXACT):
            yield f"{source.where(node)} divmod()"
        operator = node.op if isinstance(node, ast.BinOp | ast.AugAssign) else None
        if not isinstance(operator, ast.FloorDiv | ast.Mod) or source.excused(node, EXACT):
            continue
        left = node.left if isinstance(node, ast.BinOp) else None
        if isinstance(left, ast.JoinedStr) or (isinstance(left, ast.Constant) and isinstance(left.value, str)):
            continue
        yield f"{source.where(node)} {'//' if isinstance(operator, ast.FloorDiv) else '%'}"


def is_set(node: ast.AST | None, names: set[str]) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name)) if name in SETS:
            return True
        case ast.Name(id=name):
            return name in names
        case ast.BinOp(left=left, right=right, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
            return is_set(left, names) or is_set(right, names)
    return False


def set_names(tree: ast.AST) -> set[str]:
    """Names that this tree binds only to sets."""
    bound: dict[str, bool] = {}
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets, value = node.targets, is_set(node.value, set())
        elif isinstance(node, ast.AnnAssign):
            targets, value = [node.target], ast.unparse(node.annotation).startswith(SETS)
        for target in targets:
            if isinstance(target, ast.Name):
                bound[target.id] = bound.get(target.id, True) and value
    return {name for name, always in bound.items() if always}


def iterated(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.For(iter=walked) | ast.comprehension(iter=walked):
            return [walked]
        case ast.Call(func=ast.Name(id="list" | "tuple" | "enumerate" | "iter" | "next" | "map" | "zip"), args=args):
            return args
        case ast.Starred(value=value):
            return [value]
    return []


def may_hold_sets(source: Source) -> bool:
    """Whether the file contains a set or an annotation of one."""
    said = (getattr(node, "id", "") or getattr(node, "value", "") for node in source.nodes)
    sets = any(isinstance(node, ast.Set | ast.SetComp) for node in source.nodes)
    return sets or any(isinstance(name, str) and name.startswith(SETS) for name in said)


def set_iterations(source: Source) -> Iterator[str]:
    for scope in source.functions() if may_hold_sets(source) else ():
        names = set_names(scope)
        for node in ast.walk(scope):
            for walked in iterated(node):
                if is_set(walked, names):
                    yield f"{source.where(walked)} {ast.unparse(walked)}"


def blind_handlers(source: Source) -> list[ast.ExceptHandler]:
    blind = {"Exception", "BaseException"}
    return [
        node
        for node in source.nodes
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or any(isinstance(n, ast.Name) and n.id in blind for n in ast.walk(node.type)))
    ]


def test_no_decision_adds_floats_in_another_order_than_go() -> None:
    found = [found for source in sources(*DECISION_ROOMS) for found in unordered_sums(source)]
    assert [] == found, f"add in a loop, or write `# {EXACT}` on the line where no operand is a float"


def test_no_decision_floors_where_go_truncates() -> None:
    assert [] == [found for source in sources(*DECISION_ROOMS) for found in floored(source)]


def test_the_engine_iterates_over_no_set() -> None:
    assert [] == [found for source in sources(*ENGINE_ROOMS) for found in set_iterations(source)]


def test_a_blind_except_is_only_at_the_three_boundaries() -> None:
    survey = PACKAGE / "explain" / "pending" / "survey.py"
    engine = [source for source in sources(*ENGINE_ROOMS, "capture") if source.path != survey]
    bounds = [source for source in sources("cli", "tui", "explain") if source not in engine]
    inside = [s.where(n) for s in engine for n in blind_handlers(s)]
    unmarked = [s.where(n) for s in bounds for n in blind_handlers(s) if not s.excused(n, BOUNDARY)]
    assert [] == inside + unmarked
    assert 1 >= sum(len(blind_handlers(source)) for source in sources("explain"))
    assert 1 >= sum(len(blind_handlers(source)) for source in sources("cli"))
    assert 1 >= sum(len(blind_handlers(source)) for source in sources("tui"))


def misplaced_docstrings(source: Source) -> Iterator[str]:
    """Strings that document nothing: what they were about has moved away."""
    for parent in source.nodes:
        body = getattr(parent, "body", None)
        for before, node in pairwise(body if isinstance(body, list) else []):
            is_text = isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)
            if is_text and not isinstance(before, ast.Assign | ast.AnnAssign):
                yield source.where(node)


def test_each_docstring_stands_below_what_it_documents() -> None:
    assert [] == [found for source in sources() for found in misplaced_docstrings(source)]


def test_a_module_names_its_upstream_once() -> None:
    assert [] == [
        source.where() for source in sources() if (ast.get_docstring(source.tree) or "").count("Upstream:") > 1
    ]


@pytest.mark.parametrize("room", ["framework", "plugins", "actions"])
def test_each_module_says_where_upstream_has_it(room: str) -> None:
    registry = ROOT / "vcdebug" / room / "__init__.py"
    silent = [s.where() for s in sources(room) if "Upstream: " not in "\n".join(s.lines) and s.path != registry]
    assert [] == silent, (
        "its docstring needs `Upstream: plugins/gang`, or `Upstream: none` for what only this program has"
    )


def test_the_engine_prints_nothing() -> None:
    printed = [
        source.where(node)
        for source in sources(*ENGINE_ROOMS, "capture", "tui")
        for node in source.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input")
    ]
    assert [] == printed


TEXT_SUFFIXES = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".conf", ".svg", ".tcss", ".cfg", ""}
GENERATED_FOLDERS = {"build", "dist"}
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|Users|work|opt|mnt)/\w")


def text_files(folder: Path = ROOT) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and path.name not in GENERATED_FOLDERS | {"__pycache__"}:
            yield from text_files(path)
        elif path.is_file() and path.suffix in TEXT_SUFFIXES and path.name != ".git":
            yield path


def test_no_file_names_a_path_of_a_machine() -> None:
    """Recorded clusters are exempt: their paths are those of their own nodes."""
    recorded = ROOT / "tests" / "golden"
    hidden = (path for folder in (".ci", ".github") for path in text_files(ROOT / folder))
    files = [path for path in (*text_files(), *hidden) if recorded not in path.parents]
    found = [path.relative_to(ROOT) for path in files if MACHINE_PATH.search(path.read_text(encoding="utf-8"))]
    assert [] == found


def test_the_pins_name_no_index_and_no_folder() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [] == [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9A-Za-z.+!]+", line)]


CACHES = {"lru_cache", "cache", "WeakKeyDictionary", "WeakValueDictionary"}
CACHES_WITHOUT_RECORDING = {
    "vcdebug/recording/recording.py": "the cache that lies in the recording",
    "vcdebug/recording/replay.py": "configurations by their texts",
    "vcdebug/recording/file/form.py": "classes of the program by their names",
    "vcdebug/comparison/logs/message.py": "upstream's own texts, their blanks and patterns",
    "vcdebug/tui/widgets/strokes.py": "colours of the theme by their text",
    "vcdebug/cli/dask_cluster.py": "one unpickled function per worker",
}


def caches(source: Source) -> Iterator[str]:
    for node in source.nodes:
        names = node.names if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.name in CACHES and source.where() not in CACHES_WITHOUT_RECORDING:
                yield f"{source.where(node)} {name.name}"
        if isinstance(node, ast.Attribute) and node.attr in CACHES:
            yield f"{source.where(node)} {node.attr}"


def test_a_cache_that_may_hold_a_recording_lies_in_the_recording() -> None:
    """Caches belong into the recording (see vcdebug/recording/recording.py); module-level ones would keep it alive."""
    rooms = ("recording", "explain", "comparison", "whatif", "debugger", "views", "cli", "tui")
    assert [] == [found for source in sources(*rooms) for found in caches(source)]


BAD = """
from functools import lru_cache, partial
def decide(values, seen: set[str]):
    total = sum(values) + np.sum(values) + values.mean() + np.add.reduce(values)
    half = 7 // 2 + 7 % 2 + divmod(7, 2)[0]
    name = "%s" % half
    fine = sum(values)  # exact: ints
    left = {1, 2} | seen
    for one in left:
        pass
    "of something that has moved away"
    return [x for x in {3, 4}] + list(set(values)) + sorted(set(values))
"""


def test_checks_find_each_forbidden_form() -> None:
    source = Source(ROOT / "bad.py", BAD.splitlines(), ast.parse(BAD))
    assert 4 == len(list(unordered_sums(source)))
    assert 3 == len(list(floored(source)))
    assert ["bad.py:11"] == list(misplaced_docstrings(source))
    assert ["bad.py:2 lru_cache"] == list(caches(source))
    assert ["left", "set(values)", "{3, 4}"] == sorted(found.split(" ", 1)[1] for found in set_iterations(source))


def open_types(source: Source) -> list[int]:
    """The lines that mention Any."""
    nodes = [node for node in source.nodes if getattr(node, "id", getattr(node, "name", "")) == "Any"]
    return sorted({getattr(node, "lineno", 1) for node in nodes})


def sources_except_snapshot() -> list[Source]:
    """All source files except those of vcdebug.snapshot, which handles arbitrary input."""
    return [source for source in sources() if source.path.relative_to(PACKAGE).parts[0] != "snapshot"]


def test_number_of_any_annotations_is_bounded() -> None:
    assert MOST_OPEN_TYPES > sum(len(open_types(source)) for source in sources_except_snapshot())


def test_each_any_annotation_has_a_reason() -> None:
    lines = [(source, line) for source in sources_except_snapshot() for line in open_types(source)]
    silent = [
        f"{source.where()}:{line}"
        for source, line in lines
        if not re.match("from typing import |.*# Any: ", source.lines[line - 1])
    ]
    assert [] == silent
