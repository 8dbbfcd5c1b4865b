"""deviceshare: the node's cards, what pods hold of them, and what the pod asks for.

Upstream: plugins/deviceshare, api/devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.asked import Asked
from vcdebug.explain.cards import cards
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.model.devices.drawn import drawn
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.ledger import DeviceLedger
from vcdebug.plugins.deviceshare import Deviceshare

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
    note = f"weight {plugin.settings.weight}: {verdict:g}"
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
