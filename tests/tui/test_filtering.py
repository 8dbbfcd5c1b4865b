"""Filtering with / and sorting, on rows of text."""

from collections.abc import Sequence
from itertools import combinations, product

import pytest
from msgspec.structs import replace

from tests.effort import at_most
from vcdebug.tui.widgets import rows as rows_widget
from vcdebug.tui.widgets.row_order import ColumnOrder, ColumnRanks, next_order, rank_texts
from vcdebug.tui.widgets.rows import PLAIN_TEXT_NOTE, FilterHits, RowTexts, ShownRows, parse_filter
from vcdebug.views.pieces import Piece
from vcdebug.views.table import Row, RowsOnDemand

ROWS = ["node-01\tready\t4Gi", "node-02\tNotReady\t12Gi", "gpu-10\tready\t500Mi", "gpu-2\tready\t–", "a(b\tx.y\t1 906"]


def shown(text: str) -> list[str]:
    shown = ShownRows()
    shown.set_rows([Row(row.split("\t")[0], tuple(map(Piece, row.split("\t")))) for row in ROWS])
    shown.set_filter(text)
    return [row.key for row in shown.rows]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("gpu", ["gpu-10", "gpu-2"]),
        ("GPU", []),
        ("notready", ["node-02"]),
        ("NotReady", ["node-02"]),
        ("ready", ["node-01", "node-02", "gpu-10", "gpu-2"]),
        ("!ready", ["a(b"]),
        ("^gpu.*ready", ["gpu-10", "gpu-2"]),
        (r"node-\d+ ready", ["node-01"]),
        (r"\S02", ["node-02"]),
        ("node-01 ready", ["node-01"]),
        ("(", ["a(b"]),
        ("!(", ["node-01", "node-02", "gpu-10", "gpu-2"]),
        ("x.y", ["a(b"]),
        ("~g2", ["gpu-2"]),
        ("~nd2", ["node-02"]),
        ("-f gp10", ["gpu-10"]),
        ("!~g", ["a(b"]),
        ("", ["node-01", "node-02", "gpu-10", "gpu-2", "a(b"]),
    ],
)
def test_filter_keeps_the_matching_rows(text: str, keys: list[str]) -> None:
    assert keys == shown(text)


def test_an_expression_that_is_none_says_so() -> None:
    assert (PLAIN_TEXT_NOTE, "") == (parse_filter("(").note, parse_filter("(a)").note)


EXPRESSIONS = (
    "n0[12]..5",
    "no.e|gp.2",
    "a+b",
    r"\1012",
    r"[0-9]\d2",
    "n.{2,3}1",
    "(n|g).0",
    "!n.*7",
    "n[^0]+-",
    "^gpu$",
)


@pytest.mark.parametrize("typed", ["node-01", "~nd1", "!gpu", "no|gp", "Not", "(b", *EXPRESSIONS])
def test_typing_on_gives_what_typing_at_once_gives(typed: str) -> None:
    rows = [Row(row.split("\t")[0], tuple(map(Piece, row.split("\t")))) for row in ROWS]
    letters, at_once = ShownRows(), ShownRows()
    for part in (letters, at_once):
        part.set_rows(rows)
    for end in range(1, len(typed) + 1):
        letters.set_filter(typed[:end])
    at_once.set_filter(typed)
    assert [row.key for row in at_once.rows] == [row.key for row in letters.rows]


@pytest.mark.parametrize("typed", EXPRESSIONS)
def test_a_narrower_filter_passes_no_other_row(typed: str) -> None:
    """The rows are all texts of up to four of the letters that tell these filters apart."""
    texts = ["".join(letters) for size in range(5) for letters in product("ngA02-x", repeat=size)]
    filters = [parse_filter(typed[:end]) for end in range(1, len(typed) + 1)]
    for earlier, later in combinations(filters, 2):
        if later.is_narrower_than(earlier):
            assert {*later.find(texts)} <= {*earlier.find(texts)}


def test_a_letter_behind_an_expression_tests_only_the_rows_that_passed() -> None:
    texts = RowTexts([Row(str(index), (Piece(f"n{index}"),)) for index in range(100)])
    texts.write_all(100)
    earlier, tested = FilterHits(texts, parse_filter("n[12]")), list[str]()

    def noted(text: str) -> bool:
        tested.append(text)
        return True

    FilterHits(texts, replace(parse_filter("n[12]0"), search=noted), earlier)
    assert len(earlier.indexes) == len(tested) == 22


def test_figures_sort_by_size_names_by_their_numbers_and_what_is_missing_comes_last() -> None:
    amounts = ["12Gi", "500Mi", "–", "4Gi", "1 906", "3/4", "2"]
    by_amount = rank_texts(amounts).order_rows(range(len(amounts)), descending=False)
    assert ["2", "3/4", "1 906", "500Mi", "4Gi", "12Gi", "–"] == [amounts[index] for index in by_amount]
    downwards = rank_texts(amounts).order_rows(range(len(amounts)), descending=True)
    assert ["12Gi", "4Gi", "500Mi", "1 906", "3/4", "2", "–"] == [amounts[index] for index in downwards]
    names = ["node-10", "node-9", "Node-1", "✗ node-2"]
    by_name = rank_texts(names).order_rows(range(len(names)), descending=False)
    assert ["Node-1", "✗ node-2", "node-9", "node-10"] == [names[index] for index in by_name]


def test_sorting_cycles_through_ascending_descending_and_original() -> None:
    up = next_order(None, 2)
    assert up == ColumnOrder(2)
    down = next_order(up, 2)
    assert ColumnOrder(2, descending=True) == down
    assert next_order(down, 2) is None
    assert ColumnOrder(1) == next_order(down, 1)


def test_a_large_table_is_looked_at_bit_by_bit_and_keeps_no_row_for_it() -> None:
    kept: list[int] = []
    rows = RowsOnDemand([str(i) for i in range(50_000)], lambda i: Row(str(i), (Piece(f"node-{i:05}"),)))
    part = ShownRows()
    part.set_rows(rows)
    part.set_filter("99")
    kept.append(len(part.rows))
    while not part.is_done:
        part.check_more()
        kept.append(len(part.rows))
    assert 1 < len(kept)
    assert sorted(kept) == kept
    assert [i for i in range(50_000) if "99" in f"{i:05}"] == [int(row.key) for row in part.rows]
    part.set_order(ColumnOrder(0, descending=True))
    assert "49999" == part.rows[0].key
    assert 0 == part.row_position("49999")


def test_numbers_in_names_go_before_words_and_with_zeros_before_them_count_as_much() -> None:
    names = ["a-b", "a10", "a007", "a9b", "a9", "A8"]
    order = rank_texts(names).order_rows(range(len(names)), descending=False)
    assert ["a007", "A8", "a9", "a9b", "a10", "a-b"] == [names[index] for index in order]


def test_sorting_is_stable_in_both_directions() -> None:
    texts = ["1k", "–", "7", "1000", "b", "✓ 7", "none", "B"]
    assert [2, 5, 0, 3, 4, 7, 1, 6] == rank_texts(texts).order_rows(range(8), descending=False)
    assert [4, 7, 0, 3, 2, 5, 1, 6] == rank_texts(texts).order_rows(range(8), descending=True)
    assert [7, 3, 5] == rank_texts(texts).order_rows([3, 5, 7], descending=True)


def test_a_column_of_a_hundred_thousand_rows_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(texts: Sequence[str]) -> ColumnRanks:
        looked.append(len(texts))
        return rank_texts(texts)

    monkeypatch.setattr("vcdebug.tui.widgets.rows.rank_texts", counted)
    part = ShownRows()
    part.set_rows(RowsOnDemand([str(i) for i in range(100_000)], lambda i: Row(str(i), (Piece(f"node-{i % 1000}"),))))
    part.set_order(ColumnOrder(0))
    while not part.is_done:
        part.check_more()
    assert ["0", "1000", "2000"] == [row.key for row in part.rows[:3]]
    part.set_order(ColumnOrder(0, descending=True))
    assert ["999", "1999", "2999"] == [row.key for row in part.rows[:3]]
    part.set_filter("node-17")
    assert ["179", "1179"] == [row.key for row in part.rows[:2]]
    assert [100_000] == looked


@pytest.mark.parametrize("typed", ["(a+)+$", "(a|a)*b", "~aaaaaaaaaaaaaaaaaaaab"])
def test_no_filter_takes_longer_than_its_text_is_long(typed: str) -> None:
    asked = parse_filter(typed)
    with at_most(seconds=1):
        assert [] == asked.find(["a" * 5000 + "!"])


def test_a_key_makes_few_rows_of_a_large_table_and_the_next_letter_none() -> None:
    made: list[int] = []

    def make(index: int) -> Row:
        made.append(index)
        return Row(str(index), (Piece(f"node-{index}"),))

    part = ShownRows()
    part.set_rows(RowsOnDemand([str(i) for i in range(20_000)], make))
    part.set_filter("n")
    assert len(made) <= 500
    while not part.is_done:
        part.check_more()
    assert 20_000 == len(made)
    part.set_filter("node-1")
    assert (20_000, True) == (len(made), part.is_done)


@pytest.mark.parametrize("seconds", [0.0, 1000.0])
def test_rows_that_are_found_in_slices_are_shown_from_time_to_time_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(rows_widget, "SHOWING_SECONDS", seconds)
    monkeypatch.setattr(rows_widget, "SLICE_SECONDS", 0.0001)
    part = ShownRows()
    part.set_rows([Row(str(number), (Piece(f"n{number}"),)) for number in range(5_000)])
    part.set_filter("n1")
    is_shown = []
    while not part.is_done:
        is_shown.append(part.check_more())
    assert is_shown.pop()
    assert {not seconds} == {*is_shown}
