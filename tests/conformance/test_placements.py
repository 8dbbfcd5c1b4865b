"""A pod with placements on several nodes in one cycle: the replay follows the ones in the log."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.actions.outcome import ops
from tests.builders import amounts, cluster, conf_of, node, pod, pod_group
from vcdebug.conformance import nearest_replay
from vcdebug.conformance.cycle_outcome import predicted_outcome
from vcdebug.conformance.nearest_replay import follow_scheduler
from vcdebug.conformance.scheduler_log import SchedulerLog
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import EARLY_NEWS, ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot

LINE = "I1123 14:40:08.49 7 statement.go:287] After {} Task <default/j-0> to Node <{}>: idle <>"


def twice_placed() -> Snapshot:
    """allocate places j-0 and undoes it, since the queue has no room for j-2; then preempt places j-0 again."""
    conf = conf_of("priority gang", "predicates proportion nodeorder", actions="allocate, preempt")
    large = pod("j-0", "j", requests=amounts("4", "6G"))
    small = [pod(f"j-{i}", "j", requests=amounts("3", "1G")) for i in (1, 2)]
    return cluster(node("n1", cpu="4"), node("n2", cpu="4"), pod_group("j", min_member=3), large, small, conf=conf)


def test_the_log_tells_one_place_after_the_other_without_repeats_at_the_end() -> None:
    found = SchedulerLog()
    for what, where in (("allocated", "n2"), ("pipelined", "n1"), ("pipelined", "n1")):
        found.add_line(LINE.format(what, where))
    found.add_line("I1123 14:40:08.49 7 allocate.go:956] Binding Task <default/j-0> to node <n2>")
    assert ChanceSettings(choices={"default/j-0": "n2;n1"}) == found.drawn_chance([])
    found.begin_cycle()
    assert ChanceSettings() == found.drawn_chance([])


NEWS = "I1123 14:40:08.49 7 event_handlers.go:432] {}"
TAKEN, PASSED_OVER = "Updated pod <default/j-0> in cache.", "Pod <default/j-0> already in cache with allocated status, "


@pytest.mark.parametrize(
    ("lines", "is_early"),
    [((TAKEN, PASSED_OVER, TAKEN), True), ((PASSED_OVER, TAKEN), False), ((), False)],
)
def test_the_log_tells_whether_news_of_a_placed_pod_came_before_its_bind(
    lines: tuple[str, ...], is_early: bool
) -> None:
    found = SchedulerLog()
    for line in (NEWS.format(TAKEN), LINE.format("allocated", "n2"), *map(NEWS.format, lines)):
        found.add_line(line)
    assert ({"default/j-0": EARLY_NEWS} if is_early else {}) == found.drawn_chance([]).card_news


def test_the_replay_follows_each_place_in_turn() -> None:
    chosen = replace(twice_placed(), chance=ChanceSettings(choices={"default/j-0": "n2;n1"}))
    assert ["allocate j-0@n2", "unallocate j-0@n2", "pipeline j-0@n1"] == [
        op for op in ops(replay_cycle(chosen)) if "j-0" in op
    ][:3]
    assert ["allocate j-0@n1"] == [op for op in ops(replay_cycle(twice_placed())) if "j-0" in op][:1]


def test_logged_placements_are_replayed_if_the_bound_nodes_do_not_suffice() -> None:
    seen = predicted_outcome(replay_cycle(twice_placed()))
    seen.nominated["default/j-2"] = "n1"
    followed = follow_scheduler(
        twice_placed(), seen, seeds=0, logged_chance=ChanceSettings(choices={"default/j-0": "n2;n1"})
    )
    assert 3 == followed.replay_count


def test_bound_nodes_and_logged_placements_are_replayed_with_each_order_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[ChanceSettings] = []

    def noting(snapshot: Snapshot, **more: Any) -> Recording:
        tried.append(snapshot.chance)
        return replay_cycle(snapshot, **more)

    monkeypatch.setattr(nearest_replay, "replay_cycle", noting)
    seen = predicted_outcome(replay_cycle(twice_placed()))
    seen.nominated["default/j-2"] = "n1"
    follow_scheduler(twice_placed(), seen, seeds=2, logged_chance=ChanceSettings(choices={"default/j-0": "n2;n1"}))
    assert ["n1", "n2;n1"] == sorted({one.choices.get("default/j-0", "") for one in tried if one.order_seed == 2})
