"""The registration of Ascend NPUs by nodes, and the NPUs that pods hold by annotation."""

import pytest

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.model.devices.hami_ascend_card import NpuRegistration, decode_container_devices, unmarshal_node_devices
from vcdebug.model.devices.vgpu_annotations import HeldCard


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (";", []),
        ("a,A,1,2:b,A,3,4:;", [HeldCard("a", 1, 2), HeldCard("b", 3, 4)]),
        ("a,A,1,2:;b,A,3,4:;", [HeldCard("a", 1, 2), HeldCard(";b", 3, 4)]),
        ("a,A,x,99999999999:;", [HeldCard("a", 0, (1 << 31) - 1)]),
        ("a,A,1,2:b,A:;", []),
        ("a:b", []),
    ],
)
def test_card_annotation_is_decoded(text: str, expected: list[HeldCard]) -> None:
    assert expected == decode_container_devices(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"id": "a", "count": 2, "devmem": 5, "devcore": 8}]', [NpuRegistration("a", 2, 5, 8)]),
        ('[{"ID": "a", "Count": 2, "custominfo": {"NetworkID": 3.9}}]', [NpuRegistration("a", 2, 0, 0, True, 3)]),
        ('[{"id": "a", "custominfo": {"NetworkID": "x"}}]', [NpuRegistration("a", 0, 0, 0, True)]),
        ('[{"id": "a", "count": null, "custominfo": null}]', [NpuRegistration("a", 0, 0, 0)]),
        ('[{"id": "a", "count": 1.0}]', []),
        ('[{"id": "a", "count": 3000000000}]', []),
        ('[{"id": "a", "index": -1}]', []),
        ('[{"id": "a", "health": "yes"}]', []),
        ('[{"id": "a", "devicepairscore": {"score": {"b": 0.5}}}]', []),
        ('[{"id": "a", "custominfo": NaN}]', []),
        ('[{"id": "a", "custominfo": {"NetworkID": 1e400}}]', []),
        ('[{"id": "a", "custominfo": {"x": [{"y": -1e999}]}}]', []),
        (f'[{{"id": "a", "custominfo": {{"x": 1{"0" * 400}}}}}]', []),
        (f'[{{"id": "a", "custominfo": {{"x": 1{"0" * 300}}}}}]', [NpuRegistration("a", 0, 0, 0)]),
        ('[{"id": "a", "other": 1e400}]', [NpuRegistration("a", 0, 0, 0)]),
        ('{"id": "a"}', []),
        ("[1]", []),
        ("null", []),
        ("", []),
    ],
)
def test_node_register_annotation_is_decoded(text: str, expected: list[NpuRegistration]) -> None:
    assert expected == unmarshal_node_devices(text)


def test_a_null_card_panics() -> None:
    with pytest.raises(SchedulerPanic, match=NIL_POINTER_TEXT):
        unmarshal_node_devices("[null]")
