"""predicates: the Kubernetes filters for a task over nodes."""

from typing import Any

import pytest

from tests.builders import amounts, node, pod, task
from tests.plugins.filtering import HOSTNAME, ZONE, judge, labelled, note_codes, opened, place, prepare, reasons
from vcdebug.framework.hooks import BATCH_NODE_ORDER, SIMULATE_ADD_TASK, SIMULATE_PREDICATE, SIMULATE_REMOVE_TASK
from vcdebug.framework.placement import PredicateHelper, allocate_judge
from vcdebug.framework.plugin_answers import ScoreError
from vcdebug.model.fit_errors import FitStatus
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TAINTED = "node(s) had untolerated taint(s)"
PORTS = "node(s) didn't have free ports for the requested pod ports"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
SKEWED = "node(s) didn't match pod topology spread constraints"
NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
GPU = "nvidia.com/gpu"
TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def verdict(node_manifest: Manifest, **spec: Any) -> list[str]:
    """Reasons against one pod on one node."""
    return reasons(opened(node_manifest, pod("j-0", "j", **spec)))[0]


def term(app: str, key: str = HOSTNAME, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def together(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: list(terms)}}


def with_port(manifest: Manifest, port: int, ip: str = "", protocol: str = "TCP") -> Manifest:
    stated = {"hostPort": port, "containerPort": port, "protocol": protocol, **({"hostIP": ip} if ip else {})}
    manifest["spec"]["containers"][0]["ports"] = [stated]
    return manifest


def test_an_ordinary_pod_fits_an_ordinary_node() -> None:
    assert [] == verdict(node("n1"), requests=amounts("1"))


def test_a_full_node_is_reported_before_its_taint_and_only_the_taint_is_final() -> None:
    ssn = opened(
        node("n1", pods="1"),
        node("n2", pods="1", taints=[TAINT]),
        pod("r-1", "r", on="n1"),
        pod("r-2", "r", on="n2"),
        pod("j-0", "j"),
    )
    prepare(ssn)
    full = FitStatus(2, "node(s) pod number exceeded", "predicates")
    assert [(full,), (full, FitStatus(3, TAINTED))] == judge(ssn)


def test_a_full_node_is_also_asked_by_the_other_filters() -> None:
    port = (80, "", "TCP")
    nodes = node("n1", pods="1"), node("n2")
    ssn = opened(*nodes, with_port(pod("r-0", "r", on="n1"), *port), with_port(pod("j-0", "j"), *port))
    assert [["node(s) pod number exceeded", PORTS], []] == reasons(ssn)


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "", "operator": "Equal", "value": ""}, True),
    ],
)
def test_a_cordon_is_a_taint_of_its_own(toleration: dict[str, Any], fits: bool) -> None:
    expected = [] if fits else ["node(s) were unschedulable"]
    assert expected == verdict(node("n1", unschedulable=True), tolerations=[toleration])


def test_an_empty_key_with_equal_tolerates_every_taint_of_that_value() -> None:
    empty = {"key": "any", "effect": "NoSchedule"}
    assert [] == verdict(node("n1", taints=[empty]), tolerations=[{"operator": "Equal", "value": ""}])
    assert [TAINTED] == verdict(node("n1", taints=[TAINT]), tolerations=[{"operator": "Equal", "value": ""}])


@pytest.mark.parametrize(
    ("wanted", "used", "fits"),
    [
        ((80, "127.0.0.1", "TCP"), (80, "", "TCP"), False),
        ((80, "127.0.0.1", "UDP"), (80, "", "TCP"), True),
        ((80, "10.0.0.1", "TCP"), (80, "10.0.0.2", "TCP"), True),
        ((80, "10.0.0.1", "TCP"), (80, "10.0.0.1", "TCP"), False),
        ((80, "", "TCP"), (80, "10.0.0.2", "TCP"), False),
        ((81, "", "TCP"), (80, "", "TCP"), True),
    ],
)
def test_a_host_port_is_taken_by_address_and_protocol(
    wanted: tuple[int, str, str],
    used: tuple[int, str, str],
    fits: bool,
) -> None:
    ssn = opened(node("n1"), with_port(pod("r-0", "r", on="n1"), *used), with_port(pod("j-0", "j"), *wanted))
    assert [[] if fits else [PORTS]] == reasons(ssn)


def test_a_host_port_that_is_taken_after_prefilter_counts() -> None:
    port = (80, "", "TCP")
    ssn = opened(node("n1"), with_port(pod("r-0", "r"), *port), with_port(pod("j-0", "j"), *port))
    assert prepare(ssn, "r-0") is None
    assert [[]] == reasons(ssn)
    assert [] == place(ssn, "r-0", "n1")
    assert [PORTS] == [status.reason for status in judge(ssn)[0]]


def test_the_first_pod_of_a_group_may_open_it_on_any_labelled_node() -> None:
    first = labelled(pod("j-0", "j", affinity=together(term("x", ZONE))), app="x")
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}), node("n3")]
    assert [[], [], [AFFINITY]] == reasons(opened(*nodes, first))
    other = labelled(pod("r-0", "r", on="n2"), app="x")
    assert [[AFFINITY], [], [AFFINITY]] == reasons(opened(*nodes, first, other))


def test_anti_affinity_is_looked_up_in_the_whole_domain() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "a"}), node("n3", labels={ZONE: "b"})]
    other = labelled(pod("r-0", "r", on="n1"), app="x")
    waiting = pod("j-0", "j", affinity=apart(term("x", ZONE)))
    assert [[ANTI_AFFINITY], [ANTI_AFFINITY], []] == reasons(opened(*nodes, other, waiting))


def test_anti_affinity_of_placed_pods_counts_only_on_nodes_that_held_some_at_session_open() -> None:
    guard = labelled(pod("j-1", "j", affinity=apart(term("v"))), app="a")
    victim = labelled(pod("j-0", "j"), app="v")
    ssn = opened(node("n1"), guard, victim)
    prepare(ssn, "j-1")
    judge(ssn, "j-1")
    assert [] == place(ssn, "j-1", "n1")
    assert [[]] == reasons(ssn)
    earlier = labelled(pod("r-0", "r", on="n1", affinity=apart(term("w"))), app="a")
    ssn = opened(node("n1"), guard, victim, earlier)
    prepare(ssn, "j-1")
    judge(ssn, "j-1")
    place(ssn, "j-1", "n1")
    assert [[EXISTING]] == reasons(ssn)


def test_a_filter_that_was_skipped_once_stays_skipped() -> None:
    earlier = labelled(pod("r-0", "r", on="n1", affinity=apart(term("w"))), app="a")
    guard = labelled(pod("j-1", "j", affinity=apart(term("v"))), app="a")
    ssn = opened(node("n1"), earlier, guard, labelled(pod("j-0", "j"), app="v"))
    assert [[]] == reasons(ssn)
    assert [[]] == reasons(ssn, "j-1")
    place(ssn, "j-1", "n1")
    assert [[]] == reasons(ssn)


def test_a_namespace_selector_without_presence_means_every_namespace() -> None:
    def world(expression: dict[str, Any]) -> list[list[str]]:
        spaces = [
            {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "b"}}},
            {"kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "a"}}},
        ]
        rule = apart(term("x", namespaceSelector={"matchExpressions": [expression]}))
        present = labelled(pod("r-0", "r", namespace="other", on="n1"), app="x")
        return reasons(opened(node("n1"), *spaces, present, pod("j-0", "j", affinity=rule)))

    assert [[ANTI_AFFINITY]] == world({"key": "team", "operator": "NotIn", "values": ["a"]})
    assert [[]] == world({"key": "team", "operator": "In", "values": ["b"]})
    assert [[ANTI_AFFINITY]] == world({"key": "team", "operator": "In", "values": ["a"]})


def hard_spread(selector: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    rule = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**rule, **more}]


def test_hard_spread_rejects_the_fuller_zone_and_nodes_without_the_label() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}), node("n3")]
    waiting = labelled(pod("j-0", "j", topologySpreadConstraints=hard_spread({"matchLabels": {"app": "x"}})), app="x")
    present = labelled(pod("r-0", "r", on="n1"), app="x")
    missing = f"{SKEWED} (missing required label)"
    assert [[SKEWED], [], [missing]] == reasons(opened(*nodes, waiting, present))


def test_empty_spread_selector_counts_only_the_incoming_pod() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})]
    waiting = pod("j-0", "j", topologySpreadConstraints=hard_spread({}))
    assert [[], []] == reasons(opened(*nodes, waiting, pod("r-0", "r", on="n1"), pod("r-1", "r", on="n1")))


def test_too_few_domains_make_the_lowest_count_zero() -> None:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})]
    rule = hard_spread({"matchLabels": {"app": "x"}}, minDomains=3)
    waiting = labelled(pod("j-0", "j", topologySpreadConstraints=rule), app="x")
    present = [labelled(pod(f"r-{n}", "r", on=n), app="x") for n in ("n1", "n2")]
    assert [[SKEWED], [SKEWED]] == reasons(opened(*nodes, waiting, *present))


def test_node_selector_and_affinity_must_both_match_and_an_empty_term_never_does() -> None:
    zone = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}

    def outcome(*terms: dict[str, Any]) -> list[list[str]]:
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}
        nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "a", "disk": "ssd"})]
        return reasons(opened(*nodes, pod("j-0", "j", nodeSelector={"disk": "ssd"}, affinity=affinity)))

    assert [[NODE_AFFINITY], []] == outcome({}, zone)
    assert [[NODE_AFFINITY], [NODE_AFFINITY]] == outcome({})


def test_node_names_that_exclude_each_other_end_pre_predicate() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}}
    ssn = opened(node("n1"), pod("j-0", "j", affinity=affinity))
    assert prepare(ssn) == "plugin NodeAffinity pre-predicates failed pod affinity terms conflict"


def test_several_reasons_gather_until_one_is_final() -> None:
    rule = apart(term("x"))
    present = with_port(labelled(pod("r-0", "r", on="n1"), app="x"), 80)
    ssn = opened(node("n1"), present, with_port(pod("j-0", "j", affinity=rule), 80))
    assert [[PORTS, ANTI_AFFINITY]] == reasons(ssn)
    tainted = opened(node("n1", taints=[TAINT]), present, with_port(pod("j-0", "j", affinity=rule), 80))
    assert [[TAINTED]] == reasons(tainted)


@pytest.mark.parametrize(
    ("off", "text"),
    [
        ((), 'reading "PreFilterNodePorts" from cycleState: not found'),
        (("NodePorts",), 'error reading "PreFilterInterPodAffinity" from cycleState: not found'),
        (("NodePorts", "PodAffinity"), 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        (("NodePorts", "PodAffinity", "PodTopologySpread"), "not found"),
    ],
)
def test_a_filter_without_its_state_is_an_error(off: tuple[str, ...], text: str) -> None:
    arguments = {f"predicate.{name}Enable": "false" for name in off}
    ssn = opened(node("n1"), pod("j-0", "j"), arguments=arguments)
    assert [(FitStatus(1, text),)] == judge(ssn)


def test_equivalence_cache_answers_without_the_original_reason() -> None:
    template = {"volcano.sh/template-uid": "t"}
    objects = [
        node("n1", taints=[TAINT]),
        node("n2"),
        pod("j-0", "j", annotations=template),
        pod("j-1", "j", annotations=template),
    ]
    ssn = opened(*objects, arguments={"predicate.CacheEnable": "true"})
    assert [[TAINTED], []] == reasons(ssn)
    prepare(ssn, "j-1")
    cached = FitStatus(1, "plugin equivalence cache predicates failed", "predicate.CacheEnable")
    assert [(cached,), ()] == judge(ssn, "j-1")


@pytest.mark.parametrize(("memory", "fits"), [("1000000000", True), ("1000000001", False)])
def test_up_to_v1_12_memory_is_kept_idle_for_accelerators(memory: str, fits: bool) -> None:
    """8 GB for each of two idle GPUs, on a node of 17 GB."""
    rates = {
        "predicate.ProportionalEnable": "true",
        "predicate.resources": GPU,
        f"predicate.resources.{GPU}.memory": "8",
    }
    host = node("n1", memory="17G", **{GPU: "2"})
    ssn = opened(host, pod("j-0", "j", requests=amounts("1", memory)), arguments=rates, release="v1.12.2")
    assert [[] if fits else [f"proportional of resource {GPU} check failed"]] == reasons(ssn)


def test_a_sidecar_needs_its_feature_gate() -> None:
    sidecar = [{"name": "s", "restartPolicy": "Always"}]
    old = SchedulerFlags(server_version=(1, 28))
    ssn = opened(node("n1"), pod("j-0", "j", initContainers=sidecar), flags=old)
    expected = "pod has a restartable init container and the SidecarContainers feature is disabled"
    assert expected == prepare(ssn)


def test_a_discarded_eviction_leaves_the_pod_out_of_the_view() -> None:
    ssn = opened(node("n1"), with_port(pod("r-0", "r", on="n1"), 80), with_port(pod("j-0", "j"), 80))
    assert [[PORTS]] == reasons(ssn)
    ssn.notify_deallocated(task(ssn, "r-0"))
    assert ["not found"] == ssn.notify_allocated(task(ssn, "r-0"))
    assert [[]] == reasons(ssn)


def test_without_volume_binding_and_dynamic_resources_the_pod_comes_back() -> None:
    flags = SchedulerFlags(feature_gates={"DynamicResourceAllocation": False})
    objects = [node("n1"), with_port(pod("r-0", "r", on="n1"), 80), with_port(pod("j-0", "j"), 80)]
    ssn = opened(*objects, flags=flags, arguments={"predicate.VolumeBindingEnable": "false"})
    ssn.notify_deallocated(task(ssn, "r-0"))
    assert [] == ssn.notify_allocated(task(ssn, "r-0"))
    assert [[PORTS]] == reasons(ssn)


def test_every_node_scores_zero_for_dynamic_resources_once_the_task_was_pre_predicated() -> None:
    ssn = opened(node("n1"), node("n2"), pod("j-0", "j"))
    with pytest.raises(ScoreError, match="calculate DynamicResources priority failed not found"):
        ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())
    prepare(ssn)
    scores = ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["predicates"]
    assert scores is not None
    assert [0.0, 0.0] == scores.total.tolist()
    assert [("nodeorder/batch/DynamicResources", [0.0, 0.0])] == [(key, part.tolist()) for key, part in scores.parts]
    off = opened(node("n1"), pod("j-0", "j"), flags=SchedulerFlags(feature_gates={"DynamicResourceAllocation": False}))
    assert {"predicates": None} == off.ask_plugins(BATCH_NODE_ORDER, task(off, "j-0"), off.all_rows())


def test_a_simulation_changes_only_its_own_copy_of_the_affinity_counts() -> None:
    other = labelled(pod("r-0", "r", on="n1"), app="x")
    ssn = opened(node("n1"), other, pod("j-0", "j", affinity=apart(term("x"))))
    assert [[ANTI_AFFINITY]] == reasons(ssn)
    waiting, victim, here = task(ssn, "j-0"), task(ssn, "r-0"), ssn.nodes["n1"]
    state = ssn.cycle_state(waiting).clone()
    refused = f"failed to filter pod on node n1: {ANTI_AFFINITY}"
    assert refused == ssn.ask_plugins(SIMULATE_PREDICATE, state, waiting, here)
    assert ssn.ask_plugins(SIMULATE_REMOVE_TASK, state, waiting, victim, here) is None
    assert ssn.ask_plugins(SIMULATE_PREDICATE, state, waiting, here) is None
    assert refused == ssn.ask_plugins(SIMULATE_PREDICATE, ssn.cycle_state(waiting), waiting, here)
    assert ssn.ask_plugins(SIMULATE_ADD_TASK, state, waiting, victim, here) is None
    assert refused == ssn.ask_plugins(SIMULATE_PREDICATE, state, waiting, here)


def test_a_simulation_without_a_state_says_so() -> None:
    ssn = opened(node("n1"), pod("r-0", "r", on="n1"), pod("j-0", "j"))
    state, waiting, victim = ssn.cycle_state(task(ssn, "j-0")), task(ssn, "j-0"), task(ssn, "r-0")
    missing = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    answer = ssn.ask_plugins(SIMULATE_REMOVE_TASK, state, waiting, victim, ssn.nodes["n1"])
    assert answer == f"failed to remove pod from node n1: {missing}"
    answer = ssn.ask_plugins(SIMULATE_ADD_TASK, state, waiting, victim, ssn.nodes["n1"])
    assert answer == f"failed to add pod to node n1: {missing}"


def test_the_equivalence_cache_knows_nothing_of_nodes_that_a_search_did_not_reach() -> None:
    template = {"volcano.sh/template-uid": "t"}
    nodes = [*(node(f"n{index}") for index in range(3)), node("n3", taints=[TAINT])]
    pending = [pod(f"j-{index}", "j", annotations=template) for index in range(2)]
    flags = SchedulerFlags(minimum_feasible_nodes=2, percentage_nodes_to_find=1)
    ssn = opened(*nodes, *pending, flags=flags, arguments={"predicate.CacheEnable": "true"})
    helper = PredicateHelper(ssn, cache_on=False)
    prepare(ssn)
    found, _ = helper.predicate_nodes(task(ssn, "j-0"), ssn.all_rows(), allocate_judge)
    assert ["n0", "n1"] == found.node_names
    assert [[], [], [], [TAINTED]] == reasons(ssn, "j-1")


def test_quirks_of_pod_affinity_are_noted() -> None:
    earlier = labelled(pod("r-0", "r", on="n1", affinity=apart(term("w"))), app="a")
    guard = labelled(pod("j-1", "j", affinity=apart(term("v"))), app="a")
    ssn = opened(node("n1"), node("n2"), earlier, guard, labelled(pod("j-0", "j"), app="v"))
    prepare(ssn)
    prepare(ssn, "j-1")
    assert [] == note_codes(ssn)
    place(ssn, "j-1", "n2")
    assert ["anti-affinity-missed"] == note_codes(ssn)
    ssn.notify_deallocated(task(ssn, "j-1"))
    place(ssn, "j-1", "n1")
    prepare(ssn)
    assert ["anti-affinity-missed", "filter-stays-skipped"] == note_codes(ssn)
    ssn.notify_deallocated(task(ssn, "r-0"))
    ssn.notify_allocated(task(ssn, "r-0"))
    assert "view-lost-pod" == note_codes(ssn)[-1]
