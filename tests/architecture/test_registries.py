"""One list per kind of thing, one line per item, and nothing in the folder that is not in the list."""

import importlib
from collections.abc import Iterable, Mapping

import pytest

from tests.architecture.source_tree import PACKAGE

# folder, name of its list, files of the folder that are no item
REGISTRIES = [
    ("plugins", "PLUGINS", ()),
    ("actions", "ACTIONS", ()),
    ("cli/commands", "COMMANDS", ("base",)),
    ("tui/panels", "EXTRAS", ("base",)),
    ("debugger/breakpoints", "KINDS", ("base",)),
]


def present() -> list[tuple[str, str, tuple[str, ...]]]:
    return [row for row in REGISTRIES if (PACKAGE / row[0] / "__init__.py").exists()]


def module_of(item: object) -> str:
    """The last part of the module that an entry names: as text ("vcdebug.plugins.gang:Gang") or as a class."""
    text = item if isinstance(item, str) else str(getattr(item, "module", getattr(item, "__module__", item)))
    return text.partition(":")[0].rpartition(".")[2]


def listed(registry: object) -> list[str]:
    assert isinstance(registry, Iterable)
    items = registry.values() if isinstance(registry, Mapping) else registry
    return [module_of(item) for item in items]


@pytest.mark.parametrize(("folder", "name", "others"), present())
def test_the_list_is_the_folder(folder: str, name: str, others: tuple[str, ...]) -> None:
    registry = getattr(importlib.import_module("vcdebug." + folder.replace("/", ".")), name)
    found = [
        path.stem if path.is_file() else path.name
        for path in (PACKAGE / folder).iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    assert sorted({entry for entry in found if entry != "__init__"} - set(others)) == sorted(set(listed(registry)))
