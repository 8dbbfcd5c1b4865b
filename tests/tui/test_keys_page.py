"""docs/keys.md says what the program does now."""

from tests.tui.keys_page import PAGE, page


def test_the_page_of_keys_is_up_to_date() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run: make docs"
