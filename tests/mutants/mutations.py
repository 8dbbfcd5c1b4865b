"""Generates every small fault of a source file, one edit each.

A fault replaces the text of one syntax node, so that all other lines keep their numbers.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

SCOPE = (
    "vcdebug/actions/**/*.py",
    "vcdebug/framework/statement.py",
    "vcdebug/plugins/**/*.py",
    "vcdebug/explain/pending/gates/**/*.py",
    "vcdebug/tui/keymap.py",
    "vcdebug/tui/key_names.py",
    "vcdebug/tui/main/command_line.py",
    "vcdebug/tui/main/cursor_commands.py",
    "vcdebug/debugger/cursor.py",
    "vcdebug/debugger/debugger.py",
)
COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
"""Replacements of a comparison: its neighbour at equality, and its opposite."""


class Mutant(NamedTuple):
    """One fault: the text from `start` to `end` of a file, in bytes, replaced."""

    path: str
    line: int
    start: int
    end: int
    kind: str
    text: str
    """The replacement text."""
    source: str
    """The original line without indentation."""

    @property
    def key(self) -> str:
        """The key of the fault in results, and in the list of equivalent ones."""
        return f"{self.path}:{self.line}:{self.start}:{self.kind}:{self.text}"

    @property
    def shown(self) -> str:
        """A description of the fault without line numbers."""
        return f"{self.path}: {self.kind}: `{self.source}` with `{self.text}`"

    def applied_to(self, content: bytes) -> bytes:
        """The content of the file with the fault."""
        return content[: self.start] + self.text.encode() + content[self.end :]


class SourceText:
    """Maps syntax nodes to their text; ast.get_source_segment would split the whole file for each node."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._starts = [0]
        for line in content.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def bounds_of(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """The byte offsets of a node's start and end."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text_of(self, node: ast.expr) -> str:
        """The source text of a node."""
        start, end = self.bounds_of(node)
        return self._content[start:end].decode()


Edit = tuple[ast.stmt | ast.expr, str, str]
"""(node, kind of fault, replacement text)."""


def sample_mutants(root: Path, size: int, seed: int) -> list[Mutant]:
    """A random sample of the mutants; a longer sample with the same seed starts with the shorter one.

    Mutants that do not compile are left out, since they prove nothing.
    """
    contents = {path: (root / path).read_bytes() for path in scope_files(root)}
    mutants = [mutant for path, content in contents.items() for mutant in find_mutants(path, content)]
    random.Random(seed).shuffle(mutants)
    return list(islice((each for each in mutants if compiles(each.applied_to(contents[each.path]))), size))


def scope_files(root: Path) -> list[str]:
    """The files that may have faults."""
    return sorted({path.relative_to(root).as_posix() for pattern in SCOPE for path in root.glob(pattern)})


def find_mutants(path: str, content: bytes) -> list[Mutant]:
    """All mutants of one file, by place."""
    file, lines = SourceText(content), content.decode().splitlines()
    found: dict[str, Mutant] = {}
    for node, kind, text in find_edits(ast.parse(content), file):
        start, end = file.bounds_of(node)
        mutant = Mutant(path, node.lineno, start, end, kind, text, lines[node.lineno - 1].strip())
        if mutant.text.encode() != content[start:end]:
            found[mutant.key] = mutant
    return sorted(found.values(), key=lambda mutant: (mutant.start, mutant.kind, mutant.text))


def compiles(content: bytes) -> bool:
    """Whether the content compiles."""
    try:
        compile(content, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def find_edits(tree: ast.AST, file: SourceText) -> Iterator[Edit]:
    """The edits of a node and of all executable nodes below it."""
    yield from edits_of_node(tree, file)
    for child in running_parts(tree):
        yield from find_edits(child, file)


def running_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The executable parts of a node: no annotations, imports, docstrings or type-checking code."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST))


def edits_of_node(node: ast.AST, file: SourceText) -> Iterator[Edit]:
    """The edits of one node alone."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = file.text_of(node.left), file.text_of(node.comparators[0])
        yield from ((node, "comparison", f"{left} {sign} {right}") for sign in COMPARISONS[type(node.ops[0])])
    elif isinstance(node, ast.BoolOp):
        sign = " or " if isinstance(node.op, ast.And) else " and "
        yield node, "and/or", "(" + sign.join(f"({file.text_of(value)})" for value in node.values) + ")"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, "dropped not", f"({file.text_of(node.operand)})"
    elif isinstance(node, ast.Constant):
        yield from edits_of_constant(node)
    elif isinstance(node, ast.Call):
        yield from swapped_arguments(node, file)
    elif isinstance(node, ast.stmt):
        yield from removed_statements(node)
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not is_turned_otherwise(node.test):
        yield node.test, "negation", f"(not ({file.text_of(node.test)}))"


def is_turned_otherwise(test: ast.expr) -> bool:
    """Whether another kind of fault already inverts the condition: its comparison, or its dropped `not`."""
    return isinstance(test, ast.Compare) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def edits_of_constant(node: ast.Constant) -> Iterator[Edit]:
    """Yield edits of a number to one more and one less, and of a boolean to its opposite."""
    if isinstance(node.value, bool):
        yield node, "constant", str(not node.value)
    elif isinstance(node.value, int | float):
        yield from ((node, "constant", f"({node.value + change})") for change in (1, -1))


def swapped_arguments(node: ast.Call, file: SourceText) -> Iterator[Edit]:
    """Yield a call with its first two arguments swapped.

    One constant beside a variable is another type nearly always, and min and max do not mind.
    """
    if len(node.args) < 2 or any(isinstance(each, ast.Starred) for each in node.args[:2]):
        return
    constants = [isinstance(each, ast.Constant) for each in node.args[:2]]
    if constants[0] != constants[1] or (isinstance(node.func, ast.Name) and node.func.id in ("min", "max")):
        return
    first, second, *others = [file.text_of(each) for each in node.args]
    rest = [*others, *(f"{each.arg}={file.text_of(each.value)}" for each in node.keywords if each.arg)]
    if all(each.arg for each in node.keywords) and first != second:
        yield node, "swapped arguments", f"{file.text_of(node.func)}({', '.join([second, first, *rest])})"


def removed_statements(node: ast.stmt) -> Iterator[Edit]:
    """Yield edits that replace a statement by `pass`, or a return value by None."""
    if isinstance(node, ast.Return):
        # A return of None, False or 0 mostly behaves like None; constants have an edit of their own.
        if node.value is not None and not (isinstance(node.value, ast.Constant) and not node.value.value):
            yield node, "removed return value", "return None"
    elif isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Call):
            yield node, "removed statement", "pass"
    elif isinstance(node, ast.AugAssign | ast.Continue) or (
        isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    ):
        yield node, "removed statement", "pass"


def count_by_kind(mutants: Iterable[Mutant]) -> dict[str, int]:
    """The number of mutants of each kind."""
    counts: dict[str, int] = {}
    for mutant in mutants:
        counts[mutant.kind] = counts.get(mutant.kind, 0) + 1
    return dict(sorted(counts.items()))
