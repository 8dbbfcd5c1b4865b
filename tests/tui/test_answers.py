"""Panels and pages with answers: a key opens them, and their rows lead to the objects that they name."""

from pathlib import Path
from threading import Event

import pytest
from rich.cells import cell_len

from tests.tui.driving import NARROW, WIDE, opened, opened_again
from vcdebug.debugger.commands import CommandReply
from vcdebug.tui.key_names import KeyLine
from vcdebug.tui.main.pages import PageOpener
from vcdebug.tui.screens.pages import AnswerScreen, DetailScreen, PageScreen
from vcdebug.tui.widgets.grid import Grid

WHOLE = Path(__file__).parents[1] / "golden" / "random" / "basic-0001"
"""A case in which every job has all of its pods when the cycle ends."""

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])
AT = 120
"""An event in which gang protects victims, in the bundled snapshot of a discarded preemption."""


@SIZES
async def test_v_shows_where_the_search_for_victims_ends(size: tuple[int, int]) -> None:
    async with opened_again("preempt-blocked-by-gang", size) as desk:
        await desk.command(f"goto {AT}")
        await desk.press("V")
        assert desk.main.focused is desk.panel("funnel")
        assert "✗ gang leaves no pod on 6 of 8 nodes" in desk.screen()
        await desk.press("down", "enter")
        assert 121 == desk.seq


@SIZES
async def test_e_capital_shows_who_was_evicted_for_whom_and_leads_there(size: tuple[int, int]) -> None:
    async with opened_again("preempt-blocked-by-gang", size) as desk:
        await desk.press("E")
        assert desk.main.focused is desk.panel("evictions")
        assert "no pod is evicted in the end" in desk.screen()
        await desk.press("home", "enter")
        assert 107 == desk.seq


@SIZES
async def test_o_capital_shows_the_orders_and_what_decided(size: tuple[int, int]) -> None:
    async with opened_again("preempt-blocked-by-gang", size) as desk:
        await desk.command("goto 10")
        await desk.press("O")
        assert desk.main.focused is desk.panel("order")
        assert "proportion share 0 < 0.857" in desk.text("order")
        await desk.press("end", "enter")
        assert desk.panel("order").shown_rows[-1].seq == desk.seq


async def test_the_help_opens_over_an_answer() -> None:
    async with opened("preempt-blocked-by-gang", NARROW) as desk:
        await desk.press("e", "question_mark")
        await desk.until_at_rest()
        assert "Capitals go back." in desk.screen()


@SIZES
async def test_e_between_actions_explains_the_only_pending_job_and_waiting_lists_it(size: tuple[int, int]) -> None:
    async with opened("preempt-blocked-by-gang", size) as desk:
        await desk.press("1", "e")
        await desk.until_at_rest()
        assert "Why research/llm-finetune is Pending" in desk.screen()
        await desk.press("escape")
        await desk.work("waiting")
        page = desk.app.screen
        assert isinstance(page, PageScreen)
        assert "Pending jobs: 1 of 6" in desk.screen()
        assert [("explain research/llm-finetune", "2")] == [(row.key, row.cells[2].text) for row in page.table.rows]
        assert "✗ gang-discard: " in desk.screen()
        await desk.press("enter")
        assert "Why research/llm-finetune is Pending" in desk.screen()


@SIZES
async def test_an_answer_shows_its_cursor_and_no_untested_advice_before_fixes_are_tested(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_test = Event()
    test_fixes = PageOpener._test_fixes

    def held(*arguments: object) -> CommandReply:
        assert may_test.wait(60)
        return test_fixes(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(PageOpener, "_test_fixes", held)
    async with opened_again("preempt-blocked-by-gang", size) as desk:
        await desk.command(f"goto {AT}")
        await desk.press("e")
        page = desk.app.screen
        assert isinstance(page, AnswerScreen)
        before = page.query_one(Grid).cursor_row
        assert ("testing fixes…" in desk.screen(), "try " in desk.screen()) == (True, False)
        assert "▌" in desk.screen()
        may_test.set()
        await desk.until_at_rest()
        after = page.query_one(Grid).cursor_row
        assert "▌" in desk.screen()
        assert "fix 1" in desk.screen()
        assert before is not None
        assert after is not None
        # Enter leads to the same event, whether fixes are tested yet or not.
        assert before.seq == after.seq


@pytest.mark.parametrize("page", ["question_mark", "e", "P"])
async def test_a_command_typed_on_a_page_runs_and_its_letters_are_no_keys(page: str) -> None:
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.command(f"goto {AT}")
        await desk.press(page)
        await desk.until_at_rest()
        shown = desk.app.screen
        assert isinstance(shown, DetailScreen)
        await desk.press("colon", *"q1!")
        assert desk.app.screen is shown
        await desk.press("escape")
        assert desk.app.screen is shown
        await desk.press("colon", *"goto 107", "enter")
        await desk.until_at_rest()
        assert (107, desk.main) == (desk.seq, desk.app.screen)
        assert not desk.moment.recordings or not desk.moment.recordings.edits


async def test_waiting_page_without_pending_jobs_says_so() -> None:
    async with opened(str(WHOLE)) as desk:
        await desk.work("waiting")
        assert "✓ no Pending jobs (3 in total)" in desk.screen()
        assert "Enter explains it" not in desk.screen()


@pytest.mark.parametrize(("event", "keys", "job"), [(120, (), "llm-finetune"), (1, ("5", "home"), "feature-etl")])
async def test_e_within_an_action_or_on_a_row_explains_that_job(event: int, keys: tuple[str, ...], job: str) -> None:
    async with opened_again("preempt-blocked-by-gang") as desk:
        await desk.command(f"goto {event}")
        await desk.press(*keys, "e")
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert job in detail.table.title


async def test_a_queues_row_opens_its_derivations() -> None:
    async with opened_again("pending-queue-quota") as desk:
        await desk.press("7", "home", *["down"] * 5, "enter")
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert "Queue team-vision" == detail.table.title
        assert "round by round" in desk.screen()


async def test_a_row_of_the_histogram_opens_its_nodes() -> None:
    async with opened_again("pending-no-node-fits") as desk:
        await desk.command("break predicate")
        await desk.press("c", "2", "home", "enter")
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert ["cpu-01", "gpu-a100-04"] == [row.key for row in detail.table.rows]


async def test_a_candidate_leads_to_its_job() -> None:
    async with opened_again("preempt-blocked-by-gang") as desk:
        await desk.command(f"goto {AT}")
        await desk.press("2", "home", "down", "enter")
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert "research/bert-pretrain" in detail.table.title


async def test_find_lists_every_event_and_enter_goes_there() -> None:
    async with opened_again("preempt-blocked-by-gang") as desk:
        await desk.command('find victim if plugin == "gang"')
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert 7 == len(detail.table.rows)
        await desk.press("end", "enter")
        assert 130 == desk.seq


async def test_fits_answers_when_its_replays_are_done() -> None:
    async with opened("pending-no-node-fits") as desk:
        await desk.command("fits research/diffusion-train 1")
        await desk.until(lambda: "fits on the cluster if it were alone" in desk.status(), "the answer is there")


async def test_equals_shows_where_a_number_comes_from_and_goes_on() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("6", "home", "right", "=")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        assert page.table.rows[0].cells[0].text.startswith("node gpu-l40s-01 idle")
        assert "allocatable" in desk.screen()
        await desk.press("down", "enter")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        assert "status.allocatable" in page.table.rows[0].cells[1].text


async def test_equals_on_a_row_without_a_number_explains_its_event_and_x_goes_there() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.command("goto 67")
        await desk.press("1", "=")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        assert page.table.rows[0].cells[0].text.startswith("event 67: pipeline chat-api-server-0")
        await desk.press("down", "x")
        assert 57 == desk.seq


async def test_e_shows_tested_fixes_in_place_of_advice_when_they_are_found() -> None:
    async with opened("preempt-blocked-by-gang") as desk:
        await desk.command("explain research/llm-finetune")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        await desk.until(lambda: "fix 1 " in desk.screen(), "the tested fixes are there")
        assert "Places 2 pods on" in desk.screen()
        assert "try   " not in desk.screen()


async def test_a_digit_makes_the_tested_fix_of_that_number_in_a_branch() -> None:
    async with opened("preempt-blocked-by-gang", NARROW) as desk:
        await desk.until_at_rest()
        await desk.press("enter")
        await desk.until_at_rest()
        assert "Enter goes to the event   1 try fix 1   ! more fixes   / filter   Esc back" in desk.screen()
        await desk.press("1")
        await desk.until_at_rest()
        assert "gpu 4 -> 2: 1 job, 2 pods, 1 queue changed" in desk.status()
        assert "bound  research/llm-finetune" in desk.text("moment")


async def test_an_answer_leads_on_to_more_fixes_unless_its_job_is_scheduled() -> None:
    async with opened("preempt-blocked-by-gang", NARROW) as desk:
        await desk.command("explain platform/feature-etl")
        assert "more fixes" not in desk.screen()
        await desk.press("exclamation_mark", "escape")
        await desk.command("explain research/llm-finetune")
        await desk.until_at_rest()
        await desk.press("exclamation_mark")
        await desk.until_at_rest()
        assert "these changes work" in desk.screen()


async def test_on_the_page_of_a_job_keys_ask_about_that_job() -> None:
    async with opened_again("preempt-blocked-by-gang", NARROW) as desk:
        await desk.until_at_rest()
        await desk.press("5", "down", "enter")
        assert "Job research/llm-finetune" in desk.screen()
        assert "Enter goes to the event   e explain   I ask   / filter   Esc back" in desk.screen()
        await desk.press("e")
        assert "Why research/llm-finetune is Pending" in desk.screen()
        await desk.until_at_rest()
        await desk.press("escape", "enter", "I")
        assert "Which pods use the resources?" in desk.screen()
        await desk.press("escape", "6", "enter", "e")
        assert "Node cpu-01" in desk.screen(), "a node has no answer"


async def test_a_narrow_page_keeps_the_keys_that_open_and_close() -> None:
    async with opened_again(size=(60, 20)) as desk:
        await desk.command("explain research/llm-finetune")
        await desk.until_at_rest()
        line = desk.app.screen.query_one(KeyLine)
        assert ("Enter goes to the event", "Esc back") == (str(line.content).split("   ")[0], str(line.content)[-8:])
        assert cell_len(str(line.content)) <= line.size.width
        await desk.press("escape", "b")
        assert "Enter sets it   Esc cancel" in str(desk.app.screen.query_one(KeyLine).content)
