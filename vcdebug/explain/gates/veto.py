"""Plugins decide who may be evicted: whose answer leaves nobody, or too few."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain import amounts
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding, Number
from vcdebug.explain.case import Case
from vcdebug.explain.equations import equation
from vcdebug.explain.gates import capacity_veto, tiers
from vcdebug.explain.gates.breaking import gang_advice
from vcdebug.explain.visits import NodeTry, TaskTry
from vcdebug.explain.votes import Seat, question
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.drf.share import Totals
from vcdebug.trace.timeline import ClusterState

NOT_ABOVE_DESERVED = "victims-not-above-deserved"
QUOTA_PLUGINS = ("proportion", "capacity")

OWN_ADVICE = "look at plugin {plugin}'s arguments, or switch its vote off"
ADVICE = {
    "cdp": "wait until the cooldown of these pods is over, or shorten volcano.sh/cooldown-time",
    "pdb": "wait until the disruption budget allows an eviction, or lower its minAvailable",
    "tdm": "only preemptable pods outside revocable zones go, as many as their job's budget lets go",
}

Detail = tuple[str, dict[str, Number], tuple[str, ...], tuple[str, ...]]
"""(half sentence, numbers, advice, lines)."""


def veto(case: Case, attempt: TaskTry, nodes: Sequence[NodeTry]) -> Finding:
    """Which plugin's answer keeps the task out, on most of the nodes."""
    seats = [(node, seat) for node in nodes if (seat := deciding_seat(case, attempt, node)) is not None]
    by_plugin: dict[str, list[tuple[NodeTry, Seat]]] = {}
    for node, seat in seats:
        by_plugin.setdefault(seat.plugin, []).append((node, seat))
    plugin = max(by_plugin, key=lambda name: len(by_plugin[name]))
    return _finding(case, attempt, plugin, by_plugin[plugin])


def deciding_seat(case: Case, attempt: TaskTry, node: NodeTry) -> Seat | None:
    """The seat whose answer left nobody; where victims were left, but too few, the first that offered too few."""
    asked = question(case.recording, node.hooks("Preemptable", "Reclaimable")[0][0])
    if asked is None:
        return None
    answered = [seat for seat in asked.seats if seat.state == "answered"]
    if not answered:
        return None
    if not asked.outcome:
        return answered[-1]
    task = case.tasks[attempt.task]
    mine = [seat for seat in answered if seat.tier == answered[-1].tier]
    return next((seat for seat in mine if not _enough(case, task, node, seat.result)), mine[-1])


def _enough(case: Case, task: TaskInfo, node: NodeTry, victims: Sequence[TaskKey]) -> bool:
    state = case.recording.timeline.state_at(node.first - 1).nodes[node.node]
    future = state.idle.clone().add(state.releasing).sub_without_assert(state.pipelined)
    for key in victims:
        future.add(case.recording.timeline.tasks[key].resreq)
    return task.init_resreq.less_equal(future)


def _finding(case: Case, attempt: TaskTry, plugin: str, seats: Sequence[tuple[NodeTry, Seat]]) -> Finding:
    offered = [key for node, _ in seats for key in candidates(node)]
    left = [key for _, seat in seats for key in seat.result]
    name = attempt.task.rpartition("/")[2]
    seqs = [seat.seq for _, seat in seats if seat.seq is not None]
    detail, numbers, advice, lines = _detail(case, attempt, plugin, seats)
    everybody, tier = tiers.answered(case, seats[0][0]), seats[0][1].tier
    before = f" ({passed})" if (passed := tiers.passed_on(everybody, tier)) else ""
    nobody = "nobody" if not left else f"only {len(left)}, not enough"
    sentence = (
        f"{attempt.action} may evict {nobody} for {name}: {plugin} offers {len(left)} of "
        f"{plural(len(offered), 'candidate')} on {plural(len(seats), 'node')}{before}; {detail}."
    )
    misspelt = _misspelt(case, plugin)
    if misspelt:
        sentence = f"{sentence[:-1]}; {misspelt}."
        advice = (f"correct the switch: {misspelt}", *advice)
    evidence = tuple(
        Evidence(seq, f"{plugin} offers {len(seat.result)} of {len(candidates(node))} on {node.node}")
        for seq, (node, seat) in zip(seqs[:5], seats[:5], strict=False)
    )
    cause = NOT_ABOVE_DESERVED if attempt.action == "reclaim" and plugin in QUOTA_PLUGINS else plugin
    counted = {
        "candidates": count(len(offered), "pods"),
        "victims": count(len(left), "pods"),
        "nodes.tried": count(len(seats), "nodes"),
        "tier": count(tier, ""),
        **numbers,
    }
    ladder = tiers.ladder(everybody, len(candidates(seats[0][0])), seats[0][0].node)
    return Finding(cause, sentence, counted, evidence, advice, (*ladder, *lines))


def candidates(node: NodeTry) -> tuple[TaskKey, ...]:
    """Whom the action's filter offered on a node."""
    votes = node.hooks("Preemptable", "Reclaimable")
    return tuple(dict(votes[0][1].subject)["candidates"]) if votes else ()


def _detail(case: Case, attempt: TaskTry, plugin: str, seats: Sequence[tuple[NodeTry, Seat]]) -> Detail:
    seq = seats[0][1].seq or 1
    task = case.tasks[attempt.task]
    refused = [key for node, seat in seats for key in candidates(node) if key not in seat.result]
    writer = WRITERS.get(plugin)
    if writer is None:
        return _by_equation(case, plugin, refused, seqs=[seat.seq for _, seat in seats if seat.seq is not None])
    text, numbers, advice, lines = writer(case, task, refused, seq)
    return text, numbers, advice or gang_advice(case, task, seats), lines


def _by_equation(case: Case, plugin: str, refused: Sequence[TaskKey], seqs: Sequence[Seq]) -> Detail:
    """For plugins without words of their own: what their arithmetic says of each pod that they keep."""
    notes: dict[str, list[TaskKey]] = {}
    for seq in seqs:
        shown = equation(case.recording, seq)
        for term in shown.terms if shown is not None else ():
            if term.name in refused and term.note:
                notes.setdefault(term.note, []).append(TaskKey(term.name))
    order = sorted(notes.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    why = "".join(f" ({note})" for note, _ in order[:1])
    lines = tuple(f"{plural(len(keys), 'pod')}: {note}  ({listed(keys)})" for note, keys in order)
    return f"it keeps {listed(refused)}{why}", {}, (ADVICE.get(plugin, OWN_ADVICE.format(plugin=plugin)),), lines


def _jobs_of(case: Case, keys: Sequence[TaskKey]) -> list[JobId]:
    owners = case.recording.owners.jobs
    return list(dict.fromkeys(owners[key] for key in keys if key in owners))


def _gang(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Detail:
    state = case.recording.timeline.state_at(seq - 1)
    jobs = [(uid, state.job(uid)) for uid in _jobs_of(case, refused)]
    lines = tuple(
        f"{uid}: {c.ready} ready, minMember {c.min_available}, {c.ready - c.min_available} to spare" for uid, c in jobs
    )
    whole = [entry for entry in jobs if entry[1].ready <= entry[1].min_available]
    uid, counts = (whole or jobs)[0]
    spare = counts.ready - counts.min_available
    limit = f"only {spare} may go" if spare > 0 else "one less would break the gang"
    text = f"{uid} has {counts.ready} ready of minMember {counts.min_available}, {limit}"
    alike = [one for one, c in jobs if one != uid and (c.ready <= c.min_available) == (spare <= 0)]
    more = f" (likewise {listed(alike)})" if alike else ""
    numbers = {"victim.ready": count(counts.ready, "pods"), "victim.minAvailable": count(counts.min_available, "pods")}
    return text + more, numbers, (), lines


def _drf(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Detail:
    state, totals = case.recording.timeline.state_at(seq - 1), Totals(case.session.total_resource)
    wanted = state.amount("drf", case.job.uid, "allocated").clone().add(task.resreq)
    dominant, own = totals.dominant(wanted)
    shares: dict[TaskKey, float] = {}
    for key in refused:
        victim = case.recording.timeline.tasks[key]
        kept = state.amount("drf", victim.job, "allocated").clone().sub_without_assert(victim.resreq)
        shares[key] = totals.share(kept)
    best = max(shares.values(), default=0.0)
    lines = (
        f"{case.job.uid} with {task.name}: share {own:.4g} ({dominant})",
        *(f"{case.recording.owners.jobs[key]} without {key}: share {share:.4g}" for key, share in shares.items()),
    )
    digits = 1 if round(own, 3) != round(best, 3) else 4
    text = (
        f"with {task.name} the share of {case.job.uid} would be {own:.{digits}%} ({dominant}), "
        f"more than the {best:.{digits}%} that the richest victim's job would keep"
    )
    numbers = {"share.preemptor": Number(own, "share"), "share.victim": Number(best, "share")}
    advice = (
        "the job must ask for less, or its victims' jobs must hold more; or set enablePreemptable of drf to false",
    )
    return text, numbers, advice, lines


def _priority(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Detail:
    jobs = {uid: case.session.jobs[uid].priority for uid in _jobs_of(case, refused)}
    lowest = min(jobs, key=lambda uid: jobs[uid])
    text = (
        f"{case.job.uid} has priority {case.job.priority}, and no candidate's job is lower "
        f"({lowest} has {jobs[lowest]})"
    )
    numbers = {"priority": count(case.job.priority, ""), "priority.victim": count(jobs[lowest], "")}
    lines = tuple(f"{uid}: priority {value}" for uid, value in jobs.items())
    return text, numbers, (f"give {case.job.uid} a priority class above {jobs[lowest]}",), lines


def _conformance(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Detail:
    tasks = [case.recording.timeline.tasks[key] for key in refused]
    lines = tuple(f"{t.key}: namespace {t.namespace}, class {t.pod.priority_class_name or 'none'}" for t in tasks)
    text = (
        f"{listed(refused)} {'is' if len(refused) == 1 else 'are'} critical (kube-system, or a system- priority class)"
    )
    return text, {}, ("critical pods are never evicted: free room elsewhere",), lines


def _quota(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Detail:
    event = case.recording.event(seq)
    plugin = getattr(event, "plugin", "proportion")
    state = case.recording.timeline.state_at(seq - 1)
    queues = list(dict.fromkeys(case.session.jobs[uid].queue for uid in _jobs_of(case, refused)))
    lines, parts, numbers = [], [], {}
    for queue in queues:
        allocated, deserved = (state.amount(plugin, queue, figure) for figure in ("allocated", "deserved"))
        names = deserved.resource_names()
        lines += [
            f"queue {queue}, {n}: allocated {amounts.amount(n, allocated.get(n))} <= deserved "
            f"{amounts.amount(n, deserved.get(n))}"
            for n in names
        ]
        parts.append(
            f"queue {queue} holds {amounts.resource(allocated, ('cpu', 'memory'))} and deserves "
            f"{amounts.resource(deserved, ('cpu', 'memory'))}"
        )
        numbers.update(amounts.numbers(f"queue.{queue}.allocated", allocated))
        numbers.update(amounts.numbers(f"queue.{queue}.deserved", deserved))
    text = f"{'; '.join(parts[:2])}: not above its share"
    advice = (_other_share(case, plugin, queues, state),)
    return text, numbers, advice, tuple(lines)


def _capacity(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Detail:
    return capacity_veto.kept(case, task, refused, seq) or _quota(case, task, refused, seq)


def _other_share(case: Case, plugin: str, queues: Sequence[str], state: ClusterState) -> str:
    """What would put the victims' queues above their share."""
    sated = [q for q in queues if state.amount(plugin, q, "request").less_equal(state.amount(plugin, q, "deserved"))]
    if len(sated) == len(queues):
        verb = "deserves all it asks for" if len(queues) == 1 else "deserve all they ask for"
        return f"{listed(queues)} {verb}, no weight changes that: free room that others hold, or add nodes"
    if plugin == "capacity":
        return f"lower spec.deserved of queue {listed(queues)}"
    return f"raise spec.weight of queue {case.queue.name}, or lower that of {listed(queues)}"


WRITERS = {
    "gang": _gang,
    "drf": _drf,
    "priority": _priority,
    "conformance": _conformance,
    "proportion": _quota,
    "capacity": _capacity,
}


def _misspelt(case: Case, plugin: str) -> str:
    """An unknown switch at the plugin's place in the configuration."""
    for tier_number, tier in enumerate(case.recording.conf.tiers):
        for number, option in enumerate(tier):
            where = f"tiers[{tier_number}].plugins[{number}]"
            for problem in case.recording.conf.problems:
                if option.name == plugin and problem.object == where:
                    return f"{problem.field} is ignored ({problem.what})"
    return ""
