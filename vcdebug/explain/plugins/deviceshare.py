"""deviceshare: the node's cards, their use by pods, and the request. Upstream: plugins/deviceshare, api/devices."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, format_number, join_first_names, join_names, verb_for
from vcdebug.explain.answer import Advice, AdviceHarm, AdvisedFact
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits, card_shortage, npu_parts_request
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.grouping import group_by_key
from vcdebug.model.devices import DeviceLedger, container_limit, vgpu_annotations
from vcdebug.model.devices.cards import MIG_MODE, Card, CardSharing
from vcdebug.model.devices.gpu_exclusive import ExclusiveLedger
from vcdebug.model.devices.gpushare import GpuShareLedger
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.vgpu import REGISTER_ANNOTATION, REGISTER_FIELDS, VgpuLedger, misfit_reason
from vcdebug.model.devices.vgpu_annotations import (
    MEMORY_SHORT,
    NVIDIA,
    WHOLE_CARD,
    CardFilter,
    ContainerRequest,
    requests_of,
)
from vcdebug.model.names import NodeName
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.plugins.deviceshare import Deviceshare
from vcdebug.releases.devices import VGPU_HANDSHAKE, VGPU_MEMORY_PERCENTAGE
from vcdebug.snapshot.device_config import BUILT_IN_NAMES, DEVICE_CONFIG_NAME, DEVICE_CONFIG_NAMESPACE
from vcdebug.snapshot.manifest import annotations_of, object_in, status_of

BAR_WIDTH: Final = 12
PARTIAL_CARDS = "no pod gets parts of several cards"
NO_CARD = "the pod's annotations do not accept it"
NO_INSTANCE = "no instance of that size is left"


class CardState(NamedTuple):
    """One card."""

    name: str
    memory: int
    used_memory: int
    used_cores: int
    users: int
    most_users: int
    pods: tuple[str, ...]
    """Keys or UIDs of the pods on the card."""
    suits: bool
    """Whether the card could serve the pod's first container."""
    refusal: str
    """The reason why it could not; empty if it could."""


class CardOverview(NamedTuple):
    """A pod's request for a kind of cards, and the state of the cards."""

    request: str
    cards: tuple[CardState, ...]
    needed: int = 1
    """Cards that the pod's first container asks for."""


def card_overview(ledger: DeviceLedger, pod: Pod) -> CardOverview:
    """The pod's request and the cards of one ledger."""
    if isinstance(ledger, GpuShareLedger):
        memory, number = ledger.asked_amounts(pod)
        asks = [f"{memory} memory of one card"] if memory else []
        asks += [f"{count_noun(number, 'card')} of its own"] if number else []
        return CardOverview(" and ".join(asks), tuple(_shared_cards(ledger, memory, number)))
    if isinstance(ledger, ExclusiveLedger):
        return _vgpu_overview(ledger.capped_copy(pod), pod)
    if isinstance(ledger, HamiAscendLedger):
        return CardOverview(*_npu_states(ledger, pod))
    return _vgpu_overview(ledger, pod) if isinstance(ledger, VgpuLedger) else CardOverview("", ())


def _shared_cards(ledger: GpuShareLedger, memory: int, number: int) -> Iterator[CardState]:
    for index in ledger.card_indexes:
        free, pods = ledger.free_memory(index), tuple(ledger.pods_on(index))
        misfit = MEMORY_SHORT if free < memory else "a pod uses it" if number and pods else ""
        used = max(ledger.card_memory - free, 0)
        yield CardState(f"card {index}", ledger.card_memory, used, 0, len(pods), 0, pods, not misfit, misfit)


def _vgpu_overview(ledger: VgpuLedger, pod: Pod) -> CardOverview:
    criteria = CardFilter.of_pod(pod, ledger.rules)
    requests = tuple(ledger.resource_reqs(pod, ledger.cards)) or (ContainerRequest(0, 0, 0),)
    states = tuple(_card_state(card, requests[0], criteria, ledger.sharing) for card in ledger.cards.values())
    return CardOverview(", then ".join(map(_format_request, requests)), states, requests[0].number)


def _npu_states(ledger: HamiAscendLedger, pod: Pod) -> tuple[str, tuple[CardState, ...]]:
    cards = list(ledger.cards.values())
    requests = ledger.resource_reqs(pod, cards[0])
    first = requests[0] if requests else ContainerRequest(0, 0, 0)
    states = []
    for card in cards:
        misfit = PARTIAL_CARDS if ledger.asks_for_parts(pod, first) else ledger.misfit_reason(card, first, pod)
        users = (card.used_number, card.registered.users)
        usage = (card.used_memory, card.used_cores, *users)
        states.append(CardState(card.uuid, card.registered.memory, *usage, tuple(card.pods), not misfit, misfit))
    return ", then ".join(map(_format_request, requests)), tuple(states)


def _format_request(request: ContainerRequest) -> str:
    memory = f"{request.memory} of its memory" if request.percentage is None else f"{request.percentage}% of its memory"
    memory = "all of its memory" if request.percentage == WHOLE_CARD else memory
    cores = f" and {request.cores} cores" if request.cores else ""
    return f"{request.number} {'card' if request.number == 1 else 'cards'} with {memory}{cores}"


def _card_state(card: Card, request: ContainerRequest, criteria: CardFilter, sharing: CardSharing) -> CardState:
    misfit = _card_misfit(card, request, criteria, sharing)
    name = f"{card.uuid} {card.kind}".strip()
    users = (card.used_number, card.number)
    return CardState(name, card.memory, card.used_memory, card.used_core, *users, tuple(card.pods), not misfit, misfit)


def _card_misfit(card: Card, request: ContainerRequest, criteria: CardFilter, sharing: CardSharing) -> str:
    if not criteria.accepts_card(card.uuid, card.kind):
        return (
            NO_CARD
            if NVIDIA in card.kind
            else f"type {card.kind}, which the node's device plugin states, has no {NVIDIA} in it"
        )
    memory = request.memory_on(card.memory)
    shortage = "" if sharing.try_add_pod(card, memory) is not None else NO_INSTANCE
    return misfit_reason(card, request, memory, criteria.group) or shortage


# The cards as equations and constraints


def cards_equation(asked_node: AskedNode, name: str, overview: CardOverview, refusal: str | None) -> Equation:
    """The cards of a node: one term per card with its usage, and whether it suits the pod."""
    terms = tuple(Term(card.name, _card_figures(card), card.suits, _holders_note(card)) for card in overview.cards)
    title = f"{name} cards of {asked_node.node.name} for {asked_node.task.key}"
    columns = ("memory", "used", "of", "cores", "users", "at most")
    asks = f"asks for {overview.request}"
    return Equation(title, asks, columns, "check", terms, refusal is None, None, refusal or "")


def _card_figures(card: CardState) -> tuple[str, int, int, int | None, int, int | None]:
    """(bar of memory, used memory, memory, used cores, users, maximum users); None for what the card does not count."""
    filled = min(BAR_WIDTH, round(BAR_WIDTH * card.used_memory / card.memory)) if card.memory else 0
    bar = "█" * filled + "░" * (BAR_WIDTH - filled)
    counts_users = card.most_users > 0
    cores, max_users = (card.used_cores, card.most_users) if counts_users else (None, None)
    return bar, card.used_memory, card.memory, cores, card.users, max_users


def _holders_note(card: CardState) -> str:
    holders = f"held by {', '.join(card.pods)}" if card.pods else ""
    return "; ".join(words for words in (card.refusal, holders) if words)


FORMULA = "sum of what the ledgers score for the cards that they would give, rounded, × weight"


def score_equation(asked_node: AskedNode, part: str) -> Equation | None:
    """The score with one term per kind of device; None for the scores of Ascend devices."""
    plugin = asked_node.session.plugin_of_class(Deviceshare)
    if part.endswith("/batch"):
        return None
    ledgers = (
        {name: ledger.clone() for name, ledger in asked_node.node.devices.items()} if plugin.settings.weight > 0 else {}
    )
    scores = plugin.device_scores(asked_node.pod, ledgers)
    total = 0.0
    for _, score in scores:
        total = total + score
    verdict = plugin.weighted_score(total) if scores else 0.0
    npu_note = "by the use of the first card of each container"
    filter_note = "as the last pod that passed its filter left it"
    terms = tuple(
        Term(name, (Ratio(score),), None, npu_note if isinstance(ledgers[name], HamiAscendLedger) else filter_note)
        for name, score in scores
    )
    note = f"weight {plugin.settings.weight}: {format_number(verdict)}"
    return Equation(f"deviceshare on {asked_node.node.name}", FORMULA, ("score",), "check", terms, verdict, None, note)


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """Yields the card equation of each device kind that the pod requests, up to the first refusal."""
    policy = asked_node.session.plugin_of_class(Deviceshare).settings.policy
    for name, ledger in asked_node.node.devices.items():
        if ledger.has_device_request(asked_node.pod):
            # On a clone, since the filter of some ledgers records the pod on their cards.
            refusal = ledger.clone().filter_node(asked_node.pod, policy)
            yield cards_equation(asked_node, name, card_overview(ledger, asked_node.pod), refusal)
            if refusal is not None:
                return


CARD_REFUSALS: Final = ("hami-vgpuDeviceSharing error", "no ascend device available", "no enough gpu")
"""Texts of refusals that do not say what the cards lack."""


def find_card_shortages(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes with too few cards, requests for parts that no node provides, and nodes without a suitable card."""
    yield from _unregistered_cards(fits)
    yield from _short_registers(fits)
    yield from _silent_plugins(fits)
    yield from _too_few_cards(fits)
    yield from _parts_of_npus(fits)
    yield from _other_modes(fits)
    yield from _unsuitable_cards(fits)


NOT_INITIALIZED: Final = "node not initialized with device"
HAMI_PREFIX: Final = "hami.io/"


def _unregistered_cards(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for nodes without cards in the ledger, where Volcano's device plugin wrote no annotation."""
    nodes = [fits.view.session.nodes[node.name] for node in fits.refused_for(NOT_INITIALIZED)]
    unregistered = [node for node in nodes if REGISTER_ANNOTATION not in annotations_of(node.manifest)]
    # Newer releases place pods there nevertheless, but no device plugin gives them a card.
    repairs = len(unregistered) == len(fits.node_fits)
    counting = [node for node in unregistered if _counted_cards(node)]
    manifests = (fits.view.session.nodes[node.name].manifest for node in fits.node_fits)
    has_registered = any(REGISTER_ANNOTATION in annotations_of(manifest) for manifest in manifests)
    # Nodes without such cards need no device plugin where others have some.
    for node in counting or (() if has_registered else unregistered):
        foreign = [key for key in annotations_of(node.manifest) if key.startswith(HAMI_PREFIX) and "register" in key]
        instead = f"; it has {join_names(foreign)}, which another device plugin writes" if foreign else ""
        words = f"Run Volcano's own device plugin on {node.name}, and no other one."
        if counting and not foreign:
            instead = f", although its kubelet counts {_counted_cards(node)} {BUILT_IN_NAMES.number}"
            needs = "a version for this Volcano, and the right to patch nodes"
            words = f"See the log of the device plugin on {node.name}; it needs {needs}."
        yield ConstraintFailure(
            f"{node.name} lacks annotation {REGISTER_ANNOTATION}, which Volcano's own device plugin writes{instead}",
            (Advice.from_outside(words, AdviceHarm.CLUSTER)._replace(repairs=repairs),),
        )


def _short_registers(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for nodes of which an older device plugin describes the cards in fewer fields than are read."""
    release = fits.view.recording.snapshot.release.display_name()
    for node in [fits.view.session.nodes[fit.name] for fit in fits.refused_for(NOT_INITIALIZED)]:
        entries = annotations_of(node.manifest).get(REGISTER_ANNOTATION, "").split(":")
        fields = min((entry.count(",") + 1 for entry in entries if "," in entry), default=REGISTER_FIELDS)
        if fields < REGISTER_FIELDS:
            stated = f"{REGISTER_ANNOTATION} of {node.name} describes a card in {fields} fields"
            words = f"Run a version of Volcano's device plugin for this release on {node.name}."
            advice = Advice.from_outside(words, AdviceHarm.CLUSTER).as_repair()
            fewer = f"fewer than the {REGISTER_FIELDS} that {release} reads"
            yield ConstraintFailure(f"{stated}, {fewer}, so the node has no card", (advice,))


def _silent_plugins(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for nodes with registered cards that an older release leaves out, as no device plugin answers."""
    snapshot, key = fits.view.recording.snapshot, vgpu_annotations.HANDSHAKE_ANNOTATION
    if not snapshot.release.has_older_form(VGPU_HANDSHAKE):
        return
    nodes = [fits.view.session.nodes[fit.name] for fit in fits.refused_for(NOT_INITIALIZED)]
    registered = [node for node in nodes if REGISTER_ANNOTATION in annotations_of(node.manifest)]
    silent = [node for node in registered if not vgpu_annotations.is_plugin_alive(node.manifest, snapshot.now)]
    stated = {node.name: annotations_of(node.manifest).get(key) for node in silent}
    for lacks, names in group_by_key((text is None, name) for name, text in stated.items()).items():
        where, ending = join_first_names(names, len(names)), "s" if len(names) == 1 else ""
        has = f"{verb_for(len(names), 'has')} {key}: {stated[names[0]]}"
        state = f"lack{ending} annotation {key}" if lacks else has
        counts = f"{snapshot.release.display_name()} counts the cards of a node only while its device plugin answers"
        words = f"See the log of Volcano's device plugin on {where}; it needs the right to patch nodes."
        yield ConstraintFailure(
            f"{where} {state}; {counts}", (Advice.from_outside(words, AdviceHarm.CLUSTER).as_repair(),)
        )


def _counted_cards(node: NodeInfo) -> str:
    """The virtual GPUs that the node's kubelet counts; empty for none."""
    number = str(object_in(status_of(node.manifest).get("allocatable")).get(BUILT_IN_NAMES.number) or "")
    return "" if number == "0" else number


def _too_few_cards(fits: NodeFits) -> Iterator[ConstraintFailure]:
    shortages = [(card_shortage(fits.view.session.nodes[node.name], fits.task), node.name) for node in fits.node_fits]
    nodes_by_shortage = group_by_key((cards, name) for cards, name in shortages if cards is not None)
    for (free, asked, who), names in nodes_by_shortage.items():
        have = f"{join_names(names)} {'has' if len(names) == 1 else 'have'} {count_noun(free, 'card')}"
        per = "NPU per pod" if "NPU" in who else "virtual GPU per container"
        kind, _, each = per.partition(" per ")
        advice = (
            Advice.for_owner(f"Request {count_noun(free, kind)} per {each}, with more memory or cores of it."),
            Advice.cluster_admin(f"Add a node with {count_noun(asked, 'card')}."),
        )
        yield ConstraintFailure(f"{who} from another physical card: {asked} asked, {have}", advice)


def _parts_of_npus(fits: NodeFits) -> Iterator[ConstraintFailure]:
    parts = (npu_parts_request(fits.view.session.nodes[node.name], fits.task) for node in fits.node_fits)
    for number, memory in dict.fromkeys(request for request in parts if request is not None):
        yield ConstraintFailure(
            f"A container asks {number} NPUs with partial memory ({memory}); partial NPUs are allocated only one per "
            "container",
            (Advice.for_owner("Request one NPU per container, or all of their memory."),),
        )


def _other_modes(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for nodes whose cards are shared in another mode than the pod's annotation names."""
    by_mode = dict[tuple[str, str, str], list[NodeName]]()
    for node in [fits.view.session.nodes[fit.name] for fit in fits.refused_for(CARD_REFUSALS[0])]:
        for ledger in [each for each in node.devices.values() if isinstance(each, VgpuLedger) and each.cards]:
            if (mode := ledger.unmet_mode(fits.task.pod)) is not None:
                unlisted = _kinds_without_geometry(node, ledger)
                by_mode.setdefault((mode, ledger.sharing.mode, unlisted), []).append(node.name)
    for (mode, present, unlisted), names in by_mode.items():
        key, where = vgpu_annotations.MODE_ANNOTATION, join_names(names, 3)
        text = f"Annotation {key} of the pod is {mode}, and the cards of {where} are shared in mode {present}"
        edit = f"Pod/{fits.task.key}:metadata.annotations[{key}]={present}"
        advice = [Advice.for_owner(f"Set annotation {key} of the pod to {present}, or remove it.", edit)]
        if unlisted:
            text += f" (registered as {MIG_MODE}, but the device configuration lists no geometry for {unlisted})"
            place = f"knownMigGeometries of ConfigMap {DEVICE_CONFIG_NAMESPACE}/{DEVICE_CONFIG_NAME}"
            words = f"List {unlisted} in {place}, and restart the scheduler, which reads it once."
            advice.insert(0, Advice.from_outside(words, AdviceHarm.CLUSTER))
        yield ConstraintFailure(text, tuple(advice))


def _kinds_without_geometry(node: NodeInfo, ledger: VgpuLedger) -> str:
    """The kinds of the cards that a node registers in MIG mode, if the scheduler knows no geometry; else empty."""
    is_lost = ledger.sharing.mode != MIG_MODE and f",{MIG_MODE}" in annotations_of(node.manifest)[REGISTER_ANNOTATION]
    return join_names(dict.fromkeys(card.kind for card in ledger.cards.values() if is_lost and not card.geometries))


def _unsuitable_cards(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for nodes with too few suitable cards when the cycle ends, grouped by what the cards lack."""
    pod, by_lack = fits.task.pod, dict[tuple[str, str, str, bool], list[NodeName]]()
    refusing = dict.fromkeys(node.name for message in CARD_REFUSALS for node in fits.refused_for(message))
    for name in refusing:
        ledgers = fits.view.session.nodes[name].devices.values()
        for overview in [card_overview(ledger, pod) for ledger in ledgers if ledger.has_device_request(pod)]:
            suiting, number = len([one for one in overview.cards if one.suits]), len(overview.cards)
            # Parts of several cards are a failure of their own, and so is a request for more cards than there are.
            if suiting < max(overview.needed, 1) <= number and PARTIAL_CARDS not in [c.refusal for c in overview.cards]:
                qualify = f"{suiting} of {number} cards of {{}} qualify" if suiting else "no card of {} qualifies"
                is_used = any(one.users and not one.suits for one in overview.cards)
                by_lack.setdefault((overview.request, qualify, _format_lacks(overview), is_used), []).append(name)
    for (asks, qualify, lacks, is_used), names in by_lack.items():
        less = Advice.for_owner("Request less of the card, or another card type.")
        rule, less = next(_settled_memory(fits, fits.view.session.nodes[names[0]]), ("", less))
        each = "on each node, " if len(names) > 1 else ""
        text = f"The pod asks {asks}; {qualify.format(join_names(names))} ({each}{lacks}){rule}"
        free = Advice.queue_admin(f"Free a card on {join_names(names, 1)}.")
        yield ConstraintFailure(text, (free, less) if is_used else (less,))


def _settled_memory(fits: NodeFits, node: NodeInfo) -> Iterator[AdvisedFact]:
    """Yields the clause where the release takes one card's memory as the request for all of a container."""
    release, task = fits.view.recording.snapshot.release, fits.task
    ledgers = node.devices.values() if release.has_older_form(VGPU_MEMORY_PERCENTAGE) else ()
    for ledger in (one for one in ledgers if isinstance(one, VgpuLedger) and one.has_device_request(task.pod)):
        request, names = next(iter(requests_of(task.pod, ledger.rules.names))), ledger.rules.names
        # A card that is refused for another reason, such as its type, does not count.
        cards = [card for card in card_overview(ledger, task.pod).cards if card.suits or card.refusal == MEMORY_SHORT]
        amounts = sorted((card.memory - card.used_memory for card in cards), reverse=True)[: request.number]
        stated = [container_limit(one, names.number) is not None for one in task.pod.spec.get("containers") or ()]
        settles = not request.memory and any(stated) and len({card.memory for card in cards}) > 1
        if settles and len(amounts) == request.number and amounts[-1] > 0:
            path = f"spec.containers[{stated.index(True)}].resources.limits[{names.memory}]"
            alike = [one for one in fits.view.unplaced_tasks if one.task_role == task.task_role]
            edits = (f"Pod/{one.key}:{path}={amounts[-1]}" for one in alike)
            have = f"{count_noun(request.number, 'card')} of {node.name} {verb_for(request.number, 'has')} that"
            fixed = join_names(VGPU_MEMORY_PERCENTAGE.fixed_in)
            rule = f"; {release.display_name()} asks the memory of one card from all of them (fixed in {fixed})"
            yield AdvisedFact(rule, Advice.for_owner(f"State {names.memory} {amounts[-1]} per card: {have}.", *edits))


def _format_lacks(drawing: CardOverview) -> str:
    lacks = Counter(
        (
            f"only {card.memory - card.used_memory} of {card.memory} memory free"
            if card.memory
            else "the node's device plugin registers no memory of it"
        )
        if card.refusal == MEMORY_SHORT
        else card.refusal
        for card in drawing.cards
        if not card.suits
    )
    return "; ".join(f"{count_noun(number, 'card')}: {reason}" for reason, number in lacks.items())


def uncounted_shares(view: JobView) -> Iterator[AdvisedFact]:
    """Yields the fact about a placed pod whose part of a card's memory the release counts as none."""
    release, fixed = view.recording.snapshot.release, join_names(VGPU_MEMORY_PERCENTAGE.fixed_in)
    on_nodes = [task for task in view.tasks.values() if task.node_name in view.session.nodes]
    for task in on_nodes if release.has_older_form(VGPU_MEMORY_PERCENTAGE) else ():
        ledgers = view.session.nodes[task.node_name].devices.values()
        for ledger in (one for one in ledgers if isinstance(one, VgpuLedger) and one.cards):
            # An amount overrides a percentage.
            asked = [one for one in requests_of(task.pod, ledger.rules.names) if not one.memory]
            part = next((one.percentage for one in asked if 0 < (one.percentage or 0) < WHOLE_CARD), 0)
            whole = next(iter(ledger.cards.values())).memory
            amount = f"{ledger.rules.names.memory} ({whole * (part or 0) // 100} of {whole} on {task.node_name})"
            rule = f"in {release.display_name()} less than {WHOLE_CARD}% counts as 0 (fixed in {fixed})"
            if part:
                fact = f"{task.name} asks {part}% of its card's memory: {rule}, so none of it is reserved."
                yield AdvisedFact(fact, Advice.for_owner(f"Request an amount, {amount}, or upgrade."))
                return


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_card_shortages)
