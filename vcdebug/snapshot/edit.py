"""Edits of a snapshot: one text is one change of an object, the configuration, a flag, a random choice or the clock.

`Queue/research:spec.weight=4` sets a field to a YAML value, `Pod/team/web-0:spec.nodeSelector-` removes one,
`Node/n1:-` removes an object, `Node/n9:+=n1` adds a copy. `conf:plugins.gang.enablePreemptable=false`,
`flag:minimum_feasible_nodes=50`, `chance:tie_seed=3` and `clock:now=2026-11-01T00:05:00Z` change settings,
`replay:persistence=on` and `replay:bound[team/a-0]=n2` (a pod that another client binds) change the replay, and
`answer:103.Preemptable.gang=allow a-0` forces a plugin's answer at an event.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.errors import SnapshotError, closest_name
from vcdebug.snapshot.edit_path import (
    APPEND_SIGN,
    NAMING_FIELDS,
    EditChange,
    EditError,
    PathReader,
    PathStep,
    find_path_end,
)
from vcdebug.snapshot.file_access import read_file, replace_file
from vcdebug.snapshot.go_yaml import edited_document
from vcdebug.snapshot.kinds import KIND_BY_NAME, KIND_BY_WORD
from vcdebug.snapshot.yaml_documents import SAFE_DUMPER, SAFE_LOADER, DocumentError, refuse_deep, yaml_documents

CONF, FLAG, CHANCE, CLOCK, REPLAY, ANSWER = "conf", "flag", "chance", "clock", "replay", "answer"
SETTING_KINDS: Final = (CONF, FLAG, CHANCE, CLOCK, REPLAY, ANSWER)
EDIT_FORMS: Final = (
    "KIND/[NAMESPACE/]NAME:PATH=VALUE, conf:PATH=VALUE, flag:NAME=VALUE, chance:NAME=VALUE, "
    "replay:NAME=VALUE or answer:EVENT=VALUE"
)
TOP_FIELDS: Final = ("spec", "status", "metadata", "data", "value")
"""First fields of a short edit's path; any other path is below `spec`."""
_KINDS: Final[Mapping[str, str]] = {
    word: name for word, name in KIND_BY_WORD.items() if name in KIND_BY_NAME and not KIND_BY_NAME[name].settings
}


class Edit(Struct, frozen=True):
    """One change of a snapshot."""

    text: str
    """The edit as the user wrote it."""
    kind: str
    """A kind's name, or conf, flag, chance, clock, replay or answer."""
    name: str
    """The object, with its namespace if one was given; empty for settings."""
    path: tuple[PathStep, ...]
    """Empty for an edit of the whole object."""
    change: EditChange
    value: str = ""
    value_at: int = 0
    """The character of the text at which the value begins."""

    @property
    def subject_text(self) -> str:
        """The changed object or setting, for messages."""
        return f"{self.kind} {self.name}" if self.name else self.kind

    def make_error(self, message: str, position: int = 0, hint: str = "") -> EditError:
        return EditError(message, self.text, position, hint)

    def read_value(self) -> Any:
        """The value as plain data."""
        try:
            return next(yaml_documents(self.value), None)
        except DocumentError as error:
            raise self.make_error(f"the value {error}", self.value_at) from error


def parse_edit(text: str) -> Edit:
    """Read one edit; raises EditError."""
    text = text.strip()
    target, colon, change_text = text.partition(":")
    if not colon:
        raise EditError("missing ':' after the object", text, len(text), f"write {EDIT_FORMS}")
    kind, name = _parse_target(text, target)
    start = len(target) + 1
    if not change_text:
        raise EditError("missing path", text, start, f"write {EDIT_FORMS}")
    if kind not in SETTING_KINDS and change_text == "-":
        return Edit(text, kind, name, (), "delete")
    if kind not in SETTING_KINDS and change_text.startswith("+="):
        return Edit(text, kind, name, (), "add", change_text[2:].strip(), start + 2)
    end = find_path_end(text, start)
    if end < len(text):
        path = PathReader(text, start, end).read_steps()
        return Edit(text, kind, name, path, "set", text[end + 1 :].strip(), end + 1)
    if not change_text.endswith("-"):
        PathReader(text, start, end).read_steps()
        raise EditError("missing =VALUE, or - to remove the field", text, end)
    return Edit(text, kind, name, PathReader(text, start, end - 1).read_steps(), "delete")


def expand_short_edit(text: str) -> str:
    """`queue research weight=4` as `Queue/research:spec.weight=4`; any other text is unchanged."""
    kind, _, words = text.strip().partition(" ")
    name, _, change = words.strip().partition(" ")
    change = change.strip()
    if ":" in kind or not change or kind.lower() not in _KINDS:
        return text.strip()
    first = change.partition("=")[0].partition(".")[0].partition("[")[0].rstrip("-")
    path = change if first in TOP_FIELDS else f"spec.{change}"
    return f"{_KINDS[kind.lower()]}/{name}:{path}"


def _parse_target(text: str, target: str) -> tuple[str, str]:
    """(kind, name)."""
    word, slash, name = target.partition("/")
    if word.lower() in SETTING_KINDS and not slash:
        return word.lower(), ""
    kind = _KINDS.get(word.lower())
    if kind is None:
        close = closest_name(word.lower(), [*_KINDS, *SETTING_KINDS])
        guess = _KINDS.get(close, close)
        raise EditError(f"unknown kind {word!r}", text, 0, f"did you mean {guess}?" if guess else f"write {EDIT_FORMS}")
    if not name or name.startswith("/") or name.endswith("/") or name.count("/") > 1:
        raise EditError("missing object name", text, len(word), f"write {kind}/[NAMESPACE/]NAME:...")
    return kind, name


FILE_SIGN = "@"
"""`--set @FILE` means the edits of a file."""


def write_edits(path: str, edits: Iterable[str], snapshot_name: str) -> None:
    """Write the edits to a file, replacing an existing one; raises SnapshotError."""
    lines = [f"# what-if edits of {snapshot_name}: --set {FILE_SIGN}{path}", *edits]
    try:
        with replace_file(Path(path)) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error


def read_edits(path: str) -> list[str]:
    """The edits of a file, one per line without `#` comments; raises SnapshotError or EditError with file and line."""
    try:
        text = read_file(path).decode()
    except UnicodeDecodeError as error:
        raise SnapshotError("the edits cannot be read: not text", where=path) from error
    edits = []
    for number, line in enumerate(text.splitlines(), start=1):
        edit = line.strip()
        if edit and not edit.startswith("#"):
            _check_edit(edit, f"{path}: line {number}")
            edits.append(edit)
    return edits


def expand_edits(texts: Iterable[str]) -> Iterator[str]:
    """Edits with every `@FILE` among them replaced by the edits of the file."""
    for text in texts:
        if text.startswith(FILE_SIGN):
            yield from read_edits(text[len(FILE_SIGN) :])
        else:
            yield text


def _check_edit(edit: str, place: str) -> None:
    try:
        parse_edit(edit)
    except EditError as error:
        error.where = place
        raise


def _find_index(names: Sequence[Sequence[object]], step: PathStep, edit: Edit) -> int | None:
    """The index of the element that a step means, by its number or by one of its names; None for an unknown name."""
    if not step.text.isdecimal():
        return next((index for index, own in enumerate(names) if step.text in own), None)
    if int(step.text) < len(names):
        return int(step.text)
    message = f"index out of range: {count_noun(len(names), 'element')}"
    raise edit.make_error(message, step.position, "indexes start at 0, [+] appends")


# Edits of plain data.


class EditWalk:
    """Applies one change to plain data: copies mappings and lists along the path, and shares the rest."""

    def __init__(self, edit: Edit, value: Any) -> None:
        self._edit = edit
        self._value = value

    def apply_to(self, item: Any, path: Sequence[PathStep]) -> Any:
        """A copy of the item with the change made at the end of the path."""
        if not path:
            return self._value
        if item is None and self._edit.change != "delete":
            item = [] if path[0].is_index else {}
        if isinstance(item, dict):
            return self._apply_to_mapping(item, path[0].text, path)
        if isinstance(item, list):
            return self._apply_to_list(item, path)
        raise self._edit.make_error(f"{item!r} has no field {path[0]}", path[0].position)

    def _apply_to_mapping(self, item: dict[str, Any], key: str, path: Sequence[PathStep]) -> dict[str, Any]:
        if self._edit.change != "delete":
            return {**item, key: self.apply_to(item.get(key), path[1:])}
        if key not in item:
            raise self._edit.make_error(f"{key} not found", path[0].position, _available_hint(item))
        if len(path) == 1:
            return {name: value for name, value in item.items() if name != key}
        return {**item, key: self.apply_to(item[key], path[1:])}

    def _apply_to_list(self, item: list[Any], path: Sequence[PathStep]) -> list[Any]:
        step = path[0]
        if step.is_bracketed and step.text == APPEND_SIGN:
            if self._edit.change == "delete":
                raise self._edit.make_error("a new element cannot be removed", step.position)
            return [*item, self.apply_to(None, path[1:])]
        index = self._find_index(item, step)
        if len(path) == 1 and self._edit.change == "delete":
            return [*item[:index], *item[index + 1 :]]
        return [*item[:index], self.apply_to(item[index], path[1:]), *item[index + 1 :]]

    def _find_index(self, item: list[Any], step: PathStep) -> int:
        named = [element if isinstance(element, dict) else {} for element in item]
        index = _find_index([[element.get(field) for field in NAMING_FIELDS] for element in named], step, self._edit)
        if index is None:
            hint = _available_hint(element["name"] for element in named if "name" in element)
            raise self._edit.make_error(f"no element is named {step.text}", step.position, hint)
        return index


def _available_hint(names: Iterable[object]) -> str:
    listed = ", ".join(map(str, names))
    return f"available: {listed}" if listed else ""


# Edits of the configuration.

PLUGINS_KEY: Final = "plugins"
"""As the first step: the plugins of all tiers."""
TIERS_KEY: Final = "tiers"
_MAP, _SEQ, _NULL = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:null"


def edit_conf_text(text: str, edit: Edit) -> str:
    """The configuration with one change; raises EditError."""
    # YAML nodes instead of plain data: types, order and texts of everything else are written back unchanged.
    try:
        root = edited_document(text)
    except (yaml.YAMLError, ValueError) as error:
        raise edit.make_error("the configuration is not YAML") from error
    root = yaml.MappingNode(_MAP, []) if root is None else root
    steps = list(edit.path)
    if steps[0].text == PLUGINS_KEY and not steps[0].is_bracketed:
        _edit_plugins(root, steps[1:], edit)
    else:
        _change_node(root, steps, edit)
    return str(yaml.serialize(root, Dumper=SAFE_DUMPER))


def _edit_plugins(root: yaml.Node, steps: Sequence[PathStep], edit: Edit) -> None:
    """Change every entry of the plugin, in all tiers."""
    if not steps:
        raise edit.make_error("which plugin?", edit.path[0].position, "write conf:plugins.NAME...")
    count = 0
    names: list[str] = []
    for plugins in _plugin_lists(root):
        for option in list(plugins.value):
            name = _name_of_node(option)
            names.append(name)
            if name != steps[0].text:
                continue
            count += 1
            if len(steps) > 1:
                _change_node(option, steps[1:], edit)
            elif edit.change == "delete":
                plugins.value.remove(option)
            else:
                raise edit.make_error("missing setting of the plugin", steps[0].position)
    if not count:
        hint = f"plugins: {', '.join(names)}; conf:tiers[0].plugins[+]={{name: {steps[0].text}}} adds it"
        raise edit.make_error(f"no plugin {steps[0].text}", steps[0].position, hint)


def _plugin_lists(root: yaml.Node) -> Iterator[yaml.SequenceNode]:
    tiers = _find_entry(root, TIERS_KEY)
    for tier in tiers.value if isinstance(tiers, yaml.SequenceNode) else ():
        plugins = _find_entry(tier, PLUGINS_KEY)
        if isinstance(plugins, yaml.SequenceNode):
            yield plugins


def _find_entry(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _name_of_node(node: yaml.Node) -> str:
    name = _find_entry(node, "name")
    return str(name.value) if isinstance(name, yaml.ScalarNode) else ""


def _change_node(node: yaml.Node, steps: Sequence[PathStep], edit: Edit) -> None:
    """Follow the path to its last step, and set or remove that field or element."""
    for step, following in pairwise(steps):
        node = _child_node(node, step, following, edit)
    last = steps[-1]
    if isinstance(node, yaml.MappingNode):
        _change_entry(node, last, edit)
    elif isinstance(node, yaml.SequenceNode):
        _change_element(node, last, edit)
    else:
        raise _no_fields_error(node, last, edit)


def _child_node(node: yaml.Node, step: PathStep, following: PathStep, edit: Edit) -> yaml.Node:
    if isinstance(node, yaml.SequenceNode):
        return _find_element(node, step, edit)
    if not isinstance(node, yaml.MappingNode):
        raise _no_fields_error(node, step, edit)
    child = _find_entry(node, step.text)
    if child is None and edit.change == "delete":
        raise edit.make_error(f"{step.text} not found", step.position, _keys_hint(node))
    if child is not None and (edit.change == "delete" or child.tag != _NULL):
        return child
    # The scheduler reads `arguments:` without a value as no arguments, so setting one of them gives it a value.
    child = yaml.SequenceNode(_SEQ, []) if following.is_index else yaml.MappingNode(_MAP, [])
    place = next((index for index, (key, _) in enumerate(node.value) if key.value == step.text), len(node.value))
    node.value[place : place + 1] = [(_scalar_node(step.text), child)]
    return child


def _change_entry(node: yaml.MappingNode, step: PathStep, edit: Edit) -> None:
    present = [place for place, (key, _) in enumerate(node.value) if key.value == step.text]
    if edit.change == "set" and present:
        node.value[present[-1]] = (node.value[present[-1]][0], _value_node(edit))
    elif edit.change == "set":
        node.value.append((_scalar_node(step.text), _value_node(edit)))
    elif present:
        node.value = [entry for place, entry in enumerate(node.value) if place not in present]
    else:
        raise edit.make_error(f"{step.text} not found", step.position, _keys_hint(node))


def _change_element(node: yaml.SequenceNode, step: PathStep, edit: Edit) -> None:
    if step.is_bracketed and step.text == APPEND_SIGN and edit.change == "set":
        node.value.append(_value_node(edit))
        return
    place = node.value.index(_find_element(node, step, edit))
    if edit.change == "set":
        node.value[place] = _value_node(edit)
    else:
        del node.value[place]


def _find_element(node: yaml.SequenceNode, step: PathStep, edit: Edit) -> yaml.Node:
    index = _find_index([[_name_of_node(element)] for element in node.value], step, edit)
    if index is None:
        raise edit.make_error(f"no element is named {step.text}", step.position)
    found: yaml.Node = node.value[index]
    return found


def _value_node(edit: Edit) -> yaml.Node:
    try:
        refuse_deep(edit.value)
        node = yaml.compose(edit.value, Loader=SAFE_LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise edit.make_error("the value is not YAML", edit.value_at) from error
    return _scalar_node("") if node is None else node


def _scalar_node(text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text)


def _keys_hint(node: yaml.MappingNode) -> str:
    return _available_hint(key.value for key, _ in node.value)


def _no_fields_error(node: yaml.Node, step: PathStep, edit: Edit) -> EditError:
    return edit.make_error(f"{node.value!r} has no field {step}", step.position)
