"""A node's cards as a filter of devices sees them: drawn, with who holds them and what does not suit."""

from __future__ import annotations

from typing import Final

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term
from vcdebug.model.devices.drawn import CardState, Drawing

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
