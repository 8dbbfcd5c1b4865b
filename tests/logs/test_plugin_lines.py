"""Log lines of plugins: settings, measurements, and answers about nodes."""

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.recorded import bundled
from vcdebug.comparison.logs.log_writer import log_lines
from vcdebug.gotime import HOUR, MILLISECOND, MINUTE, SECOND, go_duration_text
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot


def printed(recording: Recording, start: str) -> list[str]:
    return [line.text for line in log_lines(recording) if line.message_key.startswith(start)]


def configured(*plugins: str, **arguments: str) -> Recording:
    """A cycle with one small job; `arguments` belong to the first plugin."""
    first = {plugins[0]: {"arguments": "{" + ", ".join(f"{key}: {text}" for key, text in arguments.items()) + "}"}}
    conf = conf_of("gang", " ".join(plugins), arguments=first if arguments else None)
    return replay_cycle(cluster(node("n0"), pod_group("j"), pods("j", 2, cpu="1"), conf=conf))


def test_usage_prints_its_settings_before_it_begins() -> None:
    lines = printed(bundled("placed-by-score"), "load.estimator") + printed(bundled("placed-by-score"), "load.thres")
    ratios = "requestRatio=0.70 burstRatio=0.00 riskThreshold=0.60 riskFactor=1.20 beCPU=250.00 beMemory=209715200.00"
    assert [
        f"Usage estimator config: {ratios}",
        "Usage threshold config: cpuThreshold=80.00 memThreshold=80.00",
    ] == lines


def test_usage_prints_what_was_measured_on_each_node() -> None:
    lines = printed(bundled("placed-by-score"), "load.measured")
    node_a1 = "node:node-a1, cpu usage:map[10m:71.5], mem usage:map[10m:40], metrics time is …"
    assert (4, f"{node_a1}, shadowCPUEst: 0, shadowMemEst: 0") == (len(lines), lines[0])


def test_usage_prints_why_it_refuses_a_node_or_lets_it_pass() -> None:
    recording = bundled("pending-refused-by-filters")
    assert ["Node node-too-busy cpu usage 91.500000 exceeds the threshold 80.000000"] == printed(recording, "load.cpu")
    assert ["Usage plugin filter for task ml/serve-1 on node node-numa-split pass."] == printed(recording, "load.pass")
    assert ["predicateFn cpuThreshold:80, memThreshold:80"] * 2 == printed(recording, "load.limits")


@pytest.mark.parametrize(
    ("release", "key", "text"),
    [
        ("master", "load.score", "Node node-a1 score: realCPU=71.50 realMem=40.00"),
        ("v1.15.1", "load.cpu-usage", "Node node-a1 cpu usage is 71.500000."),
        ("v1.15.1", "load.task-score", "Node node-a1 score for task web-0 is 88.500000."),
        ("v1.15.1", "load.limits", "predicateFn cpuUsageAvg:80,predicateFn memUsageAvg:80"),
        ("v1.15.1", "usage.leave", "Leaving usage plugin ..."),
    ],
)
def test_usage_prints_its_score_as_the_release_does(release: str, key: str, text: str) -> None:
    snapshot: Snapshot = snapshot_at_release(bundled("placed-by-score").snapshot, release)
    assert printed(replay_cycle(snapshot), key)[0].startswith(text)


def test_a_node_that_is_full_of_pods_is_named() -> None:
    """A terminating pod still counts towards the node's pod limit, although its resources count as future idle."""
    leaving = [pod_group("r"), *pods("r", 1, on="n0", deleting=True)]
    recording = replay_cycle(
        cluster(node("n0", pods="1"), leaving, pod_group("j"), pods("j", 1), conf=conf_of("predicates"))
    )
    line = "NodePodNumber predicates Task <default/j-0> on Node <n0> failed, allocatable <1>, existed <…>"
    assert [line] == printed(recording, "filter.pods")


def test_sla_prints_its_waiting_time_or_that_it_makes_no_sense() -> None:
    assert ["Global job waiting time is 1h30m0s."] == printed(configured("sla", **{"sla-waiting-time": "90m"}), "sla.g")
    error, invalid = (f"sla.{key}" for key in ("unreadable", "invalid"))
    soon, negative = (configured("sla", **{"sla-waiting-time": text}) for text in ("soon", "-5s"))
    assert ["Error occurs in parsing global job waiting time in sla plugin, err: …."] == printed(soon, error)
    assert ["Invalid global waiting time setting: 0s in sla plugin."] == printed(soon, invalid)
    assert [[], ["Invalid global waiting time setting: -5s in sla plugin."]] == [
        printed(negative, key) for key in (error, invalid)
    ]
    assert [] == printed(configured("sla"), "sla.global")


def test_overcommit_prints_a_factor_below_one() -> None:
    lines = printed(configured("overcommit", **{"overcommit-factor": "0.5"}), "overcommit.invalid")
    assert [
        (
            "Invalid input 0.500000 for overcommit-factor, reason: overcommit-factor cannot be less than 1, "
            "using default value: 1.200000."
        )
    ] == lines
    assert [] == printed(configured("overcommit"), "overcommit.invalid")


def test_the_proportional_policy_prints_which_nodes_pass() -> None:
    assert [
        "Enter resourceStrategyFit plugin ...",
        "Leaving resourceStrategyFit plugin. … ...",
    ] == printed(configured("resource-strategy-fit"), "strategy.")
    policy = "{enable: true, resources: nvidia.com/gpu, resourceProportion: {nvidia.com/gpu.cpu: 4}}"
    recording = configured("resource-strategy-fit", proportional=policy)
    line = "proportional policy filter for task <default/j-{}> on node <n0> pass."
    assert [line.format(number) for number in range(2)] == printed(recording, "strategy.pass")


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (90 * MINUTE, "1h30m0s"),
        (61 * SECOND, "1m1s"),
        (1500 * MILLISECOND, "1.5s"),
        (-SECOND, "-1s"),
        (25 * HOUR, "25h0m0s"),
    ],
)
def test_a_duration_reads_as_go_prints_it(nanoseconds: int, text: str) -> None:
    assert text == go_duration_text(nanoseconds)


def test_an_eviction_from_a_node_that_holds_too_much_prints_that_its_idle_is_negative() -> None:
    objects = (
        *(
            node("n0", cpu="2"),
            priority_class("high", 1000),
            pod_group("low"),
            pod_group("new", priorityClassName="high"),
        ),
        *(pods("low", 3, on="n0", annotations={"volcano.sh/preemptable": "true"}), pods("new", 1, priority=1000)),
    )
    conf = conf_of("priority conformance", "predicates", actions="allocate, preempt")
    recording = replay_cycle(cluster(*objects, conf=conf))
    idle, request = "cpu -1000.00, memory 97000000000.00, pods 107.00", "cpu 1000.00, memory 1000000000.00, pods 1.00"
    amounts = f'resources=… idle="{idle}" req="{request}"'
    lines = printed(recording, "node.negative")
    assert [
        f'"Idle resources turn into negative after allocated" nodeName="n0" task="default/low-{victim}" {amounts}'
        for victim in (2, 1)
    ] == lines


@pytest.mark.parametrize(("release", "what"), [("master", "tasks"), ("v1.14.4", "task <j-0>")])
def test_a_queue_that_is_not_open_prints_that_it_allocates_and_admits_nothing(release: str, what: str) -> None:
    objects = (node("n0"), queue("a", state="Closed"), pod_group("j", queue="a", phase="Inqueue"), pods("j", 1))
    waiting = (pod_group("new", queue="a", minResources={"cpu": "1"}, phase="Pending"), pods("new", 1))
    conf = conf_of("gang", "predicates proportion", actions="enqueue, allocate")
    recording = replay_cycle(snapshot_at_release(cluster(*objects, *waiting, conf=conf), release))
    start = "Queue <a> current state: Closed, is not"
    assert [f"{start} in open state, can not allocate {what}."] == printed(recording, "proportion.closed")
    assert [f"{start} open state, reject job <default/new>."] == printed(recording, "proportion.not-admitted")


def test_predicates_prints_the_filters_that_skip_a_task() -> None:
    names = "NodeAffinity NodePorts InterPodAffinity NodeVolumeLimits VolumeZone PodTopologySpread VolumeBinding"
    skipped, why = "will skip execution for pod <default/j-0>", "because the status returned by pre-predicate is skip"
    expected = [f"The predicate of plugin {name} {skipped}, {why}" for name in (*names.split(), "DynamicResources")]
    assert expected == printed(configured("predicates"), "filter.skipped")[:8]
