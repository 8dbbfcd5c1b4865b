"""Taints: who set one may take it away, or let a pod stand there all the same; never where the node is out of order.

What a taint was set for cannot be told by its key, so that both come behind everything else that works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vcdebug.debugger.remedies.lever import Lever, Situation, pod_edits
from vcdebug.explain.amounts import plural
from vcdebug.explain.answer import Harm
from vcdebug.grouping import by_key
from vcdebug.kube.fitness import may_be_lifted, may_be_tolerated
from vcdebug.kube.taints import Taint, parse_taints, parse_tolerations, tolerated
from vcdebug.model.names import NodeName
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import name_of, spec_of

_CAUSES = ("predicates-*", "gang-discard", "larger-than-any-node", "pod-count", "no-hypernode")


def of_taints(situation: Situation) -> Iterator[Lever]:
    """Levers on the taints that keep the job's pods away."""
    for taint, nodes in _keeping(situation, may_be_tolerated).items():
        match = f'operator: Equal, value: "{taint.value}"' if taint.value else "operator: Exists"
        change = f"spec.tolerations[+]={{key: {taint.key}, {match}, effect: {taint.effect}}}"
        shown = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        words = f"tolerate taint {shown} of {plural(len(nodes), 'node')}, if whoever set it agrees: it keeps pods away"
        edits = pod_edits(situation.waiting, change)
        yield Lever(words, edits, Harm.CLUSTER, _CAUSES, risky=True, aspect=f"taint {shown}")
    kept = _keeping(situation, may_be_lifted)
    for key, nodes in by_key((taint.key, name) for taint, names in kept.items() for name in names).items():
        names = [name for name in dict.fromkeys(nodes) if nodes.count(name) == 1]
        edits = tuple(f"Node/{name}:spec.taints[{key}]-" for name in names)
        words = f"remove taint {key} from {plural(len(names), 'node')}, once what it was set for is over"
        if names:
            yield Lever(words, edits, Harm.CLUSTER, _CAUSES, risky=True)


def _keeping(situation: Situation, allowed: Callable[[Taint, JsonObject], bool]) -> dict[Taint, list[NodeName]]:
    """Taints that some pod of the job does not tolerate, and the nodes that have them."""
    tolerations = [parse_tolerations(pod.spec.get("tolerations")) for pod in situation.waiting]
    return by_key(
        (taint, NodeName(name_of(node)))
        for node in situation.snapshot.of("Node")
        for taint in parse_taints(spec_of(node).get("taints"))
        if allowed(taint, node) and not all(tolerated(taint, one) for one in tolerations)
    )
