"""JSON texts read piece by piece: documents one after the other, and the items of a large list one by one."""

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
"""Bytes that are looked at together; what is smaller is read as a whole."""
TAIL = 4096
"""Bytes at the end of a file in which a list's kind is looked for, where it does not come before the items."""

_BETWEEN = re.compile(r"(?:\s|---(?=\s)|,)*")
_SPACE = re.compile(r"\s*")
_ESCAPE = "\\u"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LIST_AT_END = re.compile(rb'"kind"\s*:\s*"([A-Za-z0-9]*List)"')
_KEY = re.compile(r'[\s,]*"([A-Za-z]*)"\s*:\s*')
_MAYBE_CUT = 16
"""Characters before the end of a window within which a fault may only mean that the window ends there."""

ReadSoFar = Callable[[int], None]
"""Called with the bytes of a file read so far; may raise to stop."""


class JsonError(DocumentError):
    """A text that stops being JSON."""


class ObjectText(NamedTuple):
    """A document, or an item of a List, of which nothing has been read but where it ends."""

    text: Raw
    """UTF-8."""

    def parse_object(self) -> Any:
        """The whole of it."""
        return next(json_documents(bytes(self.text), "utf-8"), None)


class OpenList(NamedTuple):
    """A Kubernetes List too large to be held as a whole: its items are read while one goes over them."""

    kind: str
    api_version: Any
    items: Iterator[Any]


class TextWindow:
    """The part of a file's text that is being read; it moves on and never back."""

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
        """Characters between the last of them and the window."""
        self.read_more()

    def read_more(self) -> bool:
        """Move on: forget what is read, and take further bytes, as many as are waiting already. False at the end."""
        if self._offset >= len(self._bytes):
            return False
        self._drop_read_text()
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
        """Pass what matches, and give the character that follows; empty at the end."""
        while True:
            match = pattern.match(self.text, self.position)
            self.position = match.end() if match else self.position
            if len(self.text) - self.position > _MAYBE_CUT or not self.read_more():
                return self.text[self.position : self.position + 1]

    def read_value(self, *, opens_lists: bool = False) -> Any:
        """The value that begins here, or a list that has no end within the window; raises JsonError where none is."""
        while True:
            try:
                value, end = self._decode_raw(self.position)
            except json.JSONDecodeError as error:
                if not self._is_maybe_cut(error):
                    raise self.make_error(error.msg, error.pos) from error
                opened = self._open_list() if opens_lists and len(self.text) - self.position >= WINDOW else None
                if opened is not None:
                    return opened
                if not self.read_more():
                    raise self.make_error(error.msg, error.pos) from error
                continue
            if end + _MAYBE_CUT < len(self.text) or not self.read_more():
                return self._take_value(value, end)

    def _decode_raw(self, start: int) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self.text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:
            self._decoder = json.JSONDecoder(parse_int=_bounded_int)
            return self._decoder.raw_decode(self.text, start)

    def _take_value(self, value: Any, end: int) -> Any:
        text, start, self.position = self.text, self.position, end
        if _maybe_deep(text, start, end) and bracket_depth(text[start:end]) > MAX_DEPTH:
            refuse_deep(value)
        if text.find(_ESCAPE, start, end) < 0 or not _SURROGATE.search(text, start, end):
            return value
        return _without_surrogates(value)

    def _is_maybe_cut(self, error: json.JSONDecodeError) -> bool:
        return error.pos + _MAYBE_CUT >= len(self.text) or error.msg.startswith("Unterminated")

    def make_error(self, message: str, position: int | None = None) -> JsonError:
        """What is wrong at a position of the window, by default where it stands."""
        position = self.position if position is None else position
        breaks = self.text.count("\n", 0, position)
        column = position - self.text.rfind("\n", 0, position) if breaks else self._column + position + 1
        return JsonError(f"line {self._line + breaks + 1} column {column}: is not JSON: {message}")

    # Large lists

    def _open_list(self) -> OpenList | None:
        if self.text[self.position] == "[":
            self.position += 1
            return OpenList("", None, self._iter_elements())
        return self._open_items() if self.text[self.position] == "{" else None

    def _open_items(self) -> OpenList | None:
        """Members up to `items`; the kind is among them or at the end of the file."""
        members: dict[str, Any] = {}
        position = self.position + 1
        while (key := _KEY.match(self.text, position)) is not None:
            position = key.end()
            if key[1] == "items" and self.text[position] == "[":
                return self._with_kind(members, position + 1)
            try:
                members[key[1]], position = self._decode_raw(position)
            except json.JSONDecodeError:
                return None
        return None

    def _with_kind(self, members: dict[str, Any], items: int) -> OpenList | None:
        at_end = _LIST_AT_END.findall(self._bytes[-TAIL:])
        kind = members.get("kind", at_end[-1].decode() if at_end else None)
        if not isinstance(kind, str) or not kind.endswith("List"):
            return None
        self.position = items
        return OpenList(kind, members.get("apiVersion"), self._iter_items())

    def _iter_elements(self) -> Iterator[Any]:
        """Elements up to the end of the array."""
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
        """As value; most end well within the window."""
        try:
            value, end = self._decoder.raw_decode(self.text, self.position)
        except ValueError:
            return self.read_value()
        return self._take_value(value, end) if end + _MAYBE_CUT < len(self.text) else self.read_value()

    def _next_character(self) -> str:
        """As skip over spaces; most are one or none."""
        text, position = self.text, self.position
        if position + _MAYBE_CUT >= len(text):
            return self.skip_pattern(_SPACE)
        if text[position] == " ":
            self.position = position = position + 1
        return self.skip_pattern(_SPACE) if text[position].isspace() else text[position]

    def _iter_items(self) -> Iterator[Any]:
        """Elements, then the members after them."""
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
    """The documents of a file one by one, a large list as an OpenList; raises JsonError where it stops making sense."""
    window = TextWindow(data, encoding, read_so_far)
    while window.skip_pattern(_BETWEEN):
        yield window.read_value(opens_lists=True)


def _maybe_deep(text: str, start: int, end: int) -> bool:
    """Whether there are brackets enough; far quicker than following them."""
    return text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH


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


def _bounded_int(digits: str) -> int | float:
    """A number too long for an int is infinite: the type checks remove it."""
    return int(digits) if len(digits) < 1000 else float("inf")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
