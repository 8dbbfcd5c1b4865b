"""A checksum that costs less than reading the bytes from a disk: it finds damage, and proves nothing of who wrote them.

The bytes are laid out as words in squares; the digest is that of the sums of every row and every column of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

Buffer = bytes | memoryview
_SQUARE_SIDE: Final = 512
"""Words in a row, and rows."""
_SQUARE_BYTES: Final = _SQUARE_SIDE * _SQUARE_SIDE * 8
"""Bytes: 2 MB."""


def square_checksum(pieces: Iterable[Buffer]) -> bytes:
    """32 bytes; pieces are taken one behind the other, wherever they are cut."""
    digest, size = hashlib.sha256(), 0
    for square in _iter_squares(pieces):
        size += len(square)
        words = np.frombuffer(_pad_to_row(square), dtype=np.uint64).reshape(-1, _SQUARE_SIDE)
        digest.update(words.sum(axis=0))
        digest.update(words.sum(axis=1))
    digest.update(str(size).encode())
    return digest.digest()


def _pad_to_row(square: Buffer) -> Buffer:
    """The last one ends anywhere: zeros up to a whole row."""
    missing = -len(square) % (_SQUARE_SIDE * 8)  # exact: ints
    return bytes(square) + bytes(missing) if missing else square


def _iter_squares(pieces: Iterable[Buffer]) -> Iterator[Buffer]:
    """All bytes in squares; those that lie in one piece are not copied."""
    waiting = bytearray()
    for piece in pieces:
        view, start = memoryview(piece).cast("B"), 0
        if waiting:
            start = min(_SQUARE_BYTES - len(waiting), len(view))
            waiting += view[:start]
            if len(waiting) < _SQUARE_BYTES:
                continue
            yield bytes(waiting)
            waiting.clear()
        whole = start + (len(view) - start) // _SQUARE_BYTES * _SQUARE_BYTES  # exact: ints
        for at in range(start, whole, _SQUARE_BYTES):
            yield view[at : at + _SQUARE_BYTES]
        waiting += view[whole:]
    if waiting:
        yield bytes(waiting)
