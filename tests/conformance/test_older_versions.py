"""Objects in the API versions that older schedulers request."""

from vcdebug.conformance.api_objects import FIRST_OF_DEVICES, ApiRequest, converted_object
from vcdebug.conformance.api_server import ApiServer
from vcdebug.snapshot.kinds import KIND_BY_NAME

CLAIM = {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}]}}}
SLICE = {"spec": {"driver": "d", "devices": [{"name": "a", "attributes": {"kind": {"string": "x"}}}]}}
CLASS = {"spec": {"selectors": [{"cel": {"expression": "true"}}]}}


def test_objects_about_devices_as_v1beta1_has_them() -> None:
    said, held, named = (converted_object(one, FIRST_OF_DEVICES)["spec"] for one in (CLAIM, SLICE, CLASS))
    assert [{"name": "r", "deviceClassName": "gpu", "count": 2}] == said["devices"]["requests"]
    assert [{"name": "a", "basic": {"attributes": {"kind": {"string": "x"}}}}] == held["devices"]
    assert CLASS["spec"] == named


def test_converted_and_stored_versions_are_left_unchanged() -> None:
    old = [converted_object(one, FIRST_OF_DEVICES) for one in (CLAIM, SLICE)]
    assert old == [converted_object(one, FIRST_OF_DEVICES) for one in old]
    assert [CLAIM, SLICE] == [converted_object(one, "resource.k8s.io/v1") for one in (CLAIM, SLICE)]
    choice = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
    one = {"spec": {"devices": {"requests": [choice]}}}
    assert {**one, "apiVersion": FIRST_OF_DEVICES} == converted_object(one, FIRST_OF_DEVICES)


def test_a_write_is_answered_in_the_version_that_it_was_sent_in() -> None:
    api = ApiServer()
    api.store.put_object(KIND_BY_NAME["ResourceClaim"].api_path, {"metadata": {"name": "c", "namespace": "x"}, **CLAIM})
    path = f"/apis/{FIRST_OF_DEVICES}/namespaces/x/resourceclaims/c/status"
    reserved = {"status": {"reservedFor": [{"name": "a"}]}}
    head = {"Content-Type": "application/merge-patch+json"}
    answer = api.answer_request(ApiRequest("PATCH", path, {}, head, reserved)).body
    assert isinstance(answer, dict)
    assert (FIRST_OF_DEVICES, reserved["status"]) == (answer["apiVersion"], answer["status"])
    assert [{"name": "r", "deviceClassName": "gpu", "count": 2}] == answer["spec"]["devices"]["requests"]
