"""Outcomes of real scheduler programs (`verify --keep`) compared with the replay; and the format of such cases."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.cli.transcripts import call
from tests.conformance.deeds import recorded, scheduler
from vcdebug.conformance import SchedulerProgram
from vcdebug.conformance.cycle_outcome import CycleOutcome, WrittenStatus, predicted_outcome
from vcdebug.conformance.program_verification import OUTCOME_FILE, SNAPSHOT_FOLDER, outcome_document
from vcdebug.conformance.verdicts import OutcomeDifference, find_differences, job_lookup
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot

HERE = Path(__file__).resolve().parent
KEPT = sorted(path.parent for path in (HERE / "observed").glob(f"*/{OUTCOME_FILE}"))
EXAMPLE = HERE / "observed" / "synthetic-preemption"


def read_outcome(folder: Path) -> CycleOutcome:
    """The outcome that a case of `verify --keep` recorded."""
    document: JsonObject = json.loads((folder / OUTCOME_FILE).read_text(encoding="utf-8"))
    groups = {job: WrittenStatus(group["phase"], _conditions_in(group)) for job, group in document["podGroups"].items()}
    waiting = {pod: (said["reason"], said["message"]) for pod, said in document["waiting"].items()}
    evicted = dict.fromkeys(document["evicted"], "")
    return CycleOutcome(document["bound"], evicted, document["nominated"], groups, document["devices"], waiting)


def _conditions_in(group: JsonObject) -> tuple[tuple[str, str, str, str], ...]:
    return tuple((one["type"], one["status"], one["reason"], one["message"]) for one in group["conditions"])


def replayed_differences(folder: Path) -> list[OutcomeDifference]:
    """Differences between the replay of a `verify --keep` case and its outcome, decisions first."""
    recording = require_complete(replay_cycle(load_snapshot(folder / SNAPSHOT_FOLDER)))
    return find_differences(predicted_outcome(recording), read_outcome(folder), job_lookup(recording))


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_the_replay_does_what_the_program_did(folder: Path) -> None:
    assert [] == replayed_differences(folder)


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_the_snapshot_of_a_case_loads_without_problems(folder: Path) -> None:
    assert () == tuple(load_snapshot(folder / "snapshot").problems)


def test_each_case_is_in_the_table_of_the_folder() -> None:
    page = (HERE / "observed" / "README.md").read_text(encoding="utf-8")
    assert [] == [folder.name for folder in KEPT if f"| `{folder.name}` |" not in page]


def test_the_example_has_one_of_each_kind_of_decision() -> None:
    outcome = read_outcome(EXAMPLE)
    assert {"default/web-0": "n1"} == outcome.bound
    assert ["default/low-1"] == [*outcome.evicted]
    assert {"default/huge-0", "default/train-0"} == {*outcome.waiting}


@pytest.mark.parametrize("field", ["bound", "evicted", "podGroups", "waiting"])
def test_a_decision_that_the_replay_does_not_make_fails_the_case(field: str, tmp_path: Path) -> None:
    save_snapshot(load_snapshot(EXAMPLE / "snapshot"), tmp_path / "snapshot")
    document = json.loads((EXAMPLE / OUTCOME_FILE).read_text(encoding="utf-8"))
    document[field] = type(document[field])()
    (tmp_path / OUTCOME_FILE).write_text(json.dumps(document), encoding="utf-8")
    assert [] != replayed_differences(tmp_path)


def test_an_outcome_comes_back_as_it_was_written(tmp_path: Path) -> None:
    said = WrittenStatus("Inqueue", (("Unschedulable", "True", "NotEnoughResources", "1/1 tasks"),))
    outcome = CycleOutcome(
        {"x/a": "n1"}, {"x/b": ""}, {"x/c": "n2"}, {"x/j": said}, {"x/a": {"claim": "gpu-0"}}, {"x/c": ("Why", "words")}
    )
    (tmp_path / OUTCOME_FILE).write_text(json.dumps(outcome_document(outcome)), encoding="utf-8")
    assert outcome == read_outcome(tmp_path)


def ties() -> Snapshot:
    conf = conf_of("priority gang", "predicates nodeorder", actions="enqueue, allocate")
    return cluster([node(f"n{i}") for i in range(5)], pod_group("j"), pods("j", 1), conf=conf)


def keep(program: SchedulerProgram, folder: Path) -> tuple[int, str, str]:
    """Run `verify --keep` as on the command line."""
    save_snapshot(ties(), folder / "given")
    arguments = [f"--argument={each}" for each in program.arguments]
    keeping = ["--keep", str(folder / "kept")]
    return call(["verify", str(folder / "given"), "--scheduler", program.path, *arguments, *keeping])


def test_a_case_is_kept_with_what_the_program_drew(tmp_path: Path) -> None:
    outcome = replace(recorded(ties()), bound={"default/j-0": "n3"})
    assert 0 == keep(scheduler(tmp_path, ties(), outcome), tmp_path)[0]
    assert {"default/j-0": "n3"} == read_outcome(tmp_path / "kept").bound
    assert {"default/j-0": "n3"} == load_snapshot(tmp_path / "kept" / "snapshot").chance.choices
    assert [] == replayed_differences(tmp_path / "kept")


def test_a_difference_is_kept_too_and_fails_until_the_rule_is_found(tmp_path: Path) -> None:
    outcome = replace(recorded(ties()), bound={"default/j-0": "a-node-that-is-not-there"})
    assert 2 == keep(scheduler(tmp_path, ties(), outcome), tmp_path)[0]
    assert ["default/j-0"] == [one.subject for one in replayed_differences(tmp_path / "kept") if one.is_decision]


def test_a_program_that_ended_gives_no_case(tmp_path: Path) -> None:
    code, _, err = keep(scheduler(tmp_path, ties(), CycleOutcome(), panics="books do not balance"), tmp_path)
    assert 1 == code
    assert "no case from a process that exited within its cycle" in err
    assert not (tmp_path / "kept").exists()


def test_a_case_is_not_written_over_another_one(tmp_path: Path) -> None:
    program = scheduler(tmp_path, ties(), recorded(ties()))
    assert 0 == keep(program, tmp_path)[0]
    with pytest.raises(VcdebugError, match="empty"):
        save_snapshot(ties(), tmp_path / "kept" / "snapshot")
    (tmp_path / "given").rename(tmp_path / "before")
    code, _, err = keep(program, tmp_path)
    assert (1, True) == (code, "kept" in err)


def test_a_cluster_gives_no_case(tmp_path: Path) -> None:
    code, _, err = call(["verify", "--keep", str(tmp_path / "kept")])
    assert (1, True) == (code, "--argument, --log, --keep and --cycles need a scheduler binary" in err)
