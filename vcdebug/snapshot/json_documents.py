"""JSON texts: documents one after the other, and the items of a large list one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from vcdebug.snapshot.yaml_documents import MAX_DEPTH, DocumentError, bracket_depth

if TYPE_CHECKING:
    from msgspec import Raw

WINDOW = 4 << 20
"""Characters between two reports of progress; a list in a longer text is read item by item, not as a whole."""
TAIL = 4096
"""Characters at the end of a file in which a list's kind is searched if it does not come before the items."""

_BETWEEN = re.compile(r"(?:\s|---(?=\s)|,)*")
_SPACE = re.compile(r"\s*")
_ESCAPE = "\\u"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LIST_AT_END = re.compile(r'"kind"\s*:\s*"([A-Za-z0-9]*List)"')
_KEY = re.compile(r'[\s,]*"([A-Za-z]*)"\s*:\s*')

ReadSoFar = Callable[[int], None]
"""Called with the bytes of a file read so far; may raise to stop."""


class JsonError(DocumentError):
    """Invalid JSON; the text names line and column."""


class ObjectText(NamedTuple):
    """The unparsed text of a document or of an item of a List."""

    text: Raw
    """UTF-8."""

    def parse_object(self) -> Any:
        """The text as plain data."""
        return next(json_documents(bytes(self.text), "utf-8"), None)


class OpenList(NamedTuple):
    """A Kubernetes List that is too large for memory: iterating `items` reads the file."""

    kind: str
    api_version: Any
    items: Iterator[Any]


def json_documents(data: bytes, encoding: str, read_so_far: ReadSoFar | None = None) -> Iterator[Any]:
    """Yield the documents of a file, a large list as an OpenList; raises JsonError at the first error."""
    return _JsonReader(data, encoding, read_so_far).iter_documents()


class _JsonReader:
    """Reads a file's text value by value; its position only moves forward."""

    def __init__(self, data: bytes, encoding: str, read_so_far: ReadSoFar | None) -> None:
        self._text = data.decode(encoding, errors="replace")
        self._position = 0
        self._byte_count = len(data)
        self._decoder = json.JSONDecoder()
        self._read_so_far = read_so_far
        self._next_report = 0

    def iter_documents(self) -> Iterator[Any]:
        """Yield all documents."""
        while self._skip_pattern(_BETWEEN):
            yield self._read_value(opens_lists=True)
        self._report_progress()

    def _skip_pattern(self, pattern: re.Pattern[str]) -> str:
        """Skip text that matches the pattern and return the next character; empty at the end."""
        match = pattern.match(self._text, self._position)
        self._position = match.end() if match else self._position
        if self._position >= self._next_report:
            self._next_report = self._position + WINDOW
            self._report_progress()
        return self._text[self._position : self._position + 1]

    def _report_progress(self) -> None:
        if self._read_so_far is not None:
            self._read_so_far(self._byte_count * self._position // max(len(self._text), 1))

    def _read_value(self, *, opens_lists: bool = False) -> Any:
        """The value at the position, or an OpenList for a list that is large or breaks off; raises JsonError."""
        start = self._position
        if opens_lists and len(self._text) - start >= WINDOW and (opened := self._open_list()) is not None:
            return opened
        try:
            value, self._position = self._decode_raw(start)
        except json.JSONDecodeError as error:
            is_cut = error.msg.startswith("Unterminated") or error.pos >= len(self._text.rstrip())
            # The items before a cut are whole.
            if opens_lists and is_cut and (opened := self._open_list("List")) is not None:
                return opened
            raise self._make_error("the file ends here" if is_cut else error.msg, error.pos) from error
        return self._without_faults(value, start)

    def _decode_raw(self, start: int) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self._text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # Python's int() refuses more than 4300 digits: parse again with a decoder that bounds them.
            self._decoder = json.JSONDecoder(parse_int=_bounded_int)
            return self._decoder.raw_decode(self._text, start)

    def _without_faults(self, value: Any, start: int) -> Any:
        """The value without lone surrogates; raises DocumentError for one that nests too deep."""
        text, end = self._text, self._position
        # A count of brackets is much faster than following them.
        brackets = text.count("{", start, end) + text.count("[", start, end)
        if brackets > MAX_DEPTH and bracket_depth(text[start:end]) > MAX_DEPTH:
            refuse_deep(value)
        if text.find(_ESCAPE, start, end) < 0 or not _SURROGATE.search(text, start, end):
            return value
        return without_surrogates(value)

    def _make_error(self, message: str, position: int | None = None) -> JsonError:
        """An error with line and column of a position, by default the current one."""
        position = self._position if position is None else position
        line, column = self._text.count("\n", 0, position) + 1, position - self._text.rfind("\n", 0, position)
        return JsonError(f"line {line} column {column}: is not JSON: {message}")

    def _open_list(self, default_kind: str | None = None) -> OpenList | None:
        """The array or List at the position; None for another value."""
        if self._text[self._position] == "[":
            self._position += 1
            return OpenList("", None, self._iter_elements())
        return self._open_items(default_kind) if self._text[self._position] == "{" else None

    def _open_items(self, default_kind: str | None) -> OpenList | None:
        """Read members up to `items`; kubectl sorts keys, so that the kind may come only behind the items."""
        members: dict[str, Any] = {}
        position = self._position + 1
        while (key := _KEY.match(self._text, position)) is not None:
            position = key.end()
            if key[1] == "items" and self._text[position : position + 1] == "[":
                return self._with_kind(members, position + 1, default_kind)
            try:
                members[key[1]], position = self._decode_raw(position)
            except json.JSONDecodeError:
                return None
            if not str(members.get("kind", "List")).endswith("List"):
                return None
        return None

    def _with_kind(self, members: dict[str, Any], items: int, default_kind: str | None) -> OpenList | None:
        at_end = _LIST_AT_END.findall(self._text, max(len(self._text) - TAIL, 0))
        kind = members.get("kind", at_end[-1] if at_end else default_kind)
        if not isinstance(kind, str):
            return None
        self._position = items
        return OpenList(kind, members.get("apiVersion"), self._iter_items())

    def _iter_elements(self) -> Iterator[Any]:
        """Yield the elements up to the end of the array."""
        following = self._skip_pattern(_SPACE)
        while following != "]":
            yield self._read_value()
            following = self._skip_pattern(_SPACE)
            if following not in (",", "]"):
                raise self._make_error("Expecting ',' delimiter")
            if following == ",":
                self._position += 1
                self._skip_pattern(_SPACE)
        self._position += 1

    def _iter_items(self) -> Iterator[Any]:
        """Yield the elements, then skip the members behind `items`."""
        yield from self._iter_elements()
        while (following := self._skip_pattern(_SPACE)) == ",":
            self._position += 1
            self._skip_pattern(_SPACE)
            self._read_value()
            if self._skip_pattern(_SPACE) != ":":
                raise self._make_error("Expecting ':' delimiter")
            self._position += 1
            self._skip_pattern(_SPACE)
            self._read_value()
        if following != "}":
            raise self._make_error("Expecting ',' delimiter")
        self._position += 1


def refuse_deep(document: Any) -> None:
    """Raise DocumentError if a document nests beyond `MAX_DEPTH`."""
    # Level by level: recursion would fail on the very documents that are refused here.
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


def _bounded_int(digits: str) -> int | float:
    """An int, or infinity for a number that no field can hold: the type checks remove it."""
    return int(digits) if len(digits) < 1000 else float("inf")


def without_surrogates(value: Any) -> Any:
    """The value without lone surrogates in texts, which no file can store."""
    if isinstance(value, str):
        return value.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value
