"""A small cluster that changes: jobs start and end, its scheduler binds pods, and other pods come and go."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from tests.apiserver.clusters import CONFIG_MAPS, DEPLOYMENTS, Direct
from tests.apiserver.server import ApiServer
from tests.builders import node, pod, pod_group, priority_class, queue
from tests.capture.small_cluster import config_map, deployment
from tests.conformance.deeds import after
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.conformance import ClusterReader, Patience, Verification, verify_cluster
from vcdebug.conformance.cluster_watch import ClusterWatch, WatchFigures
from vcdebug.conformance.cycle_outcome import predicted_outcome
from vcdebug.recording.recording import disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import key_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

CONF = """actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
"""
PACKED = CONF + "  - name: binpack\n    arguments: {binpack.weight: 10}\n"
OPTIONS = CaptureOptions(first_wait=0.0)
PODS, GROUPS = (KIND_BY_NAME[kind].api_path for kind in ("Pod", "PodGroup"))
MAX_AGE = 3
"""Age in cycles at which a job ends."""


class LiveCluster:
    """`conf` is the ConfigMap's text, `runs` the scheduler's own configuration; with `busy`, other pods change, too."""

    def __init__(self, seed: int, *, conf: str = CONF, runs: str = CONF, busy: bool = False) -> None:
        self.server = ApiServer()
        self.draws = random.Random(seed)
        self._runs, self._busy, self._cycle, self._acted = runs, busy, 0, False
        self._born: dict[str, int] = {}
        self._ran = 0
        self._seen: Snapshot | None = None
        """The state that the scheduler's next cycle began with, if it is not the present one."""
        nodes = [node(f"n{row}", cpu=str(6 + row % 3)) for row in range(6)]
        for one in (*nodes, queue(), queue("root"), priority_class("high", 100), priority_class("low", 1)):
            self._put(one)
        self.server.singles["/version"] = {"major": "1", "minor": "34"}
        self.server.store.put_object(DEPLOYMENTS, deployment([]))
        map_of_conf = config_map("volcano-scheduler-configmap", {"volcano-scheduler.conf": conf})
        map_of_conf["metadata"]["namespace"] = "volcano-system"
        self.server.store.put_object(CONFIG_MAPS, map_of_conf)

    def verify(self, *, deletes_unseen: bool = False) -> Verification:
        """Run one cycle: jobs start and end, then verify_cluster runs while the scheduler acts.

        With `deletes_unseen`, pods are deleted after the cycle has begun, and before the first capture.
        """
        self._begin_cycle()
        if deletes_unseen:
            self._seen = capture_cluster(OPTIONS, transport=self.transport())
            running = [key_of(each) for each in self.objects_of(PODS) if each["spec"].get("nodeName")]
            for key in running[:2]:
                self.server.store.delete_object(PODS, key)
        patience = Patience(max_seconds=5, pause=1)
        reader = ClusterReader(OPTIONS, self.transport, self.pass_time, lambda: float(self._cycle))
        return next(verify_cluster(reader, patience))

    def watch(self, cycles: int) -> tuple[WatchFigures, list[str]]:
        """Figures and lines of a watch that reads before and after the scheduler runs."""
        reader, lines = ClusterReader(OPTIONS, self.transport, sleep=lambda _: None), list[str]()
        watch = ClusterWatch(reader)
        for _ in range(cycles):
            self._begin_cycle()
            lines += watch.judge_capture(reader.capture()).lines
            self.pass_time(1)
            lines += watch.judge_capture(reader.capture()).lines
        return watch.figures, lines

    def judged_cycles(self) -> Iterator[Verification]:
        """The verdicts of one run of verify over all cycles."""
        patience = Patience(max_seconds=50, pause=1)

        def pass_time(seconds: float) -> None:
            if self._acted and self.draws.random() < 0.5:
                self._begin_cycle()
            self.pass_time(seconds)

        self._begin_cycle()
        return verify_cluster(ClusterReader(OPTIONS, self.transport, pass_time, lambda: 0.0), patience)

    def _begin_cycle(self) -> None:
        """Start a cycle: end old jobs, create new ones, and let the scheduler act again."""
        self._cycle += 1
        self._acted = False
        self._end_jobs()
        for number in range(self.draws.randint(1, 3)):
            self.create_job(f"job-{self._cycle}-{number}")

    def transport(self) -> Direct:
        return Direct(self.server)

    def pass_time(self, _: float) -> None:
        """Change pods of other schedulers, and run the scheduler once per cycle."""
        if self._busy:
            self._change_others()
        if not self._acted:
            self._acted = True
            self.run_scheduler()

    def run_scheduler(self) -> None:
        """Run one cycle by replaying a capture with the scheduler's own configuration."""
        snapshot = self._seen or capture_cluster(OPTIONS, transport=self.transport())
        self._seen = None
        snapshot.scheduler_conf = self._runs
        self._ran += 1
        with disposing(replay_cycle(snapshot)) as recording:
            self._keep_changed(snapshot, after(snapshot, predicted_outcome(recording)))

    def objects_of(self, path: str) -> list[Manifest]:
        return list(self.server.store.objects_at(path, self.server.store.revision))

    def _keep_changed(self, before: Snapshot, later: Snapshot) -> None:
        for kind, path in (("Pod", PODS), ("PodGroup", GROUPS)):
            for was, now in zip(before.objects_of(kind), later.objects_of(kind), strict=True):
                if was != now:
                    self.server.store.put_object(path, self._with_times(was, now) if kind == "Pod" else now)

    def _with_times(self, was: Manifest, pod: Manifest) -> Manifest:
        """The pod with the times of its new conditions, each cycle in a second of its own, and with that of a bind."""
        time = {"lastTransitionTime": f"2026-11-01T10:{self._ran // 60:02}:{self._ran % 60:02}Z"}
        old, conditions = was["status"].get("conditions", []), pod["status"].get("conditions", [])
        if pod["spec"].get("nodeName") and not was["spec"].get("nodeName"):
            others = [each for each in conditions if each["type"] != "PodScheduled"]
            conditions = [*others, {"type": "PodScheduled", "status": "True"}]
        stamped = [each if each in old else {**each, **time} for each in conditions]
        return {**pod, "status": {**pod["status"], "conditions": stamped}}

    def _put(self, manifest: Manifest) -> None:
        self.server.store.put_object(KIND_BY_NAME[manifest["kind"]].api_path, manifest)

    def create_job(self, name: str) -> None:
        rank, count = self.draws.choice(["low", "high"]), self.draws.randint(1, 4)
        self._born[f"default/{name}"] = self._cycle
        self._put(pod_group(name, min_member=self.draws.randint(1, count), phase="Pending", priority_class=rank))
        asks = {"cpu": str(self.draws.randint(1, 3)), "memory": "1Gi"}
        priority = {"low": 1, "high": 100}[rank]
        for row in range(count):
            self._put(pod(f"{name}-{row}", name, requests=asks, priority=priority, priorityClassName=rank))

    def delete_job(self, name: str) -> None:
        for one in self.objects_of(PODS):
            if one["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name") == name:
                self.server.store.delete_object(PODS, key_of(one))
        self.server.store.delete_object(GROUPS, f"default/{name}")
        del self._born[f"default/{name}"]

    def _end_jobs(self) -> None:
        """Delete jobs of MAX_AGE and evicted pods, and set bound pods to Running."""
        for one in self.objects_of(PODS):
            group = one["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name", "")
            old = self._cycle - self._born.get(f"default/{group}", self._cycle) >= MAX_AGE
            if "deletionTimestamp" in one["metadata"] or old:
                self.server.store.delete_object(PODS, key_of(one))
            elif one["spec"].get("nodeName") and one["status"]["phase"] == "Pending":
                self.server.store.put_object(PODS, {**one, "status": {"phase": "Running"}})
        for key in [key for key, born in self._born.items() if self._cycle - born >= MAX_AGE]:
            self.server.store.delete_object(GROUPS, key)
            del self._born[key]

    def _change_others(self) -> None:
        """Delete and create pods of another scheduler, some of them on nodes."""
        theirs = [one for one in self.objects_of(PODS) if one["metadata"]["namespace"] == "kube-system"]
        for one in self.draws.sample(theirs, min(len(theirs), self.draws.randint(0, 2))):
            self.server.store.delete_object(PODS, key_of(one))
        for _ in range(self.draws.randint(0, 2)):
            self._put(self._stranger())

    def _stranger(self) -> Manifest:
        on = self.draws.choice(["", "", "n0", "n3"])
        name = f"other-{self.server.store.revision}"
        asks = {"cpu": "500m"}
        return pod(name, namespace="kube-system", on=on, requests=asks) | {
            "spec": {
                "schedulerName": "default-scheduler",
                "containers": [{"name": "main", "resources": {"requests": asks}}],
                **({"nodeName": on} if on else {}),
            }
        }


def words_of(found: Iterable[Verification]) -> list[str]:
    """The verdict on each job."""
    return [one.verdict_word for each in found for one in each.jobs]
