"""Pictures made of a few signs (gang, funnel, topology) agree with the numbers beside them."""

from tests.recorded import BLOCKED, bundled, golden
from vcdebug.debugger.driver import Driver
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.views.jobs import job_page
from vcdebug.views.nodes import hypernodes_table
from vcdebug.views.pending import explanation_table
from vcdebug.views.pieces import gang_line, stage_lines, text_of
from vcdebug.views.table import format_table
from vcdebug.views.victim_search import funnel_table


def test_a_gang_is_drawn_pod_by_pod() -> None:
    works = bundled("preempt-works")
    assert "pods □□  2 pipelined of 2 needed" == text_of(gang_line(works, len(works), "assistants/chat-api"))
    blocked = bundled(BLOCKED)
    assert "pods ✗✗  2 not placed of 2 needed" == text_of(gang_line(blocked, len(blocked), "research/llm-finetune"))
    assert "pods ■■■■  4 placed of 4 needed" == text_of(gang_line(blocked, 1, "research/bert-pretrain"))


def test_an_answer_has_its_sentence_and_fixes_before_the_picture_of_its_gang() -> None:
    blocked = bundled(BLOCKED)
    answer = explain_by_name(blocked, "research/llm-finetune")
    table = explanation_table(blocked, answer, ["Add 1 node."])
    assert text_of(table.header[0]).startswith("research/llm-finetune is Pending")
    first = table.rows[0]
    assert ["fix 1", "Add 1 node."] == [cell.text for cell in first.cells[1:]]
    # Enter on a fix leads to the first proof, as it does before fixes are tested.
    assert explanation_table(blocked, answer, None).rows[0].seq == first.seq
    assert "pods ✗✗  2 not placed of 2 needed" in map(text_of, table.footer)
    assert "pods ✗✗  2 not placed" in format_table(job_page(blocked, 1, "research/llm-finetune"))


def test_a_funnel_gets_narrower() -> None:
    lines = [text_of(entry) for entry in stage_lines((("running", 12), ("in reach", 6), ("victims", 0)))]
    assert [24, 12, 0] == [entry.count("█") for entry in lines]
    driver = Driver(bundled(BLOCKED))
    driver.add_breakpoint("victim")
    driver.take_step("continue", back=False)
    table = funnel_table(bundled(BLOCKED), driver.current_state().seq)
    assert [sum(int(row.cells[2].text) for row in table.rows if row.cells[2].text.isdigit())] == [
        int(text_of(entry).split()[-1]) for entry in table.header if text_of(entry).strip().startswith("on it")
    ]


def test_the_topology_shows_where_a_job_sits() -> None:
    recording = golden("hypernode-0005")
    job = next(job for job in recording.session.jobs.values() if any(task.node_name for task in job.tasks.values()))
    table = hypernodes_table(recording, "", job.uid, len(recording))
    top, pods = table.rows[0].cells[-1].text, len([task for task in job.tasks.values() if task.node_name])
    assert f"{'█' * pods} {pods}" == top
