"""Measures how often the first fix of a plain `explain` is a tested one, among jobs that some change can place.

Whether some change can place a job is tested without the fixes of the search: by crude changes that are no advice, such
as a pod without constraints in a queue of its own on a node that has everything.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple

from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.manifest import GROUP_ANNOTATION
from vcdebug.whatif.fixes.fix import FixSituation
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.fixes.trial import FixTrials

_CONDITIONS = ("nodeSelector", "affinity", "topologySpreadConstraints", "schedulingGates", "volumes", "overhead")
_ROOM = {"cpu": "100k", "memory": "1000Ti", "pods": "10000", "ephemeral-storage": "1000Ti"}
_CONF = "[{plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]}]"


class Measured(NamedTuple):
    """An unscheduled job, its first fix, and the change that places it."""

    case: str
    job: str
    cause: str
    proven: bool
    first: str
    trials: int
    seconds: float
    placed_by: str
    """The name of the crude change that places the job; empty if none does."""


def crude(recording: Recording, explanation: Explanation) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (name, edits) of changes that are too crude for an answer: single ones, combinations, and all."""
    situation = FixSituation(recording, explanation)
    bare, queue = tuple(_bare(situation)), tuple(_own_queue(situation))
    nodes, conf = tuple(_huge_nodes(situation)), ('conf:actions="enqueue, allocate, backfill"', f"conf:tiers={_CONF}")
    yield from (("bare", bare), ("queue", queue), ("nodes", nodes), ("conf", conf))
    yield "bare+nodes", (*bare, *nodes)
    yield "bare+queue", (*bare, *queue)
    yield "all", (*bare, *queue, *nodes, *conf)


def _bare(situation: FixSituation) -> Iterator[str]:
    for pod in situation.pending_pods:
        for name in _CONDITIONS:
            if pod.spec.get(name):
                yield f"Pod/{pod.key}:spec.{name}-"
        yield f"Pod/{pod.key}:spec.schedulerName=volcano"
        yield f"Pod/{pod.key}:spec.tolerations=[{{operator: Exists}}]"
        for at, container in enumerate(pod.spec.get("containers") or ()):
            if container.get("ports"):
                yield f"Pod/{pod.key}:spec.containers[{at}].ports-"
    group = situation.pod_group
    if group is None:
        yield from _group(situation)
        return
    spec = (
        next(m for m in situation.snapshot.objects_of("PodGroup") if _key(m) == situation.explanation.job).get("spec")
        or {}
    )
    yield f"{situation.group_path}:spec.minMember=1"
    for name in ("minResources", "minTaskMember", "networkTopology", "subGroupPolicy"):
        if spec.get(name):
            yield f"{situation.group_path}:spec.{name}-"


def _group(situation: FixSituation) -> Iterator[str]:
    for pod in situation.pending_pods[:1]:
        name = situation.explanation.job.partition("/")[2] if pod.job_id else "own"
        manifest = "{apiVersion: scheduling.volcano.sh/v1beta1, spec: {minMember: 1}, status: {phase: Inqueue}}"
        yield f"PodGroup/{pod.namespace}/{name}:+={manifest}"
        yield f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}"


def _own_queue(situation: FixSituation) -> Iterator[str]:
    yield "Queue/its-own:+={apiVersion: scheduling.volcano.sh/v1beta1, spec: {weight: 50}, status: {state: Open}}"
    if situation.pod_group is not None:
        yield f"{situation.group_path}:spec.queue=its-own"
        yield f"{situation.group_path}:status.phase=Inqueue"


def _huge_nodes(situation: FixSituation) -> Iterator[str]:
    wanted = {
        name: "1000"
        for pod in situation.pending_pods
        for container in pod.spec.get("containers") or ()
        for part in ("requests", "limits")
        for name in (container.get("resources") or {}).get(part) or ()
        if name not in _ROOM
    }
    room = json.dumps({**_ROOM, **wanted})
    status = f'{{allocatable: {room}, capacity: {room}, conditions: [{{type: Ready, status: "True"}}]}}'
    for number in range(3):
        yield f"Node/huge-{number}:+={{apiVersion: v1, status: {status}}}"


def _key(manifest: dict[str, dict[str, str]]) -> str:
    return f"{manifest['metadata'].get('namespace') or 'default'}/{manifest['metadata']['name']}"


def measured(case: Path, most: int) -> list[Measured]:
    """Measure up to `most` unscheduled jobs of a case."""
    recording = replay_cycle(load_snapshot(case))
    waiting = survey_jobs(recording).unscheduled_jobs
    picked = waiting[:: max(1, -(-len(waiting) // most))][:most]
    return [_measured(case, recording, one.explanation) for one in picked]


def _measured(case: Path, recording: Recording, found: Explanation) -> Measured:
    start = time.perf_counter()
    search = search_few_fixes(recording, found)
    first = next(iter(short_plans(search)), None) if search is not None else None
    took, count = time.perf_counter() - start, search.trial_count if search is not None else 0
    proven = first is not None and first.is_proven
    words = first.plan_words if first is not None else ""
    placed_by = words if proven else _placed_by(FixTrials.of_recording(recording, found), recording, found)
    name = found.job or found.pod or ""
    return Measured(case.name, name, found.cause_code, proven, words, count, round(took, 1), placed_by)


def _placed_by(trials: FixTrials, recording: Recording, found: Explanation) -> str:
    for name, edits in crude(recording, found):
        outcome = trials(edits) if edits else None
        if outcome is not None and (outcome.is_reached or outcome.placed):
            return name
    return ""


def _work(entry: tuple[Path, int]) -> list[Measured]:
    try:
        return measured(*entry)
    except Exception as error:  # noqa: BLE001 - one case does not end the rest
        return [Measured(entry[0].name, "", f"failed: {error!r}", False, "", 0, 0, "")]


def main() -> None:
    """Measure the named cases, and print the failures and the share of tested fixes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="+", type=Path)
    parser.add_argument("--share", type=float, default=1, help="of the cases, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=4, help="jobs of one case")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    cases = sorted(args.case)
    cases = Random(args.seed).sample(cases, round(len(cases) * args.share))
    found: list[Measured] = []
    with get_context("spawn").Pool(args.workers) as pool:
        for some in pool.imap_unordered(_work, [(case, args.most) for case in cases]):
            found += some
            if args.out:
                with args.out.open("a") as out:
                    out.writelines(json.dumps(one._asdict()) + "\n" for one in some)
    can = [one for one in found if one.proven or one.placed_by]
    for one in sorted(one for one in found if not one.proven):
        print(one.case, one.job, one.cause, f"[{one.placed_by}]", one.first, one.trials, f"{one.seconds} s")
    good = len([one for one in can if one.proven])
    print(f"{good} of {len(can)} jobs that a change can place have a tested first fix; {len(found) - len(can)} others")
    print(f"slowest search {max((one.seconds for one in found), default=0)} s")


if __name__ == "__main__":
    main()
