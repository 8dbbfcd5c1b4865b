"""The story that the debugger is hired for, at the smallest and at the usual size of a terminal."""

import pytest

from tests.tui.driving import NARROW, WIDE, opened
from vcdebug.framework.record import HookEvent, StatementEvent

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])


@SIZES
async def test_break_on_victims_read_the_votes_step_back_and_follow_the_statement(size: tuple[int, int]) -> None:
    async with opened(size=size) as desk:
        await desk.press("b")
        await desk.press("enter")
        assert "breakpoint 1: break victim" in desk.status()

        await desk.press("c")
        asked = desk.moment.recording.event(desk.seq)
        assert isinstance(asked, HookEvent)
        assert "Preemptable" == asked.point
        assert "breakpoint 1 (victim)" == desk.moment.reason
        votes = desk.text("moment")
        assert "Victims: Preemptable for llm-finetune-worker-0" in votes
        assert "tier 1 decides" in votes
        assert "it would break the gang" in votes
        assert "tier 1 decides" in desk.screen() or size == NARROW

        first = desk.seq
        await desk.press("s")
        assert first + 1 == desk.seq
        assert "who can llm-finetune-worker-0 take without breaking a gang?" in desk.text("equation")
        assert "has 4 ready and needs 4" in desk.text("equation")

        await desk.press("S")
        assert first == desk.seq
        assert "lower priority" in desk.text("equation")

        await desk.command("break statement discard")
        await desk.command("delete 1")
        await desk.press("c")
        end = desk.moment.recording.event(desk.seq)
        assert isinstance(end, StatementEvent)
        assert ("discard", 2) == (end.what, len(end.ops))
        fate = desk.text("statement")
        assert f"◆ discarded at {desk.seq}, JobPipelined: gang ✗ reject" in fate
        assert "evict" in fate
        assert "pipeline" in fate
        assert "would llm-finetune be complete?" in desk.text("equation")
        assert "◆ discarded" in desk.text("flow")

        await desk.press("C", "C")
        assert (1, "start") == (desk.seq, desk.moment.reason)


@SIZES
async def test_stepping_back_along_the_way_one_came_shows_the_same_screen(size: tuple[int, int]) -> None:
    async with opened(size=size) as desk:
        await desk.command("goto 100")
        seen = []
        for key in ("n", "s", "s", "f", "n"):
            seen.append((desk.seq, desk.text("moment"), desk.text("jobs")))
            await desk.press(key)
        for key in ("N", "F", "S", "S", "N"):
            await desk.press(key)
            assert seen.pop() == (desk.seq, desk.text("moment"), desk.text("jobs"))


@SIZES
async def test_everything_essential_is_on_the_screen(size: tuple[int, int]) -> None:
    async with opened(size=size) as desk:
        await desk.command("break victim")
        await desk.press("c", "s")
        text, words = desk.screen(), " ".join(desk.screen().replace("│", "").split())
        for part in (
            "event 103/166",
            "gpu-a100-01",
            "<2> ",
            "who can llm-finetune-worker-0 take",
            "<4> Statement",
            "bp 1/1",
            "<n> over",
            "<?> help",
        ):
            assert part in words, part
        assert "●" in text.splitlines()[-2]


async def test_the_jobs_follow_the_moment() -> None:
    async with opened() as desk:
        before = desk.text("jobs")
        await desk.command("break statement pipeline")
        await desk.press("c")
        assert before != desk.text("jobs")
        await desk.press("C")
        assert before == desk.text("jobs")


@pytest.mark.parametrize("size", [NARROW, (200, 60)], ids=["80x24", "200x60"])
async def test_why_the_high_priority_job_did_not_preempt_takes_less_than_ten_keys(size: tuple[int, int]) -> None:
    async with opened(size=size) as desk:
        await desk.press("b", "enter", "c")
        assert "Victims: Preemptable for llm-finetune-worker-0 on gpu-a100-01" in desk.text("moment")
        assert "offers 1, spares" in " ".join(desk.screen().split())
        await desk.press("s")
        assert "who can llm-finetune-worker-0 take" in desk.screen()
        assert "would break" in " ".join(desk.screen().split())
        await desk.press("S")
        assert "candidate's priority" in desk.screen()
        await desk.press("e")
        assert "gang leaves nobody to evict" in " ".join(desk.screen().replace("│", "").split())
        await desk.press("enter")
        proof = desk.moment.recording.event(desk.seq)
        assert isinstance(proof, HookEvent)
        assert ("Preemptable", "gang", ()) == (proof.point, proof.plugin, proof.result)
        assert "Victims: Preemptable for llm-finetune-worker-1" in desk.text("moment")
