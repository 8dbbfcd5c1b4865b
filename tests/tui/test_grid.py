"""The table widget: long text, many rows, small screens."""

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.strip import Strip

from tests.effort import at_most
from tests.recorded import bundled
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.table_layout import lay_out
from vcdebug.tui.widgets.text_wrap import pad_text, wrap_line, wrap_text
from vcdebug.views.overview import overview_table
from vcdebug.views.pieces import Piece, make_line, text_of
from vcdebug.views.table import Column, Row, RowsOnDemand, Table

MANY = 100_000
NAMES = [str(index) for index in range(MANY)]
COLUMNS = (Column("node"), Column("cpu", right=True), Column("reason", flexible=True))


def row(index: int) -> Row:
    return Row(str(index), (Piece(f"node-{index:06}"), Piece(str(index)), Piece(f"reason {index % 7}")), index)


class GridApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Grid()

    @property
    def grid(self) -> Grid:
        return self.query_one(Grid)

    def shown(self) -> list[str]:
        return [self.grid.render_line(y).text for y in range(self.grid.size.height)]


async def test_only_the_rows_on_the_screen_are_made() -> None:
    made: list[int] = []

    def make(index: int) -> Row:
        made.append(index)
        return row(index)

    app = GridApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.grid.set_table(Table("Nodes", COLUMNS, RowsOnDemand(NAMES, make)))
        await pilot.pause()
        assert len(made) < 2_000
        app.grid.action_move_to(-1)
        await pilot.pause()
        assert len(made) < 2_100
        assert f"node-{MANY - 1:06}" in app.shown()[-1]


async def test_the_first_paint_of_a_large_table_is_quick() -> None:
    app = GridApp()
    async with app.run_test(size=(120, 40)) as pilot:
        with at_most(0.3):
            app.grid.set_table(Table("Nodes", COLUMNS, RowsOnDemand(NAMES, row)))
            app.shown()
        await pilot.pause()


class Counting(Grid):
    """A grid that records which lines it draws."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.drawn.append(y)
        return super().render_line(y)


class CountingApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Counting()


async def test_only_lines_that_show_something_else_are_drawn_again() -> None:
    async with CountingApp().run_test(size=(80, 12)) as pilot:
        grid = pilot.app.query_one(Counting)
        rows = [row(i) for i in range(50)]
        grid.set_table(Table("Nodes", COLUMNS, rows, current="3"))
        grid.focus()
        await pilot.pause()
        grid.drawn.clear()
        grid.set_table(Table("Nodes", COLUMNS, list(rows), current="3"))
        await pilot.pause()
        assert [] == grid.drawn
        grid.set_table(
            Table("Nodes", COLUMNS, [*rows[:6], row(6)._replace(cells=row(5).cells), *rows[7:]], current="3")
        )
        await pilot.pause()
        assert [7] == grid.drawn
        grid.drawn.clear()
        await pilot.press("down")
        assert [4, 5] == grid.drawn
        grid.drawn.clear()
        await pilot.press("end")
        assert [*range(12)] == grid.drawn, "the scroll bar also leaves the line of the heads"


async def test_the_heads_stay_while_rows_scroll() -> None:
    app = GridApp()
    async with app.run_test(size=(80, 10)) as pilot:
        app.grid.set_table(Table("Nodes", COLUMNS, [row(i) for i in range(50)], header=(make_line("before"),)))
        app.grid.focus()
        await pilot.pause()
        assert ["before", "  node"] == [text.rstrip()[:6] for text in app.shown()[:2]]
        await pilot.press("end")
        assert app.shown()[0].split() == ["node", "cpu", "reason"]
        await pilot.press("home")
        assert "before" == app.shown()[0].strip()


async def test_long_text_wraps_and_nothing_is_lost() -> None:
    words = " ".join(f"word{i}" for i in range(30))
    app = GridApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.grid.set_table(
            Table("T", (Column("a"), Column("b", flexible=True)), [Row("1", (Piece("x"), Piece(words)))])
        )
        await pilot.pause()
        shown = " ".join(" ".join(app.shown()).split())
        assert all(word in shown for word in words.split())


async def test_the_cursor_stays_on_its_row_when_the_table_is_drawn_again() -> None:
    app = GridApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.grid.set_table(Table("T", COLUMNS, [row(i) for i in range(10)]))
        app.grid.focus()
        await pilot.press("down", "down")
        app.grid.set_table(Table("T", COLUMNS, [row(i) for i in range(1, 11)]))
        assert app.grid.cursor_row is not None
        assert "2" == app.grid.cursor_row.key


async def test_an_unfinished_expression_filters_literally() -> None:
    app = GridApp()
    async with app.run_test(size=(60, 12)):
        app.grid.set_table(Table("T", COLUMNS, [row(i) for i in range(10)]))
        assert 0 == app.grid.set_filter("(")
        assert 4 == app.grid.set_filter("reason [01]$")


def test_a_line_is_wrapped_without_losing_a_word_or_its_style() -> None:
    pieces = make_line("one two three ", Piece("four five six", "bad"), " seven")
    wrapped = wrap_line(pieces, 12)
    assert text_of(pieces).split() == " ".join(text_of(entry) for entry in wrapped).split()
    assert {"four", "five", "six"} == {p.text.strip() for entry in wrapped for p in entry if p.style == "bad"}
    assert all(len(text_of(entry).rstrip()) <= 12 for entry in wrapped)


def test_columns_without_room_are_out_of_sight_beside_the_first_which_stays() -> None:
    table = Table("T", tuple(Column(f"column {i}") for i in range(12)))
    rows = [Row("1", tuple(Piece(f"a value here {i}") for i in range(12)))]
    assert (0, 1, 2, 3, 4) == lay_out(table, rows, 80).columns
    found = lay_out(table, rows, 80, start=7, wraps=False)
    assert (0, 7, 8, 9, 10) == found.columns
    assert ["column 0", "column 7"] == [cell.text for cell in found.top[-1].cells[:2]]
    assert ["a value here 0", "a value here 7"] == [cell.text for cell in found.placed_line(0, rows[0]).cells[:2]]


def test_a_row_has_one_line_unless_the_table_is_prose() -> None:
    rows = [Row(str(i), (Piece(f"node-{i}"), Piece(str(i)), Piece("word " * 60))) for i in range(3)]
    assert 3 == lay_out(Table("Nodes", COLUMNS, rows), rows, 60, wraps=False).body_size
    assert 3 < lay_out(Table("Nodes", COLUMNS, rows), rows, 60).body_size


def test_a_namespace_goes_into_the_head_before_names_are_cut_and_a_strange_one_stays() -> None:
    table = Table("T", (Column("job", name=True), Column("why", flexible=True, min_width=30)))
    rows = [Row(str(i), (Piece(f"default/training-of-{i:03}"), Piece("for a reason that is long"))) for i in range(3)]
    assert "job in default" == lay_out(table, rows, 50).top[0].cells[0].text
    assert "job" == lay_out(table, rows, 90).top[0].cells[0].text
    marked = [Row(row.key, (Piece(f"✗ {row.cells[0].text}"), row.cells[1])) for row in rows]
    assert "job" == lay_out(table, marked, 50).top[0].cells[0].text  # a sign belongs to its row, not to the head
    other = [*rows, Row("x", (Piece("other/training-of-000"), Piece("")))]
    body = lay_out(table, other, 50).body
    shown = [placed.cells[0].text for placed in body if placed.is_first]
    assert ["default/training-of-000", "other/training-of-000"] == [shown[0], shown[-1]]


def test_a_name_that_is_wider_than_the_screen_keeps_both_of_its_ends() -> None:
    assert "team…07-a" == pad_text("team/a-very-long-name-007-a", 9, right=False, name=True)
    assert "team/a-v…" == pad_text("team/a-very-long-name-007-a", 9, right=False)


def test_words_are_not_broken_while_a_line_has_room_for_them() -> None:
    assert ["spares", "  worker-0", "  again"] == wrap_text("spares worker-0 again", 10)


async def test_a_table_of_fewer_rows_is_drawn_before_it_has_its_place() -> None:
    app = GridApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.grid.set_table(Table("Nodes", COLUMNS, [row(i) for i in range(MANY // 100)]))
        app.grid.display = False
        await pilot.pause()
        app.grid.set_table(Table("Nodes", COLUMNS, [row(0)]))
        app.grid._size = Size(80, 24)
        assert all("node-000001" not in app.grid.render_line(y).text for y in range(24))


def test_columns_are_as_wide_as_rows_that_take_turns_need() -> None:
    rows = [Row(str(i), (Piece("status" if i % 2 else "event"), Piece("x"))) for i in range(3_000)]
    table = Table("T", (Column("write"), Column("what", flexible=True)), rows)
    assert len("status") == lay_out(table, rows, 60).widths[0]


def test_a_few_words_are_not_broken_where_columns_can_stand_closer() -> None:
    columns = (Column("tier"), Column("plugin"), Column("offers", flexible=True), Column("answer", flexible=True))
    cells = ("1", "conformance", "bert-pretrain-worker-0 resnet-sweep-worker-0", "✓ allows 2")
    rows = [Row("1", tuple(Piece(text) for text in cells))]
    found = lay_out(Table("T", columns, rows), rows, 52)
    assert ["✓ allows 2", ""] == [placed.cells[-1].text for placed in found.body]


def test_an_item_of_a_list_stays_together_in_a_narrow_column() -> None:
    assert ["cpu 8,", "  mem 60Gi,", "  gpu 2"] == wrap_text("cpu 8, mem 60Gi, gpu 2", 12)
    assert ["cpu 8,", "mem 60Gi,", "  gpu 2"] == wrap_text("cpu 8, mem 60Gi, gpu 2", 9)


async def test_a_sorted_table_may_lose_all_of_its_rows() -> None:
    app = GridApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.grid.set_table(Table("Evictions", COLUMNS, tuple(map(row, range(3)))))
        app.grid.action_column(1)
        app.grid.action_sort()
        await pilot.pause()
        app.grid.set_table(Table("Evictions", COLUMNS, ()))
        await pilot.pause()
        assert 0 == len(app.grid.shown_rows)
        app.grid.set_table(Table("Evictions", COLUMNS, tuple(map(row, (2, 1)))))
        assert ["1", "2"] == [one.key for one in app.grid.shown_rows]


@pytest.mark.parametrize("width", [46, 58, 70, 79])
def test_prose_is_wrapped_and_not_out_of_sight(width: int) -> None:
    table = overview_table(bundled())
    found = lay_out(table, table.rows, width)
    assert (0, 1) == found.columns
    text = " ".join(placed.cells[1].text.strip() for placed in found.body if placed.row == 0)
    reason = "2 pods: preempt found room for 1 of the 2 pods it needs at once"
    assert f"research/llm-finetune {reason}" in " ".join(text.split())
