"""No text for users contains a word of tests/plain_words.py: strings, pages, lessons, help and output."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, Source, sources
from tests.plain_words import never_words, prose

UPSTREAM = (
    "comparison/logs/",
    "kube/cel/",
    "plugins/tdm.py",
    "plugins/extender/answers",
    "snapshot/redact_words",
    "tui/palette",
)
"""Lines and errors that upstream prints, words that a redaction keeps, and words that users may type."""
PAGES = [str(path.relative_to(ROOT)) for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))]
DATA = [
    *sorted((ROOT / "vcdebug" / "lessons").glob("*.yaml")),
    *sorted((ROOT / "tests" / "cli" / "golden").glob("*.txt")),
]
"""The lessons, and what the commands print on the bundled snapshots."""


def texts(source: Source) -> Iterator[tuple[int, str]]:
    """String constants of a module without its docstrings; the constant parts of an f-string are one text."""
    apart = {
        id(node.value) for node in source.nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            apart.update(id(part) for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def test_no_text_of_the_program_uses_a_forbidden_word() -> None:
    found = [
        f"{source.path}:{line}: {word}"
        for source in sources()
        if not any(part in str(source.path) for part in UPSTREAM)
        for line, text in texts(source)
        # Keys of JSON documents and codes of quirks are fixed, and CSS is no text.
        if " " in text.strip() and "{ " not in text
        for word in never_words(text)
    ]
    assert [] == found


@pytest.mark.parametrize("page", PAGES)
def test_no_page_uses_a_forbidden_word(page: str) -> None:
    assert [] == list(never_words(prose((ROOT / page).read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.name)
def test_no_lesson_and_no_output_uses_a_forbidden_word(path: Path) -> None:
    assert [] == list(never_words(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gang offers 0 victims", ["offers"]),
        ('the scheduler writes "nobody"', []),
        ("the job is no longer Pending", []),
        ("'4Gx' is no amount", ["is no"]),
        ("1 rows, 11 pods and 0.1 nodes", ["1 rows"]),
        ("3 jobs in all.", ["in all"]),
        ("fits in all resources", []),
        ("so large that it fails", []),
    ],
)
def test_forbidden_words_are_recognized_by_their_context(text: str, found: list[str]) -> None:
    assert found == [word.partition(":")[0] for word in never_words(text)]
