"""`dap`: the debugger driven by an editor."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from signal import SIGINT
from socket import create_connection
from subprocess import PIPE, Popen

import pytest
from debugpy.common.messaging import JsonIOStream

from tests.cli.editor import Editor, RefusedError, editing, in_process_editor
from tests.effort import PATIENCE
from tests.recorded import ROOT
from vcdebug.cli.commands.dap import read_message
from vcdebug.errors import VcdebugError

BLOCKED = "preempt-blocked-by-gang"
GANG = "gang.preemptableFn"


@pytest.fixture
def editor() -> Iterator[Editor]:
    """An editor whose adapter has replayed the snapshot and waits for breakpoints."""
    with in_process_editor() as made:
        made.begin(snapshot=BLOCKED)
        yield made


def checkout(folder: Path) -> Path:
    """A Volcano checkout that has only the file of the gang plugin; returns the file."""
    file = folder / "pkg" / "scheduler" / "plugins" / "gang" / "gang.go"
    file.parent.mkdir(parents=True)
    lines = [""] * 300
    lines[96] = "\tpreemptableFn := func(preemptor *api.TaskInfo) {"
    file.write_text("\n".join(lines))
    return file


def event_number(stopped: dict[str, object]) -> int:
    """The event number in a stopped event's description."""
    found = re.match(r"event (\d+)", str(stopped["description"]))
    assert found is not None
    return int(found[1])


def test_twenty_steps_and_their_opposites_end_at_the_start() -> None:
    with editing() as editor:
        editor.begin(snapshot=BLOCKED)
        take_twenty_steps(editor)


def take_twenty_steps(editor: Editor) -> None:
    editor.ask("setFunctionBreakpoints", breakpoints=[{"name": GANG}])
    assert 1 == event_number(editor.start())
    moves = ["continue", "stepIn", "next", "next", "stepOut", "stepIn", "stepIn", "next", "continue", "next"]
    forward = [event_number(editor.move(command)[0]) for command in moves]
    assert sorted(set(forward)) == forward
    backward = [event_number(editor.move(command)[0]) for command in ["stepBack", "reverseContinue"] + ["stepBack"] * 8]
    assert forward[-2] == backward[0]
    assert 20 == len(forward) + len(backward)
    assert sorted(backward, reverse=True) == backward


@pytest.mark.parametrize("command", ["next", "stepIn", "stepOut"])
def test_a_step_back_undoes_the_last_step(editor: Editor, command: str) -> None:
    editor.start()
    editor.evaluate("goto 103")
    editor.wait_for("stopped")
    assert 103 < event_number(editor.move(command)[0])
    assert 103 == event_number(editor.move("stepBack")[0])


def test_step_in_and_out_visit_the_parts_of_a_score(editor: Editor) -> None:
    editor.start()
    editor.evaluate("break score")
    editor.move("continue")
    into = [str(editor.move(command)[0]["description"]) for command in ("stepIn", "stepIn", "stepBack", "stepBack")]
    assert ["part 1 of", "part 2 of", "part 1 of"] == [text.partition(", ")[2][:9] for text in into[:3]]
    assert "part" not in into[3]


def test_a_function_breakpoint_stops_in_its_function(editor: Editor) -> None:
    (point,) = editor.ask("setFunctionBreakpoints", breakpoints=[{"name": GANG}])["breakpoints"]
    assert point["verified"]
    editor.start()
    stopped, frame = editor.move("continue")
    assert ("breakpoint", [point["id"]]) == (stopped["reason"], stopped["hitBreakpointIds"])
    assert GANG == frame["name"]
    assert ["allocate.Execute", "scheduler.runOnce"] == [
        one["name"].replace("preempt", "allocate") for one in editor.stack()[-2:]
    ]


def test_conditions_counts_and_log_points_are_those_of_break(editor: Editor) -> None:
    every = {"name": GANG}
    asked = [
        every,
        {**every, "condition": 'node == "gpu-a100-02"'},
        {**every, "hitCondition": "3"},
        {**every, "hitCondition": "% 4"},
        {**every, "hitCondition": ">= 7"},
        {**every, "logMessage": "gang allows {victims}"},
    ]
    found = editor.ask("setFunctionBreakpoints", breakpoints=asked)["breakpoints"]
    stops = [int((re.findall(r"(\d+) hits?", one["message"]) or [one["message"]])[0]) for one in found]
    everywhere = stops[0]
    assert [1, everywhere // 4, everywhere - 6, everywhere] == stops[2:]
    assert 0 < stops[1] < everywhere
    editor.start()
    editor.move("continue")
    assert editor.wait_for("output")["output"].endswith("gang allows research/resnet-sweep-worker-0\n")


def test_a_list_of_breakpoints_replaces_the_one_before(editor: Editor) -> None:
    editor.ask("setFunctionBreakpoints", breakpoints=[{"name": GANG}, {"name": "victim"}])
    editor.ask("setFunctionBreakpoints", breakpoints=[])
    assert "pause" == (editor.start() and editor.move("continue")[0]["reason"])


def test_breakpoint_that_cannot_stop_is_unverified_with_the_reason(editor: Editor) -> None:
    found = editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "gang.preemptabelFn"}, {"name": GANG}])
    assert [False, True] == [one["verified"] for one in found["breakpoints"]]
    assert "preemptabelFn" in found["breakpoints"][0]["message"]


def test_a_source_breakpoint_moves_to_the_function_that_holds_its_line(tmp_path: Path) -> None:
    file = checkout(tmp_path)
    with in_process_editor(str(tmp_path)) as editor:
        editor.begin(snapshot=BLOCKED)
        (point,) = editor.ask("setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": 104}])["breakpoints"]
        assert (True, 97) == (point["verified"], point["line"])
        editor.start()
        _, frame = editor.move("continue")
        assert (GANG, 97, str(file)) == (frame["name"], frame["line"], frame["source"]["path"])


def test_without_a_checkout_a_frame_says_what_its_function_decides(editor: Editor) -> None:
    editor.start()
    editor.evaluate("goto 103")
    frame = editor.stack()[0]
    text = editor.ask("source", **frame["source"])["content"]
    assert "gang.preemptableFn plugins/gang/gang.go:97" in text
    assert "rule: " in text


def test_scopes_show_verdicts_equation_figures_and_fields(editor: Editor) -> None:
    editor.start()
    editor.evaluate("goto 103")
    assert "bert-pretrain has 4 ready and needs 4" in editor.variables("Verdicts")["bert-pretrain-worker-0"]["value"]
    assert "ready 4, min 4" in editor.variables("Equation")["bert-pretrain-worker-0"]["value"]
    assert "4" == editor.variables("Figures", "queue research")["weight"]["value"]
    assert "72" == editor.variables("Figures", "node gpu-a100-01", "idle")["cpu"]["value"]
    assert "gang" == editor.variables("Event")["plugin"]["value"]


def test_a_figure_can_be_followed_by_a_data_breakpoint(editor: Editor) -> None:
    editor.start()
    editor.evaluate("goto 103")
    frame = editor.ask("scopes", frameId=editor.stack()[0]["id"])["scopes"]
    figures = next(one for one in frame if one["name"] == "Figures")["variablesReference"]
    job = editor.ask("variables", variablesReference=figures)["variables"][0]["variablesReference"]
    editor.ask("variables", variablesReference=job)
    found = editor.ask("dataBreakpointInfo", variablesReference=job, name="waiting")
    assert "job research/llm-finetune waiting" == found["dataId"]
    (point,) = editor.ask("setDataBreakpoints", breakpoints=[{"dataId": found["dataId"]}])["breakpoints"]
    assert point["verified"]
    assert "waiting" in editor.move("continue")[0]["description"]


def test_the_console_takes_expressions_figures_and_commands(editor: Editor) -> None:
    editor.start()
    editor.evaluate("goto 103")
    assert "2" == editor.evaluate("count(candidates)", "watch")
    assert editor.evaluate("node gpu-a100-01 idle cpu", "hover")
    assert "gang protects" in editor.evaluate("explain research/llm-finetune")
    assert "gang.preemptableFn" in editor.evaluate("where")


@pytest.mark.parametrize(("text", "context"), [("where", "watch"), ("nonsense", "repl"), ("goto 9999", "repl")])
def test_invalid_expression_is_refused_with_a_message(editor: Editor, text: str, context: str) -> None:
    editor.start()
    with pytest.raises(RefusedError, match=r"no field|does not exist"):
        editor.evaluate(text, context)


def test_cycles_and_the_edited_branch_are_threads(tmp_path: Path) -> None:
    with in_process_editor() as editor:
        editor.begin(snapshot=BLOCKED, commands=["advance"])
        editor.start()
        editor.evaluate("set conf:plugins.gang.enablePreemptable=false")
        names = {one["name"]: one["id"] for one in editor.ask("threads")["threads"]}
        assert {"cycle 1", "cycle 2"} < set(names)
        stopped, _ = editor.move("next", names["cycle 1"])
        assert names["cycle 1"] == stopped["threadId"]
        assert editor.stack(names["cycle 2"])


def test_launch_without_stop_on_entry_runs_to_the_first_breakpoint() -> None:
    with in_process_editor() as editor:
        editor.begin(snapshot=BLOCKED, stopOnEntry=False)
        editor.ask("setFunctionBreakpoints", breakpoints=[{"name": GANG}])
        assert "breakpoint" == editor.start()["reason"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "no snapshot is named"),
        ({"snapshot": "nowhere"}, "nowhere"),
        ({"snapshot": BLOCKED, "source": "/"}, "pkg/"),
    ],
)
def test_failed_launch_states_the_reason(options: dict[str, object], words: str) -> None:
    with in_process_editor() as editor, pytest.raises(RefusedError, match=words):
        editor.begin(**options)


def test_a_request_that_is_not_supported_does_not_end_the_session(editor: Editor) -> None:
    with pytest.raises(RefusedError, match="restart is not supported"):
        editor.ask("restart")
    assert 1 == event_number(editor.start())


@pytest.fixture
def listening() -> Iterator[Popen[str]]:
    with Popen([sys.executable, "-m", "vcdebug", "dap", "--port", "0"], stderr=PIPE, text=True) as process:
        yield process
        process.kill()


def test_the_port_serves_one_editor_after_the_other(listening: Popen[str]) -> None:
    assert listening.stderr is not None
    place = re.search(r"127\.0\.0\.1:(\d+)", listening.stderr.readline())
    assert place is not None
    address = ("127.0.0.1", int(place[1]))
    for _ in range(2):
        with create_connection(address, PATIENCE) as client:
            editor = Editor(JsonIOStream.from_socket(client))
            editor.begin(snapshot=BLOCKED)
            editor.start()
            editor.ask("disconnect")
    with create_connection(address, PATIENCE) as client:
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        assert "not a header field" in listening.stderr.readline()
    listening.send_signal(SIGINT)
    assert 130 == listening.wait(PATIENCE)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 2\r\n\r\n{}",
        b"Content-Length: 3\r\n\r\n{'a",
    ],
)
def test_invalid_message_is_refused(sent: bytes) -> None:
    with pytest.raises(VcdebugError):
        read_message(BytesIO(sent))


def test_the_launch_configuration_of_the_page_works() -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    snippets = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    (launch,) = (one["configurations"][0] for one in snippets if "configurations" in one)
    (extension,) = (one["contributes"]["debuggers"][0] for one in snippets if "contributes" in one)
    assert launch["type"] == extension["type"]
    assert ("vcdebug", ["dap"]) == (extension["runtime"], extension["runtimeArgs"])
    with in_process_editor() as editor:
        editor.begin(**{key: value for key, value in launch.items() if key not in ("type", "name", "request")})
        assert 1 == event_number(editor.start())
