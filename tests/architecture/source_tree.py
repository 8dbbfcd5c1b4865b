"""The sources of the checkout, parsed once, for the architecture tests."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "vcdebug"

ENGINE_ROOMS = (
    "releases",
    "snapshot",
    "model",
    "kube",
    "framework",
    "actions",
    "plugins",
    "recording",
    "explain",
    "comparison",
    "whatif",
    "debugger",
    "views",
)
DECISION_ROOMS = ("model", "kube", "framework", "actions", "plugins")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A parsed Python file."""

    path: Path
    lines: list[str]
    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree."""
        return [*ast.walk(self.tree)]

    def where(self, node: ast.AST | None = None) -> str:
        name = self.path.relative_to(ROOT).as_posix()
        return name if node is None else f"{name}:{getattr(node, 'lineno', 1)}"

    def excused(self, node: ast.AST, mark: str) -> bool:
        """Whether a line of the node has the comment that permits an exception."""
        first = getattr(node, "lineno", 1)
        last = getattr(node, "end_lineno", first)
        return any(mark in line.partition("#")[2] for line in self.lines[first - 1 : last])

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))


@cache
def parse(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    return Source(path, text.splitlines(), ast.parse(text, filename=str(path)))


def sources(*rooms: str) -> list[Source]:
    """The source files in these top-level folders of the package, by default in all."""
    folders = [PACKAGE / room for room in rooms] if rooms else [PACKAGE]
    return [parse(path) for folder in folders for path in sorted(folder.rglob("*.py"))]


def rooms_present() -> list[str]:
    return [room for room in ENGINE_ROOMS if (PACKAGE / room / "__init__.py").exists()]


def length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1
