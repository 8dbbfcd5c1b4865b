"""Every number of the cluster state on the screen names its figure and equals the figure's value."""

from collections.abc import Callable, Iterator

import pytest

from tests.recorded import BLOCKED, bundled, golden
from vcdebug.amount_text import format_amount, short_name
from vcdebug.debugger import figures
from vcdebug.debugger.figures import Figure, parse_figure_line
from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.model.resource import Resource
from vcdebug.recording.recording import Recording
from vcdebug.views.equation import event_equation
from vcdebug.views.event_view import event_view
from vcdebug.views.jobs import job_page, jobs_table
from vcdebug.views.nodes import node_page, nodes_table
from vcdebug.views.pieces import value_text
from vcdebug.views.queues import queues_table
from vcdebug.views.statement import statement_table
from vcdebug.views.table import Table

RECORDINGS: dict[str, Callable[[], Recording]] = {
    BLOCKED: bundled,
    "reclaim-across-queues": lambda: bundled("reclaim-across-queues"),
    "capacity-0005": lambda: golden("capacity-0005"),
    "mixed-0004": lambda: golden("mixed-0004"),
}
EACH = pytest.mark.parametrize("name", RECORDINGS)


def stops(recording: Recording) -> list[int]:
    return [1, *range(2, len(recording), max(1, len(recording) // 12)), len(recording)]


def cells(table: Table) -> Iterator[tuple[str, str, Figure | None]]:
    """(head, text, figure) of every cell."""
    for row in table.rows:
        for column, cell in enumerate(row.cells):
            yield table.columns[column].title, cell.text.strip(), table.figures(row, column)


def text(figure: Figure, value: object) -> str:
    """The figure's value in the format of the lists."""
    if figure.dim:
        assert isinstance(value, float | int)
        return format_amount(figure.dim, value)
    if isinstance(value, Resource):
        shown = [f"{short_name(n)} {format_amount(n, v)}" for n, v in value.items() if v and n != "pods"]
        return ", ".join(shown) or "–"
    return value_text(value) or "–"


def bare(cell: str) -> str:
    """The number in a cell, without its mark and without the limit behind it."""
    return cell.removeprefix("✓ ").removeprefix("✗ ").removeprefix("▓ ").partition("/")[0]


@EACH
def test_each_number_of_the_jobs_is_its_figures_value(name: str) -> None:
    recording = RECORDINGS[name]()
    for seq in stops(recording):
        for head, cell, figure in cells(jobs_table(recording, seq)):
            if figure is None:
                assert head in ("job", "queue")
                continue
            assert text(figure, figures.figure_value(recording, figure, seq)) == (
                cell if head == "phase" else bare(cell)
            )


@EACH
def test_each_number_of_the_nodes_is_its_figures_value(name: str) -> None:
    recording = RECORDINGS[name]()
    for seq in stops(recording):
        for head, cell, figure in cells(nodes_table(recording, seq)):
            if figure is None:
                assert head in ("node", "remarks")
            elif head.endswith(" used"):
                assert (figure.part, bool(figure.dim)) == ("used", True)
            elif cell == "–":
                assert text(figure, figures.figure_value(recording, figure, seq)) in ("0", "–")
            else:
                assert text(figure, figures.figure_value(recording, figure, seq)) == bare(cell)


@EACH
def test_each_number_of_the_queues_is_its_figures_value(name: str) -> None:
    recording = RECORDINGS[name]()
    for seq in stops(recording):
        for head, cell, figure in cells(queues_table(recording, seq)):
            if figure is None:
                assert head in ("queue", "dim", "state", "of limit") or cell in ("", "–")
                continue
            if head == "of limit":
                assert "allocated" == figure.part
                continue
            expected = text(figure, figures.figure_value(recording, figure, seq))
            assert expected == (cell.partition(" ")[0] if figure.part == "share" else bare(cell))


@EACH
def test_a_cells_figure_is_the_one_that_its_words_name(name: str) -> None:
    recording = RECORDINGS[name]()
    for view in (jobs_table, nodes_table, queues_table):
        for _, _, figure in cells(view(recording, len(recording))):
            assert figure is None or figure == parse_figure_line(recording, str(figure))


@EACH
def test_an_operations_rows_are_the_figures_that_it_wrote(name: str) -> None:
    recording = RECORDINGS[name]()
    for seq in list(recording.index.seqs_of_type(OpEvent))[:40]:
        table = event_view(recording, int(seq))
        for row in table.rows:
            figure = table.figures(row, 4)
            assert figure is not None
            value = figures.figure_value(recording, figure, int(seq))
            assert row.cells[4].text == (format_amount(figure.dim, value) if figure.dim else value_text(value))


def test_a_statements_tasks_lead_to_their_status_and_node() -> None:
    table = statement_table(bundled(), 110)
    found = [str(table.figures(table.rows[0], column)) for column in range(3)]
    assert [
        "task research/resnet-sweep-worker-0 status",
        "task research/resnet-sweep-worker-0 status",
        "task research/resnet-sweep-worker-0 node",
    ] == found


def test_pages_lead_to_their_tasks_figures() -> None:
    for table in (node_page(bundled(), 110, "gpu-a100-01"), job_page(bundled(), 110, "research/llm-finetune")):
        found = [figure for _, _, figure in cells(table) if figure is not None]
        assert found
        assert ["task"] == list(dict.fromkeys(figure.kind for figure in found))


@EACH
def test_an_equations_figure_has_the_value_that_is_shown(name: str) -> None:
    recording = RECORDINGS[name]()
    led = 0
    for seq in list(recording.index.seqs_of_type(HookEvent))[::3]:
        table = event_equation(recording, int(seq))
        for _, cell, figure in cells(table):
            if figure is not None and cell:
                led += 1
                values = [figures.figure_value(recording, figure, at) for at in (int(seq), int(seq) - 1)]
                shown = [text(figure, value).replace(" ", "") for value in values]
                assert any(cell.replace(",", "").replace(" ", "") == one for one in shown) or figure.dim == ""
    assert 0 < led


def test_the_room_on_a_node_leads_to_the_nodes_amounts() -> None:
    recording = bundled()
    table = next(
        table
        for seq in range(1, len(recording))
        if (table := event_equation(recording, seq)).title.startswith("Equation  room for")
        and any(column.title == "= idle" for column in table.columns)
    )
    heads = [column.title for column in table.columns]
    figure = table.figures(table.rows[0], heads.index("= idle"))
    assert figure is not None
    assert ("node", "idle", table.rows[0].key) == (figure.kind, figure.part, figure.dim)


def test_other_tables_lead_to_the_status_of_their_tasks_and_the_phase_of_their_jobs() -> None:
    recording = bundled()
    cases = ((137, "task research/resnet-sweep-worker-0 status"), (166, "job research/llm-finetune phase"))
    for seq, expected in cases:
        table = event_view(recording, seq)
        assert expected == str(table.figures(table.rows[0], 0))
