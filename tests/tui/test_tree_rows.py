"""The rows of a tree share their width in this order: name, outcome, number."""

import pytest

from vcdebug.tui.widgets.text_wrap import TreeRoom, least_widths, shorten_middle, spread_cells, wrap_text
from vcdebug.views.pieces import Piece
from vcdebug.views.table import Row, table_columns

NAME, CAME, NUMBER = "│▾ worker-0", "□ gpu-a100-01", "14"


def drawn(width: int, *, name: str = NAME, came: str = CAME, words: bool = True) -> str:
    found = spread_cells(
        (Piece(name), Piece(came), Piece(NUMBER)), TreeRoom(width, width // 2, 3, close=True, shows_outcome_words=words)
    )
    assert width == sum(found.widths)
    cells = zip(found.cells, found.widths, strict=True)
    return "".join(cell.text.rjust(w) if i == 2 else cell.text.ljust(w) for i, (cell, w) in enumerate(cells)).rstrip()


def test_with_room_for_all_three_they_stand_in_their_columns() -> None:
    assert "│▾ worker-0         □ gpu-a100-01     14" == drawn(40)


def test_the_number_gives_way_to_words_and_words_to_the_name() -> None:
    assert "│▾ worker-0 □ gpu-a100-01" == drawn(25)
    assert "│▾ worker-0 □         14" == drawn(24, words=False)
    assert "│▾ worker-0 □" == drawn(13)
    assert "│▾ worker-0" == drawn(11)


def test_words_take_the_cells_that_a_short_number_leaves_free() -> None:
    cells = Piece("▸ allocate"), Piece("2 pods tried, none placed"), Piece("5")
    shown = spread_cells(cells, TreeRoom(39, 15, 8))
    assert [cell.text for cell in cells] == [cell.text for cell in shown.cells]
    assert 39 == sum(shown.widths)


@pytest.mark.parametrize("width", range(8, 60))
@pytest.mark.parametrize("words", [True, False])
def test_a_name_is_cut_only_where_the_whole_row_is_too_narrow(width: int, words: bool) -> None:
    shown = drawn(width, words=words)
    assert shown.startswith(NAME if width >= len(NAME) else "│▾ ")
    assert len(shown) <= width


def test_words_lose_what_follows_a_comma_first_and_names_in_them_their_middle() -> None:
    assert "│▾ worker-0     ◆ discarded…  14" == drawn(32, came="◆ discarded, and the victims stay")
    assert "│▾ worker-0 ▲ resn…worker-0 14" == drawn(30, came="▲ resnet-sweep-of-research-worker-0")


def test_a_leaf_comes_closer_to_its_levels_before_its_name_is_cut() -> None:
    assert "│││ pipeline worker-0" == drawn(21, name="│││  pipeline worker-0", came="")
    assert "│││ pipeli…-worker-0" == drawn(20, name="│││  pipeline the-worker-0", came="")


def test_an_answer_loses_who_gave_it_before_it_is_cut() -> None:
    assert "│││ Predicate   ✓ no objection 14" == drawn(33, name="│││  Predicate", came="predicates ✓ no objection")


@pytest.mark.parametrize("width", [14, 18, 24, 40])
@pytest.mark.parametrize(
    "name", ["ip-10-0-1-{}.eu-west-1.compute.internal", "● ip-10-0-1-{}.ec2.internal", "gpu-node-{}.c.project.internal"]
)
def test_nodes_of_one_domain_stay_apart_where_their_names_are_cut(width: int, name: str) -> None:
    short = [shorten_middle(name.format(number), width) for number in (1, 2, 23)]
    assert 3 == len(set(short))
    assert {width} == {len(text) for text in short}


def test_a_long_host_is_cut_in_the_middle_and_its_domain_goes() -> None:
    assert "gke-poo…-a-node-0…" == shorten_middle("gke-pool-very-long-name-of-a-node-0.c.project.internal", 18)
    assert "llm-fin…-worker-12" == shorten_middle("llm-finetune-worker-12", 18)


def test_a_wrapped_row_of_a_tree_goes_on_below_its_text_beside_the_guides() -> None:
    assert ["│ ├ search: event 100:", "│ │   predicates fit"] == wrap_text("│ ├ search: event 100: predicates fit", 24)
    assert ["│ └ search: event 100:", "│     predicates fit"] == wrap_text("│ └ search: event 100: predicates fit", 24)


def test_a_column_of_a_tree_is_wide_enough_for_its_longest_word_beside_the_guides() -> None:
    text = "│ ├ field: Pod/research/bert-pretrain-worker-0 spec.priority: 1000"
    row = Row("", (Piece(text), Piece("because")))
    (width, _) = least_widths(table_columns("fact~", "because~"), ("fact", "because"), [row], [len(text), 80])
    assert {"│ │   "} == {line[:6] for line in wrap_text(text, width)[1:]}
