"""The path of an edit: `spec.containers.main.resources.requests[nvidia.com/gpu]`, read and walked."""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from vcdebug.amount_text import count_noun
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


class EditWalk:
    """Applies one change to plain data: copies mappings and lists along the path, and shares the rest."""

    def __init__(self, text: str, change: EditChange, value: Any) -> None:
        self._text = text
        self._change = change
        self._value = value

    def apply_to(self, item: Any, path: Sequence[PathStep]) -> Any:
        """A copy of the item with the change made at the end of the path."""
        if not path:
            return self._value
        if item is None and self._change != "delete":
            item = [] if path[0].is_index else {}
        if isinstance(item, dict):
            return self._apply_to_mapping(item, path[0].text, path)
        if isinstance(item, list):
            return self._apply_to_list(item, path)
        raise self._make_error(f"{item!r} has no field {path[0]}", path[0])

    def _apply_to_mapping(self, item: dict[str, Any], key: str, path: Sequence[PathStep]) -> dict[str, Any]:
        if self._change != "delete":
            return {**item, key: self.apply_to(item.get(key), path[1:])}
        if key not in item:
            raise self._make_error(f"{key} not found", path[0], f"available: {', '.join(item)}" if item else "")
        if len(path) == 1:
            return {name: value for name, value in item.items() if name != key}
        return {**item, key: self.apply_to(item[key], path[1:])}

    def _apply_to_list(self, item: list[Any], path: Sequence[PathStep]) -> list[Any]:
        step = path[0]
        if step.is_bracketed and step.text == APPEND_SIGN:
            if self._change == "delete":
                raise self._make_error("a new element cannot be removed", step)
            return [*item, self.apply_to(None, path[1:])]
        index = self._find_index(item, step)
        if len(path) == 1 and self._change == "delete":
            return [*item[:index], *item[index + 1 :]]
        return [*item[:index], self.apply_to(item[index], path[1:]), *item[index + 1 :]]

    def _find_index(self, item: list[Any], step: PathStep) -> int:
        if step.text.isdecimal():
            if int(step.text) < len(item):
                return int(step.text)
            raise self._make_error(
                f"index out of range: {count_noun(len(item), 'element')}", step, "indexes start at 0, [+] appends"
            )
        for index, element in enumerate(item):
            if isinstance(element, dict) and any(element.get(field) == step.text for field in NAMING_FIELDS):
                return index
        names = [
            str(element[field])
            for element in item
            if isinstance(element, dict)
            for field in NAMING_FIELDS[:1]
            if field in element
        ]
        raise self._make_error(
            f"no element is named {step.text}", step, f"available: {', '.join(names)}" if names else ""
        )

    def _make_error(self, message: str, step: PathStep, hint: str = "") -> EditError:
        return EditError(message, self._text, step.position, hint)


def field_step(resource: str) -> str:
    """The resource as a step of a path."""
    return f"[{resource}]" if "." in resource or "/" in resource else f".{resource}"
