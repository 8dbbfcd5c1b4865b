"""The pages for developers name only files, folders and definitions that exist."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, sources

PAGES = [
    "CONTRIBUTING.md",
    "docs/architecture.md",
    *(f"docs/decisions/{page.name}" for page in sorted(ROOT.glob("docs/decisions/*.md"))),
]
"""Pages about the code, from the root of the checkout."""
BASES = (ROOT, PACKAGE, PACKAGE / "explain", ROOT / "tests")
"""Folders to which paths on these pages are relative."""
NOT_IN_THE_REPOSITORY = (".mutants/", ".venv/", "../shared/")
"""Prefixes of paths that exist only after a checkout has been used."""


def quoted_texts(page: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", (ROOT / page).read_text(encoding="utf-8"))


def named_paths(page: str) -> Iterator[str]:
    """The paths of modules and folders on a page, without placeholders and patterns."""
    for text in [*quoted_texts(page), *re.findall(r"[\w/]+/\w+\.py", (ROOT / page).read_text(encoding="utf-8"))]:
        if re.fullmatch(r"[\w./]+(\.py|/)", text) and not text.startswith(NOT_IN_THE_REPOSITORY):
            yield text


def is_there(path: str) -> bool:
    """Whether the path exists below one of the bases; a bare module may be in any folder of the package."""
    beneath = [] if "/" in path else [*PACKAGE.rglob(path)]
    return bool(beneath) or any((base / path).exists() for base in BASES)


def defined_names() -> dict[str, None]:
    """Names that the package defines; of classes also `Class.attribute`, and the attribute alone."""
    names: dict[str, None] = {}
    for source in sources():
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                for name in body_names(node.body):
                    names |= {name: None, f"{node.name}.{name}": None}
                names[node.name] = None
            elif isinstance(node, ast.FunctionDef):
                names[node.name] = None
            elif isinstance(node, ast.Module):
                names |= dict.fromkeys(body_names(node.body))
    return names


def body_names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


@pytest.mark.parametrize("page", PAGES)
def test_each_file_and_folder_that_a_page_names_exists(page: str) -> None:
    assert [] == [path for path in named_paths(page) if not is_there(path)]


def test_each_class_and_constant_that_a_page_names_is_defined() -> None:
    form = re.compile(r"[A-Z][a-z]+[A-Z]\w+(\.\w+)?|[A-Z]+_[A-Z_]+|Plugin\.\w+|Hook\.\w+|[a-z]+_[a-z_]+")
    names, libraries = defined_names(), {"count_nonzero", "batch_update"}
    modules = {path.stem for path in PACKAGE.rglob("*.py")}
    named = [(page, text) for page in PAGES for text in quoted_texts(page) if form.fullmatch(text)]
    assert [] == [(page, text) for page, text in named if text not in names.keys() | modules | libraries]
