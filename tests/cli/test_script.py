"""`script`: the debugger's `:` commands without a screen."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from tests.cli.scripts import BLOCKED, run, steps
from tests.cli.transcripts import call
from tests.effort import PATIENCE
from vcdebug.debugger.commands import list_verbs

JOB = "research/llm-finetune"


def test_script_prints_the_position_after_each_command(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "break statement discard", ":continue", "goto 103")
    assert (0, "") == (code, err)
    lines = out.splitlines()
    assert [":break statement discard", ":continue", ":goto 103"] == [line for line in lines if line.startswith(":")]
    assert lines[3].startswith("  event 72  allocate > q research > llm-finetune")
    assert lines[3].endswith("(breakpoint 1 (statement))")
    assert "Preemptable" in lines[-2]
    assert "  Release unknown, replayed by the latest rules (master of 2026-08-20)." == lines[-1]


def test_comments_and_empty_lines_are_skipped_and_still_count(tmp_path: Path) -> None:
    assert [3, 5] == [step["line"] for step in steps(tmp_path, "# a comment", "", "goto 5", "", "goto 6")]


def test_back_steps_undo_steps(tmp_path: Path) -> None:
    forward, backward = ["s", "n", "f", "n"], ["N", "F", "N", "S"]
    seqs = [step["seq"] for step in steps(tmp_path, "goto 66", *forward, *backward)]
    assert seqs[:5] == seqs[4:][::-1]


def test_log_points_print_during_continue(tmp_path: Path) -> None:
    said = steps(tmp_path, 'break victim if plugin == "gang" log "{victims}"', "c")[1]["log"]
    assert {"seq": 103, "breakpoint": 1, "text": "research/resnet-sweep-worker-0"} == said[0]


def test_json_has_the_event_as_the_trace_writes_it(tmp_path: Path) -> None:
    step = steps(tmp_path, "goto 103")[0]
    assert ("hook", "gang", 103) == (step["event"]["ev"], step["event"]["plugin"], step["event"]["seq"])
    assert ["cycle", "action", "queue", "job", "task", "node"] == [span["level"] for span in step["path"]]


@pytest.mark.parametrize(
    "name", ["", "flow", "moment", "equation", "statement", "jobs", "nodes", "queues", "breaks", "problems"]
)
def test_a_panel_is_printed(name: str, tmp_path: Path) -> None:
    assert steps(tmp_path, "goto 103", f"panel {name}")[1]["table"]


@pytest.mark.parametrize(("command", "title"), [("break", "Breaks"), ("watch", "Watch"), ("bookmarks", "Bookmarks")])
def test_a_command_without_words_prints_its_list(command: str, title: str, tmp_path: Path) -> None:
    assert title == steps(tmp_path, command)[0]["table"][0]


def test_help_lists_every_verb(tmp_path: Path) -> None:
    table = "\n".join(steps(tmp_path, "help")[0]["table"])
    assert [] == [verb.names[0] for verb in list_verbs() if verb.names[0] not in table]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("help break", ":break KIND [if CONDITION] [hits == N] [once] [log TEXT]: set a breakpoint (also b)"),
        ("help p", ":print FIGURE | EXPRESSION: print a value or expression at this event (also p)"),
        ("help overview", ":overview: Show the overview of the cycle"),
    ],
)
def test_help_says_how_a_command_is_used(line: str, answer: str, tmp_path: Path) -> None:
    assert answer == steps(tmp_path, line)[0]["text"]


def test_a_value_is_printed_with_the_one_before_the_event_and_is_not_watched(tmp_path: Path) -> None:
    lines = ("goto 107", "p node gpu-a100-01 releasing", "next", "print node gpu-a100-01 releasing", "p seq > 7")
    answers = steps(tmp_path, *lines, "watch")
    changed, same, expression = (answers[number]["text"] for number in (1, 3, 4))
    now = "node gpu-a100-01 releasing: 8 cpu, 60Gi memory, 2 nvidia.com/gpu"
    assert (f"{now} (before the event: nothing)", now, "seq > 7: yes") == (changed, same, expression)
    assert "nothing is watched" in "".join(answers[-1]["table"])


def test_quit_ends_the_script(tmp_path: Path) -> None:
    assert ["goto 3"] == [step["command"] for step in steps(tmp_path, "goto 3", "quit", "nonsense")]


def test_where_prints_the_enclosing_spans_and_the_call_stack(tmp_path: Path) -> None:
    place, *stack = steps(tmp_path, "goto 72", "where")[1]["text"].splitlines()
    assert f"event 72 of 166: allocate > research > {JOB} (functions of master of 2026-08-20)" == place
    assert ["scheduler.runOnce  scheduler.go:124"] == [line.split(None, 1)[1] for line in stack[-1:]]


def test_an_explained_job_that_stays_unscheduled_exits_2(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, f"explain {JOB}")
    assert 2 == code
    assert "cause: gang-discard" in out


def test_edits_act_before_the_cycle_runs(tmp_path: Path) -> None:
    options = ("--set", "conf:plugins.gang.enablePreemptable=false")
    assert 0 == run(tmp_path, f"explain {JOB}", options=options)[0]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("dance", "no command 'dance'"),
        ("goto x", "is not an event number"),
        ("goto 9999", "event 9999 does not exist; events are 1 to 166"),
        ("goto +162", "event 167 does not exist; events are 1 to 166"),
        ("goto -5", "event 0 does not exist; events are 1 to 166"),
        ("goto 0", "event 0 does not exist; events are 1 to 166"),
        ("break victim if", "at character"),
        ("toggle 9", "no breakpoint 9"),
        ("filter x", "filter needs the screen"),
        ("overview x", "overview takes no argument"),
        ("open x", "open needs the screen"),
        ("panel x", "no panel 'x'"),
        ("explain nope", "nope"),
        ("help nope", "no command 'nope'"),
        ("print", "print needs an argument; a figure such as node n1 idle cpu"),
    ],
)
def test_the_first_error_ends_it_with_its_line(line: str, says: str, tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "goto 5", line, "goto 7")
    assert (1, 1) == (code, err.count("\n"))
    assert f"{tmp_path / 'commands'}: line 2: " in err
    assert says in err
    assert ":goto 5" in out
    assert ":goto 7" not in out


def test_an_explanation_has_the_tested_fixes_and_the_release_note_of_the_command(tmp_path: Path) -> None:
    code, out, _ = call(["explain", BLOCKED, JOB])
    wanted = [line.strip() for line in out.splitlines() if re.match(r" *([1-3]\. |Release )", line)]
    answer = [line.strip() for line in run(tmp_path, f"explain {JOB}")[1].splitlines()]
    assert 2 == code
    assert len(wanted) > 1
    assert wanted == [line for line in answer if line in wanted]


def test_explain_without_a_job_explains_the_present_one_or_else_all_that_wait(tmp_path: Path) -> None:
    assert "cause: gang-discard" in run(tmp_path, "goto 120", "explain")[1]
    code, out, _ = run(tmp_path, "explain")
    assert 2 == code
    assert "Pending jobs: 1 of 6" in out
    assert "research/llm-finetune" in out


def test_json_has_the_error_beside_the_completed_steps(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "goto 5", "dance", options=("--json",))
    document = json.loads(out)
    assert (1, 1) == (code, err.count("\n"))
    assert ([5], 2) == ([step["seq"] for step in document["steps"]], document["error"]["line"])


def test_commands_may_come_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"goto 5\n")))
    assert ":goto 5" in call(["script", BLOCKED, "-"])[1]


def test_stdin_cannot_be_both() -> None:
    assert "cannot both be standard input" in call(["script", "-", "-"])[2]


def test_what_is_set_can_be_saved_and_loaded(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    said = steps(tmp_path, "break victim", "goto 40", "bookmark here", f"save {file}")[-1]["written"]
    assert f"wrote 1 breakpoint, 1 bookmark to {file}" == said
    first, second = steps(tmp_path, f"load {file}", "c")
    assert ("1 breakpoint, 1 bookmark set", "breakpoint 1 (victim)") == (first["written"], second["reason"])


def test_a_question_is_answered_as_ask_does(tmp_path: Path) -> None:
    _, out, _ = run(tmp_path, "ask next research")
    expected = call(["ask", "next", BLOCKED, "research"])[1].splitlines()[0]
    assert expected in out
    asked = steps(tmp_path, "ask next research")[0]["answer"]
    answered = json.loads(call(["ask", "next", BLOCKED, "research", "--json"])[1])
    assert asked == {name: answered[name] for name in asked}


def test_the_first_letters_of_a_question_suffice(tmp_path: Path) -> None:
    short, whole = steps(
        tmp_path, "ask evic research/resnet-sweep-worker-0", "ask evicted research/resnet-sweep-worker-0"
    )
    assert short["answer"] == whole["answer"]


def test_an_unknown_question_fails(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "ask whatever")
    assert 1 == code
    assert "unknown question 'whatever'" in err


def test_a_table_has_columns_and_rows_in_json(tmp_path: Path) -> None:
    step = steps(tmp_path, "goto 103", "find victim")[1]
    assert ("event", len(step["rows"])) == (step["columns"][0], len({row[0] for row in step["rows"]}))
    assert all(len(step["columns"]) == len(row) for row in step["rows"])
    assert "102" in [row[0] for row in step["rows"]]


def test_a_stream_answers_each_line_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vcdebug", "script", BLOCKED, "-", "--stream"]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, key in (("goto 103", "event"), ("# note", "event"), ("goto 9999", "error"), ("step", "event")):
            process.stdin.write(f"{line}\n")
            answer = json.loads(process.stdout.readline())
            assert line == answer["command"]
            assert key in answer
        assert 104 == answer["seq"]
        process.stdin.write("quit\n")
        assert 0 == process.wait(PATIENCE)


def test_fixes_are_tried(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, f"prove {JOB}", options=("--json",))
    (step,) = json.loads(out)["steps"]
    assert (2, "", True) == (code, err, step["remedies"][0]["proven"])


def test_fixes_are_tried_for_a_placed_job_that_a_change_would_serve_better(tmp_path: Path) -> None:
    file = tmp_path / "commands"
    file.write_text("prove search/embedding-backfill")
    code, out, err = call(["script", "preempt-works", str(file), "--json"])
    (step,) = json.loads(out)["steps"]
    assert (0, "", True) == (code, err, step["remedies"][0]["proven"])
