"""`make screenshots`: pictures of the screens and of every panel, with the same bytes on every run."""

import asyncio
import re
from pathlib import Path
from typing import NamedTuple

from tests.tui.driving import NARROW, WIDE, opened

FOLDER = Path(__file__).parents[2] / "screenshots"


class Shot(NamedTuple):
    """One picture: a snapshot, what is typed and pressed, and the size."""

    name: str
    snapshot: str | None
    steps: tuple[str, ...] = ()
    """Lines that begin with `:` are commands, the rest are keys."""
    size: tuple[int, int] = WIDE


SHOTS = (
    Shot("chooser", None),
    Shot("victims", "preempt-blocked-by-gang", (":break victim", "c", "s", "2")),
    Shot("discard", "preempt-blocked-by-gang", (":break statement discard if ops > 0", "c", "4")),
    Shot("predicates", "pending-no-node-fits", (":break predicate", "c", "2")),
    Shot("scores", "preempt-blocked-by-gang", (":break tie", "c", "2")),
    Shot("enqueue", "pending-queue-quota", (":break enqueue reject", "c", "7")),
    Shot("reclaim", "reclaim-across-queues", (":break victim Reclaimable", "c", "7", "3")),
    Shot("operation", "preempt-works", (":break statement pipeline", "c", "6")),
    Shot("funnel", "preempt-blocked-by-gang", (":goto 120", "V", "z")),
    Shot("order", "preempt-blocked-by-gang", (":break tie", "c", "O", "z")),
    Shot("evictions", "preempt-works", (':break statement commit if action == "preempt"', "c", "E", "z")),
    Shot("effects", "preempt-works", (':break statement commit if action == "preempt"', "c", "0", "z")),
    Shot("log", "preempt-blocked-by-gang", (":goto 120", ":log 4", "z")),
    Shot("conf", "preempt-blocked-by-gang", ("p", "z")),
    Shot("hypernodes", "tests/golden/random/hypernode-0005", ("H", "z")),
    Shot("problems", "preempt-blocked-by-gang", (":break quirk", "c", "9", "z")),
    Shot("quirks", "preempt-blocked-by-gang", ("Q", "z")),
    Shot("breaks", "preempt-blocked-by-gang", (":break victim", ":break statement discard", "8")),
    Shot(
        "watch",
        "preempt-blocked-by-gang",
        (
            ":goto 110",
            ":watch queue research allocated gpu",
            ":watch job llm-finetune waiting",
            ":watch count(victims)",
            "a",
        ),
    ),
    Shot(
        "bookmarks", "preempt-blocked-by-gang", (":goto 107", ":note the only victim", ":goto 137", ":note why?", "M")
    ),
    Shot("queue", "pending-queue-quota", (":break enqueue reject", "c", "7", "enter")),
    Shot("node", "pending-no-node-fits", (":break predicate", "c", "6", "home", *["down"] * 5, "enter")),
    Shot("find", "preempt-blocked-by-gang", (':find victim if plugin == "gang"',)),
    Shot("explain", "preempt-blocked-by-gang", (":explain research/llm-finetune",)),
    Shot("breakpoint", "preempt-blocked-by-gang", (":goto 103", "b")),
    Shot("help", "preempt-blocked-by-gang", ("question_mark",)),
    Shot("narrow", "preempt-blocked-by-gang", (":break victim", "c", "s"), NARROW),
)


async def draw(shot: Shot) -> str:
    """The picture as SVG text."""
    async with opened(shot.snapshot, shot.size) as desk:
        for step in shot.steps:
            await (desk.command(step[1:]) if step.startswith(":") else desk.press(step))
        if shot.snapshot is not None:
            await desk.until_at_rest()  # an answer shows its fixes once they have been tested
        await desk.pause()
        return stable(desk.app.export_screenshot(title="vcdebug"))


def stable(svg: str) -> str:
    """Replace the ids that Textual derives from content and process by constant ones."""
    return re.sub(r"terminal-\d+", "terminal", svg)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for shot in SHOTS:
        path = FOLDER / f"{shot.name}.svg"
        path.write_text(asyncio.run(draw(shot)), encoding="utf-8")
        print(path.relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
