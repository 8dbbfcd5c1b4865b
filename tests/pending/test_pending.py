"""explain names the cause that the real scheduler's recording shows, with figures and event numbers."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, metadata, node, pod, pod_group, pods, queue
from tests.pending.situations import Situation, situations
from tests.recorded import GOLDEN, bundled, cases, golden, recorded, recorded_path, user_questions
from vcdebug.cli.reports.explanation import explanation_document
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.loader import load_snapshot

SCHEDULED = ("places", "pipelined", "evicted", "admitted")
SITUATIONS = list(situations())


def check(recording: Recording, found: Explanation) -> None:
    """Check the properties that every explanation has."""
    findings = (found.dominant, *found.contributing)
    for finding in findings:
        assert "\n" not in finding.full_text
        assert finding.full_text.endswith((".", "?")) or finding.cause == "panic"
        assert finding.evidence
        assert all(1 <= evidence.seq <= len(recording) for evidence in finding.evidence)
        assert list(finding.evidence) == sorted(finding.evidence)
    assert (found.cause_code in SCHEDULED) == found.scheduled
    assert found.steps
    assert all(1 <= seq <= len(recording) for step in found.steps for seq in step.seqs)
    assert len(dict.fromkeys(finding.cause for finding in findings)) == len(findings)
    json.dumps(explanation_document(found), allow_nan=False)


def ask(folder: Path) -> tuple[str, Recording, Explanation]:
    question = json.loads((folder / "question.json").read_text())
    recording = recorded(folder)
    return question["cause"], recording, explain_by_name(recording, question["job"])


@pytest.mark.parametrize("case", cases("causes"), ids=lambda path: path.name)
def test_the_cause_is_the_recordings(case: Path) -> None:
    cause, recording, found = ask(case)
    assert cause == found.cause_code
    assert found.dominant.numbers or cause == "queue-closed"
    check(recording, found)


def accepted(folder: Path) -> list[str]:
    return list(json.loads((folder / "question.json").read_text()).get("accept", ()))


@pytest.mark.parametrize("case", [case for case in user_questions() if accepted(case)], ids=lambda path: path.name)
def test_the_cause_of_a_users_question_is_one_that_its_thread_accepts(case: Path) -> None:
    question = json.loads((case / "question.json").read_text())
    release = question.get("release")
    recording = replay_cycle(load_snapshot(case, release=release)) if release else recorded(case)
    found = explain_by_name(recording, question["job"])
    assert found.cause_code in question["accept"]
    check(recording, found)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_each_situation_has_its_cause(situation: Situation) -> None:
    recording = replay_cycle(situation.snapshot)
    assert not recording.conf.built_in
    found = explain_by_name(recording, situation.job)
    assert situation.cause == found.cause_code
    check(recording, found)


@pytest.mark.parametrize("name", GOLDEN)
def test_every_job_of_a_random_cluster_has_an_answer(name: str) -> None:
    recording = golden(name)
    for job in recording.session.jobs:
        found = explain_by_name(recording, job)
        check(recording, found)
        assert "not-tried" != found.cause_code


def case(name: str) -> Recording:
    return recorded(recorded_path(f"causes/{name}"))


def test_explaining_leaves_the_recording_unchanged() -> None:
    recording = case("gang-discards-preemption")
    events, notes = list(recording.events), list(recording.notes)
    first = explanation_document(explain_by_name(recording, "ml/fraud-model"))
    assert first == explanation_document(explain_by_name(recording, "ml/fraud-model"))
    assert (events, notes) == (list(recording.events), list(recording.notes))
    assert first == explanation_document(explain_by_name(case("gang-discards-preemption"), "ml/fraud-model"))


def test_the_numbers_say_what_is_short_by_how_much() -> None:
    numbers = explain_by_name(case("enqueue-overcommit"), "ml/fraud-model").dominant.numbers
    assert (25.6, "cores") == (round(numbers["short.cpu"].value, 6), numbers["short.cpu"].unit)
    assert 6.4 == round(numbers["idle.cpu"].value, 6)
    numbers = explain_by_name(case("queue-quota"), "ml/fraud-model").dominant.numbers
    assert (32.0, 32.0, 8.0) == tuple(
        numbers[name].value for name in ("queue.allocated.cpu", "queue.deserved.cpu", "short.cpu")
    )
    numbers = explain_by_name(case("gang-short-of-one-node"), "ml/llm-pretrain").dominant.numbers
    assert (4.0, 3.0, 1.0) == tuple(numbers[name].value for name in ("job.minAvailable", "pods.placed", "pods.missing"))


def test_a_misspelt_switch_is_named_where_it_matters() -> None:
    found = explain_by_name(case("switch-misspelt"), "ml/fraud-model")
    assert "enabledPreemptable is ignored: unknown switch (did you mean enablePreemptable?" in found.full_text


def test_the_victims_of_a_missing_action_come_from_a_trial() -> None:
    found = explain_by_name(case("preempt-not-configured"), "ml/fraud-model")
    assert (
        "With preempt (replayed): reserves room for 1 pod on cpu-01; evicts ml/etl-nightly-1-worker-0 for it."
        in found.full_text
    )


def test_evidence_points_at_the_veto() -> None:
    recording = case("victims-protected-by-gang")
    events = [
        recording.event_at(evidence.seq) for evidence in explain_by_name(recording, "ml/fraud-model").dominant.evidence
    ]
    assert ["gang"] * 4 == [getattr(event, "plugin", "") for event in events]
    assert ["Preemptable"] * 4 == [getattr(event, "point", "") for event in events]


def test_checklist_marks_steps_behind_a_failed_one_as_not_reached() -> None:
    steps = {step.name: step.state for step in explain_by_name(case("enqueue-overcommit"), "ml/fraud-model").steps}
    assert ("failed", "not reached") == (steps["admitted (enqueue)"], steps["allocate"])


def test_a_pod_that_is_passed_over_names_the_one_of_its_role_that_found_no_node() -> None:
    snapshot = cluster(
        node("n1", cpu="4"),
        queue("default"),
        pod_group("j"),
        pods("j", 1, cpu="8", role="a"),
        pods("j", 1, cpu="1", role="a", prefix="later"),
        conf="actions: 'allocate'\ntiers:\n- plugins: [{name: priority}, {name: gang}, {name: predicates}]\n",
    )
    found = explain_by_name(replay_cycle(snapshot), "later-0")
    assert "not-tried" == found.cause_code
    assert "After j-0 of role a found no node, allocate skips the other pods of role a" in found.full_text


ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "j"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}


@pytest.mark.parametrize("quota", [True, False])
@pytest.mark.parametrize("role", ["w", None])
@pytest.mark.parametrize("rule", ["host port", "anti-affinity"])
@pytest.mark.parametrize("release", ["v1.11.2", "v1.12.1", "v1.13.3", "v1.14.4", "v1.15.1"])
def test_the_rest_of_a_discarded_gang_does_not_hide_the_pod_that_fits_no_node(
    release: str, rule: str, role: str | None, quota: bool
) -> None:
    """Some releases try the rest of a discarded gang once more: each pod whose role has failed is dropped."""
    members = pods("j", 5, role=role)
    for member in members:
        member["metadata"]["labels"] = {"app": "j"}
        if rule == "host port":
            member["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        else:
            member["spec"]["affinity"] = ANTI_AFFINITY
    plugins = ["priority", "gang", "predicates", *(["proportion"] if quota else [])]
    snapshot = cluster(
        node("n1"), node("n2"), queue("default"), pod_group("j", min_member=5), members, conf=conf_of(" ".join(plugins))
    )
    snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert "allocate found room for 2 of the 5 pods it needs at once" in found.dominant.sentence
    assert "j-2 fits no node" in found.full_text
    assert "had room for" not in found.full_text  # of equal pods one is left over in any order
    assert "failed" == {step.name: step.state for step in found.steps}["allocate, nodes"]


def test_the_steps_quote_the_schedulers_message_where_it_counts_in_its_own_way() -> None:
    """The message counts a node without memory and cards once, under memory; the answer names both."""
    found = explain_by_name(bundled("preempt-blocked-by-gang"), "research/llm-finetune")
    text = next(step.text for step in found.steps if step.name == "allocate, nodes")
    message = "0/8 nodes are unavailable: 1 Insufficient memory, 7 Insufficient nvidia.com/gpu."
    assert f'scheduler message: "{message}"' in text
    assert text.count("Insufficient") == message.count("Insufficient")
    assert any("6 Insufficient nvidia.com/gpu, 2 without nvidia.com/gpu" in one.full_text for one in found.contributing)


def test_a_panic_before_the_session_is_open_is_the_cause_whatever_phase_the_job_is_in() -> None:
    capacity = {"exactly": {"deviceClassName": "gpu", "capacity": {"requests": {"memory": "1Gi"}}}}
    requests = [{"name": "r0", "exactly": {"deviceClassName": "gpu"}}, {"name": "r1", **capacity}]
    claim = {"kind": "ResourceClaim", "metadata": metadata("c", "default"), "spec": {"devices": {"requests": requests}}}
    member = pod("j-0", "j", resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
    found = explain_by_name(
        replay_cycle(cluster(node("n1"), pod_group("j", phase="Pending"), claim, member)), "default/j"
    )
    assert found.cause_code == "panic"


@pytest.mark.parametrize("name", ["preempt-blocked-by-gang", "reclaim-across-queues", "gangpreempt-bundles"])
def test_no_step_of_a_job_without_pending_pods_has_failed(name: str) -> None:
    recording = bundled(name)
    explained = (explain_by_name(recording, job) for job in recording.session.jobs)
    answers = [found for found in explained if "no Pending pods" in found.dominant.sentence]
    assert answers
    assert [] == [step for found in answers for step in found.steps if step.state == "failed"]


def test_a_pod_behind_a_failed_one_names_it_and_reclaim_that_met_the_minimum_was_asked_about_starvation() -> None:
    """allocate ends the job's turn at its first pod; reclaim then makes room for that pod alone."""
    snapshot = load_snapshot(recorded_path("random/wild-0016"), release="v1.13.3")
    found = explain_by_name(replay_cycle(snapshot), "default/job-11")
    reasons = {finding.cause: finding.reason for finding in found.contributing}
    behind = "allocate ended the job's turn at job-11-master-0, which fits no node, and did not reach job-11-master-1"
    assert behind == reasons["not-tried"]
    assert "it has its minMember (0 ready, 1 pipelined, minMember 1)" in reasons["not-starving"]


@pytest.mark.parametrize("release", ["v1.10.0", "v1.13.3", "v1.15.1"])
@pytest.mark.parametrize(
    ("resource", "has", "used", "words"),
    [
        ("nvidia.com/gpu", "3", "4", "it asks 1 nvidia.com/gpu; pods on n1 hold 1 more than it has (2 short)."),
        ("cpu", "3", "3500m", "it asks 1 cpu; pods on n1 hold 0.5 more than it has (1.5 short)."),
        ("nvidia.com/gpu", "4", "4", "it asks 1 nvidia.com/gpu; n1 has 0 free (1 short)."),
    ],
)
def test_a_node_that_lost_devices_below_what_its_pods_hold_is_not_said_to_have_none_free(
    release: str, resource: str, has: str, used: str, words: str
) -> None:
    sizes = ({"cpu": "1", resource: amount} for amount in (used, "1"))
    runs, waits = (pod(f"{name}-0", name, requests=size) for name, size in zip(("a", "j"), sizes, strict=True))
    runs["spec"]["nodeName"], runs["status"]["phase"] = "n1", "Running"
    full = node("n1", cpu="8")
    full["status"]["allocatable"][resource] = has
    conf = conf_of("gang", "predicates", actions="allocate")
    snapshot = cluster(full, pod_group("a", phase="Running"), runs, pod_group("j"), waits, conf=conf)
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), "default/j")
    assert words in found.sentence


@pytest.mark.parametrize("idle", [0, 1])
def test_nodes_without_the_resource_are_named_behind_those_that_have_it(idle: int) -> None:
    """Most nodes of a cluster have no GPU; why those with some do not fit stands first."""
    plain = [node(f"n{number}") for number in range(3)]
    card = node("g1", **{"nvidia.com/gpu": "1"})
    runs = (
        [pod_group("r", phase="Running"), pod("r-0", "r", on="g1", requests={"nvidia.com/gpu": "1"})]
        if not idle
        else []
    )
    asked = pod("j-0", "j", requests={"nvidia.com/gpu": str(1 + idle)})
    conf = conf_of("gang", "predicates", actions="allocate")
    found = explain_by_name(replay_cycle(cluster(*plain, card, *runs, pod_group("j"), asked, conf=conf)), "default/j")
    kind = "too small (nvidia.com/gpu)" if idle else "Insufficient nvidia.com/gpu"
    assert f"1 {kind}, 3 without nvidia.com/gpu" in found.full_text or idle
