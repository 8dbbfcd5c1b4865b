"""Items are grouped by key, in the order of their arrival."""

from __future__ import annotations

from vcdebug.grouping import group_by_key


def test_keys_and_things_keep_their_order() -> None:
    found = group_by_key([("b", 2), ("a", 3), ("b", 1)])
    assert [("b", [2, 1]), ("a", [3])] == list(found.items())


def test_grouping_no_items_gives_no_groups() -> None:
    assert {} == group_by_key([])
