"""Large files are read in pieces, with the same result, progress reports and a way to stop."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.snapshot.manifests import as_list, as_read, cluster, pod
from vcdebug.snapshot import json_documents, loader
from vcdebug.snapshot.gathered_objects import read_documents
from vcdebug.snapshot.json_documents import JsonError, OpenList
from vcdebug.snapshot.loader import LoadStoppedError, load_snapshot
from vcdebug.snapshot.snapshot import Manifest


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a window so small that every manifest spans several."""
    monkeypatch.setattr(json_documents, "WINDOW", 64)


def by_kind(manifests: list[Manifest]) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        found.setdefault(manifest["kind"], []).append(manifest)
    return found


def flat(documents: Iterator[Any]) -> list[Any]:
    """All documents, with the items of open lists in their places."""
    found: list[Any] = []
    for document in documents:
        found.extend(document.items if isinstance(document, OpenList) else [document])
    return found


def typed(kind: str, items: list[Manifest]) -> Manifest:
    """A typed list as the API server returns it: items without kind and apiVersion."""
    bare = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in items]
    return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": bare}


PODS = [pod("a", f"p-{number}", "g") for number in range(5)]
FORMS = {
    "a List with its kind before the items": {"kind": "List", "apiVersion": "v1", "items": cluster()},
    "a List with its kind at the end": {"apiVersion": "v1", "items": cluster(), "kind": "List", "metadata": {}},
    "an array": cluster(),
    "a List of Lists": {"kind": "List", "items": [as_list(cluster()[:4]), as_list(cluster()[4:])]},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_large_list_holds_what_it_holds_as_a_whole(form: str, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(FORMS[form], indent=indent), encoding="utf-8")
    snapshot = load_snapshot(path)
    assert as_read(by_kind(cluster())) == snapshot.objects
    assert [] == snapshot.problems


def test_items_of_a_typed_list_take_kind_and_version_from_it(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    path.write_text(json.dumps(typed("Pod", PODS)), encoding="utf-8")
    pods = load_snapshot(path).objects["Pod"]
    assert [(one["kind"], one["apiVersion"], one["metadata"]["name"]) for one in pods] == [
        ("Pod", "v1", f"p-{number}") for number in range(5)
    ]


def test_documents_and_lists_may_follow_one_another() -> None:
    text = json.dumps(PODS[0]) + "\n" + json.dumps(typed("Pod", PODS)) + "\n---\n" + json.dumps(PODS[1])
    names = [one["metadata"]["name"] for one in flat(read_documents(text.encode()))]
    assert ["p-0", "p-0", "p-1", "p-2", "p-3", "p-4", "p-1"] == names


@pytest.mark.parametrize("cut", range(1, 12))
def test_values_that_cross_a_window_are_whole(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_documents, "WINDOW", 16 + cut)
    values = [{"a": 'é\\u00e9 \\\\ "', "b": [1.25e-3, -12345678901234567890, True, None]}, {"items": []}, {}]
    text = "\n".join(json.dumps(value) for value in values)
    assert values == flat(read_documents(text.encode()))


def test_objects_before_a_damage_in_a_large_list_are_kept(tmp_path: Path) -> None:
    text = json.dumps({"kind": "List", "items": cluster()})
    path = tmp_path / "cluster.json"
    path.write_text(text[: len(text) * 3 // 4])
    snapshot = load_snapshot(path)
    assert as_read(by_kind(cluster()))["Node"] == snapshot.objects["Node"]
    assert ["the rest of the file is ignored"] == [p.effect for p in snapshot.problems if "is not JSON" in p.what]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[\n {"kind": "Pod"},\n {"kind": "Pod"}\n {"kind": "Pod"}\n]' + " " * 80, "line 4 column 2"),
        (
            '{"kind": "List",\n "items": [{"kind": "Pod", "metadata": {"name":\n   oops}}]}' + " " * 80,
            "line 3 column 4",
        ),
        ('{"kind": "List", "items": [' + '{"kind": "Pod"},' * 9 + "]}", "line 1 column 172"),
        ('{"kind": "List", "items": [' + '{"kind": "Pod"},' * 9 + '{}] "x"}', "line 1 column 176"),
    ],
)
def test_a_fault_is_named_by_line_and_column_of_the_file(text: str, place: str) -> None:
    with pytest.raises(JsonError, match=place):
        flat(read_documents(text.encode()))


def test_a_list_of_something_else_than_manifests_is_read_as_one_document() -> None:
    document = {"kind": "Menu", "items": [{"name": "x" * 30, "kind": "Meal"} for _ in range(9)], "end": 1}
    assert [document] == list(read_documents(json.dumps(document).encode()))


def test_fields_that_nothing_reads_are_not_kept(tmp_path: Path) -> None:
    manifest = pod("a", "p", "g")
    manifest["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    manifest["spec"]["containers"][0]["env"] = [{"name": "SECRET", "value": "1"}]
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(manifest))
    kept = load_snapshot(path).objects["Pod"][0]
    assert "managedFields" not in kept["metadata"]
    assert "env" not in kept["spec"]["containers"][0]
    assert manifest["metadata"]["labels"] == kept["metadata"]["labels"]


def test_equal_texts_are_one(tmp_path: Path) -> None:
    path = tmp_path / "pods.ndjson"
    path.write_text("\n".join(json.dumps(one) for one in PODS))
    first, *others = load_snapshot(path).objects["Pod"]
    assert all(first["spec"]["schedulerName"] is one["spec"]["schedulerName"] for one in others)
    assert all(next(iter(first["spec"])) is next(iter(one["spec"])) for one in others)


# Progress and stopping


def yaml_text() -> str:
    return "".join(f"---\n{yaml.safe_dump(one)}" for one in cluster() * 20)


@pytest.mark.parametrize("name", ["cluster.json", "cluster.yaml"])
def test_progress_goes_on_within_a_file(name: str, tmp_path: Path) -> None:
    text = json.dumps(as_list(cluster())) if name.endswith("json") else yaml_text()
    path = tmp_path / name
    path.write_text(text)
    reports: list[tuple[int, int, str]] = []
    load_snapshot(path, progress=lambda *step: reports.append(step))
    done = [step[0] for step in reports]
    assert {(len(text), name)} == {step[1:] for step in reports}
    assert sorted(done) == done
    assert (0, len(text)) == (done[0], done[-1])
    assert 5 < len(dict.fromkeys(done))


def test_progress_in_a_folder_goes_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(as_list(cluster()[:6])))
    (tmp_path / "b.json").write_text(json.dumps(as_list(cluster()[6:])))
    reports: list[tuple[int, int, str]] = []
    load_snapshot(tmp_path, progress=lambda *step: reports.append(step))
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert {total} == {step[1] for step in reports}
    assert sorted(step[0] for step in reports) == [step[0] for step in reports]
    assert total == reports[-1][0]


@pytest.mark.parametrize("name", ["cluster.json", "cluster.yaml"])
@pytest.mark.parametrize("calls", [1, 2, 4])
def test_an_answer_of_no_stops_the_loading_within_a_file(name: str, calls: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(as_list(cluster())) if name.endswith("json") else yaml_text())
    reports: list[int] = []

    def follow(done: int, _total: int, _name: str) -> bool:
        reports.append(done)
        return len(reports) < calls

    with pytest.raises(LoadStoppedError) as caught:
        load_snapshot(path, progress=follow)
    assert f"{name}: loading was stopped" == caught.value.format_line()
    assert calls == len(reports)


def test_a_large_yaml_file_is_announced_with_an_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "SLOW_YAML_BYTES", 5_000)
    monkeypatch.setattr(loader, "YAML_BYTES_PER_SECOND", 100)
    heard: list[str] = []
    text = yaml_text()
    (tmp_path / "pods.yaml").write_text(text)
    (tmp_path / "queues.json").write_text(json.dumps(as_list(cluster() * 9)))
    load_snapshot(tmp_path, notice=heard.append)
    assert [
        f"pods.yaml: reading 0 MB of YAML takes about {len(text) // 100} s; JSON (kubectl -o json) takes a few seconds"
    ] == heard
