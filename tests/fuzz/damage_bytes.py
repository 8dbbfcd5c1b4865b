"""Damage to the bytes of a file."""

from __future__ import annotations

from random import Random
from typing import Final

INSERTED: Final = (
    *(b"\0", b"\x1b[2J", b"\x1b]0;P\x07", b"\x9b31m", b"\xc2\x9b", b"\r", b"\x0b", b"\x0c", b"\x08", b"\x7f", b"\t"),
    *(b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\xe2\x80\x8b"),
    *(b"\xe2\x80\xa8", b"\n", b"\n---\n", b"\n...\n", b": ", b"- ", b"&a ", b"*a ", b"!!binary ", b"<<: ", b"? ", b"#"),
    *(b"{", b"}", b"[", b"]", b'"', b"'", b",", b"|", b">", b"%", b"@", b"`", b"\\", b"\\u0000", b"\\ud800", b"null"),
    *(b"-1", b"0", b"1e999", b".inf", b".nan", b"0x10", b"0o7", b"1_0", b"~", b"true", b"9" * 400),
)
"""Byte sequences that a parser or a terminal interprets."""
DEEP: Final = (b"[", b"{", b'{"a":', b"- ", b"(")


def damage_bytes(data: bytes, lot: Random) -> bytes:
    """The data with one to six random faults."""
    for _ in range(lot.choice((1, 1, 1, 2, 3, 6))):
        data = lot.choices(_FAULTS, _WEIGHTS)[0](data, lot)
    return data


def _flip(data: bytes, lot: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(lot.choice((1, 1, 4, 32))):
        if changed:
            changed[lot.randrange(len(changed))] ^= 1 << lot.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, lot: Random) -> bytes:
    at = lot.randrange(len(data) + 1)
    new = lot.choice(INSERTED) if lot.random() < 0.8 else lot.randbytes(lot.choice((1, 4, 40)))
    return data[:at] + new + data[at + len(new) :]


def _insert(data: bytes, lot: Random) -> bytes:
    at = lot.randrange(len(data) + 1)
    return data[:at] + lot.choice(INSERTED) + data[at:]


def _cut_end(data: bytes, lot: Random) -> bytes:
    return data[: lot.randrange(len(data) + 1)]


def _cut_span(data: bytes, lot: Random) -> bytes:
    start = lot.randrange(len(data) + 1)
    return data[:start] + data[start + lot.choice((1, 2, 10, 200)) :]


def _repeat_span(data: bytes, lot: Random) -> bytes:
    start = lot.randrange(len(data) + 1)
    span = data[start : start + lot.choice((1, 8, 80, 800))]
    return data[:start] + span * lot.choice((2, 2, 3, 20)) + data[start + len(span) :]


def _drop_line(data: bytes, lot: Random) -> bytes:
    lines = data.split(b"\n")
    del lines[lot.randrange(len(lines))]
    return b"\n".join(lines)


def _move_line(data: bytes, lot: Random) -> bytes:
    lines = data.split(b"\n")
    line = lines.pop(lot.randrange(len(lines)))
    lines.insert(lot.randrange(len(lines) + 1), lot.choice((line, b" " + line, b"  " + line, line[1:])))
    return b"\n".join(lines)


def _nest(data: bytes, lot: Random) -> bytes:
    at = lot.randrange(len(data) + 1)
    return data[:at] + lot.choice(DEEP) * lot.choice((10, 300, 20_000)) + data[at:]


_FAULTS: Final = (_flip, _overwrite, _insert, _cut_end, _cut_span, _repeat_span, _drop_line, _move_line, _nest)
_WEIGHTS: Final = (20, 20, 20, 3, 12, 6, 12, 12, 2)
