"""Panels are readable: one head line, one line per row, complete heads, and distinct names for neighbours."""

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from rich.cells import cell_len

from tests.builders import cluster, conf_of, node, pod, pod_group, priority_class, queue
from tests.recorded import BENCHMARKS, BUNDLED, bundled, thousand_nodes
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.tui.widgets.table_layout import TableLayout, lay_out
from vcdebug.tui.widgets.text_wrap import pad_text, tighten_leaf, tighten_levels
from vcdebug.views.panels import PANELS
from vcdebug.views.table import Table

MIDDLE = ("moment", "equation", "statement")
FLOW = ("flow",)
WIDTHS = {47: FLOW, 55: FLOW, 79: (), 70: MIDDLE, 82: MIDDLE, 119: (), 142: ()}
"""Widths of panels at 80x24, 120x40 and 200x60: the flow, the middle, and the dock, which has all on a small screen."""
LOOKED_AT = 200
FIVE_THOUSAND = BENCHMARKS / "large-5k"
QUEUES, ZONES = ("research-and-development", "production", "batch"), ("eu-west-1a", "eu-west-1b", "eu-west-2c")
TAINT = {"key": "example.com/dedicated", "value": "inference", "effect": "NoSchedule"}
GUIDES = "│ ▾▸"
"""Characters that precede a name in a tree."""


def moments(recording: Recording) -> Iterator[DebuggerState]:
    driver = Driver(recording)
    for seq in dict.fromkeys((2, len(recording) // 2 + 1, len(recording))):
        driver.goto_event(seq)
        yield driver.current_state()


def shown(layout: TableLayout, table: Table, row: int, column: int) -> str:
    """The drawn text of a name."""
    cell = layout.placed_line(row, table.rows[row]).cells[layout.columns.index(column)]
    if layout.tree is not None:
        return cell.text.strip(GUIDES)
    return pad_text(cell.text, layout.widths[layout.columns.index(column)], right=False, name=True).strip()


def flow_faults(layout: TableLayout, table: Table) -> Iterator[str]:
    """Yield names in the tree that are cut although there is room, and lines that are too wide."""
    room = layout.tree
    if room is None:
        return
    for index, row in enumerate(table.rows[:LOOKED_AT]):
        placed = layout.placed_line(index, row)
        label = tighten_levels(row.cells[0].text) if room.close else row.cells[0].text
        cells = zip(placed.cells, placed.widths, strict=True)
        if sum(placed.widths) != room.width or any(len(cell.text) > wide for cell, wide in cells):
            yield f"{row.cells[0].text} takes {placed.widths} of {room.width} cells"
        if placed.cells[0].text not in (label, tighten_leaf(label)) and len(tighten_leaf(label)) <= room.width:
            yield f"{label} is cut to {placed.cells[0].text}"


def faults(table: Table, width: int) -> Iterator[str]:
    layout = lay_out(table, table.rows, width, wraps=False)
    if not len(table.rows) or table.rows[0].key == "next":
        if layout.total_lines > 1 and not table.title.startswith(("Action", "Equation", "Source")):
            yield f"an empty panel has {layout.total_lines} lines"
        return
    if layout.head_lines > 1 or layout.body_size != len(table.rows):
        yield f"{layout.head_lines} head lines, {layout.body_size} lines for {len(table.rows)} rows"
    if sum(layout.widths) + layout.gap * (len(layout.widths) - 1) > width - 2 and len(layout.columns) > 2:
        yield f"{layout.columns} take {layout.widths} of {width} cells"
    if layout.columns[0] or (len(table.columns) > 1 and len(layout.columns) < 2):
        yield f"only columns {layout.columns} are in sight"
    heads = next((line.cells for line in layout.top if line.is_heading), ())
    yield from (
        f"head {head.text}" for head, room in zip(heads, layout.widths, strict=False) if cell_len(head.text) > room
    )
    yield from flow_faults(layout, table)
    yield from name_faults(layout, table)


def name_faults(layout: TableLayout, table: Table) -> Iterator[str]:
    """Yield neighbours whose names are cut to the same text, and numbers that are cut."""
    for at, column in enumerate(layout.columns):
        texts = [row.cells[column].text for row in table.rows[:LOOKED_AT]]
        if table.columns[column].name:
            for one, other in pairwise(range(len(texts))):
                seen, also = shown(layout, table, one, column), shown(layout, table, other, column)
                if texts[one].strip(GUIDES) != texts[other].strip(GUIDES) and seen == also:
                    yield f"{texts[one]} and {texts[other]} are both {seen}"
        elif not table.columns[column].flexible and layout.tree is None:
            yield from (f"{text} has {layout.widths[at]} cells" for text in texts if cell_len(text) > layout.widths[at])


def all_faults(recording: Recording) -> list[str]:
    return [
        f"{panel.command_name} at event {here.seq}, {width} cells: {fault}"
        for here in moments(recording)
        for panel in PANELS
        for table in [panel.build_table(here)]
        for width, only in WIDTHS.items()
        if panel.command_name in only or (not only and (width < 80 or panel.command_name not in (*MIDDLE, *FLOW)))
        for fault in faults(table, width)
    ]


@pytest.mark.parametrize("name", BUNDLED)
def test_every_panel_has_one_line_per_row(name: str) -> None:
    assert [] == all_faults(bundled(name))


@pytest.mark.parametrize("name", BUNDLED)
def test_an_empty_panel_leads_to_an_event_at_which_it_has_something(name: str) -> None:
    driver = Driver(bundled(name))
    for here in moments(bundled(name)):
        for panel in PANELS:
            rows = panel.build_table(here).rows
            if len(rows) and rows[0].key == "next":
                after = panel.build_table(driver.goto_event(rows[0].seq)).rows
                assert len(after), (panel.title, here.seq)
                assert after[0].key != "next", (panel.title, here.seq)


def large_cluster() -> Snapshot:
    """Hundreds of nodes and jobs: long names with equal ends, taints, full and cordoned nodes, preemption."""
    draw = random.Random(7)
    queues = [queue(name, weight=weight) for weight, name in enumerate(QUEUES, start=1)]
    classes = [priority_class("low", 10), priority_class("high", 1000)]
    names = [f"worker-pool-of-{draw.choice(ZONES)}-{number:04}" for number in range(120)]
    nodes = [
        node(name, "8", "64Gi", gpu="8", taints=[TAINT] * (number % 3), unschedulable=not number % 40)
        for number, name in enumerate(names)
    ]
    conf = conf_of("priority gang", "drf predicates proportion nodeorder binpack", actions="enqueue allocate preempt")
    jobs = (manifest for number in range(200) for manifest in large_job(number, names, draw))
    return cluster(queues, classes, nodes, jobs, conf=conf)


def large_job(number: int, names: Sequence[str], draw: random.Random) -> Iterator[Manifest]:
    """A running or pending gang."""
    name, size = f"training-run-of-team-{number % 7}-attempt-{number:04}", draw.randint(1, 4)
    runs = number < 100
    rank = "low" if runs else draw.choice(("low", "high"))
    phase = "Running" if runs else "Inqueue"
    yield pod_group(name, min_member=1 if runs else size, queue=draw.choice(QUEUES), priority_class=rank, phase=phase)
    for member in range(size):
        on = draw.choice(names) if runs else ""
        requests = {"cpu": draw.choice(("1", "2") if runs else ("5", "7", "40")), "memory": draw.choice(("2Gi", "9Gi"))}
        priority = 10 if rank == "low" else 1000
        yield pod(f"{name}-{member}", name, on=on, requests=requests, priorityClassName=rank, priority=priority)


@pytest.mark.slow
def test_panels_of_a_large_cluster_have_one_line_per_row() -> None:
    with disposing(replay_cycle(large_cluster())) as recording:
        assert [] == all_faults(recording)


@pytest.mark.slow
def test_panels_of_a_thousand_nodes_have_one_line_per_row() -> None:
    assert [] == all_faults(thousand_nodes())


@pytest.mark.slow
def test_panels_of_five_thousand_nodes_have_one_line_per_row() -> None:
    # The measured cluster is beside some checkouts only; without it the large one above stands in.
    snapshot = load_snapshot(FIVE_THOUSAND) if FIVE_THOUSAND.exists() else large_cluster()
    with disposing(replay_cycle(snapshot)) as recording:
        assert [] == all_faults(recording)
