"""Why this node: the scores that put it before the runner-up, and random choices."""

from typing import NamedTuple

import numpy as np
from msgspec import structs

from vcdebug.amount_text import count_noun, format_number, verb_for
from vcdebug.explain.answer import Evidence, NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.decisions import dry_runs
from vcdebug.explain.decisions.equations import ScorePart, score_parts
from vcdebug.explain.decisions.node_choice import (
    PlacementSearch,
    ScoredNode,
    choice_sentence,
    find_search,
    rank_choice,
    tried_words,
    turn_sentence,
)
from vcdebug.explain.equation import Equation, Term, equation_json, format_figures
from vcdebug.explain.job_view import find_subject, view_of
from vcdebug.explain.pending.explanation import explain_by_name, explain_subject
from vcdebug.explain.questions.victims import find_pod
from vcdebug.framework.record import PLACING_OPS, Level, PredicateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import last_operation
from vcdebug.recording.writes import devices_of_pods

MAX_SCORED_NODES = 8


def explain_node(recording: Recording, word: str) -> QuestionReply:
    """The reply about the last placement of the pod: the search that led to it, and its scores or tie rule."""
    pod = find_pod(recording, word)
    placements = last_operation(recording, pod, len(recording) + 1, *PLACING_OPS)
    if not placements:
        return _reply_of_explain(recording, f"{pod} is not placed in this cycle.", {"pod": pod, "node": None})
    search = find_search(recording, placements)
    dry_run_search = dry_runs.dry_run_search_at(recording, search.placed_seq)
    if dry_run_search is not None:
        reply = _reply_of_dry_runs(search._replace(tried_nodes=()), dry_run_search)
    elif search.scores:
        reply = _reply_with_scores(recording, search)
    else:
        reply = _reply_without_scores(recording, search)
    lines = (*reply.lines, *_waiting_lines(recording, pod))
    devices = devices_of_pods(recording).get((pod, search.node), ())
    if not devices:
        return structs.replace(reply, lines=lines)
    line = f"It gets {', '.join(devices)}."
    return structs.replace(reply, lines=(*lines, line), data={**reply.data, "devices": list(devices)})


def _waiting_lines(recording: Recording, pod: TaskKey) -> tuple[str, ...]:
    """What a pod that has only reserved its node waits for, in the words of explain; empty for a bound pod."""
    subject = find_subject(recording, pod)
    if view_of(recording, subject).tasks[pod].status is not TaskStatus.PIPELINED:
        return ()
    return explain_subject(recording, subject).first_lines


def _reply_of_explain(recording: Recording, text: str, data: dict[str, object]) -> QuestionReply:
    """What did not happen to the pod, and why not: the first lines of explain about it."""
    return QuestionReply(text, explain_by_name(recording, str(data["pod"])).first_lines, data=data)


def _reply_of_dry_runs(search: PlacementSearch, dry_run_search: dry_runs.DryRunSearch) -> QuestionReply:
    candidates = [{"node": run.node, "victims": list(run.victims)} for run in dry_run_search.runs if run.victims]
    won = f"of {len(candidates)} candidates it wins: {dry_run_search.rule}"
    rule = won if len(candidates) > 1 else "it is the only candidate"
    data = {**_placement_json(search), "runnerUp": None, "candidates": candidates, "rule": dry_run_search.rule}
    pass_evidence = Evidence(search.predicate_seq, f"{count_noun(dry_run_search.nodes, 'node')} can be simulated")
    text = f"{search.pod} is placed on {search.node}: {search.action} simulates evictions node by node, and {rule}."
    return QuestionReply(text, evidence=search.evidence_with(pass_evidence), data=data)


def _placement_json(search: PlacementSearch) -> dict[str, object]:
    tried = list(search.tried_nodes)
    return {"pod": search.pod, "node": search.node, "action": search.action, "triedBefore": tried}


def _reply_without_scores(recording: Recording, search: PlacementSearch) -> QuestionReply:
    passed = recording.event_at(search.predicate_seq) if search.predicate_seq else None
    event = passed if isinstance(passed, PredicateEvent) else None
    feasible = None if event is None else len(event.feasible)
    if recording.conf.facts_of(search.action).evicts_by_pod:
        first = "takes the first node where evictions make room"
        reason = f"{search.action} asks no scores and {first}{tried_words(search)}"
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


def _reply_with_scores(recording: Recording, search: PlacementSearch) -> QuestionReply:
    pod, node, scores = search.pod, search.node, search.scores
    choice = rank_choice(recording, search)
    ranked, winner, rival, tied = choice
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
    text = turn_sentence(search, winner, len(tied)) if in_turn else choice_sentence(pod, choice)
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

    def comparison_sheet(self, winner: ScoredNode, rival: ScoredNode | None) -> ReplySheet:
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


def _scores_sheet(ranked: list[ScoredNode], winner: ScoredNode) -> ReplySheet:
    """The table of scores, with only the summands in which some nodes differ."""
    shown_nodes = [winner, *(scored for scored in ranked if scored.node != winner.node)][:MAX_SCORED_NODES]
    names = dict.fromkeys(name for scored in ranked for name in scored.parts)
    differing = [name for name in names if len({scored.parts.get(name) for scored in ranked}) > 1]
    rows = []
    for scored in shown_nodes:
        parts = (scored.parts.get(name) for name in differing)
        scores = ("–" if part is None else format_number(part) for part in parts)
        rows.append((scored.node, format_number(scored.total), *scores))
    return ReplySheet("scores", ("node", "total#", *(f"{name}#" for name in differing)), tuple(rows))


NODE_QUESTION = NamedQuestion("node", "Why this node", ("pod",), explain_node)


MAX_REFUSAL_SHEETS = 12


def explain_refusal(recording: Recording, word: str) -> QuestionReply:
    """The last search of allocate or backfill for the pod: each set of reasons, with one node's checks.

    `word` is a pod, or a pod and a node, whose reasons come first.
    Evicting actions also accept nodes without room: their searches are the answer only where there is no other.
    """
    pod_word, _, node = word.partition(" ")
    pod = find_pod(recording, pod_word)
    searches, tree = recording.events_of_type(PredicateEvent), recording.span_tree
    latest = {tree.name_around(seq, Level.ACTION): (seq, search) for seq, search in searches if search.task == pod}
    if not latest:
        text = f"No plugin checked a node for {pod} in this cycle."
        return _reply_of_explain(recording, text, {"pod": pod, "nodes": []})
    evicts = {action: recording.conf.facts_of(action).evicts for action in latest}
    room_searches = [refusal for action, refusal in latest.items() if not evicts[action]]
    seq, event = max(room_searches or latest.values(), key=lambda refusal: refusal[0])
    answering = tree.name_around(seq, Level.ACTION)
    evicting = [(action, *refusal) for action, refusal in latest.items() if evicts[action] and action != answering]
    refused = sorted((recording.node_names[row] for row in event.failed.tolist()), key=lambda name: name != node)
    groups = group_by_key(
        # Nodes with equal reasons share one table: on thousands of nodes only a few differ.
        (tuple(status.reason for status in dry_runs.statuses_of(recording, event, name)), name)
        for name in refused
    )
    hits = dry_runs.cache_hits(recording, seq)
    checks = [
        (reasons, nodes, dry_runs.checks_of_node(recording, hits[nodes[0]].seq if nodes[0] in hits else seq, nodes[0]))
        for reasons, nodes in groups.items()
    ]
    data = {
        "pod": pod,
        "event": seq,
        "action": answering,
        "evictingSearches": [
            {"action": action, "event": number, "feasible": len(search.feasible), "refused": len(search.failed)}
            for action, number, search in evicting
        ],
        "feasible": len(event.feasible),
        "cacheKey": dry_runs.cache_key(recording, event),
        "cacheHits": {name: hit.seq for name, hit in hits.items()},
        "nodes": [_refusal_json(reasons, nodes, refusal) for reasons, nodes, refusal in checks],
    }
    sheets = tuple(_refusal_sheet(reasons, nodes, refusal) for reasons, nodes, refusal in checks[:MAX_REFUSAL_SHEETS])
    lines = tuple(_evicting_search_line(recording, action, search) for action, _, search in evicting)
    if not event.feasible.size:
        # What a filter only calls by the name of its error, explain can trace to the object that lacks something.
        lines = (*explain_by_name(recording, pod).first_lines[1:], *lines)
    if node and node not in refused:
        lines = (f"{node} is not among the nodes that reject it.", *lines)
    proofs = ((seq, event), *(refusal[1:] for refusal in evicting))
    evidence = tuple(Evidence(number, f"{count_noun(search.processed, 'node')} checked") for number, search in proofs)
    search_line = _evicting_search_line(recording, answering, event)
    sentence = _refusal_sentence(pod, event, len(hits)) if room_searches else f"{pod}: {search_line}"
    return QuestionReply(sentence, lines, sheets, evidence, data)


def _evicting_search_line(recording: Recording, action: str, event: PredicateEvent) -> str:
    """A line: how many nodes the last search of an evicting action checked, and how many passed."""
    fit_count, refused_count = len(event.feasible), len(event.failed)
    checked = f"{action} checked {count_noun(event.processed, 'node')}"
    if recording.conf.facts_of(action).evicts_by_pod:
        refusal_words = f"; {refused_count} reject the pod whatever is evicted" if refused_count else ""
        return f"{checked} for evictions and keeps {fit_count} as candidates{refusal_words}."
    refusal_words = f"; {refused_count} reject it" if refused_count else ""
    return f"{checked} without its planned victims: {fit_count} could hold the pod{refusal_words}."


def _refusal_sentence(pod: TaskKey, event: PredicateEvent, hits: int) -> str:
    cached = f" ({hits} from the error cache)" if hits else ""
    fits = f"{pod} fits {len(event.feasible) or 'none'} of {count_noun(event.processed, 'node')} checked"
    reject = f"{len(event.failed)} {verb_for(len(event.failed), 'rejects')} it"
    return f"{fits}; {reject}{cached}." if event.failed.size else f"{fits}."


def _refusal_json(
    reasons: tuple[str, ...], nodes: list[NodeName], checks: tuple[dry_runs.NodeCheck, ...]
) -> dict[str, object]:
    entries = [{"plugin": check.plugin, **equation_json(check.equation)} for check in checks]
    return {"reasons": list(reasons), "nodes": nodes, "checks": entries}


def _refusal_sheet(
    reasons: tuple[str, ...], nodes: list[NodeName], checks: tuple[dry_runs.NodeCheck, ...]
) -> ReplySheet:
    """The table of the refusing checks on the first of these nodes."""
    node_words = f" (and {count_noun(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    rows = tuple(_check_row(one.equation, term) for one in checks if one.is_refused for term in one.equation.terms)
    return ReplySheet(f"{nodes[0]}{node_words}: {', '.join(reasons)}", ("", "check", "comparison"), rows)


def _check_row(inside: Equation, term: Term) -> tuple[str, ...]:
    mark = "" if term.is_met is None else "✓" if term.is_met else "✗"
    words = "; ".join(text for text in (format_figures(inside, term), term.note) if text)
    return mark, term.name, words


REFUSED_QUESTION = NamedQuestion("refused", "Why does each node reject this pod", ("pod",), explain_refusal)
