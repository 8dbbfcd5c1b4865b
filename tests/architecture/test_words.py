"""Texts of the program name things: the words below say who instead of what, or stand for a term of the glossary."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.source_tree import Source, sources

NEVER = re.compile(
    r"\b(nobody|no one|somebody|someone|anybody|anyone|everybody|everyone|whoever|falsifies|undrawn|outvoted|"
    r"promised?|spare[sd]|taken back|gives? back|let in|lets in|gets in|got in|is not whole|in part|as things stand|"
    r"for ever|newest rules|is told|told of|afresh|anew|so many|so long|this very|has a say|had a say|in pieces)\b",
    re.IGNORECASE,
)
KEYWORDS = ("nobody", "offer")
"""Of the language in which answers are forced: files of edits use them."""
APART = ("comparison/logs/", "snapshot/redact_words", "framework/forced_answers")
"""Lines that upstream prints, words that a redaction keeps, and the home of the keywords."""


def texts(source: Source) -> Iterator[tuple[int, str]]:
    """String constants of a module without its docstrings."""
    told = {
        id(node.value)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.lineno, node.value


def test_no_text_uses_a_word_that_does_not_name_the_thing() -> None:
    found = [
        f"{source.path}:{line}: {match[0]}"
        for source in sources()
        if not any(part in str(source.path) for part in APART)
        for line, text in texts(source)
        # Keys of documents and codes of quirks are contracts.
        if " " in text.strip() and text not in KEYWORDS
        for match in NEVER.finditer(text)
    ]
    assert [] == found
