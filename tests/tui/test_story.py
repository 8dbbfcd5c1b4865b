"""The main story: why gang blocks a preemption, at the smallest and the usual size of a terminal."""

import pytest

from tests.tui.driving import NARROW, WIDE, Desk, opened, opened_again
from vcdebug.framework.record import HookEvent, StatementEvent

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE, (200, 60)], ids=["80x24", "120x40", "200x60"])
FRAMES = str.maketrans(dict.fromkeys("│┃╭╮╰╯─━┏┓┗┛▁▂▃▄▅▆▇█", " "))


def words(desk: Desk, panel: str = "") -> str:
    """The words on the screen, or in one panel, regardless of line breaks and frames."""
    lines = desk.screen().splitlines()
    if panel:
        x, y, width, height = desk.panel(panel).region
        lines = [line[x : x + width] for line in lines[y : y + height]]
    return " ".join("\n".join(lines).translate(FRAMES).split())


@SIZES
async def test_break_on_victims_read_the_votes_step_back_and_follow_the_statement(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await desk.press("b")
        await desk.press("enter")
        assert "breakpoint 1: break victim" in desk.status()

        await desk.press("c")
        asked = desk.moment.recording.event_at(desk.seq)
        assert isinstance(asked, HookEvent)
        assert "Preemptable" == asked.point
        assert "breakpoint 1 (victim)" == desk.moment.reason
        assert "Preemptable for llm-finetune-worker-0 on gpu-a100-01" in words(desk, "moment")
        assert "✓ tier 1 decides, victims: resnet-sweep-worker-0" in words(desk, "moment")

        first = desk.seq
        await desk.press("s")
        assert first + 1 == desk.seq
        assert "bert-pretrain-worker-0 ✓ ✗ ✓" in words(desk, "moment")
        assert "gang protects bert-pretrain-worker-0 (bert-pretrain has 4 ready and needs 4" in words(desk, "moment")
        # On a small screen, the equation shows only its title until its key is pressed.
        await desk.press("3")
        assert "candidates for llm-finetune-worker-0 that break no gang" in words(desk, "equation")
        assert "bert-pretrain-worker-0 4 4" in words(desk, "equation")

        await desk.press("S")
        assert first == desk.seq
        assert "lower priority" in words(desk, "equation")

        await desk.command("break statement discard")
        await desk.command("delete 1")
        await desk.press("c")
        end = desk.moment.recording.event_at(desk.seq)
        assert isinstance(end, StatementEvent)
        assert ("discard", 2) == (end.what, len(end.ops))
        assert "would llm-finetune be complete?" in words(desk, "equation")
        await desk.press("4")
        assert f"discarded at {desk.seq}, JobPipelined: gang ✗ reject" in words(desk, "statement")
        assert "evict research/resnet-sweep-worker-0" in words(desk, "moment")
        assert "pipeline llm-finetune-worker-0" in words(desk, "statement")
        assert "◆" in desk.screen()

        stops = [desk.seq]
        while desk.moment.reason.startswith("breakpoint"):
            await desk.press("C")
            stops.append(desk.seq)
        assert stops[-1] == stops[-2] == min(stops)
        assert desk.moment.reason.startswith(f"no breakpoint before event {desk.seq}")


@SIZES
async def test_one_key_leads_from_an_opened_snapshot_to_why_the_first_job_waits(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await desk.press("enter")
        assert "✗ gang-discard" in words(desk)
        assert "it was rolled back" in words(desk)


@SIZES
async def test_opposite_keys_show_the_same_screens_backward(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
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
    async with opened_again(size=size) as desk:
        await desk.command("break victim")
        await desk.press("c", "s")
        text, words = desk.screen(), " ".join(desk.screen().replace("│", "").split())
        for part in (
            "event 103/166",
            "gpu-a100-01",
            "<2> ",
            "<3> ",
            "<4> ",
            "◉ 1",
            "n/N over",
            "? help",
        ):
            assert part in words, part
        assert "●" in text.splitlines()[-2]


async def test_a_small_screen_opens_at_the_veto_with_its_sentence_and_its_numbers() -> None:
    async with opened("preempt-blocked-by-gang", NARROW, goto=120) as desk:
        await desk.until_at_rest()
        screen = " ".join(desk.screen().split())
        for part in ("bert-pretrain has 4 ready and needs 4", "✗ 4 − 1 = 3 < 4", "▲ 1 □ 1 ◆ discarded at 137"):
            assert part in screen
        await desk.command("goto 100")
        assert "✗ gpu: request 4, most on a node 2" in desk.screen()


async def test_the_jobs_follow_the_moment() -> None:
    async with opened_again() as desk:
        assert "Jobs before the cycle" in desk.text("jobs")
        await desk.command("goto 1")
        before = desk.text("jobs")
        await desk.command("break statement pipeline")
        await desk.press("c")
        assert before != desk.text("jobs")
        await desk.command("goto 1")
        assert before == desk.text("jobs")


@SIZES
async def test_why_the_high_priority_job_did_not_preempt_takes_few_keys(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await desk.press("b", "enter", "c")
        assert "Preemptable for llm-finetune-worker-0 on gpu-a100-01" in words(desk, "moment")
        assert "● priority gang conformance" in words(desk, "moment")
        assert "bert-pretrain-worker-0 ✓ ✗ ✓" in words(desk, "moment")
        assert "resnet-sweep-worker-0 ✓ ✓ ✓" in words(desk, "moment")
        await desk.press("s")
        assert "priority ● gang conformance" in words(desk, "moment")
        await desk.press("3")
        assert "candidates for llm-finetune-worker-0" in words(desk, "equation")
        assert "would break" in words(desk, "moment")
        await desk.press("S", "2")
        assert "candidate's priority" in words(desk, "equation")
        await desk.press("e")
        assert "gang protects every candidate victim" in words(desk)
        await desk.press("enter")
        proof = desk.moment.recording.event_at(desk.seq)
        assert isinstance(proof, HookEvent)
        assert ("Preemptable", "gang", ()) == (proof.point, proof.plugin, proof.result)
        assert "Preemptable for llm-finetune-worker-1" in words(desk, "moment")
