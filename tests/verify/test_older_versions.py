"""Objects in the versions that older schedulers ask for."""

from vcdebug.verify.older_versions import FIRST_OF_DEVICES, converted

CLAIM = {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}}}
SLICE = {"spec": {"driver": "d", "devices": [{"name": "a", "attributes": {"kind": {"string": "x"}}}]}}
CLASS = {"spec": {"selectors": [{"cel": {"expression": "true"}}]}}


def test_objects_about_devices_as_v1beta1_has_them() -> None:
    said, held, named = (converted(one, FIRST_OF_DEVICES)["spec"] for one in (CLAIM, SLICE, CLASS))
    assert [{"name": "r", "deviceClassName": "gpu", "count": 2}] == said["devices"]["requests"]
    assert [{"name": "a", "basic": {"attributes": {"kind": {"string": "x"}}}}] == held["devices"]
    assert CLASS["spec"] == named


def test_what_stands_so_already_and_what_is_asked_for_as_stored_is_left() -> None:
    old = [converted(one, FIRST_OF_DEVICES) for one in (CLAIM, SLICE)]
    assert old == [converted(one, FIRST_OF_DEVICES) for one in old]
    assert [CLAIM, SLICE] == [converted(one, "resource.k8s.io/v1") for one in (CLAIM, SLICE)]
    choice = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
    one = {"spec": {"devices": {"requests": [choice]}}}
    assert one == converted(one, FIRST_OF_DEVICES)
