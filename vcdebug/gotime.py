"""Times and durations as in Go: integers in nanoseconds."""

import re
from datetime import UTC, datetime, timedelta

from vcdebug.gomath import MAX_INT64

MICROSECOND, MILLISECOND, SECOND = 1_000, 1_000_000, 1_000_000_000
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND

_UNIT_NANOSECONDS = {
    "ns": 1,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,
    "\u03bcs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_TERM = re.compile(r"([0-9]*)(\.?)([0-9]*)([^0-9.]+)")
_HOUR, _MINUTE = re.compile(r"[0-9]{1,2}"), re.compile(r"[0-9]{2}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = -62135596800 * SECOND
"""Go's zero time: the start of year 1."""


def parse_duration(text: str) -> int | None:
    """Go's ParseDuration, in nanoseconds; None for an invalid text."""
    negative, rest = text.startswith("-"), text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total = 0
    while rest or not total:
        term = _TERM.match(rest)
        amount = None if term is None else _term_nanoseconds(*term.groups())
        if term is None or amount is None:
            return None
        total += amount
        if total > MAX_INT64 + 1:
            return None
        rest = rest[term.end() :]
        if not rest:
            break
    if negative:
        return -total
    return total if total <= MAX_INT64 else None


def go_duration_text(nanoseconds: int) -> str:
    """Go's Duration.String, for 0 and durations of at least one second."""
    if nanoseconds < 0:
        return f"-{go_duration_text(-nanoseconds)}"
    seconds, below = divmod(nanoseconds, SECOND)
    hours, minutes = seconds // 3600, seconds // 60 % 60  # exact: ints
    fraction = f".{below:09d}".rstrip("0") if below else ""
    prefix = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{prefix}{seconds % 60}{fraction}s"  # exact: ints


def _term_nanoseconds(whole: str, point: str, fraction: str, unit: str) -> int | None:
    """Nanoseconds of a number with its unit; the fraction is cut to int64 digits and scaled in floats."""
    if unit not in _UNIT_NANOSECONDS or not (whole or fraction):
        return None
    number = int(whole or "0")
    if number > MAX_INT64 + 1 or number * _UNIT_NANOSECONDS[unit] > MAX_INT64 + 1:
        return None
    value, scale = _parse_fraction(fraction)
    return number * _UNIT_NANOSECONDS[unit] + (
        int(float(value) * (float(_UNIT_NANOSECONDS[unit]) / scale)) if value else 0
    )


def _parse_fraction(digits: str) -> tuple[int, float]:
    """(digits as a number, power of ten to divide it by), with as many digits as fit in int64."""
    value, scale = 0, 1.0
    for digit in digits:
        longer = value * 10 + int(digit)
        if longer > MAX_INT64 + 1:
            break
        value, scale = longer, scale * 10
    return value, scale


def unix_nanoseconds(moment: datetime) -> int:
    """Nanoseconds since 1970."""
    passed = moment - _EPOCH
    return (passed.days * 86400 + passed.seconds) * SECOND + passed.microseconds * MICROSECOND


def api_time_text(moment: datetime) -> str:
    """The time in the API server's format, in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None) -> datetime | None:
    """The time in a manifest; None if the text is empty."""
    if not text:
        return None
    time = datetime.fromisoformat(text.upper())
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def parse_nanoseconds(text: str) -> int:
    """The time in a manifest in nanoseconds since 1970; Go's zero time if it is missing."""
    time = parse_time(text)
    return _ZERO_TIME if time is None else unix_nanoseconds(time)


def unix_seconds(moment: datetime) -> int:
    """Go's Unix(): whole seconds since 1970."""
    passed = moment - _EPOCH
    return passed.days * 86400 + passed.seconds


class ClockError(ValueError):
    """Raised for an invalid clock time; the text is Go's error."""


def clock_minutes(text: str) -> int:
    """Minutes after midnight by Go's layout `15:04`: one or two digits, a colon, two digits; raises ClockError."""
    hour = _match_prefix(_HOUR, text, text, "15")
    if int(hour) >= 24:
        raise ClockError(f"parsing time {_go_quoted(text)}: hour out of range")
    rest = text[len(hour) :]
    if not rest.startswith(":"):
        raise ClockError(_cannot_parse(text, rest, ":"))
    minute = _match_prefix(_MINUTE, text, rest[1:], "04")
    if int(minute) >= 60:
        raise ClockError(f"parsing time {_go_quoted(text)}: minute out of range")
    extra = rest[1 + len(minute) :]
    if extra:
        raise ClockError(f"parsing time {_go_quoted(text)}: extra text: {_go_quoted(extra)}")
    return int(hour) * 60 + int(minute)


def _match_prefix(shape: re.Pattern[str], text: str, rest: str, layout: str) -> str:
    match = shape.match(rest)
    if match is None:
        raise ClockError(_cannot_parse(text, rest, layout))
    return match.group()


def _cannot_parse(text: str, rest: str, layout: str) -> str:
    return f'parsing time {_go_quoted(text)} as "15:04": cannot parse {_go_quoted(rest)} as "{layout}"'


def _go_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').encode()
    return '"' + "".join(chr(byte) if 32 <= byte < 128 else f"\\x{byte:02x}" for byte in escaped) + '"'


def clock_time(now: datetime, minutes: int, *, days: int = 0) -> datetime:
    """The time of today, or of a later day, at so many minutes after midnight, in the time zone of `now`."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=days, minutes=minutes)
