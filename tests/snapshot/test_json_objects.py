"""Objects of a large file are parsed one by one, with the same result as parsing the whole file."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from tests.snapshot.damage import Damaged, damaged, wrong_types
from tests.snapshot.manifests import as_list, cluster, pod
from vcdebug.errors import SnapshotError
from vcdebug.snapshot import gathered_objects, json_objects
from vcdebug.snapshot.json_objects import ObjectReader
from vcdebug.snapshot.loader import LoadStoppedError, load_snapshot
from vcdebug.snapshot.shapes import ObjectIntake
from vcdebug.snapshot.snapshot import Manifest

DEEP = "nests deeper than 100 levels"
"""A problem about a field that vcdebug ignores; not reported when objects are parsed one by one."""
DAMAGES = [case for case in (*damaged(), *wrong_types()) if case.file.endswith(("json", "json.gz"))]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function after whose call every file counts as large."""
    return lambda: monkeypatch.setattr(gathered_objects, "LARGE_JSON_BYTES", 0)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of objects that were parsed one by one."""
    names: list[str] = []
    read = ObjectReader.read_object

    def noted(self: ObjectReader, *arguments: Any) -> Manifest | None:
        manifest = read(self, *arguments)
        names.extend([] if manifest is None else [manifest["metadata"]["name"]])
        return manifest

    monkeypatch.setattr(ObjectReader, "read_object", noted)
    return names


def outcome(path: Path) -> tuple[str, list[str]]:
    """The loaded objects in field order and their problem lines, or the error line."""
    try:
        snapshot = load_snapshot(path)
    except SnapshotError as error:
        return error.format_line(), []
    return json.dumps(snapshot.objects), [problem.format_line() for problem in snapshot.problems]


def both(text: str, tmp_path: Path, large: Callable[[], None]) -> tuple[object, object]:
    """The outcomes of loading a text as a whole and one by one."""
    path = tmp_path / "cluster.json"
    path.write_text(text, encoding="utf-8")
    whole = outcome(path)
    large()
    return whole, outcome(path)


def typed(kind: str, version: object, items: list[Manifest]) -> Manifest:
    """A typed list as the API server returns it: items without kind and apiVersion."""
    bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
    return {"kind": f"{kind}List", "apiVersion": version, "items": bare}


PODS = [pod("a", f"p-{number}", "g") for number in range(5)]
FORMS = {
    "a List": json.dumps(as_list(cluster())),
    "a List with its kind at the end": json.dumps({"apiVersion": "v1", "items": cluster(), "kind": "List"}),
    "a List over many lines": json.dumps(as_list(cluster()), indent=2),
    "one line each": "\n".join(json.dumps(one) for one in cluster()),
    "documents over many lines": "\n".join(json.dumps(one, indent=1) for one in cluster()),
    "a typed list": json.dumps(typed("Pod", "v1", PODS)),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_object_is_read_by_itself(form: str, tmp_path: Path, taken: list[str], large: Callable[[], None]) -> None:
    whole, singly = both(FORMS[form], tmp_path, large)
    assert whole == singly
    assert len(taken) == (5 if form == "a typed list" else len(cluster()))


ODD = {
    "a typed list without apiVersion": json.dumps(typed("Pod", None, PODS)),
    "a typed list of another group": json.dumps(typed("Pod", "batch/v1", PODS)),
    "a list of Lists": json.dumps(as_list([as_list(cluster()[:4]), as_list(cluster()[4:])])),
    "an array": json.dumps(cluster()),
    "one object": json.dumps(PODS[0]),
    "kinds that nothing reads": json.dumps(as_list([{"kind": "Event", "metadata": {"name": "e"}}, *cluster()])),
    "settings": json.dumps(as_list([{"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}, *PODS])),
    "an object without name": json.dumps(as_list([{"kind": "Pod", "metadata": {}}, *PODS])),
    "an object without kind": json.dumps(as_list([{"metadata": {"name": "p"}}, *PODS])),
    "a configuration among the lines": "\n".join(
        map(json.dumps, [*PODS, {"actions": "allocate", "tiers": []}, PODS[0]])
    ),
    "nothing in the list": json.dumps({"kind": "List", "items": None}),
    "fields that are there twice": json.dumps(PODS[0])[:-1] + ', "metadata": {"name": "other", "name": "last"}}',
    "other letters": json.dumps(as_list([pod("a", "p-ä", "g"), *PODS]), ensure_ascii=False),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_input_is_read_the_same_by_both_readers(case: str, tmp_path: Path, large: Callable[[], None]) -> None:
    whole, singly = both(ODD[case], tmp_path, large)
    assert whole == singly


@pytest.mark.parametrize("case", DAMAGES, ids=lambda case: case.name[:60])
def test_damaged_input_is_reported_the_same_by_both_readers(
    case: Damaged, tmp_path: Path, large: Callable[[], None]
) -> None:
    path = case.write(tmp_path)
    whole = outcome(path)
    large()
    singly = outcome(path)
    assert whole == singly or DEEP in f"{whole[0]}{whole[1]}"


VALUES = (None, True, 1, -1, 0.5, 1.0, -0.0, 1e3, 2**31, 2**63, 10**30, float("nan"), float("inf"))
TEXTS = ("", "x", "ä", "\ud800", "\0", "1Gi", "2026-01-01T00:00:00Z")
PARTS: tuple[Any, ...] = ([], {}, [1], [None], {"a": None}, {"a": "b"}, [{"name": "x"}])


@pytest.mark.parametrize("seed", range(40))
def test_random_values_are_read_the_same_by_both_readers(seed: int, tmp_path: Path, large: Callable[[], None]) -> None:
    rng = random.Random(seed)
    objects = cluster()
    for one in rng.sample(objects, 6):
        _replace(one, rng)
    whole, singly = both(json.dumps(as_list(objects)), tmp_path, large)
    assert whole == singly


def _replace(manifest: Manifest, rng: random.Random) -> None:
    """Replace a random value at a random depth, in place."""
    holder: Any = manifest
    while True:
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.2:
            holder[key] = rng.choice((*VALUES, *TEXTS, *PARTS))
            return
        holder = holder[key]


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path, taken: list[str], large: Callable[[], None]) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(json.dumps(as_list(PODS)).encode().replace(b"p-0", b"p\xff0"))
    large()
    snapshot = load_snapshot(path)
    assert "p\ufffd0" == snapshot.objects["Pod"][0]["metadata"]["name"]
    assert [] == taken


def test_equal_parts_of_pods_of_one_template_are_shared(tmp_path: Path, large: Callable[[], None]) -> None:
    path = tmp_path / "pods.ndjson"
    path.write_text("\n".join(json.dumps(one) for one in PODS))
    large()
    first, *others = load_snapshot(path).objects["Pod"]
    assert all(first["spec"]["containers"] is one["spec"]["containers"] for one in others)
    assert all(first["spec"]["schedulerName"] is one["spec"]["schedulerName"] for one in others)


@pytest.mark.parametrize("calls", [2, 4])
def test_loading_is_followed_and_stopped_between_objects(
    calls: int, tmp_path: Path, large: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_objects, "_PROGRESS_BYTES", 64)
    path = tmp_path / "cluster.json"
    path.write_text(FORMS["a List"])
    counts: list[int] = []

    def follow(done: int, _total: int, _name: str) -> bool:
        counts.append(done)
        return len(counts) < calls

    large()
    with pytest.raises(LoadStoppedError):
        load_snapshot(path, progress=follow)
    assert calls == len(dict.fromkeys(counts)) == len(counts)
    assert counts == sorted(counts)
    assert counts[-1] < len(FORMS["a List"])


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "{}",
        '{"kind": null}',
        '{"kind": "Nobody"}',
        '{"kind": "Pod", "metadata": null}',
        '{"kind": "Pod", "metadata": {"labels": {"a": 1}}}',
        '{"kind": "Pod", "apiVersion": "nobody/v1"}',
        f'{{"kind": "Pod", "spec": {"[" * 2000}{"]" * 2000}}}',
    ],
)
def test_object_reader_gives_up_on_unknown_forms(text: str) -> None:
    assert ObjectReader(ObjectIntake()).read_object(Raw(text.encode()), {}) is None
