"""A scheduler that plays a recording: what it does is written in the file of --deeds."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from kubernetes import client, config, watch

GROUP = ("scheduling.volcano.sh", "v1beta1")
FIELDS = ("type", "status", "reason", "message")
Body = dict[str, Any]


def main() -> None:
    options = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
    config.load_kube_config(options["kubeconfig"])  # type: ignore[no-untyped-call]  # as the client has it
    deeds = json.loads(Path(options["deeds"]).read_text(encoding="utf-8"))
    if deeds.get("ends"):
        sys.exit(str(deeds["ends"]))
    core, custom = client.CoreV1Api(), client.CustomObjectsApi()
    say("Start scheduling ...")
    core.list_node()
    known: Any = custom.list_cluster_custom_object(*GROUP, "podgroups")
    assert [] == known["items"], "jobs are there before anybody is ready for them"
    say("End scheduling ...")
    groups = await_groups(custom, known["metadata"]["resourceVersion"], deeds["expected"])
    say("Start scheduling ...")
    if deeds.get("panics"):
        sys.exit(f"panic: {deeds['panics']}")
    play(core, custom, groups, deeds)
    say("End scheduling ...")
    time.sleep(600)


def say(text: str) -> None:
    print(f"I1122 10:00:00.000000       1 scheduler.go:100] {text}", file=sys.stderr, flush=True)


def await_groups(custom: client.CustomObjectsApi, revision: str, expected: int) -> dict[str, Body]:
    found: dict[str, Body] = {}
    if not expected:
        return found
    stream = watch.Watch().stream  # type: ignore[no-untyped-call]  # as the client has it
    events = stream(custom.list_cluster_custom_object, *GROUP, "podgroups", resource_version=revision)  # type: ignore[no-untyped-call]  # as the client has it
    for event in events:
        metadata = event["object"]["metadata"]
        found[f"{metadata['namespace']}/{metadata['name']}"] = event["object"]
        if len(found) == expected:
            break
    return found


def play(core: client.CoreV1Api, custom: client.CustomObjectsApi, groups: dict[str, Body], deeds: Body) -> None:
    for pod in deeds["evicted"]:
        namespace, name = pod.split("/")
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        core.patch_namespaced_pod_status(name, namespace, {"status": {"conditions": [condition]}})
        core.delete_namespaced_pod(name, namespace)
    for pod, (reason, message) in deeds["waiting"].items():
        namespace, name = pod.split("/")
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        status: Body = {"conditions": [condition]}
        if pod in deeds["nominated"]:
            status["nominatedNodeName"] = deeds["nominated"][pod]
        core.patch_namespaced_pod_status(name, namespace, {"status": status})
    for job, (phase, conditions) in deeds["groups"].items():
        namespace, name = job.split("/")
        status = {**groups[job].get("status", {}), "phase": phase}
        status["conditions"] = [
            dict(zip(("type", "status", "reason", "message"), one, strict=True)) for one in conditions
        ]
        body = {**groups[job], "status": status}
        custom.replace_namespaced_custom_object(*GROUP, namespace, "podgroups", name, body)
    for pod, node in deeds["bound"].items():
        namespace, name = pod.split("/")
        target = client.V1ObjectReference(kind="Node", name=node)
        binding = client.V1Binding(metadata=client.V1ObjectMeta(name=name, namespace=namespace), target=target)
        core.create_namespaced_pod_binding(name, namespace, binding, _preload_content=False)


main()
