"""Attributes that are not stored: existing names, and every mapping whose keys are object identities."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import vcdebug
from vcdebug.recording.file.lazy_objects import STORED_INSTEAD

ROOMS = ("model", "kube", "framework", "plugins", "actions", "recording")
NEVER_STORED = (
    "PodReader",
    "PodRequestCache",
    "RequestSums",
    "StatedAmounts",
    "PreviousCycle",
    "NodeVerdictCache",
    "LazyClass",
)
"""Classes that exist only while a session opens, actions run, or a file is read."""


def test_every_name_is_an_attribute() -> None:
    for place, attributes in STORED_INSTEAD.items():
        module, name = place.split(":")
        kind = getattr(import_module(module), name)
        source = inspect.getsource(kind)
        assert [] == [one for one in attributes if f"self.{one}" not in source and f"{one}:" not in source], place


def by_identity() -> Iterator[tuple[str, str]]:
    """Yield (class, attribute) of every mapping that a method with id() writes to."""
    for room in ROOMS:
        for path in sorted((Path(vcdebug.__file__).parent / room).rglob("*.py")):
            if path.parent.name == "file":  # writes and reads recording files; its mappings live for one file
                continue
            for kind in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(kind, ast.ClassDef):
                    yield from ((kind.name, one) for method in kind.body for one in written_to(method))


def written_to(method: ast.stmt) -> Iterator[str]:
    nodes = list(ast.walk(method))
    if any(isinstance(one, ast.Name) and one.id == "id" for one in nodes):
        targets = (target for one in nodes if isinstance(one, ast.Assign) for target in one.targets)
        for target in targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
                yield target.value.attr


def test_no_mapping_by_identity_is_stored() -> None:
    found = [(kind, name) for kind, name in by_identity() if kind not in NEVER_STORED]
    left_out = [(place.split(":")[1], name) for place, names in STORED_INSTEAD.items() for name in names]
    assert {"_request_amounts", "_shapes", "_burdens", "_placement_of"} <= {name for _, name in found}
    assert [] == [one for one in found if one not in left_out]
