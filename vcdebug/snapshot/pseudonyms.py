"""Pseudonyms: other words for names, in the same order, so that whatever compares or sorts comes to the same.

A text is read as words (letters, digits, underscores) and what stands between them. A word's leading digits stay, since
the index at the end of a pod's name decides an order; the rest of the word is replaced, equal ones by equal ones and
smaller ones by smaller ones. As all that can stand between words of a name sorts before letters, the order of whole
names stays as well, and so does that of names put together, as `namespace/name`.

Of an address of four numbers, as in `ip-10-0-17-3`, only the first number stays: the rest becomes one word, in the
order of all addresses and of whatever else begins with that number, as `ip-10-5` does. That word begins with a digit,
so that it sorts before letters as a number does. Where such a number is the index of a pod (`sweep-1-0-2-3`), it stays
behind that word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from vcdebug.snapshot.redact_words import COMPOSED_PREFIXES, KEPT_TEXTS, PREFIXES, SENTENCE_WORDS, SUFFIXES

LETTER = r"[0-9A-Za-z_\u0080-\U0010ffff]"
ADDRESS = re.compile(rf"(?<!{LETTER})[0-9]{{1,3}}([-.])[0-9]{{1,3}}\1[0-9]{{1,3}}\1[0-9]{{1,3}}(?!{LETTER})")
HEAD = re.compile(rf"(?<!{LETTER})([0-9]{{1,3}}[-.])[0-9]")
"""Where an address could begin: its first number and what stands behind it."""
WORD = re.compile(rf"([0-9]*)({LETTER}*)")
PIECES = re.compile(r"[^-0-9A-Za-z_./]+")
PIECE = re.compile(r"[-0-9A-Za-z_./\u0080-\U0010ffff]+")
DIGIT = re.compile("[0-9]")
PLAIN_VALUE = re.compile(
    r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?(m|k|n|u|[KMGTPE]i?|%)?"
    r"|(\d+(\.\d+)?(ns|us|ms|s|m|h))+"
    r"|\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
"""Numbers, quantities, durations and times stay as they are."""

FIRST_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
LETTERS = "0123456789" + FIRST_LETTERS
SEPARATORS = "-."
"""What sorts before all letters: only this lies between `1` and `10`."""
DIGITS = "abcdefghijklmnopqrstuvwxyz"
MIN_WIDTH = 2
AFTER_NUMBERS = ":"
"""What sorts right behind all that begins with a digit."""
HIDDEN_ADDRESS = "0"
"""An address that only a sentence names."""

_SENTENCE = frozenset(SENTENCE_WORDS)


class Pseudonyms:
    """The words of a snapshot and what each of them becomes: collect every text first, then rewrite them."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._fixed: dict[str, None] = dict.fromkeys(
            word for beginning in COMPOSED_PREFIXES for word in _iter_words(beginning)
        )
        self._become: Mapping[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._tails: dict[str, dict[str, None]] = {}
        """What stands behind the first number of what is no address, by that number."""
        self._indexed: dict[str, None] = {}
        """Addresses whose last number is an index."""

    def collect_words(self, text: str) -> str:
        """Take note of a text's words; the text comes back as it is."""
        addresses = (
            [] if PLAIN_VALUE.fullmatch(text) is not None else [found.span() for found in ADDRESS.finditer(text)]
        )
        for head in HEAD.finditer(text):
            if not any(start <= head.start() < end for start, end in addresses):
                self._tails.setdefault(head[1], {})[text[head.end(1) :]] = None
        if PLAIN_VALUE.fullmatch(text) is None:
            self._words.update(dict.fromkeys(_iter_words(text)))
            self._addresses.update((match[0], _address_head(match[0])) for match in ADDRESS.finditer(text))
            for part in _known_parts(text):
                self._fixed.update(dict.fromkeys(_iter_words(part)))
        return text

    def keep_index(self, name: str) -> None:
        """The number at the end of this name decides an order, even where it ends what looks like an address."""
        ends = [found[0] for found in ADDRESS.finditer(name) if found[1] == "-" and found.end() == len(name)]
        self._indexed.update(dict.fromkeys(ends))

    def choose_pseudonyms(self) -> None:
        """Choose the pseudonyms."""
        fixed = sorted(self._fixed)
        free = sorted(word for word in self._words if word not in self._fixed)
        become = {word: word for word in fixed}
        for bounds, words in groupby(free, lambda word: _fixed_bounds(word, fixed)):
            become.update(_name_words(list(words), *bounds))
        self._become = become
        by_head = {head: list(found) for head, found in groupby(sorted(self._addresses), _address_head)}
        self._addresses.update(
            (address, head + word + self._address_index(address))
            for head, found in by_head.items()
            for address, word in self._hide_addresses(head, found)
        )

    def _address_index(self, address: str) -> str:
        return f"-{address.rpartition('-')[2]}" if address in self._indexed else ""

    def _hide_addresses(self, head: str, addresses: list[str]) -> Iterator[tuple[str, str]]:
        """What becomes of sorted addresses behind their first number, between all else that begins with it."""
        tails = sorted(self._tails.get(head, {}))
        for place, found in groupby(addresses, lambda address: bisect_left(tails, address.removeprefix(head))):
            low = self.rewrite_text(tails[place - 1]) if place else ""
            high = self.rewrite_text(tails[place]) if place < len(tails) else AFTER_NUMBERS
            yield from _name_words(list(found), low, min(high, AFTER_NUMBERS), LETTERS, LETTERS + SEPARATORS)

    def rewrite_text(self, text: str) -> str:
        """The text in other words."""
        if PLAIN_VALUE.fullmatch(text) is not None:
            return text
        return self._replace_words(text, self._become.__getitem__)

    def _replace_words(self, text: str, become: Callable[[str], str]) -> str:
        """Address by address, and word by word between them."""
        found, place = "", 0
        for address in ADDRESS.finditer(text):
            found += _rewrite_words(text[place : address.start()], become) + self._addresses.get(
                address[0], HIDDEN_ADDRESS
            )
            place = address.end()
        return found + _rewrite_words(text[place:], become)

    def rewrite_sentence(self, text: str) -> str:
        """A sentence of the scheduler or of ours: its own words stay, names in it are replaced."""
        return PIECE.sub(lambda match: self._rewrite_piece(match[0]), text)

    def _rewrite_piece(self, piece: str) -> str:
        """A word, or a name of several; only where all are words of a sentence, and no number is there, it stays."""
        words = list(_iter_words(piece))
        if (
            piece in KEPT_TEXTS
            or PLAIN_VALUE.fullmatch(piece)
            or (piece.isascii() and not DIGIT.search(piece) and _SENTENCE.issuperset(map(str.lower, words)))
        ):
            return piece
        return self._replace_words(piece, lambda word: self._become.get(word, word))


def _rewrite_words(text: str, become: Callable[[str], str]) -> str:
    return WORD.sub(lambda match: match[1] + (become(match[2]) if match[2] else ""), text)


def _address_head(address: str) -> str:
    """An address' first number and what stands behind it."""
    return address[: len(address.split("-")[0].split(".")[0]) + 1]


def _iter_words(text: str) -> Iterator[str]:
    """What stands after each word's leading digits."""
    return (match[2] for match in WORD.finditer(text) if match[2])


def _known_parts(text: str) -> Iterator[str]:
    """The parts of a text that the scheduler knows: all of it, words in it, its beginning or its end."""
    for piece in dict.fromkeys([text, *PIECES.split(text)]):
        if piece in KEPT_TEXTS:
            yield piece
            continue
        yield from (prefix for prefix in PREFIXES if piece.startswith(prefix))
        yield from (suffix for suffix in SUFFIXES if piece.endswith(suffix))


def _fixed_bounds(word: str, fixed: list[str]) -> tuple[str, str]:
    """The fixed words between which a word lies; empty where there is none."""
    place = bisect_left(fixed, word)
    return fixed[place - 1] if place else "", fixed[place] if place < len(fixed) else ""


def _name_words(
    words: list[str], low: str, high: str, first: str = FIRST_LETTERS, others: str = LETTERS
) -> Iterator[tuple[str, str]]:
    """Names of one length for sorted words, all between two bounds."""
    beginning = _text_between(low, high, first, others)
    width = _letters_needed(len(words))
    for number, word in enumerate(words):
        yield word, beginning + _number_as_letters(number, width)


def _letters_needed(count: int) -> int:
    """How many letters tell so many words apart."""
    width = MIN_WIDTH
    while len(DIGITS) ** width < count:
        width += 1
    return width


def _text_between(low: str, high: str, first: str, others: str) -> str:
    """The shortest text, of some letters at its beginning and others behind it, of which every continuation lies
    between two bounds.
    """
    stems = dict.fromkeys(stem[:length] for stem in (low, high) for length in range(len(stem) + 1))
    for stem in sorted(stems, key=lambda stem: (len(stem), stem)):
        for letter in others if stem else first:
            found = stem + letter
            if found > low and (not high or (found < high and not high.startswith(found))):
                return found
    raise ValueError(f"nothing lies between {low!r} and {high!r}")


def _number_as_letters(number: int, width: int) -> str:
    letters = ""
    for _ in range(width):
        number, digit = divmod(number, len(DIGITS))
        letters = DIGITS[digit] + letters
    return letters
