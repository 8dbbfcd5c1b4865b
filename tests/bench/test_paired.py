"""What the paired bench reads from a scheduler's metrics."""

import pytest

from tests.bench.paired import Metrics


def page(count: int, allocate: float, backfill: float, *, backfills: int = 0) -> str:
    name = "volcano_action_scheduling_latency_milliseconds"
    rows = (("allocate", allocate, count), ("backfill", backfill, backfills or count))
    return "\n".join(
        f'{name}_sum{{action="{action}"}} {total}\n{name}_count{{action="{action}"}} {times}'
        for action, total, times in rows
    )


def test_a_cycle_took_what_the_metrics_have_gained_by_it() -> None:
    metrics = Metrics(0)
    metrics.note(page(1, 2.0, 1.0))
    metrics.note(page(2, 1202.0, 1.5))
    assert metrics.of(2) == pytest.approx(1.2005)


def test_a_page_of_a_cycle_that_is_under_way_does_not_count() -> None:
    metrics = Metrics(0)
    metrics.note(page(2, 1000.0, 1.0, backfills=1))
    assert not metrics.after
