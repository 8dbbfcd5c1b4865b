"""A task restored as pipelined by an earlier cycle is shown as pipelined everywhere."""

from __future__ import annotations

from tests.builders import node, pod_group, pods
from tests.framework.test_persistence import cycle, pipelined
from tests.recorded import bundled
from vcdebug.explain.decisions.equations import operation_equation as node_equation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import OpEvent
from vcdebug.model.task import TaskStatus
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.views.comparison import cycle_table
from vcdebug.views.jobs import jobs_table
from vcdebug.views.pieces import text_of
from vcdebug.views.statement import operation_table
from vcdebug.whatif.cycles import CycleChain


def waiting() -> Recording:
    """The node of the restored task is full, and no pod terminates."""
    full = [pod_group("r", phase="Running"), *pods("r", 1, cpu="9", on="n1")]
    return cycle(node("n1"), full, pod_group("j"), pipelined("j-0", "n1"))


def test_restored_task_is_pipelined_from_the_first_event() -> None:
    state = waiting().timeline.state_at(1)
    assert (TaskStatus.PIPELINED, "n1") == (state.tasks["default/j-0"].status, state.tasks["default/j-0"].node)
    assert (1, 0) == (state.job_counts("default/j").waiting_count, state.job_counts("default/j").pending_count)
    assert "default/j-0" in state.tasks_on("n1")


def test_the_panel_of_jobs_counts_it_as_waiting() -> None:
    table = jobs_table(waiting(), 1)
    row = next(row for row in table.rows if row.cells[0].text == "default/j")
    counts = {column.title: cell.text for column, cell in zip(table.columns, row.cells, strict=True)}
    assert ("1", "0") == (counts["reserved"], counts["pending"])


def test_the_outcome_of_its_job_is_pipelined() -> None:
    outcomes = {job.job: job.outcome for job in cycle_effects(waiting()).jobs}
    assert {"default/j": "pipelined", "default/r": "running"} == outcomes


def test_the_list_of_cycles_counts_it_while_it_waits() -> None:
    cycles = CycleChain(waiting())
    cycles.run_cycles(3)
    table = cycle_table(tuple(cycles.recordings), 1, "cycles")
    pipelined_column = [column.title for column in table.columns].index("pipelined")
    assert ["1", "1", "1"] == [row.cells[pipelined_column].text for row in table.rows]


def test_explain_names_a_pipelined_pod_whose_node_frees_nothing() -> None:
    found = explain_by_name(waiting(), "default/j")
    assert ("phantom-pipelined", False) == (found.cause_code, found.scheduled)
    assert "an earlier cycle reserved n1 for j-0, but no pod there is terminating" in found.sentence
    assert ["the session opens with the pod pipelined"] == [one.text for one in found.dominant.evidence]
    assert "planned to evict" not in found.full_text


def test_allocating_a_restored_task_uses_its_reservation() -> None:
    recording = cycle(node("n1"), pod_group("j"), pipelined("j-0", "n1"))
    (seq,) = recording.index.seqs_of_type(OpEvent)
    event = recording.event_at(seq)
    assert isinstance(event, OpEvent)
    assert text_of(operation_table(recording, seq, event).header[0]).startswith("Pipelined → Allocated")
    found = node_equation(recording, seq, event)
    assert found is not None
    assert ("idle − request, used + request, pipelined − request", True) == (found.formula, found.verdict)


def test_undoing_the_allocation_of_a_restored_task_restores_its_reservation() -> None:
    gang = [pipelined("j-0", "n1"), *pods("j", 3, cpu="9")[1:]]
    recording = cycle(node("n1"), pod_group("j", min_member=3), gang)
    seq = list(recording.index.seqs_of_type(OpEvent))[-1]
    event = recording.event_at(seq)
    assert isinstance(event, OpEvent)
    assert text_of(operation_table(recording, seq, event).header[0]).startswith("Allocated → Pipelined")
    found = node_equation(recording, seq, event)
    assert found is not None
    assert found.verdict


def test_a_pod_bound_elsewhere_by_another_client_is_named() -> None:
    recording = bundled("persist-bound-meanwhile")
    found = explain_by_name(recording, "team/search")
    assert ("bound-elsewhere", False) == (found.cause_code, found.scheduled)
    assert "another client bound it to cpu-01 during this cycle" in found.sentence
    assert ["commit"] == [getattr(recording.event_at(one.seq), "what", "") for one in found.dominant.evidence]
    assert "places" == explain_by_name(recording, "team/chat").cause_code


def test_binding_twice_is_named_at_the_commit() -> None:
    recording = bundled("persist-bound-meanwhile")
    assert ["bound-already", "bound-elsewhere"] == [note.code for note in recording.notes]
    assert ["commit", "commit"] == [getattr(recording.event_at(note.seq), "what", "") for note in recording.notes]
