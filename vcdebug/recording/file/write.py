"""Storing: everything that a recording reaches, as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from vcdebug.model.names import IntArray
from vcdebug.recording.file import form
from vcdebug.recording.file.form import StoredForm, square_checksum
from vcdebug.recording.file.object_tables import Buffer, CallStep, ObjectTables
from vcdebug.recording.recording import Recording


def store_recording(recording: Recording, program: str, step: CallStep = lambda: None) -> Iterator[Buffer]:
    """The recording's bytes, piece by piece; raises UnstorableError before the first if something has no stored form.

    `step` is called again and again, and may raise if nobody waits for it any more.
    """
    pieces = _layout_pieces(ObjectTables(recording, step), program)
    yield form.FILE_MAGIC
    yield square_checksum(pieces)
    yield from pieces


def _sort_texts(found: Iterable[str]) -> tuple[list[bytes], IntArray]:
    """Texts in order, so that one can be looked up; and where each of them went."""
    texts = [one.encode("utf-8", "surrogatepass") for one in found]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    places = np.zeros(len(texts), dtype=np.int64)
    places[order] = np.arange(len(texts))
    return [texts[number] for number in order], places


def _layout_pieces(found: ObjectTables, program: str) -> list[Buffer]:
    """The directory, then everything else."""
    final = np.zeros(found.count, dtype=np.int64)
    order = np.concatenate([np.array(table.found, dtype=np.int64) for table in found.tables])
    final[order] = np.arange(len(order))
    pieces = found.pieces
    texts, places = _sort_texts(found.texts)
    tables = [table.table_form(pieces, final, places) for table in found.tables]
    ends = np.fromiter(accumulate(map(len, texts)), dtype=np.uint32, count=len(texts))
    where = (len(texts), pieces.place_bytes(ends.tobytes()), pieces.place_bytes(b"".join(texts)))
    directory = StoredForm(program, int(final[found.root]), pieces.size, where, tables)
    text = json.dumps(directory, separators=(",", ":")).encode()
    text += b" " * (-len(text) % form.ALIGNMENT)  # exact: ints
    return [len(text).to_bytes(form.ALIGNMENT, "little"), text, *pieces.data]
