"""The glossary names existing modules, in order, and the pages for newcomers link to it."""

import re

from tests.architecture.source_tree import PACKAGE, ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!term|---)(.+?) \| (.+) \| (.+) \|$", GLOSSARY, re.MULTILINE)


def test_each_module_that_the_glossary_names_exists() -> None:
    named = [path for *_, places in ROWS for path in re.findall(r"`([\w/]+(?:/|\.py))`", places)]
    assert [] == [path for path in named if not (PACKAGE / path).exists() and not (ROOT / path).exists()]


def test_each_term_has_a_place() -> None:
    assert [] == [term for term, _, places in ROWS if "`" not in places and "](" not in places]


def test_the_terms_are_in_alphabetical_order() -> None:
    for part in GLOSSARY.split("\n## ")[1:]:
        terms = re.findall(r"^\| (?!term|---)(.+?) \|", part, re.MULTILINE)
        assert sorted(terms, key=str.lower) == terms


def test_the_pages_for_newcomers_lead_to_the_glossary() -> None:
    pages = ["README.md", "CONTRIBUTING.md", "docs/architecture.md"]
    assert pages == [page for page in pages if "glossary.md)" in (ROOT / page).read_text(encoding="utf-8")]
