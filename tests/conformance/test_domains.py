"""HyperNodes of one tier are tried in random order, and the last one sets the message: the log names it."""

from pathlib import Path

from msgspec.structs import replace

from tests.builders import cluster, conf_of, hyper_node, node, pod_group, pods
from tests.conformance.deeds import recorded, scheduler, verify_program
from vcdebug.comparison.logs.log_writer import log_lines
from vcdebug.conformance.cycle_outcome import predicted_outcome
from vcdebug.conformance.scheduler_log import DOMAIN_MARK, JOB_DOMAIN, SUB_JOB_DOMAIN, ChoiceLog, SchedulerLog
from vcdebug.framework.chance_draws import DomainRows
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot

LINE = 'I1123 16:47:07.412099   25111 allocate.go:393] "Try to allocate resource for {}"'
OF_JOB = 'job in hyperNode" job="default/j" hyperNode="{}'
OF_SUB_JOB = 'tasks in subJob" job="default/j" subJob="default/j" taskNum=2 hyperNode="{}'


def nowhere() -> Snapshot:
    """Two HyperNodes of one tier, whose nodes have room, but a taint."""
    nodes = [node(name, taints=[{"key": "kept", "effect": "NoSchedule"}]) for name in ("n0", "n1")]
    tree = [hyper_node("s0", 1, nodes=["n0"]), hyper_node("s1", 1, nodes=["n1"])]
    group = pod_group("j", min_member=2, networkTopology={"mode": "hard", "highestTierAllowed": 1})
    conf = conf_of("priority gang", "predicates network-topology-aware", actions="allocate")
    return cluster(nodes, tree, group, pods("j", 2), conf=conf)


def named(snapshot: Snapshot) -> list[str]:
    """The HyperNodes that the messages of the pending pods name."""
    messages = " ".join(message for _, message in predicted_outcome(replay_cycle(snapshot)).waiting.values())
    return [name for name in ("s0", "s1") if f"In hyperNode {name}: " in messages]


def test_hypernode_lines_of_older_releases_are_read() -> None:
    found = ChoiceLog(JOB_DOMAIN, DOMAIN_MARK)
    for name in ("s1", "s0"):
        found.read_line(LINE.format(f'job in hyperNode" jobName="default/j" hyperNodeName="{name}'))
    assert {"default/j": "s1;s0"} == found.chance_texts()


def test_replay_of_older_releases_follows_the_hypernode_order() -> None:
    snapshot = snapshot_at_release(nowhere(), "v1.13.3")
    snapshot.chance = ChanceSettings(job_domains={"default/j": "s1;s0"})
    tried = [line.text for line in log_lines(replay_cycle(snapshot), 3) if line.message_key == "allocate.tier-try"]
    assert ["s1", "s0"] == [text.split('hyperNodeName="')[1][:2] for text in tried]


def test_the_log_tells_every_hypernode_that_is_tried() -> None:
    found = SchedulerLog()
    for line in (OF_JOB.format("s1"), OF_SUB_JOB.format("s1"), OF_JOB.format("s0"), OF_SUB_JOB.format("s0")):
        found.add_line(LINE.format(line))
    found.add_line(LINE.format('job contains hard topology or subjob policy" queue="q" job="default/j'))
    tried = {"default/j": "s1;s0"}
    assert ChanceSettings(job_domains=tried, sub_job_domains=tried) == found.drawn_chance([])
    found.begin_cycle()
    assert ChanceSettings() == found.drawn_chance([])


def test_log_of_a_single_hypernode_gives_no_order() -> None:
    found = ChoiceLog(SUB_JOB_DOMAIN, DOMAIN_MARK)
    found.read_line(LINE.format(OF_SUB_JOB.format("s1")))
    assert {} == found.chance_texts()


def test_rows_come_in_the_known_order_one_after_the_other() -> None:
    rows = DomainRows({"j": "c;a;b;e;d"})
    assert [["c", "a", "b"], ["e", "d"], ["x"]] == [
        rows.next_row("j", row) for row in (["a", "b", "c"], ["d", "e"], ["x"])
    ]


def test_row_without_a_known_hypernode_keeps_its_order() -> None:
    rows = DomainRows({"j": "c;a"})
    assert [["a", "b"], ["c"], ["a"]] == [rows.next_row("j", row) for row in (["a", "b"], ["c"], ["a"])]
    assert ["b", "a"] == rows.next_row("k", ["b", "a"])


def test_message_is_that_of_the_last_tried_hypernode() -> None:
    turned = edited_snapshot(nowhere(), [parse_edit("chance:job_domains[default/j]=s1;s0")])
    assert (["s1"], ["s0"]) == (named(nowhere()), named(turned))


def test_verify_agrees_with_another_hypernode_order_from_the_log(tmp_path: Path) -> None:
    drawn = replace(nowhere(), chance=ChanceSettings(job_domains={"default/j": "s1;s0"}))
    says = [LINE.format(OF_JOB.format(name)) for name in ("s1", "s0")]
    found = verify_program(nowhere(), scheduler(tmp_path, nowhere(), recorded(drawn), says=says))
    assert (["agreed"], 2) == ([one.verdict_word for one in found.jobs], found.replay_count)
    assert ("chance:job_domains[default/j]=s1;s0",) == found.chance_edits
