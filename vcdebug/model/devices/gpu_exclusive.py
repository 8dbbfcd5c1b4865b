"""Rules by which pods with certain labels do not share a card. Upstream: plugins/deviceshare (gpuexclusive)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.devices import ReleaseOutcome
from vcdebug.model.devices.vgpu import VgpuLedger
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import JsonObject

ExclusiveRule = Mapping[str, str]
IndexSet = dict[int, None]
"""Numbers in the order in which they were added."""


def parse_exclusive_rules(raw: object) -> list[ExclusiveRule]:
    """The rules that are maps of labels. Upstream: plugins/deviceshare/gpuexclusive.parseExclusiveRules."""
    rules: list[ExclusiveRule] = []
    for item in raw if isinstance(raw, list) else ():
        labels = item.items() if isinstance(item, dict) else ()
        rule = {key: text for key, text in labels if isinstance(key, str) and isinstance(text, str)}
        if rule:
            rules.append(rule)
    return rules


def matching_rules(pod: Pod, rules: Iterable[ExclusiveRule]) -> IndexSet:
    """Rules of which the pod has every label. Upstream: plugins/deviceshare/gpuexclusive.matchingRules."""
    labels: JsonObject = pod.labels
    return {
        number: None for number, rule in enumerate(rules) if all(labels.get(key) == text for key, text in rule.items())
    }


class ExclusiveLedger:
    """A ledger of virtual GPUs on which cards of the same rule count as full."""

    __slots__ = ("_inner", "_pod_rules", "_pod_uids", "_rules", "_cards_by_rule")

    def __init__(self, inner: VgpuLedger, rules: list[ExclusiveRule]) -> None:
        self._inner = inner
        self._rules = rules
        self._cards_by_rule: dict[int, IndexSet] = {}
        """Rule → cards that its pods are on."""
        self._pod_rules: dict[str, IndexSet] = {}
        self._pod_uids: dict[str, str] = {}

    def track_initial_pods(self, pods: Iterable[Pod]) -> None:
        """Note the rules and cards of the pods on the node at session open."""
        for pod in pods:
            self._pod_uids[pod.key] = pod.uid
            rules = matching_rules(pod, self._rules)
            if rules:
                self._pod_rules[pod.key] = rules
                self._mark_taken(rules, self._cards_of(pod) or self._annotated_cards(pod))

    def _cards_of(self, pod: Pod) -> list[int]:
        return [index for index, card in self._inner.cards.items() if pod.uid in card.pods]

    def _annotated_cards(self, pod: Pod) -> list[int]:
        index_of = {card.uuid: index for index, card in self._inner.cards.items()}
        return [index_of[held_card.uuid] for held_card in self._inner.held_by(pod) if held_card.uuid in index_of]

    def _mark_taken(self, rules: IndexSet, cards: Iterable[int]) -> None:
        for index in cards:
            for rule in rules:
                self._cards_by_rule.setdefault(rule, {})[index] = None

    def _track_pod(self, pod: Pod) -> None:
        """Upstream: plugins/deviceshare/gpuexclusive.trackPodFromPodMap."""
        rules = matching_rules(pod, self._rules)
        if rules:
            self._pod_rules[pod.key] = rules
            self._mark_taken(rules, self._cards_of(pod))

    def _untrack_pod(self, pod: Pod) -> None:
        """Upstream: plugins/deviceshare/gpuexclusive.untrackPod."""
        for rule in self._pod_rules.pop(pod.key, {}):
            cards = self._cards_by_rule.get(rule, {})
            for index in list(cards):
                if not self._still_used(index, pod):
                    del cards[index]
            if not cards:
                self._cards_by_rule.pop(rule, None)

    def _still_used(self, index: int, leaving: Pod) -> bool:
        """Whether another pod that matches any rule is on the card."""
        other_uids = [uid for uid in self._inner.cards[index].pods if uid != leaving.uid]
        return any(self._pod_uids.get(key) in other_uids for key in self._pod_rules)

    def _cap_gpus(self, pod: Pod) -> dict[int, int]:
        """Make the cards of the pod's rules look full; returns their real numbers of users for _restore_gpus.
        Upstream: plugins/deviceshare/gpuexclusive.capGPUs.
        """
        saved: dict[int, int] = {}
        for rule in matching_rules(pod, self._rules):
            for index in self._cards_by_rule.get(rule, {}):
                card = self._inner.cards[index]
                saved.setdefault(index, card.number)
                card.number = card.used_number
        return saved

    def _restore_gpus(self, saved: Mapping[int, int]) -> None:
        """Upstream: plugins/deviceshare/gpuexclusive.restoreGPUs."""
        for index, number in saved.items():
            self._inner.cards[index].number = number

    def add_resource(self, pod: Pod) -> None:
        """Upstream: plugins/deviceshare/gpuexclusive.AddResource."""
        self._inner.add_resource(pod)
        self._pod_uids[pod.key] = pod.uid
        self._track_pod(pod)

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: plugins/deviceshare/gpuexclusive.SubResource."""
        self._inner.sub_resource(pod)
        self._untrack_pod(pod)
        self._pod_uids.pop(pod.key, None)

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: plugins/deviceshare/gpuexclusive.HasDeviceRequest."""
        return self._inner.has_device_request(pod)

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """Upstream: plugins/deviceshare/gpuexclusive.FilterNode."""
        saved = self._cap_gpus(pod)
        refusal = self._inner.filter_node(pod, policy)
        self._restore_gpus(saved)
        return refusal

    def capped_copy(self, pod: Pod) -> VgpuLedger:
        """A copy of the ledger in which the cards of the pod's rules are full."""
        saved = self._cap_gpus(pod)
        copy = self._inner.clone()
        for index, card in self._inner.cards.items():
            copy.cards[index].number = card.number
        self._restore_gpus(saved)
        return copy

    def score_node(self, pod: Pod, policy: str) -> float:
        """Upstream: plugins/deviceshare/gpuexclusive.ScoreNode."""
        return self._inner.score_node(pod, policy)

    def allocate(self, pod: Pod) -> str | None:
        """Upstream: plugins/deviceshare/gpuexclusive.Allocate."""
        saved = self._cap_gpus(pod)
        error = self._inner.allocate(pod)
        self._restore_gpus(saved)
        if error is None:
            self._track_pod(pod)
        return error

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Upstream: plugins/deviceshare/gpuexclusive.Release."""
        released = self._inner.release(pod)
        self._untrack_pod(pod)
        return released

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """Upstream: plugins/deviceshare/gpuexclusive.Allocate."""
        return self._inner.bind_annotations(pod)

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """Upstream: plugins/deviceshare/gpuexclusive.AddQueueResource."""
        return self._inner.queue_amounts(pod)

    def clone(self) -> ExclusiveLedger:
        """Upstream: plugins/deviceshare/gpuexclusive.DeepCopy."""
        copy = ExclusiveLedger(self._inner.clone(), self._rules)
        copy._cards_by_rule = {rule: dict(cards) for rule, cards in self._cards_by_rule.items()}
        copy._pod_rules = {key: dict(rules) for key, rules in self._pod_rules.items()}
        copy._pod_uids = dict(self._pod_uids)
        return copy
