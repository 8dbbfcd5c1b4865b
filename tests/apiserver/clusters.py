"""Clusters for the test API server."""

from __future__ import annotations

from tests.apiserver.server import ApiServer
from tests.capture.fake_server import ApiRequest, FakeApi
from tests.capture.small_cluster import small_cluster
from vcdebug.capture.api_client import HttpAnswer, Query
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.snapshot import Manifest

DEPLOYMENTS = KIND_BY_NAME["Deployment"].api_path
CONFIG_MAPS = KIND_BY_NAME["ConfigMap"].api_path


def small_server() -> ApiServer:
    """The small cluster on a server with revisions."""
    return served(small_cluster())


def served(api: FakeApi) -> ApiServer:
    """A server with the objects of a FakeApi, each written once."""
    server = ApiServer()
    for path, body in api.objects.items():
        if path.endswith("/deployments"):
            for item in body["items"]:
                server.store.put_object(DEPLOYMENTS, item)
        elif "/configmaps/" in path:
            namespace = path.split("/")[4]
            server.store.put_object(CONFIG_MAPS, body | {"metadata": body["metadata"] | {"namespace": namespace}})
        elif "items" in body:
            for item in body["items"]:
                server.store.put_object(path, item)
        else:
            server.singles[path] = body
    return server


class Direct:
    """A transport that calls the server directly, without a socket."""

    context, server, user = "dev", "context 'dev'", "me"

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def send(self, method: str, path: str, query: Query, body: Manifest | None = None) -> HttpAnswer:
        reply = self._api.answer_request(ApiRequest(method, path, dict(query), {}, body))
        return HttpAnswer(reply.status, {"date": self._api.date or ""}, reply.content_bytes)
