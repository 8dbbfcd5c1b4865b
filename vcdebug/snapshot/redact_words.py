"""Pseudonyms for the names of a snapshot, and the words that are kept because the scheduler itself knows them.

Pseudonyms sort as the names do, so that everything that compares names decides the same in a redacted snapshot.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby, product
from pathlib import Path

from vcdebug.grouping import split_names
from vcdebug.snapshot.kinds import KINDS, WORKLOAD_KINDS

NAME_ANNOTATIONS = split_names("""
scheduling.k8s.io/group-name scheduling.volcano.sh/group-name scheduling.volcano.sh/queue-name volcano.sh/bind-time
volcano.sh/hierarchy volcano.sh/job-name volcano.sh/job-version volcano.sh/nodegroup-name volcano.sh/pipelined-node
volcano.sh/queue-name volcano.sh/revocable-zone volcano.sh/task-index volcano.sh/task-spec
volcano.sh/task-topology-affinity volcano.sh/task-topology-anti-affinity volcano.sh/task-topology-task-order
volcano.sh/template-uid volcano.sh/vgpu-node volcano.sh/vgpu-time volume.beta.kubernetes.io/storage-class
volume.kubernetes.io/selected-node storage.alpha.kubernetes.io/migrated-plugins
""")
"""Annotations that the scheduler reads and whose numbers are parts of names, or read by nothing."""
NUMBER_ANNOTATIONS = split_names("""
scheduling.volcano.sh/queue-allocation-gate volcano.sh/cooldown-time volcano.sh/eviction-occurred
volcano.sh/gpu-index volcano.sh/gpu-memory volcano.sh/gpu-number volcano.sh/gpu-unhealthy-ids
volcano.sh/hierarchy-weights volcano.sh/jdb-max-unavailable volcano.sh/jdb-min-available
volcano.sh/node-vgpu-handshake volcano.sh/node-vgpu-register volcano.sh/nodegroup-resource-limits
volcano.sh/numa-topology-policy volcano.sh/offline-job-evicting volcano.sh/oversubscription
volcano.sh/oversubscription-cpu volcano.sh/oversubscription-memory volcano.sh/pipelined-status volcano.sh/preemptable
volcano.sh/resource-strategy-scoring-type volcano.sh/resource-strategy-weight volcano.sh/sla-waiting-time
sla-waiting-time volcano.sh/task-priority volcano.sh/vgpu-cores volcano.sh/vgpu-ids-new volcano.sh/vgpu-memory
volcano.sh/vgpu-mode volcano.sh/vgpu-nouse-gpuuuid volcano.sh/vgpu-number volcano.sh/vgpu-podgroup-policy
volcano.sh/vgpu-use-gpuuuid volcano.sh/bind-phase volcano.sh/devices-to-allocate volcano.sh/enable-topology-aware
nvidia.com/use-gputype nvidia.com/nouse-gputype hami.io/node-handshake hami.io/node-nvidia-register
pv.kubernetes.io/bind-completed pv.kubernetes.io/bound-by-controller storageclass.kubernetes.io/is-default-class
hami-vnpu-core huawei.com/vnpu-mode hami.io/bind-phase
""")
"""Annotations whose numbers the scheduler reads; it also reads NAME_ANNOTATIONS and NPU_ANNOTATION."""
ANNOTATIONS = (*NAME_ANNOTATIONS, *NUMBER_ANNOTATIONS)
NPU_ANNOTATION = re.compile(r"hami\.io/(?:node-register-.+|.+-devices-(?:allocated|to-allocate))", re.DOTALL)

_NPUS = split_names("Ascend310P Ascend910A Ascend910B Ascend910B2 Ascend910B3 Ascend910B4 Ascend910C")
"""Kinds of NPUs, which are parts of names of annotations and resources."""
_NPU_FORMS = split_names("""
{} huawei.com/{} huawei.com/{}-memory huawei.com/{}-core hami.io/node-register-{} hami.io/{}-devices-allocated
hami.io/{}-devices-to-allocate
""")
_OF_NPUS = [form.format(kind) for kind in _NPUS for form in _NPU_FORMS]

_KINDS = [text for kind in (*KINDS, *WORKLOAD_KINDS) for text in (kind.name, kind.api_version)]


@cache
def kept_texts() -> frozenset[str]:
    """Texts that are never replaced, neither as a whole text nor as a word in one."""
    return _read_words("kept_texts.txt").union(ANNOTATIONS, _OF_NPUS, _KINDS)


@cache
def _sentence_words() -> frozenset[str]:
    return _read_words("sentence_words.txt")


def _read_words(name: str) -> frozenset[str]:
    """The words of a file in this module's folder; `#` begins a comment."""
    # Read on use: only a redaction needs them, but every snapshot asks which annotations the scheduler reads.
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


PREFIXES = split_names(
    "binpack.resources. hypernode.binpack.resources. tdm.revocable-zone. predicate.resources. resources. "
    "deviceclass.resource.kubernetes.io/ hugepages- attachable-volumes- attachable-volumes-csi- requests. limits. "
    "count/ kubernetes.io/ volcano.sh/ huawei.com/ nvidia.com/ Requesting_ Deleted_"
)
"""Prefixes that the scheduler interprets; the text after them is replaced."""

COMPOSED_PREFIXES = ("attachable-volumes-csi-", "deviceclass/")
"""Prefixes that the scheduler puts before a name."""

SUFFIXES = (".storageclass.storage.k8s.io/requests.storage", ".storageclass.storage.k8s.io/persistentvolumeclaims")
"""Suffixes that the scheduler interprets; the text before them is replaced."""

LETTER = r"[0-9A-Za-z_\u0080-\U0010ffff]"
WORD = re.compile(f"{LETTER}+")
PIECES = re.compile(r"[^-0-9A-Za-z_./]+")
PIECE = re.compile(r"[-0-9A-Za-z_./\u0080-\U0010ffff]+")
DIGIT = re.compile("[0-9]")
INDEX = re.compile(rf"(?<!{LETTER})[0-9]+$")
INTEGER = re.compile("[+-]?([0-9]+)")
COUNT = re.compile("[0-9]+(/[0-9]+)*")
PLAIN_VALUE = re.compile(
    r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?(m|k|n|u|[KMGTPE]i?|%)?|(\d+(\.\d+)?(ns|us|ms|s|m|h))+|\d+-\d+|\d+(/\d+)+",
    re.ASCII,
)
"""Numbers, quantities, durations, ranges and ratios; never replaced in texts whose numbers the scheduler reads."""
MOMENT = re.compile(r"(\d{4}([-.])\d\d\2\d\d[Tt ]\d\d:\d\d:\d\d)((?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)?)", re.ASCII)

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
DIGITS = "abcdefghijklmnopqrstuvwxyz"
MIN_WIDTH = 2
SMALL_COUNT = 999
"""Numbers up to this one, or up to the number of objects if that is larger, are kept in messages."""


def is_read_annotation(key: str) -> bool:
    """Whether the scheduler reads the annotation."""
    return key in NAME_ANNOTATIONS or holds_numbers(key)


def holds_numbers(key: str) -> bool:
    """Whether the scheduler reads the numbers in an annotation or label."""
    return key in NUMBER_ANNOTATIONS or NPU_ANNOTATION.fullmatch(key) is not None


class Pseudonyms:
    """The pseudonym of every word of a snapshot: collect all texts first, then choose, then rewrite."""

    def __init__(self, ago: timedelta = timedelta(0), count: int = 0) -> None:
        self.clock_shift = ago
        """Time span that is added to every time."""
        self._count = max(count, SMALL_COUNT)
        self._all_words: dict[str, None] = {}
        self._fixed_words: dict[str, None] = dict.fromkeys(
            word for beginning in COMPOSED_PREFIXES for word in _iter_words(beginning)
        )
        self._pseudonym_by_word: Mapping[str, str] = {}
        self._indexed: dict[str, None] = {}
        """Names whose last number is a pod's index."""
        self._compared_names: dict[str, None] = {}
        """Integers that the scheduler compares: they get numbers as pseudonyms in every text."""
        self._numbers: dict[str, str] = {}

    def collect_words(self, text: str) -> str:
        """Note a text's words; returns the text, so that it can replace rewrite_text."""
        self._all_words.update(dict.fromkeys(_iter_words(text)))
        for part in _known_parts(text):
            self._fixed_words.update(dict.fromkeys(_iter_words(part)))
        return text

    def collect_numbers(self, text: str) -> str:
        """Note the words between a text's numbers, in place of rewrite_numbers."""
        for piece in PIECE.findall(MOMENT.sub(" ", text)):
            if PLAIN_VALUE.fullmatch(piece) is None:
                self.collect_words(piece)
        return text

    def keep_index(self, name: str) -> None:
        """Replace the number at the end of this name by a number: the order of a job's pods depends on it."""
        if match := INDEX.search(name):
            self._indexed[name] = None
            self._numbers[match[0]] = ""

    def keep_integer(self, text: str) -> None:
        """Replace this integer by an integer, because the scheduler compares it."""
        if match := INTEGER.fullmatch(text):
            self._compared_names[match[1]] = None
            self._numbers[match[1]] = ""

    def choose_pseudonyms(self) -> None:
        """Choose the pseudonyms of all collected words; no text may be collected afterwards."""
        # Between two fixed words the free ones are renamed in order, so that the order of all words is kept. A number
        # is fixed and free: it is an index in one name, and part of an address in another.
        self._numbers = _renumber(self._numbers, self._all_words)
        become = {word: word for word in self._fixed_words}
        fixed = sorted((become | self._numbers).items())
        free = sorted(word for word in self._all_words if word not in self._fixed_words)
        fixed_words = [word for word, _ in fixed]
        for place, words in groupby(free, lambda word: bisect_right(fixed_words, word)):
            low, high = fixed[place - 1][1] if place else "", fixed[place][1] if place < len(fixed) else ""
            become.update(_name_words(list(words), low, high))
        self._pseudonym_by_word = become

    def rewrite_text(self, text: str) -> str:
        """The text with pseudonyms, also for numbers; raises KeyError for a word that was not collected."""
        return self._replace_words(text, self._pseudonym_by_word.__getitem__)

    def rewrite_numbers(self, text: str) -> str:
        """A text whose numbers the scheduler reads: numbers are kept, times are moved, words get pseudonyms."""
        parts, place = list[str](), 0
        for moment in MOMENT.finditer(text):
            parts += PIECE.sub(self._rewrite_unless_number, text[place : moment.start()]), self.move_time(moment[0])
            place = moment.end()
        return "".join([*parts, PIECE.sub(self._rewrite_unless_number, text[place:])])

    def _rewrite_unless_number(self, piece: re.Match[str]) -> str:
        return piece[0] if PLAIN_VALUE.fullmatch(piece[0]) else self.rewrite_text(piece[0])

    def move_time(self, text: str) -> str:
        """The time moved to the redacted clock, in the same form; other texts and times out of range are unchanged."""
        moment = MOMENT.fullmatch(text)
        if moment is None:
            return text
        try:
            shifted = datetime.fromisoformat(moment[1].replace(".", "-").upper()) + self.clock_shift
        except (ValueError, OverflowError):
            return text
        return shifted.strftime(f"%Y{moment[2]}%m{moment[2]}%d{text[10]}%H:%M:%S") + moment[3]

    def _replace_words(self, text: str, become: Callable[[str], str]) -> str:
        return WORD.sub(lambda word: self._number_at(word) or become(word[0]), text)

    def _number_at(self, word: re.Match[str]) -> str:
        """The pseudonym of a compared integer, or of an index at the end of its name; empty for other words."""
        number = self._numbers.get(word[0], "")
        name = word.string[word.string.rfind("/", 0, word.start()) + 1 : word.end()] if number else ""
        return number if word[0] in self._compared_names or name in self._indexed else ""

    def rewrite_sentence(self, text: str) -> str:
        """A message with pseudonyms for names; amounts, sentence words and kept texts stay."""
        return PIECE.sub(lambda match: self._rewrite_piece(match[0]), text)

    def _rewrite_piece(self, piece: str) -> str:
        """A piece of a message: kept if it is a kept text, an amount or sentence words; else with pseudonyms."""
        words = list(_iter_words(piece))
        if (
            piece in kept_texts()
            or self._is_amount(piece)
            or (piece.isascii() and not DIGIT.search(piece) and _sentence_words().issuperset(map(str.lower, words)))
        ):
            return piece
        return self._replace_words(piece, lambda word: self._pseudonym_by_word.get(word, word))

    def _is_amount(self, piece: str) -> bool:
        """Whether a piece is a small count or an amount; a large number without unit may be confidential."""
        if COUNT.fullmatch(piece):
            return all(len(part) < 10 and int(part) <= self._count for part in piece.split("/"))
        # Two numbers with a dash may be a telephone number.
        return "-" not in piece and PLAIN_VALUE.fullmatch(piece) is not None


def _iter_words(text: str) -> Iterator[str]:
    return (match[0] for match in WORD.finditer(text))


def _known_parts(text: str) -> Iterator[str]:
    """The parts of a text that are kept: the whole text, single words, a known prefix or suffix."""
    for piece in dict.fromkeys([text, *PIECES.split(text)]):
        if piece in kept_texts():
            yield piece
            continue
        yield from (prefix for prefix in PREFIXES if piece.startswith(prefix))
        yield from (suffix for suffix in SUFFIXES if piece.endswith(suffix))


MAX_LENGTH = 16
"""Maximum length of a number that gets another digit in front; a longer one could exceed 64 bits."""
NARROW_DIGITS = "123456789"
WIDE_DIGITS = ("11", "12", "13", "14", "15", "16", "17", "18", "19", "21")


def _renumber(numbers: Iterable[str], words: Container[str]) -> dict[str, str]:
    """Number → its pseudonym, a number without zeros; the order is the same, both as texts and as integers."""
    renumbered = _compact_numbers(numbers)
    # A long pseudonym that equals a number of the snapshot would look as if that number had not been replaced.
    long = [new for new in renumbered.values() if len(new) > len(str(SMALL_COUNT))]
    fronts = ["", *NARROW_DIGITS, *WIDE_DIGITS] if max(map(len, long), default=0) <= MAX_LENGTH else [""]
    front = next((front for front in fronts if not any(front + new in words for new in long)), "")
    return {number: front + new for number, new in renumbered.items()}


def _compact_numbers(numbers: Iterable[str]) -> dict[str, str]:
    """Number → its pseudonym: each digit is replaced by its rank among the digits that follow the same prefix."""
    following: dict[str, dict[str, None]] = {}
    for number in numbers:
        for place, digit in enumerate(number):
            following.setdefault(number[:place], {})[digit] = None
    ranks = {start + digit: rank for start, tails in following.items() for rank, digit in enumerate(sorted(tails))}
    # A place has one width in all numbers, since a longer number is a larger one. Without zeros a pseudonym always
    # finds room between a number and its continuations.
    wide = {len(start): None for start, tails in following.items() if len(tails) > len(NARROW_DIGITS)}
    digits = {start: (WIDE_DIGITS if len(start) - 1 in wide else NARROW_DIGITS)[rank] for start, rank in ranks.items()}
    return {number: "".join(digits[number[: end + 1]] for end in range(len(number))) for number in numbers}


def _name_words(words: list[str], low: str, high: str) -> Iterator[tuple[str, str]]:
    """(word, pseudonym) of sorted words; pseudonyms have one length and the same order, between `low` and `high`."""
    beginning = _text_between(low, high)
    endings = product(DIGITS, repeat=_letters_needed(len(words)))
    yield from ((word, beginning + "".join(ending)) for word, ending in zip(words, endings, strict=False))


def _letters_needed(count: int) -> int:
    """Number of letters that suffices for `count` different pseudonyms."""
    width = MIN_WIDTH
    while len(DIGITS) ** width < count:
        width += 1
    return width


def _text_between(low: str, high: str) -> str:
    """The shortest text of which every continuation sorts between two bounds."""
    stems = dict.fromkeys(stem[:length] for stem in (low, high) for length in range(len(stem) + 1))
    candidates = [stem + letter for stem in stems for letter in LETTERS]
    fitting = [text for text in candidates if text > low and (not high or (text < high and not high.startswith(text)))]
    # Lower case is preferred: names and prefixes of labels must not have capitals.
    return min(fitting, key=lambda text: (text != text.lower(), len(text)))
