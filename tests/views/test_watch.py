"""The panels Watch and Bookmarks as tables."""

from tests.recorded import bundled
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.views.notebook import bookmarks_table, watches_table
from vcdebug.views.table import Table


def here(*lines: str) -> DebuggerState:
    driver = Driver(bundled())
    for line in lines:
        execute_line(driver, line)
    return driver.current_state()


def texts(table: Table) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row.cells) for row in table.rows]


def watched(*lines: str) -> Table:
    at = here(*lines)
    return watches_table(at.recording, at.seq, at.watches)


WATCHES = ("watch queue research allocated gpu", "watch count(victims)", "watch node cpu-02 releasing")


def test_a_figure_shows_its_value_and_its_last_change_and_an_expression_what_the_event_made_of_it() -> None:
    assert [
        ("1", "research allocated gpu", "34", "107", "36 → 34"),
        ("2", "count(victims)", "0", "–", "1 → 0"),
        ("3", "cpu-02 releasing", "nothing", "–", "–"),
    ] == texts(watched(*WATCHES, "goto 108"))
    assert ("1", "research allocated gpu", "36", "–", "–") == texts(watched(*WATCHES, "goto 50"))[0]


def test_a_row_leads_to_the_change_and_names_its_figure() -> None:
    table = watched(*WATCHES, "goto 120")
    assert [110, 0, 0] == [row.seq for row in table.rows]
    assert ["queue research proportion/allocated nvidia.com/gpu", "None", "node cpu-02 releasing"] == [
        str(table.figures(row, 2)) for row in table.rows
    ]


def test_empty_watch_list_names_the_command() -> None:
    assert ":watch" in watched().footer[0][0].text


def test_bookmarks_stand_in_the_order_of_events_with_what_happened_there() -> None:
    at = here("goto 138", "note the end", "goto 107", "bookmark")
    table = bookmarks_table(at.recording, at.seq, at.bookmarks)
    assert [("2", "107", "–"), ("1", "138", "the end")] == [entry[:3] for entry in texts(table)]
    assert "evict resnet-sweep-worker-0" in table.rows[0].cells[3].text
    assert "2" == table.current
    beyond = at.bookmarks[0]._replace(seq=9999)
    assert "this recording is shorter" in bookmarks_table(at.recording, 1, [beyond]).rows[0].cells[3].text
    assert 0 == bookmarks_table(at.recording, 1, [beyond]).rows[0].seq
