"""Why a pod gets no shared cards: upstream's message is the same for every reason."""

from collections.abc import Callable

import pytest

from tests.builders import node, pod_group
from tests.releases.shown_devices import asking, cards, held, of_memory, shared_by_memory, sharing
from tests.releases.shown_npus import holding, npus, of_npus, placing
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot

CUT = "nvidia: {resourceCountName: volcano.sh/vgpu-number, resourceMemoryName: volcano.sh/vgpu-memory, "
CUT += "knownMigGeometries: [{models: [NVIDIA], allowedGeometries: [{group: g, geometries: ["
CUT += "{name: 1g, memory: 300, count: 2}]}]}]}"


OTHER_KINDS = CUT.replace("[NVIDIA]", "[H200]")


def why(snapshot: Snapshot) -> Explanation:
    return explain_by_name(replay_cycle(snapshot), "default/j")


def of_two_cards() -> Snapshot:
    """A node whose first card is nearly full and whose second card has no core left."""
    busy = asking("r-1", "r", on="n1", vgpu_ids_new="gpu-b,NVIDIA,100,100:")
    runs = [pod_group("r"), held("r-0", "a", memory=900), busy]
    return sharing(cards(2), runs, pod_group("j"), asking("j-0", memory="500"))


def of_instances(asked_mode: str = "", config: str | None = CUT) -> Snapshot:
    """Two cards that are registered in MIG mode, and a pod that may name a mode."""
    pod = asking("j-0", memory="500", **({"vgpu_mode": asked_mode} if asked_mode else {}))
    snapshot = sharing(cards(2), pod_group("j"), pod)
    registered = snapshot.objects_of("Node")[0]["metadata"]["annotations"]
    registered["volcano.sh/node-vgpu-register"] = registered["volcano.sh/node-vgpu-register"].replace(
        "hami-core", "mig"
    )
    snapshot.device_config = config
    return snapshot


def of_shared_memory() -> Snapshot:
    return shared_by_memory(pod_group("j"), of_memory("j-0", "j", "1001"))


def of_npus_in_use() -> Snapshot:
    runs = [pod_group("r"), holding("r-0", memory=21527)]
    return placing(npus(), runs, pod_group("j"), of_npus("j-0", number="1"))


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (
            of_two_cards,
            "1 card with 500 memory; no card of n1 qualifies (1 card: its memory is short, 100 of 1000 free; 1 card: ",
        ),
        (of_instances, "no card of n1 qualifies (2 cards: no instance of that size is left)"),
        (
            of_shared_memory,
            "1001 memory of one card; no card of n1 qualifies (1 card: its memory is short, 1000 of 1000 free)",
        ),
        (of_npus_in_use, "no card of n1 qualifies (1 card: its memory is short, 0 of 21527 free)"),
    ],
)
def test_unsuitable_cards_are_listed_by_what_they_lack(snapshot: Callable[[], Snapshot], words: str) -> None:
    found = why(snapshot())
    assert words in found.full_text
    assert "Free a card on n1." in found.advice_texts


def test_explain_omits_cards_if_one_is_suitable() -> None:
    """The pod is Pending for lack of cpu."""
    waits = asking("j-0", memory="500")
    waits["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000"
    assert "cards" not in why(sharing(cards(1), node("n2"), pod_group("j"), waits)).full_text


GEOMETRY = "registered as mig, but the device configuration lists no geometry for NVIDIA-A"


@pytest.mark.parametrize(
    ("asked", "config", "present", "unknown"),
    [("mig", None, "hami-core", True), ("mig", OTHER_KINDS, "hami-core", True), ("hami-core", CUT, "mig", False)],
)
def test_a_mode_that_no_card_has_is_named(asked: str, config: str | None, present: str, unknown: bool) -> None:
    """A card in MIG mode without a known geometry counts as shared in mode hami-core."""
    found = why(of_instances(asked, config))
    assert f"volcano.sh/vgpu-mode of the pod is {asked}, and the cards of n1 are shared in mode {present}" in (
        found.full_text
    )
    assert unknown == (GEOMETRY in found.full_text)
    assert unknown == ("knownMigGeometries" in " ".join(found.advice_texts))


@pytest.mark.parametrize(("asked", "config"), [("mig", CUT), ("", CUT), ("", None), ("hami-core", None)])
def test_a_mode_that_the_cards_have_is_not_named(asked: str, config: str | None) -> None:
    assert "vgpu-mode" not in why(of_instances(asked, config)).full_text
