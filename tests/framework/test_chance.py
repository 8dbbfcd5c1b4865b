"""Random choices of upstream: drawn from a seed, repeatable, and by default the recordings' rule."""

import io
from pathlib import Path

from msgspec.structs import replace

from tests.actions.outcome import ops
from tests.builders import cluster, conf_of, node, open_session, pod_group, pods
from vcdebug.framework.chance_draws import RandomDraws
from vcdebug.framework.record import BestEvent
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.cycle_inputs import ChanceSettings, MapOrder
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot


def ties() -> Snapshot:
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate")
    return cluster([node(f"n{i}") for i in range(5)], pod_group("j"), pods("j", 1), conf=conf)


def placed(chance: ChanceSettings) -> str:
    snapshot = ties()
    snapshot.chance = chance
    return ops(replay_cycle(snapshot))[0]


def trace(snapshot: Snapshot) -> str:
    file = io.StringIO()
    write_jsonl(replay_cycle(snapshot), file)
    return file.getvalue()


def test_without_a_seed_the_first_of_equal_nodes_is_taken() -> None:
    assert "allocate j-0@n0" == placed(ChanceSettings())


def test_a_tie_seed_draws_among_the_tied_and_the_tie_stays_visible() -> None:
    drawn = {placed(ChanceSettings(tie_seed=seed)) for seed in range(40)}
    assert {f"allocate j-0@n{i}" for i in range(5)} == drawn
    best = next(event for event in replay_cycle(ties()).events if isinstance(event, BestEvent))
    assert 5 == len(best.tied)


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, second = ties(), ties()
    first.chance = second.chance = ChanceSettings.from_seed(7)
    assert trace(first) == trace(second)


def test_the_search_start_turns_the_visiting_order() -> None:
    assert "allocate j-0@n3" == placed(ChanceSettings(search_start=3))


def test_an_order_seed_permutes_keys_and_none_sorts_them() -> None:
    keys = [f"k{i}" for i in range(20)]
    drawn = MapOrder(3).order_keys(keys)
    assert sorted(keys) == MapOrder().order_keys(reversed(keys))
    assert sorted(keys) == sorted(drawn) != drawn
    assert drawn == MapOrder(3).order_keys(reversed(keys))


def test_with_an_order_seed_each_visit_of_a_node_is_in_another_order() -> None:
    ssn = open_session(cluster(node("n1"), pod_group("j"), pods("j", 5, on="n1")), "gang")
    tasks = ssn.nodes["n1"].tasks_in_order()
    draws, again, rule = (RandomDraws(ChanceSettings(order_seed=seed)) for seed in (3, 3, None))
    visits = [[task.name for task in draws.next_visit(tasks)] for _ in range(3)]
    assert 3 == len({*map(tuple, visits)})
    assert visits == [[task.name for task in again.next_visit(tasks)] for _ in range(3)]
    assert [tasks, tasks] == [rule.next_visit(tasks), rule.next_visit(tasks)]


def test_draws_stay_below_their_bound_and_are_zero_without_a_seed() -> None:
    seeded, rule = RandomDraws(ChanceSettings(tie_seed=1)), RandomDraws(ChanceSettings())
    assert {0, 1, 2} == {seeded.draw_below(3) for _ in range(50)}
    assert {0} == {rule.draw_below(3) for _ in range(5)}


def test_chance_settings_are_saved_with_the_snapshot(tmp_path: Path) -> None:
    snapshot = ties()
    snapshot.chance = replace(ChanceSettings(), search_start=2, tie_seed=9)
    save_snapshot(snapshot, tmp_path / "s.tar.gz")
    assert snapshot.chance == load_snapshot(tmp_path / "s.tar.gz").chance


def test_known_choice_decides_only_a_tie() -> None:
    assert "allocate j-0@n3" == placed(ChanceSettings(choices={"default/j-0": "n3"}))
    assert "allocate j-0@n0" == placed(ChanceSettings(choices={"default/j-0": "elsewhere"}))
    assert "allocate j-0@n3" == placed(ChanceSettings(tie_seed=5, choices={"default/j-0": "n3"}))


def test_several_choices_are_taken_one_place_after_the_other_and_the_last_stays() -> None:
    draws, seen = RandomDraws(ChanceSettings(choices={"default/j-0": "n3;n1"})), []
    for _ in range(3):
        seen.append(draws.known_choice("default/j-0"))
        draws.count_placement("default/j-0")
    assert ["n3", "n1", "n1"] == seen
    assert "" == draws.known_choice("default/other")


def test_chance_choice_can_be_set_by_an_edit() -> None:
    snapshot = edited_snapshot(ties(), [parse_edit("chance:choices[default/j-0]=n4")])
    assert "allocate j-0@n4" == ops(replay_cycle(snapshot))[0]
