"""JSON texts read in windows: documents one after the other, and the items of a large list one by one."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from vcdebug.snapshot.yaml_documents import MAX_DEPTH, DocumentError, bracket_depth

if TYPE_CHECKING:
    from msgspec import Raw

WINDOW = 4 << 20
"""Bytes of one window; a smaller document is decoded as a whole."""
TAIL = 4096
"""Bytes at the end of a file in which a list's kind is searched if it does not come before the items."""

_BETWEEN = re.compile(r"(?:\s|---(?=\s)|,)*")
_SPACE = re.compile(r"\s*")
_ESCAPE = "\\u"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LIST_AT_END = re.compile(rb'"kind"\s*:\s*"([A-Za-z0-9]*List)"')
_KEY = re.compile(r'[\s,]*"([A-Za-z]*)"\s*:\s*')
_MAYBE_CUT = 16
"""An error this close to the end of a window may only mean that the text is cut there."""

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


class TextWindow:
    """The part of a file's text that is being read; it only moves forward."""

    def __init__(self, data: bytes, encoding: str, read_so_far: ReadSoFar | None) -> None:
        self.text = ""
        self.position = 0
        self._bytes = data
        self._offset = 0
        self._decoder = json.JSONDecoder()
        self._characters = codecs.getincrementaldecoder(encoding)(errors="replace")
        self._read_so_far = read_so_far
        self._line = 0
        """Line breaks before the window."""
        self._column = 0
        """Characters between the last line break and the window."""
        self.read_more()

    def read_more(self) -> bool:
        """Drop what is read and decode further bytes; False at the end of the file."""
        if self._offset >= len(self._bytes):
            return False
        self._drop_read_text()
        # Read at least as many bytes as are pending: a value larger than the window takes O(n log n), not O(n^2).
        end = min(self._offset + max(WINDOW, len(self.text)), len(self._bytes))
        self.text += self._characters.decode(self._bytes[self._offset : end], final=end == len(self._bytes))
        self._offset = end
        if self._read_so_far is not None:
            self._read_so_far(self._offset)
        return True

    def _drop_read_text(self) -> None:
        breaks = self.text.count("\n", 0, self.position)
        start = self.text.rfind("\n", 0, self.position) + 1
        self._line += breaks
        self._column = self.position - start if breaks else self._column + self.position
        self.text, self.position = self.text[self.position :], 0

    def skip_pattern(self, pattern: re.Pattern[str]) -> str:
        """Skip text that matches the pattern and return the next character; empty at the end."""
        while True:
            match = pattern.match(self.text, self.position)
            self.position = match.end() if match else self.position
            if len(self.text) - self.position > _MAYBE_CUT or not self.read_more():
                return self.text[self.position : self.position + 1]

    def read_value(self, *, opens_lists: bool = False) -> Any:
        """The value at the position, or an OpenList for a list that exceeds the window; raises JsonError."""
        while True:
            try:
                value, end = self._decode_raw(self.position)
            except json.JSONDecodeError as error:
                if not (error.pos + _MAYBE_CUT >= len(self.text) or error.msg.startswith("Unterminated")):
                    raise self.make_error(error.msg, error.pos) from error
                is_cut = self._is_cut(error)
                is_large = len(self.text) - self.position >= WINDOW
                # The items before a cut are whole.
                opened = self._open_list("List" if is_cut else None) if opens_lists and (is_large or is_cut) else None
                if opened is not None:
                    return opened
                if not self.read_more():
                    raise self.make_error("the file ends here" if is_cut else error.msg, error.pos) from error
                continue
            if end + _MAYBE_CUT < len(self.text) or not self.read_more():
                return self._take_value(value, end)

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the whole file ends where a value goes on."""
        at_end = error.msg.startswith("Unterminated") or error.pos >= len(self.text.rstrip())
        return at_end and self._offset >= len(self._bytes)

    def _decode_raw(self, start: int) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self.text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:
            # Python's int() refuses more than 4300 digits: parse again with a decoder that bounds them.
            self._decoder = json.JSONDecoder(parse_int=_bounded_int)
            return self._decoder.raw_decode(self.text, start)

    def _take_value(self, value: Any, end: int) -> Any:
        text, start, self.position = self.text, self.position, end
        if _maybe_deep(text, start, end) and bracket_depth(text[start:end]) > MAX_DEPTH:
            refuse_deep(value)
        if text.find(_ESCAPE, start, end) < 0 or not _SURROGATE.search(text, start, end):
            return value
        return _without_surrogates(value)

    def make_error(self, message: str, position: int | None = None) -> JsonError:
        """An error with line and column of a position of the window, by default the current one."""
        position = self.position if position is None else position
        breaks = self.text.count("\n", 0, position)
        column = position - self.text.rfind("\n", 0, position) if breaks else self._column + position + 1
        return JsonError(f"line {self._line + breaks + 1} column {column}: is not JSON: {message}")

    def _open_list(self, default_kind: str | None) -> OpenList | None:
        if self.text[self.position] == "[":
            self.position += 1
            return OpenList("", None, self._iter_elements())
        return self._open_items(default_kind) if self.text[self.position] == "{" else None

    def _open_items(self, default_kind: str | None) -> OpenList | None:
        """Read members up to `items`; kubectl sorts keys, so that the kind may come only behind the items."""
        members: dict[str, Any] = {}
        position = self.position + 1
        while (key := _KEY.match(self.text, position)) is not None:
            position = key.end()
            if key[1] == "items" and self.text[position] == "[":
                return self._with_kind(members, position + 1, default_kind)
            try:
                members[key[1]], position = self._decode_raw(position)
            except json.JSONDecodeError:
                return None
        return None

    def _with_kind(self, members: dict[str, Any], items: int, default_kind: str | None) -> OpenList | None:
        at_end = _LIST_AT_END.findall(self._bytes[-TAIL:])
        kind = members.get("kind", at_end[-1].decode() if at_end else default_kind)
        if not isinstance(kind, str) or not kind.endswith("List"):
            return None
        self.position = items
        return OpenList(kind, members.get("apiVersion"), self._iter_items())

    def _iter_elements(self) -> Iterator[Any]:
        """Yield the elements up to the end of the array."""
        following = self.skip_pattern(_SPACE)
        while following != "]":
            yield self._read_element()
            following = self._next_character()
            if following not in (",", "]"):
                raise self.make_error("Expecting ',' delimiter")
            if following == ",":
                self.position += 1
                self._next_character()
        self.position += 1

    def _read_element(self) -> Any:
        """The same as read_value, faster for the usual element that ends well within the window."""
        try:
            value, end = self._decoder.raw_decode(self.text, self.position)
        except ValueError:
            return self.read_value()
        return self._take_value(value, end) if end + _MAYBE_CUT < len(self.text) else self.read_value()

    def _next_character(self) -> str:
        """The same as skip_pattern over spaces, faster for one or none."""
        text, position = self.text, self.position
        if position + _MAYBE_CUT >= len(text):
            return self.skip_pattern(_SPACE)
        if text[position] == " ":
            self.position = position = position + 1
        return self.skip_pattern(_SPACE) if text[position].isspace() else text[position]

    def _iter_items(self) -> Iterator[Any]:
        """Yield the elements, then skip the members behind `items`."""
        yield from self._iter_elements()
        while (following := self.skip_pattern(_SPACE)) == ",":
            self.position += 1
            self.skip_pattern(_SPACE)
            self.read_value()
            if self.skip_pattern(_SPACE) != ":":
                raise self.make_error("Expecting ':' delimiter")
            self.position += 1
            self.skip_pattern(_SPACE)
            self.read_value()
        if following != "}":
            raise self.make_error("Expecting ',' delimiter")
        self.position += 1


def json_documents(data: bytes, encoding: str, read_so_far: ReadSoFar | None = None) -> Iterator[Any]:
    """Yield the documents of a file, a large list as an OpenList; raises JsonError at the first error."""
    window = TextWindow(data, encoding, read_so_far)
    while window.skip_pattern(_BETWEEN):
        yield window.read_value(opens_lists=True)


def _maybe_deep(text: str, start: int, end: int) -> bool:
    """Whether the text has enough brackets to nest too deep: a count is much faster than following them."""
    return text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH


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


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
