"""The report of `vcdebug run --cycles`: the first cycle in full, then each one's deeds and what repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from vcdebug.cli.reports import cycle
from vcdebug.debugger.commands.cycles import repeat_words
from vcdebug.debugger.cycles import repeat
from vcdebug.trace.recording import Recording
from vcdebug.views.cycles import cycle_table
from vcdebug.views.document import Block, paragraph


def document(recordings: Sequence[Recording], seconds: Mapping[str, float]) -> dict[str, object]:
    """For programs: what `run` has of one cycle, once per cycle."""
    found = repeat(recordings)
    return {
        "cycles": [
            {
                "cycle": number,
                "now": one.snapshot.now.isoformat(),
                **cycle.document(one, seconds if number == 1 else {}),
            }
            for number, one in enumerate(recordings, start=1)
        ],
        "repeat": None
        if found is None
        else {
            "cycle": found.later,
            "repeats": found.earlier,
            "evicted": list(found.evicted),
            "givenBack": list(found.given_back),
        },
    }


def blocks(recordings: Sequence[Recording], seconds: Mapping[str, float]) -> Iterator[Block]:
    """For people."""
    yield from cycle.blocks(recordings[0], seconds)
    yield paragraph("")
    yield replace(cycle_table(tuple(recordings), 0, "cycles"), head=(), foot=(), indent=2)
    found = repeat(recordings)
    if found is None:
        yield paragraph("no cycle repeats an earlier one", indent=2)
    else:
        yield paragraph(repeat_words(found), "bad", indent=2)
