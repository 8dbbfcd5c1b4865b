"""The NPU settings of a device configuration, and the part that a redacted snapshot keeps."""

import pytest
from msgspec.structs import replace

from tests.releases.shown_npus import ON_NPUS
from tests.snapshot.redacted import divergence
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.device_config import (
    BUILT_IN_NPUS,
    NpuConfig,
    NpuKind,
    NpuTemplate,
    dump_renamed_npus,
    is_void,
    read_npu_config,
)

LISTED = """
vnpus:
- commonWord: Ascend910A
  resourceName: huawei.com/Ascend910A
  resourceMemoryName: huawei.com/Ascend910A-memory
  memoryAllocatable: 32768
  memoryCapacity: 32768
  aiCore: 30
  templates:
  - {name: vir04, memory: 4369, aiCore: 4}
  - {name: vir02, memory: 2184, aiCore: 2}
"""
NESTED = LISTED.replace("\n", "\n  ").replace("  vnpus:\n", "vnpus:\n  hamiVnpuCore: yes\n  configs:\n")
A = NpuKind(
    "Ascend910A",
    "huawei.com/Ascend910A",
    "huawei.com/Ascend910A-memory",
    32768,
    32768,
    (NpuTemplate("vir02", 2184), NpuTemplate("vir04", 4369)),
)
NOTHING = NpuKind("", "", "", 0, 0, ())


@pytest.mark.parametrize(
    ("text", "newer", "older"),
    [
        (None, BUILT_IN_NPUS, BUILT_IN_NPUS),
        ("", NpuConfig(()), NpuConfig(())),
        ("nvidia: {}", NpuConfig(()), NpuConfig(())),
        (LISTED, NpuConfig((A,)), NpuConfig((A,))),
        (NESTED, NpuConfig((A,), core_mode=True), BUILT_IN_NPUS),
        ("vnpus: {}", NpuConfig(()), BUILT_IN_NPUS),
        ("vnpus: [{}]", NpuConfig((NOTHING,)), NpuConfig((NOTHING,))),
        ("vnpus: [{memoryCapacity: 7.9}]", NpuConfig((replace(NOTHING, capacity=7),)), None),
        ("vnpus: [{memoryCapacity: 9223372036854775808}]", BUILT_IN_NPUS, None),
        ("vnpus: [{memoryCapacity: true}]", BUILT_IN_NPUS, None),
        ("vnpus: [{commonWord: [a]}]", BUILT_IN_NPUS, None),
        ("vnpus: [{templates: [{aiCore: 3000000000}]}]", BUILT_IN_NPUS, None),
        ("vnpus: {hamiVnpuCore: 1}", BUILT_IN_NPUS, None),
        ("vnpus: some", BUILT_IN_NPUS, None),
        ("[", BUILT_IN_NPUS, None),
    ],
)
def test_npu_kinds_follow_the_configuration(text: str | None, newer: NpuConfig, older: NpuConfig | None) -> None:
    assert newer == read_npu_config(text)
    assert (newer if older is None else older) == read_npu_config(text, list_only=True)
    assert text is None or (newer is BUILT_IN_NPUS) is is_void(text)


def test_numbers_and_the_order_stay_under_other_names() -> None:
    other = replace(
        A, word="x", resource="x", memory_resource="x", templates=(NpuTemplate("x", 2184), NpuTemplate("x", 4369))
    )
    for text, core_mode in ((LISTED, False), (NESTED, True)):
        renamed = dump_renamed_npus(text, lambda _name: "x")
        assert NpuConfig((other,), core_mode) == read_npu_config(renamed)
        assert is_void(text, list_only=True) is is_void(renamed, list_only=True)
    assert "" == dump_renamed_npus("nvidia: {}", str)
    assert is_void(dump_renamed_npus("vnpus: 1", str))


@pytest.mark.parametrize("change", ON_NPUS)
def test_a_redacted_snapshot_with_npus_is_decided_alike(change: str) -> None:
    assert divergence(replay_cycle(ON_NPUS[change]())) is None
