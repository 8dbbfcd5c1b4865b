"""docs/keys.md matches the program's current keys."""

from tests.tui.keys_page import PAGE, page


def test_the_page_of_keys_is_up_to_date() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run: make docs"
