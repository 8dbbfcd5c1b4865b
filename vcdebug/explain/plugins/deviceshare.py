"""deviceshare: the node's cards, what pods hold of them, and what the pod asks for.

Upstream: plugins/deviceshare, api/devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcdebug.amount_text import number
from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.model.devices.drawn import CardState, Drawing, drawn
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.ledger import DeviceLedger
from vcdebug.plugins.deviceshare import Deviceshare

BAR: Final = 12


def cards(asked: Asked, name: str, found: Drawing, refusal: str | None) -> Equation:
    """One line per card."""
    terms = tuple(Term(card.name, _figures(card), card.suits, _holders(card)) for card in found.cards)
    title = f"{name} cards of {asked.node.name} for {asked.task.key}"
    columns = ("memory", "used", "of", "cores", "users", "at most")
    return Equation(title, f"asks for {found.asks}", columns, "check", terms, refusal is None, None, refusal or "")


def _figures(card: CardState) -> tuple[str, int, int, int | None, int, int | None]:
    """Memory as a bar and in figures; cores and the number of users where the card counts them."""
    filled = min(BAR, round(BAR * card.used_memory / card.memory)) if card.memory else 0
    bar = "█" * filled + "░" * (BAR - filled)
    virtual = card.most_users > 0
    cores, most = (card.used_cores, card.most_users) if virtual else (None, None)
    return bar, card.used_memory, card.memory, cores, card.users, most


def _holders(card: CardState) -> str:
    held = f"held by {', '.join(card.pods)}" if card.pods else ""
    return "; ".join(words for words in (card.why, held) if words)


FORMULA = "sum of what the ledgers score for the cards that they would give, rounded, × weight"


def inside(asked: Asked, part: str) -> Equation | None:
    """One line per kind of device; nothing for the scores that only Ascend devices get."""
    plugin = asked.plugin(Deviceshare)
    if part.endswith("/batch"):
        return None
    ledgers = (
        {name: ledger.clone() for name, ledger in asked.node.devices.items()} if plugin.settings.weight > 0 else {}
    )
    found = plugin.device_scores(asked.pod, ledgers)
    total = 0.0
    for _, score in found:
        total = total + score
    verdict = plugin.weighted(total) if found else 0.0
    terms = tuple(Term(name, (Ratio(score),), None, _stands(ledgers[name])) for name, score in found)
    note = f"weight {plugin.settings.weight}: {number(verdict)}"
    return Equation(f"deviceshare on {asked.node.name}", FORMULA, ("score",), "check", terms, verdict, None, note)


def _stands(ledger: DeviceLedger) -> str:
    npus = isinstance(ledger, HamiAscendLedger)
    return (
        "by the use of the first card of each container" if npus else "as the last pod that passed its filter left it"
    )


def refusals(asked: Asked) -> Iterator[Equation]:
    """The cards of each ledger that the pod asks."""
    policy = asked.plugin(Deviceshare).settings.policy
    for name, ledger in asked.node.devices.items():
        if ledger.has_request(asked.pod):
            refusal = ledger.clone().filter(asked.pod, policy)
            yield cards(asked, name, drawn(ledger, asked.pod), refusal)
            if refusal is not None:
                return


WORDS = PluginWords(scores=inside, refusals=refusals)
