"""Bytes to documents: JSON, NDJSON, YAML and multi-document streams, told apart by their text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

from vcdebug.snapshot.json_documents import JsonError, ReadSoFar, json_documents
from vcdebug.snapshot.yaml_documents import MAX_DEPTH, DocumentError, TellRepeated, yaml_documents

LARGE_JSON_BYTES = 1 << 20
"""A file of this size is read object by object, where its reader can do that."""
YAML_RETRY_BYTES = 5 << 20
"""A larger file that starts like JSON and is not JSON is not tried as YAML."""

_UTF_8 = "utf-8"
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LEADING_SPACE = re.compile(r"(?:\s|---(?=\s)|,)*")
_HEAD = 4096
_CHUNK = 1 << 20
_REPLACED = "\ufffd"


def encoding_of(data: bytes) -> str:
    """UTF-8 or marked UTF-16; raises DocumentError for what is no text."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" in data[:_HEAD]:
        raise DocumentError("is binary, not text")
    return _UTF_8


def decode_text(data: bytes) -> str:
    """The text of a file; bad bytes become U+FFFD, as the API server has it."""
    return data.decode(encoding_of(data), errors="replace")


def has_bad_bytes(data: bytes) -> bool:
    """Whether a file holds what its encoding does not know."""
    if data.isascii() or _REPLACED.encode() in data:
        return False
    decoder = codecs.getincrementaldecoder(encoding_of(data))(errors="replace")
    chunks = (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
    return any(_REPLACED in decoder.decode(chunk) for chunk in chunks) or _REPLACED in decoder.decode(b"", final=True)


def read_documents(
    data: bytes,
    read_so_far: ReadSoFar | None = None,
    *,
    unread: bool = False,
    tell_repeated: TellRepeated | None = None,
) -> Iterator[Any]:
    """The documents of a file one by one, a large list open; raises DocumentError where it stops making sense.

    `unread`: a large file may give its objects as an ObjectText each. `tell_repeated` hears of keys of YAML that are
    there twice.
    """
    if not starts_like_json(data):
        yield from yaml_documents(decode_text(data), read_so_far, tell_repeated)
        return
    texts = _object_texts(data, read_so_far) if unread and len(data) >= LARGE_JSON_BYTES else None
    if texts is not None:
        yield from texts
        return
    count = 0
    try:
        for document in json_documents(data, encoding_of(data), read_so_far):
            count += 1
            yield document
    except JsonError:
        if count or len(data) >= YAML_RETRY_BYTES or not _looks_like_yaml_flow(data):
            raise
        yield from yaml_documents(decode_text(data), tell_repeated=tell_repeated)
    except RecursionError as error:
        raise DocumentError(f"nests deeper than {MAX_DEPTH} levels") from error


def _object_texts(data: bytes, read_so_far: ReadSoFar | None) -> Iterator[Any] | None:
    from vcdebug.snapshot.json_objects import object_texts  # a start without a large file does not need its parser

    return None if _REPLACED.encode() in data or has_bad_bytes(data) else object_texts(data, read_so_far)


def starts_like_json(data: bytes) -> bool:
    """Whether the first character that says something opens a bracket."""
    start = 0
    while True:
        text = decode_text(data[: start + _HEAD])
        match = _LEADING_SPACE.match(text)
        end = match.end() if match else 0
        if end < len(text) or start + _HEAD >= len(data):
            return text[end : end + 1] in ("{", "[")
        start += max(start, _HEAD)


def _looks_like_yaml_flow(data: bytes) -> bool:
    """Whether a text that starts with a bracket may be YAML: `{a: b}`, comments, several documents."""
    return re.search(r"[{,]\s*[A-Za-z_][\w.-]*\s*:", decode_text(data[:_HEAD])) is not None
