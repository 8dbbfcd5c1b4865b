"""`make story`: the story of the README as one animated SVG, made from frames of the screen."""

import asyncio
import re
from pathlib import Path
from typing import NamedTuple

from tests.tui.driving import opened
from tests.tui.screenshots import FOLDER, stable

SIZE = (110, 34)
SECONDS = 3.3
"""Seconds for which each frame is shown."""


class Frame(NamedTuple):
    """One frame, and the keys that lead to it."""

    keys: tuple[str, ...] = ()


FRAMES = (
    Frame(),
    Frame(("b",)),
    Frame(("enter", "c")),
    Frame(("s",)),
    Frame(("V",)),
    Frame(("2", "e")),
)
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)


async def frames() -> list[str]:
    """The pictures of the story."""
    async with opened(size=SIZE) as desk:
        drawn = []
        for frame in FRAMES:
            await desk.press(*frame.keys)
            await desk.pause()
            drawn.append(stable(desk.app.export_screenshot(title="vcdebug")))
        return drawn


def animated(drawn: list[str]) -> str:
    """Combine the frames into one animated picture; each frame's styles get its number."""
    styles, bodies = [], []
    for number, svg in enumerate(drawn):
        own = svg.replace("terminal", f"f{number}")
        style = _STYLE.search(own)
        assert style is not None
        styles.append(_FONTS.sub("", style[1]) if number else style[1])
        inside = own[own.index("<defs>") : own.rindex("</svg>")]
        # The last frame stays where nothing is animated. Delays below 0: else it would cover the others until its own.
        still = "; visibility: visible" if number == len(drawn) - 1 else ""
        delay = (number - len(drawn)) * SECONDS
        bodies.append(f'<g class="frame" style="animation-delay: {delay:g}s{still}">{inside}</g>')
    share = 100 / len(drawn)
    shows = (
        f".frame {{ visibility: hidden; animation: shows {SECONDS * len(drawn):g}s step-end infinite; }}\n"
        f"@keyframes shows {{ 0% {{ visibility: visible; }} {share:g}% {{ visibility: hidden; }} }}\n"
    )
    head = drawn[0][: drawn[0].index(">") + 1]
    return f"{head}\n<style>{shows}{''.join(styles)}</style>\n{''.join(bodies)}\n</svg>\n"


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "story.svg").write_text(animated(asyncio.run(frames())), encoding="utf-8")


if __name__ == "__main__":
    main()
