"""Single log lines: Go's formatting, recognition of messages, ends of cycles."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vcdebug
from tests.builders import amounts, cluster, conf_of, node, pod, pod_group
from tests.logs.log_cases import copied
from tests.releases.shown import image_on_one_node, starving_in_two_queues, victims_of_two_jobs
from vcdebug.comparison.logs.log_writer import LINES_BY_KEY, log_lines
from vcdebug.comparison.logs.message import (
    MESSAGE_BY_KEY,
    MESSAGES,
    format_float,
    format_go_value,
    format_json_object,
    format_json_text,
    messages_of_release,
    recognise_message,
)
from vcdebug.comparison.scheduler_log import parse_log, split_cycles
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.change import Tag
from vcdebug.releases.release import CHANGES, release_at_tag
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot

ENGINE = Path(vcdebug.__file__).parent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (0.3, "0.3"),
        (0.05434782608695652, "0.05434782608695652"),
        (474.5, "474.5"),
        (1e-05, "1e-05"),
        (0.0001, "0.0001"),
        (1234567890123.0, "1234567890123"),
        (1e20, "100000000000000000000"),
        (1.5e21, "1.5e+21"),
        (-2.5e-7, "-2.5e-07"),
        (float("inf"), "+Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_number_reads_as_go_prints_it(value: float, text: str) -> None:
    assert text == format_float(value)


def test_a_map_has_its_keys_in_order() -> None:
    assert "map[a:0.5 b:2]" == format_go_value({"b": 2.0, "a": 0.5})


def test_json_escapes_angle_brackets() -> None:
    assert '"\\u003ctop\\u003e"' == format_json_text("<top>")
    assert '{"a":0.5,"b":2}' == format_json_object({"b": 2.0, "a": 0.5})


def test_a_header_is_found_behind_a_prefix() -> None:
    line = next(parse_log(["2026-11-21T12:27:41Z I1121 12:27:41.189747    9354 session.go:282] Close Session x"]))
    assert ("session.go", "Close Session x") == (line.file, line.text)


def test_every_message_recognises_what_it_writes() -> None:
    for message in MESSAGES:
        text = message.text.replace("{", "<").replace("}", ">")
        found = recognise_message(message.file, text)
        assert found is not None
        assert found.key == message.key or found.level == message.level


def test_keys_are_unique_in_each_form() -> None:
    forms = [(message.key, message.older) for message in MESSAGES]
    assert len(forms) == len(dict.fromkeys(forms))
    assert {message.key for message in MESSAGES} == set(MESSAGE_BY_KEY)


def test_an_older_form_shows_what_the_newest_is_given() -> None:
    values = ("q1", "cpu 1.00", "cpu 0.00", "cpu 2.00", "job-1-0")
    newest, older = (
        messages_of_release(forms)["proportion.refused"].write_line(values) for forms in ((), ("log-names",))
    )
    assert "Queue <q1>: deserved <cpu 1.00>, allocated <cpu 0.00>; Candidates total request <cpu 2.00>" == newest
    assert older.endswith("; Candidate <job-1-0>: resource request <cpu 2.00>")


def test_an_older_form_has_no_blank_that_the_newest_lacks() -> None:
    for message in MESSAGES:
        if message.older:
            assert "{" not in message.write_line([1.0 for _ in message.blank_names])


def test_each_older_form_belongs_to_a_change_of_the_table() -> None:
    assert {message.older for message in MESSAGES if message.older} <= set(CHANGES)
    assert (
        MESSAGE_BY_KEY["drf.victims"]
        == messages_of_release(release_at_tag(Tag.from_text("v1.15.1")).older_forms)["drf.victims"]
    )


@pytest.mark.parametrize(
    ("release", "key", "values", "text"),
    [
        ("v1.14.4", "drf.victims", ["[]"], "Victims from DRF plugins are []"),
        (
            "v1.15.1",
            "score.part",
            ["n1", "default/a", "NodeAffinity", 2, 5, 10.0, "1"],
            "Node: n1, task<default/a> NodeAffinity weight 1, score: 10.000000",
        ),
        (
            "v1.15.0",
            "allocate.flat",
            ["q", "default/j", "h", 2],
            '"Try to allocate resource" queue="q" job="default/j" taskNum=2',
        ),
        (
            "v1.14.4",
            "allocate.sub-job",
            ["default/j", "s", "h", "", 2],
            '"Try to allocate resource for subJob" job="default/j" subJob="s" allocatedHyperNode="h" taskNum=2',
        ),
        (
            "v1.14.0",
            "allocate.domains",
            ["q", "j", "", 2],
            (
                '"Try to allocate resource for job contains hard topology" queue="q" job="j" '
                'allocatedHyperNode="" subJobNum=2'
            ),
        ),
    ],
)
def test_a_release_writes_its_own_text(release: str, key: str, values: list[object], text: str) -> None:
    assert text == messages_of_release(release_at_tag(Tag.from_text(release)).older_forms)[key].write_line(values)
    assert text != MESSAGE_BY_KEY[key].write_line(values)


def test_a_release_writes_only_the_lines_that_it_has() -> None:
    """Of these releases, only v1.14.1 logs the queues that preempt found, and only v1.15.0 logs gates."""
    lines = {name: keys_of(starving_in_two_queues(), name) for name in ("master", "v1.14.1", "v1.14.2")}
    assert ["v1.14.1"] == [name for name, keys in lines.items() if "preempt.walked" in keys]
    gated = {name: keys_of(held_by_a_gate(), name) for name in ("v1.15.0", "v1.14.4")}
    assert ["v1.15.0"] == [name for name, keys in gated.items() if "allocate.gate" in keys]


def test_a_release_without_normalisation_prints_each_part_of_a_score() -> None:
    parts = {name: texts_of(image_on_one_node(), name, "score.scoring") for name in ("v1.15.1", "v1.15.0")}
    assert ["Score node through ImageLocality plugin"] == list(dict.fromkeys(parts["v1.15.1"]))
    assert [
        f"Score node through {part} plugin"
        for part in (
            "ImageLocality",
            "NodeAffinity",
            "NodeResourcesBalancedAllocation",
            "NodeResourcesFit_LeastAllocated",
        )
    ] == list(dict.fromkeys(parts["v1.15.0"]))


def held_by_a_gate() -> Snapshot:
    gated = pod("j-0", "j", requests=amounts("1"), schedulingGates=[{"name": "x"}])
    return cluster(node("n1"), pod_group("j"), gated, conf=conf_of("gang predicates"))


def keys_of(snapshot: Snapshot, release: str) -> list[str]:
    return [line.message_key for line in log_lines(replay_cycle(snapshot_at_release(snapshot, release)))]


def texts_of(snapshot: Snapshot, release: str, key: str) -> list[str]:
    return [
        line.text for line in log_lines(replay_cycle(snapshot_at_release(snapshot, release))) if line.message_key == key
    ]


@pytest.mark.parametrize(("release", "said"), [("v1.13.0", True), ("v1.12.4", False)])
def test_a_task_says_where_it_is_since_v1_13(release: str, said: bool) -> None:
    (text, *_) = texts_of(victims_of_two_jobs(), release, "gang.victims")
    assert "Task (" in text
    assert said == ("nodeName n1" in text)


def logged() -> Iterator[tuple[str, int]]:
    """Each log line in the engine's code, with the number of its values."""
    for room in ("framework", "actions", "plugins"):
        for path in sorted((ENGINE / room).rglob("*.py")):
            for call in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("ssn.log"):
                    names = (part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant))
                    yield from ((name, len(call.args) - 1) for name in names if isinstance(name, str))


def test_every_line_that_the_engine_logs_has_a_row_with_as_many_blanks() -> None:
    found = list(logged())
    assert len(found) > 50
    for key, count in found:
        if any(key in (short, short.partition(".")[2]) for short in LINES_BY_KEY):
            continue
        rows = [row for row in MESSAGE_BY_KEY.values() if key in (row.key, row.key.partition(".")[2])]
        assert count in [len(row.blank_names) for row in rows], key


def test_a_cycle_without_its_end_is_incomplete() -> None:
    lines, _ = copied("preempt-0003")
    found = split_cycles(parse_log([*lines, *lines[:500]]))
    assert [(1, True), (2, False)] == [(cycle.number, cycle.complete) for cycle in found]


def test_a_quieter_log_is_part_of_a_louder_one() -> None:
    _, recording = copied("preempt-0003")
    loud = list(log_lines(recording))
    assert [line for line in loud if line.level <= 3] == list(log_lines(recording, 3))
    assert [line.seq for line in loud] == sorted(line.seq for line in loud)
