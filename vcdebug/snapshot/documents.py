"""Bytes to documents: JSON, NDJSON, YAML and multi-document streams, told apart by their text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from vcdebug.snapshot.yaml_documents import MAX_DEPTH, DocumentError, bracket_depth, yaml_documents

YAML_RETRY_BYTES = 5 << 20
"""A larger file that starts like JSON and is not JSON is not tried as YAML."""

_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_BETWEEN = re.compile(r"(?:\s|---(?=\s)|,)*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def decode(data: bytes) -> str:
    """The text of a file, in UTF-8 or marked UTF-16; bad bytes become U+FFFD, as the API server has it."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if b"\0" in data[:4096]:
        raise DocumentError("is binary, not text")
    return data.decode("utf-8", errors="replace")


def read_documents(text: str) -> Iterator[Any]:
    """The documents of a file one by one; raises DocumentError where the file stops making sense."""
    start = _BETWEEN.match(text)
    first = text[start.end() : start.end() + 1] if start else ""
    if first not in ("{", "["):
        yield from yaml_documents(text)
        return
    deep = bracket_depth(text) > MAX_DEPTH
    documents = _json_documents(text)
    count = 0
    try:
        for document in documents:
            count += 1
            if deep:
                refuse_deep(document)
            yield document
    except json.JSONDecodeError as error:
        if count == 0 and len(text) < YAML_RETRY_BYTES and _looks_like_yaml_flow(text):
            yield from yaml_documents(text)
            return
        raise DocumentError(f"line {error.lineno} column {error.colno}: is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise DocumentError(f"nests deeper than {MAX_DEPTH} levels") from error


def _json_documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    repair = _SURROGATE.search(text) is not None
    position = _skip(text, 0)
    while position < len(text):
        try:
            document, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            raise
        except ValueError:
            decoder = json.JSONDecoder(parse_int=_bounded_int)
            continue
        yield _without_surrogates(document) if repair else document
        position = _skip(text, position)


def _bounded_int(digits: str) -> int | float:
    """A number too long for an int is infinite: the type checks remove it."""
    return int(digits) if len(digits) < 1000 else float("inf")


def _skip(text: str, position: int) -> int:
    match = _BETWEEN.match(text, position)
    return match.end() if match else position


def _looks_like_yaml_flow(text: str) -> bool:
    """Whether a text that starts with a bracket may be YAML: `{a: b}`, comments, several documents."""
    return re.search(r"[{,]\s*[A-Za-z_][\w.-]*\s*:", text[:4096]) is not None


def refuse_deep(document: Any) -> None:
    """Raise DocumentError if a document nests beyond `MAX_DEPTH`."""
    level = [document]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        if not below:
            return
        level = below
    raise DocumentError(f"nests deeper than {MAX_DEPTH} levels")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
