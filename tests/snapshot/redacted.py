"""Compares the replay of a redacted snapshot with the original's, whose names are translated."""

from __future__ import annotations

import io
import json
import re
from functools import cache, partial
from typing import Any

from tests.golden.compare import Difference, first_difference_of_lines
from vcdebug.plugins import PLUGINS
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.redact_words import Pseudonyms
from vcdebug.snapshot.redaction import Redaction, make_redaction
from vcdebug.snapshot.saved_files import archive_bytes

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
"""The same JSON form as traces, so that equal lines are recognised without parsing."""


def divergence(original: Recording, redaction: Redaction | None = None) -> Difference | None:
    """The first event in which the redacted snapshot decides differently; None if there is none.

    `redaction`: that of the snapshot, if it was made before.
    """
    done = redaction or make_redaction(original.snapshot)
    known = {real: new for texts in done.mapping.values() for real, new in texts.items()}
    sentence = cache(partial(_translation, known, done.names))
    written = load_snapshot(io.BytesIO(archive_bytes(done.snapshot)))
    with disposing(replay_cycle(written)) as again:
        actual = lines(again)
    pairs = zip(lines(original), [*actual, *["null"] * len(original)], strict=False)
    expected = (_ENCODE(translated(json.loads(line), json.loads(other), sentence)) for line, other in pairs)
    return first_difference_of_lines(expected, actual)


def _translation(known: dict[str, str], names: Pseudonyms, text: str) -> str:
    """Translate a text: shift a time, map a name, keep the part of a plugin's name, or map the names in a sentence."""
    if (moved := names.move_time(text)) != text:
        return moved
    if text not in known and text.partition("/")[0] in PLUGINS:
        return text
    if text in known:
        return known[text]
    parts = text.split('"')
    said = [
        (known.get(part) if place % 2 else None) or names.rewrite_sentence(part) for place, part in enumerate(parts)
    ]
    return '"'.join(said)


def lines(recording: Recording) -> list[str]:
    stream = io.StringIO()
    write_jsonl(recording, stream)
    return stream.getvalue().splitlines()


AMOUNT = re.compile(r"\d+")
FIELDS = frozenset({"share", "elastic"})
"""Keys of plugins' figures that are also names of queues in some snapshots."""


def translated(value: Any, actual: Any, sentence: Any) -> Any:
    """An event with redacted names; amounts and keys of figures stay even if a name has the same spelling."""
    if isinstance(value, str):
        return value if value == actual and AMOUNT.fullmatch(value) else sentence(value)
    if isinstance(value, dict):
        there = actual if isinstance(actual, dict) else {}
        keys = {key: key if key in FIELDS and key in there else sentence(key) for key in value}
        return {keys[key]: translated(item, there.get(keys[key]), sentence) for key, item in value.items()}
    if isinstance(value, list):
        others = [*(actual if isinstance(actual, list) else []), *[None] * len(value)]
        return [translated(item, other, sentence) for item, other in zip(value, others, strict=False)]
    return value
