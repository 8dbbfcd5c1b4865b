"""Plugins decide who may be evicted: whose answer leaves nobody, or too few."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.equations import equation
from vcdebug.explain.gates import tiers
from vcdebug.explain.gates.breaking import gang_advice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugin import Kept
from vcdebug.explain.plugins import words
from vcdebug.explain.visits import NodeTry, TaskTry
from vcdebug.explain.votes import Seat, question
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.task import TaskInfo

NOT_ABOVE_DESERVED = "victims-not-above-deserved"
QUOTA_PLUGINS = ("proportion", "capacity")

OWN_ADVICE = "look at plugin {plugin}'s arguments, or switch its vote off"


def veto(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry]) -> Finding:
    """Which plugin's answer keeps the task out, on most of the nodes."""
    seats = [(node, seat) for node in nodes if (seat := deciding_seat(view, attempt, node)) is not None]
    by_plugin: dict[str, list[tuple[NodeTry, Seat]]] = {}
    for node, seat in seats:
        by_plugin.setdefault(seat.plugin, []).append((node, seat))
    plugin = max(by_plugin, key=lambda name: len(by_plugin[name]))
    return _finding(view, attempt, plugin, by_plugin[plugin])


def deciding_seat(view: JobView, attempt: TaskTry, node: NodeTry) -> Seat | None:
    """The seat whose answer left nobody; where victims were left, but too few, the first that offered too few."""
    asked = question(view.recording, node.hooks("Preemptable", "Reclaimable")[0][0])
    if asked is None:
        return None
    answered = [seat for seat in asked.seats if seat.state == "answered"]
    if not answered:
        return None
    if not asked.outcome:
        return answered[-1]
    task = view.tasks[attempt.task]
    mine = [seat for seat in answered if seat.tier == answered[-1].tier]
    return next((seat for seat in mine if not _enough(view, task, node, seat.result)), mine[-1])


def _enough(view: JobView, task: TaskInfo, node: NodeTry, victims: Sequence[TaskKey]) -> bool:
    state = view.recording.timeline.state_at(node.first - 1).nodes[node.node]
    future = state.future_idle()
    for key in victims:
        future.add(view.recording.timeline.tasks[key].resreq)
    return task.init_resreq.less_equal(future)


def _finding(view: JobView, attempt: TaskTry, plugin: str, seats: Sequence[tuple[NodeTry, Seat]]) -> Finding:
    offered = [key for node, _ in seats for key in candidates(node)]
    left = [key for _, seat in seats for key in seat.result]
    name = attempt.task.rpartition("/")[2]
    seqs = [seat.seq for _, seat in seats if seat.seq is not None]
    detail, numbers, advice, lines = _detail(view, attempt, plugin, seats)
    everybody, tier = tiers.answered(view, seats[0][0]), seats[0][1].tier
    before = f" ({passed})" if (passed := tiers.passed_on(everybody, tier)) else ""
    nobody = "nobody" if not left else f"only {len(left)}, not enough"
    sentence = (
        f"{attempt.action} may evict {nobody} for {name}: {plugin} offers {len(left)} of "
        f"{plural(len(offered), 'candidate')} on {plural(len(seats), 'node')}{before}; {detail}."
    )
    misspelt = _misspelt(view, plugin)
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


def _detail(view: JobView, attempt: TaskTry, plugin: str, seats: Sequence[tuple[NodeTry, Seat]]) -> Kept:
    seq = seats[0][1].seq or 1
    task = view.tasks[attempt.task]
    refused = [key for node, seat in seats for key in candidates(node) if key not in seat.result]
    keeper = words(plugin).kept
    kept = keeper(view, task, refused, seq) if keeper is not None else None
    if kept is None:
        return _by_equation(view, plugin, refused, seqs=[seat.seq for _, seat in seats if seat.seq is not None])
    return kept if kept.advice else kept._replace(advice=gang_advice(view, task, seats))


def _by_equation(view: JobView, plugin: str, refused: Sequence[TaskKey], seqs: Sequence[Seq]) -> Kept:
    """For plugins without words of their own: what their arithmetic says of each pod that they keep."""
    notes: dict[str, list[TaskKey]] = {}
    for seq in seqs:
        shown = equation(view.recording, seq)
        for term in shown.terms if shown is not None else ():
            if term.name in refused and term.note:
                notes.setdefault(term.note, []).append(TaskKey(term.name))
    order = sorted(notes.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    why = "".join(f" ({note})" for note, _ in order[:1])
    lines = tuple(f"{plural(len(keys), 'pod')}: {note}  ({listed(keys)})" for note, keys in order)
    advice = words(plugin).keeps_advice or OWN_ADVICE.format(plugin=plugin)
    return Kept(f"it keeps {listed(refused)}{why}", {}, (advice,), lines)


def _misspelt(view: JobView, plugin: str) -> str:
    """An unknown switch at the plugin's place in the configuration."""
    for tier_number, tier in enumerate(view.recording.conf.tiers):
        for number, option in enumerate(tier):
            where = f"tiers[{tier_number}].plugins[{number}]"
            for problem in view.recording.conf.problems:
                if option.name == plugin and problem.object == where:
                    return f"{problem.field} is ignored ({problem.what})"
    return ""
