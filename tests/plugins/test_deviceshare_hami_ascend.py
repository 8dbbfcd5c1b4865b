"""Ascend NPUs shared by HAMi: counting, choice, scores and release."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, open_session, pod, pod_group, task
from vcdebug.errors import ProcessExit, SchedulerPanic
from vcdebug.explain.plugins.deviceshare import PARTIAL_CARDS, card_overview
from vcdebug.framework.hooks import NODE_ORDER, PRE_PREDICATE, PREDICATE
from vcdebug.framework.quirks import DEVICE_NOT_REPLAYED, DEVICE_STAYS_CHARGED
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE
from vcdebug.model.pod import Pod
from vcdebug.snapshot.cycle_inputs import ChanceSettings, SchedulerProcess
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest

WORD, OTHER = "Ascend310P", "Ascend910B3"
MESSAGE = "no ascend device available"
BEFORE_CORES = "master,+hami-ascend-core-mode"
MIXED = """vnpus:
  hamiVnpuCore: true
  configs:
  - commonWord: Ascend910B3
    resourceName: huawei.com/Ascend910B3
    resourceMemoryName: huawei.com/Ascend910B3-memory
    memoryAllocatable: 65536
    memoryCapacity: 65536
    templates:
    - {name: vir10, memory: 32768}
    - {name: vir05, memory: 16384}
"""


def card(name: str, word: str = WORD, **fields: Any) -> dict[str, Any]:
    size = 21527 if word == WORD else 65536
    return {"id": name, "count": 4, "devmem": size, "devcore": 8, "type": word, "health": True, **fields}


def npus(*cards: dict[str, Any], name: str = "n1", word: str = WORD, mode: str = "", **more: Any) -> Manifest:
    """A node that registers two cards, or those given."""
    manifest = node(name, **{f"huawei.com/{word}": "8", **more})
    register = json.dumps(cards or (card("a"), card("b")))
    notes = {f"hami.io/node-register-{word}": register, **({"hami-vnpu-core": mode} if mode else {})}
    manifest["metadata"]["annotations"] = notes
    return manifest


def asks(number: str | None = None, memory: str | None = None, cores: str | None = None, word: str = WORD) -> Any:
    stated = {"": number, "-memory": memory, "-core": cores}
    return {f"huawei.com/{word}{end}": text for end, text in stated.items() if text is not None}


def limited(*limits: dict[str, str], name: str = "j-0", on: str = "", notes: Any = None, **more: Any) -> Manifest:
    """A pod with one container per mapping of limits."""
    containers = [{"name": f"c{i}", "resources": {"limits": dict(limit)}} for i, limit in enumerate(limits)]
    return pod(name, "j", on=on, containers=containers, annotations=notes, **more)


def held(text: str, name: str = "r-0", **notes: str) -> Manifest:
    """A running pod whose annotation has this text."""
    stated = {f"hami.io/{WORD}-devices-allocated": text, f"hami.io/{WORD}-devices-to-allocate": text}
    return limited(asks("1"), name=name, on="n1", notes={**stated, **notes})


def opened(
    *objects: Manifest, release: str = "master", config: str = "", drawn: Any = None, **arguments: Any
) -> Session:
    """A session of a scheduler that has run for an hour."""
    lines = "".join(
        f"      deviceshare.{key}: {value}\n" for key, value in {"AscendHAMiVNPUEnable": "true", **arguments}.items()
    )
    snapshot = cluster(pod_group("j"), *objects, conf=conf_of("predicates deviceshare") + "    arguments:\n" + lines)
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    snapshot.device_config = config or None
    snapshot.chance = ChanceSettings(cards=drawn or {})
    return open_session(snapshot_at_release(snapshot, release))


def refusal(ssn: Session, name: str = "j-0") -> list[tuple[int, str]]:
    """Code and reason of the first node, in a list; empty when it accepts."""
    codes = ssn.ask_plugins(PREDICATE, task(ssn, name), ssn.all_rows())["deviceshare"]
    return [(status.code, status.reason) for status in ssn.reasons.statuses_of(int(codes[0]))]


def accepts(ssn: Session) -> bool:
    return not refusal(ssn)


def placed(ssn: Session, name: str = "j-0", on: str = "n1") -> Statement:
    statement = Statement(ssn)
    assert None is ssn.ask_plugins(PRE_PREDICATE, task(ssn, name))
    assert None is statement.allocate(task(ssn, name), on)
    return statement


def ledger(ssn: Session, word: str = WORD) -> HamiAscendLedger:
    found = ssn.nodes["n1"].devices[word]
    assert isinstance(found, HamiAscendLedger)
    return found


def used(ssn: Session, word: str = WORD) -> list[tuple[str, int, int, int]]:
    """(name, users, memory, cores) of the first node's cards."""
    cards = ledger(ssn, word).cards.values()
    return [(one.uuid, one.used_number, one.used_memory, one.used_cores) for one in cards]


def scores(ssn: Session, name: str = "j-0") -> list[float]:
    found: list[float] = ssn.ask_plugins(NODE_ORDER, task(ssn, name), ssn.all_rows())["deviceshare"].total.tolist()
    return found


@pytest.mark.parametrize(
    ("memory", "given"),
    [("1", 3072), ("3072", 3072), ("3073", 6144), ("12289", 21527), ("24576", 21527), ("24577", 0), ("0", 21527)],
)
def test_memory_comes_in_the_sizes_of_templates_and_what_no_card_has_is_nothing(memory: str, given: int) -> None:
    ssn = opened(npus(), limited(asks(memory=memory)))
    placed(ssn)
    assert [("a", 1, given, 0), ("b", 0, 0, 0)] == used(ssn)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ([asks("2")], 0),
        ([asks("3")], UNSCHEDULABLE),
        ([asks("0")], 0),
        ([asks("2", "12288")], ERROR),
        ([asks("2", "30000")], ERROR),
        ([asks("2", "20000")], 0),
        ([asks("1", cores="8")], 0),
        ([asks("1", cores="9")], UNSCHEDULABLE),
        ([asks("1"), {}, asks("1")], 0),
        ([asks("1"), asks("1"), asks("1")], UNSCHEDULABLE),
        ([asks("2", "12288"), asks("9")], ERROR),
        ([asks("9"), asks("2", "12288")], UNSCHEDULABLE),
    ],
)
def test_requests_that_two_cards_can_serve(limits: list[dict[str, str]], code: int) -> None:
    assert ([(code, MESSAGE)] if code else []) == refusal(opened(npus(), limited(*limits)))


def test_a_lack_of_cards_was_once_an_error() -> None:
    assert [(ERROR, MESSAGE)] == refusal(opened(npus(), limited(asks("3")), release="v1.15.1"))


def test_a_request_for_no_card_takes_one() -> None:
    ssn = opened(npus(), limited(asks("0", "100")))
    placed(ssn)
    assert [("a", 1, 3072, 0), ("b", 0, 0, 0)] == used(ssn)


@pytest.mark.parametrize(
    ("held_cores", "wanted", "fits"),
    [(7, "1", True), (7, "2", False), (8, None, False), (8, "0", False), (0, "8", True)],
)
def test_cores_are_those_of_the_card(held_cores: int, wanted: str | None, *, fits: bool) -> None:
    runs = held(f"a,{WORD},3072,{held_cores}:;")
    assert fits is accepts(opened(npus(card("a")), runs, limited(asks("1", "3072", wanted))))


def test_all_hundred_cores_need_an_unused_card() -> None:
    runs = held(f"a,{WORD},3072,0:;")
    wants = limited(asks("1", "3072", "100"))
    assert [] == refusal(opened(npus(card("a", devcore=100)), wants))
    assert [(UNSCHEDULABLE, MESSAGE)] == refusal(opened(npus(card("a", devcore=100)), runs, wants))


def test_older_releases_ignore_npu_cores() -> None:
    ssn = opened(npus(card("a")), limited(asks("1", "3072", "9")), release=BEFORE_CORES)
    placed(ssn)
    assert [("a", 1, 3072, 0)] == used(ssn)


@pytest.mark.parametrize(
    ("mode", "config", "release", "given"),
    [
        ("true", "", "master", [("a", 1, 1000, 60)]),
        ("false", "", "master", []),
        ("", "", "master", []),
        ("true", "", BEFORE_CORES, [("a", 1, 3072, 0)]),
    ],
)
def test_hami_core_cuts_memory_as_asked_where_the_node_does_so(
    mode: str, config: str, release: str, given: list[Any]
) -> None:
    waits = limited(asks("1", "1000", "60"), notes={"huawei.com/vnpu-mode": "hami-core"})
    ssn = opened(npus(card("a"), mode=mode), waits, release=release, config=config)
    assert bool(given) is accepts(ssn)
    if given:
        placed(ssn)
        assert given == used(ssn)


@pytest.mark.parametrize(("mode", "fits"), [("", True), ("false", False)])
def test_configured_mode_applies_to_nodes_without_a_mode(mode: str, *, fits: bool) -> None:
    asked = limited(asks("2", "1000", "60", word=OTHER), notes={"huawei.com/vnpu-mode": "hami-core"})
    one = npus(card("a", OTHER), card("b", OTHER), word=OTHER, mode=mode)
    assert fits is accepts(opened(one, asked, config=MIXED))


def test_only_cards_of_the_first_container_are_charged() -> None:
    runs = held(f"a,{WORD},3072,1:;b,{WORD},6144,2:;")
    ssn = opened(npus(), runs, limited(asks("1", "3072"), asks("1", "3072")))
    assert [("a", 1, 3072, 1), ("b", 0, 0, 0)] == used(ssn)
    placed(ssn)
    assert [("a", 2, 6144, 1), ("b", 0, 0, 0)] == used(ssn)


@pytest.mark.parametrize(
    ("release", "known"), [("master", False), ("v1.14.3", False), ("v1.14.2", True), ("v1.15.0", True)]
)
def test_cards_count_while_some_are_allocatable(release: str, *, known: bool) -> None:
    one = npus(**{f"huawei.com/{WORD}": "0"})
    assert known is bool(opened(one, release=release).nodes["n1"].devices)


def test_null_card_panics_at_session_open() -> None:
    one = npus()
    one["metadata"]["annotations"][f"hami.io/node-register-{WORD}"] = "[null]"
    with pytest.raises(SchedulerPanic, match="nil pointer"):
        opened(one)


def test_a_node_that_registers_nothing_is_left_to_the_resource_test() -> None:
    ssn = opened(node("n1", **{f"huawei.com/{WORD}": "8"}), limited(asks("9")))
    assert ([], {}) == (refusal(ssn), ssn.nodes["n1"].devices)


def test_kinds_are_those_of_the_configuration() -> None:
    one = npus(card("x", OTHER), word=OTHER)
    both = npus()["metadata"]["annotations"] | one["metadata"]["annotations"]
    one["metadata"]["annotations"] = both
    one["status"]["allocatable"][f"huawei.com/{WORD}"] = "8"
    assert [OTHER] == list(opened(one, config=MIXED).nodes["n1"].devices)
    assert [WORD] == list(opened(one).nodes["n1"].devices)
    assert [WORD] == list(opened(one, config=MIXED, release="v1.14.3").nodes["n1"].devices)
    assert [] == list(opened(one, config="nvidia: {}").nodes["n1"].devices)
    assert [WORD] == list(opened(one, config="vnpus: [{memoryCapacity: much}]").nodes["n1"].devices)


# Policies


@pytest.mark.parametrize(
    ("policy", "release", "first", "total"),
    [
        ("binpack", "master", "b", 10 * 57.0),
        ("spread", "master", "a", 10 * 100.0),
        ("spread", "v1.15.1", "b", 10 * 100.0),
        ('""', "master", "a", 0.0),
    ],
)
def test_a_policy_scores_cards_by_their_use_so_far(policy: str, release: str, first: str, total: float) -> None:
    runs = held(f"b,{WORD},12288,0:;")
    wants = limited(asks(memory="3072"))
    ssn = opened(npus(), runs, wants, release=release, SchedulePolicy=policy, ScheduleWeight=10)
    assert [total] == scores(ssn)
    placed(ssn)
    assert [first] == [name for name, users, memory, _ in used(ssn) if memory in (3072, 15360) and users]


def test_an_allocation_follows_the_policy_of_the_last_score() -> None:
    runs = held(f"b,{WORD},12288,0:;")
    ssn = opened(npus(), runs, limited(asks(memory="3072")), SchedulePolicy="binpack", ScheduleWeight=10)
    placed(ssn)
    assert [("a", 1, 3072, 0), ("b", 1, 12288, 0)] == used(ssn)


def test_a_card_without_memory_is_worth_nothing() -> None:
    one = npus(card("a", devmem=0))
    wants = limited(asks("1"))
    assert [0.0] == scores(opened(one, wants, SchedulePolicy="binpack", ScheduleWeight=1))


def networked(*networks: int | str) -> Manifest:
    cards = [card(f"c{i}", OTHER, custominfo={"NetworkID": one}) for i, one in enumerate(networks)]
    return npus(*cards, word=OTHER)


@pytest.mark.parametrize(
    ("networks", "number", "taken"),
    [
        ((1, 2, 2), "2", ["c1", "c2"]),
        ((1, 2, 2), "1", ["c1"]),
        ((1, 2, 2), "3", ["c0", "c1", "c2"]),
        ((1, 1, 2, 2, 2), "4", ["c0", "c2", "c3", "c4"]),
    ],
)
def test_cards_of_one_network_come_first(networks: tuple[int, ...], number: str, taken: list[str]) -> None:
    ssn = opened(networked(*networks), limited(asks(number, word=OTHER)), config=MIXED)
    placed(ssn)
    assert taken == [name for name, users, _, _ in used(ssn, OTHER) if users]


def test_a_common_network_of_containers_adds_to_the_score() -> None:
    wants = limited(*[asks("1", "100", word=OTHER)] * 3)
    arguments: dict[str, Any] = {"config": MIXED, "ScheduleWeight": 1}
    assert [10.0] == scores(opened(networked(1, 1, 1), wants, **arguments))
    assert [7.0] == scores(opened(networked(1, 1, 2), wants, **arguments))
    plain = npus(card("a", OTHER), card("b", OTHER), card("c", OTHER), word=OTHER)
    assert [0.0] == scores(opened(plain, wants, **arguments))


def test_a_network_that_is_no_number_ends_the_process() -> None:
    ssn = opened(networked("x"), limited(asks("1", word=OTHER)), config=MIXED, ScheduleWeight=1)
    with pytest.raises(ProcessExit, match="index out of range"):
        scores(ssn)


def test_equally_good_cards_come_in_the_order_that_is_known() -> None:
    ssn = opened(npus(), limited(asks("1")), drawn={"default/j-0": "b;a"})
    placed(ssn)
    assert [("a", 0, 0, 0), ("b", 1, 21527, 0)] == used(ssn)


# Release


@pytest.mark.parametrize(
    ("release", "users", "kept"), [("master", 0, False), ("v1.15.1", 1, True), ("v1.14.0", 1, True)]
)
def test_discarded_placement_keeps_its_charge_depending_on_the_release(release: str, users: int, *, kept: bool) -> None:
    ssn = opened(npus(card("a")), limited(asks("1")), release=release)
    placed(ssn).discard()
    assert [("a", users, users * 21527, 0)] == used(ssn)
    assert kept is (DEVICE_STAYS_CHARGED in [note.code for note in ssn.record.notes])


@pytest.mark.parametrize("phase", ["success", "allocating"])
@pytest.mark.parametrize(
    ("release", "after_eviction"), [("master", 0), ("v1.15.1", 0), ("v1.15.0", 0), ("v1.14.4", 0), ("v1.14.2", 1)]
)
def test_an_evicted_pod_frees_its_card(release: str, after_eviction: int, phase: str) -> None:
    runs = held(f"a,{WORD},3072,0:;", **{"hami.io/bind-phase": phase})
    ssn = opened(npus(card("a")), runs, release=release)
    statement = Statement(ssn)
    statement.evict(task(ssn, "r-0").clone(), "test")
    assert [("a", after_eviction, after_eviction * 3072, 0)] == used(ssn)


def test_eviction_during_allocation_drops_the_charge_in_older_releases() -> None:
    def after(phase: str, release: str) -> list[tuple[str, int, int, int]]:
        runs = held(f"b,{WORD},3072,0:;", **{"hami.io/bind-phase": phase})
        ssn = opened(npus(), runs, release=release)
        statement = Statement(ssn)
        statement.evict(task(ssn, "r-0").clone(), "test")
        statement.discard()
        return used(ssn)

    free, old = ("a", 0, 0, 0), ("b", 1, 3072, 0)
    assert [free, old] == after("success", "master") == after("allocating", "master") == after("success", "v1.15.1")
    assert [free, ("b", 0, 0, 0)] == after("allocating", "v1.15.1")


@pytest.mark.parametrize(("release", "users"), [("master", 1), ("v1.14.4", 1), ("v1.14.3", 2), ("v1.15.0", 2)])
def test_repeated_card_entries_are_charged_depending_on_the_release(release: str, users: int) -> None:
    ssn = opened(npus(card("a")), held(f"a,{WORD},3072,0:a,{WORD},3072,0:;"), release=release)
    assert [("a", users, users * 3072, 0)] == used(ssn)


@pytest.mark.parametrize(("release", "shared"), [("master", False), ("v1.15.0", False), ("v1.14.4", True)])
def test_node_clone_shares_its_cards_depending_on_the_release(release: str, *, shared: bool) -> None:
    ssn = opened(npus(), limited(asks("1")), release=release)
    copy = ssn.nodes["n1"].clone()
    placed(ssn)
    assert shared is (copy.devices[WORD] is ledger(ssn))
    assert shared is any(one.used_number for one in ledger_of(copy.devices[WORD]).cards.values())


def ledger_of(found: object) -> HamiAscendLedger:
    assert isinstance(found, HamiAscendLedger)
    return found


# Messages


def test_the_bind_says_which_cards_were_given() -> None:
    ssn = opened(npus(), limited(asks("2"), asks(memory="100")), limited(asks("1", "5000"), name="j-1"))
    placed(ssn, "j-1")
    text = f"a,{WORD},6144,0:;"
    assert {
        f"hami.io/{WORD}-devices-to-allocate": text,
        f"hami.io/{WORD}-devices-allocated": text,
        f"huawei.com/{WORD}": '[{"UUID":"a","temp":"vir02"}]',
        "hami.io/vgpu-node": "n1",
    } == ledger(ssn).bind_annotations(task(ssn, "j-1").pod)
    assert {} == ledger(ssn).bind_annotations(task(ssn, "j-0").pod)


def test_bind_annotation_in_hami_core_mode_has_memory_and_cores() -> None:
    waits = limited(asks("1", "1000", "60"), notes={"huawei.com/vnpu-mode": "hami-core"})
    ssn = opened(npus(card("a"), mode="true"), waits)
    placed(ssn)
    annotations = ledger(ssn).bind_annotations(task(ssn, "j-0").pod)
    assert '[{"UUID":"a","memory":1000,"core":60}]' == annotations[f"huawei.com/{WORD}"]


@pytest.mark.parametrize(
    ("release", "ends"), [("master", ("-memory", "-core")), ("v1.15.1", ("-memory",)), ("v1.13.3", ())]
)
def test_memory_and_cores_are_no_resources_any_more(release: str, ends: tuple[str, ...]) -> None:
    names = tuple(f"huawei.com/{WORD}{end}" for end in ends)
    one = npus(**{f"huawei.com/{WORD}-memory": "40000", f"huawei.com/{WORD}-core": "8"})
    ssn = opened(one, release=release)
    assert names == ssn.cluster.ignored[-len(names) :] if names else True
    stated = ssn.nodes["n1"].allocatable.scalars or {}
    assert [name in names for name in one["status"]["allocatable"] if name.endswith(("-memory", "-core"))] == [
        name not in stated for name in (f"huawei.com/{WORD}-memory", f"huawei.com/{WORD}-core")
    ]


def test_pods_created_before_the_scheduler_keep_memory_and_core_requests() -> None:
    late = limited({}, name="j-1", created="2026-11-01T00:00:00Z")
    early = limited({}, name="j-0", created="2026-10-01T00:00:00Z")
    for one in (early, late):
        one["spec"]["containers"][0]["resources"] = {"requests": asks("1", "3072")}
    ssn = opened(npus(), early, late)
    name = f"huawei.com/{WORD}-memory"
    assert [True, False] == [name in (task(ssn, one).resreq.scalars or {}) for one in ("j-0", "j-1")]


def test_in_a_first_cycle_no_node_has_a_ledger() -> None:
    snapshot = cluster(npus(), conf=conf_of("predicates deviceshare"))
    snapshot.scheduler_conf = (snapshot.scheduler_conf or "") + (
        "    arguments:\n      deviceshare.AscendHAMiVNPUEnable: true\n"
    )
    ssn = open_session(snapshot)
    assert ({}, ()) == (ssn.nodes["n1"].devices, ssn.cluster.ignored)


def test_the_cards_of_a_node_are_drawn() -> None:
    ssn = opened(npus(), held(f"b,{WORD},12288,2:;"), limited(asks("1", "12288"), asks("1")), limited(asks("2", "1")))
    shown = card_overview(ledger(ssn), Pod(limited(asks("1", "12288"), asks("1"))))
    assert "1 card with 12288 of its memory, then 1 card with 21527 of its memory" == shown.request
    figures = [
        (one.name, one.memory, one.used_memory, one.used_cores, one.users, one.most_users) for one in shown.cards
    ]
    assert [("a", 21527, 0, 0, 0, 4), ("b", 21527, 12288, 2, 1, 4)] == figures
    assert [((), ""), (("uid-r-0",), "its memory is short")] == [(one.pods, one.refusal) for one in shown.cards]
    assert [PARTIAL_CARDS, PARTIAL_CARDS] == [
        one.refusal for one in card_overview(ledger(ssn), Pod(limited(asks("2", "1")))).cards
    ]


def test_devices_of_mind_cluster_are_named_and_not_asked() -> None:
    ssn = opened(npus(), limited(asks("1")), AscendMindClusterVNPUEnable="true")
    assert [] == refusal(ssn)
    assert [DEVICE_NOT_REPLAYED] == [note.code for note in ssn.record.notes]
    fields = [problem.field for problem in ssn.plugins["deviceshare"].problems]
    assert ["deviceshare.AscendMindClusterVNPUEnable", "deviceshare.AscendHAMiVNPUEnable"] == fields


def test_unreadable_npu_configuration_is_a_problem() -> None:
    def problem_texts(config: str, release: str = "master") -> list[str]:
        problems = opened(npus(), config=config, release=release).plugins["deviceshare"].problems
        return [problem.what for problem in problems]

    assert [] == problem_texts(MIXED)
    void = "is not what the scheduler reads there, which voids the configuration"
    assert [void] == problem_texts(MIXED, "v1.14.3") == problem_texts("vnpus: 3")
    assert ["is not a configuration"] == problem_texts("[")
