"""The path of an edit: `spec.containers.main.resources.requests[nvidia.com/gpu]`, read and walked."""

from typing import Final, Literal, NamedTuple

from vcdebug.errors import VcdebugError

APPEND_SIGN: Final = "+"
NAMING_FIELDS: Final = ("name", "key", "type")
"""Fields by which an element of a list can be named in a path."""

EditChange = Literal["set", "delete", "add"]


class EditError(VcdebugError):
    """An edit that cannot be parsed or applied; `position` is the character of its text at fault."""

    def __init__(self, message: str, text: str, position: int, hint: str = "") -> None:
        super().__init__(message, hint=f"{hint + '; ' if hint else ''}at character {position + 1} of: {text}")
        self.text = text
        self.position = position


class PathStep(NamedTuple):
    """One step: a key, a number in brackets, or `[+]` for a new last element."""

    text: str
    position: int
    """The index of its first character in the edit."""
    is_bracketed: bool = False

    @property
    def is_index(self) -> bool:
        """Whether the step can only mean an element of a list."""
        return self.is_bracketed and (self.text == APPEND_SIGN or self.text.isdecimal())

    def __str__(self) -> str:
        return f"[{self.text}]" if self.is_bracketed else self.text


class PathReader:
    """Reads one path from left to right."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._position = start
        self._end = end

    def read_steps(self) -> tuple[PathStep, ...]:
        """All steps up to the end."""
        steps: list[PathStep] = []
        while self._position < self._end:
            if self._text[self._position] == "[":
                steps.append(self._read_bracket())
            elif self._text[self._position] == "." and steps:
                self._position += 1
                steps.append(self._read_key())
            else:
                steps.append(self._read_key())
        if not steps:
            raise EditError("missing path", self._text, self._position)
        return tuple(steps)

    def _read_key(self) -> PathStep:
        start = self._position
        while self._position < self._end and self._text[self._position] not in ".[":
            self._position += 1
        name = self._text[start : self._position].strip()
        if not name:
            raise EditError("missing field name", self._text, start)
        return PathStep(name, start)

    def _read_bracket(self) -> PathStep:
        start = self._position
        quote = self._text[start + 1 : start + 2]
        if quote in ('"', "'"):
            close = self._text.find(quote + "]", start + 2, self._end)
            content, end = self._text[start + 2 : close], close + 2
        else:
            close = self._text.find("]", start, self._end)
            content, end = self._text[start + 1 : close], close + 1
        if close < 0:
            raise EditError("the bracket is not closed", self._text, start)
        if not content:
            raise EditError("the brackets are empty", self._text, start)
        self._position = end
        return PathStep(content, start, is_bracketed=True)


def find_path_end(text: str, start: int) -> int:
    """Where a path ends: at the first `=` outside brackets, or at the end of the text."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[index], 0)
        if text[index] == "=" and depth <= 0:
            return index
    return len(text)


def field_step(resource: str) -> str:
    """The resource as a step of a path."""
    return f"[{resource}]" if "." in resource or "/" in resource else f".{resource}"
