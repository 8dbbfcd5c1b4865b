"""The sound inputs that are damaged: bundled snapshots, recorded cases, and small inputs that once caused faults."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from vcdebug.snapshot.sources import list_bundled

ROOT: Final = Path(__file__).resolve().parents[2]
BESIDE: Final = ROOT.parent / "shared" / "golden" / "inputs"
"""Optional folder of further inputs, beside the checkout."""
RECORDED: Final = ROOT / "tests" / "golden" / "random"
MAX_BYTES: Final = 150_000
"""Limit of the size of one seed's manifests; larger seeds take too long."""

Manifest = dict[str, Any]


class Seed(NamedTuple):
    """One valid snapshot."""

    name: str
    manifests: str
    """All objects, as a JSON list."""
    files: dict[str, bytes]
    """The other files: configuration, settings, usage."""

    def objects(self) -> list[Manifest]:
        """A copy of the objects that the caller may change."""
        read: list[Manifest] = json.loads(self.manifests)
        return read

    def names_of(self, *kinds: str) -> list[str]:
        """NAMESPACE/NAME of each object of these kinds."""
        return [name for kind, name in _names_by_kind(self.manifests) if kind in kinds]


@cache
def _names_by_kind(manifests: str) -> tuple[tuple[object, str], ...]:
    """Kind and NAMESPACE/NAME of each object, read once per seed: a script asks for names hundreds of times."""
    found = [(each.get("kind"), each.get("metadata") or {}) for each in json.loads(manifests)]
    return tuple(
        (kind, "/".join(filter(None, (str(one.get("namespace") or ""), str(one.get("name")))))) for kind, one in found
    )


class _TextLoader(yaml.CSafeLoader):
    """A YAML loader that keeps times as text, which JSON can hold."""


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def parse_yaml(data: bytes) -> list[Any]:
    """The objects of all documents, with those of lists."""
    documents = [each for each in yaml.load_all(data, _TextLoader) if each]
    return [one for each in documents for one in (each.get("items", [each]) if isinstance(each, dict) else [])]


@cache
def load_seeds() -> tuple[Seed, ...]:
    """Every seed, in order."""
    folders = [*sorted(each.path for each in list_bundled()), *sorted(RECORDED.iterdir())]
    folders += sorted(BESIDE.iterdir()) if BESIDE.is_dir() else []
    seeds = [seed for folder in folders if (seed := _read_seed(Path(folder))) is not None]
    return tuple(seed for seed in seeds if len(seed.manifests) < MAX_BYTES)


def _read_seed(folder: Path) -> Seed | None:
    paths = sorted(folder.iterdir()) if folder.is_dir() else [folder]
    objects: list[Any] = []
    files: dict[str, bytes] = {}
    for path in paths:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        name = path.name.removesuffix(".gz")
        if name.endswith((".yaml", ".yml")) or name.startswith("cluster."):
            objects += parse_yaml(data)
        elif name in ("scheduler.conf", "meta.json", "usage.json", "extender.json", "device-config.yaml"):
            files[name] = data
    manifests = [each for each in objects if isinstance(each, dict) and isinstance(each.get("kind"), str)]
    return Seed(folder.name, json.dumps(manifests), files) if manifests else None
