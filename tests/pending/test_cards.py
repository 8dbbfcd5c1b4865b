"""Why a pod gets no shared cards: upstream's message is the same for every reason."""

from collections.abc import Callable

import pytest

from tests.builders import node, pod, pod_group
from tests.releases.shown_devices import asking, cards, held, of_memory, shared_by_memory, sharing
from tests.releases.shown_npus import holding, npus, of_npus, placing
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
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
    ("snapshot", "in_use", "words"),
    [
        (
            of_two_cards,
            True,
            "1 card with 500 of its memory; no card of n1 qualifies (1 card: only 100 of 1000 memory free; 1 card: ",
        ),
        (of_instances, False, "no card of n1 qualifies (2 cards: no instance of that size is left)"),
        (
            of_shared_memory,
            False,
            "1001 memory of one card; no card of n1 qualifies (1 card: only 1000 of 1000 memory free)",
        ),
        (of_npus_in_use, True, "no card of n1 qualifies (1 card: only 0 of 21527 memory free)"),
    ],
)
def test_unsuitable_cards_are_listed_by_what_they_lack(
    snapshot: Callable[[], Snapshot], in_use: bool, words: str
) -> None:
    """A card that no pod uses cannot be freed."""
    found = why(snapshot())
    assert words in found.full_text
    assert in_use == ("Free a card on n1." in found.advice_texts)


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


def of_cards(*memories: int, used: int = 0, number: int = 2, memory: str = "", release: str = "v1.12.2") -> Explanation:
    """The answer for a pod that asks for cards of a node with these memories; `used` is held on the first one."""
    lines = [f"gpu-{name},10,{size},NVIDIA-A100,true,hami-core:" for name, size in zip("abc", memories, strict=False)]
    registered = cards(1)
    notes = {"register": "".join(lines), "handshake": "Reported 2026-10-31 23:59:50"}
    registered["metadata"]["annotations"] = {f"volcano.sh/node-vgpu-{key}": text for key, text in notes.items()}
    waits = asking("j-0", memory=memory)
    plain = {"name": "sidecar", "resources": {"requests": {"cpu": "1"}}}
    limits = {"volcano.sh/vgpu-number": str(number)} | ({"volcano.sh/vgpu-memory": memory} if memory else {})
    waits["spec"]["containers"] = [plain, {"name": "c", "resources": {"limits": limits, "requests": {"cpu": "1"}}}]
    runs = [pod_group("r"), held("r-0", "a", memory=used)] if used else []
    return why(snapshot_at_release(sharing(registered, runs, pod_group("j"), waits), release))


SETTLED = "asks the memory of one card from all of them"


def test_one_card_too_small_for_what_another_one_settles_is_named_with_an_amount_that_fits() -> None:
    found = of_cards(800, 1000)
    words = "The pod asks 2 cards with 1000 of its memory; 1 of 2 cards of n1 qualify (1 card: only 800 of 800 "
    assert words in found.full_text
    assert f"v1.12.2 {SETTLED} (fixed in v1.14.0)" in found.full_text
    (state,) = [one for one in found.advised if one.text.startswith("State volcano.sh/vgpu-memory 800 per card")]
    assert ("Pod/default/j-0:spec.containers[1].resources.limits[volcano.sh/vgpu-memory]=800",) == state.edits
    assert of_cards(800, 1000, memory="800").scheduled


def of_kinds(asked: str, *, memory: str = "", used: int = 0) -> Explanation:
    """As `of_cards`, for one card of kind A and one of kind B, and a pod that accepts one kind."""
    registered, waits = cards(1), asking("j-0", memory=memory)
    lines = "gpu-a,10,800,NVIDIA-A,true,hami-core:gpu-b,10,1000,NVIDIA-B,true,hami-core:"
    notes = {"register": lines, "handshake": "Reported 2026-10-31 23:59:50"}
    registered["metadata"]["annotations"] = {f"volcano.sh/node-vgpu-{key}": text for key, text in notes.items()}
    waits["metadata"]["annotations"]["nvidia.com/use-gputype"] = asked
    amounts = {"volcano.sh/vgpu-memory": memory} if memory else {"volcano.sh/vgpu-number": "2"}
    waits["spec"]["containers"][0]["resources"] = {"limits": amounts, "requests": {"cpu": "1"}}
    runs = [pod_group("r"), *(held(f"r-{name}", name, memory=used) for name in "ab" if used)]
    return why(snapshot_at_release(sharing(registered, runs, pod_group("j"), waits), "v1.12.2"))


@pytest.mark.parametrize("asked", ["NVIDIA-B", "NVIDIA-C"])
def test_the_memory_of_one_card_is_not_blamed_for_cards_of_another_kind(asked: str) -> None:
    found = of_kinds(asked)
    assert "the pod's annotations do not accept it" in found.full_text
    assert SETTLED not in found.full_text
    assert not any(words.startswith("State ") for words in found.advice_texts)


@pytest.mark.parametrize("memory", ["0", "500m"])
def test_memory_of_no_whole_amount_without_a_number_of_cards_is_explained(memory: str) -> None:
    found = of_kinds("NVIDIA", memory=memory, used=100)
    assert "no card of n1 qualifies (1 card: only 700 of 800 memory free" in found.full_text
    assert not any(words.startswith("State ") for words in found.advice_texts)


@pytest.mark.parametrize("more", [0, 1, 2])
def test_cards_of_several_nodes_are_counted_on_each(more: int) -> None:
    nodes = [cards(2) for _ in range(more + 1)]
    for number, one in enumerate(nodes, start=1):
        one["metadata"] |= {"name": f"n{number}", "uid": f"n{number}"}
    names = ", ".join(f"n{number}" for number in range(1, more + 2))
    found = why(sharing(nodes, pod_group("j"), asking("j-0", memory="1001")))
    each = "on each node, " if more else ""
    assert f"no card of {names} qualifies ({each}2 cards: only 1000 of 1000 memory free)" in found.full_text


def test_too_few_suitable_cards_are_counted_where_the_release_settles_nothing() -> None:
    for found in (of_cards(800, 1000, memory="900"), of_cards(800, 1000, memory="900", release="v1.15.1")):
        assert "2 cards with 900 of its memory; 1 of 2 cards of n1 qualify (1 card: only 800 of" in found.full_text
        assert SETTLED not in found.full_text
    busy = of_cards(1000, 1000, used=100)
    assert "1 of 2 cards of n1 qualify (1 card: only 900 of 1000 memory free)" in busy.full_text
    assert SETTLED not in busy.full_text


def test_cards_that_suffice_or_are_fewer_than_asked_have_other_sentences() -> None:
    assert of_cards(800, 1000, release="v1.15.1").scheduled
    few = of_cards(800, 1000, number=3)
    assert "3 asked, n1 has 2 cards" in few.full_text
    assert "qualify" not in few.full_text


@pytest.mark.parametrize("release", ["v1.10.0", "v1.12.2", "v1.13.3"])
@pytest.mark.parametrize("registered", [True, False])
def test_a_node_without_cards_needs_no_device_plugin_where_another_node_has_some(
    registered: bool, release: str
) -> None:
    host, waits = cards(1), asking("j-0", memory="500")
    host["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = "Reported 2026-10-31 23:59:50"
    if not registered:
        del host["metadata"]["annotations"]["volcano.sh/node-vgpu-register"]
    limits = {"volcano.sh/vgpu-number": "2", "volcano.sh/vgpu-memory": "500"}
    waits["spec"]["containers"] = [{"name": "c", "resources": {"limits": limits, "requests": {"cpu": "1"}}}]
    found = why(snapshot_at_release(sharing([host, node("n2")], pod_group("j"), waits), release))
    lacks = "{} lacks annotation volcano.sh/node-vgpu-register"
    assert registered is not (lacks.format("n1") in found.full_text)
    assert registered is ("2 asked, n1 has 1 card" in found.full_text)
    assert lacks.format("n2") not in found.full_text
    assert not any("Run Volcano's own device plugin on n2" in words for words in found.advice_texts)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("gpu-a,10,1000,NVIDIA-A,true:", "describes a card in 5 fields, fewer than the 6 that v1.12.2 reads"),
        (
            "gpu-a,10,1000,100,NVIDIA-A,0,true,hami-core:",
            "1 card: type 100, which the node's device plugin states, has no NVIDIA in it",
        ),
        ("gpu-a,10,1000,NVIDIA-A,true,hami-core:", ""),
    ],
)
def test_cards_that_a_device_plugin_of_another_version_registers_are_said_to_be_unreadable(
    line: str, fact: str
) -> None:
    registered, waits = cards(1), asking("j-0", memory="500")
    notes = {"register": line, "handshake": "Reported 2026-10-31 23:59:50"}
    registered["metadata"]["annotations"] = {f"volcano.sh/node-vgpu-{key}": text for key, text in notes.items()}
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "500"}
    waits["spec"]["containers"] = [{"name": "c", "resources": {"limits": limits, "requests": {"cpu": "1"}}}]
    found = why(snapshot_at_release(sharing(registered, pod_group("j"), waits), "v1.12.2"))
    assert found.scheduled is (fact == "")
    assert fact in found.full_text
    older = why(snapshot_at_release(sharing(registered, pod_group("j"), waits), "v1.14.2"))
    assert (older.cause_code == "panic") is fact.startswith("describes")
    assert older.cause_code != "panic" or older.advice_texts[0].startswith(
        "Upgrade Volcano (v1.15.0: #5290), or correct"
    )


@pytest.mark.parametrize("release", ["v1.10.0", "v1.13.3", "v1.15.1"])
@pytest.mark.parametrize(
    ("handshake", "state"),
    [
        (None, "n1 lacks annotation volcano.sh/node-vgpu-handshake; "),
        (
            "Deleted_2026.10.31 23:59:50",
            "n1 has volcano.sh/node-vgpu-handshake: Deleted_2026.10.31 23:59:50; ",
        ),
        ("Requesting_2020.01.01 00:00:00", "handshake: Requesting_2020.01.01 00:00:00; "),
        ("Reported 2026-10-31 23:59:50", ""),
        ("Requesting", ""),
    ],
)
def test_a_device_plugin_that_does_not_answer_an_older_scheduler_is_named(
    handshake: str | None, state: str, release: str
) -> None:
    host = cards(1)
    host["metadata"]["annotations"].pop("volcano.sh/node-vgpu-handshake", None)
    if handshake is not None:
        host["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = handshake
    waits = asking("j-0", memory="500")
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": "500"}
    waits["spec"]["containers"] = [{"name": "c", "resources": {"limits": limits, "requests": {"cpu": "1"}}}]
    found = why(snapshot_at_release(sharing(host, pod_group("j"), waits), release))
    is_silent = bool(state) and release != "v1.15.1"
    if handshake == "Requesting" and release != "v1.15.1":
        assert found.cause_code == "panic", "upstream reads the time behind `_`"
        return
    assert found.scheduled is not is_silent
    assert not is_silent or f"{state}{release} counts the cards of a node only while its" in found.full_text
    assert is_silent is any("See the log of Volcano's device plugin on n1" in words for words in found.advice_texts)


@pytest.mark.parametrize("running", ["nvidia.com/gpu", "volcano.sh/vgpu-number", "cpu"])
@pytest.mark.parametrize("asked", ["nvidia.com/gpu", "volcano.sh/vgpu-number"])
def test_cards_that_a_node_has_as_two_resources_are_said_to_be_counted_apart(asked: str, running: str) -> None:
    host = cards()
    for key in ("capacity", "allocatable"):
        host["status"][key] = {**host["status"][key], "nvidia.com/gpu": "2"}
    held = {"volcano.sh/vgpu-memory": "100"} if running.startswith("volcano") else {}
    more = {"volcano.sh/vgpu-memory": "100"} if asked.startswith("volcano") else {}
    runs = [pod_group("r", phase="Running"), pod("r-0", "r", on="n1", requests={running: "1", **held})]
    waits = [pod_group("j"), pod("j-0", "j", requests={asked: "1", **more})]
    for one in (runs[1], waits[1]):
        (container,) = one["spec"]["containers"]
        container["resources"]["limits"] = container["resources"]["requests"]
    found = why(sharing(host, runs, waits))
    assert found.scheduled
    apart = f"n1 has cards as {asked} and as {running}, which the scheduler counts apart: r-0 holds {running} there"
    assert (running not in (asked, "cpu")) is any(fact.startswith(apart) for fact in found.dominant.facts)


@pytest.mark.parametrize("waits", [True, False])
def test_gangs_that_hold_cards_and_lack_more_of_them_are_a_possible_deadlock(waits: bool) -> None:
    groups = [pod_group(name, min_member=2, phase="Running") for name in ("j", "other")]
    pods = [held("j-0", "a", group="j", memory=600), held("other-0", "b", group="other", memory=600)]
    pods += [asking("j-1", memory="900"), *([asking("other-1", "other", memory="900")] if waits else [])]
    deadlock = "Possible deadlock: n1 is in use by other-0 of default/other; that job and this one (1 running pod)"
    assert waits is any(fact.startswith(deadlock) for fact in why(sharing(cards(), groups, pods)).dominant.facts)


def test_cards_that_are_registered_without_memory_are_named() -> None:
    found = of_cards(0, 0, number=1, memory="100")
    assert "2 cards: the node's device plugin registers no memory of it" in found.full_text
