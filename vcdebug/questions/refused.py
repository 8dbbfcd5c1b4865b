"""Why no other node: what every node objected to a pod, and the figures that each check compared."""

from __future__ import annotations

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import Evidence
from vcdebug.explain.equation import Equation, Term, equation_json, format_figures
from vcdebug.explain.refusal_parts import NodeCheck, cache_hits, cache_key, checks_of_node, statuses_of
from vcdebug.framework.record import PredicateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.questions.evicted import find_pod
from vcdebug.questions.reply import NamedQuestion, QuestionReply, ReplySheet
from vcdebug.trace.recording import Recording

MAX_REFUSAL_SHEETS = 12


def why_refused(recording: Recording, word: str) -> QuestionReply:
    """The last search for the pod: each set of reasons, with one node's checks."""
    pod = find_pod(recording, word)
    seqs = [seq for seq in recording.index.seqs_of_type(PredicateEvent) if _search_event(recording, seq).task == pod]
    if not seqs:
        return QuestionReply(f"No node was tried for {pod} in this cycle.", data={"pod": pod, "nodes": []})
    seq, event = seqs[-1], _search_event(recording, seqs[-1])
    refused = [recording.node_names[row] for row in event.failed.tolist()]
    groups = group_by_key(
        (tuple(status.reason for status in statuses_of(recording, event, name)), name) for name in refused
    )
    hits = cache_hits(recording, seq)
    told = [
        (reasons, nodes, checks_of_node(recording, _judging_search(recording, seq, nodes[0]), nodes[0]))
        for reasons, nodes in groups.items()
    ]
    data = {
        "pod": pod,
        "event": seq,
        "feasible": len(event.feasible),
        "cacheKey": cache_key(recording, event),
        "cacheHits": {name: hit.seq for name, hit in hits.items()},
        "nodes": [_refusal_json(reasons, nodes, found) for reasons, nodes, found in told],
    }
    sheets = tuple(_refusal_sheet(reasons, nodes, found) for reasons, nodes, found in told[:MAX_REFUSAL_SHEETS])
    evidence = (Evidence(seq, f"{event.processed} nodes are tried"),)
    return QuestionReply(_refusal_sentence(pod, event, len(hits)), (), sheets, evidence, data)


def _search_event(recording: Recording, seq: Seq) -> PredicateEvent:
    event = recording.event_at(seq)
    assert isinstance(event, PredicateEvent)
    return event


def _judging_search(recording: Recording, seq: Seq, node: NodeName) -> Seq:
    """The search in which the node was judged: an earlier one where the error cache answered."""
    hit = cache_hits(recording, seq).get(node)
    return seq if hit is None else hit.seq


def _refusal_sentence(pod: TaskKey, event: PredicateEvent, hits: int) -> str:
    cached = f", {hits} of them by what the error cache kept" if hits else ""
    tried = count_noun(event.processed, "node")
    return f"{pod}: of {tried} tried {len(event.feasible)} fit and {len(event.failed)} refuse it{cached}."


def _refusal_json(reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[NodeCheck, ...]) -> dict[str, object]:
    shown = [{"plugin": each.plugin, **equation_json(each.inside)} for each in found]
    return {"reasons": list(reasons), "nodes": nodes, "checks": shown}


def _refusal_sheet(reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[NodeCheck, ...]) -> ReplySheet:
    """What the refusing checks compared on the first of the nodes."""
    more = f" (and {count_noun(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    rows = tuple(_check_row(each.inside, term) for each in found if each.is_refused for term in each.inside.terms)
    return ReplySheet(f"{nodes[0]}{more}: {', '.join(reasons)}", ("", "check", "what is compared"), rows)


def _check_row(inside: Equation, term: Term) -> tuple[str, ...]:
    mark = "" if term.holds is None else "✓" if term.holds else "✗"
    words = "; ".join(text for text in (format_figures(inside, term), term.note) if text)
    return mark, term.name, words


REFUSED_QUESTION = NamedQuestion("refused", "why does each node refuse this pod", ("pod",), why_refused)
