"""A cluster of real programs on loopback: etcd, kube-apiserver, Volcano's scheduler and controllers.

Nodes are plain objects, and a thread does what kubelets would: bound pods run, terminating pods go.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import yaml

from tests.builders import node, pod_group, pods, priority_class
from tests.live.programs import crd_files, find_program
from vcdebug.snapshot.kinds import KINDS

Body = dict[str, Any]
TOKENS = {"admin": "system:masters", "viewer": "", "tenant": ""}
"""User -> group; each user's name is its token."""
RELEASE = "v1.14.4"
SCHEDULER, SYSTEM = "volcano-scheduler", "volcano-system"
CONF = """actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
PACKED = CONF + "  - name: binpack\n    arguments: {binpack.weight: 10}\n"
PLURALS = {kind.name: kind.plural for kind in KINDS} | {"CustomResourceDefinition": "customresourcedefinitions"}
SEED = 5
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
WORKLOADS = (
    ("batch.volcano.sh/v1alpha1", "Job"),
    ("batch/v1", "Job"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("v1", "Pod"),
)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(holds: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Wait until something holds; raises TimeoutError."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError, KeyError, Refused):
            if holds():
                return
        time.sleep(0.1)
    raise TimeoutError(what)


class Refused(Exception):
    """An answer of the API server that is no success."""


class Cluster:
    """The running programs and their API."""

    def __init__(self, folder: Path, conf: str = CONF) -> None:
        self.folder = folder
        self.draws = random.Random(SEED)
        self._conf = conf
        self._port, self._etcd_port = free_port(), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ends = threading.Event()
        self._threads: list[threading.Thread] = []
        self.strangers = False
        """Whether pods of another scheduler come and go."""

    @contextmanager
    def running(self) -> Iterator[Cluster]:
        with ExitStack() as stack:
            stack.callback(self._stop)
            self._start_servers()
            self._fill()
            self.start_scheduler(self._conf)
            self._start("vc-controller-manager", "--scheduler-name=volcano", *self._client())
            for work in (self._act_as_kubelets, self._act_as_strangers):
                self._threads.append(threading.Thread(target=self._repeat, args=(work,), daemon=True))
                self._threads[-1].start()
            self.await_scheduler()
            yield self

    # The programs

    def _start(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [find_program(name), *arguments]
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def _client(self) -> tuple[str, ...]:
        return (
            f"--kubeconfig={self.kubeconfig()}",
            "--leader-elect=false",
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
        )

    def _start_servers(self) -> None:
        folder, etcd = self.folder, f"http://127.0.0.1:{self._etcd_port}"
        peers = f"http://127.0.0.1:{free_port()}"
        urls = [f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}", f"--listen-peer-urls={peers}"]
        peers_of = [f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}"]
        self._start("etcd", f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync", *urls, *peers_of)
        key, tokens = folder / "accounts.key", folder / "tokens.csv"
        subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
        tokens.write_text("".join(f'{user},{user},{user},"{group}"\n' for user, group in TOKENS.items()))
        self._start(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--cert-dir={folder / 'certs'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        )
        wait_for(lambda: self.call("GET", "/readyz"), "the API server is ready", 120)

    def start_scheduler(self, conf: str) -> None:
        """Start the scheduler, or start it again, with a configuration of its own."""
        self.end_program("vc-scheduler")
        # The scheduler watches the whole folder of its configuration.
        file = self.folder / "conf" / "volcano-scheduler.conf"
        file.parent.mkdir(exist_ok=True)
        file.write_text(conf)
        self._start("vc-scheduler", f"--scheduler-conf={file}", "--logtostderr", "-v=4", *self._client())

    def upgrade_scheduler(self, release: str) -> None:
        """Write another image into the scheduler's Deployment; what runs stays the same."""
        path = f"{path_of('apps/v1', 'Deployment', SYSTEM)}/{SCHEDULER}"
        found = self.call("GET", path)
        found["spec"]["template"]["spec"]["containers"][0]["image"] = f"docker.io/volcanosh/vc-scheduler:{release}"
        self.call("PUT", path, found)

    def end_program(self, name: str) -> None:
        if process := self._processes.pop(name, None):
            process.kill()
            process.wait()

    @contextmanager
    def without_answers(self) -> Iterator[None]:
        """The API server stands still for the time of the block."""
        server = self._processes["kube-apiserver"]
        server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            server.send_signal(signal.SIGCONT)

    def _stop(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(10)
        for name in list(self._processes)[::-1]:
            self.end_program(name)

    def compact(self) -> None:
        """Make etcd forget all earlier states."""
        last = int(self.call("GET", "/api/v1/namespaces")["metadata"]["resourceVersion"])
        body = json.dumps({"revision": last, "physical": True}).encode()
        with urlopen(Request(f"http://127.0.0.1:{self._etcd_port}/v3/kv/compaction", body), timeout=20) as answer:
            answer.read()

    # Its API

    def kubeconfig(self, user: str = "admin") -> Path:
        file = self.folder / f"{user}.yaml"
        server = {
            "server": f"https://127.0.0.1:{self._port}",
            "certificate-authority": str(self.folder / "certs" / "apiserver.crt"),
        }
        context = {"cluster": "live", "user": user}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "live",
            "clusters": [{"name": "live", "cluster": server}],
            "users": [{"name": user, "user": {"token": user}}],
            "contexts": [{"name": "live", "context": context}],
        }
        file.write_text(yaml.safe_dump(config))
        return file

    def call(self, method: str, path: str, body: Body | None = None, *, patch: bool = False) -> Any:
        """One request as admin; raises Refused."""
        kind = "application/merge-patch+json" if patch else "application/json"
        headers = {"Authorization": "Bearer admin", "Content-Type": kind}
        trust = ssl.create_default_context(cafile=str(self.folder / "certs" / "apiserver.crt"))
        connection = HTTPSConnection("127.0.0.1", self._port, context=trust, timeout=30)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Refused(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content) if content.startswith(b"{") else content

    def put(self, *manifests: Body) -> None:
        """Create objects, and write their status where they have one."""
        for manifest in manifests:
            version = manifest.get("apiVersion") or next(k.api_version for k in KINDS if k.name == manifest["kind"])
            path = path_of(version, manifest["kind"], manifest["metadata"].get("namespace", ""))
            metadata = {key: value for key, value in manifest["metadata"].items() if key not in SERVERS_OWN}
            made = self.call("POST", path, {**manifest, "apiVersion": version, "metadata": metadata})
            if manifest["kind"] == "Node":
                self.write_status(path, {**made, "status": manifest["status"]})

    def write_status(self, path: str, manifest: Body) -> None:
        name = manifest["metadata"]["name"]
        self.call("PATCH", f"{path}/{name}/status", {"status": manifest["status"]}, patch=True)

    def list_all(self, path: str) -> list[Body]:
        items: list[Body] = self.call("GET", path)["items"]
        return items

    def pods(self, namespace: str = "") -> list[Body]:
        return self.list_all(path_of("v1", "Pod", namespace))

    def delete(self, version: str, kind: str, namespace: str, name: str = "") -> None:
        """Delete one object, or all of the namespace, at once."""
        path = path_of(version, kind, namespace) + (f"/{name}" if name else "")
        with suppress(Refused):
            self.call("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})

    def _fill(self) -> None:
        for file in crd_files():
            self.put(yaml.safe_load(file.read_text()))
        wait_for(lambda: self.call("GET", QUEUES), "Volcano's kinds are served")
        for name in (SYSTEM, "team-a", "team-b"):
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.put(*scheduler_objects(self._conf), priority_class("high", 100), priority_class("low", 1))
        self.put(*(node(f"n{row}", cpu=str(6 + row % 3), memory="64Gi") for row in range(6)))

    def await_scheduler(self) -> None:
        """Wait until it has made the default queue, and the controllers have opened that."""
        queue = f"{QUEUES}/default"
        wait_for(lambda: self.call("GET", queue)["status"]["state"] == "Open", "the default queue is open", 120)

    # Workloads

    def submit(
        self, name: str, count: int, cpu: str = "1", rank: str = "low", space: str = "team-a", least: int = 0
    ) -> None:
        """A PodGroup and its pods, as by a client that makes both; all are its least, unless stated."""
        self.put(
            pod_group(name, namespace=space, min_member=least or count, priority_class=rank),
            *pods(name, count, cpu, "1Gi", namespace=space, priorityClassName=rank),
        )

    def submit_volcano_job(self, name: str, count: int, cpu: str, namespace: str = "team-a") -> None:
        """A Volcano Job, whose PodGroup and pods its controller makes."""
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        task = {"name": "worker", "replicas": count, "minAvailable": count, "template": template}
        spec = {"minAvailable": count, "schedulerName": "volcano", "queue": "default", "maxRetry": 3, "tasks": [task]}
        metadata = {"name": name, "namespace": namespace}
        self.put({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec})

    def clear(self) -> None:
        """Delete every workload, and wait until their pods are gone."""
        self.strangers = False
        for namespace in ("team-a", "team-b", "kube-system"):
            for version, kind in WORKLOADS:
                self.delete(version, kind, namespace)
        wait_for(lambda: not self.pods(), "no pod is left")

    def is_bound(self, pod: str) -> bool:
        namespace, _, name = pod.partition("/")
        return bool(self.call("GET", f"{path_of('v1', 'Pod', namespace)}/{name}")["spec"].get("nodeName"))

    # What else happens in a cluster

    def _repeat(self, work: Callable[[], None]) -> None:
        while not self._ends.wait(0.15):
            with suppress(OSError, Refused):
                work()

    def _act_as_kubelets(self) -> None:
        for pod in self.pods():
            path = path_of("v1", "Pod", pod["metadata"]["namespace"])
            if pod["metadata"].get("deletionTimestamp"):
                self.delete("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
            elif pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                conditions = [*pod["status"].get("conditions", ()), {"type": "Ready", "status": "True"}]
                with suppress(Refused):
                    self.write_status(path, {**pod, "status": {"phase": "Running", "conditions": conditions}})

    def _act_as_strangers(self) -> None:
        if not self.strangers:
            return
        theirs = [pod["metadata"]["name"] for pod in self.pods("kube-system")]
        for name in self.draws.sample(theirs, min(len(theirs), self.draws.randint(0, 2))):
            self.delete("v1", "Pod", "kube-system", name)
        for _ in range(self.draws.randint(0, 2)):
            self.put(stranger(self.draws))


SERVERS_OWN = ("uid", "creationTimestamp", "resourceVersion")


def path_of(version: str, kind: str, namespace: str = "") -> str:
    """The path of a collection."""
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{prefix}{f'/namespaces/{namespace}' if namespace else ''}/{PLURALS.get(kind, kind.lower() + 's')}"


def scheduler_objects(conf: str) -> list[Body]:
    """The Deployment, the pod and the ConfigMap of the scheduler, which here runs beside the cluster."""
    mount = {"name": "conf", "mountPath": "/volcano.scheduler"}
    container = {
        "name": SCHEDULER,
        "image": f"docker.io/volcanosh/vc-scheduler:{RELEASE}",
        "args": ["--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf", "--leader-elect=false"],
        "volumeMounts": [mount],
    }
    volumes = [{"name": "conf", "configMap": {"name": f"{SCHEDULER}-configmap"}}]
    labels = {"app": SCHEDULER}
    spec = {"containers": [container], "volumes": volumes}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{SCHEDULER}-configmap", "namespace": SYSTEM},
            "data": {"volcano-scheduler.conf": conf},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": SCHEDULER, "namespace": SYSTEM, "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        },
    ]


def stranger(draws: random.Random) -> Body:
    """A pod of another scheduler, on a node or Pending."""
    on = draws.choice(["", "", "n0", "n3"])
    resources = {"requests": {"cpu": "500m"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"other-{draws.getrandbits(40):x}", "namespace": "kube-system"},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "none", "resources": resources}],
            **({"nodeName": on} if on else {}),
        },
    }
