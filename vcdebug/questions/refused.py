"""Why no other node: what every node objected to a pod, and the figures that each check compared."""

from __future__ import annotations

from vcdebug.amount_text import plural
from vcdebug.explain.answer import Evidence
from vcdebug.explain.equation import Equation, Term, equation_document, figure_words
from vcdebug.explain.refusal_parts import Check, cache_hits, cache_key, checks, statuses_of
from vcdebug.framework.record import PredicateEvent
from vcdebug.grouping import by_key
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.questions.evicted import find_pod
from vcdebug.questions.reply import Question, Reply, Sheet
from vcdebug.trace.recording import Recording

MOST_NODES = 12


def why_refused(recording: Recording, word: str) -> Reply:
    """The last search for the pod: each set of reasons, with one node's checks."""
    pod = find_pod(recording, word)
    seqs = [seq for seq in recording.index.of_type(PredicateEvent) if _searched(recording, seq).task == pod]
    if not seqs:
        return Reply(f"No node was tried for {pod} in this cycle.", data={"pod": pod, "nodes": []})
    seq, event = seqs[-1], _searched(recording, seqs[-1])
    refused = [recording.node_names[row] for row in event.failed.tolist()]
    groups = by_key((tuple(status.reason for status in statuses_of(recording, event, name)), name) for name in refused)
    hits = cache_hits(recording, seq)
    told = [
        (reasons, nodes, checks(recording, _asked(recording, seq, nodes[0]), nodes[0]))
        for reasons, nodes in groups.items()
    ]
    data = {
        "pod": pod,
        "event": seq,
        "feasible": len(event.feasible),
        "cacheKey": cache_key(recording, event),
        "cacheHits": {name: hit.seq for name, hit in hits.items()},
        "nodes": [_document(reasons, nodes, found) for reasons, nodes, found in told],
    }
    sheets = tuple(_sheet(reasons, nodes, found) for reasons, nodes, found in told[:MOST_NODES])
    evidence = (Evidence(seq, f"{event.processed} nodes are tried"),)
    return Reply(_sentence(pod, event, len(hits)), (), sheets, evidence, data)


def _searched(recording: Recording, seq: Seq) -> PredicateEvent:
    event = recording.event(seq)
    assert isinstance(event, PredicateEvent)
    return event


def _asked(recording: Recording, seq: Seq, node: NodeName) -> Seq:
    """The search in which the node was judged: an earlier one where the error cache answered."""
    hit = cache_hits(recording, seq).get(node)
    return seq if hit is None else hit.seq


def _sentence(pod: TaskKey, event: PredicateEvent, hits: int) -> str:
    cached = f", {hits} of them by what the error cache kept" if hits else ""
    tried = plural(event.processed, "node")
    return f"{pod}: of {tried} tried {len(event.feasible)} fit and {len(event.failed)} refuse it{cached}."


def _document(reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[Check, ...]) -> dict[str, object]:
    shown = [{"plugin": each.plugin, **equation_document(each.inside)} for each in found]
    return {"reasons": list(reasons), "nodes": nodes, "checks": shown}


def _sheet(reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[Check, ...]) -> Sheet:
    """What the refusing checks compared on the first of the nodes."""
    more = f" (and {plural(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    rows = tuple(_row(each.inside, term) for each in found if each.refuses for term in each.inside.terms)
    return Sheet(f"{nodes[0]}{more}: {', '.join(reasons)}", ("", "check", "what is compared"), rows)


def _row(inside: Equation, term: Term) -> tuple[str, ...]:
    mark = "" if term.holds is None else "✓" if term.holds else "✗"
    words = "; ".join(text for text in (figure_words(inside, term), term.note) if text)
    return mark, term.name, words


REFUSED = Question("refused", "why does each node refuse this pod", ("pod",), why_refused)
