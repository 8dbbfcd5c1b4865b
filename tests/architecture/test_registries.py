"""Each registry lists exactly the modules in its folder."""

import ast
import contextlib
import importlib
import re
from collections.abc import Iterable, Mapping

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT, sources
from tests.mutants.__main__ import read_equivalent
from tests.mutants.mutations import SCOPE, find_mutants
from vcdebug.framework.registry import resolve_reference
from vcdebug.plugins import PLUGINS
from vcdebug.releases import devices, nodes, queues, scheduling
from vcdebug.releases.change import Change

# (folder, name of its registry, files of the folder that are no item)
REGISTRIES = [
    ("plugins", "PLUGINS", ()),
    ("actions", "ACTIONS", ()),
    ("explain/pending/gates", "ALL_GATES", ()),
    ("cli/commands", "COMMANDS", ("base",)),
    ("tui/panels", "PANEL_EXTRAS", ("base",)),
    ("debugger/breakpoints", "BREAKPOINT_KINDS", ()),
    ("debugger/commands", "COMMAND_GROUPS", ("base",)),
]


def present() -> list[tuple[str, str, tuple[str, ...]]]:
    return [row for row in REGISTRIES if (PACKAGE / row[0] / "__init__.py").exists()]


def module_of(item: object) -> str:
    """The last part of the module name of an entry, a text ("vcdebug.plugins.gang:Gang") or a class."""
    text = item if isinstance(item, str) else str(getattr(item, "module", getattr(item, "__module__", item)))
    return text.partition(":")[0].rpartition(".")[2]


def listed(registry: object) -> list[str]:
    assert isinstance(registry, Iterable)
    items = registry.values() if isinstance(registry, Mapping) else registry
    return [module_of(item) for item in items if not is_elsewhere(item)]


def is_elsewhere(item: object) -> bool:
    """Whether an entry names a gate of a single plugin, which lies in that plugin's own file."""
    return (
        isinstance(item, str)
        and item.startswith("vcdebug.explain.plugins.")
        and ":" in item
        and not item.endswith(":EXPLAINER")
    )


@pytest.mark.parametrize(("folder", "name", "others"), present())
def test_registry_lists_exactly_the_modules_of_its_folder(folder: str, name: str, others: tuple[str, ...]) -> None:
    registry = getattr(importlib.import_module("vcdebug." + folder.replace("/", ".")), name)
    found = [
        path.stem if path.is_file() else path.name
        for path in (PACKAGE / folder).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    assert sorted({entry for entry in found if entry != "__init__"} - set(others)) == sorted(set(listed(registry)))


def test_each_explainer_is_of_a_plugin() -> None:
    modules = [module_of(reference) for reference in PLUGINS.values()]
    explainers = [
        path.stem for path in (PACKAGE / "explain" / "plugins").iterdir() if path.stem.strip("_") == path.stem
    ]
    assert [] == [name for name in explainers if name not in modules]


def test_each_change_that_is_replayed_is_asked_about_somewhere() -> None:
    """Each change needs code that checks it; templates of log lines name changes behind an `@`."""
    sources = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "releases" or path.name == "release.py"]
    sources.append(PACKAGE / "comparison" / "logs" / "messages.txt")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    rows = [
        (name, change)
        for module in (devices, nodes, queues, scheduling)
        for name, change in vars(module).items()
        if isinstance(change, Change)
    ]
    assert [] == [
        name for name, change in rows if change.replayed and name not in text and f"@{change.id} " not in text
    ]


REFERENCE = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*:[A-Za-z_]\w*")
"""A lazy reference `module:name`, which is imported on use."""
BEFORE_REFERENCES = ("", "vcdebug.views.", "vcdebug.tui.screens.")
"""Prefixes that tables of references leave out."""


def reference_resolves(reference: str) -> bool:
    for before in BEFORE_REFERENCES:
        with contextlib.suppress(ImportError, AttributeError):
            resolve_reference(before + reference)
            return True
    return False


def test_each_text_reference_resolves() -> None:
    texts = [
        (source.path.name, node.value)
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and REFERENCE.fullmatch(node.value)
    ]
    assert len(texts) > 100
    assert [] == [(name, text) for name, text in texts if not reference_resolves(text)]


def test_each_listed_equivalent_mutant_is_one_of_the_source() -> None:
    """A line that changed leaves its entry behind: write the entry anew, or remove it."""
    listed = read_equivalent()
    paths = dict.fromkeys(entry.partition(":")[0] for entry in listed)
    found = {mutant.shown for path in paths for mutant in find_mutants(path, (ROOT / path).read_bytes())}
    assert [] == [entry for entry in listed if entry not in found]


def test_each_pattern_of_the_mutated_files_matches_one() -> None:
    assert [] == [pattern for pattern in SCOPE if not any(ROOT.glob(pattern))]
