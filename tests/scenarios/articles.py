"""docs/articles.md: what five articles about the scheduler say, and where it is seen; run as a module, it writes it.

Each claim is followed in a bundled snapshot by commands as `:` takes them, and what they show contains the word.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.recorded import bundled, golden
from tests.scenarios.claims import (
    BLOCKED,
    CASES,
    CLUSTERS,
    ELSEWHERE,
    FITS,
    GANG,
    PIPELINES,
    PODS,
    QUOTA,
    RECLAIM,
    TOPOLOGY,
    WORKS,
    Claim,
    claim,
)
from tests.scenarios.claims_of_hooks import FIELDS, HOOKS, RESOURCE_RULES
from tests.scenarios.claims_of_persistence import ON, PERSISTENCE
from tests.scenarios.claims_of_plugins import PLUGINS
from tests.scenarios.claims_of_rules import MORE_PREEMPTION, RULES
from vcdebug.cli.reports.script import AnswerReport
from vcdebug.debugger.commands import run_script
from vcdebug.debugger.driver import Driver
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.views.panels import PANELS
from vcdebug.views.table import format_table

PAGE = Path(__file__).parents[2] / "docs" / "articles.md"
HEAD = """# What the articles say, and where it is seen

Five articles explain how Volcano schedules: its sessions, its resources, its plugins, preemption, and task state that
lives on between sessions. Each row has one of their claims, formulas or code paths, a bundled snapshot, the commands
of `:` that show it there, and what the screen says then. `panel NAME` is also a key, in brackets. The tests write this
page, and run every row.
"""
KEYS = {panel.command_name: panel.key for panel in PANELS}


SESSION = (
    claim("A session opens with the snapshot's jobs and nodes", WORKS, "panel flow", "session opens 4 jobs, 5 nodes"),
    claim("Actions run one after the other as configured", WORKS, "find action start", "1 × preempt starts"),
    claim(
        "Jobs that are not valid are left out: JobValid is asked of each",
        WORKS,
        "find vote JobValid",
        "16 × JobValid gang ✓ valid",
    ),
    claim(
        "Plugins open tier by tier and register their functions",
        WORKS,
        "panel tiers",
        "44 hooks registered, 43 take part",
    ),
    claim(
        "A switch decides whether a plugin's function takes part",
        GANG,
        "panel tiers",
        "drf Preemptable ✗ off enablePreemptable",
    ),
    claim("A switch that is not stated has its default", WORKS, "panel tiers", "on by default"),
    claim(
        "Plugins may handle allocations and evictions",
        WORKS,
        "panel tiers",
        "event handler ✓ always notified of placements and evictions and undone placements",
    ),
    claim("Order functions: the first difference decides", WORKS, "panel tiers", "the first difference decides"),
    claim("Ready: every plugin must agree", WORKS, "panel tiers", "all must agree; the first no ends it"),
    claim("Votes: a reject ends, a permit of a tier ends", WORKS, "panel tiers", "a reject ends it"),
    claim(
        "Victims: intersection inside a tier, the first tier with any decides",
        WORKS,
        "panel tiers",
        "first tier with any",
    ),
    claim(
        "Simulation hooks exist for dry runs",
        WORKS,
        "panel tiers",
        "SimulateRemoveTask ✓ on by default enablePreemptable or enabledAllocatable the first objection ends it",
    ),
    claim(
        "NodeOrder and BatchNodeOrder add up",
        WORKS,
        "break score; continue; panel equation",
        "the total is the sum of them",
    ),
    claim(
        "A statement collects operations",
        WORKS,
        "break statement pipeline; continue; panel statement",
        "▲ evict embedding-backfill-worker-5 gpu-l40s-02 to come",
    ),
    claim(
        "It is committed if the job has a place for all pods it needs",
        WORKS,
        "find statement commit",
        "○ commit 4 operations",
    ),
    claim("Otherwise it is discarded", BLOCKED, "find statement discard", "◆ discard 2 operations"),
    claim(
        "Evict marks a task Releasing",
        WORKS,
        "break statement evict; continue; panel moment",
        "Running → Releasing: its room counts as future idle",
    ),
    claim(
        "Pipeline reserves resources that are being released",
        WORKS,
        "break statement pipeline; continue; panel moment",
        "node pipelined gpu 0 +2 2",
    ),
    claim(
        "At the close PodGroups get phase and conditions",
        WORKS,
        "panel effects",
        "phase Pending → Inqueue; condition Unschedulable NotEnoughResources: 2/2 tasks in gang unschedulable",
    ),
    claim(
        "At the close queues get what is allocated in them",
        WORKS,
        "panel effects",
        "Queue inference allocated: cpu 104, memory 624Gi, nvidia.com/gpu 13, pods 7",
    ),
    claim("HyperNodes form a tree", "gangpreempt-bundles", "panel hypernodes", "<cluster-top-hypernode> 3 6 –"),
    claim(
        "The session's snapshot is a copy: the cluster's changes wait", WORKS, "panel session", "later changes of the"
    ),
    claim(
        "NodeMap and PodLister: nodes as Kubernetes' checks see them", WORKS, "panel session", "NodeMap and PodLister"
    ),
    claim("The cluster's top HyperNode holds all nodes", WORKS, "panel session", "tier 1: <cluster-top-hypernode>"),
    claim("TotalResource is the sum of all nodes", WORKS, "panel session", "the sum of what nodes can allocate"),
    claim("Plugins open tier by tier, each with what it registers", WORKS, "panel session", "tier 2: predicates"),
    claim("Each job has its priority by its class", WORKS, "panel session", "priority 100000 (production)"),
    claim(
        "Waiting pods of valid jobs get a CycleState", WORKS, "panel session", "2 pending pods with a state of its own"
    ),
    claim(
        "A CycleState is written by PreFilter and read by later checks",
        WORKS,
        "panel session",
        "keys: VolumeBinding, DynamicResources, proportionState",
    ),
    claim("It is discarded with the session", WORKS, "panel session", "discarded with the session"),
    claim("Opening and closing are branches of the cycle", WORKS, "panel flow", "session closes 4 jobs"),
    claim(
        "Plugins close, gang with a condition of each PodGroup",
        WORKS,
        "panel session",
        "plugins close 9 plugins, by name",
    ),
    claim(
        "JobUpdater gives each PodGroup its phase", WORKS, "panel session", "0 scheduled < minMember 2; Inqueue stays"
    ),
    claim("JobUpdater writes only what changed", WORKS, "panel session", "4 PodGroups written"),
    claim(
        "Event handlers receive an allocation",
        WORKS,
        f"{PIPELINES}; panel moment",
        "event handlers notified: drf, pre",
    ),
    claim("predicates' handler keeps NodeMap in step", WORKS, f"{PIPELINES}; panel moment", "predicates keeps NodeMap"),
    claim(
        "Nothing that is wrong in the input is passed over",
        PODS,
        "panel problems",
        "problem Node node-001: status.allocatable pods hold more example.com/fpga than the node has",
    ),
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
    claim(
        "A request is made of the pod's containers",
        WORKS,
        "break score; continue; panel request",
        "container server 16 96Gi 2",
    ),
    claim("Resreq is what a task takes", WORKS, "break score; continue; panel request", "= Resreq"),
    claim("InitResreq must fit when the task starts", WORKS, "break score; continue; panel request", "= InitResreq"),
    claim(
        "Future idle is idle, plus releasing, minus pipelined",
        FITS,
        "break predicate; continue; panel equation",
        "future idle = idle + releasing − pipelined",
    ),
    claim("A missing dimension counts as Zero", FITS, "break predicate; continue; panel inside", "it counts as 0"),
    claim("Less by a tolerance of 0.1", FITS, "break predicate; continue; panel equation", "less than 0.1 still fits"),
    claim(
        "A missing dimension of a capability is Infinity",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "MinDimensionResource, Infinity: a dimension that the capability does not state is not limited by it",
    ),
    claim("LessEqual", FITS, "break predicate; continue; panel equation", "compared by LessEqual, Zero"),
    claim(
        "LessEqualWithDimension: only what is asked for",
        QUOTA,
        "break enqueue reject; continue; panel equation",
        "LessEqualWithDimensionAndResourcesName: dimensions that are asked for",
    ),
    claim(
        "LessEqualPartly: one dimension is enough, and capacity lets a queue reclaim",
        "reclaim-in-one-dimension",
        "break vote Preemptive; continue; panel equation",
        "what is deserved: LessEqualPartly",
    ),
    claim(
        "With persistence on the same question is answered by LessEqualWithDimension: no",
        "reclaim-in-one-dimension",
        f"{ON}; break vote Preemptive; continue; panel equation",
        "what is deserved and the limit: LessEqualWithDimension",
    ),
    claim(
        "Idle and allocatable of each node",
        WORKS,
        "panel nodes",
        "gpu-l40s-01 72/96 ██······ 624Gi/768Gi ██······ 1/4 ██████··",
    ),
    claim(
        "Capacity of a node",
        WORKS,
        "watch node gpu-l40s-01 capacity gpu",
        "node gpu-l40s-01 capacity nvidia.com/gpu: 4",
    ),
    claim(
        "Future idle can be watched",
        WORKS,
        "watch node gpu-l40s-01 future-idle gpu",
        "node gpu-l40s-01 future-idle nvidia.com/gpu: 1",
    ),
    claim(
        "A job's total request",
        WORKS,
        "watch job assistants/chat-api total-request",
        "total-request: 32 cpu, 192Gi memory, 4 nvidia.com/gpu",
    ),
    claim("A job's tasks by status: ready, waiting, pending", WORKS, "panel jobs", "chat-api ✗ 0/2 2 0 0 Pending"),
    claim("Deserved follows weights", RECLAIM, "panel queues", "gpu ▓ 20 16 ██████████▓▓ 20"),
    claim(
        "Share is the largest part of allocated in deserved",
        RECLAIM,
        "panel queues",
        "team-nlp cpu 120 120 ███········· 1.25 gpu",
    ),
    claim(
        "A queue may hold more than it deserves",
        RECLAIM,
        "panel queues",
        "▓ team-nlp holds gpu 4 more than it deserves",
    ),
    claim(
        "Every amount of an operation: before, change, after",
        WORKS,
        "break statement pipeline; continue; panel equation",
        "pipelined gpu 0 2 2",
    ),
)
PREEMPTION = (
    claim(
        "Preempt has two phases: between jobs, then inside a job",
        BLOCKED,
        "break search; continue; panel funnel",
        "phase 1, between jobs",
    ),
    claim(
        "Preempt's two phases are distinguished in the flow",
        WORKS,
        "find search; panel flow; break search; continue; panel flow",
        ", phase 1",
    ),
    claim("A breakpoint at the entry of preempt()", WORKS, "break search; continue", "2 hits"),
    claim(
        "The entry of preempt() for one task",
        WORKS,
        "find search",
        "chat-api-server-0 PrePredicate predicates ✓ no objection",
    ),
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
    claim("Gang protects what is at its minimum", BLOCKED, 'find victim if plugin == "gang"', "gang ✗ none"),
    claim(
        "DRF compares shares",
        "preempt-vetoed-by-drf",
        'break victim if plugin == "drf"; continue; panel equation',
        "share of the preemptor's job with it ≤",
    ),
    claim(
        "Priority allows tasks of lower priority",
        WORKS,
        "break victim; continue; panel equation",
        "candidate's priority < preemptor's priority",
    ),
    claim(
        "Victims are evicted in the reverse of the tasks' order",
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
        "Reclaim considers other queues that allow it",
        RECLAIM,
        "break victim; continue; panel funnel",
        "reclaimable queues other than team-ads",
    ),
    claim("Only starving jobs preempt", WORKS, "find starving", "preempt › chat-api JobStarving priority ✓ starving"),
    claim(
        "A job that is not starving is skipped",
        WORKS,
        "find starving",
        "preempt › embedding-backfill JobStarving priority ✗ not starving",
    ),
    claim(
        "The filter: running, preemptable, candidates",
        WORKS,
        "break victim; continue; panel funnel",
        "gpu-l40s-01 ✓ placed 3 3 3 3 3 – 3",
    ),
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
        "conformance ✗ none",
    ),
    claim("Nodes are scored before they are tried", WORKS, "find score", "chat-api-server-0 scores 5 nodes"),
    claim(
        "Evictions stop when there is room",
        WORKS,
        "panel evictions",
        "embedding-backfill-worker-2 chat-api-server-0 ○ committed 88",
    ),
    claim(
        "A task with preemptionPolicy Never evicts no pod",
        "preempt-never",
        "explain",
        "no node has free room for music-tagging-worker-0, and its preemptionPolicy Never rules out preempt",
    ),
    claim("The log lines of the article", WORKS, "log 4", "No preemptors in Queue <inference>, break."),
    claim(
        "Bundles of the gang actions, what each frees and what its gang loses",
        "gangpreempt-bundles",
        "break vote UnifiedEvictable; continue; panel inside",
        "safe of elastic",
    ),
    claim(
        "Rescheduling: idle and busy nodes, and the pods to evict",
        "shuffle-clears-nodes",
        'break vote VictimTasks if plugin == "rescheduling"; continue; panel equation',
        "the node is below its targets",
    ),
    claim(
        "tdm: pods to evict from a revocable node with a closed window",
        "shuffle-clears-nodes",
        'break vote VictimTasks if plugin == "tdm"; continue; panel equation',
        "the disruption budget of nightly allows 2 evictions",
    ),
    claim("Log: the action's entry", WORKS, "log 5", "Enter Preempt ..."),
    claim("Log: the action's end", WORKS, "log 5", "Leaving Preempt ..."),
    claim("Log: a task on a node", WORKS, "log 3", "Considering Task <assistants/chat-api-server-0> on Node"),
    claim("Log: an eviction is tried", WORKS, "log 3", "Try to preempt Task <search/embedding-backfill-worker-2>"),
    claim("Log: what was freed", WORKS, "log 3", "Preempted <cpu 8000.00"),
    claim("Log: a statement commits", WORKS, "log 3", "Committing operations"),
    claim("Log: a statement is rolled back", BLOCKED, "log 3", "Discarding operations"),
    claim("Log: no task is left to preempt for", BLOCKED, "log 3", "No preemptor task in job"),
    claim("Log: a queue is overused", QUOTA, "log 3", "is overused, ignore it"),
    claim("Log: a queue may not reclaim", "persist-restarted", "log 3", "cannot reclaim for task"),
    claim("Log: reclaim begins", RECLAIM, "log 5", "Enter Reclaim ..."),
    claim("Log: an action ends", RECLAIM, "log 5", "Leaving Reclaim ..."),
    claim("Log: victims by plugin", RECLAIM, "log 4", "Victims from proportion plugins are"),
    claim(
        "Dry run: victims are taken away one by one",
        TOPOLOGY,
        "break search; continue; panel dryrun",
        "take away job-06-worker-1 ✓ it fits now",
    ),
    claim(
        "Dry run: each victim can be restored",
        TOPOLOGY,
        "break search; continue; panel dryrun",
        "restored job-06-worker-1 ✗ a victim: it would not fit: cpu is short",
    ),
    claim(
        "Dry run: how many candidates are wanted",
        TOPOLOGY,
        "break search; continue; panel dryrun",
        "5 nodes, 1 candidate wanted → 1 simulated → 1 candidate",
    ),
    claim(
        "Dry run: the rule that chose the node",
        TOPOLOGY,
        "break search; continue; panel dryrun",
        "node-000 wins: the only candidate",
    ),
    claim("Commit and Discard can be stopped at", BLOCKED, "break statement discard if ops > 0; continue", "1 hit"),
    claim(
        "Topology-aware preemption simulates nodes",
        WORKS,
        "panel dryrun",
        "only preempt with enableTopologyAwarePreemption has any",
    ),
)
ARTICLES = {
    "The session framework": (*SESSION, *FIELDS, *HOOKS),
    "The resource model": (*RESOURCES, *RESOURCE_RULES),
    "Debugging preemption": (*PREEMPTION, *MORE_PREEMPTION),
    "Plugins, part 2": (*PLUGINS, *RULES),
    "Task state between sessions": PERSISTENCE,
}
ALL = tuple(each for claims in ARTICLES.values() for each in claims)


def shown(each: Claim) -> str:
    """The output of the commands of a row."""
    driver = Driver(_recording(each.snapshot))
    texts: list[str] = []
    for answer in run_script(driver, each.commands):
        found = AnswerReport(answer, driver)
        table = format_table(found.table) if found.table is not None else ""
        texts += [answer.text, table, found.explanation.full_text if found.explanation is not None else ""]
    return "\n".join(texts)


@cache
def _recording(name: str) -> Recording:
    """The recording of a bundled snapshot, a question's cluster, or a recorded case."""
    if name in CLUSTERS:
        return replay_cycle(load_snapshot(PAGE.parents[1] / "tests" / ELSEWHERE[name]))
    return golden(name) if name in CASES else bundled(name)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, claims in ARTICLES.items():
        parts.append(f"## {title}\n\n| claim | snapshot | commands | on the screen |\n|---|---|---|---|")
        parts.append("\n".join(_row(each) for each in claims) + "\n")
    return "\n".join([*parts, Path(__file__).with_name("not_on_the_screen.md").read_text(encoding="utf-8")])


def _row(each: Claim) -> str:
    commands = "; ".join(_command(command) for command in each.commands)
    path = ELSEWHERE.get(each.snapshot, "")
    where = f"[{each.snapshot}](../tests/{path})" if path else each.snapshot
    return f"| {each.what} | {where} | {commands} | {each.seen} |"


def _command(command: str) -> str:
    key = KEYS.get(command.removeprefix("panel "), "") if command.startswith("panel ") else ""
    return f"`{command}`" + (f" (`{key}`)" if key else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
