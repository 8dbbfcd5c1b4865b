"""Pictures made of a few signs (gang, topology) and the sums of a funnel agree with the numbers beside them."""

from tests.recorded import BLOCKED, bundled, golden
from vcdebug.debugger.driver import Driver
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.views.jobs import job_page
from vcdebug.views.nodes import hypernodes_table
from vcdebug.views.pending import explanation_table
from vcdebug.views.pieces import SKIPPED, gang_line, text_of
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


def test_the_first_row_of_a_funnel_is_the_sum_of_the_others_and_gets_smaller_from_left_to_right() -> None:
    driver = Driver(bundled(BLOCKED))
    driver.add_breakpoint("victim")
    driver.take_step("continue", back=False)
    total, *nodes = funnel_table(bundled(BLOCKED), driver.current_state().seq).rows
    of_nodes = zip(*([cell.text for cell in row.cells[2:]] for row in nodes), strict=True)
    sums = [sum(int(text) for text in column if text.isdigit()) for column in of_nodes]
    shown = [cell.text for cell in total.cells[2:]]
    assert "all tried nodes" == total.cells[0].text
    assert [0 if text == SKIPPED else int(text) for text in shown] == sums
    assert shown[:4] == sorted(shown[:4], reverse=True)


def test_the_topology_shows_where_a_job_sits() -> None:
    recording = golden("hypernode-0005")
    job = next(job for job in recording.session.jobs.values() if any(task.node_name for task in job.tasks.values()))
    table = hypernodes_table(recording, "", job.uid, len(recording))
    top, pods = table.rows[0].cells[-1].text, len([task for task in job.tasks.values() if task.node_name])
    assert f"{'█' * pods} {pods}" == top
