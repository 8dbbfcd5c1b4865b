"""The report of `vcdebug run --cycles`: the first cycle in full, then each one's deeds and what repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from vcdebug.cli.reports import cycle
from vcdebug.debugger.commands.cycles import describe_repeat
from vcdebug.debugger.cycles import find_repeat
from vcdebug.trace.recording import Recording
from vcdebug.views.cycles import cycle_table
from vcdebug.views.document import Block, make_paragraph


def cycles_document(recordings: Sequence[Recording], seconds: Mapping[str, float]) -> dict[str, object]:
    """For programs: what `run` has of one cycle, once per cycle."""
    found = find_repeat(recordings)
    return {
        "cycles": [
            {
                "cycle": number,
                "now": one.snapshot.now.isoformat(),
                **cycle.cycle_document(one, seconds if number == 1 else {}),
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


def cycles_blocks(recordings: Sequence[Recording], seconds: Mapping[str, float]) -> Iterator[Block]:
    """For people."""
    yield from cycle.cycle_blocks(recordings[0], seconds)
    yield make_paragraph("")
    yield replace(cycle_table(tuple(recordings), 0, "cycles"), head=(), foot=(), indent=2)
    found = find_repeat(recordings)
    if found is None:
        yield make_paragraph("no cycle repeats an earlier one", indent=2)
    else:
        yield make_paragraph(describe_repeat(found), "bad", indent=2)
