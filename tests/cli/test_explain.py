"""`explain` for many jobs and many snapshots."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, queue
from tests.cli.transcripts import call
from tests.pending.test_said_against import refused
from tests.pending.test_scheduler_down import seen_node
from tests.recorded import ROOT, recorded_path
from vcdebug.cli import worker_processes as base
from vcdebug.cli.batch import NamedBytes, pack_snapshot
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.sources import find_bundled, list_bundled

WORKS, BLOCKED = "preempt-works", "preempt-blocked-by-gang"
JOB = "research/llm-finetune"
SEVERAL = str(ROOT / "tests" / "golden" / "random" / "mixed-0000")


RELEASE = "; release unknown, replayed by the latest rules (master of 2026-08-20)"
"""The end of a headline for a snapshot that does not state its release."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two snapshots: one without Pending jobs, one with a Pending job."""
    for name, target in ((WORKS, "monday"), (BLOCKED, "tuesday")):
        source = find_bundled(name)
        assert source is not None
        shutil.copytree(source, tmp_path / target)
    return tmp_path


def test_a_snapshot_without_a_job_is_a_table_of_all_that_wait() -> None:
    code, out, err = call(["explain", SEVERAL])
    assert (2, "") == (code, err)
    lines = out.splitlines()
    assert f"mixed-0000: 5 of 20 jobs (including 3 pods without a PodGroup) are not scheduled{RELEASE}" == lines[0]
    job = "default/job-16"
    sentence = json.loads(call(["explain", SEVERAL, job, "--json"])[1])["sentence"]
    reason = sentence.removeprefix(f"{job} is Pending: ").removesuffix(".")
    assert lines[5].split() == [job, "q0", "-", "not-enough-pods", *reason.split()]
    assert lines[-1].startswith("Details and fixes for default/best-effort-0: vcdebug explain ")


@pytest.mark.parametrize("options", [[], ["--verbose"], ["--prove", "--budget", "600"]])
def test_a_single_pending_job_gets_its_whole_answer_at_once(options: list[str]) -> None:
    code, out, err = call(["explain", BLOCKED, *options])
    first, _, answer = out.partition("\n\n")
    assert (2, "", f"{BLOCKED}: 1 of 6 jobs is not scheduled") == (code, err, first)
    assert answer == call(["explain", BLOCKED, JOB, *options])[1]


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "research", BLOCKED, "llm-finetune"],
        [BLOCKED, "-n", "research", "llm-finetune"],
        [BLOCKED, "--namespace=research", "vcjob/llm-finetune"],
        [BLOCKED, "-v", "-n", "search", JOB],
    ],
)
def test_options_may_stand_before_the_job_and_the_namespace_apart_from_it(words: list[str]) -> None:
    options = ["-v"] if "-v" in words else []
    code, out, err = call(["explain", *words])
    assert (2, "") == (code, err)
    assert call(["explain", BLOCKED, JOB, *options])[1].splitlines()[0] == out.splitlines()[0]


def test_only_the_jobs_of_a_namespace_are_listed_and_counted(tmp_path: Path) -> None:
    groups = [pod_group(f"j{number}", namespace=team) for team in ("a", "b", "aa") for number in range(2)]
    waiting = [pod(f"j{number}-0", f"j{number}", namespace=team) for team in ("a", "b", "aa") for number in range(2)]
    items = [node("n1", cpu="0"), *groups, *waiting, pod("alone", namespace="b"), queue()]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    code, out, err = call(["explain", str(file), "-n", "a"])
    assert (2, "") == (code, err)
    assert out.startswith("cluster: 2 of 2 jobs in namespace a are not scheduled;")
    assert {"a"} == set(re.findall(r"\b(a|aa|b)/j?", out))
    answers = json.loads(call(["explain", str(file), "-n", "b", "--json"])[1])["snapshots"][0]
    assert (3, 3) == (answers["jobs"], answers["unscheduled"])


def test_prove_needs_a_job_where_several_are_pending(folder: Path) -> None:
    for snapshot in (SEVERAL, str(folder)):
        code, _, err = call(["explain", snapshot, "--prove"])
        needed = f"vcdebug: --prove needs a job; for example: vcdebug explain {snapshot} JOB --prove\n"
        assert (1, needed) == (code, err)


def test_a_folder_of_snapshots_is_a_table_each_and_counts_of_causes(folder: Path) -> None:
    code, out, err = call(["explain", str(folder), "-j", "1"])
    assert (2, "") == (code, err)
    lines = out.splitlines()
    assert f"monday: no Pending jobs (4 in total); 1 with evicted pods, 1 with reserved places{RELEASE}" == lines[0]
    assert f"tuesday: 1 of 6 jobs is not scheduled{RELEASE}" in lines
    assert "2 snapshots: 1 of 10 jobs is not scheduled" in lines
    assert ["gang-discard", "1", "1"] in [line.split() for line in lines]


def test_explain_of_a_folder_agrees_with_explain_of_each_snapshot(folder: Path) -> None:
    document = json.loads(call(["explain", str(folder), "--json"])[1])
    assert ["monday", "tuesday"] == [one["snapshot"] for one in document["snapshots"]]
    (explained,) = document["snapshots"][1]["explanations"]
    alone = json.loads(call(["explain", BLOCKED, JOB, "--json"])[1])
    assert {"queue": "research", "pending": 2, **alone} == explained
    assert [{"cause": alone["cause"], "jobs": 1, "snapshots": 1}] == document["causes"]


def test_worker_processes_say_the_same_as_one(folder: Path) -> None:
    assert call(["explain", str(folder), "-j", "1"]) == call(["explain", str(folder), "-j", "2"])


def test_one_job_may_be_asked_about_in_every_snapshot(folder: Path) -> None:
    code, out, err = call(["explain", str(folder), JOB, "-j", "1"])
    assert (2, "") == (code, err)
    assert f"monday: not in this snapshot{RELEASE}" == out.splitlines()[0]
    assert "tuesday: 1 of 1 job is not scheduled" in out
    assert 0 == call(["explain", str(folder), "assistants/chat-api", "-j", "1"])[0]


def test_job_that_no_snapshot_contains_is_an_error(folder: Path) -> None:
    expected = (1, "", "vcdebug: no/such is in none of the snapshots\n")
    assert expected == call(["explain", str(folder), "no/such", "-j", "1"])


def test_a_snapshot_that_fails_is_one_line_and_the_others_are_explained(folder: Path) -> None:
    (folder / "broken.tar.gz").write_bytes(b"\x1f\x8bnothing")
    (folder / "empty.zip").write_bytes(b"")
    code, out, err = call(["explain", str(folder), "-j", "1"])
    assert 1 == code
    damaged, empty = err.splitlines()
    assert damaged.startswith("vcdebug: broken.tar.gz: is damaged: ")
    assert "vcdebug: empty.zip: is empty" == empty
    assert "tuesday: 1 of 6 jobs is not scheduled" in out
    assert "only 2 of 4 snapshots: 1 of 10 jobs is not scheduled" in out
    failed = json.loads(call(["explain", str(folder), "-j", "1", "--json"])[1])["snapshots"][0]
    assert {"snapshot": "broken.tar.gz", "error": damaged.removeprefix("vcdebug: ")} == failed


@pytest.mark.parametrize("command", ["run", "inspect", "odds", "report"])
def test_commands_for_one_snapshot_refuse_a_folder_of_several(command: str, folder: Path) -> None:
    code, out, err = call([command, str(folder)])
    assert (1, "") == (code, out)
    assert err.startswith(f"vcdebug: {folder}: contains 2 snapshots; choose one: {folder}/monday, ")


def test_edits_are_made_in_every_snapshot(folder: Path) -> None:
    code, out, _ = call(["explain", str(folder), "-j", "1", "--set", "conf:actions=enqueue, allocate, backfill"])
    assert 2 == code
    assert "action-not-configured" in out


def test_ctrl_c_reports_what_was_explained_until_then(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gather = base.gather_answers

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        base, "gather_answers", lambda where, function, items, _: gather(where, function, items, interrupted)
    )
    code, out, err = call(["explain", str(folder), "-j", "1"])
    assert (130, "vcdebug: interrupted: checked 1 of 2 snapshots\n") == (code, err)
    assert "only 1 of 2 snapshots: 0 of 4 jobs are not scheduled" in out
    assert "tuesday" not in out


@pytest.mark.parametrize("name", [one.name for one in list_bundled()])
def test_a_packed_folder_is_read_like_the_folder(name: str) -> None:
    folder = find_bundled(name)
    assert folder is not None
    item = pack_snapshot(folder, name)
    assert isinstance(item.data, bytes)
    travelled, here = load_snapshot(NamedBytes(name, item.data)), load_snapshot(folder)
    here.origin = travelled.origin
    assert here == travelled


def test_tested_fixes_are_printed_as_edits_for_set() -> None:
    code, out, _ = call(["explain", BLOCKED, JOB, "--prove", "--json"])
    remedies = json.loads(out)["remedies"]
    first = remedies[0]
    assert (2, True, True, "job", None) == (code, first["proven"], first["scheduled"], first["harm"], first["next"])
    edits = [word for edit in first["edits"] for word in ("--set", edit)]
    again, out, _ = call(["explain", BLOCKED, JOB, "--json", *edits])
    assert (0, "scheduled") == (again, json.loads(out)["outcome"])
    keys = {"text", "edits", "proven", "places", "nodes", "scheduled", "next", "harm", "costs"}
    assert all(keys == set(remedy) for remedy in remedies)


def test_a_scheduled_job_needs_no_remedy() -> None:
    name = json.loads(call(["run", WORKS, "--json"])[1])["jobs"][0]["job"]
    _, out, _ = call(["explain", WORKS, name, "--prove", "--json"])
    assert [] == json.loads(out)["remedies"]


def further(text: str) -> list[list[str]]:
    """The follow-up commands that an answer names, split into words."""
    return [shlex.split(line.partition(": vcdebug ")[2]) for line in text.splitlines() if ": vcdebug " in line]


def test_commands_in_an_answer_run_and_keep_the_edits() -> None:
    change = "Queue/research:spec.weight=2"
    command = ["explain", BLOCKED, "--set", change]
    code, out, _ = call(command)
    options = re.findall(r"(--\w+) for ", out.splitlines()[-1])
    assert (2, ["--prove", "--verbose"]) == (code, options)
    assert [[2, ""]] * 2 == [[code, err] for code, _, err in (call([*command, option]) for option in options)]
    more = further(call([*command, "--verbose"])[1])
    assert ["explain", "ask", "ask", "ask"] == [words[0] for words in more]
    assert [["--set", change]] * 4 == [[word for word in words if word in {"--set", change}] for words in more]
    assert [[2, ""], *[[0, ""]] * 3] == [[code, err] for code, _, err in map(call, more)]


def test_the_last_line_names_only_options_that_show_more() -> None:
    def last_line(*words: str) -> str:
        return call(["explain", *words])[1].splitlines()[-1]

    assert "Add --verbose for all evidence and steps." == last_line(BLOCKED, "--prove")
    assert "Add --verbose for all evidence and steps." == last_line("preempt-works", "chat-api")


def test_a_blocker_that_the_facts_name_is_not_repeated() -> None:
    anti_affinity = str(recorded_path("threads/2976-preempt-against-anti-affinity"))
    assert 1 == call(["explain", anti_affinity])[1].count("high-0 fits none of 2 nodes")


def test_lack_of_room_is_not_a_further_blocker_where_a_missing_action_would_make_room() -> None:
    missing = call(["explain", str(recorded_path("threads/3510-capacity-without-reclaim-action"))])[1]
    assert "it asks 1 nvidia.com/t4; t4-1 has 0 free (1 short), and reclaim is not in actions" in missing
    assert "Also:" not in missing


def test_room_that_is_reserved_for_a_pod_of_the_same_job_is_not_to_be_freed_for_the_others() -> None:
    answer = call(["explain", str(recorded_path("threads/3990-elastic-job-keeps-its-gpus")), "team/demo-2"])[1]
    assert "Suggested fixes for the pods that are still Pending (not tested on this snapshot)" in answer
    assert "Free 8 nvidia.com/gpu on g1" not in answer


def test_a_pod_is_bound_once_enough_of_too_many_victims_have_terminated() -> None:
    answer = call(["explain", str(recorded_path("threads/5984-gangpreempt-evicts-ten-for-one")), "team/preemptor"])[1]
    assert "The pod is bound after enough of team/victim-0, team/victim-1," in answer
    every = call(["explain", str(recorded_path("threads/2772-two-tasks-against-one-pod")), "team/high-job"])[1]
    # Here reclaim comes before allocate.
    again = "the pods are bound only if reclaim does not reserve the room again before allocate."
    assert f"After team/low-job-0 has terminated, {again}" in every


@pytest.mark.parametrize("case", ["causes/preempt-not-configured", "causes/victims-protected-by-gang"])
def test_a_limit_that_is_the_whole_cluster_is_no_further_blocker_beside_full_nodes(case: str) -> None:
    assert "its queue research uses 64" not in call(["explain", str(recorded_path(case))])[1]


@pytest.mark.parametrize(
    ("case", "lacking"),
    [
        (BLOCKED, "llm-finetune-worker-0 (asks 4 nvidia.com/gpu) fits none of 8 nodes: 6 Insufficient nvidia.com/gpu"),
        ("preempt-never", "no node has room for music-tagging-worker-0"),
        ("causes/reclaim-beyond-own-share", "no node has room for fraud-model-trainer-0: it asks 8 cpu"),
        ("threads/4643-gang-shields-single-pods", "the only node, g1, has no room for prod-train-0"),
    ],
)
def test_an_answer_about_victims_says_once_what_the_nodes_lack(case: str, lacking: str) -> None:
    snapshot = str(recorded_path(case)) if "/" in case else case
    answer = call(["explain", snapshot])[1]
    assert f"  Without evictions, {lacking}" in answer
    assert answer.count(lacking) == 1


def test_the_further_blocker_is_one_that_the_cause_does_not_imply() -> None:
    answer = call(["explain", str(recorded_path("causes/reclaim-beyond-own-share"))])[1]
    assert "  Also: fraud-model-trainer-0 asks 8 cpu; its queue serving uses 0" in answer


@pytest.mark.parametrize(
    ("case", "event"),
    [
        ("threads/1901-sla-in-the-same-tier", "overcommit rejects the PodGroup"),
        ("causes/no-preemptable-victim", "priority is asked about 0 candidate victims"),
        ("threads/r1-evicted-for-a-job-that-got-nothing", "allocate releases the reservation"),
        ("causes/anti-affinity", "no place for ml/fraud-model-trainer-2"),
    ],
)
def test_the_event_of_a_short_answer_is_the_one_that_decides(case: str, event: str) -> None:
    folder = recorded_path(case)
    job = json.loads((folder / "question.json").read_text())["job"]
    assert re.search(
        rf"^Evidence \(cause: \S+\): event \d+: {event}", call(["explain", str(folder), job])[1], re.MULTILINE
    )


@pytest.mark.parametrize(
    ("thread", "first"),
    [
        (
            "2462-unknown-phase-8-of-20",
            "the controller is not in the snapshot): Find out why the controller of team/trainning has not",
        ),
        (
            "4463-flink-one-group-per-pod",
            "the pods have to be created again): Give the pods of one workload one PodGroup",
        ),
        ("4446-plugin-of-the-vendor", ""),
    ],
)
def test_a_first_step_outside_the_scheduler_stands_before_tested_fixes(thread: str, first: str) -> None:
    folder = recorded_path(f"threads/{thread}")
    job = json.loads((folder / "question.json").read_text())["job"]
    lines = call(["explain", str(folder), job])[1].splitlines()
    tested = "the numbered ones are tested" if "Not tested:" in "".join(lines) or first else "tested"
    below = lines[lines.index(f"Fixes ({tested} on this snapshot)") + 1]
    assert below.startswith(f"  - First, not tested ({first}" if first else "  1. ")


def test_a_survey_of_many_snapshots_names_the_one_that_its_example_is_from() -> None:
    _, out, _ = call(["explain", "fixtures", JOB, "-j", "1"])
    command, path, job = further(out)[-1]
    assert ("explain", JOB) == (command, job)
    assert 2 == call([command, path, job])[0]


@pytest.mark.parametrize(("since", "code"), [("2026-10-31T20:00:00Z", 2), ("2026-10-31T23:59:00Z", 0)])
def test_a_job_that_the_running_scheduler_has_long_refused_is_no_success(since: str, code: int, tmp_path: Path) -> None:
    snapshot = cluster(seen_node(), pod_group("j"), refused(since), conf=conf_of("gang", "predicates"))
    items = [manifest for manifests in snapshot.objects.values() for manifest in manifests]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}), encoding="utf-8")
    assert code == call(["explain", str(file), "default/j"])[0]


@pytest.mark.parametrize(
    ("thread", "job", "step"),
    [
        ("2772-two-tasks-against-one-pod", "team/high-job", "  - Nothing has to change; if the pods stay Pending"),
        # A fix of what a placed job's answer names is said instead.
        ("2622-which-victim-first", "team/high", "  1. Configuration: actions ->"),
        ("4690-small-jobs-pass-the-large-one", "team/large", "  - First, not tested (nothing is placed before running"),
    ],
)
def test_the_first_step_is_the_one_that_costs_no_running_pod(thread: str, job: str, step: str) -> None:
    lines = call(["explain", str(recorded_path(f"threads/{thread}")), job])[1].splitlines()
    title = next(number for number, line in enumerate(lines) if line.startswith(("Fixes (", "Suggested fixes (")))
    assert lines[title + 1].startswith(step)
