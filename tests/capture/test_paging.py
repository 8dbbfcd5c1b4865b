from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.capture.fake_server import ApiReply, ApiRequest, FakeApi
from tests.capture.small_cluster import PODS
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.errors import CaptureError
from vcdebug.snapshot.snapshot import Snapshot

NAMES = ["train-0", "train-1", "train-2", "waiting-0", "waiting-1"]


def pod_names(snapshot: Snapshot) -> list[str]:
    return [pod["metadata"]["name"] for pod in snapshot.objects_of("Pod")]


def tokens(requests: list[ApiRequest]) -> list[str]:
    return [request.query.get("continue", "") for request in requests]


@pytest.fixture
def paged(options: CaptureOptions) -> CaptureOptions:
    return replace(options, page_size=2)


def test_lists_are_asked_for_in_pages_of_five_hundred(api: FakeApi, options: CaptureOptions) -> None:
    capture_cluster(options)
    exact = {"resourceVersion": "90", "resourceVersionMatch": "Exact"}
    assert [{"limit": "500", **exact}] == [request.query for request in api.asked(PODS)]


def test_pages_are_followed_to_the_end_in_the_servers_order(api: FakeApi, paged: CaptureOptions) -> None:
    assert NAMES == pod_names(capture_cluster(paged))
    assert ["", "same from 2", "same from 4"] == tokens(api.asked(PODS))


def test_a_server_may_send_smaller_pages_than_asked_for(api: FakeApi, options: CaptureOptions) -> None:
    api.largest_page = 1
    assert NAMES == pod_names(capture_cluster(options))


def test_a_list_that_expires_once_is_read_anew_and_whole(api: FakeApi, paged: CaptureOptions) -> None:
    api.expiries[PODS] = 1
    snapshot = capture_cluster(paged)
    assert NAMES == pod_names(snapshot)
    assert ["", "same from 2", "", "same from 2", "same from 4"] == tokens(api.asked(PODS))
    assert [] == snapshot.problems


def test_a_list_that_expires_again_goes_on_inconsistently_and_everything_is_read_again(
    api: FakeApi, paged: CaptureOptions
) -> None:
    api.expiries[PODS] = 2
    snapshot = capture_cluster(paged)
    assert NAMES == pod_names(snapshot)
    torn = ["", "same from 2", "", "same from 2", "any from 2", "same from 4"]
    assert [*torn, "", "same from 2", "same from 4"] == tokens(api.asked(PODS))
    assert [] == snapshot.problems


def test_a_list_that_expires_without_end_is_an_error(api: FakeApi, paged: CaptureOptions) -> None:
    api.expiries[PODS] = 1000
    with pytest.raises(CaptureError, match="cannot list pods: the server answered 410: the continue parameter"):
        capture_cluster(paged)


def test_a_page_that_names_itself_as_the_next_is_an_error(api: FakeApi, options: CaptureOptions) -> None:
    page = {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "again"}, "items": []}
    api.scripted[PODS] = [ApiReply(200, page)] * 3
    with pytest.raises(CaptureError, match="the same continue token twice"):
        capture_cluster(options)


def test_an_empty_list_may_arrive_as_null(api: FakeApi, options: CaptureOptions) -> None:
    metadata = {"resourceVersion": "90"}
    api.scripted[PODS] = [ApiReply(200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": None})]
    assert [] == capture_cluster(options).objects_of("Pod")
