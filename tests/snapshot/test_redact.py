"""A redacted snapshot gives the same decisions under other names, and contains no planted text."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recorded import COPIES, ELSEWHERE, ROOT, recorded
from tests.snapshot.planted_numbers import NumberPlanter
from tests.snapshot.redacted import divergence
from vcdebug.framework.ties import pod_index
from vcdebug.recording.recording import disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.cycle_inputs import ChanceSettings, ClaimReservation, CpuReservation, SchedulerProcess
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.redact_words import Pseudonyms
from vcdebug.snapshot.redaction import make_redaction, redact_snapshot
from vcdebug.snapshot.saved_files import saved_files
from vcdebug.snapshot.schema import SHAPES
from vcdebug.snapshot.shapes import BOOL, QUANTITY, TIME, ListOf, MapOf, QuantityMap, Scalar, Shape, Struct
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Manifest, SchedulerFlags, Snapshot

CASES = [case for case in COPIES if case.parent.name == "random"]
OTHERS = {case.name.rpartition("-")[0]: case for case in ELSEWHERE if case.parent.name in ("random", "causes")}
"""One further case of each family, if the whole corpus is available; all would take a minute. The unpacked cases are
compared with numbers planted in them.
"""
MARK = "LeAkEd"


@pytest.mark.corpus
@pytest.mark.parametrize("case", OTHERS.values(), ids=lambda case: case.name)
def test_a_redacted_case_is_decided_event_by_event_as_the_case_itself(case: Path) -> None:
    assert divergence(recorded(case)) is None


SOURCES = [*sorted(path for path in (ROOT / "fixtures").iterdir() if path.is_dir()), *CASES]


@pytest.mark.parametrize("place", range(len(SOURCES)), ids=[path.name for path in SOURCES])
def test_no_planted_number_survives_and_the_decisions_stay(place: int) -> None:
    snapshot = load_snapshot(SOURCES[place])
    plant = NumberPlanter(snapshot, place)
    written_by_tenants = plant.plant(snapshot)
    assert len(plant.survivors(everything(written_by_tenants))) > 20
    redaction = make_redaction(written_by_tenants)
    assert [] == plant.survivors(everything(redaction.snapshot))
    with disposing(replay_cycle(written_by_tenants)) as original:
        assert divergence(original, redaction) is None


class Planter:
    """Puts a distinct marked text wherever a shape has text."""

    def __init__(self) -> None:
        self.count = 0

    def text(self) -> str:
        self.count += 1
        return f"{MARK}{self.count}"

    def value(self, shape: Shape) -> Any:
        if isinstance(shape, Struct):
            named = {name: self.value(inner) for name, inner in shape.fields.items()}
            return named | {self.text(): self.text()}
        if isinstance(shape, ListOf):
            return [self.value(shape.item)]
        if isinstance(shape, MapOf):
            return {self.text(): self.value(shape.item), "volcano.sh/preemptable": self.value(shape.item)}
        if isinstance(shape, QuantityMap):
            return {self.text(): "1", "cpu": self.text()}
        return self.scalar(shape)

    def scalar(self, shape: Shape) -> Any:
        assert isinstance(shape, Scalar)
        if shape is BOOL:
            return True
        if shape in (TIME, QUANTITY):
            return self.text()
        return self.text() if shape.accepts("text") else 1


CONF = f"""
# {MARK} in a comment
actions: "enqueue, allocate, {MARK}a"
tiers:
- plugins:
  - name: gang
    arguments:
      {MARK}b: {MARK}c
      gang.list: ["{MARK}d", {{{MARK}e: {MARK}f}}]
  - name: {MARK}g
  - name: extender
    arguments:
      extender.urlPrefix: "https://user:{MARK}h@host.{MARK}i/x"
metrics:
  type: elasticsearch
  address: http://{MARK}j
  elasticsearch.password: {MARK}k
{MARK}l: {MARK}m
"""


def planted() -> Snapshot:
    """A snapshot in which every text carries the mark."""
    plant = Planter()
    objects: dict[str, list[Manifest]] = {kind: [plant.value(shape)] for kind, shape in SHAPES.items()}
    one = plant.text
    problem = Problem(one(), f"Pod x/{one()}", one(), f"is {one()}, not a number", f"{one()} is used")
    return Snapshot(
        name=one(),
        objects=objects,
        scheduler_conf=CONF,
        now=datetime(2026, 11, 1, tzinfo=UTC),
        flags=SchedulerFlags(
            default_queue=one(),
            scheduler_names=(one(),),
            node_selector=(f"{one()}:{one()}",),
            ignored_provisioners=(one(),),
            sharding_mode=one(),
            sharding_name=one(),
            feature_gates={one(): True},
        ),
        usage={one(): {"time": one(), "cpu": {one(): 1.0}}},
        extender={"predicate": {one(): {"errorMessage": one(), one(): [one()]}}},
        bound={one(): one()},
        process=SchedulerProcess(
            hyper_nodes={one(): {one(): one()}},
            reserved_cpus=(CpuReservation(*(one() for _ in "abcd")),),
            reserved_claims=(ClaimReservation(one(), one(), one(), ({"driver": one(), "device": one()},)),),
        ),
        problems=[problem],
        description=one(),
        origin=one(),
        provenance=Provenance(one(), one(), one(), changed=(f"Pod {one()}",), schedulers=(one(),), missing=(one(),)),
    )


def everything(snapshot: Snapshot) -> str:
    return b"".join(data for _, data in saved_files(snapshot)).decode() + repr(snapshot)


def test_planted_texts_are_replaced() -> None:
    snapshot = planted()
    assert everything(snapshot).count(MARK) > 400
    assert MARK not in everything(redact_snapshot(snapshot))


def test_every_kind_survives_with_what_the_schema_names() -> None:
    done = redact_snapshot(planted())
    assert set(SHAPES) == set(done.objects)
    (pod,) = done.objects_of("Pod")
    assert {"kind", "apiVersion", "metadata", "spec", "status"} == set(pod)
    assert ["volcano.sh/preemptable"] == list(pod["metadata"]["annotations"])


def test_values_of_the_wrong_type_are_dropped() -> None:
    pod = {"metadata": {"name": "web", "labels": 3, "annotations": [MARK]}, "spec": {"nodeName": {MARK: 1}}}
    (done,) = redact_snapshot(Snapshot("x", {"Pod": [pod]})).objects_of("Pod")
    assert MARK not in json.dumps(done)


TEXTS = st.text(alphabet="abzAZ_019-./", max_size=8)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=12, unique=True))
def test_pseudonyms_keep_order_and_tell_different_texts_apart(texts: list[str]) -> None:
    names = Pseudonyms()
    for text in [*texts, "kube-system", "default", "root", "nvidia.com/gpu"]:
        names.collect_words(text)
    names.choose_pseudonyms()
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert all(left < right for left, right in pairwise(ordered))


OCTETS = st.integers(0, 255)
FEW = st.sampled_from(["0", "1", "9", "10", "17", "100", "1000", "1a", "9x"])
SHORTER = st.builds(
    lambda prefix, numbers, separator: prefix + separator.join(numbers),
    st.sampled_from(["", "ip-", "ip."]),
    st.lists(FEW, min_size=1, max_size=6),
    st.sampled_from("-."),
)
"""Addresses, and similar texts with fewer or more numbers."""
NAMES = st.one_of(
    st.builds("ip-{}-{}-{}-{}".format, OCTETS, OCTETS, OCTETS, OCTETS),
    st.builds("ip-{}-{}-{}-{}.eu.compute.internal".format, OCTETS, OCTETS, OCTETS, OCTETS),
    st.builds("{}.{}.{}.{}".format, OCTETS, OCTETS, OCTETS, OCTETS),
    st.builds("{}-worker-{}".format, st.sampled_from(["train", "acme", "kube", "zeta"]), st.integers(0, 999)),
    st.builds("{}/{}".format, st.sampled_from(["default", "team-a", "kube-system", "x1"]), TEXTS),
    TEXTS,
)


@settings(deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=12, unique=True))
def test_names_of_every_form_keep_their_order(texts: list[str]) -> None:
    names = Pseudonyms()
    for text in [*texts, "kube-system", "default", "nvidia.com/gpu"]:
        names.collect_words(text)
    names.choose_pseudonyms()
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert all(left < right for left, right in pairwise(ordered))


@settings(deadline=None, max_examples=400)
@given(st.lists(st.one_of(SHORTER, SHORTER.map("{}.eu-1".format), NAMES), min_size=2, max_size=16, unique=True))
def test_an_address_keeps_its_place_beside_what_begins_as_it_does(texts: list[str]) -> None:
    names = Pseudonyms()
    for text in texts:
        names.collect_words(text)
    names.choose_pseudonyms()
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert all(left < right for left, right in pairwise(ordered))


@pytest.mark.parametrize(
    "texts",
    [["0", "1.1.1.1", "1.10"], ["1.1", "1.1.1.1", "1.10"], ["1.1", "1.1-0", "1.1.1.1", "1.1.2.x", "1.10"]],
    ids=" ".join,
)
def test_an_address_finds_a_place_between_numbers_that_begin_alike(texts: list[str]) -> None:
    names = Pseudonyms()
    for text in texts:
        names.collect_words(text)
    names.choose_pseudonyms()
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert sorted(set(ordered)) == ordered
    assert "1.1.1.1" not in ordered


def test_an_address_in_a_name_does_not_survive() -> None:
    names = Pseudonyms()
    texts = ["ip-10-0-17-3", "ip-10-0-2-40.eu-west-1.compute.internal", "10.0.17.3", "kube-proxy-ip-10-0-17-3"]
    message = "node 10.9.8.7 is gone"
    for text in (*texts, message):
        names.collect_words(text)
    names.choose_pseudonyms()
    done = [names.rewrite_text(text) for text in texts]
    assert [] == [text for text in done if re.search(r"17|[-.]3\b|40", text)]
    assert names.rewrite_text("ip-10-0-17-3") in done[3]
    assert not re.search(r"9|8|7", names.rewrite_sentence(message))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(SHORTER, NAMES), min_size=2, max_size=12, unique=True), st.data())
def test_names_whose_index_stays_keep_their_order_beside_the_others(texts: list[str], data: st.DataObject) -> None:
    names = Pseudonyms()
    for text in texts:
        names.collect_words(text)
    for name in data.draw(st.lists(st.sampled_from(texts))):
        names.keep_index(name)
    names.choose_pseudonyms()
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert all(left < right for left, right in pairwise(ordered))


def pod_of(job: str, name: str) -> Manifest:
    group = {"scheduling.k8s.io/group-name": job} if job else {}
    return {"metadata": {"name": name, "namespace": "team", "annotations": group}}


def test_a_pod_named_as_an_address_keeps_the_index_that_orders_its_job() -> None:
    named = ["sweep-1-0-2-10", "sweep-1-0-2-9", "sweep-1-0-3-0", "sweep-1-0-2-x", "ip-10-0-17-3"]
    pods = [pod_of("sweep", name) for name in named]
    done = [pod["metadata"]["name"] for pod in redact_snapshot(Snapshot("x", objects={"Pod": pods})).objects_of("Pod")]
    assert [True, True, True, False, True] == [pod_index(name) is not None for name in done]
    assert 1 < int(pod_index(done[1]) or 0) < int(pod_index(done[0]) or 0)
    assert [named.index(name) for name in sorted(named)] == [done.index(name) for name in sorted(done)]
    assert "-0-2-" not in done[0]


def test_a_pod_without_a_job_loses_its_nodes_address() -> None:
    node = {"metadata": {"name": "ip-10-0-17-3"}}
    static = pod_of("", "kube-proxy-ip-10-0-17-3")
    done = redact_snapshot(Snapshot("x", objects={"Node": [node], "Pod": [static]}))
    assert done.objects_of("Pod")[0]["metadata"]["name"].endswith(f"-{done.objects_of('Node')[0]['metadata']['name']}")
    assert not re.search(r"17|-3\b", str(done.objects))


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_a_name_put_together_becomes_its_parts_put_together(texts: list[str]) -> None:
    names = Pseudonyms()
    for text in texts:
        names.collect_words(text)
    names.choose_pseudonyms()
    assert "/".join(map(names.rewrite_text, texts)) == names.rewrite_text("/".join(texts))


def test_names_known_to_the_scheduler_are_kept_and_numbers_in_names_are_not() -> None:
    names = Pseudonyms()
    kept = ("default", "kube-system", "system-node-critical", "nvidia.com/gpu", "volcano.sh/preemptable")
    for text in (*kept, "engineering", "worker-17", "4711"):
        names.collect_words(text)
    names.choose_pseudonyms()
    assert kept == tuple(map(names.rewrite_text, kept))
    assert "engineering" != names.rewrite_text("engineering")
    assert not re.search("17|4711", names.rewrite_text("worker-17") + names.rewrite_text("4711"))


@pytest.mark.parametrize(
    "text",
    ["500m", "1h30m", "50%", "10:00-21:00", "0-3,8", "1/2/8", '{"cpu": 5}', "4711"],
)
def test_a_text_in_which_the_scheduler_reads_numbers_keeps_them(text: str) -> None:
    names = Pseudonyms()
    names.collect_words("cpu")
    names.collect_numbers(text)
    names.choose_pseudonyms()
    assert text == names.rewrite_numbers(text)


def test_a_name_without_capitals_gets_one_without_capitals() -> None:
    names = Pseudonyms()
    texts = ["9", "99999999", "aa", "a", "b", "z", "zz9"]
    for text in (*texts, "volcano", "DoesNotExist", "Gt", "ALL", "kubernetes.io/os"):
        names.collect_words(text)
    names.choose_pseudonyms()
    done = [names.rewrite_text(text) for text in texts]
    assert [name.lower() for name in done] == done


def test_a_register_of_cards_keeps_amounts_but_no_digits_of_its_cards() -> None:
    names = Pseudonyms()
    register = "GPU-0fc3eda5-1234-5678-5b0d-123456789012,10,32768,100,NVIDIA-A100,0,true:"
    names.collect_numbers(register)
    names.choose_pseudonyms()
    done = names.rewrite_numbers(register)
    assert ["10", "32768", "100", "0"] == re.findall(r"(?<=,)\d+(?=,)", done)
    assert not re.search("1234|5678", done)


def test_a_long_index_becomes_another_one_also_where_each_digit_is_the_first_of_its_place() -> None:
    names = Pseudonyms()
    for name in ("train-worker-1111", "train-worker-2000"):
        names.collect_words(name)
        names.keep_index(name)
    names.choose_pseudonyms()
    done = [names.rewrite_text(f"train-worker-{index}") for index in (1111, 2000)]
    assert [] == [name for name in done if name.rpartition("-")[2] in ("1111", "2000")]
    assert [True, True] == [pod_index(name) is not None for name in done]


INDEXES = st.lists(st.integers(0, 10**16).map(str), min_size=2, max_size=30, unique=True)
SMALL = st.lists(st.integers(0, 120).map(str), min_size=2, max_size=120, unique=True)


@settings(deadline=None, max_examples=200)
@given(st.one_of(INDEXES, SMALL), st.lists(SHORTER, max_size=8))
def test_an_index_stays_a_number_in_its_order_and_names_keep_theirs(indexes: list[str], others: list[str]) -> None:
    names = Pseudonyms()
    texts = list(dict.fromkeys([*(f"train-worker-{index}" for index in indexes), *indexes, *others]))
    for text in texts:
        names.collect_words(text)
    for index in indexes:
        names.keep_index(f"train-worker-{index}")
    names.choose_pseudonyms()
    numbers = [pod_index(names.rewrite_text(f"train-worker-{index}")) for index in sorted(indexes, key=int)]
    assert sorted(number for number in numbers if number is not None) == numbers
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert all(left < right for left, right in pairwise(ordered))


@settings(deadline=None)
@given(st.one_of(INDEXES, SMALL), st.lists(SHORTER, max_size=8))
def test_a_label_that_is_compared_stays_an_integer_in_its_order(values: list[str], others: list[str]) -> None:
    names = Pseudonyms()
    texts = list(dict.fromkeys([*values, *others]))
    for text in texts:
        names.collect_words(text)
    for value in values:
        names.keep_integer(value)
    names.choose_pseudonyms()
    numbers = [int(names.rewrite_text(value)) for value in sorted(values, key=int)]
    assert sorted(dict.fromkeys(numbers)) == numbers
    ordered = [names.rewrite_text(text) for text in sorted(texts)]
    assert all(left < right for left, right in pairwise(ordered))


def test_times_are_moved_together_so_that_ages_stay() -> None:
    now = datetime(2026, 3, 17, 4, 25, 51, tzinfo=UTC)
    pod = {"metadata": {"name": "web", "creationTimestamp": "2026-03-17T04:20:51.25Z"}}
    node = {
        "metadata": {
            "name": "n1",
            "creationTimestamp": "2025-03-17T04:25:51+00:00",
            "annotations": {"volcano.sh/node-vgpu-handshake": "Requesting_2026.03.17 04:25:00"},
        }
    }
    started = SchedulerProcess(started=now - timedelta(hours=1))
    done = redact_snapshot(Snapshot("x", {"Pod": [pod], "Node": [node]}, now=now, process=started))
    assert (DEFAULT_NOW, DEFAULT_NOW - timedelta(hours=1)) == (done.now, done.process.started)
    assert "2026-10-31T23:55:00.25Z" == done.objects_of("Pod")[0]["metadata"]["creationTimestamp"]
    metadata = done.objects_of("Node")[0]["metadata"]
    assert "2025-11-01T00:00:00+00:00" == metadata["creationTimestamp"]
    assert {"volcano.sh/node-vgpu-handshake": "Requesting_2026.10.31 23:59:09"} == metadata["annotations"]


def test_the_hour_stays_where_plugin_tdm_reads_it() -> None:
    conf = "tiers:\n- plugins:\n  - name: tdm\n    arguments: {tdm.revocable-zone.rz1: '10:00-21:00'}\n"
    done = redact_snapshot(Snapshot("x", scheduler_conf=conf, now=datetime(2026, 3, 17, 14, 25, 51, tzinfo=UTC)))
    assert "10:00-21:00" in str(done.scheduler_conf)
    assert (14, 25, 51) == (done.now.hour, done.now.minute, done.now.second)
    assert (2026, 3) != (done.now.year, done.now.month)


def test_a_message_keeps_small_counts_and_amounts_but_no_account() -> None:
    message = "0/3 nodes are unavailable: 3 Insufficient cpu, 8000.00 requested by account 123456789012."
    message += " Call 555-1234 or 10-0-17-3."
    pod = {"metadata": {"name": "web"}, "status": {"conditions": [{"type": "PodScheduled", "message": message}]}}
    (done,) = redact_snapshot(Snapshot("x", {"Pod": [pod]})).objects_of("Pod")
    said = done["status"]["conditions"][0]["message"]
    assert said.startswith("0/3 nodes are unavailable: 3 ")
    assert " 8000.00 requested by account " in said
    assert not re.search("1234|17", said)


def two_nodes() -> Snapshot:
    nodes = [{"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}} for name in ("acme-1", "acme-2")]
    return Snapshot("prod", {"Node": nodes})


def test_the_mapping_names_kinds_labels_and_values() -> None:
    done = make_redaction(two_nodes())
    first = done.snapshot.objects_of("Node")[0]["metadata"]
    assert {"Node", "value"} == set(done.mapping)
    assert first["name"] == done.mapping["Node"]["acme-1"] == first["labels"]["kubernetes.io/hostname"]


def test_a_pattern_of_a_hypernode_means_the_same_nodes() -> None:
    snapshot = two_nodes()
    member = {"type": "Node", "selector": {"regexMatch": {"pattern": "^acme-[1]$"}}}
    snapshot.objects["HyperNode"] = [{"metadata": {"name": "rack"}, "spec": {"tier": 1, "members": [member]}}]
    done = make_redaction(snapshot)
    (rack,) = done.snapshot.objects_of("HyperNode")
    pattern = rack["spec"]["members"][0]["selector"]["regexMatch"]["pattern"]
    assert f"^({done.mapping['Node']['acme-1'].replace('-', chr(92) + '-')})$" == pattern


def test_chance_settings_use_the_pseudonyms() -> None:
    pod = {"metadata": {"name": f"{MARK}-0", "namespace": "team"}}
    known = ChanceSettings(
        choices={f"team/{MARK}-0": f"{MARK}-node"},
        searches={f"team/{MARK}-0": "0-3"},
        job_domains={f"team/{MARK}": f"{MARK}-s0;s1"},
    )
    done = redact_snapshot(Snapshot("x", objects={"Pod": [pod]}, chance=known))
    metadata = done.objects_of("Pod")[0]["metadata"]
    key = f"{metadata['namespace']}/{metadata['name']}"
    assert ([key], {key: "0-3"}) == ([*done.chance.choices], done.chance.searches)
    assert MARK not in str(done.chance)


def test_the_configuration_keeps_what_decides_with_its_types() -> None:
    conf = 'actions: "allocate"\ntiers:\n- plugins:\n  - {name: nodeorder, arguments: {nodeaffinity.weight: "5"}}\n'
    done = redact_snapshot(Snapshot("x", scheduler_conf=conf)).scheduler_conf
    assert 'nodeaffinity.weight: "5"' in str(done)
    assert 'actions: "allocate"' in str(done)


def test_invalid_configuration_stays_invalid() -> None:
    assert "{" == redact_snapshot(Snapshot("x", scheduler_conf=f"actions: [{MARK}")).scheduler_conf
    assert "{" == redact_snapshot(Snapshot("x", scheduler_conf=f"actions: !{MARK} x")).scheduler_conf


@pytest.mark.parametrize(
    ("stated", "vendor_text"),
    [
        ("v1.14.4", "v1.14.4"),
        ("v1.15.1-acme.3", "v1.15.1-fork"),
        ("1.15.0-rc.1", "1.15.0-rc.1"),
        (f"{MARK}-build", "master"),
    ],
)
def test_the_release_survives_and_whose_build_it_is_does_not(stated: str, vendor_text: str) -> None:
    release = resolve_release(stated).release
    done = redact_snapshot(Snapshot("x", flags=SchedulerFlags(release=release)))
    assert vendor_text == done.release.stated_name
    assert release.older_forms == done.release.older_forms


def test_redacting_again_changes_names_only() -> None:
    once = redact_snapshot(load_snapshot(CASES[0]))
    assert {kind: len(items) for kind, items in once.objects.items()} == {
        kind: len(items) for kind, items in redact_snapshot(once).objects.items()
    }
