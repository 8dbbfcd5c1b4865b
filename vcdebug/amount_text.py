"""The format of figures on every screen and in every text: amounts of resources, counts, ages and percentages.

Amounts come as the scheduler keeps them: CPU in milli-cores, memory in bytes, `pods` and attachable volumes in units,
all other resources in thousandths of a unit. What upstream writes (log lines, conditions, events) has its own formats.
"""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from math import isclose, isnan
from sys import float_info
from typing import Final, Protocol

CPU, MEMORY, PODS = "cpu", "memory", "pods"
_MAX_FLOAT64, _MAX_INT64 = float_info.max, float(2**63 - 1)
VOLUMES: Final = "attachable-volumes-csi-"
"""Prefix of the names of attachable volumes, which are counted in units."""
UNLIMITED: Final = "unlimited"
DIGITS: Final = 3
"""Significant digits of an amount that is not compared with a similar one."""
MAX_DIGITS: Final = 15
_MAX_DECIMALS: Final = 17
SHORT_NAMES: Final[Mapping[str, str]] = {MEMORY: "mem", "ephemeral-storage": "ephemeral"}
"""Short names of dimensions, used in tables and commands."""
QUOTA_PREFIXES: Final = ("requests.", "limits.", "count/")
_MILLI: Final = 1000.0
_MIN_AMOUNT: Final = 0.1
"""The scheduler treats smaller amounts as 0."""
_NOISE: Final = 1e-6
"""Smaller amounts are rounding errors of sums."""
_MIN_CORES: Final = 0.1
"""Below this number of cores, amounts are written in milli-cores."""
_BINARY_UNITS: Final = ("B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_STEP: Final = 1024
_AGE_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


class AmountsByName(Protocol):
    """A resource as amounts by dimension."""

    def items(self) -> Iterable[tuple[str, float]]:
        """(dimension, amount) pairs, cpu and memory first."""


# Amounts of one dimension


# Cached: a table of nodes has the same few amounts in each row.
@lru_cache(maxsize=4_096)
def format_amount(name: str, value: float, digits: int = DIGITS, least_cores: float = _MIN_CORES) -> str:
    """An amount without its name: `4`, `50m`, `1.5Gi`, `100B`, `unlimited`.

    The part before the decimal point is always written in full; `digits` limits what follows it.
    """
    if is_unlimited(value):
        return UNLIMITED if value > 0 else f"-{UNLIMITED}"
    if abs(value) < _NOISE:
        return "0"
    if name == CPU:
        cores = value / _MILLI
        if abs(cores) >= least_cores:
            return _format_significant(cores, digits)
        return f"{_format_significant(value, digits)}m"
    units = value_in_units(name, value)
    return _format_bytes(units, digits) if is_byte_like(name) else _format_significant(units, digits)


# Cached: one answer writes the same few amounts again and again.
@lru_cache(maxsize=4_096)
def format_amounts_apart(name: str, *values: float) -> tuple[str, ...]:
    """Format amounts for comparison, with enough digits that different amounts have different texts."""
    digits, cores = distinct_digits(name, values), [abs(value) / _MILLI for value in values if abs(value) >= _NOISE]
    # `90m of 100m`, not `90m of 0.1`: below one core, all use the unit of the smallest.
    least = 1.0 if cores and min(cores) < _MIN_CORES and max(cores) < 1 else _MIN_CORES
    return tuple(format_amount(name, value, digits, least) for value in values)


def distinct_digits(name: str, values: Iterable[float]) -> int:
    """Number of significant digits, at least three, with which different values have different texts."""
    # Sums of floats have errors in the last digits, which must not appear as a difference.
    ordered = sorted(values)
    pairs = [pair for pair in pairwise(ordered) if not isclose(*pair, rel_tol=1e-12, abs_tol=_NOISE)]
    for digits in range(DIGITS, MAX_DIGITS):
        if all(format_amount(name, low, digits) != format_amount(name, high, digits) for low, high in pairs):
            return digits
    return MAX_DIGITS


def format_unit_amount(name: str, *units: float) -> str:
    """Format the first of several compared amounts, in cores, bytes or pieces, by the name of a resource or quota."""
    resource = resource_of_quota(name)
    scale = 1.0 if resource == MEMORY or is_counted(resource) else _MILLI
    return format_amounts_apart(resource, *(each * scale for each in units))[0]


def is_unlimited(value: float) -> bool:
    """Whether upstream treats the amount as infinite, in either direction."""
    return abs(value) >= _MAX_INT64


def is_counted(name: str) -> bool:
    """Whether amounts of the dimension are stored in units; all others except memory are stored in thousandths."""
    return name == PODS or name.startswith(VOLUMES)


def is_quota_count(name: str) -> bool:
    """Whether only quotas count this name (pods, count/…, requests.…, limits.…); it is no node resource."""
    return name == PODS or name.startswith(QUOTA_PREFIXES)


def resource_of_quota(name: str) -> str:
    """The resource that a name of a quota counts: cpu for `requests.cpu`."""
    return name.rpartition("requests.")[2].rpartition("limits.")[2]


def is_byte_like(name: str) -> bool:
    """Whether amounts of the dimension are bytes; `storage` is the name in claims and quotas."""
    return name in (MEMORY, "storage", "ephemeral-storage") or name.startswith("hugepages-")


def value_in_units(name: str, value: float) -> float:
    """The amount in cores, bytes or pieces."""
    return value if name == MEMORY or is_counted(name) else value / _MILLI


def quantity_text(name: str, value: float) -> str:
    """The amount as a manifest states it, rounded up to thousandths: `8`, `1500m`."""
    thousandths = math.ceil(round(value_in_units(name, value) * _MILLI, 3))
    return str(thousandths // int(_MILLI)) if thousandths % _MILLI == 0 else f"{thousandths}m"


def _format_bytes(value: float, digits: int) -> str:
    power = 0
    # The rounded value is compared, so that 1023.9Mi with three digits is 1Gi, not 1024Mi.
    while abs(float(_format_significant(value, digits))) >= _STEP and power + 1 < len(_BINARY_UNITS):
        value, power = value / _STEP, power + 1
    text = _format_significant(value, digits)
    return text if text == "0" else f"{text}{_BINARY_UNITS[power]}"


def _format_significant(value: float, digits: int) -> str:
    """The value with so many significant digits, a full integer part and no trailing zeros."""
    size = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    text = f"{value:.{max(digits - size, 0)}f}" if size else _format_fraction(value, digits)
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("", "-0") else text


def _format_fraction(value: float, digits: int) -> str:
    """A value below 1 with so many significant digits, without an exponent."""
    zeros = -int(f"{abs(value):e}".partition("e")[2]) - 1 if value else 0
    return f"{value:.{min(zeros, MAX_DIGITS) + digits}f}"


# Amounts of several dimensions


def format_named_amount(name: str, value: float) -> str:
    """An amount with its name: `8 cpu`, `1 pod`."""
    text = format_amount(name, value)
    return f"{text} {'pod' if (text, name) == ('1', PODS) else name}"


def join_named_amounts(values: Iterable[tuple[str, float]]) -> str:
    """Amounts with their names: `4 cpu and 2Gi memory`."""
    return " and ".join(format_named_amount(name, value) for name, value in values)


def rank_by_amount(amounts: Mapping[str, float]) -> list[tuple[str, float]]:
    """(owner, amount) pairs, largest amount first, equal ones by name."""
    return sorted(amounts.items(), key=lambda pair: (-pair[1], pair[0]))


def join_ranked_amounts(name: str, ranked: Sequence[tuple[str, float]], most: int, own: Container[str] = ()) -> str:
    """The first owners of ranked amounts: `ml/a 4 (this job), ml/b 2 and 3 more`."""
    parts = (f"{owner} {format_amount(name, value)}{' (this job)' if owner in own else ''}" for owner, value in ranked)
    return join_first_names(parts, len(ranked), most)


def format_resource(amounts: AmountsByName, names: Iterable[str] | None = None) -> str:
    """A resource as `4 cpu, 8Gi memory`: non-zero dimensions except `pods`, or the named ones; else `nothing`."""
    return ", ".join(format_named_amount(name, value) for name, value in listed_dimensions(amounts, names)) or "nothing"


def listed_dimensions(amounts: AmountsByName, names: Iterable[str] | None) -> list[tuple[str, float]]:
    """(dimension, amount) pairs to show for a resource: the non-zero ones except `pods`, or the named ones."""
    if names is None:
        return [(name, value) for name, value in amounts.items() if abs(value) >= _MIN_AMOUNT and name != PODS]
    dimensions = dict.fromkeys(names)
    return [(name, value) for name, value in amounts.items() if name in dimensions]


def short_name(dimension: str) -> str:
    """A short name of the dimension: `nvidia.com/gpu` → `gpu`."""
    return SHORT_NAMES.get(dimension) or dimension.rsplit("/", 1)[-1]


def short_amounts(amounts: Iterable[tuple[str, float]]) -> str:
    """Amounts in the given order for tables: `cpu 4, mem 8Gi`."""
    return ", ".join(f"{short_name(name)} {format_amount(name, value)}" for name, value in amounts)


def short_resource_text(amounts: AmountsByName) -> str:
    """A resource for tables, `cpu 4, mem 8Gi, gpu 1`; `0` for an empty one."""
    return short_amounts((name, value) for name, value in amounts.items() if value) or "0"


def short_text_without_pods(amounts: AmountsByName) -> str:
    """As short_resource_text, without `pods`, of which each task requests one; an empty text for an empty resource."""
    return short_amounts((name, value) for name, value in amounts.items() if value and name != PODS)


def used_dimensions(resources: Iterable[AmountsByName]) -> list[str]:
    """cpu, memory and every scalar that is non-zero in one of the resources."""
    return order_dimensions(name for amounts in resources for name, value in amounts.items() if value)


def order_dimensions(names: Iterable[str]) -> list[str]:
    """cpu, memory, then the scalars among the names, sorted."""
    return [CPU, MEMORY, *sorted(name for name in dict.fromkeys(names) if name not in (CPU, MEMORY))]


# Numbers, counts and names


# Cached: of thousands of jobs most have the same few shares and scores.
@lru_cache(maxsize=4_096)
def format_number(value: float, decimals: int = DIGITS) -> str:
    """A number without unit, such as a score: three decimals, or three significant digits below 1."""
    if isnan(value):
        return "NaN"
    if abs(value) >= _MAX_FLOAT64:
        return UNLIMITED if value > 0 else f"-{UNLIMITED}"
    integer_digits = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return _format_significant(value, integer_digits + decimals)


def format_numbers_apart(*values: float) -> tuple[str, ...]:
    """Format numbers for comparison, with enough decimals that different numbers have different texts."""
    decimals = distinct_decimals(values)
    return tuple(format_number(value, decimals) for value in values)


def distinct_decimals(values: Iterable[float]) -> int:
    """Number of decimals, at least three, with which different values have different texts."""
    different = list(dict.fromkeys(values))
    # Upstream's orders compare floats exactly, so here even the last digit counts.
    for decimals in range(DIGITS, _MAX_DECIMALS):
        if len(dict.fromkeys(format_number(value, decimals) for value in different)) == len(different):
            return decimals
    return _MAX_DECIMALS


def format_percent(part: float, whole: float) -> str:
    """The part in percent of the whole: `33 %`; `0 %` if the whole is 0."""
    return f"{format_percent_number(part, whole)} %"


def format_percent_number(part: float, whole: float) -> str:
    """As format_percent without the sign, for columns with `%` in the head."""
    return f"{100 * part / whole:.0f}" if whole else "0"


def format_count(value: int) -> str:
    """A count with spaces between thousands: `1 906`."""
    return f"{value:,}".replace(",", " ")


def count_noun(value: int, noun: str) -> str:
    """A count with its noun: `1 node`, `2 nodes`, `1 906 searches`."""
    ending = "" if value == 1 else "es" if noun.endswith(("ch", "sh", "s", "x")) else "s"
    return f"{format_count(value)} {noun}{ending}"


_PLURAL_VERBS: Final[Mapping[str, str]] = {"is": "are", "was": "were", "has": "have"}


def verb_for(count: int, verb: str) -> str:
    """The verb that agrees with a number of things: `is` or `are`, `has` or `have`, `asks` or `ask`."""
    return verb if count == 1 else _PLURAL_VERBS.get(verb) or verb.removesuffix("s")


def capitalize_first(text: str) -> str:
    """The text with its first letter as a capital; the other letters keep their case, unlike str.capitalize."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """The text with its first letter in lower case, to follow other words."""
    return text[:1].lower() + text[1:]


def shorten_end(text: str, length: int) -> str:
    """The text, or its first `length` characters and `…`."""
    return text if len(text) <= length else f"{text[:length]}…"


def join_names(names: Iterable[str], most: int = 3) -> str:
    """The first names, and the number of further ones: `a, b, c and 4 more`."""
    every = list(names)
    return join_first_names(every, len(every), most)


def join_first_names(names: Iterable[str], total: int, most: int = 3) -> str:
    """As join_names, for an iterable with `total` names of which only the first `most` are computed."""
    text = ", ".join(islice(names, most))
    return text if total <= most else f"{text} and {format_count(total - most)} more"


# Durations


def format_age(seconds: float) -> str:
    """A duration in the largest unit with a value of at least two: `90s`, `47h`, `5d`."""
    size, unit = next((entry for entry in _AGE_UNITS if abs(seconds) >= 2 * entry[0]), _AGE_UNITS[-1])
    return f"{int(seconds / size)}{unit}"


def format_duration(seconds: float, units: int = 2) -> str:
    """A duration in its largest units, `1d3h`, `2h10m`, `45s`; below one second in milliseconds."""
    if 0 < abs(seconds) < 1:
        milli = _format_significant(seconds * _MILLI, DIGITS)
        return "0s" if milli == "0" else f"{milli}ms"
    parts: list[str] = []
    remaining = int(abs(seconds))
    for size, unit in _AGE_UNITS:
        count, remaining = divmod(remaining, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if seconds < 0 and parts else "") + ("".join(parts[:units]) or "0s")


def format_distinct_durations(left: float, right: float) -> tuple[str, str]:
    """Format two durations for comparison, with enough units that different ones have different texts."""
    for units in range(2, len(_AGE_UNITS) + 1):
        left_text, right_text = format_duration(left, units), format_duration(right, units)
        if left_text != right_text:
            break
    return left_text, right_text


# Estimates of the time that work in progress still takes.

MIN_ESTIMATED_SECONDS: Final = 1.0
"""Minimum seconds of work done, and left, for an estimate."""
MIN_ESTIMATED_SHARE: Final = 0.05
"""Minimum share of the work that must be done for an estimate."""


class TimeEstimate:
    """Estimates the time left for one kind of work after another; `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stage = ""
        self._stage_start = (0.0, 0)

    def time_left(self, about: str, done: int, total: int) -> str:
        """`, about 12s left`, or "" without an estimate; another `about` or a smaller `done` starts over."""
        now = self._clock()
        # The remaining time is estimated only from the pace of the same kind of work.
        if about != self._stage or done < self._stage_start[1]:
            self._stage, self._stage_start = about, (now, done)
        took, part = now - self._stage_start[0], done - self._stage_start[1]
        if took < MIN_ESTIMATED_SECONDS or part <= MIN_ESTIMATED_SHARE * total:
            return ""
        seconds = took * (total - done) / part
        if seconds < MIN_ESTIMATED_SECONDS:
            return ""
        return f", about {format_age(round(seconds))} left"

    def with_time_left(self, words: str, done: int, total: int) -> str:
        """Insert the time left in progress words: `allocate, job 45 of about 120, about 8s left, 12 345 events`."""
        time_text = self.time_left(words.partition(",")[0], done, total)
        counts, comma, events = words.rpartition(", ")
        return f"{counts}{time_text}{comma}{events}" if time_text else words
