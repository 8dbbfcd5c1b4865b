"""Many Pending jobs: grouped by cause on the first screen, as a page, and in `explain` without a job."""

from pathlib import Path

import pytest
import yaml

from tests.builders import amounts, conf_of, node, pod, pod_group, pods, queue
from tests.tui.driving import NARROW, WIDE, opened_again
from vcdebug.cli.main import main
from vcdebug.tui.screens.pages import DetailScreen, PageScreen
from vcdebug.tui.widgets.table_layout import lay_out
from vcdebug.views.pending import BOARD_COLUMNS
from vcdebug.views.pieces import NO, Piece
from vcdebug.views.table import Row, Table, format_table

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])
GATED, SHORT = 7, 4
LEAST_CAUSE, LOW = 46, (80, 14)
GATE_WORDS = "1 to 7 pods have a scheduling gate (example.com/wait)"


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Seven jobs of 1 to 7 gated pods, four jobs that lack a pod, and one that runs."""
    gates = [{"name": "example.com/wait"}]
    objects = [queue(), node("n1"), pod_group("runs", phase="Running"), *pods("runs", 1, on="n1")]
    for count in range(1, GATED + 1):
        objects += [pod_group(f"gated-{count}"), *pods(f"gated-{count}", count, schedulingGates=gates)]
    for number in range(SHORT):
        name = f"short-{number}"
        objects += [pod_group(name, min_member=2), pod(f"{name}-0", name, requests=amounts("1", "1G"))]
    conf = conf_of("priority gang", "predicates nodeorder")
    config = {
        "kind": "ConfigMap",
        "metadata": {"name": "conf", "namespace": "x"},
        "data": {"volcano-scheduler.conf": conf},
    }
    path = tmp_path / "many.yaml"
    path.write_text("".join(f"---\n{yaml.safe_dump(one)}" for one in [*objects, {"apiVersion": "v1", **config}]))
    return path


@SIZES
async def test_first_screen_counts_pending_jobs_by_cause_and_enter_leads_to_them(
    many: Path, size: tuple[int, int]
) -> None:
    async with opened_again(str(many), size) as desk:
        table = desk.panel("moment").table
        assert "Overview of many" in str(desk.panel("moment").border_title)
        counts = [(row.key, row.cells[1].text, row.cells[2].text) for row in table.rows]
        assert [
            ("pending scheduling-gate", "7", "28"),
            ("pending not-enough-pods", "4", "4"),
            ("overview", "", ""),
        ] == counts
        assert GATE_WORDS in table.rows[0].cells[0].text
        await desk.press("enter")
        await desk.until(lambda: isinstance(desk.app.screen, PageScreen), "the jobs of the cause are there")
        page = desk.app.screen
        assert isinstance(page, PageScreen)
        assert "Jobs 7: scheduling-gate, oldest first" == page.table.title
        assert not any("scheduling-gate" in row.cells[-1].text for row in page.table.rows), "the title says it"
        await desk.press("down", "enter")
        answer = desk.app.screen
        assert isinstance(answer, DetailScreen)
        assert "Why default/gated-2 is Pending" == answer.table.title


async def test_a_cause_has_room_and_below_it_stand_first_fix_and_queues_where_there_is_height(many: Path) -> None:
    for size, below in ((WIDE, True), (NARROW, True), (LOW, False)):
        async with opened_again(str(many), size) as desk:
            lines = desk.screen().splitlines()
            at = next(number for number, line in enumerate(lines) if "scheduling gate" in line)
            head = lines[at - 1]
            assert head.rindex("jobs") - head.rindex("cause") >= LEAST_CAUSE
            fix = lines[at + 1]
            assert below == ("first fix" in fix and "queues default" in fix)
            assert below != ("more columns →" in desk.screen())


async def test_pending_waiting_and_board_show_the_same_page(many: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    async with opened_again(str(many), WIDE) as desk:
        for name in ("pending", "waiting", "board"):
            await desk.work(name)
            page = desk.app.screen
            assert isinstance(page, PageScreen)
            shown.append(format_table(page.table))
            await desk.close_everything()
        await desk.work("pending scheduling-gat")
        assert "did you mean scheduling-gate?" in desk.status()
    assert 1 == len(dict.fromkeys(shown))
    assert 2 == main(["explain", str(many), "--no-cache"])
    printed = capsys.readouterr().out
    for line in shown[0].splitlines()[2:]:
        assert line.split("  ")[0] in printed
    assert "gated-3" not in printed
    main(["explain", str(many), "--no-cache", "--verbose"])
    assert "default/gated-3" in capsys.readouterr().out


async def test_a_few_pending_jobs_are_listed_one_by_one() -> None:
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.work("pending")
        page = desk.app.screen
        assert isinstance(page, PageScreen)
        assert ["explain research/llm-finetune"] == [row.key for row in page.table.rows]


@pytest.mark.parametrize("width", [30, 60, 72, 78, 120])
@pytest.mark.parametrize("height", [0, 40])
def test_a_cause_is_never_cut(width: int, height: int) -> None:
    causes = [
        f"{NO} reclaim pipelined 2 pods on node-418, node-835, but no pod there is terminating, so they stay Pending",
        f"{NO} it has no PodGroup",
    ]
    numbers = [Piece(text) for text in ("40", "144", "7h", "Make the podAntiAffinity preferred", "default, q0")]
    rows = [Row(cause, (Piece(cause), *numbers)) for cause in causes]
    layout = lay_out(Table("Board", BOARD_COLUMNS, rows, wraps=False, rest_below=True), rows, width, height=height)
    for index, cause in enumerate(causes):
        lines = [line for line in layout.body if line.row == index and not line.widths]
        assert cause == " ".join(line.cells[0].text.strip() for line in lines)
    assert layout.shows_hidden_cells == (height > 0 and len(layout.columns) < len(BOARD_COLUMNS))
