"""A scheduler that writes a given outcome, which it reads from the file of --deeds.

It speaks plain HTTP, since the client of the kubernetes package takes longer to load than all of this takes.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

GROUPS = "/apis/scheduling.volcano.sh/v1beta1"
MERGE = "application/merge-patch+json"
Body = dict[str, Any]


class Client:
    """Sends requests to the server that the kubeconfig names."""

    def __init__(self, kubeconfig: str) -> None:
        address = urlsplit(json.loads(Path(kubeconfig).read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"])
        self._head = address.path
        self._at = (address.hostname or "", address.port or 0)
        self._connection = http.client.HTTPConnection(*self._at)

    def send(self, method: str, path: str, body: Body | None = None, content_type: str = "application/json") -> Body:
        content = None if body is None else json.dumps(body)
        self._connection.request(method, self._head + path, content, {"Content-Type": content_type})
        answer = self._connection.getresponse()
        read = answer.read()
        assert answer.status < 300, read
        found: Body = json.loads(read)
        return found

    def groups(self) -> dict[str, Body]:
        items = self.send("GET", f"{GROUPS}/podgroups")["items"]
        return {f"{one['metadata']['namespace']}/{one['metadata']['name']}": one for one in items}

    def watch(self, path: str, revision: str) -> Iterator[Body]:
        connection = http.client.HTTPConnection(*self._at)
        connection.request("GET", f"{self._head}{path}?watch=1&resourceVersion={revision}")
        answer = connection.getresponse()
        while line := answer.readline():
            yield json.loads(line)


def main() -> None:
    options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
    client = Client(options["kubeconfig"])
    deeds = json.loads(Path(options["deeds"]).read_text(encoding="utf-8"))
    if deeds.get("ends"):
        print(deeds["ends"], file=sys.stderr, flush=True)
        os._exit(1)
    say("Start scheduling ...")
    client.send("GET", "/api/v1/nodes")
    known = client.send("GET", f"{GROUPS}/podgroups")
    assert [] == known["items"], "jobs are there before anybody is ready for them"
    say("End scheduling ...")
    if deeds.get("dies"):
        sys.exit(f"panic: {deeds['dies']}")
    groups = await_groups(client, known["metadata"]["resourceVersion"], deeds["expected"])
    deeds["since"] = client.send("GET", "/api/v1/pods")["metadata"]["resourceVersion"] if deeds.get("then") else ""
    for _ in range(deeds.get("misses", 0)):
        say("Start scheduling ...")
        say("Open Session 1 with <0> Job and <2> Queues.")
        say("End scheduling ...")
        time.sleep(1)
    say("Start scheduling ...")
    if "sees" in deeds:
        say(f"Open Session 2 with <{deeds['sees']}> Job and <2> Queues.")
    for line in deeds.get("says", ()):
        say(line)
    if deeds.get("panics"):
        sys.exit(f"panic: {deeds['panics']}")
    play(client, groups, deeds)
    say("End scheduling ...")
    if deeds.get("panics_at_last"):
        sys.exit(f"panic: {deeds['panics_at_last']}")
    then = deeds.get("then", ())
    for before, later in zip([deeds, *then], then, strict=False):
        await_pods(client, deeds["since"], before)
        say("Start scheduling ...")
        play(client, client.groups(), later)
        say("End scheduling ...")
    time.sleep(600)


def say(text: str) -> None:
    print(f"I1122 10:00:00.000000       1 scheduler.go:100] {text}", file=sys.stderr, flush=True)


def await_groups(client: Client, revision: str, expected: int) -> dict[str, Body]:
    found: dict[str, Body] = {}
    if not expected:
        return found
    for event in client.watch(f"{GROUPS}/podgroups", revision):
        metadata = event["object"]["metadata"]
        found[f"{metadata['namespace']}/{metadata['name']}"] = event["object"]
        if len(found) == expected:
            break
    return found


def await_pods(client: Client, since: str, deeds: Body) -> None:
    """Wait until the bound pods run and the evicted pods are gone."""
    awaited = {**dict.fromkeys(deeds["bound"], "Running"), **dict.fromkeys(deeds["evicted"], "DELETED")}
    for event in client.watch("/api/v1/pods", since):
        metadata = event["object"]["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}"
        if awaited.get(name) in (event["type"], event["object"].get("status", {}).get("phase")):
            del awaited[name]
        if not awaited:
            break


def play(client: Client, groups: dict[str, Body], deeds: Body) -> None:
    for pod in deeds["evicted"]:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        client.send("PATCH", path(pod, "/status"), {"status": {"conditions": [condition]}}, MERGE)
        client.send("DELETE", path(pod))
    for pod, (reason, message) in deeds["waiting"].items():
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        status: Body = {"conditions": [condition]}
        if pod in deeds["nominated"]:
            status["nominatedNodeName"] = deeds["nominated"][pod]
        client.send("PATCH", path(pod, "/status"), {"status": status}, MERGE)
    numbers = {(kind, name): said for kind, name, said in deeds["statuses"]}
    for name, allocated in ((name, said) for (kind, name), said in numbers.items() if kind == "Queue"):
        client.send("PATCH", f"{GROUPS}/queues/{name}/status", {"status": {"allocated": allocated}}, MERGE)
    for job, (phase, conditions) in deeds["groups"].items():
        namespace, name = job.split("/")
        said = numbers.get(("PodGroup", job), {})
        counts = {count: int(number) for count, number in said.items() if count not in ("hypernode", "phase")}
        status = {**groups[job].get("status", {}), "phase": phase, **counts}
        status["conditions"] = [
            dict(zip(("type", "status", "reason", "message"), one, strict=True)) for one in conditions
        ]
        metadata = groups[job]["metadata"]
        if "hypernode" in said:
            where = {"volcano.sh/job-allocated-hypernode": said["hypernode"]}
            metadata = {**metadata, "annotations": {**metadata.get("annotations", {}), **where}}
        body = {**groups[job], "metadata": metadata, "status": status}
        client.send("PUT", f"{GROUPS}/namespaces/{namespace}/podgroups/{name}", body)
    for pod, notes in deeds.get("annotations", {}).items():
        client.send("PATCH", path(pod), {"metadata": {"annotations": notes}}, MERGE)
    for number, (kind, name, reason, message) in enumerate(deeds.get("reports", ())):
        about = {"kind": kind, "namespace": name.partition("/")[0], "name": name.partition("/")[2]}
        event = {"metadata": {"name": f"e{number}"}, "involvedObject": about, "reason": reason, "message": message}
        client.send("POST", f"/api/v1/namespaces/{about['namespace']}/events", event)
    for pod, node in deeds["bound"].items():
        client.send("POST", path(pod, "/binding"), {"metadata": {}, "target": {"kind": "Node", "name": node}})


def path(pod: str, part: str = "") -> str:
    namespace, name = pod.split("/")
    return f"/api/v1/namespaces/{namespace}/pods/{name}{part}"


main()
