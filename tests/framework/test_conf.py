"""The configuration file: what upstream accepts, rejects and silently ignores."""

import pytest

from vcdebug.actions import ACTIONS, LATER_ACTIONS
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.conf import SchedulerConf, read_conf
from vcdebug.framework.hooks import HOOKS, JOB_ORDER
from vcdebug.recording.replay import actions_of_release, parse_conf
from vcdebug.releases.release import NEWEST
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.go_yaml import load_yaml


def one_plugin(*lines: str, name: str = "gang") -> SchedulerConf:
    text = "\n".join(["actions: allocate", "tiers:", "- plugins:", f"  - name: {name}", *(f"    {x}" for x in lines)])
    return parse_conf(text)


def test_an_unstated_switch_is_on_except_hierarchy_and_cluster_order() -> None:
    option = one_plugin().tiers[0][0]
    on = {hook.method: option.is_enabled(hook.switches) for hook in HOOKS}
    assert ["cluster_order"] == [method for method, enabled in on.items() if not enabled]
    assert not one_plugin().hierarchy_enabled("gang")


def test_a_misspelt_switch_is_ignored_and_named_with_the_right_spelling() -> None:
    conf = one_plugin("enabledJobOrder: false")
    assert conf.tiers[0][0].is_enabled(JOB_ORDER.switches)
    assert ["unknown switch (did you mean enableJobOrder?)"] == [problem.what for problem in conf.problems]


def test_go_yaml_words_are_booleans_and_quoted_ones_reject_the_file() -> None:
    assert not one_plugin("enableJobOrder: no").tiers[0][0].is_enabled(JOB_ORDER.switches)
    assert not one_plugin("enableJobOrder: n").tiers[0][0].is_enabled(JOB_ORDER.switches)
    rejected = one_plugin('enableJobOrder: "false"')
    assert rejected.built_in
    assert ("enqueue", "allocate", "backfill") == rejected.actions


@pytest.mark.parametrize(
    "text", ["actions: 'allocate,'", "actions: [allocate]", "actions: dance", "tiers: 5", "actions: 'allocate'\n  x: ["]
)
def test_a_rejected_file_leaves_the_built_in_configuration_in_force_with_a_problem(text: str) -> None:
    conf = parse_conf(text)
    assert conf.built_in
    assert [True] == [problem.what.startswith("rejected: ") for problem in conf.problems]


def test_an_action_listed_twice_runs_twice() -> None:
    assert ("allocate", "allocate") == parse_conf("actions: 'allocate, allocate'").actions


def test_proportion_and_hierarchical_drf_conflict_only_in_one_tier() -> None:
    drf = "  - name: drf\n    enableHierarchy: true\n"
    together = f"actions: allocate\ntiers:\n- plugins:\n{drf}  - name: proportion\n"
    apart = f"actions: allocate\ntiers:\n- plugins:\n{drf}- plugins:\n  - name: proportion\n"
    assert (True, False) == (parse_conf(together).built_in, parse_conf(apart).built_in)


def test_the_first_entry_of_an_action_has_its_arguments() -> None:
    text = (
        "actions: preempt\nconfigurations:\n"
        "- name: preempt\n  arguments: {enableTopologyAwarePreemption: y}\n"
        "- name: preempt\n  arguments: {enableTopologyAwarePreemption: n}\n"
    )
    assert parse_conf(text).arguments_of("preempt").get_bool("enableTopologyAwarePreemption", default=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("010", 8),
        ("0x10", 16),
        ("0b11", 3),
        ("0o17", 15),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("~", None),
        ("on", True),
        ("Off", False),
        ("yEs", "yEs"),
        ("'010'", "010"),
    ],
)
def test_scalars_resolve_as_in_gos_yaml(text: str, expected: object) -> None:
    value = load_yaml(f"x: {text}")["x"]
    assert (type(expected), expected) == (type(value), value)


def test_getters_take_only_their_own_types_and_note_what_they_replace() -> None:
    arguments = Arguments({"i": 10, "f": 10.0, "s": "10", "t": "t", "b": True})
    assert (10, 1, 1, 1) == tuple(arguments.get_int(key, 1) for key in ("i", "f", "s", "b"))
    assert (10.0, 10.0, 1.0) == tuple(arguments.get_float64(key, 1.0) for key in ("i", "f", "s"))
    assert (True, False) == (arguments.get_bool("t", default=False), arguments.get_bool("i", default=False))
    assert ("10", "x") == (arguments.get_string("s", "x"), arguments.get_string("i", "x"))
    assert {"f": 1, "s": 1.0, "b": 1, "i": "x"} == arguments.replaced_defaults


@pytest.mark.parametrize("text", ["actions: " + "[" * 100_000, "- " * 100_000 + "a"])
def test_too_deeply_nested_configuration_is_refused_in_one_line(text: str) -> None:
    (problem,) = parse_conf(text).problems
    assert "rejected: not YAML: " in problem.what
    assert "nests deeper than 100 levels" in problem.what


@pytest.mark.parametrize("text", ['actions:\t"allocate"\n', 'actions: "allocate"\t# alone\n'])
def test_a_tab_within_a_line_is_read_as_go_reads_it(text: str) -> None:
    assert (("allocate",), ()) == (parse_conf(text).actions, parse_conf(text).problems)


def test_a_tab_where_a_key_may_begin_is_refused_as_go_refuses_it() -> None:
    assert parse_conf('actions: "allocate"\ntiers:\n- plugins:\n  -\tname: gang\n').built_in


def test_known_actions_come_from_the_registry_alone() -> None:
    mine = {**ACTIONS, "mine": "vcdebug.actions.mine:Mine"}
    text = 'actions: "allocate, mine"'
    assert (("allocate", "mine"), True) == (read_conf(text, mine).actions, read_conf(text, ACTIONS).built_in)


def test_an_older_release_leaves_out_an_action_that_it_does_not_know() -> None:
    conf = parse_conf('actions: "allocate, gangpreempt, backfill"\n', resolve_release("v1.13.3").release)
    assert (("allocate", "backfill"), False) == (conf.actions, conf.built_in)
    assert ["unknown action 'gangpreempt'"] == [problem.what for problem in conf.problems]
    assert ((), False) == (parse_conf("tiers: []\n", resolve_release("v1.13.3").release).actions, conf.built_in)
    assert parse_conf('actions: "allocate, gangpreempt"\n', resolve_release("v1.14.0").release).built_in


def test_each_later_action_is_registered() -> None:
    assert {} == {name: change for name, change in LATER_ACTIONS.items() if name not in ACTIONS}
    assert [*ACTIONS] == [*actions_of_release(NEWEST)]
