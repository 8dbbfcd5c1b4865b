"""The commands in docs/articles.md show every claim of the articles."""

import re

from tests.rows import over
from tests.scenarios.articles import ALL, PAGE, page, shown
from tests.scenarios.claims import Claim


@over(ALL, name=lambda claim: claim.what)
def test_the_word_is_on_the_screen(claim: Claim) -> None:
    assert _one_space(claim.seen) in _one_space(shown(claim))


def _one_space(text: str) -> str:
    """The text with single spaces, as Markdown renders it."""
    return re.sub(" +", " ", text)


def test_no_claim_is_there_twice() -> None:
    assert len(ALL) == len(dict.fromkeys(claim.what for claim in ALL))


def test_the_page_is_what_the_tests_follow() -> None:
    assert page() == PAGE.read_text(encoding="utf-8")
