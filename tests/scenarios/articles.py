"""docs/articles.md: what five articles about the scheduler say, and where it is seen; run as a module, it writes it.

Each claim is followed in a bundled snapshot by commands as `:` takes them, and what they show contains the word.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.recorded import bundled
from tests.scenarios.questions import CLUSTERS
from vcdebug.cli.reports.script import AnswerReport
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.script import run_script
from vcdebug.snapshot.load import load
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay
from vcdebug.views.panels import PANELS

PAGE = Path(__file__).parents[2] / "docs" / "articles.md"
HEAD = """# What the articles say, and where it is seen

Five articles explain how Volcano schedules: its sessions, its resources, its plugins, preemption, and task state that
lives on between sessions. Each row is one of their claims, formulas or code paths; the commands, in a bundled snapshot,
show it, and the last column is on the screen then. `panel NAME` is a key on the screen, named beside it. The page is
written by the tests, which follow every row.
"""
WORKS, BLOCKED, RECLAIM = "preempt-works", "preempt-blocked-by-gang", "reclaim-across-queues"
TURNS = "4949-evict-and-reclaim-in-turns"
ON = "set replay:persistence=on"
SCORES, FILTERS = "placed-by-score", "pending-refused-by-filters"
AT_SCORES, AT_FILTERS = "break score; continue; panel inside", "break predicate; continue; panel inside"
QUOTA, FITS, GANG = "pending-queue-quota", "pending-no-node-fits", "preempt-vetoed-by-gang"
KEYS = {panel.name: panel.key for panel in PANELS}


class Claim(NamedTuple):
    """What an article says, and how to see it."""

    what: str
    snapshot: str
    commands: tuple[str, ...]
    seen: str


def claim(what: str, snapshot: str, commands: str, seen: str) -> Claim:
    """Commands are separated by semicolons."""
    return Claim(what, snapshot, tuple(command.strip() for command in commands.split(";")), seen)


SESSION = (
    claim("A session opens with the snapshot's jobs and nodes", WORKS, "panel flow", "session opens"),
    claim("Actions run one after the other as configured", WORKS, "find action start", "preempt starts"),
    claim("Jobs that are not valid are left out: JobValid is asked of each", WORKS, "find vote JobValid", "JobValid"),
    claim("Plugins open tier by tier and register their functions", WORKS, "panel tiers", "hooks registered"),
    claim("A switch decides whether a plugin's function takes part", GANG, "panel tiers", "✗ off"),
    claim("A switch that is not stated has its default", WORKS, "panel tiers", "on by default"),
    claim("Plugins may handle allocations and evictions", WORKS, "panel tiers", "event handler"),
    claim("Order functions: the first difference decides", WORKS, "panel tiers", "the first difference decides"),
    claim("Ready: every plugin must agree", WORKS, "panel tiers", "all must agree; the first no ends it"),
    claim("Votes: a reject ends, a permit of a tier ends", WORKS, "panel tiers", "a reject ends it"),
    claim(
        "Victims: intersection inside a tier, the first tier with any decides",
        WORKS,
        "panel tiers",
        "first tier with any",
    ),
    claim("Simulation hooks exist for dry runs", WORKS, "panel tiers", "SimulateRemoveTask"),
    claim(
        "NodeOrder and BatchNodeOrder add up",
        WORKS,
        "break score; continue; panel equation",
        "the total is the sum of them",
    ),
    claim("A statement collects operations", WORKS, "break statement pipeline; continue; panel statement", "evict"),
    claim("It is committed where the job gets what it needs", WORKS, "find statement commit", "○ commit"),
    claim("Otherwise it is discarded", BLOCKED, "find statement discard", "◆ discard"),
    claim("Evict marks a task Releasing", WORKS, "break statement evict; continue; panel moment", "Releasing"),
    claim(
        "Pipeline promises room that is being released",
        WORKS,
        "break statement pipeline; continue; panel moment",
        "pipelined",
    ),
    claim("At the close PodGroups get phase and conditions", WORKS, "panel effects", "condition Unschedulable"),
    claim("At the close queues get what is allocated in them", WORKS, "panel effects", "Queue inference"),
    claim("HyperNodes form a tree", WORKS, "panel hypernodes", "HyperNodes"),
)
RESOURCES = (
    claim(
        "Dimensions that are not asked for are not judged",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "not asked for",
    ),
    claim(
        "The first dimension that does not hold decides",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "◀ gpu decides",
    ),
    claim("A request is made of the pod's containers", WORKS, "break score; continue; panel request", "container"),
    claim("Resreq is what a task takes", WORKS, "break score; continue; panel request", "= Resreq"),
    claim("InitResreq must fit when the task starts", WORKS, "break score; continue; panel request", "= InitResreq"),
    claim(
        "Future idle is idle, plus releasing, minus pipelined",
        FITS,
        "break predicate; continue; panel equation",
        "future idle = idle + releasing − pipelined",
    ),
    claim("A missing dimension counts as Zero", FITS, "break predicate; continue; panel inside", "counts as 0 (Zero)"),
    claim("Less by a tolerance of 0.1", FITS, "break predicate; continue; panel equation", "less than 0.1 still fits"),
    claim(
        "A missing dimension of a capability is Infinity",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "Infinity",
    ),
    claim("LessEqual", FITS, "break predicate; continue; panel equation", "compared by LessEqual, Zero"),
    claim(
        "LessEqualWithDimension: only what is asked for",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "LessEqualWithDimensionAndResourcesName",
    ),
    claim("Idle and allocatable of each node", WORKS, "panel nodes", "idle/allocatable"),
    claim("Capacity of a node", WORKS, "watch node gpu-l40s-01 capacity gpu", "capacity"),
    claim("Future idle can be watched", WORKS, "watch node gpu-l40s-01 future-idle gpu", "future-idle"),
    claim("A job's total request", WORKS, "watch job assistants/chat-api total-request", "total-request"),
    claim("A job's tasks by status: ready, waiting, pending", WORKS, "panel jobs", "ready"),
    claim("Deserved follows weights", RECLAIM, "panel queues", "deserved"),
    claim("Share is the largest part of allocated in deserved", RECLAIM, "panel queues", "1.25 gpu"),
    claim(
        "A queue may hold more than it deserves",
        RECLAIM,
        "panel queues",
        "▲ team-nlp holds gpu 4 more than it deserves",
    ),
    claim(
        "Every amount of an operation: before, change, after",
        WORKS,
        "break statement pipeline; continue; panel equation",
        "after",
    ),
)
PREEMPTION = (
    claim(
        "Preempt has two phases: between jobs, then inside a job",
        BLOCKED,
        "break search; continue; panel funnel",
        "phase 1, between jobs",
    ),
    claim("The entry of preempt() for one task", WORKS, "find search", "PrePredicate"),
    claim(
        "Starving: ready and waiting are below minAvailable",
        WORKS,
        'break starving if plugin == "gang"; continue; panel equation',
        "ready + waiting < min available",
    ),
    claim(
        "Preemptive: a queue may reclaim up to what it deserves",
        RECLAIM,
        "break vote Preemptive; continue; panel equation",
        "allocated + request ≤ deserved",
    ),
    claim("Gang protects what is at its minimum", BLOCKED, 'find victim if plugin == "gang"', "gang ✗ nobody"),
    claim(
        "DRF compares shares",
        "preempt-vetoed-by-drf",
        'break victim if plugin == "drf"; continue; panel equation',
        "share of the preemptor's job with it ≤",
    ),
    claim(
        "Priority offers tasks of lower priority",
        WORKS,
        "break victim; continue; panel equation",
        "candidate's priority < preemptor's priority",
    ),
    claim(
        "Victims leave in the reverse of the tasks' order",
        RECLAIM,
        "break victim; continue; panel order",
        "reversed for victims",
    ),
    claim(
        "Preempt looks inside the queue",
        WORKS,
        "break victim; continue; panel funnel",
        "tasks of other jobs in queue inference",
    ),
    claim(
        "Reclaim looks at other queues that allow it",
        RECLAIM,
        "break victim; continue; panel funnel",
        "reclaimable queues other than team-ads",
    ),
    claim("Only starving jobs preempt", WORKS, "find starving", "✓ starving"),
    claim("A job that is not starving is skipped", WORKS, "find starving", "not starving"),
    claim("The filter: running, preemptable, in reach", WORKS, "break victim; continue; panel funnel", "preemptable"),
    claim("The candidates' votes, tier by tier", RECLAIM, "break victim; continue; panel moment", "tier 1 decides"),
    claim(
        "Gang: ready stays above minAvailable",
        RECLAIM,
        "break victim; continue; panel equation",
        "ready > min available",
    ),
    claim(
        "Conformance protects critical pods",
        "preempt-vetoed-by-conformance",
        'find victim if plugin == "conformance"',
        "conformance ✗ nobody",
    ),
    claim("Nodes are scored before they are tried", WORKS, "find score", "scores"),
    claim("Evictions stop when there is room", WORKS, "panel evictions", "embedding-backfill-worker-2"),
    claim("A task whose preemptionPolicy is Never evicts nobody", "preempt-never", "explain", "Never"),
    claim("The log lines of the article", WORKS, "log 4", "No preemptors in Queue <inference>, break."),
    claim(
        "Bundles of the gang actions, what each frees and what its gang loses",
        "gangpreempt-bundles",
        "break vote UnifiedEvictable; continue; panel inside",
        "safe of elastic",
    ),
    claim(
        "Rescheduling: idle and busy nodes, and whose turn it is to leave",
        "shuffle-clears-nodes",
        'break vote VictimTasks if plugin == "rescheduling"; continue; panel equation',
        "the node is below its targets",
    ),
    claim(
        "tdm: who has to leave a revocable node whose window is shut",
        "shuffle-clears-nodes",
        'break vote VictimTasks if plugin == "tdm"; continue; panel equation',
        "the budget of nightly lets 2 go",
    ),
    claim("Topology-aware preemption simulates nodes", WORKS, "panel dryrun", "enableTopologyAwarePreemption"),
)
PLUGINS = (
    claim(
        "proportion: from whom may be reclaimed",
        RECLAIM,
        'break victim if plugin == "proportion"; continue; panel equation',
        "allocated > deserved in some dimension",
    ),
    claim(
        "proportion admits within the real capability",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "min resources + allocated + inqueue − elastic ≤ real capability",
    ),
    claim(
        "Pods behind a scheduling gate are not counted",
        "pending-scheduling-gate",
        "explain",
        "is behind a scheduling gate",
    ),
    claim("nodeorder: least requested", WORKS, "break score; continue; panel moment", "least"),
    claim("nodeorder: balanced allocation", WORKS, "break score; continue; panel moment", "balanced"),
    claim(
        "nodeorder: taints are normalised and weighted", WORKS, "break score; continue; panel equation", "normalised"
    ),
    claim("nodeorder: image locality", WORKS, "break score; continue; panel equation", "image"),
    claim("Hierarchical drf: a tree of weighted shares", "shared-by-hierarchy", "panel inside", "speech-train"),
    claim("The inside of least allocated, as a sum", SCORES, AT_SCORES, "average 64, × weight 1 = 64"),
    claim("The inside of most allocated", SCORES, AT_SCORES, "average 35, × weight 1 = 35"),
    claim("The inside of balanced allocation: before and after", SCORES, AT_SCORES, "balance 87 before, 85 after"),
    claim("The inside of node affinity: each preference", SCORES, AT_SCORES, "the highest of all nodes is 80"),
    claim("The inside of affinity between pods: each term", SCORES, AT_SCORES, "app=cache by kubernetes.io/hostname"),
    claim("The inside of topology spread: pods by domain", SCORES, AT_SCORES, "log(domains + 2)"),
    claim("The inside of image locality: size and nodes", SCORES, AT_SCORES, "2 of 4"),
    claim("The inside of taints: which are not tolerated", SCORES, AT_SCORES, "taints without a toleration"),
    claim("The inside of binpack", SCORES, AT_SCORES, "comes to 35.4167"),
    claim("The inside of usage: measured and estimated", SCORES, AT_SCORES, "measured %"),
    claim("The inside of resource-strategy-fit", SCORES, AT_SCORES, "MostAllocated"),
    claim("The inside of the HyperNodes' score", SCORES, AT_SCORES, "network-topology-aware"),
    claim("The inside of nodegroup's score", SCORES, AT_SCORES, "required groups"),
    claim("A filter's expression against the node's label", FILTERS, AT_FILTERS, "the node has tier=silver"),
    claim("A taint against the tolerations", FILTERS, AT_FILTERS, "dedicated=batch:NoSchedule"),
    claim("The pod that holds the host port", FILTERS, AT_FILTERS, "held by ml/proxy"),
    claim("The pod of an anti-affinity", FILTERS, AT_FILTERS, "which ml/recorder"),
    claim("Skew by domain", FILTERS, AT_FILTERS, "skew 3, max skew 1"),
    claim("The volume and its nodes", FILTERS, AT_FILTERS, "its nodes: storage In fast"),
    claim("Usage against its threshold", FILTERS, AT_FILTERS, "measured % 91.5, threshold % 80"),
    claim("GPU cards drawn, with who holds them", FILTERS, AT_FILTERS, "█████████░░░"),
    claim("NUMA nodes drawn, with the CPUs that are free", FILTERS, AT_FILTERS, "□□□□■■■■"),
    claim("What PreFilter left for the pod", FILTERS, AT_FILTERS, "PreFilterNodePorts: 8080/TCP"),
    claim("The error cache's hits and their key", BLOCKED, "goto 54; panel inside", "platform/feature-etl/mapper"),
    claim("overcommit: idle is total × factor − used", RECLAIM, "panel queues", "idle at 1.2× (overcommit)"),
    claim("overcommit and proportion admit a job or reject it", QUOTA, "find enqueue", "reject"),
    claim(
        "predicates: reasons per node",
        FITS,
        "break predicate; continue; panel moment",
        "node(s) had untolerated taint(s)",
    ),
    claim(
        "predicates: resources that are missing",
        FITS,
        "break predicate; continue; panel moment",
        "Insufficient nvidia.com/gpu",
    ),
    claim("predicates: affinity", FITS, "break predicate; continue; panel moment", "node affinity/selector"),
    claim("queue order by share", RECLAIM, "break victim; continue; panel order", "proportion share 0 < 1.25"),
    claim(
        "predicates: resources per dimension and node",
        FITS,
        "break predicate; continue; panel equation",
        "nodes with room",
    ),
    claim("the best node, and ties", WORKS, "break score; continue; panel moment", "tie at the top"),
    claim("binpack fills nodes", WORKS, "break score; continue; panel moment", "binpack"),
)
PERSISTENCE = (
    claim(
        "Without it jobs evict each other in turns",
        TURNS,
        "advance 3 recreate; cycles",
        "cycle 3 repeats cycle 1: team/a-0 evicted each time",
    ),
    claim("With it the cluster settles", TURNS, f"{ON}; advance 3 recreate; cycles", "no cycle repeats an earlier one"),
    claim("Off by default: every session forgets who was pipelined", TURNS, "panel conf", "off (no pods carry"),
    claim("It can be switched on", TURNS, f"{ON}; panel conf", "on (set in meta.json)"),
    claim("Pipelining writes the status annotation", TURNS, f"{ON}; panel effects", "volcano.sh/pipelined-status=true"),
    claim("Pipelining writes the node annotation", TURNS, f"{ON}; panel effects", "volcano.sh/pipelined-node=n1"),
    claim("Choosing victims is kept", TURNS, f"{ON}; panel effects", "volcano.sh/eviction-occurred=true"),
    claim("Without it no annotation is written", TURNS, "panel effects", "nominatedNodeName n1"),
    claim(
        "The next session restores the task as pipelined",
        TURNS,
        f"{ON}; advance; panel jobs",
        "✗ 0/1     1     0  Inqueue",
    ),
    claim("A fast path binds it where it was promised to", TURNS, f"{ON}; advance", "cycle 2: 1 bound"),
)
ARTICLES = {
    "The session framework": SESSION,
    "The resource model": RESOURCES,
    "Debugging preemption": PREEMPTION,
    "Plugins, part 2": PLUGINS,
    "Task state between sessions": PERSISTENCE,
}
NOT_YET = (
    "the cluster's snapshot as steps: who is left out before JobValid is asked, CycleState, NodeMap and NodeReduce",
    "JobUpdater's phases and each plugin's own writes at the close, as steps (Effects lists what is written)",
    "the fast path, the binder's idempotence and the guards against underflow, in a bundled snapshot",
)
"""What the articles name and no view tells."""
ALL = tuple(each for claims in ARTICLES.values() for each in claims)


def shown(each: Claim) -> str:
    """What the commands of a row show."""
    driver = Driver(_recording(each.snapshot))
    told: list[str] = []
    for answer in run_script(driver, each.commands):
        found = AnswerReport(answer, driver)
        told += [answer.text, found.table, found.explanation.sentence if found.explanation is not None else ""]
    return "\n".join(told)


@cache
def _recording(name: str) -> Recording:
    """Of a bundled snapshot, else of a cluster of the questions."""
    return replay(load(CLUSTERS / f"{name}.yaml")) if name == TURNS else bundled(name)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, claims in ARTICLES.items():
        parts.append(f"## {title}\n\n| claim | snapshot | commands | on the screen |\n|---|---|---|---|")
        parts.append("\n".join(_row(each) for each in claims) + "\n")
    parts.append("## Not on the screen yet\n\n" + "\n".join(f"- {each};" for each in NOT_YET) + "\n")
    return "\n".join(parts)


def _row(each: Claim) -> str:
    commands = "; ".join(_command(command) for command in each.commands)
    where = (
        f"[{each.snapshot}](../tests/scenarios/clusters/{each.snapshot}.yaml)"
        if each.snapshot == TURNS
        else each.snapshot
    )
    return f"| {each.what} | {where} | {commands} | {each.seen} |"


def _command(command: str) -> str:
    key = KEYS.get(command.removeprefix("panel "), "") if command.startswith("panel ") else ""
    return f"`{command}`" + (f" (`{key}`)" if key else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
