"""The scorers that look at other pods: preferred affinity between pods, and soft topology spread."""

from __future__ import annotations

import numpy as np

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.selectors import affinity_term_text, selector_text
from vcdebug.gomath import round_half_away_rows
from vcdebug.kube.pod_affinity_score import Drawn, normalized
from vcdebug.kube.topology_spread_score import normalized_spread
from vcdebug.plugins.nodeorder import Scorers

AFFINITY_FORMULA = "sum of pods in the node's domain × weight; 100 × (sum − lowest) / (highest − lowest)"
SPREAD_FORMULA = "sum of pods in the domain × log(domains + 2) + max skew − 1; 100 × (highest + lowest − sum) / highest"
SPREAD_COLUMNS = ("domain", "pods", "domains", "log", "max skew", "counts")


def pod_affinity(scorers: Scorers, asked: Asked, weight: int) -> Equation | None:
    """The pod's own preferences, and those of pods that are placed."""
    shape = scorers.view.shapes.shape(asked.pod)
    raws = scorers.pod_affinity.raw(shape, asked.nodes.rows)
    if raws is None:
        return None
    drawn = list(scorers.pod_affinity.drawn(shape, asked.row))
    raw, lowest, highest = 0, int(raws.min()), int(raws.max())
    for one in drawn:
        raw += one.adds
    share = int(normalized(np.array([raw, lowest, highest], dtype=np.int64))[0])
    note = f"sum {raw}, lowest {lowest}, highest {highest}: {share}, × weight {weight} = {share * weight}"
    title, columns = f"affinity between pods on {asked.node.name}", ("domain", "pods", "weight", "counts")
    terms = tuple(_drawn(one) for one in drawn)
    return Equation(title, AFFINITY_FORMULA, columns, "check", terms, float(share) * float(weight), None, note)


def _drawn(one: Drawn) -> Term:
    whose = "" if one.own else "wished by pods that are placed"
    return Term(affinity_term_text(one.term), (one.domain, one.pods, one.weight, one.adds), None, whose)


def spread(scorers: Scorers, asked: Asked, weight: int) -> Equation | None:
    """Soft constraints: how many matching pods the node's domain has."""
    found = scorers.spread(asked.pod, asked.nodes.rows)
    if found is None:
        return None
    place, total = asked.place, 0.0
    terms: list[Term] = []
    for part in found.parts:
        constraint, counts = part.constraint, float(part.raw[place])
        total = total + counts
        domain = asked.node.labels.get(constraint.topology_key)
        pods = int(part.counts[place])
        figures = (domain, pods, part.domains, Ratio(part.weight), constraint.max_skew, Ratio(counts))
        terms.append(Term(f"{constraint.topology_key} {selector_text(constraint.selector)}".rstrip(), figures, None))
    title = f"spread over domains on {asked.node.name}"
    if bool(found.ignored[place]):
        note = "the node lacks a topology label: 0"
        return Equation(title, SPREAD_FORMULA, SPREAD_COLUMNS, "check", tuple(terms), 0.0, None, note)
    kept = found.raw[~found.ignored]
    raw, lowest, highest = int(round_half_away_rows(np.array([total]))[0]), int(kept.min()), int(kept.max())
    trio = np.array([raw, lowest, highest], dtype=np.int64)
    share = int(normalized_spread(trio, np.zeros(3, dtype=np.bool_))[0])
    note = f"sum {raw}, lowest {lowest}, highest {highest}: {share}, × weight {weight} = {share * weight}"
    verdict = float(share) * float(weight)
    return Equation(title, SPREAD_FORMULA, SPREAD_COLUMNS, "check", tuple(terms), verdict, None, note)
