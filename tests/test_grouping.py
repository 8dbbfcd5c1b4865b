"""Items are grouped by key, in the order of their arrival."""

from __future__ import annotations

from types import SimpleNamespace

from vcdebug.grouping import group_by_key, named_attributes, split_names, split_pairs


def test_keys_and_things_keep_their_order() -> None:
    found = group_by_key([("b", 2), ("a", 3), ("b", 1)])
    assert [("b", [2, 1]), ("a", [3])] == list(found.items())


def test_grouping_no_items_gives_no_groups() -> None:
    assert {} == group_by_key([])


def test_names_of_a_text_keep_their_order() -> None:
    assert split_names("b a  c-*\n d") == ("b", "a", "c-*", "d")


def test_pairs_of_a_text_keep_their_order_and_a_lone_word_stands_for_itself() -> None:
    assert list(split_pairs("b=1 a\n c=x=y").items()) == [("b", "1"), ("a", "a"), ("c", "x=y")]


def test_named_attributes_are_renamed_and_looked_up_in_parts() -> None:
    thing = SimpleNamespace(name="n", inner=SimpleNamespace(uid="u"), min_member=2)
    assert list(named_attributes(thing, "name UID=inner.uid minMember=min_member").items()) == [
        ("name", "n"),
        ("UID", "u"),
        ("minMember", 2),
    ]
