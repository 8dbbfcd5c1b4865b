"""Every answer for people calls a job by its workload, and JSON by its PodGroup, for each kind of owner."""

import json
from pathlib import Path

import pytest
import yaml

from tests.builders import conf_of, node, pod, pod_group, queue
from tests.cli.once import one_snapshot
from tests.tui.driving import NARROW, WIDE, opened
from vcdebug.cli.main import main
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.views.table import format_table

UID = "5b3f1c2d-77aa-4b5c-9d8e-001122334455"
VOLCANO = "batch.volcano.sh/v1alpha1"
ALL_KINDS = {
    "Deployment": ("ReplicaSet", "apps/v1", "web-7d5f", "Deployment default/web"),
    "StatefulSet": ("StatefulSet", "apps/v1", "web", "StatefulSet default/web"),
    "Job": ("Job", "batch/v1", "web", "Job default/web"),
    "CronJob": ("Job", "batch/v1", "web-29261234", "CronJob default/web"),
    "RayJob": ("RayCluster", "ray.io/v1", "web-x7k2p", "RayJob default/web"),
    "SparkApplication": ("SparkApplication", "sparkoperator.k8s.io/v1beta2", "web", "SparkApplication default/web"),
    "Volcano Job": ("Job", VOLCANO, "web", "default/web"),
}
KINDS = pytest.mark.parametrize("kind", ALL_KINDS)
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])


def group_of(kind: str) -> str:
    return f"web-{UID}" if kind == "Volcano Job" else f"podgroup-{UID}"


def objects(kind: str) -> list[Manifest]:
    """A job too large for the only node, with the owners between its PodGroup and its workload."""
    owner_kind, version, name, title = ALL_KINDS[kind]
    reference = {"apiVersion": version, "kind": owner_kind, "name": name, "uid": UID, "controller": True}
    group = pod_group(group_of(kind), phase="Inqueue")
    group["metadata"]["ownerReferences"] = [reference]
    waiting = pod("web-0", group_of(kind), requests={"cpu": "12"}, ownerReferences=[reference])
    conf = conf_of("priority gang", "predicates nodeorder", actions="enqueue, allocate")
    data = {"volcano-scheduler.conf": conf}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "x"}, "data": data}
    made = [queue(), node("n1", cpu="8"), group, waiting, config]
    outer, _, outer_name = title.partition(" default/")
    if outer_name and outer_name != name:
        owners = [{"kind": outer, "name": outer_name, "uid": "outer"}]
        metadata = {"name": name, "namespace": "default", "uid": UID, "ownerReferences": owners}
        made.append({"apiVersion": version, "kind": owner_kind, "metadata": metadata, "spec": {}})
        made.append({"apiVersion": version, "kind": outer, "metadata": {"name": outer_name, "namespace": "default"}})
    return made


@pytest.fixture
def file(kind: str, tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text("".join(f"---\n{yaml.safe_dump(one)}" for one in objects(kind)), encoding="utf-8")
    return str(path)


def lines_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The lines of an answer, without the PodGroup's own line and without edits, which name the object."""
    main([*words, "--no-cache"] if words[0] in ("explain", "ask", "run", "why") else list(words))
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if "PodGroup " not in line and "--set" not in line]


@KINDS
def test_the_first_line_of_explain_has_the_kind_and_further_lines_the_name(
    kind: str, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_snapshot(monkeypatch)
    title = ALL_KINDS[kind][3]
    for typed in ("default/web", "web", title, f"default/{group_of(kind)}", group_of(kind)):
        main(["explain", file, typed, "--no-cache"])
        text = capsys.readouterr().out
        assert text.startswith(f"{title} is Pending: web-0 asks 12 cpu, more than any node has")
        assert [f"PodGroup {group_of(kind)} belongs to "] == [
            line.strip()[: len(f"PodGroup {group_of(kind)} belongs to ")] for line in text.splitlines() if UID in line
        ]


@KINDS
@pytest.mark.parametrize(
    "words",
    [
        ("explain", "FILE"),
        ("explain", "FILE", "default/web", "--prove"),
        ("run", "FILE"),
        ("ask", "next", "FILE"),
        ("ask", "holders", "FILE", "default/web"),
        ("ask", "when", "FILE", "default/web", "--run-time", "default/web=2h"),
        ("why", "FILE", "job", "default/web", "phase"),
        ("odds", "FILE", "--runs", "1", "--workers", "1"),
        ("report", "FILE"),
        ("query", "FILE", 'predicate if job == "default/web"'),
        ("query", "FILE", "predicate", "--columns", "seq,job"),
        ("diff", "FILE", "--set", "Node/n1:status.allocatable.cpu=20"),
    ],
    ids=lambda words: " ".join(words[:2] if words[0] == "ask" else words[:1]),
)
def test_no_answer_shows_the_generated_name(
    kind: str, words: tuple[str, ...], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = lines_of(capsys, *(file if word == "FILE" else word for word in words))
    assert [] == [line for line in lines if UID in line]
    assert any("web" in line for line in lines)


@KINDS
def test_json_names_the_pod_group(kind: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", file, "default/web", "--no-cache", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert f"default/{group_of(kind)}" == answer["job"]
    assert answer["sentence"].startswith(f"default/{group_of(kind)} is Pending")


SCRIPT = """\
break predicate if job == "default/web"
continue
panel breaks
panel flow
panel jobs
panel log
overview
pending
explain default/web
jobs default/web
last-change job default/web phase
"""


@KINDS
def test_a_script_shows_and_takes_the_name_and_the_log_keeps_the_pod_group(
    kind: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT, encoding="utf-8")
    main(["script", file, str(script)])
    lines = [line for line in capsys.readouterr().out.splitlines() if UID in line and "PodGroup " not in line]
    assert [
        line for line in lines if f"<default/{group_of(kind)}>" in line or f'job="default/{group_of(kind)}"' in line
    ] == lines
    main(["script", file, str(script), "--json"])
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert f"default/{group_of(kind)}" == steps[4]["rows"][0][0]


@SIZES
@pytest.mark.parametrize("kind", ["Deployment", "Volcano Job"])
async def test_the_screen_shows_finds_and_completes_the_name(kind: str, file: str, size: tuple[int, int]) -> None:
    async with opened(file, size=size) as desk:
        assert "default/web" in desk.text("moment")
        await desk.press("5")
        assert "web" in desk.text("jobs")
        await desk.press("slash", *UID[:8], "enter")
        assert 1 == len(desk.panel("jobs").shown_rows)
        assert UID not in desk.screen().replace(f"/{UID[:8]}", "")
        await desk.press("escape", "enter")
        screen = desk.app.screen
        assert isinstance(screen, DetailScreen)
        page = format_table(screen.table)
        assert page.startswith("Job default/web\n")
        assert f"PodGroup {group_of(kind)} belongs to" in page
