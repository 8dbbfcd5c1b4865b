"""The wait after each kind of key, for 400 keys on one snapshot: processor and wall-clock milliseconds.

python -m tests.bench.keys [SNAPSHOT] [--size 200x60] [--rounds N] [--beside CHECKOUT] [--json FILE] [--slowest N]

The program runs in a terminal of its own. Measured is from a key to the last byte before the drawing thread is idle,
for the processor time of all threads. What a thread prepares longer, such as an explanation, is awaited after the keys
of one kind. With --beside, two checkouts run in turns: the first columns are those of the other one.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from tests.bench.bench import CHECKOUT
from tests.bench.screen import DOWN, PRESENT
from tests.bench.terminal import Cost, Size, Terminal

ESCAPE: Final = "\x1b[27u"
"""Esc as terminals with the keyboard protocol send it; others send a byte after which Textual waits for more."""
UP, RIGHT, LEFT = "\x1b[A", "\x1b[C", "\x1b[D"
PAGE_DOWN, PAGE_UP, HOME, END = "\x1b[6~", "\x1b[5~", "\x1b[H", "\x1b[F"
ENTER, TAB, BACK_TAB, PALETTE, SPACE = "\r", "\t", "\x1b[Z", "\x10", " "
PANELS: Final = "1234567890iOVDZEvWKQHpT8aM"

Typed = tuple[str, Iterable[str]]
"""The kind of the keys, and the keys."""
SCRIPT: Final[tuple[Typed, ...]] = (
    ("step into", "s" * 30),
    ("goto", [*"g20", ENTER]),
    ("step over", "n" * 12),
    ("goto", [*"g60", ENTER]),
    ("step out", "f" * 4),
    ("goto", [*"g100", ENTER]),
    ("step into, back", "S" * 16),
    ("step over, back", "N" * 10),
    ("step out, back", "F" * 4),
    ("next about the row", "]]][[["),
    ("first opening of a panel", PANELS),
    ("a panel", PANELS),
    ("a panel", "56215T60V"),
    *(
        (f"cursor in {name}", [key, DOWN, DOWN, DOWN, UP, RIGHT, RIGHT, LEFT, PAGE_DOWN, PAGE_UP, END, HOME])
        for name, key in (("nodes", "6"), ("jobs", "5"), ("flow", "1"))
    ),
    ("goto", [*"g40", ENTER, *"g100", ENTER]),
    ("tree", [DOWN, SPACE, DOWN, RIGHT, DOWN, LEFT, UP, SPACE]),
    ("step into", "s" * 10),
    ("a letter of a filter of nodes", [*"6/n0123", ESCAPE]),
    ("an expression as a filter of nodes", [*"6/n0[12]..5", ESCAPE]),
    ("an expression as a filter of nodes", [*"6/!n.*7|8$", ESCAPE]),
    ("a letter of a filter of jobs", [*"5/high00", ESCAPE]),
    ("sort", [*"6,,,", *"5,,,"]),
    ("command line", [*":goto 50", ENTER, *":goto 20", ENTER]),
    ("command line", [":", ESCAPE] * 4),
    *(("opening the palette", PALETTE), ("a letter in the palette", "high00"), ("closing the palette", [ESCAPE])) * 2,
    *(("opening the palette", PALETTE), ("a letter in the palette", "victim"), ("closing the palette", [ESCAPE])),
    *(
        ("command line", ":pods"),
        (":pods", [ENTER]),
        ("cursor on a page", [DOWN, DOWN, PAGE_DOWN, END, HOME]),
        ("closing a page", [ESCAPE]),
    )
    * 2,
    ("command line", ":nodes"),
    (":nodes", [ENTER]),
    ("closing a page", [ESCAPE]),
    *(("help", "?"), ("cursor on a page", [DOWN, PAGE_DOWN, END]), ("closing a page", [ESCAPE])) * 3,
    *(("list of panels", "P"), ("closing a page", [ESCAPE])) * 2,
    *(("breakpoint dialog", "b"), ("inside the dialog", [DOWN, DOWN, TAB, *"job"]), ("closing a page", [ESCAPE])) * 2,
    ("step into", "s" * 6),
    *(("explain", "5e"), ("closing a page", [ESCAPE])) * 2,
    ("the row's page", [*"6", DOWN, LEFT, LEFT, LEFT, ENTER]),
    ("closing a page", [ESCAPE]),
    *(("origin", "2="), ("closing a page", [ESCAPE])) * 2,
    *(("questions", "5I"), ("closing a page", [ESCAPE])) * 2,
    *(("copy menu", "y"), ("closing a page", [ESCAPE])) * 2,
    ("next panel", [TAB] * 8),
    ("previous panel", [BACK_TAB] * 4),
    ("zoom", "zz6zz"),
    ("bookmark", "mm"),
    ("continue", "cC"),
    ("Esc", [ESCAPE] * 4),
)


class Pressed(NamedTuple):
    """A key with its kind, and what it cost."""

    kind: str
    key: str
    cost: Cost


def press_all(checkout: Path, snapshot: Path, size: Size) -> list[Pressed]:
    """Open the snapshot and press each key; before each kind of keys no thread works any more."""
    home = Path(tempfile.mkdtemp())
    with Terminal(checkout, ["open", str(snapshot), "--fresh"], size, home) as terminal:
        terminal.until(PRESENT)
        pressed: list[Pressed] = []
        for kind, keys in SCRIPT:
            terminal.settle()
            pressed += [Pressed(kind, key, terminal.press(key)) for key in keys]
        return pressed


def by_kind(pressed: Iterable[Pressed]) -> Mapping[str, list[Cost]]:
    """The costs by kind of key, then of all keys."""
    costs: dict[str, list[Cost]] = {}
    for one in pressed:
        costs.setdefault(one.kind, []).append(one.cost)
    return {**costs, "all keys": [one.cost for one in pressed]}


def percentile_95(values: list[float]) -> float:
    """The value that at most a twentieth exceeds."""
    return sorted(values)[-(len(values) // 20) - 1]


def table_lines(runs: list[list[Pressed]]) -> Iterator[str]:
    """A line per kind of key: the number of keys, then processor and wall-clock ms of each checkout, median and p95."""
    found = [by_kind(pressed) for pressed in runs]
    yield f"{'ms':<38}{'keys':>5}" + "  processor      wall-clock   " * len(runs)
    for kind, costs in found[0].items():
        figures = [f"{kind:<38}{len(costs):>5}"]
        for values in ([cost.processor * 1000 for cost in one[kind]] for one in found):
            figures.append(f"{median(values):7.0f}{percentile_95(values):6.0f}")
            waits = [cost.wait * 1000 for cost in found[len(figures) // 2 - 1][kind]]
            figures.append(f"{median(waits):9.0f}{percentile_95(waits):6.0f}")
        yield "".join(figures)


def slowest_lines(pressed: list[Pressed], number: int) -> Iterator[str]:
    """The keys that took the most processor time."""
    for one in sorted(pressed, key=lambda one: -one.cost.processor)[:number]:
        yield f"{one.cost.processor * 1000:7.0f} {one.cost.wait * 1000:7.0f}  {one.kind}: {one.key!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", nargs="?", type=Path, default=CHECKOUT / "fixtures" / "preempt-blocked-by-gang")
    parser.add_argument("--size", default="200x60", help="columns x lines")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--beside", type=Path, help="another checkout to compare with, in turns")
    parser.add_argument("--json", type=Path, help="also write every key's figures to this file")
    parser.add_argument("--slowest", type=int, default=0, help="also print so many slow keys of the first run")
    arguments = parser.parse_args()
    size = Size(*map(int, arguments.size.split("x")))
    checkouts = [*([arguments.beside.resolve()] if arguments.beside else []), CHECKOUT]
    runs: list[list[Pressed]] = [[] for _ in checkouts]
    for _ in range(arguments.rounds):
        for pressed, checkout in zip(runs, checkouts, strict=True):
            pressed += press_all(checkout, arguments.snapshot.resolve(), size)
    print(*table_lines(runs), *slowest_lines(runs[-1], arguments.slowest), sep="\n")
    if arguments.json:
        arguments.json.write_text(json.dumps(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
