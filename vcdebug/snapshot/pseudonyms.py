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

from vcdebug.snapshot.redact_words import COMPOSED, KEPT, PREFIXES, SENTENCE_WORDS, SUFFIXES

LETTER = r"[0-9A-Za-z_\u0080-\U0010ffff]"
ADDRESS = re.compile(rf"(?<!{LETTER})[0-9]{{1,3}}([-.])[0-9]{{1,3}}\1[0-9]{{1,3}}\1[0-9]{{1,3}}(?!{LETTER})")
HEAD = re.compile(rf"(?<!{LETTER})([0-9]{{1,3}}[-.])[0-9]")
"""Where an address could begin: its first number and what stands behind it."""
WORD = re.compile(rf"([0-9]*)({LETTER}*)")
PIECES = re.compile(r"[^-0-9A-Za-z_./]+")
PIECE = re.compile(r"[-0-9A-Za-z_./\u0080-\U0010ffff]+")
DIGIT = re.compile("[0-9]")
PLAIN = re.compile(
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
LEAST_WIDTH = 2
AFTER_NUMBERS = ":"
"""What sorts right behind all that begins with a digit."""
HIDDEN = "0"
"""An address that only a sentence names."""

_SENTENCE = frozenset(SENTENCE_WORDS)


class Pseudonyms:
    """The words of a snapshot and what each of them becomes: collect every text first, then rewrite them."""

    def __init__(self) -> None:
        self._words: dict[str, None] = {}
        self._fixed: dict[str, None] = dict.fromkeys(word for beginning in COMPOSED for word in _words(beginning))
        self._become: Mapping[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._tails: dict[str, dict[str, None]] = {}
        """What stands behind the first number of what is no address, by that number."""
        self._indexed: dict[str, None] = {}
        """Addresses whose last number is an index."""

    def collect(self, text: str) -> str:
        """Take note of a text's words; the text comes back as it is."""
        addresses = [] if PLAIN.fullmatch(text) is not None else [found.span() for found in ADDRESS.finditer(text)]
        for head in HEAD.finditer(text):
            if not any(start <= head.start() < end for start, end in addresses):
                self._tails.setdefault(head[1], {})[text[head.end(1) :]] = None
        if PLAIN.fullmatch(text) is None:
            self._words.update(dict.fromkeys(_words(text)))
            self._addresses.update((match[0], _head(match[0])) for match in ADDRESS.finditer(text))
            for part in _meaningful(text):
                self._fixed.update(dict.fromkeys(_words(part)))
        return text

    def keep_index(self, name: str) -> None:
        """The number at the end of this name decides an order, even where it ends what looks like an address."""
        ends = [found[0] for found in ADDRESS.finditer(name) if found[1] == "-" and found.end() == len(name)]
        self._indexed.update(dict.fromkeys(ends))

    def settle(self) -> None:
        """Choose the pseudonyms."""
        fixed = sorted(self._fixed)
        free = sorted(word for word in self._words if word not in self._fixed)
        become = {word: word for word in fixed}
        for bounds, words in groupby(free, lambda word: _bounds(word, fixed)):
            become.update(_named(list(words), *bounds))
        self._become = become
        by_head = {head: list(found) for head, found in groupby(sorted(self._addresses), _head)}
        self._addresses.update(
            (address, head + word + self._index(address))
            for head, found in by_head.items()
            for address, word in self._hidden(head, found)
        )

    def _index(self, address: str) -> str:
        return f"-{address.rpartition('-')[2]}" if address in self._indexed else ""

    def _hidden(self, head: str, addresses: list[str]) -> Iterator[tuple[str, str]]:
        """What becomes of sorted addresses behind their first number, between all else that begins with it."""
        tails = sorted(self._tails.get(head, {}))
        for place, found in groupby(addresses, lambda address: bisect_left(tails, address.removeprefix(head))):
            low = self.rewrite(tails[place - 1]) if place else ""
            high = self.rewrite(tails[place]) if place < len(tails) else AFTER_NUMBERS
            yield from _named(list(found), low, min(high, AFTER_NUMBERS), LETTERS, LETTERS + SEPARATORS)

    def rewrite(self, text: str) -> str:
        """The text in other words."""
        if PLAIN.fullmatch(text) is not None:
            return text
        return self._replaced(text, self._become.__getitem__)

    def _replaced(self, text: str, become: Callable[[str], str]) -> str:
        """Address by address, and word by word between them."""
        found, place = "", 0
        for address in ADDRESS.finditer(text):
            found += _reworded(text[place : address.start()], become) + self._addresses.get(address[0], HIDDEN)
            place = address.end()
        return found + _reworded(text[place:], become)

    def sentence(self, text: str) -> str:
        """A sentence of the scheduler or of ours: its own words stay, names in it are replaced."""
        return PIECE.sub(lambda match: self._in_sentence(match[0]), text)

    def _in_sentence(self, piece: str) -> str:
        """A word, or a name of several; only where all are words of a sentence, and no number is there, it stays."""
        words = list(_words(piece))
        if (
            piece in KEPT
            or PLAIN.fullmatch(piece)
            or (piece.isascii() and not DIGIT.search(piece) and _SENTENCE.issuperset(map(str.lower, words)))
        ):
            return piece
        return self._replaced(piece, lambda word: self._become.get(word, word))


def _reworded(text: str, become: Callable[[str], str]) -> str:
    return WORD.sub(lambda match: match[1] + (become(match[2]) if match[2] else ""), text)


def _head(address: str) -> str:
    """An address' first number and what stands behind it."""
    return address[: len(address.split("-")[0].split(".")[0]) + 1]


def _words(text: str) -> Iterator[str]:
    """What stands after each word's leading digits."""
    return (match[2] for match in WORD.finditer(text) if match[2])


def _meaningful(text: str) -> Iterator[str]:
    """The parts of a text that the scheduler knows: all of it, words in it, its beginning or its end."""
    for piece in dict.fromkeys([text, *PIECES.split(text)]):
        if piece in KEPT:
            yield piece
            continue
        yield from (prefix for prefix in PREFIXES if piece.startswith(prefix))
        yield from (suffix for suffix in SUFFIXES if piece.endswith(suffix))


def _bounds(word: str, fixed: list[str]) -> tuple[str, str]:
    """The fixed words between which a word lies; empty where there is none."""
    place = bisect_left(fixed, word)
    return fixed[place - 1] if place else "", fixed[place] if place < len(fixed) else ""


def _named(
    words: list[str], low: str, high: str, first: str = FIRST_LETTERS, others: str = LETTERS
) -> Iterator[tuple[str, str]]:
    """Names of one length for sorted words, all between two bounds."""
    beginning = _between(low, high, first, others)
    width = _width(len(words))
    for number, word in enumerate(words):
        yield word, beginning + _numeral(number, width)


def _width(count: int) -> int:
    """How many letters tell so many words apart."""
    width = LEAST_WIDTH
    while len(DIGITS) ** width < count:
        width += 1
    return width


def _between(low: str, high: str, first: str, others: str) -> str:
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


def _numeral(number: int, width: int) -> str:
    letters = ""
    for _ in range(width):
        number, digit = divmod(number, len(DIGITS))
        letters = DIGITS[digit] + letters
    return letters
