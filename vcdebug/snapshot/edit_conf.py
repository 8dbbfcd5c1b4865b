"""Edits of the scheduler's configuration: its YAML changes node by node, so that the rest stays as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import yaml

from vcdebug.amount_text import count_noun
from vcdebug.snapshot.edit import Edit
from vcdebug.snapshot.edit_path import APPEND_SIGN, EditError, PathStep
from vcdebug.snapshot.go_yaml import edited_document
from vcdebug.snapshot.yaml_documents import SAFE_DUMPER, SAFE_LOADER, refuse_deep

PLUGINS_KEY: Final = "plugins"
"""As the first step: the plugins of all tiers."""
TIERS_KEY: Final = "tiers"
_MAP, _SEQ, _NULL = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:null"


def edit_conf_text(text: str, edit: Edit) -> str:
    """The configuration with one change."""
    try:
        root = edited_document(text)
    except (yaml.YAMLError, ValueError) as error:
        raise edit.make_error("the configuration is not YAML") from error
    root = yaml.MappingNode(_MAP, []) if root is None else root
    steps = list(edit.path)
    if steps[0].text == PLUGINS_KEY and not steps[0].bracketed:
        _edit_plugins(root, steps[1:], edit)
    else:
        _change_node(root, steps, edit)
    return str(yaml.serialize(root, Dumper=SAFE_DUMPER))


def _edit_plugins(root: yaml.Node, steps: Sequence[PathStep], edit: Edit) -> None:
    """Every option of the plugin, in whichever tier."""
    if not steps:
        raise edit.make_error("which plugin?", edit.path[0].position, "write conf:plugins.NAME...")
    found = 0
    named: list[str] = []
    for plugins in _plugin_lists(root):
        for option in list(plugins.value):
            name = _name_of_node(option)
            named.append(name)
            if name != steps[0].text:
                continue
            found += 1
            if len(steps) > 1:
                _change_node(option, steps[1:], edit)
            elif edit.change == "delete":
                plugins.value.remove(option)
            else:
                raise edit.make_error("which setting of the plugin?", steps[0].position)
    if not found:
        hint = f"there are {', '.join(named)}; conf:tiers[0].plugins[+]={{name: {steps[0].text}}} adds it"
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
    """Go down to the last step and set or remove what it names."""
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
        raise edit.make_error(f"there is no {step.text}", step.position, _keys_hint(node))
    if child is not None and (edit.change == "delete" or child.tag != _NULL):
        return child
    # The scheduler reads `arguments:` without a value as no arguments, so setting one of them gives it a value.
    child = yaml.SequenceNode(_SEQ, []) if following.is_index else yaml.MappingNode(_MAP, [])
    place = next((at for at, (key, _) in enumerate(node.value) if key.value == step.text), len(node.value))
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
        raise edit.make_error(f"there is no {step.text}", step.position, _keys_hint(node))


def _change_element(node: yaml.SequenceNode, step: PathStep, edit: Edit) -> None:
    if step.bracketed and step.text == APPEND_SIGN and edit.change == "set":
        node.value.append(_value_node(edit))
        return
    place = node.value.index(_find_element(node, step, edit))
    if edit.change == "set":
        node.value[place] = _value_node(edit)
    else:
        del node.value[place]


def _find_element(node: yaml.SequenceNode, step: PathStep, edit: Edit) -> yaml.Node:
    if step.text.isdecimal():
        if int(step.text) < len(node.value):
            found: yaml.Node = node.value[int(step.text)]
            return found
        raise edit.make_error(
            f"the list has {count_noun(len(node.value), 'element')}", step.position, "they count from 0, [+] adds one"
        )
    named: yaml.Node | None = next((element for element in node.value if _name_of_node(element) == step.text), None)
    if named is None:
        raise edit.make_error(f"no element is called {step.text}", step.position)
    return named


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
    return f"there are {', '.join(str(key.value) for key, _ in node.value)}" if node.value else ""


def _no_fields_error(node: yaml.Node, step: PathStep, edit: Edit) -> EditError:
    return edit.make_error(f"{step} is sought in {node.value!r}, which has no fields", step.position)
