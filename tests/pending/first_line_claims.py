"""Checks each claim in the first line of an answer against the trace alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from tests.questions.trace_answers import VICTIM_HOOKS, actions_by_line

Line = Mapping[str, Any]  # Any: one line of the trace, parsed from JSON
UNDOING = {"unallocate": "allocate", "unpipeline": "pipeline", "unevict": "evict"}
COUNTED = {"the only candidate victim": 1, "both candidate victims": 2}


class Operation(NamedTuple):
    """An operation that is in effect at the end of the cycle."""

    kind: str
    pod: str
    node: str
    action: str


class CycleReading:
    """A trace, its actions, and the operations that were not undone."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.actions = actions_by_line(lines)
        self.in_order = [line["action"] for line in lines if line["ev"] == "action" and line["what"] == "start"]
        self.done = list(self._operations())
        self.closed: Mapping[str, Any] = lines[-1].get("jobs", {}) if lines[-1]["ev"] == "close" else {}

    def _operations(self) -> Iterator[Operation]:
        standing: dict[tuple[str, str], Operation] = {}
        for line, action in zip(self.lines, self.actions, strict=True):
            if line["ev"] == "op":
                kind = line["op"]
                if kind in UNDOING:
                    standing.pop((UNDOING[kind], line["task"]), None)
                else:
                    standing[kind, line["task"]] = Operation(kind, line["task"], line["node"], action)
            elif line["ev"] == "statement" and line["what"] == "discard":
                for kind, pod, _ in line["ops"]:
                    standing.pop((kind, pod), None)
        yield from standing.values()

    def of_job(self, job: str, kind: str) -> list[Operation]:
        """The operations on the job's pods."""
        return [one for one in self.done if one.kind == kind and one.pod in self.pods_of(job)]

    def pods_of(self, job: str) -> Sequence[str]:
        """The job's pods as of the end of the cycle; by name prefix if the process ended earlier."""
        named = [one.pod for one in self.done if one.pod.startswith(f"{job}-")]
        return list(self.closed[job]["tasks"]) if job in self.closed else named

    def hooks(self, point: str, **wanted: Any) -> list[Line]:
        """The calls of a hook; `action` limits them to one action."""
        action = wanted.pop("action", None)
        return [
            line
            for line, within in zip(self.lines, self.actions, strict=True)
            if line["ev"] == "hook" and line["point"] == point and action in (None, within)
            if all(line.get(key) == value for key, value in wanted.items())
        ]

    def votes(self, action: str, task: str) -> list[Line]:
        """The answers about candidate victims for a pod."""
        return [line for point in VICTIM_HOOKS for line in self.hooks(point, action=action, task=task)]

    def searches(self, task: str, *actions: str) -> list[Line]:
        """The searches over nodes for a pod, in these actions or in all."""
        pairs = zip(self.lines, self.actions, strict=True)
        found = [(line, action) for line, action in pairs if line["ev"] == "predicate" and line["task"] == task]
        return [line for line, action in found if not actions or action in actions]

    def minimum_of(self, job: str) -> int:
        """The job's minMember when the session opens."""
        opened = next(line for line in self.lines if line["ev"] == "state")
        return int(opened["jobs"][job]["minAvailable"])


class Claim(NamedTuple):
    """A matched first line: its job and its parts by name."""

    cycle: CycleReading
    job: str
    words: Mapping[str, str]

    def pod(self, group: str = "pod") -> str:
        """The full name of a pod, which the line may give without its namespace."""
        name = self.words[group]
        return name if "/" in name else f"{self.job.partition('/')[0]}/{name}"

    def number(self, group: str) -> int:
        """The count in a group; an empty group counts as 0."""
        return int(self.words[group] or 0)

    def names(self, group: str) -> tuple[list[str], int]:
        """The names in a list, and the N of a final `and N more`."""
        listed, _, more = self.words[group].partition(" and ")
        names = [*listed.split(", "), *([more] if more and not more.endswith(" more") else [])]
        return names, int(more.split()[0]) if more.endswith(" more") else 0


def agrees(listed: tuple[list[str], int], actual: Sequence[str]) -> bool:
    """Whether a possibly shortened list stands for exactly these names."""
    names, more = listed
    once = dict.fromkeys(actual)
    return all(name in once for name in names) and len(names) + more == len(once)


def bound(claim: Claim) -> bool:
    placed = claim.cycle.of_job(claim.job, "allocate")
    count = claim.number("count") if claim.words["count"] else 1
    named = not claim.words["pod"] or [claim.pod()] == [one.pod for one in placed]
    return named and count == len(placed) and agrees(claim.names("nodes"), [one.node for one in placed])


def evicts_for_itself(claim: Claim) -> bool:
    action, placed = claim.words["action"], claim.cycle.of_job(claim.job, "pipeline")
    own = claim.cycle.pods_of(claim.job)
    gone = [one.pod for one in claim.cycle.done if one.kind == "evict" and one.action == action and one.pod not in own]
    names, more = claim.names("victims")
    nodes = [one.node for one in placed if one.action == action]
    known = all(name in gone for name in names) and len(names) + more <= len(gone)
    return known and agrees(claim.names("nodes"), nodes)


def loses_pods(claim: Claim) -> bool:
    gone = claim.cycle.of_job(claim.job, "evict")
    acted = list(dict.fromkeys(one.action for one in gone))
    return claim.words["actions"].split(", ") == acted and agrees(claim.names("victims"), [one.pod for one in gone])


def found_room(claim: Claim) -> bool:
    action, own = claim.words["action"], claim.cycle.pods_of(claim.job)
    pairs = zip(claim.cycle.lines, claim.cycle.actions, strict=True)
    discarded = [
        [pod for kind, pod, _ in line["ops"] if kind in ("allocate", "pipeline") and pod in own]
        for line, within in pairs
        if line["ev"] == "statement" and line["what"] == "discard" and within == action
    ]
    return claim.number("found") in [len(dict.fromkeys(pods)) for pods in discarded if pods]


def votes_of(claim: Claim, plugin: str, *actions: str) -> list[Line]:
    """The plugin's non-empty answers about candidates for the claim's pod."""
    every = [vote for action in actions for vote in claim.cycle.votes(action, claim.pod())]
    return [vote for vote in every if vote["plugin"] == plugin and vote["candidates"]]


def protects(claim: Claim) -> bool:
    """Check "protects every candidate", on all nodes or on those where evictions would make room."""
    own = votes_of(claim, claim.words["plugin"], claim.words["action"])
    count = COUNTED.get(claim.words["every"]) or int(claim.words["every"].split()[1])
    kept = [len(vote["candidates"]) for vote in own if not vote["result"]]
    if "where evictions" in claim.words["where"]:
        return claim.words["none"] == "finds no room" and count in sums_of(kept, claim.number("count") or 1)
    searches = [sum(sizes) for sizes in ([*kept[:at]] for at in range(1, len(kept) + 1))]
    return count in searches and claim.words["none"] == "may evict no pod"


def sums_of(sizes: Sequence[int], count: int) -> set[int]:
    """The possible sums of `count` of the sizes."""
    return {sum(some) for some in combinations(sizes, count)}


def allows_some(claim: Claim) -> bool:
    own = votes_of(claim, claim.words["plugin"], *claim.cycle.in_order)
    few = [vote for vote in own if len(vote["result"] or ()) < len(vote["candidates"])]
    pairs = {
        (sum(len(vote["result"] or ()) for vote in some), sum(len(vote["candidates"]) for vote in some))
        for some in combinations(few, claim.number("count") or 1)
    }
    return (claim.number("allowed"), claim.number("offered")) in pairs


def fits_nowhere(claim: Claim) -> bool:
    searched = claim.cycle.searches(claim.pod(), "allocate", "backfill")
    counts = sum(int(number) for number in re.findall(r"(?:^|, | and )(\d+) ", claim.words["reasons"] or ""))
    # A job in HyperNodes is searched on a subset of nodes, but its message counts all of them.
    parts = bool(claim.cycle.hooks("HyperNodeGradientForJob", job=claim.job))
    return not searched or (
        not searched[-1]["feasible"]
        and (claim.number("nodes") == searched[-1]["considered"] or parts)
        and counts in (0, claim.number("nodes"))
    )


def not_admitted(claim: Claim) -> bool:
    votes = claim.cycle.hooks("JobEnqueueable", job=claim.job)
    return any(vote["result"] < 0 for vote in votes) and not claim.cycle.hooks("JobEnqueued", job=claim.job)


def not_valid(claim: Claim) -> bool:
    answers = [line["result"] for line in claim.cycle.hooks("JobValid", job=claim.job) if line["result"] is not None]
    told = [f"valid: {claim.words['valid']}, min: {claim.words['least']}", "NotEnoughPodsOfTask"]
    return any(words in str(one) for one in answers for words in told)


def no_quota(claim: Claim) -> bool:
    asked = claim.cycle.hooks("Allocatable", task=claim.pod())
    return any(not line["result"] for line in asked)


def may_not_reclaim(claim: Claim) -> bool:
    return any(not line["result"] for line in claim.cycle.hooks("Preemptive", queue=claim.words["queue"]))


def has_its_minimum(claim: Claim) -> bool:
    acted = [one for one in claim.cycle.done if one.action == claim.words["action"]]
    own = claim.cycle.pods_of(claim.job)
    none = not [one for one in acted if one.pod in own and one.kind == "pipeline"]
    return none and claim.number("least") == claim.cycle.minimum_of(claim.job)


def reserved(claim: Claim) -> bool:
    tasks = claim.cycle.closed[claim.job]["tasks"].items()
    waiting = {pod: task.get("node") for pod, task in tasks if task["status"] == "Pipelined"}
    count = claim.number("count") if claim.words["count"] else 1
    return count == len(waiting) and agrees(claim.names("nodes"), [*waiting.values()])


def overused(claim: Claim) -> bool:
    return any(line["result"] for line in claim.cycle.hooks("Overused", queue=claim.words["queue"]))


def candidates(claim: Claim) -> bool:
    action, pod = claim.words["action"], claim.pod()
    starts = [search["seq"] for search in claim.cycle.searches(pod, action)]
    found = set()
    for search, end in zip(claim.cycle.searches(pod, action), [*starts[1:], len(claim.cycle.lines)], strict=True):
        votes = [vote for vote in claim.cycle.votes(action, pod) if search["seq"] < vote["seq"] <= end]
        found.add((len(search["feasible"]), len({one for vote in votes for one in vote["candidates"]})))
    # If no plugin answers, the trace does not name the candidates.
    nobody = not claim.cycle.votes(action, pod) and claim.number("nodes") in dict(found)
    return nobody or (claim.number("nodes"), claim.number("count")) in found


def belongs_to_no_job(claim: Claim) -> bool:
    return not any(claim.job in job["tasks"] for job in claim.cycle.closed.values())


def runs_in_part(claim: Claim) -> bool:
    """Check the running pods of a job that gang calls invalid."""
    tasks = claim.cycle.closed[claim.job]["tasks"].values() if claim.cycle.closed else ()
    running = [task for task in tasks if task["status"] in ("Running", "Bound", "Binding", "Succeeded")]
    refused = [line for line in claim.cycle.hooks("JobValid", job=claim.job) if line["result"] is not None]
    return bool(refused) and (not tasks or claim.number("running") == len(running))


def never_bound(claim: Claim) -> bool:
    waiting = [one for one in claim.cycle.of_job(claim.job, "pipeline") if one.action == claim.words["action"]]
    nodes = dict.fromkeys(one.node for one in waiting)
    done = claim.cycle.done
    early = done[: 1 + max((at for at, one in enumerate(done) if one in waiting), default=0)]
    leaving = [one.node for one in early if one.kind == "evict"]
    return agrees(claim.names("nodes"), list(nodes)) and not [node for node in nodes if node in leaving]


def comes_too_late(claim: Claim) -> bool:
    order = claim.words["actions"].split(", ")
    known = [name for name in order if name in claim.cycle.in_order]
    return known == claim.cycle.in_order and order.index(claim.words["action"]) < order.index("enqueue")


def gang_victims(claim: Claim) -> bool:
    """Check the victims of a gang action that evicts for a whole job."""
    votes = claim.cycle.hooks("UnifiedEvictable", action=claim.words["action"])
    allowed = [len(vote["candidates"]) for vote in votes if vote["result"]]
    every = claim.words["every"]
    return bool(allowed) if not every else (COUNTED.get(every) or int(every.split()[1])) in allowed


def not_configured(claim: Claim) -> bool:
    stated = claim.words["actions"]
    is_complete = not stated or stated.split(", ") == [*claim.cycle.in_order]
    return is_complete and claim.words["action"] not in claim.cycle.in_order


POD, NODES = r"(?P<pod>[\w./-]+)", r"(?P<nodes>\d+) nodes?"
VICTIMS = r"(?P<every>the only candidate victim|both candidate victims|all \d+ candidate victims)"
WHO = rf"(?:(?P<count>\d+) pods|{POD})"
PROTECTS = (
    rf"(?P<action>\w+) (?P<none>may evict no pod|finds no room) for {POD}; (?P<plugin>[\w-]+) protects {VICTIMS} "
    r"(?P<where>on (?:the )?(?P<count>\d+)?.*)\.$"
)
ALLOWS_SOME = (
    r"(?P<plugin>[\w-]+) allows (?P<allowed>\d+) of (?P<offered>\d+) candidate victims? "
    rf"on (?:the )?(?P<count>\d+)?.*, too few for {POD}\."
)
CLAIMS: tuple[tuple[str, Callable[[Claim], bool]], ...] = (
    (rf"is scheduled in this cycle: {WHO} bound to (?P<nodes>.+)\.$", bound),
    (
        rf"has a place in this cycle: (?P<action>\w+) evicts (?P<victims>.+) for {WHO} on (?P<nodes>.+) \(pipelined\)",
        evicts_for_itself,
    ),
    (
        r"loses \d+ pods? in this cycle: (?P<actions>[\w, ]+) evicts? (?P<victims>[^;]+?)(?: for [^;]+)?\.$",
        loses_pods,
    ),
    (r"is Pending: (?P<action>\w+) found room for (?P<found>\d+) of the", found_room),
    (PROTECTS, protects),
    (ALLOWS_SOME, allows_some),
    (rf"{POD}(?: \(asks [^)]+\))? fits none of {NODES}: (?P<reasons>.*)\.$", fits_nowhere),
    (rf"none of {NODES} (?:currently )?fits {POD}(?: \(asks [^)]+\))?: (?P<reasons>.*)\.$", fits_nowhere),
    (r"is not admitted: (?:minResources asks|\S+ (?:is|are|and))", not_admitted),
    (r"it has (?P<valid>\d+) of the (?P<least>\d+) pods? that minMember requires", not_valid),
    (rf"is Pending: {POD} (?:alone )?asks [^;]+(?:; \w+ queue|, more than the \w+ [\d.]+\w* of)", no_quota),
    (r"queue (?P<queue>\S+) may not reclaim for", may_not_reclaim),
    (r"minMember (?P<least>\d+)\); (?P<action>\w+) acts only for jobs below it", has_its_minimum),
    (rf"is waiting for pods to terminate: {WHO} reserved \(pipelined\) on (?P<nodes>.+)\.$", reserved),
    (r"queue (?P<queue>\S+) is overused", overused),
    (rf"(?P<action>\w+) has no candidate victim(?P<count>) for {POD} on {NODES}", candidates),
    (rf"(?P<action>\w+) has too few candidate victims \((?P<count>\d+)\) for {POD} on {NODES}", candidates),
    (r"it has no PodGroup, so no Volcano job contains it", belongs_to_no_job),
    (r"is incomplete: (?P<running>\d+) of the", runs_in_part),
    (
        r"is stuck: (?P<action>\w+) reserved (?P<nodes>.+) for .+, but (?:no pod there is|the pods) terminating",
        never_bound,
    ),
    (
        r"was not admitted before (?P<action>\w+) ran: enqueue comes later in actions \((?P<actions>.*)\)",
        comes_too_late,
    ),
    (rf"is Pending: (?P<action>\w+) may evict {VICTIMS}, too few to make room for its", gang_victims),
    (r", and (?P<action>\w+) is not in actions(?: \((?P<actions>[^)]+)\))?", not_configured),
)


def false_claims(cycle: CycleReading, job: str, sentence: str) -> Iterator[str]:
    """Yield the claims of a first line that the trace does not confirm."""
    for pattern, check in CLAIMS:
        match = re.search(pattern, sentence)
        if match and not check(Claim(cycle, job, match.groupdict(default=""))):
            yield f"{check.__name__}: {sentence}"


def is_read(sentence: str) -> bool:
    """Whether at least one claim of the line is checked."""
    return any(re.search(pattern, sentence) for pattern, _ in CLAIMS)
