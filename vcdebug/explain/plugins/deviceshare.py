"""deviceshare: the node's cards, what pods hold of them, and what the pod asks for.

Upstream: plugins/deviceshare, api/devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.model.devices.card_states import CardOverview, CardState, card_overview
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.ledger import DeviceLedger
from vcdebug.plugins.deviceshare import Deviceshare

BAR_WIDTH: Final = 12


def cards_equation(asked: AskedNode, name: str, found: CardOverview, refusal: str | None) -> Equation:
    """One line per card."""
    terms = tuple(Term(card.name, _card_figures(card), card.suits, _holders_note(card)) for card in found.cards)
    title = f"{name} cards of {asked.node.name} for {asked.task.key}"
    columns = ("memory", "used", "of", "cores", "users", "at most")
    return Equation(title, f"asks for {found.asks}", columns, "check", terms, refusal is None, None, refusal or "")


def _card_figures(card: CardState) -> tuple[str, int, int, int | None, int, int | None]:
    """Memory as a bar and in figures; cores and the number of users where the card counts them."""
    filled = min(BAR_WIDTH, round(BAR_WIDTH * card.used_memory / card.memory)) if card.memory else 0
    bar = "█" * filled + "░" * (BAR_WIDTH - filled)
    virtual = card.most_users > 0
    cores, most = (card.used_cores, card.most_users) if virtual else (None, None)
    return bar, card.used_memory, card.memory, cores, card.users, most


def _holders_note(card: CardState) -> str:
    held = f"held by {', '.join(card.pods)}" if card.pods else ""
    return "; ".join(words for words in (card.why, held) if words)


FORMULA = "sum of what the ledgers score for the cards that they would give, rounded, × weight"


def score_equation(asked: AskedNode, part: str) -> Equation | None:
    """One line per kind of device; nothing for the scores that only Ascend devices get."""
    plugin = asked.plugin_of_kind(Deviceshare)
    if part.endswith("/batch"):
        return None
    ledgers = (
        {name: ledger.clone() for name, ledger in asked.node.devices.items()}
        if plugin.device_settings.weight > 0
        else {}
    )
    found = plugin.device_scores(asked.pod, ledgers)
    total = 0.0
    for _, score in found:
        total = total + score
    verdict = plugin.weighted_score(total) if found else 0.0
    terms = tuple(Term(name, (Ratio(score),), None, _score_note(ledgers[name])) for name, score in found)
    note = f"weight {plugin.device_settings.weight}: {format_number(verdict)}"
    return Equation(f"deviceshare on {asked.node.name}", FORMULA, ("score",), "check", terms, verdict, None, note)


def _score_note(ledger: DeviceLedger) -> str:
    npus = isinstance(ledger, HamiAscendLedger)
    return (
        "by the use of the first card of each container" if npus else "as the last pod that passed its filter left it"
    )


def check_equations(asked: AskedNode) -> Iterator[Equation]:
    """The cards of each ledger that the pod asks."""
    policy = asked.plugin_of_kind(Deviceshare).device_settings.policy
    for name, ledger in asked.node.devices.items():
        if ledger.has_device_request(asked.pod):
            refusal = ledger.clone().filter_node(asked.pod, policy)
            yield cards_equation(asked, name, card_overview(ledger, asked.pod), refusal)
            if refusal is not None:
                return


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations)
