"""The Kubernetes view of nodes and pods, stored in columns."""

from typing import Any

from tests.builders import amounts, cluster, node, open_session, pod, pod_group, task
from vcdebug.kube.affinity_terms import LabelGroup
from vcdebug.kube.images import ImageState, PodImages, image_score, image_states, normalized_image_name
from vcdebug.kube.node_labels import NodeLabels
from vcdebug.kube.node_view import CycleState, NodeView
from vcdebug.kube.ports import HostPort, UsedPorts
from vcdebug.kube.selector import SELECTS_EVERYTHING, Selector
from vcdebug.model.node import NodeInfo


class Everyone:
    """A pod query that every pod matches."""

    @property
    def selector(self) -> Selector:
        return SELECTS_EVERYTHING

    def matches_group(self, group: LabelGroup) -> bool:
        return True


def test_every_pod_of_a_node_counts_at_session_open_and_changes_follow() -> None:
    affinity: dict[str, Any] = {"podAntiAffinity": {}}
    running = pod("r-0", "r", on="n1", requests=amounts("500m", "1Gi", gpu="2"), affinity=affinity)
    leaving = pod("r-1", "r", on="n2", deleting=True)
    ssn = open_session(cluster(node("n1"), node("n2"), pod_group("r"), running, leaving))
    view, question = ssn.view, Everyone()
    assert [1, 1] == view.pod_count.tolist() == view.group_counts.pods_per_row(question).tolist()
    assert [[500, 0], [2**30, 0], [2, 0]] == [
        column.tolist() for column in (view.requested.milli_cpu, view.requested.memory, view.requested.gpu)
    ]
    assert [500, 100] == view.non_zero_requested.milli_cpu.tolist()
    assert [True, False] == (view.pods_with_affinity > 0).tolist()
    assert [False, False] == (view.pods_with_required_anti_affinity > 0).tolist()
    assert view.remove_pod(0, "uid-r-0")
    assert not view.remove_pod(0, "uid-r-0")
    view.add_pod(1, task(ssn, "r-0").pod)
    assert [0, 2] == view.pod_count.tolist() == view.group_counts.pods_per_row(question).tolist()
    assert [0, 500] == view.requested.milli_cpu.tolist()
    assert [0, 600] == view.non_zero_requested.milli_cpu.tolist()
    assert [False, True] == (view.pods_with_affinity > 0).tolist()


def test_a_pod_without_uid_cannot_be_removed() -> None:
    nameless = pod("r-0", "r", on="n1")
    nameless["metadata"]["uid"] = ""
    ssn = open_session(cluster(node("n1"), pod_group("r"), nameless))
    assert not ssn.view.remove_pod(0, "")
    assert [1] == ssn.view.pod_count.tolist()


def test_freeing_a_port_does_not_look_whether_another_pod_uses_it() -> None:
    ports, port = UsedPorts(), (HostPort("0.0.0.0", "TCP", 80),)
    ports.add_ports(0, port)
    ports.add_ports(0, port)
    assert [0] == list(ports.conflicting_rows(port))
    ports.remove_ports(0, port)
    assert [] == list(ports.conflicting_rows(port))


def test_a_clone_of_a_state_has_its_own_entries_and_shares_the_skips() -> None:
    class Counter:
        def __init__(self, number: int) -> None:
            self.number = number

        def clone(self) -> "Counter":
            return Counter(self.number)

    state, counter = CycleState(), Counter(1)
    state.data["a"] = counter
    copy = state.clone()
    counter.number = 2
    state.skip["NodePorts"] = None
    copied: Any = copy.data["a"]
    assert (1, ["NodePorts"]) == (copied.number, list(copy.skip))


def test_a_label_column_sums_by_value_and_spreads_back() -> None:
    labels = NodeLabels(["a", "b", "c"], [{"z": "1"}, {}, {"z": "1"}])
    column = labels.label_column("z")
    counts = column.count_by_value(labels.label_column("z").ids + 5)
    assert [10, 0] == counts.tolist()
    assert [10, 0, 10] == counts[column.ids].tolist()
    assert [10, 0, 10] == column.spread_over_rows(counts[:-1]).tolist()
    assert [True, False, True] == column.rows_present.tolist()


def test_image_states_take_the_first_size_and_the_final_number_of_nodes() -> None:
    def holding(*images: tuple[str, int]) -> dict[str, Any]:
        return {"status": {"images": [{"names": [name], "sizeBytes": size} for name, size in images]}}

    states = image_states({"a": holding(("x:1", 10)), "b": holding(("x:1", 99), ("y:1", 5)), "c": {}})
    assert {"a": {"x:1": ImageState(10, 2)}, "b": {"x:1": ImageState(10, 2), "y:1": ImageState(5, 1)}} == states


def test_images_below_the_threshold_score_zero_and_huge_ones_a_hundred() -> None:
    def score(size: int, containers: int = 1) -> int:
        return image_score(PodImages(("x:1",), containers), {"x:1": ImageState(size, 1)}, 1)

    assert [0, 0, 50, 100] == [score(n * 2**20) for n in (5, 23, 512, 4000)]
    assert 24 == score(512 * 2**20, containers=2)


def test_an_image_name_without_a_tag_means_latest() -> None:
    names = ["host:5000/train", "train:1", "train@sha256:ab"]
    assert ["host:5000/train:latest", "train:1", "train@sha256:ab"] == [normalized_image_name(name) for name in names]


def test_the_opening_counts_what_pods_that_come_one_by_one_add_up_to() -> None:
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
    busy = [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]
    running = [*(pod(f"j-{i}", on="n1", requests=amounts("2", "1Gi", gpu=str(i))) for i in range(3))]
    running += [pod("k", on="n2", affinity=anti), pod("l", on="n2", containers=busy), pod("m", on="n2")]
    ssn = open_session(cluster(node("n1", gpu="8"), node("n2"), node("n3"), running))
    view, empty = ssn.view, {name: NodeInfo(one.manifest) for name, one in ssn.nodes.items()}
    other = NodeView.build_at_open(ssn.node_table.names, empty, {})
    for row, one in enumerate(ssn.nodes.values()):
        for placed in one.tasks_in_order():
            other.add_pod(row, placed.pod)
    for mine, theirs in (
        (view.requested, other.requested),
        (view.non_zero_requested, other.non_zero_requested),
        (view.allocatable, other.allocatable),
    ):
        assert (mine.cpu_and_memory.tolist(), mine.gpu.tolist()) == (
            theirs.cpu_and_memory.tolist(),
            theirs.gpu.tolist(),
        )
    assert [3, 3, 0] == view.pod_count.tolist() == other.pod_count.tolist()
    assert [0, 1, 0] == view.pods_with_required_anti_affinity.tolist()
    wanted = (HostPort("0.0.0.0", "TCP", 80),)
    assert [1] == list(view.ports.conflicting_rows(wanted)) == list(other.ports.conflicting_rows(wanted))
    assert view.group_counts.pods_per_row(Everyone()).tolist() == other.group_counts.pods_per_row(Everyone()).tolist()


def test_sums_beyond_int64_wrap_as_go_s_do() -> None:
    huge = [pod(f"j-{i}", "j", on="n1", requests=amounts("1", str(2**63 - 1))) for i in range(2)]
    ssn = open_session(cluster(node("n1"), pod_group("j"), huge))
    assert [-2] == ssn.view.requested.memory.tolist() == ssn.view.non_zero_requested.memory.tolist()
    assert ssn.view.remove_pod(0, "uid-j-0")
    assert [2**63 - 1] == ssn.view.requested.memory.tolist()
    ssn.view.add_pod(0, task(ssn, "j-0").pod)
    assert [-2] == ssn.view.requested.memory.tolist()
