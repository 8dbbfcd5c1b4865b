"""nodeorder: the Kubernetes scorers, weighted and added."""

from contextlib import nullcontext
from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, node, open_session, pod, pod_group, task
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER
from vcdebug.framework.plugin_answers import NodeScores, ScoreError
from vcdebug.framework.session import Session
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"
FIT = "NodeResourcesFit_"
BALANCED = "NodeResourcesBalancedAllocation"
BROKEN = {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}
WEIGHTS_OF_ONE = {
    f"{key}.weight": 1
    for key in (
        "leastrequested",
        "mostrequested",
        "balancedresource",
        "nodeaffinity",
        "podaffinity",
        "tainttoleration",
        "podtopologyspread",
        "imagelocality",
    )
}


def labelled(manifest: Manifest, **labels: str) -> Manifest:
    manifest["metadata"]["labels"] = labels
    return manifest


def conf(weights: dict[str, int]) -> str:
    lines = conf_of("nodeorder") + "    arguments:\n"
    return lines + "".join(f"      {key}: {weight}\n" for key, weight in weights.items())


def opened(*objects: Manifest, weights: dict[str, int] | None = None, release: str = "master") -> Session:
    text = conf(WEIGHTS_OF_ONE if weights is None else weights)
    return open_session(snapshot_at_release(cluster(pod_group("j"), *objects, conf=text), release))


def batch(ssn: Session, name: str = "j-0") -> NodeScores | None:
    return ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, name), ssn.all_rows())["nodeorder"]


def parts(ssn: Session, name: str = "j-0") -> dict[str, list[float]]:
    scores = batch(ssn, name)
    assert scores is not None
    return {key.removeprefix("nodeorder/batch/"): part.tolist() for key, part in scores.parts}


def three_nodes() -> list[Manifest]:
    """The cluster of the recorded vectors: r1 on n1, r2 (no requests) and r3 on n2."""
    return [
        node("n1", cpu="2", memory="4Gi", labels={ZONE: "a"}),
        node("n2", cpu="4", memory="8Gi", labels={ZONE: "b"}, gpu="4"),
        node("n3", cpu="8", memory="8Gi", labels={ZONE: "b"}, gpu="8"),
        labelled(pod("r1", "r", on="n1", requests=amounts("500m")), app="r1"),
        labelled(pod("r2", "r", on="n2"), app="r2"),
        labelled(pod("r3", "r", on="n2", requests=amounts("1", "1Gi")), app="r3"),
    ]


def preferring(*weighted: tuple[str, int]) -> dict[str, Any]:
    terms = [
        {
            "weight": weight,
            "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}},
        }
        for app, weight in weighted
    ]
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def soft_spread(key: str, selector: dict[str, Any], max_skew: int = 1) -> list[dict[str, Any]]:
    return [{"topologyKey": key, "maxSkew": max_skew, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}]


@pytest.mark.parametrize(
    ("requests", "least", "most", "balanced"),
    [
        (amounts("1", "1G"), [48, 60, 87], [51, 39, 11], [68, 72, 74]),
        (amounts(), [80, 76, 97], [19, 23, 1], None),
        (amounts("1", "1Gi", gpu="1"), [47, 59, 87], [52, 39, 12], [69, 74, 75]),
        (amounts("500m", "3Gi"), [35, 53, 77], [64, 46, 21], [75, 75, 67]),
    ],
)
def test_requests_are_scored_as_the_real_scheduler_scored_them(
    requests: dict[str, str], least: list[int], most: list[int], balanced: list[int] | None
) -> None:
    ssn = opened(*three_nodes(), pod("j-0", "j", requests=requests))
    expected = {f"{FIT}LeastAllocated": least, f"{FIT}MostAllocated": most, "TaintToleration": [100, 100, 100]}
    if balanced is not None:
        expected[BALANCED] = balanced
    assert expected == parts(ssn)


def test_pod_level_requests_count_for_balance_but_not_for_least_allocated_while_the_pod_waits() -> None:
    waiting = pod("j-0", "j", resources={"requests": amounts("2", "2Gi")})
    scores = parts(opened(*three_nodes(), waiting))
    assert [80, 76, 97] == scores[f"{FIT}LeastAllocated"]
    assert [19, 23, 1] == scores[f"{FIT}MostAllocated"]
    assert [69, 69, 75] == scores[BALANCED]


def test_preferred_pod_affinity_is_normalised_by_truncation() -> None:
    waiting = pod("j-0", "j", requests=amounts("1", "1G"), affinity=preferring(("r1", 57), ("r2", 100)))
    assert [56, 100, 0] == parts(opened(*three_nodes(), waiting))["InterPodAffinity"]


def test_soft_spread_prefers_the_emptier_zone() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    waiting = pod("j-0", "j", topologySpreadConstraints=soft_spread(ZONE, selector))
    assert [100, 33, 33] == parts(opened(*three_nodes(), waiting))["PodTopologySpread"]


def test_empty_spread_selector_counts_no_pods() -> None:
    waiting = pod("j-0", "j", topologySpreadConstraints=soft_spread(ZONE, {}, max_skew=3))
    assert [100, 100, 100] == parts(opened(*three_nodes(), waiting))["PodTopologySpread"]


def test_a_node_without_the_spread_label_scores_zero() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    waiting = pod("j-0", "j", topologySpreadConstraints=soft_spread("rack", selector))
    nodes = [node("n1", labels={"rack": "r"}), node("n2")]
    assert [100, 0] == parts(opened(*nodes, waiting))["PodTopologySpread"]


def test_a_service_gives_its_pods_the_default_constraints() -> None:
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "x"}}}
    present = labelled(pod("r-0", "r", on="n1"), app="x")
    waiting = labelled(pod("j-0", "j"), app="x")
    scores = parts(opened(node("n1"), node("n2"), service, present, waiting))
    assert [66, 100] == scores["PodTopologySpread"]
    assert "PodTopologySpread" not in parts(opened(node("n1"), node("n2"), present, waiting))


def test_weights_may_be_negative_and_zero_removes_a_scorer() -> None:
    ssn = opened(
        node("n1"),
        pod("j-0", "j"),
        weights={"tainttoleration.weight": -2, "leastrequested.weight": 0, "balancedresource.weight": 0},
    )
    assert {"TaintToleration": [-200.0]} == parts(ssn)


def test_no_answer_when_every_scorer_is_off() -> None:
    off = {"leastrequested.weight": 0, "balancedresource.weight": 0, "tainttoleration.weight": 0}
    assert batch(opened(node("n1"), pod("j-0", "j"), weights=off)) is None


def test_a_resource_that_no_node_offers_is_left_out() -> None:
    ssn = opened(node("n1", cpu="1", memory="0"), pod("j-0", "j", requests=amounts("500m", "1Gi")))
    assert [50] == parts(ssn)[f"{FIT}LeastAllocated"]


def test_defaults_for_missing_requests_are_per_container_and_an_explicit_zero_stays() -> None:
    beside = pod("j-0", "j", requests=amounts("500m", "0"))
    beside["spec"]["containers"].append({"name": "second"})
    explicit = pod("j-1", "j", requests=amounts("0", "0"))
    ssn = opened(node("n1", cpu="1", memory="2000Mi"), beside, explicit)
    assert [65] == parts(ssn)[f"{FIT}LeastAllocated"]
    assert [100] == parts(ssn, "j-1")[f"{FIT}LeastAllocated"]


def test_a_node_without_gpus_is_balanced_over_cpu_and_memory() -> None:
    ssn = opened(
        node("n1", cpu="4", memory="4Gi"),
        node("n2", cpu="4", memory="4Gi", gpu="4"),
        pod("j-0", "j", requests=amounts("2", "1Gi", gpu="4")),
    )
    assert [68, 59] == parts(ssn)[BALANCED]


def test_fewer_soft_taints_score_higher() -> None:
    def tainted(name: str, count: int) -> Manifest:
        return node(name, taints=[{"key": f"k{i}", "effect": "PreferNoSchedule"} for i in range(count)])

    ssn = opened(tainted("n1", 1), tainted("n2", 2), tainted("n3", 0), pod("j-0", "j"))
    assert [50, 0, 100] == parts(ssn)["TaintToleration"]


def test_preferred_node_affinity_adds_the_weights_of_matching_terms() -> None:
    terms = [
        {"weight": 3, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}},
        {"weight": 1, "preference": {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}},
        {"weight": 9, "preference": {}},
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    ssn = opened(
        node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}), node("n3"), pod("j-0", "j", affinity=affinity)
    )
    assert [100, 25, 0] == parts(ssn)["NodeAffinity"]


def test_an_unparsable_preference_loses_all_scores() -> None:
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    ssn = opened(node("n1"), pod("j-0", "j", affinity=affinity))
    with pytest.raises(ScoreError, match="not a valid node selector operator"):
        batch(ssn)


@pytest.mark.parametrize(("release", "asked"), [("v1.14.4", False), ("v1.13.3", True)])
def test_scorer_of_weight_0_is_asked_depending_on_the_release(release: str, asked: bool) -> None:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": BROKEN}
    weights = dict.fromkeys(WEIGHTS_OF_ONE, 0) | {"tainttoleration.weight": 1}
    member = pod("j-0", "j", topologySpreadConstraints=[constraint])
    ssn = opened(node("n1"), member, weights=weights, release=release)
    with pytest.raises(ScoreError) if asked else nullcontext():
        assert ["TaintToleration"] == list(parts(ssn))


@pytest.mark.parametrize("gpu", [None, "1"])
def test_amounts_that_wrap_around_lose_all_scores_once_they_are_on_a_node(gpu: str | None) -> None:
    """Verified against v1.15.1's binary: the sum of such requests overflows below 0, and so does the balance."""
    nearly_all = str(2**63 - 1 - 2**32)
    nodes = [node("n1", cpu="8", memory="8Gi", gpu="4"), node("n2", cpu="8", memory="8Gi", gpu="4")]
    asks = amounts("1", "1Gi") | ({} if gpu is None else {GPU: gpu})
    weights = {**dict.fromkeys(WEIGHTS_OF_ONE, 0), "balancedresource.weight": 3}
    objects = [
        *nodes,
        pod("j-0", "j", requests=asks),
        pod("j-1", "j", requests=amounts("1", "4Gi")),
        pod("r-0", "r", on="n2", requests=amounts("1", nearly_all)),
    ]
    ssn = opened(*objects, weights=weights)
    assert batch(ssn) is not None
    ssn.view.add_pod(ssn.node_table.row_of["n2"], task(ssn, "j-1").pod)
    with pytest.raises(ScoreError, match=rf"^{BALANCED} returns an invalid score -\d+ for node n2$"):
        batch(ssn)


def test_preferences_of_placed_pods_are_honoured_on_nodes_that_held_such_pods_at_session_open() -> None:
    wishing = labelled(pod("r-0", "r", on="n1", affinity=preferring(("x", 5))), app="r")
    waiting = labelled(pod("j-0", "j"), app="x")
    ssn = opened(node("n1"), node("n2"), wishing, waiting)
    assert [100, 0] == parts(ssn)["InterPodAffinity"]
    late = labelled(pod("j-1", "j", affinity=preferring(("x", 5))), app="r")
    fresh = opened(node("n1"), node("n2"), waiting, late)
    fresh.view.add_pod(0, task(fresh, "j-1").pod)
    assert "InterPodAffinity" not in parts(fresh)


def test_image_locality_weighs_size_by_spread() -> None:
    held = node("n1")
    held["status"]["images"] = [{"names": ["train:1"], "sizeBytes": 1000 * 2**20}]
    ssn = opened(held, node("n2"), pod("j-0", "j"))
    answer = ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["nodeorder"]
    assert [48.0, 0.0] == answer.total.tolist()
    assert [("nodeorder/ImageLocality", [48.0, 0.0])] == [(key, part.tolist()) for key, part in answer.parts]
    off = opened(held, node("n2"), pod("j-0", "j"), weights={"imagelocality.weight": 0})
    answer = off.ask_plugins(NODE_ORDER, task(off, "j-0"), off.all_rows())["nodeorder"]
    assert ([0.0, 0.0], ()) == (answer.total.tolist(), answer.parts)


@pytest.mark.parametrize(("weight", "parts"), [(0, []), (1, ["nodeorder/ImageLocality"])])
def test_images_have_a_part_of_the_score_where_they_have_a_weight(weight: int, parts: list[str]) -> None:
    ssn = opened(node("n1"), pod("j-0", "j"), weights={"imagelocality.weight": weight})
    found = ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["nodeorder"]
    assert parts == [name for name, _ in found.parts]
