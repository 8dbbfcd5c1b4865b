from functools import cache
from pathlib import Path
from typing import Any

import yaml

from vcdebug.snapshot.sources import find_bundled, list_bundled

KINDS = {"Node", "Queue", "PodGroup", "Pod", "PriorityClass", "Namespace"}


def test_at_least_six_snapshots_come_along_and_each_says_what_it_shows() -> None:
    assert len(list_bundled()) >= 6
    assert [one.name for one in list_bundled() if not one.description.endswith(".")] == []


def test_a_title_is_one_short_line_of_its_own() -> None:
    titles = [one.title for one in list_bundled()]
    assert [] == [title for title in titles if not title or len(title) > 60 or title.endswith(".")]
    assert len(titles) == len(dict.fromkeys(titles))


def test_a_bundled_snapshot_is_found_by_its_name() -> None:
    assert [one.path for one in list_bundled()] == [find_bundled(one.name) for one in list_bundled()]


def test_another_name_finds_nothing() -> None:
    assert [None, None] == [find_bundled("no-such-snapshot"), find_bundled("../fixtures/preempt-works")]


@cache
def written(folder: Path) -> list[dict[str, Any]]:
    """The objects in the YAML files of a folder, before any loading."""
    return [each for file in sorted(folder.glob("*.yaml")) for each in yaml.safe_load_all(file.read_text())]


def test_each_bundled_snapshot_holds_complete_objects() -> None:
    for one in list_bundled():
        objects = written(one.path)
        assert {o["kind"] for o in objects} >= KINDS
        incomplete = [
            o["metadata"]["name"] for o in objects if not {"uid", "creationTimestamp"} <= o["metadata"].keys()
        ]
        assert [] == incomplete
        assert 2 <= len([o for o in objects if o["kind"] == "Node"]) <= 20
        assert [] == [o["metadata"]["name"] for o in objects if o["kind"] == "Pod" and "phase" not in o["status"]]


def test_no_uid_stands_for_two_objects() -> None:
    for one in list_bundled():
        objects = written(one.path)
        assert len(objects) == len({o["metadata"]["uid"] for o in objects})
