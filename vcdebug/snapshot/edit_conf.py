"""Edits of the scheduler's configuration: its YAML changes node by node, so that the rest stays as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import yaml

from vcdebug.amount_text import plural
from vcdebug.snapshot.edit import Edit
from vcdebug.snapshot.edit_path import APPEND, EditError, PathStep
from vcdebug.snapshot.yaml_documents import SAFE_DUMPER, SAFE_LOADER, refuse_deep

PLUGINS: Final = "plugins"
"""As the first step: the plugins of all tiers."""
TIERS: Final = "tiers"
_MAP, _SEQ, _NULL = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:null"


def edited_conf(text: str, edit: Edit) -> str:
    """The configuration with one change."""
    try:
        refuse_deep(text)
        root = yaml.compose(text, Loader=SAFE_LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise edit.error("the configuration is not YAML") from error
    root = yaml.MappingNode(_MAP, []) if root is None else root
    steps = list(edit.path)
    if steps[0].text == PLUGINS and not steps[0].bracketed:
        _edit_plugins(root, steps[1:], edit)
    else:
        _change(root, steps, edit)
    return str(yaml.serialize(root, Dumper=SAFE_DUMPER))


def _edit_plugins(root: yaml.Node, steps: Sequence[PathStep], edit: Edit) -> None:
    """Every option of the plugin, in whichever tier."""
    if not steps:
        raise edit.error("which plugin?", edit.path[0].position, "write conf:plugins.NAME...")
    found = 0
    named: list[str] = []
    for plugins in _plugin_lists(root):
        for option in list(plugins.value):
            name = _named(option)
            named.append(name)
            if name != steps[0].text:
                continue
            found += 1
            if len(steps) > 1:
                _change(option, steps[1:], edit)
            elif edit.change == "delete":
                plugins.value.remove(option)
            else:
                raise edit.error("which setting of the plugin?", steps[0].position)
    if not found:
        hint = f"there are {', '.join(named)}; conf:tiers[0].plugins[+]={{name: {steps[0].text}}} adds it"
        raise edit.error(f"no plugin {steps[0].text}", steps[0].position, hint)


def _plugin_lists(root: yaml.Node) -> Iterator[yaml.SequenceNode]:
    tiers = _entry(root, TIERS)
    for tier in tiers.value if isinstance(tiers, yaml.SequenceNode) else ():
        plugins = _entry(tier, PLUGINS)
        if isinstance(plugins, yaml.SequenceNode):
            yield plugins


def _entry(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _named(node: yaml.Node) -> str:
    name = _entry(node, "name")
    return str(name.value) if isinstance(name, yaml.ScalarNode) else ""


def _change(node: yaml.Node, steps: Sequence[PathStep], edit: Edit) -> None:
    """Go down to the last step and set or remove what it names."""
    for step, following in pairwise(steps):
        node = _down(node, step, following, edit)
    last = steps[-1]
    if isinstance(node, yaml.MappingNode):
        _change_entry(node, last, edit)
    elif isinstance(node, yaml.SequenceNode):
        _change_element(node, last, edit)
    else:
        raise _no_fields(node, last, edit)


def _down(node: yaml.Node, step: PathStep, following: PathStep, edit: Edit) -> yaml.Node:
    if isinstance(node, yaml.SequenceNode):
        return _element(node, step, edit)
    if not isinstance(node, yaml.MappingNode):
        raise _no_fields(node, step, edit)
    child = _entry(node, step.text)
    if child is None and edit.change == "delete":
        raise edit.error(f"there is no {step.text}", step.position, _keys(node))
    if child is not None and (edit.change == "delete" or child.tag != _NULL):
        return child
    # The scheduler reads `arguments:` without a value as no arguments, so setting one of them gives it a value.
    child = yaml.SequenceNode(_SEQ, []) if following.is_index else yaml.MappingNode(_MAP, [])
    place = next((at for at, (key, _) in enumerate(node.value) if key.value == step.text), len(node.value))
    node.value[place : place + 1] = [(_scalar(step.text), child)]
    return child


def _change_entry(node: yaml.MappingNode, step: PathStep, edit: Edit) -> None:
    present = [place for place, (key, _) in enumerate(node.value) if key.value == step.text]
    if edit.change == "set" and present:
        node.value[present[-1]] = (node.value[present[-1]][0], _value(edit))
    elif edit.change == "set":
        node.value.append((_scalar(step.text), _value(edit)))
    elif present:
        node.value = [entry for place, entry in enumerate(node.value) if place not in present]
    else:
        raise edit.error(f"there is no {step.text}", step.position, _keys(node))


def _change_element(node: yaml.SequenceNode, step: PathStep, edit: Edit) -> None:
    if step.bracketed and step.text == APPEND and edit.change == "set":
        node.value.append(_value(edit))
        return
    place = node.value.index(_element(node, step, edit))
    if edit.change == "set":
        node.value[place] = _value(edit)
    else:
        del node.value[place]


def _element(node: yaml.SequenceNode, step: PathStep, edit: Edit) -> yaml.Node:
    if step.text.isdecimal():
        if int(step.text) < len(node.value):
            found: yaml.Node = node.value[int(step.text)]
            return found
        raise edit.error(
            f"the list has {plural(len(node.value), 'element')}", step.position, "they count from 0, [+] adds one"
        )
    named: yaml.Node | None = next((element for element in node.value if _named(element) == step.text), None)
    if named is None:
        raise edit.error(f"no element is called {step.text}", step.position)
    return named


def _value(edit: Edit) -> yaml.Node:
    try:
        refuse_deep(edit.value)
        node = yaml.compose(edit.value, Loader=SAFE_LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise edit.error("the value is not YAML", edit.value_at) from error
    return _scalar("") if node is None else node


def _scalar(text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text)


def _keys(node: yaml.MappingNode) -> str:
    return f"there are {', '.join(str(key.value) for key, _ in node.value)}" if node.value else ""


def _no_fields(node: yaml.Node, step: PathStep, edit: Edit) -> EditError:
    return edit.error(f"{step} is sought in {node.value!r}, which has no fields", step.position)
