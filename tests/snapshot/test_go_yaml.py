"""YAML decoded as Go's yaml.v2 does; the expected values come from the library itself (v2.4.0)."""

import math

import pytest
import yaml

from tests.builders import cluster, node, pod, pod_group
from vcdebug.framework.conf import SchedulerConf
from vcdebug.recording.replay import parse_conf, replay_cycle
from vcdebug.snapshot.device_config import BUILT_IN_NAMES, is_readable, read_mig_settings, read_vgpu_names
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edited_snapshot import apply_edits
from vcdebug.snapshot.go_yaml import (
    ANY,
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    GoList,
    GoMap,
    GoStruct,
    GoYamlError,
    load_yaml,
)
from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.redaction import redact_conf

ONE = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n"
OTHER = "actions: enqueue\n"


def plugins(conf: SchedulerConf) -> list[list[str]]:
    return [[option.name for option in tier] for tier in conf.tiers]


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE}---\n{OTHER}",
        f"{ONE}---\n",
        f"---\n{ONE}---\n{OTHER}",
        f"{ONE}...\n",
        f"{ONE}...\n---\n{OTHER}",
        f"{ONE}---\n[",
        f"{ONE}--- [",
        f"{ONE}...\nfoo: bar\n",
        f"# c\n---\n# d\n{ONE}",
        f"%YAML 1.1\n---\n{ONE}",
    ],
)
def test_the_scheduler_reads_the_first_document_alone(text: str) -> None:
    conf = parse_conf(text)
    assert (False, ("allocate",), [["gang"]]) == (conf.built_in, conf.actions, plugins(conf))


@pytest.mark.parametrize(
    ("rest", "said"), [("---\n", []), ("---\n# c\n", []), ("...\n", []), (f"---\n{OTHER}", [True]), ("---\n[", [True])]
)
def test_a_document_that_is_not_read_is_a_problem(rest: str, said: list[bool]) -> None:
    problems = [problem.what for problem in parse_conf(ONE + rest).problems]
    assert said == [what == "has more than one YAML document" for what in problems]


@pytest.mark.parametrize(
    "text", [f"---\n---\n{ONE}", f"%YAML 1.2\n---\n{ONE}", f"%YAML 2.0\n---\n{ONE}", f"{ONE}---x\n"]
)
def test_a_text_whose_first_document_does_not_do_is_rejected(text: str) -> None:
    assert parse_conf(text).built_in


def test_an_edit_and_a_redaction_keep_the_first_document() -> None:
    text = f"{ONE}---\n{OTHER}"
    edits = [parse_edit("conf:plugins.gang.enableJobOrder=false")]
    edited = apply_edits(cluster(node("n1"), pod_group("a"), pod("a-0", "a")), edits, text)
    option = replay_cycle(edited).conf.tiers[0][0]
    assert ("gang", {"enableJobOrder": False}) == (option.name, option.switches)
    assert yaml.safe_load(ONE) == yaml.safe_load(redact_conf(text, str))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0X1F", 31),
        ("0O17", 15),
        ("0B11", 3),
        ("-0b11", -3),
        ("+0x1", 1),
        ("08", 8.0),
        ("1_0.5", 10.5),
        ("1e1_0", 1e10),
        ("._5", "._5"),
        (".5_0", 0.5),
        (".5__0", ".5__0"),
        (".5_", ".5_"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("-9223372036854775809", -(2.0**63)),
        ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
        ("1e400", "1e400"),
        ("1e-400", 0.0),
        ("0b", "0b"),
        ("-.nan", "-.nan"),
        ("+.Inf", math.inf),
        ("<<", "<<"),
        ("!foo 1", "1"),
        ("!!str 1", "1"),
        ('!!int "1"', 1),
        ("!!float 1", 1.0),
        ("!!binary aGVsbG8=", "hello"),
        ("!!timestamp 2001-01-01", "2001-01-01"),
        ("2024-01-01", "2024-01-01"),
        ("!!set {a}", {"a": None}),
        ("!!omap [a: b]", [{"a": "b"}]),
        ("{a: 5, <<: {a: 1}}", {"a": 1}),
        ("{<<: {a: 1}, a: 5}", {"a": 5}),
        ("{<<: [{a: 1}, {a: 2}]}", {"a": 1}),
    ],
)
def test_a_value_has_the_type_that_it_looks_like(text: str, expected: object) -> None:
    value = load_yaml(f"x: {text}")["x"]
    assert (type(expected), expected) == (type(value), value)


@pytest.mark.parametrize(
    "text", ["010", "1_000", "0x1F", "1e3", "on", "true", "no", ".5", "1.", "-0", ".inf", "18446744073709551616"]
)
def test_text_field_keeps_the_scalar_as_written(text: str) -> None:
    read = load_yaml(f"x: {text}\nm: {{{text}: 1}}", GoStruct({"x": TEXT, "m": GoMap(ANY)}))
    assert {"x": text, "m": {text: 1}} == read


def test_a_null_is_an_empty_text_and_an_absent_flag_in_the_forms_that_go_knows() -> None:
    assert {"": ""} == load_yaml("~: ~", GoMap(TEXT))
    read = [load_yaml(f"f: {word}", GoStruct({"f": FLAG}))["f"] for word in ("~", "null", "", "Null", "NULL")]
    assert [None, None, None, False, False] == read


def test_a_field_that_is_there_twice_is_replaced_and_a_map_is_added_to() -> None:
    kind = GoStruct({"name": TEXT, "arguments": GoMap(ANY)})
    text = "name: a\narguments: {x: 1, y: 1}\nname: b\narguments: {y: 2}\n"
    assert {"name": "b", "arguments": {"x": 1, "y": 2}} == load_yaml(text, kind)
    assert {"name": None, "arguments": None} == load_yaml(f"{text}name: ~\narguments: ~\n", kind)


@pytest.mark.parametrize(
    "lines",
    [
        ["name: [a]"],
        ["name: {a: b}"],
        ["arguments: ''"],
        ["arguments: 0"],
        ["arguments: false"],
        ["arguments: []"],
        ["enableJobOrder: 1"],
        ["enableJobOrder: {}"],
        ["name: !!bool abc"],
        ["arguments: {k: !!int 1.5}"],
        ["arguments: &a {k: *a}"],
        ["<<: 5"],
        ["<<:"],
        ["? [a]", ": b"],
        ["arguments: {k: {[a]: b}}"],
    ],
)
def test_a_value_of_another_type_rejects_the_whole_file(lines: list[str]) -> None:
    conf = parse_conf(
        "\n".join(
            ["actions: allocate", "tiers:", "- plugins:", "  - enableJobReady: true", *(f"    {x}" for x in lines)]
        )
    )
    assert (True, [True]) == (conf.built_in, [problem.what.startswith("rejected: ") for problem in conf.problems])


@pytest.mark.parametrize(
    "text", ["metrics: 5", "metrics: {a: [b]}", "configurations: {}", "actions: {a: b}", "[actions]: x"]
)
def test_a_section_of_another_type_rejects_the_whole_file(text: str) -> None:
    assert parse_conf(f"{OTHER}{text}\n").built_in


def test_unknown_fields_are_not_decoded() -> None:
    conf = parse_conf(f"{ONE}    zzz: !!bool abc\nqqq: !!int x\n")
    assert (False, ["zzz"]) == (conf.built_in, [problem.field for problem in conf.problems])


def test_metrics_are_the_texts_that_are_written() -> None:
    assert {"interval": "010", "on": "y"} == parse_conf(f"{OTHER}metrics: {{interval: 010, on: y}}\n").metrics


def test_aliases_that_blow_up_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(GoYamlError, match="excessive aliasing"):
        load_yaml("\n".join(lines))


def test_an_alias_reads_as_what_it_names() -> None:
    read: Json = load_yaml("a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n")
    assert {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1, "e": 2}} == read


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("1.5", COUNT, 1),
        ("-0.5", COUNT, 0),
        ("-1", COUNT, None),
        ("18446744073709551615", COUNT, 2**64 - 1),
        ("18446744073709551615", WHOLE, None),
        ("-1.5", WHOLE, -1),
        ("1e3", WHOLE, 1000),
        (".inf", COUNT, None),
        (".inf", NUMBER, math.inf),
        ("1", NUMBER, 1.0),
        ("'1'", NUMBER, None),
        ("y", WHOLE, None),
        ("1", FLAG, None),
    ],
)
def test_a_number_is_cut_to_its_field_or_refused(text: str, kind: str, expected: float | None) -> None:
    if expected is None:
        with pytest.raises(GoYamlError, match=f"into {kind}"):
            load_yaml(f"x: {text}", GoMap(kind))
    else:
        read = load_yaml(f"x: {text}", GoMap(kind))["x"]
        assert (type(expected), expected) == (type(read), read)


def test_a_null_in_a_list_of_texts_is_empty() -> None:
    assert ["", "5", "on"] == load_yaml("[~, 5, on]", GoList(TEXT))


def test_a_device_configuration_is_its_first_document_and_its_names_are_as_written() -> None:
    text = "nvidia:\n  resourceCountName: 010\n  resourceMemoryName: on\n  gpuMemoryFactor: 1.5\n---\nnvidia: {}\n"
    names = read_vgpu_names(text)
    assert ("010", "on", 1) == (names.number, names.memory, read_mig_settings(text).factor)
    twice = read_vgpu_names("nvidia: {resourceCountName: a, resourceMemoryName: b}\nnvidia: {resourceCountName: c}\n")
    assert ("c", "b") == (twice.number, twice.memory)


@pytest.mark.parametrize(
    "line",
    ["resourceCountName: [a]", "gpuMemoryFactor: -1", "overwriteEnv: 1", "knownMigGeometries: {}", "defaultCores: x"],
)
def test_a_device_configuration_with_a_value_of_another_type_is_none(line: str) -> None:
    text = f"nvidia:\n  resourceMemoryName: m\n  {line}\n"
    assert (False, BUILT_IN_NAMES) == (is_readable(text), read_vgpu_names(text))
