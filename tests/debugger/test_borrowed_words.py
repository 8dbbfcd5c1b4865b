"""Words of kubectl, k9s, gdb and rr at the command line: each does what it does there, or opens what shows it."""

from pathlib import Path

import pytest

from tests.recorded import bundled
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.breakpoints import BreakpointError
from vcdebug.debugger.commands import PANEL_WORDS, CommandError, execute_line
from vcdebug.debugger.driver import CommandReply, Driver
from vcdebug.errors import VcdebugError
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.views.panels import PAGES, PANEL_VIEWS, find_panel

JOB = "research/llm-finetune"


def replies(*lines: str) -> list[CommandReply]:
    driver = Driver(bundled())
    return [execute_line(driver, line) for line in lines]


def last_seq(*lines: str) -> int | None:
    state = replies(*lines)[-1].state
    return None if state is None else state.seq


@pytest.mark.parametrize(
    ("line", "view", "argument"),
    [
        ("get pods", "pods", ""),
        ("kubectl get po -A -o wide", "pods", ""),
        ("get pods -n research", "pods", "research"),
        ("get jobs --namespace=research", "jobs", "research"),
        ("describe node gpu-a100-01", "nodes", "gpu-a100-01"),
        ("describe pod llm-finetune-worker-0 -n research", "pods", f"{JOB}-worker-0"),
        ("describe pod -n research llm-finetune-worker-0", "pods", f"{JOB}-worker-0"),
        ("describe vcjob/llm-finetune", "jobs", "llm-finetune"),
        ("get podgroups.scheduling.volcano.sh llm-finetune", "jobs", "llm-finetune"),
        ("get q", "queues", ""),
        ("get q research", "queues", "research"),
        ("top nodes", "nodes", ""),
        ("explain llm-finetune -n research", "explain", JOB),
        ("get events", "panel", "effects"),
        ("logs", "panel", "log"),
        ("info breakpoints", "panel", "breaks"),
        ("info b", "panel", "breaks"),
        ("info watchpoints", "panel", "watch"),
        ("info source", "panel", "source"),
        ("info", "panel", ""),
    ],
)
def test_what_kubectl_and_gdb_list_is_shown(line: str, view: str, argument: str) -> None:
    reply = replies(line)[0]
    assert (view, argument) == (reply.show, reply.argument)


def test_every_panel_opens_by_its_name() -> None:
    driver = Driver(bundled())
    by_name = {name: execute_line(driver, name) for name in PANEL_VIEWS}
    assert set() == {name for name, reply in by_name.items() if not reply.show}
    assert [] == [name for name in set(PANEL_WORDS.values()) if not find_panel(driver.current_state(), name).title]


def test_a_namespace_lists_its_objects() -> None:
    state = Driver(bundled()).current_state()
    for name, count in (("pods", 14), ("jobs", 5)):
        table = PAGES[name].view(state, "research")
        assert (f"{name.capitalize()} in research {count}", count) == (table.title, len(table.rows))
        assert all(row.key.startswith("research/") for row in table.rows)


@pytest.mark.parametrize("line", ["get nothing", "kubectl describe nothing n1", "moment x"])
def test_other_words_are_refused(line: str) -> None:
    with pytest.raises(CommandError, match="no command"):
        replies(line)


@pytest.mark.parametrize(("step", "back"), [("step", "rs"), ("next", "reverse-next"), ("s", "reverse-step")])
def test_steps_are_repeated_forward_and_backward(step: str, back: str) -> None:
    assert last_seq("goto 103", step, step, step) == last_seq("goto 103", f"{step} 3")
    assert 103 == last_seq("goto 103", f"{step} 3", f"{back} 3")
    assert len(bundled()) == last_seq(f"{step} 100000")
    assert 1 == last_seq("goto 9", f"{back} 100000")


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("about job llm-finetune", f"about job {JOB}"),
        ("about pod llm-finetune-worker-1", f"about task {JOB}-worker-1"),
        ("back-about pod llm-finetune-worker-0", f"back-about task {JOB}-worker-0"),
    ],
)
def test_events_about_an_object_need_no_namespace(line: str, same: str) -> None:
    assert last_seq("goto 90", same) == last_seq("goto 90", line) != 90


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("about job nothing", "no job 'nothing'; available: "),
        ("about pod nothing", "no pod 'nothing'; available: "),
        ("about plugin nothing", "no plugin 'nothing'; available: "),
    ],
)
def test_events_about_nothing_are_an_error(line: str, words: str) -> None:
    with pytest.raises(VcdebugError) as caught:
        replies(line)
    assert caught.value.format_line().startswith(words)


def test_a_pod_is_a_task() -> None:
    driver = Driver(bundled())
    name = "llm-finetune-worker-0"
    for line in (f"print {{}} {name} status", f"break {{}} {name} status", f"break vote if {{}} == research/{name}"):
        texts = [execute_line(driver, line.format(word)).text for word in ("task", "pod")]
        assert texts[0][-8:] == texts[1][-8:], line


def test_continue_passes_a_number_of_hits_and_run_begins_again() -> None:
    third = last_seq("break starving", "c", "c", "c")
    assert third == last_seq("break starving", "c 3") == last_seq("goto 150", "break starving", "run", "c 2")
    assert 1 == last_seq("goto 150", "run")


def test_breakpoints_are_switched_ignored_and_deleted_by_several_numbers() -> None:
    driver = Driver(bundled())
    points = driver.debugger.breakpoints
    for line in ("break starving", "break victim", "tbreak discard"):
        execute_line(driver, line)
    for line, enabled in (
        ("disable 1 2", [False, False, True]),
        ("disable 2", [False, False, True]),
        ("enable", [True, True, True]),
        ("disable", [False, False, False]),
        ("enable breakpoints 3", [False, False, True]),
        ("toggle 1 3", [True, False, False]),
    ):
        execute_line(driver, line)
        assert enabled == [point.enabled for point in points], line
    assert points[3].once
    assert "hits > 2" in execute_line(driver, "ignore 1 2").text
    assert "break starving hits > 2" == points[1].command_line()
    execute_line(driver, "delete 1 3")
    assert [2] == [point.number for point in points]
    execute_line(driver, "delete breakpoints")
    assert 0 == len(points)


def test_a_list_at_the_overview_says_that_it_is_before_the_cycle() -> None:
    driver = Driver(bundled(), first=0)
    for seq, when in ((0, " before the cycle"), (9, "")):
        execute_line(driver, f"goto {seq}")
        assert f"Pods{when} 16" == PAGES["pods"].view(driver.current_state()).title
        assert f"Jobs in research{when} 5" == PAGES["jobs"].view(driver.current_state(), "research").title


NODE_ONLY = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}, capacity: {cpu: "4", memory: 8Gi, pods: "10"}}
"""


def test_a_list_without_rows_says_so(tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text(NODE_ONLY)
    state = Driver(replay_cycle(load_snapshot(tmp_path / "node.yaml"))).current_state()
    for name, table in [
        *((name, panel.build_table(state)) for name, panel in PANEL_VIEWS.items()),
        *((name, PAGES[name].view(state)) for name in ("jobs", "pods", "queues")),
    ]:
        assert len(table.rows) or table.header or table.footer, name


@pytest.mark.parametrize("condition", ["plugin == gang", "job == research/llm-finetune", "queue != research"])
def test_a_condition_without_a_kind_names_the_breakpoint_that_takes_it(condition: str) -> None:
    with pytest.raises(BreakpointError) as raised:
        parse_breakpoint(f"break {condition}", 1, bundled())
    expected = f"a condition needs a kind of breakpoint before it; break vote if {condition}"
    assert expected == raised.value.format_line()
    assert parse_breakpoint(f"break vote if {condition}", 1, bundled()).condition_text == condition
