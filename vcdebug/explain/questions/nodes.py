"""Why this node: scores and random choices; and why not the others: the checks by which each rejects a pod."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import structs

from vcdebug.amount_text import count_noun, format_named_amount, format_number, join_names, verb_for
from vcdebug.explain.answer import Cause, Evidence, NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.decisions import dry_runs, node_choice
from vcdebug.explain.decisions.equations import ScorePart, score_parts
from vcdebug.explain.decisions.victim_funnel import PLACED, TAKEN_BACK, VictimFunnel
from vcdebug.explain.equation import Equation, Term, equation_json, format_figures, short_part
from vcdebug.explain.fit_table import NodeFit
from vcdebug.explain.job_view import view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.explanation import explain_by_name, explain_subject
from vcdebug.explain.predicate_reasons import constraint_reasons
from vcdebug.explain.questions.victims import (
    MAX_NAMED_NODES,
    find_pod,
    funnel_json,
    funnel_sheet,
    node_victim_words,
    victim_funnels,
)
from vcdebug.explain.subject_names import NotFoundError, find_subject
from vcdebug.framework.record import PLACING_OPS, UNALLOCATE_OP, UNPIPELINE_OP, Level, PredicateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import last_operation
from vcdebug.recording.writes import devices_of_pods

MAX_SCORED_NODES = 8


def explain_node(recording: Recording, word: str) -> QuestionReply:
    """The reply about the last placement of the pod: the search that led to it, and its scores or tie rule.

    `word` is a pod, or a pod and a node, which is compared with the chosen one in place of the next best.
    """
    pod_word, _, other = word.partition(" ")
    pod = find_pod(recording, pod_word)
    if other and other not in recording.session.nodes:
        raise NotFoundError("no such node in the session", f"ask node '{pod} NODE'", other)
    placements = last_operation(recording, pod, len(recording) + 1, *PLACING_OPS)
    if not placements:
        return _reply_of_explain(recording, f"{pod} is not placed in this cycle.", {"pod": pod, "node": None})
    search = node_choice.find_search(recording, placements)
    if other not in ("", search.node) and not node_choice.is_scored(recording, search, other):
        return explain_refusal(recording, word)
    dry_run_search = dry_runs.dry_run_search_at(recording, search.placed_seq)
    if dry_run_search is not None:
        reply = _reply_of_dry_runs(search._replace(tried_nodes=()), dry_run_search)
    elif search.scores:
        reply = _reply_with_scores(recording, search, other)
    else:
        reply = _reply_without_scores(recording, search)
    undone_seq = last_operation(recording, pod, len(recording) + 1, UNALLOCATE_OP, UNPIPELINE_OP)
    if undone_seq > placements:
        return _reply_about_undone(recording, search, reply, undone_seq)
    lines = (*reply.lines, *_waiting_lines(recording, pod))
    devices = devices_of_pods(recording).get((pod, search.node), ())
    if not devices:
        return structs.replace(reply, lines=lines)
    line = f"It gets {', '.join(devices)}."
    return structs.replace(reply, lines=(*lines, line), data={**reply.data, "devices": list(devices)})


def _reply_about_undone(
    recording: Recording, search: node_choice.PlacementSearch, reply: QuestionReply, undone_seq: Seq
) -> QuestionReply:
    """The choice of a node from which the action takes the pod back, in which case the pod is Pending."""
    sentence = f"{search.pod} is Pending: {search.action} placed it on {search.node}, and rolled that back."
    choice = reply.sentence.replace(f"{search.pod} is placed on", "It was placed on", 1)
    lines = (choice, *reply.lines, *explain_subject(recording, find_subject(recording, search.pod)).first_lines)
    evidence = (*reply.evidence, Evidence(undone_seq, f"the placement on {search.node} is rolled back"))
    return structs.replace(reply, sentence=sentence, lines=lines, evidence=evidence)


def _waiting_lines(recording: Recording, pod: TaskKey) -> tuple[str, ...]:
    """What a pod that has only reserved its node waits for, in the words of explain; empty for a bound pod."""
    subject = find_subject(recording, pod)
    if view_of(recording, subject).tasks[pod].status is not TaskStatus.PIPELINED:
        return ()
    return explain_subject(recording, subject).first_lines


def _reply_of_explain(recording: Recording, text: str, data: dict[str, object]) -> QuestionReply:
    """What did not happen to the pod, and why not: the first lines of explain about it."""
    return QuestionReply(text, explain_by_name(recording, str(data["pod"])).first_lines, data=data)


def _reply_of_dry_runs(search: node_choice.PlacementSearch, dry_run_search: dry_runs.DryRunSearch) -> QuestionReply:
    candidates = [{"node": run.node, "victims": list(run.victims)} for run in dry_run_search.runs if run.victims]
    won = f"of {len(candidates)} candidates it wins: {dry_run_search.rule}"
    rule = won if len(candidates) > 1 else "it is the only candidate"
    data = {**_placement_json(search), "runnerUp": None, "candidates": candidates, "rule": dry_run_search.rule}
    pass_evidence = Evidence(search.predicate_seq, f"{count_noun(dry_run_search.nodes, 'node')} can be simulated")
    text = f"{search.pod} is placed on {search.node}: {search.action} simulates evictions node by node, and {rule}."
    return QuestionReply(text, evidence=search.evidence_with(pass_evidence), data=data)


def _placement_json(search: node_choice.PlacementSearch) -> dict[str, object]:
    tried = list(search.tried_nodes)
    return {"pod": search.pod, "node": search.node, "action": search.action, "triedBefore": tried}


def _reply_without_scores(recording: Recording, search: node_choice.PlacementSearch) -> QuestionReply:
    passed = recording.event_at(search.predicate_seq) if search.predicate_seq else None
    event = passed if isinstance(passed, PredicateEvent) else None
    feasible = None if event is None else len(event.feasible)
    if recording.conf.facts_of(search.action).evicts_by_pod:
        first = "takes the first node where evictions make room"
        reason = f"{search.action} asks no scores and {first}{node_choice.tried_words(search)}"
    elif event is not None and event.considered == 1 < len(recording.node_names):
        reason = "it was the only node that was searched"
    elif feasible == 1:
        reason = "it was the only node that fits"
    elif feasible is None:
        reason = "no search is recorded"
    else:
        reason = f"it was alone in its group of the {feasible} nodes that fit (idle room comes before future room)"
    data = {**_placement_json(search), "feasible": feasible, "runnerUp": None}
    evidence = search.evidence_with(Evidence(search.predicate_seq, f"the search finds {feasible} feasible"))
    return QuestionReply(f"{search.pod} is placed on {search.node}: {reason}.", evidence=evidence, data=data)


def _reply_with_scores(recording: Recording, search: node_choice.PlacementSearch, other: NodeName) -> QuestionReply:
    pod, node, scores = search.pod, search.node, search.scores
    choice = node_choice.rank_choice(recording, search, other)
    ranked, winner, rival, tied, _ = choice
    # Empty if an extender's webhook answered in the cycle.
    parts = score_parts(recording, scores, winner.node)
    rivals = {part.name: part for part in score_parts(recording, scores, rival.node)} if rival is not None else {}
    comparisons = [ScoreComparison(part, rivals.get(part.name)) for part in parts]
    data = {
        **_placement_json(search),
        "score": winner.total,
        "tied": list(tied),
        "runnerUp": rival.node if rival else None,
        "difference": winner.total - rival.total if rival else None,
        "parts": [comparison.comparison_json() for comparison in comparisons],
    }
    evidence = search.evidence_with(
        Evidence(scores, f"{len(ranked)} nodes are scored"), Evidence(search.choice, f"best is {node}")
    )
    sheets = (comparison.comparison_sheet(winner, rival) for comparison in comparisons if comparison.nodes_differ)
    in_turn = recording.conf.facts_of(search.action).evicts_by_pod
    text = node_choice.turn_sentence(search, winner, len(tied)) if in_turn else node_choice.choice_sentence(pod, choice)
    return QuestionReply(text, (), (_scores_sheet(ranked, winner), *sheets), evidence, data)


class ScoreComparison(NamedTuple):
    """One part of the score, as computed for the node and for the runner-up."""

    part: ScorePart
    other_part: ScorePart | None

    @property
    def nodes_differ(self) -> bool:
        """Whether this part differs between the two nodes."""
        inside, other_inside = self.part.equation, self.other_part.equation if self.other_part is not None else None
        return inside is not None and other_inside is not None and inside.verdict != other_inside.verdict

    def comparison_sheet(self, winner: node_choice.ScoredNode, rival: node_choice.ScoredNode | None) -> ReplySheet:
        """A table with a row per term and the figures of both nodes."""
        equations = [each.equation for each in self if each is not None and each.equation is not None]
        figures = [{term.name: format_figures(each, term) for term in reversed(each.terms)} for each in equations]
        names = dict.fromkeys(term.name for each in equations for term in each.terms)
        heads = ("", winner.node, rival.node if rival is not None else "")
        rows = tuple((name, *(texts.get(name, "–") for texts in figures)) for name in names)
        total = ("=", *(each.note for each in equations))
        return ReplySheet(f"{self.part.name}: {equations[0].formula}", heads, (*rows, total))

    def comparison_json(self) -> dict[str, object]:
        """The comparison as JSON data."""
        keys = ("score", "inside", "runnerUpScore", "runnerUpInside")
        figures = (*_part_json(self.part), *_part_json(self.other_part))
        return {"name": self.part.name, **dict(zip(keys, figures, strict=True))}


def _part_json(part: ScorePart | None) -> tuple[float | None, dict[str, object] | None]:
    """(part of the score, its equation as JSON); None for a missing entry, since JSON has no NaN."""
    if part is None:
        return None, None
    score = None if np.isnan(part.recorded) else part.recorded
    return score, None if part.equation is None else equation_json(part.equation)


def _scores_sheet(ranked: list[node_choice.ScoredNode], winner: node_choice.ScoredNode) -> ReplySheet:
    """The table of scores, with only the summands in which some nodes differ; the longer side is the rows."""
    shown_nodes = [winner, *(scored for scored in ranked if scored.node != winner.node)][:MAX_SCORED_NODES]
    names = dict.fromkeys(name for scored in ranked for name in scored.parts)
    differing = [name for name in names if len({scored.parts.get(name) for scored in ranked}) > 1]
    rows = [("node", "total", *map(short_part, differing))]
    for scored in shown_nodes:
        parts = (scored.parts.get(name) for name in differing)
        scores = ("–" if part is None else format_number(part) for part in parts)
        rows.append((scored.node, format_number(scored.total), *scores))
    heads, *body = zip(*rows, strict=True) if len(differing) > len(shown_nodes) else rows
    return ReplySheet("scores", (heads[0], *(f"{head}#" for head in heads[1:])), tuple(body))


NODE_QUESTION = NamedQuestion("node", "Why this node", ("pod",), explain_node)


# Why each node rejects a pod.

MAX_SHEETS: Final = 12
MAX_SHEETS_PER_REASON: Final = 3
MAX_JUDGED_PER_REASON: Final = 100
"""Nodes of one reason whose figures are compared: a filter such as pod affinity looks at all pods for each."""


class NodeSearch(NamedTuple):
    """The last pass of predicates of an action for the pod."""

    action: str
    seq: Seq
    event: PredicateEvent
    evicts: bool
    """Whether the action evicts, so that it also keeps nodes without room."""


def explain_refusal(recording: Recording, word: str) -> QuestionReply:
    """The last search of allocate or backfill for the pod: each set of reasons, with one node's checks.

    `word` is a pod, or a pod and a node, whose reasons come first.
    Evicting actions also accept nodes without room: their searches are the answer only where there is no other, and
    what the plugins answered about the victims on each node follows.
    """
    pod_word, _, node = word.partition(" ")
    pod = find_pod(recording, pod_word)
    if node and node not in recording.session.nodes:
        raise NotFoundError("no such node in the session", f"ask refused '{pod} NODE'", node)
    searches = _last_searches(recording, pod)
    if not searches:
        return _unasked_reply(recording, pod, node)
    room_searches = [search for search in searches if not search.evicts]
    answering = max(room_searches or searches, key=lambda search: search.seq)
    evicting = [search for search in searches if search.evicts and search is not answering]
    hits = dry_runs.cache_hits(recording, answering.seq)
    refusals = _grouped_refusals(recording, answering, hits, node)
    shown, hidden_lines = _select_shown(refusals)
    funnels = [funnel for search in searches if search.evicts for funnel in victim_funnels(recording, search.seq, pod)]
    sentence = _refusal_sentence(pod, answering.event, len(hits))
    if not room_searches:
        sentence = f"{pod}: {_evicting_search_line(recording, answering, funnels)}"
    about = (*_node_lines(recording, answering, funnels, node), *_explained_lines(recording, answering, pod))
    lines = (*about, *(_evicting_search_line(recording, one, funnels) for one in evicting), *hidden_lines)
    proofs = (answering, *evicting)
    evidence = tuple(Evidence(one.seq, f"{count_noun(one.event.processed, 'node')} checked") for one in proofs)
    sheets = (*(refusal.build_sheet() for refusal in shown), *(funnel_sheet(one, node) for one in funnels))
    data = {
        "pod": pod,
        **_searches_json(recording, answering, evicting),
        "cacheHits": {name: hit.seq for name, hit in hits.items()},
        "nodes": [refusal.build_json(with_checks=refusal in shown) for refusal in refusals],
        "victimSearches": [funnel_json(funnel) for funnel in funnels],
    }
    return QuestionReply(sentence, lines, tuple(sheet for sheet in sheets if sheet.rows), evidence, data)


def _explained_lines(recording: Recording, search: NodeSearch, pod: TaskKey) -> Sequence[str]:
    """What `explain` says of a pod for which the search found no node: it can trace a filter's error to its object."""
    if search.event.feasible.size:
        return ()
    found = explain_by_name(recording, pod)
    # What a missing action would do is clear only after the sentence that names it.
    return found.first_lines[found.cause_code != Cause.NOT_CONFIGURED :]


def _searches_json(recording: Recording, answering: NodeSearch, evicting: Sequence[NodeSearch]) -> dict[str, object]:
    others = [
        {"action": one.action, "event": one.seq, "feasible": len(one.event.feasible), "refused": len(one.event.failed)}
        for one in evicting
    ]
    return {
        "event": answering.seq,
        "action": answering.action,
        "evictingSearches": others,
        "feasible": len(answering.event.feasible),
        "cacheKey": dry_runs.cache_key(recording, answering.event),
    }


def _last_searches(recording: Recording, pod: TaskKey) -> list[NodeSearch]:
    """The last search for the pod in each action, by the action's first one."""
    conf, tree, latest = recording.conf, recording.span_tree, dict[str, NodeSearch]()
    for seq, event in recording.events_of_type(PredicateEvent):
        if event.task == pod:
            action = tree.name_around(seq, Level.ACTION)
            latest[action] = NodeSearch(action, seq, event, conf.facts_of(action).evicts)
    return list(latest.values())


# Nodes that predicates reject, with equal reasons and equal figures together.


class RefusedNodes(NamedTuple):
    """Nodes that reject the pod for the same reasons and by the same figures."""

    reasons: tuple[str, ...]
    nodes: tuple[NodeName, ...]
    checks: tuple[dry_runs.NodeCheck, ...]
    """The checks of the first node."""
    rows: tuple[tuple[str, ...], ...]
    """A row per figure that is the same on all of these nodes, those that reject the pod among them."""
    distance: tuple[float, ...]
    """How much a node lacks: the number of short dimensions and the largest missing part; empty for other reasons."""

    @property
    def title(self) -> str:
        """The first node, the number of further ones, and the reasons."""
        more = f" (and {count_noun(len(self.nodes) - 1, 'more node')})" if len(self.nodes) > 1 else ""
        return f"{self.nodes[0]}{more}: {', '.join(self.reasons)}"

    def build_sheet(self) -> ReplySheet:
        """The table of the checks that reject the pod."""
        return ReplySheet(self.title, ("", "check", "comparison"), self.rows)

    def build_json(self, *, with_checks: bool) -> dict[str, object]:
        """The nodes as JSON data; the checks are those of the first node."""
        checks = self.checks if with_checks else ()
        entries = [{"plugin": check.plugin, **equation_json(check.equation)} for check in checks]
        return {"reasons": list(self.reasons), "nodes": list(self.nodes), "checks": entries}


def _grouped_refusals(
    recording: Recording, search: NodeSearch, hits: dict[NodeName, dry_runs.CacheHit], first: NodeName
) -> list[RefusedNodes]:
    """The nodes that reject the pod: those of node `first`, then by what is missing, then those without figures."""
    names, event = recording.node_names, search.event
    refused = sorted((names[row] for row in event.failed.tolist()), key=lambda name: name != first)
    judged, counts = [], Counter[tuple[str, ...]]()
    for name in refused:
        reasons = tuple(status.reason for status in dry_runs.statuses_of(recording, event, name))
        counts[reasons] += 1
        is_judged = counts[reasons] <= MAX_JUDGED_PER_REASON
        at = hits[name].seq if name in hits else search.seq
        checks = dry_runs.checks_of_node(recording, at, name) if is_judged else ()
        judged.append((name, reasons, checks, _check_rows(checks)))
    groups = group_by_key(
        ((reasons, tuple(row for row in rows if row[0] == NOT_MET)), (name, checks, rows))
        for name, reasons, checks, rows in judged
    )
    refusals = [
        RefusedNodes(
            reasons,
            tuple(name for name, _, _ in members),
            members[0][1],
            tuple(row for row in members[0][2] if all(row in rows for _, _, rows in members)),
            _missing_distance(members[0][1]),
        )
        for (reasons, _), members in groups.items()
    ]
    return sorted(refusals, key=lambda one: (first not in one.nodes, not one.distance, one.distance))


NOT_MET: Final = "✗"


def _check_rows(checks: Sequence[dry_runs.NodeCheck]) -> tuple[tuple[str, ...], ...]:
    return tuple(_check_row(one.equation, term) for one in checks if one.is_refused for term in one.equation.terms)


def _check_row(inside: Equation, term: Term) -> tuple[str, ...]:
    mark = "" if term.is_met is None else "✓" if term.is_met else NOT_MET
    words = "; ".join(text for text in (format_figures(inside, term), term.note) if text)
    return mark, term.name, words


def _missing_distance(checks: Sequence[dry_runs.NodeCheck]) -> tuple[float, ...]:
    """(number of short dimensions, largest missing part of a request) of the test of room; empty without one."""
    equations = (check.equation for check in checks if check.is_refused)
    terms = (term for one in equations if one.columns == dry_runs.ROOM_COLUMNS for term in one.terms if not term.is_met)
    amounts = [[figure for figure in term.figures if isinstance(figure, float | int)] for term in terms]
    missing = [1 - future / request for *_, future, request in amounts if request]
    return (len(missing), max(missing)) if missing else ()


def _select_shown(refusals: Sequence[RefusedNodes]) -> tuple[list[RefusedNodes], tuple[str, ...]]:
    """(the refusals that become tables, a line per reason with its number of further nodes)."""
    taken = group_by_key((one.reasons, one) for one in refusals)
    kept = [one for one in refusals if one.checks and one in taken[one.reasons][:MAX_SHEETS_PER_REASON]][:MAX_SHEETS]
    lines = []
    for reasons, group in taken.items():
        left = sum(len(one.nodes) for one in group if one not in kept)  # exact: ints
        if left:
            lines.append(f"{count_noun(left, 'more node')}: {', '.join(reasons)}.")
    return kept, tuple(lines)


def _refusal_sentence(pod: TaskKey, event: PredicateEvent, hits: int) -> str:
    cached = f" ({hits} from the error cache)" if hits else ""
    fits = f"{pod} fits {len(event.feasible) or 'none'} of {count_noun(event.processed, 'node')} checked"
    reject = f"{len(event.failed)} {verb_for(len(event.failed), 'rejects')} it"
    return f"{fits}; {reject}{cached}." if event.failed.size else f"{fits}."


# Nodes that an evicting action kept as candidates, and what the plugins answered about the victims on each.


def _evicting_search_line(recording: Recording, search: NodeSearch, funnels: Sequence[VictimFunnel]) -> str:
    """A line: how many nodes an evicting action checked last, how many passed, and where evictions make room."""
    fit_count, refused_count = len(search.event.feasible), len(search.event.failed)
    checked = f"{search.action} checked {count_noun(search.event.processed, 'node')}"
    if not recording.conf.facts_of(search.action).evicts_by_pod:
        refusal_words = f"; {refused_count} reject it" if refused_count else ""
        return f"{checked} without its planned victims: {fit_count} could hold the pod{refusal_words}."
    refusal_words = f"; {refused_count} reject the pod whatever is evicted" if refused_count else ""
    tried = [one for funnel in funnels if funnel.action == search.action for one in funnel.tried_nodes]
    placing = [one for one in tried if one.outcome in (PLACED, TAKEN_BACK)]
    with_room = dict.fromkeys(one.node for one in tried if one.is_candidate or (one in placing and one.evicts))
    idle = join_names(dict.fromkeys(one.node for one in placing if one.node not in with_room))
    freed = f"; evictions make room on {join_names(with_room) or 'none of them'}" if with_room or not idle else ""
    room_words = (f"; without evictions there is room on {idle}" if idle else "") + freed if tried else ""
    return f"{checked} for evictions and keeps {fit_count} as candidates{refusal_words}{room_words}."


def _node_lines(
    recording: Recording, search: NodeSearch, funnels: Sequence[VictimFunnel], node: NodeName
) -> Iterator[str]:
    """Lines about the named node: that it does not reject the pod, and what became of evictions on it."""
    if not node:
        return
    rejected, passing = (
        [recording.node_names[row] for row in rows.tolist()] for rows in (search.event.failed, search.event.feasible)
    )
    if node not in rejected:
        passes = f"{node} passes the predicates of {search.action}"
        yield f"{passes}." if node in passing else f"{search.action} did not check {node}."
    placements = last_operation(recording, search.event.task, len(recording) + 1, *PLACING_OPS)
    placed = node_choice.find_search(recording, placements) if placements and node in passing else None
    if placed is not None and placed.scores and node != placed.node and node_choice.is_scored(recording, placed, node):
        yield node_choice.choice_sentence(placed.pod, node_choice.rank_choice(recording, placed, node))
    for funnel in funnels:
        search_words = f"{funnel.action} within the job" if funnel.is_within_job else funnel.action
        for one in (one for one in funnel.tried_nodes if one.node == node):
            yield f"{search_words} on {node}: {'; '.join(node_victim_words(one))}."
        if node in funnel.untried_nodes:
            yield f"{search_words} did not try {node}."


# A pod that no plugin was asked about: what explain knows of the nodes.

UNASKED_TITLE: Final = "nodes, not asked in this cycle: computed for its end"


def _unasked_reply(recording: Recording, pod: TaskKey, first: NodeName) -> QuestionReply:
    """The reply about a pod that no search was made for: why not, and what the nodes lack for it."""
    text, explanation = f"No plugin checked a node for {pod} in this cycle.", explain_by_name(recording, pod)
    groups = _nodes_by_lack(recording, pod, first)
    computed = [{"reason": reason, "lacks": lacks, "nodes": nodes} for (reason, lacks), nodes in groups.items()]
    rows = [(join_names(nodes, MAX_NAMED_NODES), str(len(nodes)), *words) for words, nodes in groups.items()]
    sheets = (ReplySheet(UNASKED_TITLE, ("nodes", "number#", "reason", "details"), tuple(rows)),) if rows else ()
    data = {"pod": pod, "nodes": [], "notAsked": computed}
    return QuestionReply(text, explanation.first_lines, sheets, data=data)


def _nodes_by_lack(recording: Recording, pod: TaskKey, first: NodeName) -> dict[tuple[str, str], list[NodeName]]:
    """(reason, details) → nodes for a pod that is Pending at the end: `first`, then those that fit or lack least."""
    subject = find_subject(recording, pod)
    task = view_of(recording, subject).tasks.get(pod) if subject.job in recording.session.jobs else None
    if task is None or task.status is not TaskStatus.PENDING:
        return {}
    fits = NodeFits(view_of(recording, subject), task, len(recording))
    near = sorted(fits.node_fits, key=lambda one: (one.name != first, bool(one.statuses), len(one.short)))
    return group_by_key((_lack_words(recording, task, one), one.name) for one in near)


def _lack_words(recording: Recording, task: TaskInfo, fit: NodeFit) -> tuple[str, str]:
    """(why the node does not fit, the taint or label or how much is missing)."""
    if fit.kind == "free":
        return "fits", ""
    constraints = constraint_reasons(recording, len(recording), task, fit.name, fit.statuses)
    missing = [f"{format_named_amount(name, amount)} missing" for name, amount in fit.short]
    return fit.reason, "; ".join((*constraints, *missing))


REFUSED_QUESTION = NamedQuestion("refused", "Why does each node reject this pod", ("pod",), explain_refusal)
