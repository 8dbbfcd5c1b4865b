"""Messages that differ by chance alone."""

from vcdebug.conformance.verdicts import certain_part, is_alike

HEAD = "Unschedulable: 0/3 nodes are unavailable: "


def test_which_of_several_lacking_resources_a_node_names_is_no_difference() -> None:
    gpus, pods = (
        f"{HEAD}2 Insufficient cpu, 3 Insufficient nvidia.com/gpu.",
        f"{HEAD}2 Insufficient cpu, 3 Insufficient pods.",
    )
    mixed = f"{HEAD}1 Insufficient pods, 2 Insufficient cpu, 2 Insufficient nvidia.com/gpu."
    assert is_alike(gpus, pods)
    assert is_alike(gpus, mixed)


def test_cpu_memory_and_numbers_are_certain() -> None:
    cpu = f"{HEAD}1 Insufficient cpu, 2 Insufficient pods."
    assert not is_alike(cpu, f"{HEAD}1 Insufficient memory, 2 Insufficient pods.")
    assert not is_alike(cpu, f"{HEAD}1 Insufficient cpu, 1 Insufficient pods.")
    assert not is_alike(cpu, f"{HEAD}1 Insufficient cpu, 2 node(s) had untolerated taints.")
    assert not is_alike("node-1", "node-2")


def test_the_example_of_a_gang_is_left_out() -> None:
    assert "pod group is not ready" == certain_part("pod group is not ready Origin reason is j-0: pod is not ready")
